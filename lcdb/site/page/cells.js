// One cell: the distribution over repetitions as a histogram and a normal plot, and tests of it.

import { Plot, colour, padded } from "./chart.js";
import { brief } from "./elements.js";
import { evenBins, latticeBins, normalDensity, normalPlot, pValue, shown, whole } from "./numbers.js";
import { ofCell } from "./python.js";
import { circumstances, datasetName, metricName } from "./words.js";

const LEVEL = 0.05;
const BARS = 60;

/** The numbers of a cell that are known without its repetitions. */
function known(panel, i, n) {
  const names = Object.keys(panel.columns).filter((name) => panel.columns[name].shape.length === 2);
  const cell = Object.fromEntries(names.map((name) => [name, panel.at(name, i, n)]));
  for (const name of ["n_test_least", "n_test_most"]) cell[name] = panel.at(name, n);
  return cell;
}

export const cell = {
  label: "Distribution",
  uses: ["one", "n"],

  async load(site, dataset, state) {
    const panel = await site.panel(dataset, state, "tests");
    const place = dataset.sizes.indexOf(state.n);
    const tests = known(panel, dataset.labels.learner.indexOf(state.one), place);
    const model = { site, dataset, state, tests, classes: colour(site, state.one) };
    if (!tests.count) return { none: `${brief(state.one)} has no values at n = ${state.n}: its status is “${site.status(dataset, state.one, state)}”.` };
    if (!dataset.cube) {
      model.why = dataset.summary
        ? "There is a summary of this dataset and not its repetitions: what is known of the cell is below."
        : "This site was written without cubes: what is known of the cell is below.";
      return model;
    }
    try {
      model.values = (await site.cell(dataset, state)).filter((x) => !Number.isNaN(x));
      model.ordered = Float64Array.from(model.values).sort();
    } catch (error) {
      model.why = error.message;
    }
    return model;
  },

  title: ({ dataset, state }) => ({
    title: `${metricName(state.metric)} of ${brief(state.one)} on ${datasetName(dataset)} at n = ${state.n}`,
    subtitle: circumstances(dataset, state),
  }),

  draw(model, width) {
    if (!model.ordered) return [];
    const half = width >= 720 ? Math.floor((width - 24) / 2) : width;
    return [this.histogram(model, half), this.normal(model, half)];
  },

  bins({ state, tests, values, ordered }) {
    const rows = tests.n_test_least;
    const onLattice = state.metric === "accuracy" && rows === tests.n_test_most && rows > 0;
    return onLattice ? { ...latticeBins(values, rows, BARS), rows } : evenBins(ordered, BARS);
  },

  histogram(model, width) {
    const { state, tests, ordered, classes } = model;
    const { start, width: wide, bars, step, rows } = this.bins(model);
    const most = Math.max(...bars);
    const peak = tests.constant ? 0 : normalDensity(0, 0, tests.sd) * wide * ordered.length;
    const [low, high] = [start, start + wide * bars.length];
    const plot = new Plot({
      width, height: 320, name: "histogram", x: padded([low, high], 0.04), y: [0, Math.max(most, peak) * 1.06],
      xName: metricName(state.metric), yName: "repetitions",
      alt: `Histogram of ${whole(ordered.length)} repetitions: from ${shown(ordered[0])} to ${shown(ordered.at(-1))}, mean ${shown(tests.mean)}, standard deviation ${shown(tests.sd)}.`,
    });
    bars.forEach((count, i) => plot.bar(start + i * wide, start + (i + 1) * wide, count, classes));
    if (!tests.constant) {
      const [from, to] = plot.x.domain;
      const xs = Array.from({ length: 161 }, (_, i) => from + ((to - from) * i) / 160);
      plot.line(xs, xs.map((x) => normalDensity(x, tests.mean, tests.sd) * wide * ordered.length), "normal");
    }
    if (rows) plot.caption = `Values are multiples of 1/${rows}${step > 1 ? `; a bar is ${step} of them` : "; a bar is one of them"}. The line is the normal distribution with this mean and standard deviation.`;
    else plot.caption = "The line is the normal distribution with this mean and standard deviation.";
    return plot;
  },

  normal({ state, tests, ordered, classes }, width) {
    const points = normalPlot(ordered);
    const plot = new Plot({
      width, height: 320, name: "qq", x: padded([points[0][0], points.at(-1)[0]]), y: padded(ordered),
      xName: "normal quantile", yName: metricName(state.metric),
      alt: `Normal plot of the repetitions: ${tests.constant ? "they are all equal" : `W = ${shown(tests.shapiro_w)}`}.`,
    });
    if (!tests.constant) {
      plot.line(plot.x.domain, plot.x.domain.map((z) => tests.mean + tests.sd * z), "normal");
    }
    plot.points(points, classes);
    plot.caption = "Ordered values against those of a normal distribution; the line is mean + sd · quantile.";
    return plot;
  },

  point() {},

  read({ state, tests, why }) {
    const p = (name, value) => {
      if (tests.constant) return [name, "–", "all values are equal"];
      if (Number.isNaN(value)) return [name, "–", "cannot be told"];
      const isLattice = name.includes("lattice");
      return [name, pValue(value), (isLattice ? value <= LEVEL : value < LEVEL) ? "not normal at 5 %" : "may be normal"];
    };
    const rows = [
      ["repetitions", String(tests.count), ""],
      ["mean", shown(tests.mean), ""],
      ["standard deviation", shown(tests.sd), ""],
      ["smallest, largest", `${shown(tests.minimum)}, ${shown(tests.maximum)}`, ""],
      ["skewness", shown(tests.skewness), ""],
      ["excess kurtosis", shown(tests.excess_kurtosis), ""],
      ["Shapiro–Wilk W", shown(tests.shapiro_w), ""],
      p("Shapiro–Wilk p", tests.shapiro_p),
      p("D’Agostino–Pearson p", tests.dagostino_p),
    ];
    if (state.metric === "accuracy" && (tests.constant || !Number.isNaN(tests.lattice_p))) {
      rows.push(p("normal on the lattice, p", tests.lattice_p));
    }
    return {
      caption: "Moments, and tests of normality",
      note: why,
      columns: ["statistic", "value", ""],
      rows: rows.map((cells) => ({ learner: cells[0], cells })),
    };
  },

  table({ tests, values }) {
    if (values) return { columns: ["repetition", "value"], rows: Array.from(values, (x, i) => [i, x]) };
    return { columns: ["statistic", "value"], rows: Object.entries(tests) };
  },

  python: ({ site, dataset, state }) => ofCell(site, dataset, state),
};
