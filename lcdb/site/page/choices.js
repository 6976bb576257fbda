// The form beside the figure: what can be chosen for it.

import { colour } from "./chart.js";
import { brief, html } from "./elements.js";
import { whole } from "./numbers.js";
import { bands } from "./state.js";
import { metricName, samplingName, scalingName, share, splitName, tuningName } from "./words.js";

/** A list to choose one from: `options` are [value, text]. */
function choice(name, label, options, value, change) {
  const select = html("select", {
    id: `choose-${name}`, name, onchange: (event) => change({ [name]: event.target.value }),
  }, ...options.map(([key, text]) => html("option", { value: key, selected: key === value }, brief(text, 60))));
  return html("label", { for: `choose-${name}` }, html("span", {}, label), select);
}

/** A few to choose one from, side by side. */
function few(name, label, options, value, change) {
  return html("fieldset", { class: "few" }, html("legend", {}, label), html("div", {}, ...options.map(([key, text]) =>
    html("label", {}, html("input", {
      type: "radio", name, id: `choose-${name}-${key}`, value: key, checked: key === value,
      onchange: () => change({ [name]: key }),
    }), html("span", {}, text)))));
}

function learners(site, dataset, state, change) {
  const box = (learner, i) => {
    const status = site.status(dataset, learner, state);
    return html("label", { class: `learner ${colour(site, learner)}`, title: brief(learner, 200) }, html("input", {
      type: "checkbox", id: `choose-learner-${i}`, value: learner, checked: state.learners.includes(learner),
      onchange: (event) => {
        const others = state.learners.filter((one) => one !== learner);
        const next = event.target.checked ? [...others, learner] : others;
        if (next.length) change({ learners: next });
        else event.target.checked = true; // one stays
      },
    }), html("span", { class: "swatch", "aria-hidden": "true" }), html("span", {}, brief(learner)),
    status === "complete" ? null : html("small", {}, status?.replace("_", " ")));
  };
  return html("fieldset", { class: "learners" }, html("legend", {}, "Learners"),
    html("div", {}, ...dataset.labels.learner.map(box)),
    html("button", {
      type: "button", id: "choose-all", class: "plain", onclick: () => change({ learners: dataset.labels.learner }),
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
  const all = labels.learner.map((one) => [one, one]);
  const bandNames = bands(site).map((q) => [String(q), `${share(q)} to ${share(1 - q)} quantile`]);
  return [
    ...datasets(site, dataset, state, change),
    choice("metric", "Metric", site.metrics.map(({ name }) => [name, metricName(name)]), state.metric, change),
    choice("sampling", "Training rows", labels.sampling.map((one) => [one, samplingName(one)]), state.sampling, change),
    choice("split", "Test rows", labels.split.map((one) => [one, splitName(one)]), state.split, change),
    choice("tuning", "Tuning", labels.tuning.map((one) => [one, tuningName(one)]), state.tuning, change),
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
    uses("test") && state.metric === "accuracy"
      ? few("test", "Test", [["shapiro", "Shapiro–Wilk"], ["lattice", "on the lattice"]], state.test, change) : null,
    uses("axis") ? few("axis", "Axis of n", [["log", "logarithmic"], ["linear", "linear"]], state.axis, change) : null,
  ].filter(Boolean);
}
