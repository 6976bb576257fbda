// Two learners on the same rows: their difference along n, and how often the first is better.

import { Plot, colour, padded } from "./chart.js";
import { brief } from "./elements.js";
import { shown } from "./numbers.js";
import { ofPair } from "./python.js";
import { circumstances, datasetName, metricName } from "./words.js";

const NAMES = ["mean_difference", "mean_low", "mean_high", "better", "better_low", "better_high"];

/** The place of a pair, the earlier learner first, among all pairs. */
function pairPlace(first, second, count) {
  return first * count - (first * (first + 1)) / 2 + (second - first - 1);
}

export const pair = {
  label: "Two learners",
  uses: ["pair", "axis"],

  /** Why a dataset has no such figure, if it has none. */
  unavailable: (dataset) => (dataset.summary
    ? "Paired differences take the repetitions, and of this dataset there is a summary."
    : dataset.labels.learner.length < 2 ? "There is one learner." : ""),

  async load(site, dataset, state) {
    const why = this.unavailable(dataset);
    if (why) return { none: why };
    if (state.a === state.b) return { none: "Choose two different learners." };
    const panel = await site.panel(dataset, state, "pairs");
    const all = dataset.labels.learner;
    const [i, j] = [all.indexOf(state.a), all.indexOf(state.b)];
    const place = pairPlace(Math.min(i, j), Math.max(i, j), all.length);
    const row = Object.fromEntries(NAMES.map((name) => [name, Array.from(panel.row(name, place))]));
    row.count = Array.from(panel.row("count", place));
    if (i > j) {
      const turned = (name, from, turn) => { row[name] = Array.from(panel.row(from, place), turn); };
      turned("mean_difference", "mean_difference", (x) => -x);
      turned("mean_low", "mean_high", (x) => -x);
      turned("mean_high", "mean_low", (x) => -x);
      turned("better", "better", (x) => 1 - x);
      turned("better_low", "better_high", (x) => 1 - x);
      turned("better_high", "better_low", (x) => 1 - x);
    }
    return { site, dataset, state, row, colours: [colour(site, state.a), colour(site, state.b)] };
  },

  title: ({ dataset, state }) => ({
    title: `${brief(state.a)} against ${brief(state.b)} on ${datasetName(dataset)}`,
    subtitle: `${metricName(state.metric)} · ${circumstances(dataset, state)}`,
  }),

  draw({ site, dataset, state, row, colours }, width) {
    const { sizes } = dataset;
    const [a, b] = [brief(state.a, 12), brief(state.b, 12)];
    const last = sizes.length - 1;
    const [low, high] = padded([...row.mean_low, ...row.mean_high, 0].filter(Number.isFinite), 0.08);
    const shared = { width, xKind: state.axis, xWhole: true, x: [sizes[0], sizes.at(-1)], right: 20, left: 68 };
    const difference = new Plot({
      ...shared, height: 270, y: [low, high], name: "difference", yName: `${a} − ${b}`, xName: "training rows n",
      alt: `Mean paired difference of ${metricName(state.metric)} along n; at n = ${sizes[last]} ${shown(row.mean_difference[last])}.`,
    });
    difference.rule(0);
    difference.band(sizes, row.mean_low, row.mean_high, colours[0]);
    difference.line(sizes, row.mean_difference, colours[0]);
    const better = new Plot({
      ...shared, height: 230, y: [-0.02, 1.02], name: "better", yName: `P(${a} better)`, xName: "training rows n",
      alt: `Share of repetitions in which ${a} is better, along n; at n = ${sizes[last]} ${shown(row.better[last])}.`,
    });
    better.rule(0.5);
    better.band(sizes, row.better_low, row.better_high, colours[0]);
    better.line(sizes, row.better, colours[0]);
    const { direction } = site.metric(state.metric);
    const up = direction === "maximize" ? a : b;
    difference.note(`↑ ${up} is better`, 0, "above");
    difference.note(`↓ ${up === a ? b : a} is better`, 0, "below");
    return [difference, better];
  },

  point({ dataset, state, row, colours }, [difference, better]) {
    const i = dataset.sizes.indexOf(state.n);
    difference.point(state.n, [{ y: row.mean_difference[i], classes: colours[0] }]);
    better.point(state.n, [{ y: row.better[i], classes: colours[0] }]);
  },

  nearest: ({ state }) => state.a,

  read({ dataset, state, row }) {
    const i = dataset.sizes.indexOf(state.n);
    const [a, b] = [brief(state.a), brief(state.b)];
    const line = (text, names) => ({ cells: [text, ...names.map((name) => shown(row[name][i]))] });
    return {
      caption: `At n = ${state.n}, over ${row.count[i]} repetitions that both have`,
      columns: ["", "value", "95 % from", "to"],
      rows: [
        { learner: "difference", ...line(`mean of ${a} − ${b}`, NAMES.slice(0, 3)) },
        { learner: "better", ...line(`P(${a} better), ties counting half`, NAMES.slice(3)) },
      ],
    };
  },

  table: ({ dataset, row }) => ({
    columns: ["n", "count", ...NAMES],
    rows: dataset.sizes.map((n, i) => [n, row.count[i], ...NAMES.map((name) => row[name][i])]),
  }),

  python: ({ site, dataset, state }) => ofPair(site, dataset, state),
};
