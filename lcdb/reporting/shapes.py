"""Which curves are well-behaved."""

from __future__ import annotations

import xarray as xr

from lcdb.analysis import in_words
from lcdb.reporting.calls import Made, call
from lcdb.reporting.document import Block, Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Part, Scope
from lcdb.reporting.texts import counted, number

__all__ = ["shapes"]


def shapes(scope: Scope) -> Section:
    """Return the section on the shapes of curves."""
    parts = [part for part in scope.with_repetitions if len(part.sizes) > 2]
    if not parts:
        return Section("The shape of the curves", (Text(_NEEDED),))
    made = {part.key: call("analysis.shape", part.curves) for part in parts}
    rows = [row for part in parts for row in _rows(part, made[part.key].value)]
    head = ("dataset", "learner", "gets worse", "worse at the end", "not convex", "peak", "flat")
    caption = (
        'Violations of a well-behaved curve that are significant at 5 %, with their place; "–": '
        "none found, which is no proof that there is none. Flat: the mean moves by at most 5 % of "
        "the range of all learners."
    )
    table = Table(head, tuple(rows), caption, _text_of(scope, parts), left=tuple(range(7)))
    blocks: list[Block] = [Text(_said(parts, made)), table, *_figure(parts, made)]
    bad = sum(row[2:6] != ("–",) * 4 for row in rows)
    headline = f"{bad} of {counted(len(rows), 'curve')} get worse or bend the wrong way somewhere."
    return Section("The shape of the curves", tuple(blocks), headline)


_NEEDED = (
    "Whether curves are monotone and convex is asked of the repetitions, which summaries do not "
    "have: open the full cubes for this section."
)


def _text_of(scope: Scope, parts: list[Part]) -> str:
    keys = [part.key for part in parts]
    several = (
        "curves" if len(keys) == len(scope.parts) else f"{{key: curves[key] for key in {keys!r}}}"
    )
    return f"lcdb.analysis.shape({several})"


def _rows(part: Part, result: xr.Dataset) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in part.learners:
        one = {str(k): float(v) for k, v in result.sel(learner=name).data_vars.items()}
        rise = f"n = {one['rise_from']:g} to {one['rise_to']:g}, by {number(one['rise'])}"
        dip = f"than at n = {one['dip_from']:g}, by {number(one['dip'])}"
        bump = f"at n = {one['bump_n']:g}, by {number(one['bump'])}"
        rows.append(
            (
                part.name, name,
                "–" if one["monotone"] else rise,
                dip if one["dipping"] else "–",
                "–" if one["convex"] else bump,
                f"n = {one['peak_n']:g}" if one["peaking"] else "–",
                "yes" if one["flat"] == 1 else "–",
            )
        )  # fmt: skip
    return rows


def _said(parts: list[Part], made: dict) -> str:
    total = sum(len(part.learners) for part in parts)
    count = {
        name: sum(int((made[part.key].value[name] == bad).sum()) for part in parts)
        for name, bad in (("monotone", 0), ("convex", 0), ("dipping", 1), ("peaking", 1))
    }
    return (
        "Scores are read as losses here, as in LCDB 1.1: an accuracy as 1 - accuracy. Of "
        f"{counted(total, 'curve')}, the mean gets significantly worse between some two sizes "
        f"in {count['monotone']}, is worse at the last size than at an earlier one in "
        f"{count['dipping']}, lies above a straight line between two other sizes in "
        f"{count['convex']}, and has a peak in {count['peaking']}. The tests are "
        "paired t-tests over repetitions, corrected for all pairs or triples of sizes of a curve, "
        "each curve at 5 %. What is not found may be too small for these repetitions."
    )


def _figure(parts: list[Part], made: dict) -> list[Block]:
    """Return a figure of the curve that gets worse by the most, in units of its range."""
    worst: tuple[float, Part | None, str] = (0.0, None, "")
    for one in parts:
        result = made[one.key].value
        size = (result["rise"] / result["range"]).where(result["monotone"] == 0, 0.0).fillna(0.0)
        place = int(size.values.argmax())
        if float(size[place]) > worst[0]:
            worst = (float(size[place]), one, one.learners[place])
    _, part, name = worst
    if part is None:
        return []
    curve: Made = part.curves.sel(learner=name)
    shape = call("analysis.shape", curve)
    caption = (
        f"The curve that gets worse by the largest share of its own range, {name}: mean with two "
        f"standard errors, and its violations. {in_words(shape.value)}"
    )
    return [figure(caption, "shapes", curve, shape)]
