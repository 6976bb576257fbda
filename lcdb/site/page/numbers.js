// Numbers: how they are shown, and the little arithmetic that the page does itself.

/** A number to four significant digits; nothing is "–". */
export function shown(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e-3 && size < 1e5 ? size.toPrecision(digits) : size.toExponential(digits - 1);
  return `${x < 0 ? "−" : ""}${text}`;
}

/** A p-value to three digits; what is too small for a double is not 0. */
export function pValue(p) {
  return p === 0 ? "< 1e-300" : shown(p, 3);
}

/** A share as a percentage. */
export function percent(x) {
  return Number.isNaN(x) ? "–" : `${(100 * x).toFixed(0)} %`;
}

/** A whole number with thin spaces between thousands. */
export function whole(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** The place of the entry of an ascending array that is nearest to x, by `distance`. */
export function nearest(values, x, distance = (a, b) => Math.abs(a - b)) {
  let best = 0;
  for (let i = 1; i < values.length; i++) {
    if (distance(values[i], x) < distance(values[best], x)) best = i;
  }
  return best;
}

/** Ranks of scores, 1 the best; ties share the mean of their ranks, what is NaN has none. */
export function ranks(values, direction) {
  const sign = direction === "minimize" ? 1 : -1;
  // Means of equal samples in another order differ by 1e-16: those are ties.
  const rounded = Array.from(values, (x) => sign * Number(x.toFixed(9)));
  return rounded.map((x) => {
    if (Number.isNaN(x)) return NaN;
    const below = rounded.filter((other) => other < x).length;
    const equal = rounded.filter((other) => other === x).length;
    return below + (equal + 1) / 2;
  });
}

const poly = (coefficients, x) => coefficients.reduceRight((sum, c) => sum * x + c, 0);

/** The quantile of a standard normal distribution (Wichura's AS 241, to 1e-16). */
export function normalQuantile(p) {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q;
    return (q * poly([3.387132872796366608, 133.14166789178437745, 1971.5909503065514427,
      13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
      33430.575583588128105, 2509.0809287301226727], r)) /
      poly([1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077,
        21213.794301586595867, 39307.89580009271061, 28729.085735721942674,
        5226.495278852545925], r);
  }
  let r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
  let value;
  if (r <= 5) {
    r -= 1.6;
    value = poly([1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055,
      3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177,
      0.0227238449892691845833, 7.7454501427834140764e-4], r) /
      poly([1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
        0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4,
        1.05075007164441684324e-9], r);
  } else {
    r -= 5;
    value = poly([6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358,
      0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386,
      2.71155556874348757815e-5, 2.01033439929228813265e-7], r) /
      poly([1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
        7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7,
        2.04426310338993978564e-15], r);
  }
  return q < 0 ? -value : value;
}

/** The density of a normal distribution. */
export function normalDensity(x, mean, sd) {
  const z = (x - mean) / sd;
  return Math.exp(-0.5 * z * z) / (sd * Math.sqrt(2 * Math.PI));
}

/** Normal quantiles beside the ascending values, at Blom's positions. */
export function normalPlot(ordered) {
  const count = ordered.length;
  return Array.from(ordered, (y, i) => [normalQuantile((i + 1 - 0.375) / (count + 0.25)), y]);
}

/**
 * A histogram on the lattice k / rows: every bar holds as many of its values as the others.
 * `most` is how many bars there may be.
 */
export function latticeBins(values, rows, most) {
  const counts = Array.from(values, (x) => Math.round(x * rows));
  const low = Math.min(...counts);
  const high = Math.max(...counts);
  const step = Math.max(1, Math.ceil((high - low + 1) / most));
  const bars = new Array(Math.floor((high - low) / step) + 1).fill(0);
  for (const count of counts) bars[Math.floor((count - low) / step)] += 1;
  return { start: (low - 0.5) / rows, width: step / rows, bars, step };
}

/** A histogram with Freedman and Diaconis's width of bars. */
export function evenBins(ordered, most) {
  const count = ordered.length;
  const low = ordered[0];
  const range = ordered[count - 1] - low;
  if (!(range > 0)) return { start: low - 0.5e-3, width: 1e-3, bars: [count], step: 0 };
  const quartile = (p) => ordered[Math.round(p * (count - 1))];
  const spread = quartile(0.75) - quartile(0.25);
  const ideal = spread > 0 ? (2 * spread) / Math.cbrt(count) : range / 20;
  const number = Math.min(most, Math.max(5, Math.ceil(range / ideal)));
  const width = range / number;
  const bars = new Array(number).fill(0);
  for (const x of ordered) bars[Math.min(number - 1, Math.floor((x - low) / width))] += 1;
  return { start: low, width, bars, step: 0 };
}
