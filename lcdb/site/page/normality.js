// The normality map: for every dataset, learner and n, whether a test rejects normality.

import { Plot } from "./chart.js";
import { brief, svg } from "./elements.js";
import { pValue, percent, shown } from "./numbers.js";
import { ofNormality } from "./python.js";
import { metricWord, samplingName, splitName, tuningName, datasetName, longName, named } from "./words.js";

const LEVEL = 0.05;
const HEAD = 30;
const CLASSES = [
  ["keeps", "not rejected at 5 %"], ["rejects", "p < 5 %"], ["firmly", "p < 0.1 %"],
  ["far", "p < 10⁻¹⁰"], ["constant", "all values equal"], ["absent", "not tested"],
];

function kind(p, constant, count, isLattice) {
  if (!(count >= 8)) return "absent";
  if (constant) return "constant";
  if (Number.isNaN(p)) return "absent";
  if (isLattice ? p > LEVEL : p >= LEVEL) return "keeps";
  if (p >= 1e-3) return "rejects";
  return p >= 1e-10 ? "firmly" : "far";
}

/** Few rows may be higher. */
const rowHeight = (rows) => Math.max(15, Math.min(26, Math.floor(360 / Math.max(1, rows.length))));

export const normality = {
  label: "Normality",
  uses: ["test", "axis"],

  /** Rows are shown as they come: a server may have to compute the tests of every dataset first. */
  async load(site, dataset, state, partly) {
    const shownSets = site.datasets.filter((one) => site.has(one, state) && one.scaling === dataset.scaling && one.sizes.length);
    const panels = [];
    let count = 0;
    await Promise.all(shownSets.map(async (one, d) => {
      panels[d] = await site.panel(one, state, "tests");
      count += 1;
      const some = this.model(site, dataset, state, shownSets, panels);
      if (count < shownSets.length && some.rows.length) partly(some, `${count} of ${shownSets.length} datasets so far`);
    }));
    const model = this.model(site, dataset, state, shownSets, panels);
    return model.rows.length ? model : { none: "Nothing was built under these choices." };
  },

  model(site, dataset, state, shownSets, panels) {
    const isLattice = state.test === "lattice" && state.metric === "accuracy";
    const name = isLattice ? "lattice_p" : "shapiro_p";
    const rows = shownSets.flatMap((one, d) => (panels[d] ? one.labels.learner : []).map((learner, i) => {
      const panel = panels[d];
      const row = (column) => Array.from(panel.row(column, i));
      const [p, constant, count, w] = [name, "constant", "count", "shapiro_w"].map(row);
      const kinds = p.map((x, n) => kind(x, constant[n], count[n], isLattice));
      const counted = kinds.filter((one) => one !== "absent");
      const rejected = counted.filter((one) => one !== "keeps" && one !== "constant").length;
      return { dataset: one, learner, p, w, kinds, share: counted.length ? rejected / counted.length : NaN };
    }).filter((row) => row.kinds.some((one) => one !== "absent")));
    return { site, dataset, state, rows, isLattice };
  },

  title: ({ state, isLattice }) => ({
    title: `Where is ${state.metric === "brier" ? "the " : ""}${metricWord(state.metric)} normally distributed?`,
    subtitle: [isLattice ? "Rounded normal on the lattice 1/test rows" : "Shapiro–Wilk", samplingName(state.sampling),
      splitName(state.split), tuningName(state.tuning)].map((one) => brief(one, 60)).join(" · "),
  }),

  draw({ state, rows }, width) {
    const sets = [...new Set(rows.map((row) => row.dataset))];
    const longest = Math.max(4, ...rows.map((row) => brief(row.learner, 14).length));
    const left = Math.min(18 + longest * 7.6, width * 0.3);
    const sizes = sets.flatMap((one) => one.sizes);
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
    const plot = new Plot({
      width, height: 18 + 44 + rows.length * rowHeight(rows) + sets.length * HEAD, name: "normality", left, right: 68, top: 18,
      x: [Math.max(least - 0.5, 0.5), most + 0.5], xKind: state.axis, xWhole: true, y: [0, 1], yTicks: false, xName: "training rows n",
      alt: `Tests of normality by dataset, learner and n. Rejected at 5 %: ${rows.map((row) => `${brief(row.learner)} on ${datasetName(row.dataset)} ${percent(row.share)}`).join(", ")}.`,
    });
    const high = rowHeight(rows);
    let y = 18;
    let last = null;
    plot.places = rows.map((row) => {
      if (row.dataset !== last) {
        plot.back.append(svg("text", { x: 4, y: y + 21, class: "heading" }, datasetName(row.dataset)),
          svg("text", { x: width - 6, y: y + 21, class: "tick", "text-anchor": "end" }, "rejected"));
        y += HEAD;
      }
      last = row.dataset;
      const [from, to] = this.row(plot, row, y, high);
      y += high;
      return { row, top: y - high, height: high, from, to };
    });
    plot.legend = CLASSES;
    return [plot];
  },

  /** Draw a row; return where it begins and ends. */
  row(plot, row, y, height) {
    const { sizes } = row.dataset;
    const edge = (i) => {
      if (i <= 0) return plot.x(Math.max(sizes[0] - 0.5, plot.x.domain[0]));
      if (i >= sizes.length) return plot.x(sizes.at(-1) + 0.5);
      return (plot.x(sizes[i - 1]) + plot.x(sizes[i])) / 2;
    };
    plot.back.append(
      svg("text", { x: plot.left - 6, y: y + height / 2 + 4, class: "tick", "text-anchor": "end" }, brief(row.learner, 14)),
      svg("text", { x: plot.width - 6, y: y + height / 2 + 4, class: "tick", "text-anchor": "end" }, percent(row.share)));
    let start = 0; // neighbours of one kind are one rectangle
    row.kinds.forEach((one, i) => {
      if (row.kinds[i + 1] === one) return;
      plot.front.append(svg("rect", {
        x: edge(start).toFixed(1), y: y + 0.5, width: Math.max(0.5, edge(i + 1) - edge(start)).toFixed(1),
        height: height - 1, class: `cell ${one}`,
      }));
      start = i + 1;
    });
    return [edge(0), edge(sizes.length)];
  },

  point({ dataset, state }, [plot]) {
    plot.point(state.n, []);
    const place = plot.places.find(({ row }) => row.dataset === dataset && row.learner === state.one);
    if (place) {
      plot.cursor.append(svg("rect", {
        x: place.from - 1, y: place.top, width: place.to - place.from + 2, height: place.height, class: "chosen",
      }));
    }
  },

  /** The row at a height of the map: its dataset and learner. */
  nearest(model, [plot], y) {
    const away = ({ top, height }) => Math.abs(top + height / 2 - y);
    const place = [...plot.places].sort((a, b) => away(a) - away(b))[0];
    return place && { dataset: place.row.dataset.key, one: place.row.learner };
  },

  read({ site, dataset, state, rows, isLattice }) {
    const here = rows.filter((row) => row.dataset === dataset);
    const i = dataset.sizes.indexOf(state.n);
    const words = Object.fromEntries(CLASSES);
    return {
      caption: `${datasetName(dataset)} at n = ${state.n}`,
      columns: ["learner", "W", isLattice ? "p on the lattice" : "p", "", "rejected over all n"],
      rows: here.map((row) => ({
        learner: row.learner,
        opens: { view: "cell", one: row.learner },
        cells: [named(site, row.learner, row.learner === state.one ? "chosen" : ""), shown(row.w[i]), pValue(row.p[i]), words[row.kinds[i]], percent(row.share)],
      })),
    };
  },

  table: ({ site, rows, isLattice }) => ({
    columns: ["dataset", "learner", "n", "shapiro_w", isLattice ? "lattice_p" : "shapiro_p", "result", "long_name"],
    rows: rows.flatMap((row) => row.dataset.sizes.map((n, i) =>
      [row.dataset.name || row.dataset.id, row.learner, n, row.w[i], row.p[i], row.kinds[i], longName(site, row.learner)])),
  }),

  python: ({ site, dataset, state }) => ofNormality(site, dataset, state),
};
