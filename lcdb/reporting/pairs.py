"""Where the order of two learners turns, and how many repetitions tell two apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from lcdb.analysis import in_words
from lcdb.plot.style import metric_label
from lcdb.reporting.best import some_sizes
from lcdb.reporting.calls import call
from lcdb.reporting.document import Block, Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Part, Scope
from lcdb.reporting.texts import counted, interval, number

__all__ = ["crossings", "effort"]

_SUMMARIES = (
    "This is asked of the paired repetitions, which summaries do not have: open the full cubes for "
    "this section."
)
_STUDIES = (5, 10, 25)
_MOST_ROWS = 40


def _pairs(result: xr.Dataset) -> Iterator[xr.Dataset]:
    for place in range(result.sizes["pair"]):
        yield result.isel(pair=place)


def crossings(scope: Scope) -> Section | None:
    """Return the section on crossings; None where no dataset has two learners."""
    parts = [part for part in scope.with_repetitions if len(part.learners) > 1]
    title = "Where learners overtake each other"
    if not parts:
        return Section(title, (Text(_SUMMARIES),)) if scope.summaries else None
    count, turns = 0, []
    for part in parts:
        result = call("analysis.crossing", part.curves).value
        count += result.sizes["pair"]
        turns += [(part, one) for one in _pairs(result) if float(one["changes"]) > 0]
    turns.sort(key=lambda turn: -_reach(turn[1]))
    rows = tuple(_row(part, one) for part, one in turns[:_MOST_ROWS])
    text = (
        f"Of {counted(count, 'pair')} of learners on the same dataset, {len(turns)} change places: "
        "one is better by the mean at some sizes and the other at larger ones, each beyond a band "
        "that holds at all sizes of the pair together in 19 of 20 cases. The band is not "
        "corrected for the number of pairs, so that about one pair in 20 may be said to differ at "
        "a size where it does not."
    )
    if len(turns) > _MOST_ROWS:
        text += f" The table has the {_MOST_ROWS} with the largest differences."
    head = ("dataset", "better first", "better later", "crossing between", "changes of order")
    caption = (
        "Pairs that change places. The last crossing lies between the two sizes; from the second "
        "on, the order is never settled the other way again. Pairs with the largest differences "
        "on both sides stand first."
    )
    blocks: list[Block] = [Text(text)]
    if rows:
        arrays = "curves" if not scope.summaries else _only(parts)
        call_text = f"lcdb.analysis.crossing({arrays})"
        blocks.append(Table(head, rows, caption, call_text, left=(0, 1, 2)))
        blocks.append(_crossing_figure(*turns[0]))
    headline = (
        f"{len(turns)} of {counted(count, 'pair')} of learners change places along n, so that the "
        "better one depends on the size."
        if turns
        else f"None of {counted(count, 'pair')} of learners is found to change places along n."
    )
    return Section(title, tuple(blocks), headline)


def _only(parts: Sequence[Part]) -> str:
    """Return an expression for the datasets that have repetitions."""
    return f"{{key: curves[key] for key in {[part.key for part in parts]!r}}}"


def _reach(one: xr.Dataset) -> float:
    """Return how far the difference goes to both sides where it is settled: the lesser of them."""
    settled = one["difference"].where(one["order"] != 0)
    return float(min(settled.max(), -settled.min()))


def _names(one: xr.Dataset) -> tuple[str, str]:
    """Return who is better first, and who from the last crossing on."""
    first, second = str(one["first"].item()), str(one["second"].item())
    return (second, first) if float(one["winner"]) > 0 else (first, second)


def _row(part: Part, one: xr.Dataset) -> tuple[str, ...]:
    place = f"n = {float(one['open_low']):g} and {float(one['open_high']):g}"
    return (part.name, *_names(one), place, f"{int(one['changes'])}")


def _crossing_figure(part: Part, one: xr.Dataset) -> Block:
    first, second = str(one["first"].item()), str(one["second"].item())
    sides = [part.curves.sel(learner=name) for name in (first, second)]
    crossing = call("analysis.crossing", *sides)
    caption = (
        f"Difference of the means of {first} and {second} on {part.name} with a band that holds at "
        f"all sizes. {in_words(crossing.value)}"
    )
    return figure(caption, "crossings", crossing)


def effort(scope: Scope) -> Section | None:
    """Return the section on power; None where no dataset has two learners."""
    parts = [part for part in scope.with_repetitions if len(part.learners) > 1]
    title = "How many repetitions a comparison needs"
    if not parts:
        return Section(title, (Text(_SUMMARIES),)) if scope.summaries else None
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
        "repetitions that there are; paired t-test, 5 %. The best two were chosen by the same "
        "repetitions, which makes their difference look a little larger than it is. "
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
    arrays = "curves" if not scope.summaries else _only(parts)
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
    return Section(title, (Text(text), table, *_power_figure(parts[-1])), headline)


def _best_two(part: Part, n: int) -> list[str]:
    means = part.sign * part.cells["mean"].sel(n=n).values.astype(float)
    return [part.learners[i] for i in np.argsort(-means, kind="stable")[:2]]


def _effort_row(part: Part, n: int) -> tuple[tuple[str, ...], float]:
    from lcdb import analysis

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
