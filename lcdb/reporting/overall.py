"""Learners over all datasets, and by the mean against by bad days."""

from __future__ import annotations

import numpy as np

from lcdb import analysis
from lcdb.analysis import in_words
from lcdb.reporting.calls import Made, call
from lcdb.reporting.document import Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Scope
from lcdb.reporting.texts import interval, listed, number, share

__all__ = ["overall", "quantiles_and_means"]


def overall(scope: Scope) -> Section | None:
    """Return the section on all datasets together; None where there are not two in full."""
    parts = [part for part in scope.with_repetitions if len(part.learners) > 1]
    common = [name for name in parts[0].learners if all(name in part.learners for part in parts)] \
        if parts else []  # fmt: skip
    if len(parts) < 2 or len(common) < 2:
        return None
    last = {part.key: part.curves.value.isel(n=-1).sel(learner=common) for part in parts}
    text = "{key: array.isel(n=-1) for key, array in curves.items()}"
    if any(part.learners != common for part in parts):
        text = f"{{key: array.isel(n=-1).sel(learner={common!r}) for key, array in curves.items()}}"
    if len(parts) < len(scope.parts):
        text = text[:-1] + f" if key in {[part.key for part in parts]!r}}}"
    made = call("analysis.aggregate", Made(text, last))
    result = made.value
    rows = []
    for name in common:
        one = result.sel(learner=name)
        rows.append(
            (
                name, number(float(one["mean_rank"]), 1),
                *(
                    f"{number(float(one[what]))} "
                    f"({interval(float(one[what + '_low']), float(one[what + '_high']))})"
                    for what in ("interquartile_mean", "mean")
                ),
            )
        )  # fmt: skip
    head = ("learner", "mean rank", "interquartile mean (95 %)", "mean (95 %)")
    caption = (
        "Learners at the last size of each dataset. Intervals come from resampling repetitions "
        "within datasets: they hold for these datasets and say nothing of others. Ranks take each "
        "dataset as one observation."
    )
    drawing = figure("The middle half of all scores by learner, with its interval.", "aggregates",
                     made)  # fmt: skip
    return Section(
        "Over all datasets",
        (Text(in_words(result)), Table(head, tuple(rows), caption, made.text), drawing),
    )


def quantiles_and_means(scope: Scope) -> Section | None:
    """Return the section on winners by mean and by quantile; None without several learners."""
    rows = []
    end = 0.05 if scope.parts[0].sign > 0 else 0.95
    for part in scope.parts:
        if len(part.learners) < 2:
            continue
        change = analysis.top_k_change(part.curves.value, end, 0.0, 1)["tie_aware"].values
        where = part.sizes[np.flatnonzero(change)]
        rows.append((part.name, f"{len(change):,}", share(change), listed(where, 8) or "none"))
    if not rows:
        return None
    bad = f"{100 * end:g} %"
    text = (
        "A mean says what to expect on average; who must live with one training set may care more "
        f"for the bad end, here the {bad} quantile. The table counts the sizes at which the two "
        "name different winners, however ties are broken; as observed, without a test, so that "
        "some of it is chance where learners are close."
    )
    head = ("dataset", "sizes", "other winner", "at n =")
    table = Table(
        head, tuple(rows), f"Sizes at which the best mean and the best {bad} quantile are not of "
        "the same learner.", f"lcdb.analysis.top_k_change(curves, {end}, 0.0, 1)",
        left=(0, 3),
    )  # fmt: skip
    return Section("Good on average, or good on bad days?", (Text(text), table))
