"""How many repetitions tell the best two learners apart."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.plot.style import metric_label
from lcdb.reporting.best import Ranking, rankings, some_sizes
from lcdb.reporting.calls import call
from lcdb.reporting.document import Block, Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Part, Scope
from lcdb.reporting.pairs import keys_of
from lcdb.reporting.texts import counted, interval, number

__all__ = ["effort"]

_TITLE = "How many repetitions a comparison needs"
_STUDIES = (5, 10, 25)
_CHOSEN = (
    "The best two were chosen by the same repetitions, which makes their difference look a little "
    "larger than it is."
)


def effort(scope: Scope) -> Section | None:
    """Return the section on power; None where no dataset has two learners."""
    blocks: list[Block] = []
    headlines = []
    for section in (_of_repetitions(scope), _of_summaries(scope)):
        if section is not None:
            blocks += section.blocks
            headlines += [section.headline]
    return Section(_TITLE, tuple(blocks), " ".join(filter(None, headlines))) if blocks else None


def _of_summaries(scope: Scope) -> Section | None:
    """Return what moments say: the most repetitions that the best two take."""
    parts = [part for part in scope.summaries if len(part.learners) > 1]
    if not parts:
        return None
    ranked = [ranking for ranking in rankings(scope) if ranking.part in parts]
    needed = [_most(ranking) for ranking in ranked]
    rows = tuple(
        (
            ranking.part.name + " (summary)", f"{ranking.n:,}", *ranking.order[:2],
            f"{number(ranking.means[0] - ranking.means[1])} ({interval(*ranking.first_ends)})",
            _needed(result),
        )
        for ranking, result in zip(ranked, needed, strict=True)
    )  # fmt: skip
    few = sum(float(result["repetitions"]) <= _STUDIES[-1] for result in needed)
    total = counted(len(rows), "comparison")
    verdict = (
        f"{_STUDIES[-1]} repetitions are enough to tell the best two apart 4 times in 5 in at "
        f"least {few} of {total} of summaries."
        if few
        else f"Whether {_STUDIES[-1]} repetitions are enough to tell the best two apart, means and "
        f"standard deviations alone say in none of {total}."
    )
    text = (
        "How the scores of two learners go together is not known of summaries, and so not how much "
        "their differences vary: at most as much as both learners together, which is taken here. "
        "The numbers are the most that a paired t-test needs, were the observed difference the "
        f"true one; the full cubes may say fewer. {_CHOSEN} {verdict}"
    )
    caption = (
        "The most repetitions that a paired t-test at 5 % needs to tell the best two apart in 80 % "
        'of studies, with the range that the interval of the difference allows ("open": it may be '
        f"0). Scores: {metric_label(scope.metric)}."
    )
    head = ("dataset", "n", "best", "second", "difference (95 %)", "repetitions for 80 %, at most")
    arrays = "curves" if len(parts) == len(scope.parts) else keys_of(parts)
    made = f"lcdb.analysis.repetitions_for({arrays})"
    table = Table(head, rows, caption, made, left=(0, 2, 3))
    return Section(_TITLE, (Text(text), table), verdict if few else "")


def _most(ranking: Ranking) -> xr.Dataset:
    cell = ranking.part.curves.value.sel(n=ranking.n)
    return analysis.repetitions_for(*(cell.sel(learner=name) for name in ranking.order[:2]))


def _of_repetitions(scope: Scope) -> Section | None:
    """Return what studies of few repetitions would find, drawn from those that there are."""
    parts = [part for part in scope.with_repetitions if len(part.learners) > 1]
    if not parts:
        return None
    rows, seen, few = [], 0, 0
    for part in parts:
        for n in some_sizes(part):
            row, power = _effort_row(part, n)
            rows.append(row)
            if not np.isnan(power):
                seen += 1
                few += power >= 0.8
    text = (
        "Were the observed difference between the best and the second learner the true one, how "
        "often would a study of so few repetitions find it? Studies are drawn from the "
        f"repetitions that there are; paired t-test, 5 %. {_CHOSEN} "
    )
    if seen:
        text += (
            f"With {_STUDIES[-1]} repetitions, {few} of {seen} such comparisons would be found at "
            "least 4 times in 5."
        )
    head = (
        "dataset", "n", "best", "second", "difference (95 %)", "repetitions for 80 %",
        *(f"found with {r}" for r in _STUDIES),
    )  # fmt: skip
    caption = (
        "Repetitions that a paired t-test needs to tell the best two apart in 80 % of studies, "
        'with the range that the interval of the difference allows ("open": it may be 0), and the '
        f"share of studies of few repetitions that would find it. Scores: "
        f"{metric_label(scope.metric)}."
    )
    arrays = "curves" if not scope.summaries else keys_of(parts)
    call_text = (
        f"lcdb.analysis.repetitions_for({arrays}), lcdb.analysis.power({arrays}, "
        f"repetitions={_STUDIES!r}, studies=1000)"
    )
    table = Table(head, tuple(rows), caption, call_text, left=(0, 2, 3))
    headline = ""
    if seen:
        headline = (
            f"{_STUDIES[-1]} repetitions would tell the best two apart at least 4 times in 5 in "
            f"{few} of {seen} comparisons."
        )
    return Section(_TITLE, (Text(text), table, *_power_figure(parts[-1])), headline)


def _best_two(part: Part, n: int) -> list[str]:
    means = part.sign * part.cells["mean"].sel(n=n).values.astype(float)
    return [part.learners[i] for i in np.argsort(-means, kind="stable")[:2]]


def _effort_row(part: Part, n: int) -> tuple[tuple[str, ...], float]:
    names = _best_two(part, n)
    one, other = (part.curves.value.sel(learner=name, n=n) for name in names)
    needed = analysis.repetitions_for(one, other)
    studies = analysis.power(one, other, repetitions=list(_STUDIES), studies=1000)
    difference = analysis.compare(one, other, quantiles=(0.5,), resamples=2)
    shares = studies["power"].values
    row = (
        part.name, f"{n:,}", *names,
        f"{number(float(difference['mean_difference']))} "
        f"({interval(float(difference['mean_low']), float(difference['mean_high']))})",
        _needed(needed),
        *("" if np.isnan(share) else f"{100 * share:.0f} %" for share in shares),
    )  # fmt: skip
    return row, float(shares[-1])


def _needed(result: xr.Dataset) -> str:
    middle, low, high = (
        float(result[name]) for name in ("repetitions", "repetitions_low", "repetitions_high")
    )
    if not np.isfinite(middle):
        return "open"
    end = f"{high:,.0f}" if np.isfinite(high) else "open"
    return f"{middle:,.0f} ({low:,.0f} to {end})"


def _power_figure(part: Part) -> list[Block]:
    names = _best_two(part, int(part.sizes[-1]))
    if len(part.sizes) < 3:
        return []
    sides = [part.curves.sel(learner=name) for name in names]
    studies = call("analysis.power", *sides, studies=500)
    if not np.isfinite(studies.value["power"].values).any():
        return []
    caption = (
        f"How often studies of few repetitions would tell {names[0]} and {names[1]} apart on "
        f"{part.name}, the best two at its last size, at every size; were the observed differences "
        "the true ones."
    )
    return [figure(caption, "powers", studies)]
