// The form beside the figure: what can be chosen for it.

import { colour } from "./chart.js";
import { brief, html } from "./elements.js";
import { whole } from "./numbers.js";
import { bands } from "./state.js";
import { longName, metricName, samplingName, scalingName, share, splitName, tuningName } from "./words.js";

/** A list to choose one from: `options` are [value, text]. */
function choice(name, label, options, value, change) {
  const select = html("select", {
    id: `choose-${name}`, name, onchange: (event) => change({ [name]: event.target.value }),
  }, ...options.map(([key, text, why]) => html("option", {
    value: key, selected: key === value, disabled: Boolean(why), title: why,
  }, why ? `${brief(text, 40)} (${brief(why, 60)})` : brief(text, 60))));
  return html("label", { for: `choose-${name}` }, html("span", {}, label), select);
}

/** A few to choose one from, side by side. */
function few(name, label, options, value, change) {
  return html("fieldset", { class: "few" }, html("legend", {}, label), html("div", {}, ...options.map(([key, text, why]) =>
    html("label", { title: why }, html("input", {
      type: "radio", name, id: `choose-${name}-${key}`, value: key, checked: key === value, disabled: Boolean(why),
      onchange: () => change({ [name]: key }),
    }), html("span", {}, text)))));
}

const DIMS = ["sampling", "split", "tuning"];
const NAMES = { sampling: samplingName, split: splitName, tuning: tuningName };

/** Whether a dataset has a curve of some learner under these labels. */
const built = (site, dataset, state) => dataset.labels.learner.some((one) => site.isThere(dataset, one, state));

/** Why a label cannot be chosen beside the others, or nothing: which other one it has to go with. */
function whyNot(site, dataset, state, dim, label) {
  const asked = { ...state, [dim]: label };
  if (built(site, dataset, asked)) return "";
  const ways = DIMS.filter((other) => other !== dim).map((other) =>
    dataset.labels[other].filter((one) => built(site, dataset, { ...asked, [other]: one })).map(NAMES[other]));
  const way = ways.find((some) => some.length);
  return way ? `with ${way.join(" or ")} alone` : "not built";
}

/** The labels of a dim as options; those that nothing was built of say so. */
const labelled = (site, dataset, state, dim) => dataset.labels[dim].map((one) =>
  [one, NAMES[dim](one), one === state[dim] ? "" : whyNot(site, dataset, state, dim, one)]);

function learners(site, dataset, state, change) {
  const box = (learner, i) => {
    const status = site.status(dataset, learner, state);
    const more = longName(site, learner);
    const isOff = !site.isThere(dataset, learner, state) && !state.learners.includes(learner);
    const title = [brief(learner, 200), more, isOff ? `${status?.replace("_", " ")} under these choices` : ""].filter(Boolean).join(": ");
    return html("label", { class: `learner ${colour(site, learner)}`, title }, html("input", {
      type: "checkbox", id: `choose-learner-${i}`, value: learner, checked: state.learners.includes(learner), disabled: isOff,
      onchange: (event) => {
        const others = state.learners.filter((one) => one !== learner);
        const next = event.target.checked ? [...others, learner] : others;
        if (next.length) change({ learners: next });
        else event.target.checked = true; // one stays
      },
    }), html("span", { class: "swatch", "aria-hidden": "true" }), html("span", {}, brief(learner), more ? html("small", {}, ` ${more}`) : null),
    status === "complete" ? null : html("small", {}, status?.replace("_", " ")));
  };
  return html("fieldset", { class: "learners" }, html("legend", {}, "Learners"),
    html("div", {}, ...dataset.labels.learner.map(box)),
    html("button", {
      type: "button", id: "choose-all", class: "plain", onclick: () => {
        const some = dataset.labels.learner.filter((one) => site.isThere(dataset, one, state));
        change({ learners: some.length ? some : dataset.labels.learner });
      },
    }, "all of them"));
}

function size(dataset, state, change) {
  const { sizes } = dataset;
  const output = html("output", { for: "choose-n" }, whole(state.n));
  const text = (i) => `n = ${sizes[i]}`;
  const range = html("input", {
    type: "range", id: "choose-n", min: 0, max: sizes.length - 1, step: 1, "aria-valuetext": text(sizes.indexOf(state.n)),
    oninput: (event) => {
      const n = sizes[Number(event.target.value)];
      output.textContent = whole(n);
      event.target.setAttribute("aria-valuetext", text(Number(event.target.value)));
      change({ n });
    },
  });
  range.value = String(sizes.indexOf(state.n)); // after its limits
  return html("label", { for: "choose-n", class: "range" }, html("span", {}, "Training rows n"), output, range);
}

/** Datasets by name; those of other scalings are chosen by their scaling. */
function datasets(site, dataset, state, change) {
  const ids = [...new Set(site.datasets.map((one) => one.id))];
  const first = (id) => site.datasets.find((one) => one.id === id && one.scaling === dataset.scaling)
    ?? site.datasets.find((one) => one.id === id);
  const named = ids.map(first).map((one) => [one.key, `${brief(one.name || one.id)} (${brief(one.id)})`]);
  const same = site.datasets.filter((one) => one.id === dataset.id);
  return [
    choice("dataset", "Dataset", named, dataset.key, change),
    html("p", { class: "about" }, `${whole(dataset.rows)} rows, ${whole(dataset.features)} features, ${dataset.classes} classes`),
    same.length < 2 ? null : few("scaling", "Features", same.map((one) => [one.key, scalingName(one.scaling)]), dataset.key,
      ({ scaling }) => change({ dataset: scaling })),
  ];
}

/** The controls of a view. */
export function choices(site, dataset, state, view, change) {
  const { labels } = dataset;
  const uses = (name) => view.uses.includes(name);
  const all = labels.learner.map((one) => [one, [one, longName(site, one)].filter(Boolean).join(": "),
    site.isThere(dataset, one, state) ? "" : site.status(dataset, one, state)?.replace("_", " ")]);
  const bandNames = bands(site).map((q) => [String(q), `${share(q)} to ${share(1 - q)} quantile`]);
  return [
    ...datasets(site, dataset, state, change),
    choice("metric", "Metric", site.metrics.map(({ name }) => [name, metricName(name)]), state.metric, change),
    choice("sampling", "Training rows", labelled(site, dataset, state, "sampling"), state.sampling, change),
    choice("split", "Test rows", labelled(site, dataset, state, "split"), state.split, change),
    choice("tuning", "Tuning", labelled(site, dataset, state, "tuning"), state.tuning, change),
    uses("learners") ? learners(site, dataset, state, change) : null,
    uses("one") ? choice("one", "Learner", all, state.one, change) : null,
    uses("pair") ? choice("a", "First learner", all, state.a, change) : null,
    uses("pair") ? choice("b", "Second learner", all, state.b, change) : null,
    uses("pair") ? html("button", {
      type: "button", id: "choose-swap", class: "plain", onclick: () => change({ a: state.b, b: state.a }),
    }, "⇅ the other way round") : null,
    dataset.sizes.length ? size(dataset, state, change) : null,
    uses("middle") ? few("middle", view.label === "Ranks" ? "Ranked by" : "Line", [["mean", "mean"], ["median", "median"]], state.middle, change) : null,
    uses("band") ? choice("band", "Band", [["none", "no band"], ...bandNames], state.band, change) : null,
    uses("test") ? few("test", "Test", [["shapiro", "Shapiro–Wilk"],
      ["lattice", "on the lattice", state.metric === "accuracy" ? "" : "accuracy alone is a count of rows, on a lattice"]], state.test, change) : null,
    uses("axis") ? few("axis", "Axis of n", [["log", "logarithmic"], ["linear", "linear"]], state.axis, change) : null,
  ].filter(Boolean);
}
