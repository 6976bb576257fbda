// Curves: the mean or the median of each learner along n, with a band of quantiles.

import { Plot, colour, padded, roomFor, spoken } from "./chart.js";
import { shown } from "./numbers.js";
import { ofCurves } from "./python.js";
import { circumstances, datasetName, listed, longName, metricName, named, share } from "./words.js";

const near = (list, q) => list.findIndex((one) => Math.abs(one - q) < 1e-9);

export const curves = {
  label: "Curves",
  uses: ["learners", "band", "middle", "axis"],

  async load(site, dataset, state) {
    const panel = await site.panel(dataset, state, "curves");
    const q = state.band === "none" ? null : Number(state.band);
    const places = { low: near(site.probabilities, q), high: near(site.probabilities, 1 - q) };
    const median = near(site.probabilities, 0.5);
    const lines = state.learners.map((learner) => {
      const i = dataset.labels.learner.indexOf(learner);
      const quantile = (place) => dataset.sizes.map((_, n) => panel.at("quantile", i, n, place));
      return {
        learner, classes: colour(site, learner),
        mean: Array.from(panel.row("mean", i)), sd: panel.row("sd", i), count: panel.row("count", i),
        median: quantile(median),
        low: q === null ? null : quantile(places.low), high: q === null ? null : quantile(places.high),
        all: (n) => panel.row("quantile", i, n),
      };
    });
    return { site, dataset, state, lines, q };
  },

  title: ({ dataset, state }) => ({
    title: `${metricName(state.metric)} of ${listed(state.learners)} on ${datasetName(dataset)}`,
    subtitle: circumstances(dataset, state),
  }),

  draw({ dataset, state, lines, q }, width) {
    const { sizes } = dataset;
    const right = roomFor(state.learners, width);
    const values = lines.flatMap((one) => [...one[state.middle], ...(q === null ? [] : [...one.low, ...one.high])]);
    const plot = new Plot({
      width, height: Math.max(300, Math.min(480, width * 0.58)), right, name: "curves",
      x: [sizes[0], sizes.at(-1)], xKind: state.axis, xWhole: true, y: padded(values),
      xName: "training rows n", yName: metricName(state.metric),
      alt: spoken(`${state.middle === "mean" ? "Mean" : "Median"} ${metricName(state.metric)}`, sizes.at(-1),
        lines.map((one) => ({ text: one.learner, y: one[state.middle].at(-1) }))),
    });
    if (q !== null) for (const one of lines) {
      // Many bands on one another would be a grey one.
      plot.band(sizes, one.low, one.high, one.classes, Math.min(0.18, 0.42 / lines.length));
    }
    for (const one of lines) plot.line(sizes, one[state.middle], one.classes);
    plot.labels(lines.map((one) => {
      const last = one[state.middle].findLastIndex(Number.isFinite);
      return { text: one.learner, y: one[state.middle][last], x: sizes[last], classes: one.classes };
    }));
    return [plot];
  },

  point({ dataset, state, lines }, [plot]) {
    const i = dataset.sizes.indexOf(state.n);
    plot.point(state.n, lines.map((one) => ({ y: one[state.middle][i], classes: one.classes, learner: one.learner })));
  },

  /** The learner whose curve is nearest to a height of the chart, at n. */
  nearest({ dataset, state, lines }, [plot], y) {
    const i = dataset.sizes.indexOf(state.n);
    const away = (one) => Math.abs(plot.y(one[state.middle][i]) - y);
    const there = lines.filter((one) => Number.isFinite(one[state.middle][i]));
    return there.sort((a, b) => away(a) - away(b))[0]?.learner;
  },

  read({ site, dataset, state, lines, q }) {
    const i = dataset.sizes.indexOf(state.n);
    const sign = site.metric(state.metric).direction === "minimize" ? 1 : -1;
    const ends = q === null ? [] : [share(q), share(1 - q)];
    const order = [...lines].sort((a, b) => sign * (a[state.middle][i] - b[state.middle][i]) || 0);
    return {
      caption: `At n = ${state.n}, best first`,
      columns: ["learner", "mean", "median", ...ends, "sd", "repetitions"],
      rows: order.map((one) => ({
        learner: one.learner,
        opens: { view: "cell", one: one.learner },
        cells: [named(site, one.learner, one.classes), shown(one.mean[i]), shown(one.median[i]),
          ...(q === null ? [] : [shown(one.low[i]), shown(one.high[i])]), shown(one.sd[i]), one.count[i]],
      })),
    };
  },

  table({ site, dataset, lines }) {
    const rows = lines.flatMap((one) => dataset.sizes.map((n, i) =>
      [one.learner, n, one.count[i], one.mean[i], one.sd[i], ...one.all(i), longName(site, one.learner)]));
    const columns = ["learner", "n", "count", "mean", "sd", ...site.probabilities.map((q) => `q${q}`), "long_name"];
    return { columns, rows };
  },

  python: ({ site, dataset, state, q }) =>
    ofCurves(site, dataset, state, q === null ? [0.5] : [q, 0.5, 1 - q].map((p) => Number(p.toPrecision(6)))),
};
