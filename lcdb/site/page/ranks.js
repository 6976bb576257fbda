// Ranks of the learners along n, by their mean or their median.

import { Plot, colour, roomFor, spoken } from "./chart.js";
import { ranks as ranksOf, shown } from "./numbers.js";
import { ofRanks } from "./python.js";
import { circumstances, datasetName, longName, metricWord, named } from "./words.js";

export const ranks = {
  label: "Ranks",
  uses: ["learners", "middle", "axis"],

  async load(site, dataset, state) {
    const panel = await site.panel(dataset, state, "curves");
    const { direction } = site.metric(state.metric);
    const median = site.probabilities.findIndex((q) => Math.abs(q - 0.5) < 1e-9);
    const places = state.learners.map((one) => dataset.labels.learner.indexOf(one));
    const value = (i, n) => (state.middle === "mean" ? panel.at("mean", i, n) : panel.at("quantile", i, n, median));
    const columns = dataset.sizes.map((_, n) => places.map((i) => value(i, n)));
    const found = columns.map((column) => ranksOf(column, direction));
    const lines = state.learners.map((learner, i) => ({
      learner, classes: colour(site, learner),
      values: columns.map((column) => column[i]), ranks: found.map((column) => column[i]),
    }));
    return { site, dataset, state, lines };
  },

  title: ({ dataset, state }) => ({
    title: `Ranks by ${state.middle} ${metricWord(state.metric)} on ${datasetName(dataset)}`,
    subtitle: circumstances(dataset, state),
  }),

  draw({ dataset, state, lines }, width) {
    const { sizes } = dataset;
    const count = Math.max(1, lines.length);
    const plot = new Plot({
      width, height: Math.max(220, 80 + 34 * count), right: roomFor(state.learners, width), name: "ranks", left: 44,
      x: [sizes[0], sizes.at(-1)], xKind: state.axis, xWhole: true, y: [count + 0.4, 0.6], yTicks: false,
      xName: "training rows n", yName: "rank",
      alt: spoken("Rank", sizes.at(-1), lines.map((one) => ({ text: one.learner, y: one.ranks.at(-1) }))),
    });
    for (let rank = 1; rank <= count; rank++) plot.rankLine(rank);
    for (const one of lines) plot.line(sizes, one.ranks, `thick ${one.classes}`);
    plot.labels(lines.map((one) => {
      const last = one.ranks.findLastIndex(Number.isFinite);
      return { text: one.learner, y: one.ranks[last], x: sizes[last], classes: one.classes };
    }));
    return [plot];
  },

  point({ dataset, state, lines }, [plot]) {
    const i = dataset.sizes.indexOf(state.n);
    plot.point(state.n, lines.map((one) => ({ y: one.ranks[i], classes: one.classes })));
  },

  nearest({ dataset, state, lines }, [plot], y) {
    const i = dataset.sizes.indexOf(state.n);
    const there = lines.filter((one) => Number.isFinite(one.ranks[i]));
    const away = (one) => Math.abs(plot.y(one.ranks[i]) - y);
    return there.sort((a, b) => away(a) - away(b))[0]?.learner;
  },

  read({ site, dataset, state, lines }) {
    const i = dataset.sizes.indexOf(state.n);
    const order = [...lines].sort((a, b) => a.ranks[i] - b.ranks[i] || 0);
    return {
      caption: `At n = ${state.n}`,
      columns: ["learner", "rank", state.middle],
      rows: order.map((one) => ({
        learner: one.learner,
        opens: { view: "cell", one: one.learner },
        cells: [named(site, one.learner, one.classes), Number.isNaN(one.ranks[i]) ? "–" : String(one.ranks[i]), shown(one.values[i])],
      })),
    };
  },

  table: ({ site, dataset, state, lines }) => ({
    columns: ["learner", "n", state.middle, "rank", "long_name"],
    rows: lines.flatMap((one) => dataset.sizes.map((n, i) =>
      [one.learner, n, one.values[i], one.ranks[i], longName(site, one.learner)])),
  }),

  python: ({ site, dataset, state }) => ofRanks(site, dataset, state, site.metric(state.metric).direction),
};
