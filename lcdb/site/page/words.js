// Words that figures have in common.

import { brief } from "./elements.js";
import { whole } from "./numbers.js";

const METRICS = { accuracy: "Accuracy", auc: "AUC", brier: "Brier score", cross_entropy: "Cross-entropy" };
const SPLITS = { fixed: "fixed test set", varying: "varying test set", pool: "pool" };
const TUNINGS = { default: "default parameters", tuned: "tuned parameters" };
const SCALINGS = { none: "features as they are", standard: "standardised features", minmax: "features scaled to [0, 1]" };

export const metricName = (metric) => METRICS[metric] ?? metric;
/** A metric within a sentence. */
export const metricWord = (metric) => (/^[A-Z][a-z]+(-|$)/.test(metricName(metric)) ? metricName(metric).toLowerCase() : metricName(metric));
export const splitName = (split) => SPLITS[split] ?? split;
export const tuningName = (tuning) => TUNINGS[tuning] ?? tuning;
export const scalingName = (scaling) => SCALINGS[scaling] ?? scaling;
export const samplingName = (sampling) => `${sampling} sampling`;

/** What a figure is of, beneath its title. */
export function circumstances(dataset, state) {
  const parts = [samplingName(state.sampling), splitName(state.split), tuningName(state.tuning)];
  if (dataset.scaling !== "none") parts.push(scalingName(dataset.scaling));
  return [...parts.map((one) => brief(one, 40)), `${whole(dataset.repetitions)} repetitions`].join(" · ");
}

/** A dataset as titles have it. */
export const datasetName = (dataset) => brief(dataset.name || dataset.id, 40);

/** A list of names as text. */
export function listed(names) {
  const some = names.map((name) => brief(name));
  if (some.length > 4) return `${some.length} learners`;
  return some.length > 1 ? `${some.slice(0, -1).join(", ")} and ${some.at(-1)}` : some[0] ?? "no learner";
}

/** A probability as a percentage: 0.025 is 2.5 %. */
export const share = (q) => `${Number((100 * q).toPrecision(6))} %`;

/** What a learner is called in full; nothing of learners that are not built in. */
export const longName = (site, learner) => (Object.hasOwn(site.long_names, learner) ? site.long_names[learner] : "");

/** A cell that names a learner in its colour, for tables. */
export const named = (site, learner, classes) => ({ text: brief(learner, 40), classes, more: longName(site, learner) });
