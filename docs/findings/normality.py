"""Whether scores are normally distributed, how far from it they are, and what is rounding."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import pandas as pd

from findings.evidence import Evidence
from lcdb.tables import Row
from lcdb.tables.turan2026 import SAME_DATASETS
from words import listed, markdown, metric_name, number, signed, with_sd

_COLUMNS = {
    "at every n": 1, "D'Agostino": 1, "lattice-aware": 1, "tested": 1, "W": 3, "skewness": 2,
    "excess kurtosis": 2, "tail": 2, "mean |tail|": 2, "|tail| > 0.5 (%)": 1,
}  # fmt: skip


def table(
    rows: Iterable[Row],
    name: Callable[[Row], str],
    first: str = "curves",
    without: Collection[str] = (),
) -> str:
    """Return a table of rates: published, ours, and what stands beside them but for some of it."""
    beside = {title: digits for title, digits in _COLUMNS.items() if title not in without}
    lines = [
        [
            f"{name(row)}, {metric_name(row.metric)}",
            with_sd(row.published, row.published_sd, 2),
            with_sd(row.ours, row.ours_sd, 2),
            number(row.difference, 2),
            *(number(row.beside.get(title), digits) for title, digits in beside.items()),
            str(row.cells) if row.ours is not None else "",
            str(row.constant) if row.ours is not None else "",
        ]
        for row in rows
        if row.published is not None or row.ours is not None
    ]
    titles = [title.replace("|", "\\|") for title in beside]
    columns = ["published", "ours", "difference", *titles, "cells", "constant"]
    return markdown(first, columns, lines)


def by_name(found: Evidence) -> Callable[[Row], str]:
    """Return what names the rows of tables by dataset or learner."""
    return lambda row: f"{found.known[row.row]} ({row.row})" if row.row in found.known else row.row


def _rows(found: Evidence, name: str, metric: str) -> list[Row]:
    return [r for r in found.tables[name].rows if r.metric == metric and r.ours is not None]


def comparable(row: Row) -> float:
    """Return the rate that is to be held against the printed one: at every n, if that is known."""
    every = row.beside.get("at every n")
    return float(row.ours if every is None else every)  # type: ignore[arg-type]


def agreement(found: Evidence, tables: Sequence[str], metric: str, what: str) -> str:
    """Return how near the printed rates ours are, as a sentence."""
    rows = [row for name in tables for row in _rows(found, name, metric)]
    rows = [row for row in rows if row.published is not None]
    apart = [(comparable(row) - float(row.published), row) for row in rows if row.published]
    if not apart:
        return ""
    near = sum(abs(difference) <= 5 for difference, _ in apart)
    most, far = max(apart, key=lambda pair: abs(pair[0]))
    low, high = (pick(rows, key=comparable) for pick in (min, max))
    return (
        f"By {what}, the rates of {metric_name(metric)} are between {number(comparable(low))} % "
        f"({found.named(low.row)}) and {number(comparable(high))} % ({found.named(high.row)}); "
        f"{near} of {len(apart)} are within five points of the printed ones, and the largest "
        f"difference is {signed(most, 1)} points ({found.named(far.row)})."
    )


def overall(found: Evidence) -> str:
    """Return the figures of the paper's text, as a table and in a sentence."""
    rows = [row for row in found.tables["text"].rows if row.metric == "all"]
    lines = [
        [row.row, number(row.published), number(row.ours, 2),
         number(row.beside.get("at every n"), 2)]
        for row in rows
    ]  # fmt: skip
    counts = found.frame
    told = listed(
        f"{row.row} {number(comparable(row), 2 if row.row == 'constant cells' else 1)} "
        f"({number(row.published)})"
        for row in rows
    )
    known = rows[0].beside.get("at every n") is not None
    how = (
        "with each size standing for those around it, as if there were cells at every n, which the "
        "paper has"
        if known
        else "as means over the sizes of the plan, of which more are small than in the paper"
    )
    return f"""Over {len(counts):,} curves and metrics, tuned ones among them, and
{int(counts["cells"].sum()):,} cells, the percentages of cells that are rejected at 5 % are, {how},
and in brackets as printed: {told}.

{_by_tuning(found)}

{markdown("test", ["published", "ours", "at every n"], lines)}
"""


def _by_tuning(found: Evidence) -> str:
    """Return in a sentence that the paper's curves are others in part."""
    by = found.frame.groupby("tuning")["every_rate"].agg(["mean", "size"])
    absent = [name for id, name in found.known.items() if id not in found.names]
    said = f"The paper's means have {listed(absent)} in them too" if absent else ""
    if {"default", "tuned"} <= set(by.index):
        share = 100 * by["size"]["tuned"] / by["size"].sum()
        said += (
            f"{', and half' if said else 'Half'} of its curves are tuned; here it is "
            f"{number(share, 0)} %: of tuned curves Shapiro-Wilk rejects "
            f"{number(by['mean']['tuned'])} % at every n, of default ones "
            f"{number(by['mean']['default'])} %"
        )
    return f"{said}." if said else ""


def of_auc(found: Evidence, sizes: str = " at the sizes of the plan") -> str:
    """Return in sentences how the rates of AUC differ from those of accuracy."""
    said = []
    for name, what in (("table_1", "datasets"), ("table_2", "learners")):
        both = {r.row: comparable(r) for r in _rows(found, name, "accuracy")}
        auc = {r.row: comparable(r) for r in _rows(found, name, "auc")}
        lower = [row for row in auc if auc[row] < both[row]]
        least = min(auc, key=auc.__getitem__)
        said.append(
            f"of {len(auc)} {what} {len(lower)} have a lower rate for AUC than for accuracy, and "
            f"the lowest is {number(auc[least])} % ({found.named(least)}; accuracy "
            f"{number(both[least])} %)"
        )
    frame = found.frame
    of = {m: frame[frame["metric"] == m] for m in ("accuracy", "auc")}
    rates = {m: number(some["rate"].mean()) for m, some in of.items()}
    shape = {m: some[["w", "absolute_tail", "far"]].mean() for m, some in of.items()}
    less = of["auc"]["rate"].mean() < of["accuracy"]["rate"].mean()
    sides = {
        shape["auc"]["w"] < shape["accuracy"]["w"],
        shape["auc"]["absolute_tail"] > shape["accuracy"]["absolute_tail"],
        shape["auc"]["far"] > shape["accuracy"]["far"],
    }
    verdict = "Measures of how far it is from normal disagree"
    if len(sides) == 1:
        verdict = (
            f"Its distributions are {'farther' if sides == {True} else 'less far'} from normal"
        )
    numbers = (
        f"W {number(shape['auc']['w'], 3)} ({number(shape['accuracy']['w'], 3)}), mean |tail| "
        f"{number(shape['auc']['absolute_tail'], 2)} "
        f"({number(shape['accuracy']['absolute_tail'], 2)}), |tail| above 0.5 in "
        f"{number(shape['auc']['far'])} % ({number(shape['accuracy']['far'])} %) of the cells"
    )
    return (
        f"AUC is rejected {'less' if less else 'no less'} often than accuracy: {rates['auc']} "
        f"against {rates['accuracy']} % of the cells{sizes}, as a mean over "
        f"curves. {_sentence('; '.join(said))} "
        f"{verdict}; means over curves, those of accuracy in brackets: {numbers}."
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def tails(found: Evidence) -> str:
    """Return in sentences how far off 5 % quantiles are, with and without their sign."""
    said = []
    for metric in ("accuracy", "auc"):
        sign, size = (_beside(found, "table_2", metric, name) for name in ("tail", "mean |tail|"))
        far = _beside(found, "table_1", metric, "|tail| > 0.5 (%)")
        above, below, most, least, worst, best = (
            pick(values, key=values.__getitem__)
            for values in (sign, size, far)
            for pick in (max, min)
        )
        said.append(
            f"The 5 % quantile of {metric_name(metric)} is off that of the normal with the same "
            f"mean and sd by {signed(sign[above], 2)} sd for {above} and by "
            f"{signed(sign[below], 2)} sd for {below}, the ends of Table 2 (means over curves; "
            "below zero is worse than the normal says). Signs cancel in these: whatever the sign "
            f"of a cell, it is {number(size[most], 2)} sd for {most}, the farthest, and "
            f"{number(size[least], 2)} sd for {least}, the nearest. More than half an sd off are "
            f"{number(far[worst])} % of the cells of {found.named(worst)} and "
            f"{number(far[best])} % of those of {found.named(best)}."
            + (_rounded_tails(found) if metric == "accuracy" else "")
        )
    return "\n\n".join(said)


def _rounded_tails(found: Evidence) -> str:
    """Return in a sentence how far off quantiles of accuracy would be by rounding alone."""
    alone = {name: found.rounded_tails(key) for key, name in found.unscaled.items()}
    most = max(alone, key=lambda name: alone[name][0])
    others = [values for name, values in alone.items() if name != most]
    text = (
        f" Were scores normal and rounded to the rows of their test sets, it would be "
        f"{number(alone[most][0], 2)} sd on average and more than half an sd in "
        f"{number(alone[most][1])} % of the cells of {most}"
    )
    if others:
        text += (
            f", and on no other dataset more than {number(max(a for a, _ in others), 2)} sd and "
            f"{number(max(b for _, b in others))} %"
        )
    return f"{text} (of the cells that ship, without bootstrap)."


def _beside(found: Evidence, table: str, metric: str, column: str) -> dict[str, float]:
    """Return what stands beside the rates of a table, by row."""
    rows = _rows(found, table, metric)
    return {row.row: float(row.beside[column] or 0.0) for row in rows}


def rounding(found: Evidence) -> str:
    """Return in sentences what is left of the rates of accuracy where rounding is allowed for."""
    rows = _rows(found, "table_1", "accuracy")
    left = {r.row: (float(r.ours), float(r.beside["lattice-aware"])) for r in rows
            if r.beside["lattice-aware"] is not None and r.ours is not None}  # fmt: skip
    if not left:
        return ""
    drops = {k: a - b for k, (a, b) in left.items()}
    most, least = (pick(drops, key=drops.__getitem__) for pick in (max, min))
    tested = {r.row: float(r.beside["tested"]) for r in rows if r.beside["tested"] is not None}
    blind = min(tested, key=tested.__getitem__)
    steps = {r.row: float(r.beside["D'Agostino"] or 0.0) for r in rows}
    return (
        "An accuracy is a count over the test rows, and Shapiro-Wilk takes its steps for a "
        "departure. Asked whether counts are those of a *rounded* normal, the rate of "
        f"{found.names[most]} falls from {number(left[most][0])} to {number(left[most][1])} %, the "
        f"most of all, and that of {found.names[least]} from {number(left[least][0])} to "
        f"{number(left[least][1])} %, the least; on {found.names[blind]} the test can tell "
        f"anything on {number(tested[blind])} % of the cells. Not all of the drop is rounding: a "
        "grouped test has less power as well. D'Agostino's test, which steps hardly move, rejects "
        f"{number(steps[most])} % on {found.names[most]}. By dataset it rejects "
        f"{number(min(steps.values()))} % or more, and the test for rounded normals "
        f"{number(min(b for _, b in left.values()))} % or more, where 5 % would be rejected of "
        "normal distributions: by either, scores are not normal ones that were rounded."
    )


def groups(found: Evidence) -> str:
    """Return in sentences what balance and the number of classes do."""
    said = []
    both = {"table_3": ("imbalanced", "balanced"), "table_4": ("binary", "multiclass")}
    for name, kinds in both.items():
        for metric in ("accuracy", "auc"):
            rows = [found.row(name, kind, metric) for kind in kinds]
            if any(row.ours is None for row in rows):
                continue
            a, b = (comparable(row) for row in rows)
            p, q = (float(row.published) for row in rows)  # type: ignore[arg-type]
            who = "Of LREG, the" if name == "table_4" else "The"
            also = ""
            same = [row.beside.get(SAME_DATASETS) for row in rows]
            if None not in same:
                p, q = (float(value) for value in same)  # type: ignore[arg-type]
                also = f", over the same datasets {number(p)} and {number(q)}"
            said.append(
                f"{who} mean rate of {metric_name(metric)} is {number(a)} % on {kinds[0]} datasets "
                f"and {number(b)} % on {kinds[1]} ones, printed {number(rows[0].published)} and "
                f"{number(rows[1].published)}{also}: "
                f"{'the same' if (a - b) * (p - q) > 0 else 'the other'} way round."
            )
    return " ".join(said)


def shapes(found: Evidence) -> str:
    """Return Table B.10 and what it says."""
    rows = [row for row in found.tables["table_B10"].rows if row.ours is not None]
    lines = [
        [f"{row.row.split(' (')[0]}, {metric_name(row.metric)}", number(row.published, 2),
         number(row.ours, 2), str(row.cells)]
        for row in rows
    ]  # fmt: skip
    skewed = {r.metric: r for r in rows if r.row.startswith("skewness")}
    heavy = {r.metric: r for r in rows if not r.row.startswith("skewness")}
    said = listed(
        f"{number(skewed[m].ours, 2)} and {number(heavy[m].ours, 2)} for {metric_name(m)} (printed "
        f"{number(skewed[m].published, 2)} and {number(heavy[m].published, 2)})"
        for m in skewed
    )
    return f"""At the last size of each curve the median skewness and excess kurtosis are {said}.
{_without_shape(found)} Printed skewness of the losses has the sign of a score; it has that of the
loss here, as ours.

{_of_one_pool(found)}

{markdown("median over curves", ["published", "ours", "curves"], lines)}
"""


def drawn_whole(frame: pd.DataFrame) -> pd.Series:
    """Return which curves end where all their repetitions have the same training set."""
    return (frame["split"] == "fixed") & (frame["sampling"] != "bootstrap")


def _without_shape(found: Evidence) -> str:
    """Return in sentences which curves have no shape at their last size, and why."""
    frame = found.frame
    whole = drawn_whole(frame)
    flat = frame["last_skewness"].isna()
    counts = listed(
        f"{(flat & whole & (frame['metric'] == m)).sum()} of "
        f"{(whole & (frame['metric'] == m)).sum()} in {metric_name(m)}"
        for m in ("accuracy", "auc")
    )
    others = (flat & ~whole).sum()
    return (
        "They are of the curves that have a shape there. On a fixed test set the largest n leaves "
        "additive and random sampling one training set, all rows of the pool, so that repetitions "
        "differ only by what the learner draws or tuning holds out: of those curves "
        f"{counts} are constant at that n, of all others {others}."
    )


def _of_one_pool(found: Evidence) -> str:
    """Return in a sentence which curves make the printed shape of AUC."""
    frame = found.frame[found.frame["metric"] == "auc"]
    tuned = drawn_whole(frame) & (frame["tuning"] == "tuned")
    shape = ["last_skewness", "last_kurtosis"]
    if not tuned.any() or frame.loc[tuned, "last_skewness"].isna().all():
        return ""
    (a, b), (c, d) = (frame.loc[some, shape].median() for some in (tuned, ~tuned))
    count = int(frame.loc[tuned, "last_skewness"].notna().sum())
    row = found.row("table_B10", "skewness", "auc")
    tail = found.row("table_B10", "excess kurtosis", "auc")
    return (
        "For AUC, whose printed shape is the farthest from ours, which curves there are decides: "
        f"the {count} tuned ones that end in one training set have {number(a, 2)} and "
        f"{number(b, 2)}, all others {number(c, 2)} and {number(d, 2)} (printed "
        f"{number(row.published, 2)} and {number(tail.published, 2)})."
    )


def section(found: Evidence) -> str:
    """Return the section."""
    name = by_name(found)
    get = found.tables
    said = [agreement(found, ["table_1"], metric, "dataset") for metric in ("accuracy", "auc")] + [
        agreement(found, ["table_2"], metric, "learner") for metric in ("accuracy", "auc")
    ]
    losses = [agreement(found, ["table_D13"], m, "dataset and learner")
              for m in ("brier", "cross_entropy")]  # fmt: skip
    return f"""## Are scores normally distributed?

{overall(found)}

![Share of non-Gaussian cells by learner and dataset, accuracy and AUC](pictures/findings/rates.svg)

{" ".join(filter(None, said))}

{" ".join(filter(None, losses))}

![Share of non-Gaussian cells along n, by learner](pictures/findings/along-n.svg)

### AUC beside accuracy

{of_auc(found)}

### How far from normal?

A rate grows with the number of repetitions; what it costs to take a normal for granted does not.

{tails(found)}

![How far the 5 % quantile is off, with its sign and without](pictures/findings/tails.svg)

### How much of it is rounding?

{rounding(found)}

### Table 1. Non-Gaussian cells (%) by dataset

{table(get["table_1"].rows, name, "dataset, metric")}

### Table 2. Non-Gaussian cells (%) by learner

{table(get["table_2"].rows, name, "learner, metric")}

{get["table_2"].note}

### Table D.13. The same for the losses

{table(get["table_D13"].rows, name, "dataset or learner, metric")}

### Tables 3, 4 and D.12. By balance and number of classes

{groups(found)}

{table([*get["table_3"].rows, *get["table_4"].rows, *get["table_D12"].rows], name, "group, metric")}

### Table B.10. Shape at the last size

{shapes(found)}
"""
