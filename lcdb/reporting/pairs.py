"""Where the order of two learners turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import xarray as xr

from lcdb.analysis import in_words
from lcdb.reporting.calls import call
from lcdb.reporting.document import Block, Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Part, Scope
from lcdb.reporting.texts import counted

__all__ = ["crossings", "keys_of"]

_SUMMARIES = (
    "This is asked of the paired repetitions, which summaries do not have: open the full cubes for "
    "this section."
)
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
        arrays = "curves" if not scope.summaries else keys_of(parts)
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


def keys_of(parts: Sequence[Part]) -> str:
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
