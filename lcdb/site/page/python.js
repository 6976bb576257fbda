// The Python that gives the numbers of a figure.

/** A text or a number as Python writes it. */
export const literal = (value) => JSON.stringify(value);

/** How a dataset is called in Python: an OpenML id is a number there. */
const key = (dataset) => (/^(0|[1-9][0-9]*)$/.test(dataset.key) ? dataset.key : literal(dataset.key));

const list = (values) => `[${values.map(literal).join(", ")}]`;

const unit = (state) =>
  ["sampling", "split", "tuning"].map((dim) => `${dim}=${literal(state[dim])}`).join(", ");

/** Where `lcdb.open` finds the database: at the address of this page, unless the site says more. */
export function place(site) {
  return site.opens === "." ? new URL(".", document.baseURI).href.replace(/\/$/, "") : site.opens;
}

function start(site, ...imports) {
  return `${["import lcdb", ...imports].sort().join("\n")}\n\ndb = lcdb.open(${literal(place(site))})\n`;
}

/** What gives the scores of several learners: of a summary, what it knows of them. */
function several(dataset, state, learners) {
  const labels = `learner=${list(learners)}, ${unit(state)}, metric=${literal(state.metric)}`;
  return dataset.summary
    ? `scores = db[${key(dataset)}].sel(${labels})\n`
    : `scores = db.select(${key(dataset)}, ${labels})[${key(dataset)}]\n`;
}

export function ofCurves(site, dataset, state, quantiles) {
  return `${start(site)}${several(dataset, state, state.learners)}` +
    `result = lcdb.analysis.summary(scores, quantiles=[${quantiles.join(", ")}])\n` +
    `print(result[["mean", "quantile"]].sel(n=${state.n}).to_dataframe())\n`;
}

export function ofCell(site, dataset, state) {
  const labels = `${unit(state)}, metric=${literal(state.metric)}`;
  const learner = literal(state.one);
  if (dataset.summary) {
    return `${start(site)}cell = db[${key(dataset)}].sel(learner=${learner}, ${labels}, n=${state.n})\n` +
      "result = lcdb.analysis.normality(cell)\nprint(result)\n";
  }
  const rows = state.metric === "accuracy"
    ? `rows = db[${key(dataset)}].n_test.sel(sampling=${literal(state.sampling)}, split=${literal(state.split)}, n=${state.n})\n`
    : "";
  return `${start(site)}cell = db.curve(${key(dataset)}, ${learner}, ${labels}).sel(n=${state.n})\n${rows}` +
    `result = lcdb.analysis.normality(cell${rows ? ", rows" : ""})\n` +
    "print(float(cell.mean()), float(cell.std(ddof=1)))\nprint(result)\n";
}

export function ofPair(site, dataset, state) {
  const labels = `${unit(state)}, metric=${literal(state.metric)}`;
  const curve = (learner) => `db.curve(${key(dataset)}, ${literal(learner)}, ${labels})`;
  return `${start(site)}a = ${curve(state.a)}\nb = ${curve(state.b)}\n` +
    `sizes = [${state.n}]  # or a.n, which takes a while\n` +
    "result = lcdb.analysis.compare(a.sel(n=sizes), b.sel(n=sizes))\n" +
    'print(result[["mean_difference", "mean_low", "mean_high", "better"]].to_dataframe())\n';
}

export function ofRanks(site, dataset, state, direction) {
  let center;
  if (dataset.summary) {
    center = state.middle === "mean" ? 'scores["mean"]' : 'scores["quantile"].sel(q=0.5)';
  } else {
    const way = state.middle === "mean" ? 'mean("repetition")' : 'quantile(0.5, "repetition")';
    center = `scores.dropna("n", how="all").${way}`;
  }
  return `${start(site)}${several(dataset, state, state.learners)}center = ${center}.transpose("n", "learner")\n` +
    `result = center.round(9).to_pandas().rank(axis=1, ascending=${direction === "minimize" ? "True" : "False"})\n` +
    `print(result.loc[${state.n}])\n`;
}

export function ofNormality(site, dataset, state) {
  const code = start(site);
  if (dataset.summary) {
    return `${code}scores = db[${key(dataset)}].sel(${unit(state)}, metric=${literal(state.metric)})\n` +
      `result = lcdb.analysis.normality(scores)\nprint(result.sel(n=${state.n}).to_dataframe())\n`;
  }
  const rows = state.metric === "accuracy"
    ? `rows = db[${key(dataset)}].n_test.sel(sampling=${literal(state.sampling)}, split=${literal(state.split)})\n`
    : "";
  return `${code}scores = db.select(${key(dataset)}, ${unit(state)}, metric=${literal(state.metric)})[${key(dataset)}]\n` +
    `${rows}result = lcdb.analysis.normality(scores${rows ? ", rows" : ""})\n` +
    `print(result.sel(n=${state.n}).to_dataframe())\n`;
}
