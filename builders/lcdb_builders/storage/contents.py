"""What a cube holds besides scores: facts of its dataset, its units, how many repetitions.

From a cube's attributes alone the same `Contents` come back, so a cube can be repaired, extended
and replayed without the plan that made it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lcdb._version import __version__
from lcdb.errors import PlanError
from lcdb.schema import (
    CUBE_KIND,
    FORMAT_VERSION,
    LEARNERS,
    SAMPLINGS,
    SPLITS,
    TUNINGS,
    VARIABLES,
    Variable,
    learner_order,
)
from lcdb_builders.snapshot import Snapshot
from lcdb_builders.unit import DRAWS, Unit, canonical_json

__all__ = ["Contents", "describe", "described", "runs", "snapshot_facts", "unit_place"]

Facts = dict[str, str | int]


def snapshot_facts(snapshot: Snapshot) -> Facts:
    """Return the file attributes that describe a cube's dataset."""
    origin = snapshot.origin
    facts: Facts = {
        "dataset_id": snapshot.id,
        "dataset_name": snapshot.name,
        "dataset_sha256": snapshot.sha256,
        "n_rows": snapshot.rows,
        "n_features": snapshot.features,
        "n_classes": snapshot.classes,
    }
    for name in ("duplicate_rows", "imputed_cells", "dropped_rows"):
        facts[name] = int(origin.get(name, 0))
    facts.update(
        {
            name: kind(origin[name])
            for name, kind in (("openml_id", int), ("openml_version", int), ("openml_md5", str))
            if origin.get(name) is not None
        }
    )
    return dict(sorted(facts.items()))


def runs(sizes: Sequence[int]) -> list[list[int]]:
    """Return ascending sizes as [first, last, step] runs.

    Examples
    --------
    >>> runs([1, 2, 3, 10, 20, 30, 31])
    [[1, 3, 1], [10, 30, 10], [31, 31, 1]]
    """
    found: list[list[int]] = []
    for n in sizes:
        if found:
            first, last, step = found[-1]
            if first == last:
                found[-1] = [first, n, n - first]
                continue
            if n == last + step:
                found[-1][1] = n
                continue
        found.append([n, n, 1])
    return found


def unit_place(unit: Unit) -> tuple[int, str, int, int, int]:
    """Return the sort key of the canonical order: draws, then learners as in a cube's labels."""
    rank = LEARNERS.index(unit.learner) if unit.learner in LEARNERS else len(LEARNERS)
    return (
        -1 if unit.learner == DRAWS else rank,
        unit.learner,
        SAMPLINGS.index(unit.sampling),
        SPLITS.index(unit.split),
        TUNINGS.index(unit.tuning),
    )


@dataclass(frozen=True)
class Contents:
    """What a cube holds besides scores.

    Parameters
    ----------
    facts
        File attributes that describe the dataset, see `snapshot_facts`.
    units
        In canonical order; no two of the same label.
    repetitions
        R.

    Examples
    --------
    >>> unit = Unit("61", "ab", 7, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> facts = {"dataset_id": "61", "dataset_name": "iris", "n_rows": 150}
    >>> contents = Contents.make(facts, [unit], repetitions=50)
    >>> contents.labels["learner"], contents.shape["n"], contents.shape["repetition"]
    (('LDC',), 105, 50)
    >>> Contents.from_attributes(contents.attributes).units == (unit,)
    True
    """

    facts: Facts
    units: tuple[Unit, ...]
    repetitions: int

    @classmethod
    def of(cls, snapshot: Snapshot, units: Iterable[Unit], repetitions: int) -> Contents:
        """Return the contents of a snapshot's cube."""
        return cls.make(snapshot_facts(snapshot), units, repetitions)

    @classmethod
    def make(cls, facts: Facts, units: Iterable[Unit], repetitions: int) -> Contents:
        """Return contents with the units in canonical order, after checking that they fit."""
        ordered = tuple(sorted(units, key=unit_place))
        _check_units(ordered)
        return cls(facts, ordered, repetitions)

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Labels of the four dims of a unit, in canonical order."""
        learners = learner_order({unit.learner for unit in self.units} - {DRAWS})
        found = {"learner": learners}
        for dim, known in (("sampling", SAMPLINGS), ("split", SPLITS), ("tuning", TUNINGS)):
            used = {getattr(unit, dim) for unit in self.units}
            found[dim] = tuple(label for label in known if label in used)
        return found

    @property
    def largest(self) -> int:
        """m, the largest training size."""
        from lcdb_builders.sampling import largest_size  # imports numba, which verifying needs not

        return largest_size(int(self.facts["n_rows"]))

    @cached_property
    def shape(self) -> dict[str, int]:
        """Length of every dim."""
        lengths = {dim: len(labels) for dim, labels in self.labels.items()}
        return {**lengths, "n": self.largest, "repetition": self.repetitions}

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Data variables of the cube: those of choices only where something is tuned."""
        tuned = "tuned" in self.labels["tuning"]
        every = VARIABLES.values()
        return tuple(v for v in every if tuned or not v.name.startswith("choice_"))

    @cached_property
    def learner_params(self) -> dict[tuple[str, str], str]:
        """JSON text by learner and tuning, for people; `plan` holds more."""
        found = {}
        for unit in self.units:
            if unit.learner != DRAWS:
                definition = _definition(unit)
                kept = {k: v for k, v in definition.items() if k not in _IN_LABELS}
                found[unit.learner, unit.tuning] = canonical_json(kept)
        return found

    @cached_property
    def plan(self) -> str:
        """All that the numbers depend on, as canonical JSON."""
        curves: dict[str, dict[str, Any]] = {}
        for unit in self.units:
            definition = _definition(unit)
            entry = curves.setdefault(canonical_json(definition), {**definition, "draws": []})
            entry["draws"].append([unit.sampling, unit.split])
        plan = {
            "curves": list(curves.values()),
            "dataset_sha256": self.units[0].dataset_sha256,
            "format_version": FORMAT_VERSION,
            "master_seed": self.units[0].seed,
            "repetitions": self.repetitions,
        }
        return canonical_json(plan)

    @cached_property
    def attributes(self) -> dict[str, str | int]:
        """Global attributes of the file, in the order in which they are written."""
        facts = self.facts
        origin = f" (OpenML {facts['openml_id']})" if "openml_id" in facts else ""
        return {
            "Conventions": "CF-1.11",
            "title": f"Learning curves as distributions: {facts['dataset_name']}{origin}",
            "cube_kind": CUBE_KIND,
            "format_version": FORMAT_VERSION,
            "package_version": __version__,
            **facts,
            "master_seed": self.units[0].seed,
            "plan": self.plan,
            "plan_sha256": hashlib.sha256(self.plan.encode()).hexdigest(),
        }

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, Any]) -> Contents:
        """Return the contents that a cube's global attributes speak of."""
        plan = json.loads(attributes["plan"])
        facts = {k: value for k, value in attributes.items() if k not in _OWN_ATTRIBUTES}
        shared = {**plan, "dataset": str(attributes["dataset_id"])}
        units = [unit for curve in plan["curves"] for unit in _units_of(curve, shared)]
        return cls.make(facts, units, plan["repetitions"])


# What the labels of `learner_params` say already, or what is no parameter.
_IN_LABELS = ("learner", "tuning", "sizes")
# Attributes that are not facts of the dataset.
_OWN_ATTRIBUTES = (
    "Conventions",
    "title",
    "cube_kind",
    "format_version",
    "package_version",
    "master_seed",
    "plan",
    "plan_sha256",
)


def describe(unit: Unit) -> dict[str, Any]:
    """Return a unit as a JSON-able dict, with sizes as runs; `described` undoes it."""
    found: dict[str, Any] = {
        "dataset": unit.dataset,
        "dataset_sha256": unit.dataset_sha256,
        "master_seed": unit.seed,
        "learner": unit.learner,
        "sampling": unit.sampling,
        "split": unit.split,
        "tuning": unit.tuning,
        "implementation": unit.implementation,
        "params": json.loads(unit.params),
        "sizes": runs(unit.sizes),
    }
    if unit.estimator:
        found["estimator"] = unit.estimator
    if unit.tuning_rule:
        found["tuning_rule"] = json.loads(unit.tuning_rule)
    return found


def described(text: Mapping[str, Any]) -> Unit:
    """Return the unit of a description.

    Examples
    --------
    >>> unit = Unit("61", "ab", 7, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3, 5, 7))
    >>> described(describe(unit)) == unit
    True
    """
    return Unit(
        dataset=text["dataset"],
        dataset_sha256=text["dataset_sha256"],
        seed=text["master_seed"],
        learner=text["learner"],
        estimator=text.get("estimator", ""),
        params=canonical_json(text["params"]),
        implementation=text["implementation"],
        sampling=text["sampling"],
        split=text["split"],
        tuning=text["tuning"],
        tuning_rule=canonical_json(text["tuning_rule"]) if "tuning_rule" in text else "",
        sizes=tuple(n for first, last, step in text["sizes"] for n in range(first, last + 1, step)),
    )


def _definition(unit: Unit) -> dict[str, Any]:
    """Return what units that differ in sampling and split alone have in common."""
    every = describe(unit)
    return {name: value for name, value in every.items() if name not in (*_SHARED, *_DRAWS)}


# Keys of a description that a whole cube shares, and those that a plan lists as draws.
_SHARED = ("dataset", "dataset_sha256", "master_seed")
_DRAWS = ("sampling", "split")


def _units_of(curve: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterable[Unit]:
    """Yield the units of one definition."""
    for sampling, split in curve["draws"]:
        yield described({**shared, **curve, "sampling": sampling, "split": split})


def _check_units(units: Sequence[Unit]) -> None:
    """Raise where units cannot stand in one cube, naming the key in which they differ."""
    if not units:
        msg = "a cube needs at least one unit; expected a plan with a learner and a sampling"
        raise PlanError(msg)
    first = units[0]
    definitions: dict[tuple[str, str], Unit] = {}
    for unit, following in zip(units, (*units[1:], None), strict=True):
        if following is not None and unit_place(unit) == unit_place(following):
            msg = f"{unit.label} is asked for twice; expected it once in a cube"
            raise PlanError(msg)
        for key in ("dataset", "dataset_sha256", "seed"):
            _same(key, unit, first)
        like = definitions.setdefault((unit.learner, unit.tuning), unit)
        for key in ("estimator", "params", "tuning_rule"):
            _same(key, unit, like)


def _same(key: str, unit: Unit, other: Unit) -> None:
    mine, theirs = getattr(unit, key), getattr(other, key)
    if mine != theirs:
        msg = (
            f"{key} of {unit.label} is {mine!r}, of {other.label} {theirs!r}; "
            "expected the same in all of a cube"
        )
        raise PlanError(msg)
