// What is shown, as the part of the address behind "#": a link to a figure is the figure.

export const VIEWS = ["curves", "cell", "pair", "ranks", "normality"];
const SINGLE = ["view", "dataset", "metric", "sampling", "split", "tuning", "n", "one", "a", "b",
  "band", "middle", "axis", "test"];
const CHOICES = {
  view: VIEWS, middle: ["mean", "median"], axis: ["log", "linear"], test: ["shapiro", "lattice"],
};
const USUAL = { view: "curves", middle: "mean", axis: "log", test: "shapiro", band: "0.05" };
/** Learners that are shown first, if there are many. */
const FIRST = 4;

/** The bands that a site has: the lower probabilities that have an upper one. */
export function bands(site) {
  const known = site.probabilities;
  return known.filter((q) => q < 0.5 && known.some((p) => Math.abs(p - (1 - q)) < 1e-9));
}

function oneOf(wanted, known, usual, lost, name) {
  if (wanted !== null && known.includes(wanted)) return wanted;
  if (wanted !== null) lost.push(`${name} “${wanted}”`);
  return known.includes(usual) ? usual : known[0];
}

/** The nearest of the sizes, by their ratio. */
export function nearestSize(sizes, n) {
  return sizes.reduce((best, one) =>
    Math.abs(Math.log(one / n)) < Math.abs(Math.log(best / n)) ? one : best, sizes[0]);
}

/** What an address asks for, as far as the site has it; `lost` names what it has not. */
export function parse(site, text) {
  const asked = new URLSearchParams(text.replace(/^#/, ""));
  const lost = [];
  const state = {};
  for (const [name, known] of Object.entries(CHOICES)) {
    state[name] = oneOf(asked.get(name), known, USUAL[name], lost, name);
  }
  const keys = site.datasets.map((one) => one.key);
  state.dataset = oneOf(asked.get("dataset"), keys, keys[0], lost, "dataset");
  state.metric = oneOf(asked.get("metric"), site.metrics.map((m) => m.name), "accuracy", lost, "metric");
  const dataset = site.dataset(state.dataset);
  for (const [dim, usual] of Object.entries(site.usual)) {
    state[dim] = oneOf(asked.get(dim), dataset.labels[dim], usual, lost, dim);
  }
  const has = (learner) => site.isThere(dataset, learner, state);
  const wanted = asked.getAll("learner");
  const { learner: all } = dataset.labels;
  lost.push(...wanted.filter((one) => !all.includes(one)).map((one) => `learner “${one}”`));
  const there = all.filter(has);
  state.learners = all.filter((one) => wanted.includes(one));
  if (!wanted.length) state.learners = (there.length ? there : all).slice(0, FIRST);
  state.one = oneOf(asked.get("one"), all, state.learners[0] ?? all[0], lost, "learner");
  const others = state.learners.length > 1 ? state.learners : all;
  state.a = oneOf(asked.get("a"), all, others[0], lost, "learner");
  state.b = oneOf(asked.get("b"), all, others.find((one) => one !== state.a) ?? state.a, lost, "learner");
  const known = ["none", ...bands(site).map(String)];
  state.band = oneOf(asked.get("band"), known, USUAL.band, lost, "band");
  const n = Number(asked.get("n"));
  const { sizes } = dataset;
  state.n = sizes.length ? nearestSize(sizes, n >= 1 ? n : sizes.at(-1)) : 0;
  if (n >= 1 && n !== state.n && sizes.length) lost.push(`n = ${n} (the nearest size is ${state.n})`);
  return { state, lost };
}

/** The address of what is shown. */
export function format(state) {
  const parts = new URLSearchParams();
  for (const name of SINGLE) parts.set(name, state[name]);
  for (const learner of state.learners) parts.append("learner", learner);
  return `#${parts}`;
}
