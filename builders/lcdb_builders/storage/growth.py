"""What may stand in one cube: a plan may grow a database, but not change what is in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lcdb.errors import PlanError
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.unit import Unit
from lcdb_builders.storage.naming import describe

__all__ = ["contradiction", "groups", "merge_units", "one_source", "outdated"]

# Keys of a description by attribute, in the order in which they are told where several differ.
_ATTRIBUTES = {
    "dataset_sha256": "dataset_sha256",
    "scaling": "scaling",
    "master_seed": "seed",
    "estimator": "estimator",
    "params": "params",
    "tuning_rule": "tuning_rule",
    "sizes": "sizes",
    "rows_per_class": "rows_per_class",
    "length": "length",
    "data_sha256": "data_sha256",
    "implementation": "implementation",
}
_CUBE = ("dataset_sha256", "scaling", "master_seed")
_LEARNER = ("estimator", "params", "tuning_rule")


def merge_units(
    wanted: Iterable[AnyUnit], built: Mapping[AnyUnit, str], known: Iterable[AnyUnit] = ()
) -> list[AnyUnit]:
    """Return the units of a cube: all that are wanted, built, or known and in nobody's way.

    A plan is compared with everything that is built, whether or not it names the same curves:
    seed and dataset with all of the cube, parameters with all curves of the learner, sizes with
    all curves that are tuned, or not tuned, as well.

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
        something was built with; the message names the key. A class from elsewhere whose source
        was edited is no such case: the new unit takes the place of the old one.
    """
    wanted = list(wanted)
    old = outdated(wanted, built)
    built = {unit: where for unit, where in built.items() if unit not in old}
    standing = _Standing()
    by_place: dict[tuple, AnyUnit] = {}
    for unit, where in built.items():
        standing.check(unit, where, planned=False)
        by_place.setdefault(unit.place, unit)
    for unit in wanted:
        if unit not in built:
            standing.check(unit, "the plan", planned=True)
        by_place[unit.place] = by_place.get(unit.place, unit).joined(unit)
    for unit in known:
        if standing.clash(unit, planned=False) is None:
            standing.add(unit, "an earlier plan")
            by_place.setdefault(unit.place, unit)
    return [by_place[place] for place in sorted(by_place)]


def outdated(wanted: Iterable[AnyUnit], built: Iterable[AnyUnit]) -> list[AnyUnit]:
    """Return the built units whose class from elsewhere was edited since.

    Parameters
    ----------
    wanted
        Units of the plan.
    built
        Units that have numbers, those of the cube before those of blocks, which are newer.
    """
    built = list(built)
    newest: dict[tuple, AnyUnit] = {}
    for unit in (*built, *wanted):
        other = newest.setdefault(unit.place, unit)
        if _is_edited(other, unit):
            newest[unit.place] = unit
    return [unit for unit in built if _is_edited(unit, newest[unit.place])]


def _is_edited(old: AnyUnit, new: AnyUnit) -> bool:
    """Return whether two units differ in the source of their class from elsewhere alone.

    A class of scikit-learn is not edited: with another version of it, what is there stays.
    """
    if not isinstance(old, Unit) or not isinstance(new, Unit) or not new.estimator or old == new:
        return False
    one, two = (set(unit.implementation.split(",")) for unit in (old, new))
    edited = any(not part.startswith("scikit-learn-") for part in one ^ two)
    return edited and replace(old, implementation=new.implementation) == new


def contradiction(units: Iterable[AnyUnit], others: Iterable[AnyUnit]) -> str | None:
    """Return why a plan's units cannot go into one cube with another plan's; None if they can.

    Examples
    --------
    >>> from lcdb_builders.domain.unit import Unit
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> from dataclasses import replace
    >>> contradiction([unit], [replace(unit, learner="NMC")]) is None
    True
    >>> contradiction([unit], [replace(unit, learner="NMC", seed=2)])
    'master_seed is 1, not 2'
    """
    standing = _Standing()
    for other in others:
        standing.add(other, "")
    for unit in units:
        clash = standing.clash(unit, planned=True)
        if clash is not None:
            key, value, theirs, _ = clash
            return f"{key} is {_short(value)}, not {_short(theirs)}"
    return None


def groups(units: Iterable[AnyUnit]) -> list[tuple[str, list[AnyUnit]]]:
    """Return units in groups that can stand in one cube each, with why one began a new group.

    Parameters
    ----------
    units
        Of one dataset, those first that should stay together.
    """
    grouped: list[tuple[str, list[AnyUnit], _Standing]] = []
    for unit in units:
        reason = ""
        for _, members, standing in grouped:
            clash = standing.clash(unit, planned=False)
            if clash is None:
                members.append(unit)
                standing.add(unit, "")
                break
            reason = reason or f"{clash[0]} is {_short(clash[1])}, not {_short(clash[2])}"
        else:
            standing = _Standing()
            standing.add(unit, "")
            grouped.append((reason, [unit], standing))
    return [(reason, members) for reason, members, _ in grouped]


def one_source(unit: AnyUnit, sources: set[str]) -> str:
    """Return the digest of the code that computed a unit; empty if it is not known of all."""
    if len(sources - {""}) > 1:
        one, other, *_ = sorted(sources - {""})
        msg = (
            f"{unit.label} was computed by two versions of the code (sources {one[:12]}… and "
            f"{other[:12]}…), which may not mix: 'lcdb verify DIR --adopt 20' computes cells "
            "again and takes over what is the same bit for bit"
        )
        raise PlanError(msg)
    return next(iter(sources)) if len(sources) == 1 else ""


class _Standing:
    """The first unit of every group whose members must agree, with where its numbers are."""

    def __init__(self) -> None:
        self._first: dict[tuple, tuple[AnyUnit, str]] = {}

    def add(self, unit: AnyUnit, where: str) -> None:
        for group, _ in _groups(unit, planned=True):
            self._first.setdefault(group, (unit, where))

    def clash(
        self, unit: AnyUnit, *, planned: bool
    ) -> tuple[str, Any, Any, tuple[AnyUnit, str]] | None:
        """Return the first key in which a unit differs, both values, and from what it differs."""
        for group, keys in _groups(unit, planned):
            if group in self._first:
                first = self._first[group][0]
                if group[0] == "sizes" and _same_tail(unit, first):
                    continue
                difference = _difference(unit, first, keys)
                if difference is not None:
                    return *difference, self._first[group]
        return None

    def check(self, unit: AnyUnit, where: str, *, planned: bool) -> None:
        """Add a unit, or raise where it contradicts what is there."""
        clash = self.clash(unit, planned=planned)
        if clash is None:
            self.add(unit, where)
            return
        key, value, theirs, (other, there) = clash
        of = "" if other.place == unit.place else f" of {other.label}"
        advice = (
            "build into another directory"
            if planned
            else "two plans are mixed here: 'lcdb repair DIR' says which, and keeps one of them"
        )
        msg = (
            f"{unit.label}: {key} is {_short(value)} in {where} and {_short(theirs)} in "
            f"{there}{of}; expected the same, since numbers in a database never change: {advice}"
        )
        raise PlanError(msg)


def _groups(unit: AnyUnit, planned: bool) -> Iterator[tuple[tuple, tuple[str, ...]]]:
    """Yield the groups that a unit is a member of, with the keys in which members agree.

    What is built already may stand beside other sizes and implementations, as older versions let
    it; a plan may not.
    """
    yield ("place", unit.place), tuple(_ATTRIBUTES)
    yield ("cube",), _CUBE
    if isinstance(unit, Part):
        return
    implementation = ("implementation",) if planned else ()
    yield ("learner", unit.learner, unit.tuning), (*_LEARNER, *implementation)
    if planned:
        yield ("sizes", unit.tuning), ("sizes",)


def _same_tail(unit: AnyUnit, other: AnyUnit) -> bool:
    """Return whether curves have the same sizes from where both have begun (`from_n`)."""
    start = max(unit.sizes[0], other.sizes[0])
    one, two = ([n for n in each.sizes if n >= start] for each in (unit, other))
    return one == two


def _difference(unit: AnyUnit, other: AnyUnit, keys: Iterable[str]) -> tuple[str, Any, Any] | None:
    """Return the first key in which two units differ, with both values."""
    for key in keys:
        name = _ATTRIBUTES[key]
        if getattr(unit, name, "") == getattr(other, name, ""):
            continue
        value, theirs = describe(unit).get(key, ""), describe(other).get(key, "")
        if isinstance(value, dict) and isinstance(theirs, dict):
            inner = min(k for k in {*value, *theirs} if value.get(k) != theirs.get(k))
            return f"{key}.{inner}", value.get(inner), theirs.get(inner)
        return key, value, theirs
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
