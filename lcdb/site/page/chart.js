// Charts: scales, axes, lines, bands, labels at the ends of lines, and a cursor along n.

import { brief, svg } from "./elements.js";
import { shown } from "./numbers.js";

const PALETTE = 10;
const GAP = 15; // between labels at the ends of lines

/** Classes of a learner's colour, and of dashes once all colours are taken. */
export function colour(site, learner) {
  const place = Math.max(0, site.learners.indexOf(learner));
  return `c${place % PALETTE}${place >= PALETTE ? ` dash${Math.floor(place / PALETTE) % 3}` : ""}`;
}

function evenTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= rough * 0.999) * power;
  const half = step.toExponential(1).startsWith("2.5") ? 1 : 0; // 0.025 has a digit more than 0.02
  const digits = Math.max(0, half - Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    ticks.push({ value: i * step, text: (i * step).toFixed(Math.min(digits, 12)).replace("-", "−") });
  }
  return ticks;
}

function logTicks(low, high, count) {
  const candidates = [[1, 2, 5], [1, 3], [1]];
  let best = [];
  for (const digits of candidates) {
    best = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      for (const digit of digits) {
        const value = Number((digit * power).toPrecision(3));
        if (value >= low * 0.999 && value <= high * 1.001) best.push({ value, text: String(value) });
      }
    }
    if (best.length <= count) break;
  }
  return best.length > 1 ? best : evenTicks(low, high, count).filter((tick) => tick.value > 0);
}

/** A function from values to pixels, with `ticks(count)`. */
export function scale(kind, [low, high], [start, end]) {
  const from = kind === "log" ? Math.log : (x) => x;
  const [a, b] = [from(low), from(high)];
  const map = (x) => (a === b ? (start + end) / 2 : start + ((from(x) - a) / (b - a)) * (end - start));
  map.ticks = (count) => (kind === "log" ? logTicks : evenTicks)(low, high, count);
  map.domain = [low, high];
  return map;
}

/** A little more than the range of what is drawn. */
export function padded(values, share = 0.05) {
  let low = Infinity;
  let high = -Infinity;
  for (const x of values) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  if (!(high >= low)) return [0, 1];
  const more = (high - low || Math.abs(high) || 1) * share;
  return [low - more, high + more];
}

/** A chart with axes: layers to draw on, and what it says to those who do not see it. */
export class Plot {
  constructor({ width, height, x, y, xKind = "linear", yKind = "linear", xName, yName, name, alt,
    right = 14, left = 56, xTicks = true, yTicks = true, top = 14, xWhole = false }) {
    Object.assign(this, { width, height, right, left, top, xWhole, bottom: xName ? 44 : 26 });
    this.inner = { width: width - left - right, height: height - this.top - this.bottom };
    this.x = scale(xKind, x, [left, width - right]);
    this.y = scale(yKind, y, [height - this.bottom, this.top]);
    this.clip = `clip-${name}`;
    this.back = svg("g", { class: "back", "aria-hidden": "true" });
    this.front = svg("g", { "clip-path": `url(#${this.clip})`, "aria-hidden": "true" });
    this.marks = svg("g", { "aria-hidden": "true" });
    this.cursor = svg("g", { class: "cursor", "aria-hidden": "true" });
    this.svg = svg("svg", {
      viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img",
      "aria-label": alt, "data-chart": name,
    },
    svg("clipPath", { id: this.clip }, svg("rect", {
      x: left, y: this.top - 2, width: Math.max(0, this.inner.width), height: this.inner.height + 4,
    })), this.back, this.front, this.marks, this.cursor);
    this.axes(xName, yName, xTicks, yTicks);
  }

  axes(xName, yName, xTicks, yTicks) {
    const { left, top, width, height, right, bottom } = this;
    const base = height - bottom;
    if (yTicks) {
      for (const { value, text } of this.y.ticks(Math.max(2, Math.floor(this.inner.height / 38)))) {
        const y = this.y(value);
        this.back.append(svg("line", { x1: left, x2: width - right, y1: y, y2: y, class: "grid" }),
          svg("text", { x: left - 8, y: y + 4, class: "tick", "text-anchor": "end" }, text));
      }
    }
    this.back.append(svg("line", { x1: left, x2: width - right, y1: base, y2: base, class: "axis" }));
    if (xTicks) {
      for (const { value, text } of this.x.ticks(Math.max(2, Math.floor(this.inner.width / 52)))) {
        if (this.xWhole && !Number.isInteger(value)) continue;
        const x = this.x(value);
        this.back.append(svg("line", { x1: x, x2: x, y1: base, y2: base + 5, class: "axis" }),
          svg("text", { x, y: base + 18, class: "tick", "text-anchor": "middle" }, text));
      }
    }
    if (xName) {
      this.back.append(svg("text", {
        x: (left + width - right) / 2, y: height - 6, class: "name", "text-anchor": "middle",
      }, xName));
    }
    if (yName) {
      const y = (top + base) / 2;
      this.back.append(svg("text", {
        x: 13, y, class: "name", "text-anchor": "middle", transform: `rotate(-90 13 ${y})`,
      }, yName));
    }
  }

  /** The path through points; where there is none, it is broken. */
  path(xs, ys) {
    let text = "";
    let down = false;
    for (let i = 0; i < xs.length; i++) {
      const there = Number.isFinite(ys[i]);
      if (there) text += `${down ? "L" : "M"}${this.x(xs[i]).toFixed(1)} ${this.y(ys[i]).toFixed(1)}`;
      down = there;
    }
    return text;
  }

  line(xs, ys, classes) {
    this.front.append(svg("path", { d: this.path(xs, ys), class: `line ${classes}` }));
    const alone = (i) => Number.isFinite(ys[i]) && !Number.isFinite(ys[i - 1]) && !Number.isFinite(ys[i + 1]);
    xs.forEach((x, i) => {
      if (alone(i)) this.dot(this.front, x, ys[i], classes, 2.5);
    });
  }

  band(xs, lows, highs, classes, opacity = 0.16) {
    let start = 0;
    while (start < xs.length) {
      while (start < xs.length && !Number.isFinite(lows[start])) start++;
      let end = start;
      while (end < xs.length && Number.isFinite(lows[end])) end++;
      if (end > start) {
        const some = xs.slice(start, end);
        const there = this.path(some, highs.slice(start, end));
        const back = this.path([...some].reverse(), Array.from(lows.slice(start, end)).reverse());
        this.front.append(svg("path", { d: `${there}${back.replace("M", "L")}Z`, class: `band ${classes}`, "fill-opacity": opacity }));
      }
      start = end;
    }
  }

  dot(layer, x, y, classes, r = 4) {
    layer.append(svg("circle", { cx: this.x(x), cy: this.y(y), r, class: `dot ${classes}` }));
  }

  /** A line across at y that means something. */
  rule(y) {
    const at = this.y(y);
    this.back.append(svg("line", { x1: this.left, x2: this.width - this.right, y1: at, y2: at, class: "rule" }));
  }

  /** A line across for a rank, with its number. */
  rankLine(rank) {
    const y = this.y(rank);
    this.back.append(svg("line", { x1: this.left, x2: this.width - this.right, y1: y, y2: y, class: "grid" }),
      svg("text", { x: this.left - 8, y: y + 4, class: "tick", "text-anchor": "end" }, String(rank)));
  }

  /** Words above or below a rule, if there is room. */
  note(text, y, where) {
    const at = this.y(y);
    const room = where === "above" ? at - this.top : this.height - this.bottom - at;
    if (room < 40) return;
    const place = where === "above" ? at - 8 : at + 17;
    this.marks.append(svg("text", { x: this.width - this.right - 6, y: place, class: "note", "text-anchor": "end" }, text));
  }

  bar(from, to, height, classes) {
    const [x, end, y] = [this.x(from), this.x(to), this.y(height)];
    const gap = end - x > 4 ? 1 : 0;
    this.front.append(svg("rect", {
      x: x + gap / 2, width: Math.max(0.5, end - x - gap), y, height: this.y(0) - y, class: `bar ${classes}`,
    }));
  }

  points(list, classes) {
    const d = list.map(([x, y]) => `M${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}h0`).join("");
    this.front.append(svg("path", { d, class: `points ${classes}` }));
  }

  /** Names at the ends of lines: `{text, y, classes}`, moved apart where they would overlap. */
  labels(list) {
    const placed = list.filter(({ y }) => Number.isFinite(y))
      .map((one) => ({ ...one, wanted: this.y(one.y), at: this.y(one.y) }))
      .sort((a, b) => a.at - b.at);
    const [least, most] = [this.top + 4, this.height - this.bottom];
    for (let i = 0; i < placed.length; i++) {
      placed[i].at = Math.max(placed[i].at, i ? placed[i - 1].at + GAP : least);
    }
    for (let i = placed.length - 1; i >= 0; i--) {
      placed[i].at = Math.min(placed[i].at, i < placed.length - 1 ? placed[i + 1].at - GAP : most);
    }
    const edge = this.width - this.right;
    for (const { text, wanted, at, classes, x } of placed) {
      const from = x === undefined ? edge : this.x(x);
      this.marks.append(svg("path", { d: `M${from + 2} ${wanted}L${edge + 10} ${at}`, class: `leader ${classes}` }),
        svg("text", { x: edge + 14, y: at + 4, class: `label ${classes}` }, brief(text, 14)));
    }
  }

  /** A line at n with a dot on each curve. */
  point(n, dots) {
    const x = this.x(n);
    this.cursor.replaceChildren(
      svg("line", { x1: x, x2: x, y1: this.top, y2: this.height - this.bottom, class: "hair" }),
      svg("text", { x: Math.min(Math.max(x, this.left + 20), this.width - this.right - 20), y: this.top - 3, class: "tick", "text-anchor": "middle" }, `n = ${n}`));
    for (const { y, classes } of dots) {
      if (Number.isFinite(y)) this.dot(this.cursor, n, y, classes);
    }
  }
}

/** The room that labels need at the right. */
export function roomFor(labels, width) {
  const longest = Math.max(0, ...labels.map((text) => Array.from(brief(text, 14)).length));
  return Math.min(24 + longest * 8.2, Math.max(60, width * 0.3));
}

/** A short sentence about lines, for those who do not see them. */
export function spoken(what, n, values) {
  const told = values.filter(({ y }) => Number.isFinite(y)).sort((a, b) => b.y - a.y)
    .map(({ text, y }) => `${brief(text)} ${shown(y)}`);
  return `${what} at n = ${n}: ${told.join(", ") || "nothing"}. Arrow keys move along n, Enter opens the distribution; all numbers are in the table below.`;
}
