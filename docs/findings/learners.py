"""What scaling and tuning do to scores, and to the rates of rejection."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from findings.evidence import Evidence
from words import framed, listed, metric_name, number, signed

#: A difference of means counts if it is beyond so many standard errors, and a point.
ERRORS, POINT = 4.0, 0.01


def gains(found: Evidence, metric: str) -> tuple[str, pd.DataFrame]:
    """Return the table of what standardising adds to mean scores, and what counts of it."""
    columns, counted = {}, {}
    for plain, scaled in found.pairs:
        a, b = found.last(plain, metric), found.last(scaled, metric)
        both = a.index.intersection(b.index)
        gain = (b["mean"] - a["mean"])[both]
        error = np.hypot(a["error"], b["error"])[both]
        name = found.db.headers[plain].name
        counted[name] = gain.where((gain.abs() > ERRORS * error) & (gain.abs() > POINT), 0.0)
        text = [f"{number(a['mean'][one], 3)} {signed(gain[one])}" for one in both]
        columns[name] = pd.Series(text, both)
    frame = pd.DataFrame(columns).reindex(found.learners).fillna("")
    return framed(frame, "learner"), pd.DataFrame(counted).reindex(found.learners)


def by_pair(frame: pd.DataFrame) -> pd.Series:
    """Return the numbers of a frame by learner and dataset."""
    return pd.concat({learner: frame.loc[learner].dropna() for learner in frame.index})


def touched(gain: pd.DataFrame, metric: str) -> str:
    """Return in sentences where standardising raises scores, and where it lowers them."""
    pairs = by_pair(gain)
    better, worse = pairs[pairs > 0], pairs[pairs < 0]
    moved = [one for one in gain.index if (gain.loc[one].fillna(0) != 0).any()]
    still = [one for one in gain.index if one not in moved]
    said = [
        f"Of {len(pairs)} pairs of a learner and a dataset, standardising all features raises the "
        f"mean {metric_name(metric)} at the largest size by more than a point (and by more than "
        f"{ERRORS:g} standard errors) in {len(better)}, and lowers it so in {len(worse)}."
    ]
    if still:
        said.append(f"It never does either to {listed(still)}.")
    for some, word in ((better, "gain"), (worse, "loss")):
        if len(some):
            learner, dataset = some.abs().idxmax()
            points = number(100 * some.abs().max())
            said.append(f"The largest {word} is that of {learner} on {dataset}, {points} points.")
    by_dataset = (gain.fillna(0) != 0).sum()
    most, least = by_dataset.idxmax(), by_dataset.idxmin()
    said.append(
        f"It touches {by_dataset[most]} of {len(gain)} learners on {most}, the most, and "
        f"{by_dataset[least]} on {least}, the fewest."
    )
    return " ".join(said)


def rates(found: Evidence) -> tuple[str, str]:
    """Return the rates under both scalings by learner and dataset, as table and in sentences."""
    ids = [found.db.headers[plain].id for plain, _ in found.pairs]
    frames = [
        frame[frame["dataset"].isin(ids) & (frame["tuning"] == "default")]
        for frame in (found.frame, found.standard)
    ]
    text = {}
    for dim in ("learner", "dataset"):
        a, b = (f.pivot_table("rate", dim, "metric", sort=False)[["accuracy", "auc"]]
                for f in frames)  # fmt: skip
        kept = a.index.intersection(b.index, sort=False)
        order = [one for one in found.learners if one in kept] if dim == "learner" else list(kept)
        a, b = a.loc[order], b.loc[order]
        for one in order:
            text[found.names.get(one, one)] = {
                f"{metric_name(metric)}, {scaling}": number(frame.loc[one, metric])
                for metric in ("accuracy", "auc")
                for scaling, frame in (("unscaled", a), ("standardised", b))
            }
    a, b = (
        f.pivot_table("rate", ["learner", "dataset"], "metric", sort=False)[["accuracy", "auc"]]
        for f in frames
    )
    moved = (b - a).dropna()
    far = moved.abs().max(axis=1).groupby(level="learner").max()
    still = [one for one in found.learners if one in far.index and far[one] < 1.0]
    said = []
    for metric in ("accuracy", "auc"):
        learner, id = moved[metric].abs().idxmax()
        said.append(
            f"For {metric_name(metric)} the rate at which Shapiro-Wilk rejects moves by "
            f"{number(moved[metric].abs().mean())} points on average over pairs of a learner and a "
            f"dataset, the most for {learner} on {found.names[id]} "
            f"({signed(moved[metric][learner, id], 1)})."
        )
    if still:
        said.append(f"It moves by less than a point, everywhere and in both, for {listed(still)}.")
    return framed(pd.DataFrame(text).T, "learner or dataset"), " ".join(said)


def heart(found: Evidence) -> str:
    """Return what is known from elsewhere of GSVC on heart-statlog, if it is there."""
    pair = next((pair for pair in found.pairs if found.db.headers[pair[0]].id == "53"), None)
    if pair is None or "GSVC" not in found.learners:
        return ""
    some = {
        split: [number(found.last(key, "accuracy", split=split)["mean"]["GSVC"], 3) for key in pair]
        for split in ("varying", "fixed")
    }
    rows = found.db.headers[pair[0]].largest_size
    return (
        "GSVC on heart-statlog is the textbook's case: its kernel is dominated by the features of "
        f"the largest range, so that its accuracy at n = {rows} on varying test sets is "
        f"{some['varying'][0]} unscaled and {some['varying'][1]} standardised. On the fixed test "
        "set, where all repetitions have the same training set at that size, it is "
        f"{some['fixed'][0]} unscaled and {some['fixed'][1]} standardised."
    )


def tuning(found: Evidence, metric: str) -> tuple[str, str]:
    """Return what tuning gains at the largest size, as table and in sentences."""
    columns, gained = {}, {}
    where = {"sampling": "additive", "split": "varying"}
    for key, header in found.db.headers.items():
        if header.scaling != "none":
            continue
        a = found.last(key, metric, **where)
        b = found.last(key, metric, "tuned", **where)
        both = a.index.intersection(b.index)
        if len(both):
            gain = (b["mean"] - a["mean"])[both]
            text = [f"{number(b['mean'][one], 3)} {signed(gain[one])}" for one in both]
            columns[header.name], gained[header.name] = pd.Series(text, both), gain
    if not columns:
        return "", ""
    gain = pd.DataFrame(gained).reindex(found.learners)
    frame = pd.DataFrame(columns).reindex(found.learners).fillna("")
    return framed(frame, "learner"), gained_by(gain, metric, short_grids(found))


def gained_by(gain: pd.DataFrame, metric: str, short: dict[str, tuple[float, float]]) -> str:
    """Return in sentences where tuning gains and loses, and what short grids have to do with it."""
    pairs = by_pair(gain)
    better, worse = (pairs > POINT).sum(), (pairs < -POINT).sum()
    by = pairs.groupby(level=0, sort=False).mean()
    said = (
        f"Of {len(pairs)} pairs of a learner and a dataset, tuning gains more than a point of "
        f"{metric_name(metric)} in {better} and loses more than a point in {worse}. On average "
        f"over datasets {by.idxmax()} gains most ({signed(100 * by.max(), 1)} points) and "
        f"{by.idxmin()} least ({signed(100 * by.min(), 1)})."
    )
    if short:
        ends, default = next(iter(short.values()))
        lost = listed(
            f"{name} on {(gain.loc[name] < 0).sum()} of {gain.loc[name].count()} datasets"
            for name in short
        )
        said += (
            f" The printed grid of {listed(short)} ends at C = {ends:g}, below the default C = "
            f"{default:g}: tuning loses with {lost}."
        )
    return said


def short_grids(found: Evidence) -> dict[str, tuple[float, float]]:
    """Return the largest C of a grid and the default one, of learners whose default is larger."""
    cube = found.db[next(iter(found.unscaled))]
    texts = cube["learner_params"].sel(tuning="tuned")
    short = {}
    for name in found.learners:
        params = json.loads(str(texts.sel(learner=name).item()) or "{}")
        rule = params.get("tuning_rule", {})
        if rule.get("parameter") == "C" and max(rule["grid"]) < params["params"]["C"]:
            short[name] = (max(rule["grid"]), params["params"]["C"])
    return short


def section(found: Evidence) -> str:
    """Return the section."""
    parts = []
    if found.pairs:
        parts.append(_scaling(found))
    table, said = tuning(found, "accuracy")
    auc_table, auc_said = tuning(found, "auc")
    if table:
        parts.append(f"""## What tuning gains

{said}

{auc_said}

Mean accuracy of tuned curves at the largest size (additive, varying, unscaled), and how much more
that is than the default's:

{table}

The same of AUC; tuned curves of AUC are those of the value chosen by AUC:

{auc_table}
""")
    return "\n\n".join(parts)


def _scaling(found: Evidence) -> str:
    accuracy, by_accuracy = gains(found, "accuracy")
    auc, by_auc = gains(found, "auc")
    rate_table, moved = rates(found)
    return f"""## What scaling does

{touched(by_accuracy, "accuracy")}

{touched(by_auc, "auc")}

{heart(found)}

![Mean accuracy at the largest size, unscaled and standardised](pictures/findings/scaling.svg)

Mean accuracy at the largest size (random sampling, varying test set, default parameters), unscaled,
and what standardising adds:

{accuracy}

The same of AUC:

{auc}

### Do rates of rejection move?

{moved}

Rates at which Shapiro-Wilk rejects, in per cent of the cells of default curves at the sizes of the
plan; differences of several signs cancel in the means of this table:

{rate_table}
"""
