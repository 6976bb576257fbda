// Small files of arrays: zlib around a header in JSON and columns whose bytes are shuffled.

const TYPES = {
  "<f8": Float64Array, "<f4": Float32Array, "<i4": Int32Array, "<u4": Uint32Array,
  "<i8": BigInt64Array, "|i1": Int8Array, "|u1": Uint8Array, "<i2": Int16Array, "<u2": Uint16Array,
};

/** Bytes that zlib compressed, as they were. */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers of a type that NumPy names, from little-endian bytes. */
export function typed(dtype, bytes) {
  const type = TYPES[dtype];
  if (!type) throw new Error(`numbers of type ${dtype} are unknown to this page`);
  return new type(bytes.buffer, bytes.byteOffset, bytes.length / type.BYTES_PER_ELEMENT);
}

/** Bytes of numbers, put together again: all first bytes come first, then all second ones, … */
export function unshuffle(bytes, size) {
  if (size === 1) return bytes.slice();
  const count = bytes.length / size;
  const whole = new Uint8Array(bytes.length);
  for (let part = 0; part < size; part++) {
    for (let i = 0; i < count; i++) whole[i * size + part] = bytes[part * count + i];
  }
  return whole;
}

/** The columns of a table: `{name: {shape, values}}`. */
export async function readTable(bytes) {
  const raw = await inflate(bytes);
  const length = new DataView(raw.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(raw.subarray(4, 4 + length)));
  const columns = {};
  let place = 4 + length;
  for (const { name, dtype, shape } of header) {
    const size = Number(dtype.slice(2));
    const end = place + size * shape.reduce((a, b) => a * b, 1);
    columns[name] = { shape, values: typed(dtype, unshuffle(raw.subarray(place, end), size)) };
    place = end;
  }
  return columns;
}
