// One distribution of a full cube, by a range: its index says where each chunk is.

import { inflate, typed, unshuffle } from "./table.js";

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

export function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

async function column(text, dtype) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return typed(dtype, await inflate(bytes));
}

async function ask(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    throw new Error(`${url} does not answer, or does not let this page read it (${error.message})`);
  }
}

export class Cube {
  /** `place` is what the site knows: url, index and sha256 of the cube. */
  constructor(place) {
    this.place = place;
    this.tables = new Map();
  }

  async open() {
    this.index ??= this.readIndex();
    return this.index;
  }

  async readIndex() {
    const answer = await ask(this.place.index);
    if (!answer.ok) throw new Error(`${this.place.index}: the host answers ${answer.status}`);
    const index = await answer.json();
    if (index.kind !== "lcdb cube index" || index.index_version !== 1) {
      throw new Error(`${this.place.index} is no index that this page can read`);
    }
    if (this.place.sha256 && index.header.sha256 !== this.place.sha256) {
      throw new Error(`${this.place.url} was replaced since this page was made: write it again`);
    }
    return index;
  }

  /** A small variable, which is in the index itself. */
  async values(name) {
    const variable = (await this.open()).variables.find((one) => one.name === name);
    return column(variable.values, variable.dtype);
  }

  async table(name) {
    if (!this.tables.has(name)) this.tables.set(name, this.readTable(name));
    return this.tables.get(name);
  }

  async readTable(name) {
    const index = await this.open();
    const variable = index.variables.find((one) => one.name === name);
    if (!variable?.chunks) throw new Error(`${this.place.url} has no variable ${name}`);
    const { gaps, lengths, crc32: sums, masks } = variable.chunks;
    const [gap, length, sum, mask] = await Promise.all([
      column(gaps, "<i8"), column(lengths, "<u4"), column(sums, "<u4"),
      masks ? column(masks, "<u4") : null,
    ]);
    const offsets = [];
    let end = 0;
    gap.forEach((one, i) => {
      offsets.push(end + Number(one));
      end = offsets[i] + length[i];
    });
    return { ...variable, offsets, lengths: length, sums, sum, mask };
  }

  /** The values along the last dim at these places along the others: one request. */
  async row(name, places) {
    const table = await this.table(name);
    const { shape: chunk, filters } = table.chunks;
    const grid = table.shape.map((size, dim) => Math.ceil(size / chunk[dim]));
    if (grid.at(-1) !== 1) throw new Error(`${name} is not stored in chunks of whole rows`);
    let number = 0;
    let within = 0;
    [...places, 0].forEach((place, dim) => {
      number = number * grid[dim] + Math.floor(place / chunk[dim]);
      within = within * chunk[dim] + (place % chunk[dim]);
    });
    const size = Number(table.dtype.slice(2));
    if (!table.lengths[number]) return typed(table.dtype, new Uint8Array(size)).slice(0, 0);
    let bytes = await this.range(table.offsets[number], table.lengths[number]);
    if (crc32(bytes) !== table.sum[number]) {
      throw new Error(`${this.place.url} is not what its index describes: it is damaged, or replaced`);
    }
    for (let i = filters.length - 1; i >= 0; i--) {
      if (table.mask && (table.mask[number] >> i) & 1) continue;
      if (filters[i].name === "fletcher32") bytes = bytes.subarray(0, -4);
      else if (filters[i].name === "deflate") bytes = await inflate(bytes);
      else if (filters[i].name === "shuffle") bytes = unshuffle(bytes, size);
      else throw new Error(`the filter ${filters[i].name} is unknown to this page`);
    }
    const values = typed(table.dtype, bytes.slice());
    return values.slice(within, within + table.shape.at(-1));
  }

  async range(first, length) {
    const headers = { Range: `bytes=${first}-${first + length - 1}` };
    const answer = await ask(this.place.url, { headers });
    if (answer.status === 200) {
      answer.body?.cancel();
      throw new Error(`the host of ${this.place.url} ignores ranges: it would send the whole file`);
    }
    if (answer.status !== 206) throw new Error(`${this.place.url}: the host answers ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (bytes.length !== length) throw new Error(`${this.place.url} was cut off`);
    return bytes;
  }
}
