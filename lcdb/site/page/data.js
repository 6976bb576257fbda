// What there is to show, and the files it is in. Each is read once.

import { Cube } from "./cube.js";
import { readTable } from "./table.js";

async function read(path) {
  const answer = await fetch(path, { mode: "cors" });
  if (!answer.ok) throw new Error(`${path}: the host answers ${answer.status}`);
  return answer;
}

/** The axes of a table: `at(column, i, j, …)`. */
export class Panel {
  constructor(columns) {
    this.columns = columns;
  }

  at(name, ...places) {
    const { shape, values } = this.columns[name];
    let place = 0;
    places.forEach((one, dim) => { place = place * shape[dim] + one; });
    return values[place];
  }

  /** The values along the last of the named places, `places` being those of the dims before. */
  row(name, ...places) {
    const { shape, values } = this.columns[name];
    const rest = shape.slice(places.length).reduce((a, b) => a * b, 1);
    let place = 0;
    places.forEach((one, dim) => { place = place * shape[dim] + one; });
    return values.subarray(place * rest, (place + 1) * rest);
  }
}

export class Site {
  static async open() {
    const site = new Site();
    Object.assign(site, await (await read("site.json")).json());
    if (site.version !== 1) throw new Error("site.json is of another version than this page");
    site.learners = [...new Set(site.datasets.flatMap((one) => one.labels.learner))];
    site.panels = new Map();
    site.cubes = new Map();
    return site;
  }

  dataset(key) {
    return this.datasets.find((one) => one.key === key);
  }

  metric(name) {
    return this.metrics.find((one) => one.name === name);
  }

  /** The status of a curve, by name. */
  status(dataset, learner, { sampling, split, tuning }) {
    const { labels, status } = dataset;
    let place = labels.learner.indexOf(learner);
    place = place * labels.sampling.length + labels.sampling.indexOf(sampling);
    place = place * labels.split.length + labels.split.indexOf(split);
    place = place * labels.tuning.length + labels.tuning.indexOf(tuning);
    return this.statuses[status[place]];
  }

  /** Whether a curve has values. */
  isThere(dataset, learner, state) {
    const status = this.status(dataset, learner, state);
    return status === "complete" || status === "partial";
  }

  /** Whether a dataset has the labels of a panel. */
  has(dataset, state) {
    return ["sampling", "split", "tuning"].every((dim) => dataset.labels[dim].includes(state[dim]));
  }

  /** One of the files of a panel: curves, tests or pairs. */
  panel(dataset, state, kind) {
    const place = ["sampling", "split", "tuning"]
      .map((dim) => dataset.labels[dim].indexOf(state[dim])).join("-");
    const path = `${dataset.folder}/${place}-${state.metric}.${kind}.bin`;
    if (!this.panels.has(path)) {
      const made = read(path)
        .then(async (answer) => new Panel(await readTable(await answer.arrayBuffer())));
      made.catch(() => this.panels.delete(path)); // the next look tries again
      this.panels.set(path, made);
    }
    return this.panels.get(path);
  }

  /** The repetitions of one cell, in the order of the cube. */
  async cell(dataset, state) {
    if (!this.cubes.has(dataset.key)) this.cubes.set(dataset.key, new Cube(dataset.cube));
    const cube = this.cubes.get(dataset.key);
    const { labels } = dataset;
    await cube.open().catch((error) => {
      this.cubes.delete(dataset.key);
      throw error;
    });
    const place = (await cube.values("n")).indexOf(state.n);
    if (place < 0) throw new Error(`the cube has no size ${state.n}`);
    return cube.row(state.metric, [
      labels.learner.indexOf(state.one), labels.sampling.indexOf(state.sampling),
      labels.split.indexOf(state.split), labels.tuning.indexOf(state.tuning), place,
    ]);
  }
}
