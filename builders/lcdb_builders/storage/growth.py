"""What may stand in one cube: a plan may grow a database, but not change what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lcdb.errors import PlanError
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.storage.naming import describe, unit_place
from lcdb_builders.storage.parts import with_most_trials

__all__ = ["merge_units"]

# What is told first where several keys differ.
_KEYS = (
    "dataset_sha256",
    "master_seed",
    "estimator",
    "params",
    "tuning_rule",
    "sizes",
    "length",
    "data_sha256",
    "implementation",
)


def merge_units(
    wanted: Iterable[AnyUnit], built: Mapping[AnyUnit, str], known: Iterable[AnyUnit] = ()
) -> list[AnyUnit]:
    """Return the units of a cube: all that are wanted, built, or known and in nobody's way.

    Parameters
    ----------
    wanted
        Units of the plan.
    built
        Units that have numbers, with where these are.
    known
        Units that an earlier plan wanted and that have no numbers yet.

    Raises
    ------
    PlanError
        A unit is wanted with another seed, parameter, size list, dataset or implementation than
        it was built with; the message names the key.
    """
    found: dict[tuple, AnyUnit] = {}
    for unit, where in built.items():
        other = found.setdefault(unit_place(unit), unit)
        _same(unit, other, where, built.get(other, ""))
    for unit in wanted:
        other = found.setdefault(unit_place(unit), unit)
        _same(unit, other, "the plan", built.get(other, "the plan"))
        if isinstance(unit, Part) and isinstance(other, Part):
            found[unit_place(unit)] = with_most_trials(other, unit)
    shared = next(iter(found.values()), None)
    for unit in known:
        if shared is None or _difference(unit, shared, _SHARED) is None:
            found.setdefault(unit_place(unit), unit)
    return [found[place] for place in sorted(found)]


# What all units of a cube have in common.
_SHARED = _KEYS[:2]


def _same(unit: AnyUnit, other: AnyUnit, where: str, there: str) -> None:
    difference = _difference(unit, other, _KEYS)
    if difference is not None:
        key, mine, theirs = difference
        msg = (
            f"{unit.label}: {key} is {_short(mine)} in {where} and {_short(theirs)} in {there}; "
            "expected the same, since numbers in a database never change: "
            "build into another directory"
        )
        raise PlanError(msg)


def _difference(unit: AnyUnit, other: AnyUnit, keys: Iterable[str]) -> tuple[str, Any, Any] | None:
    """Return the first key in which two units differ, with both values."""
    if unit.key == other.key:
        return None
    one, two = describe(unit), describe(other)
    for key in keys:
        mine, theirs = one.get(key, ""), two.get(key, "")
        if mine == theirs:
            continue
        if isinstance(mine, dict) and isinstance(theirs, dict):
            inner = min(k for k in {*mine, *theirs} if mine.get(k) != theirs.get(k))
            return f"{key}.{inner}", mine.get(inner), theirs.get(inner)
        return key, mine, theirs
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
