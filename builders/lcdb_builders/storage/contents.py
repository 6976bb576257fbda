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
from typing import Any, ClassVar

import numpy as np

from lcdb._version import __version__
from lcdb.errors import PlanError
from lcdb.naming import cube_key, dataset_id
from lcdb.schema import (
    CHOICE_FLAGS,
    CREDITS,
    CUBE_KIND,
    FORMAT_VERSION,
    METRICS,
    SAMPLINGS,
    SPLITS,
    TUNINGS,
    UNIT_DIMS,
    VARIABLES,
    Variable,
    learner_order,
)
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Unit, canonical_json
from lcdb_builders.storage.naming import describe, unit_of
from lcdb_builders.storage.parts import PartContents, Target

__all__ = [
    "CHUNK_SIZES",
    "AnyContents",
    "Contents",
    "contents_of",
    "facts_of",
    "read_attributes",
    "snapshot_facts",
]

Facts = dict[str, str | int]

#: Sizes n per chunk; a chunk holds all repetitions.
CHUNK_SIZES = 64
_DIM_NAMES = {
    "learner": "learner",
    "sampling": "how training sets are drawn",
    "split": "where training and test rows come from",
    "tuning": "default or tuned hyper-parameter",
}
_LONG_NAMES = {
    "n_clipped": "test rows whose label has a probability below the clip of the cross-entropy",
    "n_test": "number of test rows",
    "n_classes_train": "number of classes in the training set",
}


def snapshot_facts(snapshot: Snapshot) -> Facts:
    """Return the file attributes that describe a cube's dataset."""
    origin = snapshot.origin
    facts: Facts = {
        "dataset_id": dataset_id(snapshot.id, snapshot.scaling),
        "dataset_name": snapshot.name,
        "dataset_sha256": snapshot.key,
        "scaling": snapshot.scaling,
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
        ordered = tuple(sorted(units, key=lambda unit: unit.place))
        _check_units(ordered)
        # Cubes and manifests of version 1 say nothing of scaling.
        facts = dict(sorted({"scaling": ordered[0].scaling, **facts}.items()))
        return cls(facts, ordered, repetitions)

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Labels of the four dims of a unit, in canonical order."""
        learners = learner_order({unit.learner for unit in self.units} - {DRAWS})
        labels = {"learner": learners}
        for dim, known in (("sampling", SAMPLINGS), ("split", SPLITS), ("tuning", TUNINGS)):
            used = {getattr(unit, dim) for unit in self.units}
            labels[dim] = tuple(label for label in known if label in used)
        return labels

    unit_dims: ClassVar = UNIT_DIMS
    dim_names: ClassVar = _DIM_NAMES
    #: First value and description of the dims that count.
    counters: ClassVar = {"n": (1, "size of the training set"), "repetition": (0, "repetition")}
    status_name: ClassVar = "whether a curve was built"
    #: Dims and descriptions of the tables of text.
    texts: ClassVar = {
        "learner_params": (("learner", "tuning"), "parameters and tuning rule as JSON"),
        "digest": (UNIT_DIMS, "SHA-256 of a curve's values in all variables"),
        "draws_digest": (("sampling", "split"), "SHA-256 of n_test and n_classes_train"),
    }
    #: Tables of numbers by name, with their descriptions: curves have none.
    counts: ClassVar[dict[str, tuple[np.ndarray, str]]] = {}

    @property
    def largest(self) -> int:
        """m, the largest training size."""
        from lcdb_builders.domain.sampling import (
            largest_size,  # imports numba, which verifying needs not
        )

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
        texts = {}
        for unit in self.units:
            if unit.learner != DRAWS:
                definition = _definition(unit)
                kept = {k: v for k, v in definition.items() if k not in _IN_LABELS}
                texts[unit.learner, unit.tuning] = canonical_json(kept)
        return texts

    @property
    def text_values(self) -> dict[str, dict[tuple[int, ...], str]]:
        """Texts by table and place."""
        places: dict[tuple[int, ...], str] = {
            (self.labels["learner"].index(learner), self.labels["tuning"].index(tuning)): params
            for (learner, tuning), params in self.learner_params.items()
        }
        return {"learner_params": places}

    # -- a unit's values -----------------------------------------------------------------------

    def chunks(self, variable: Variable) -> tuple[int, ...]:
        """Return the chunk lengths of a variable."""
        last = (min(CHUNK_SIZES, self.largest), self.repetitions)
        return (1,) * (len(variable.dims) - 2) + last

    def spread(self, unit: AnyUnit, variable: Variable, values: np.ndarray) -> np.ndarray:
        """Return values (sizes of the unit, repetitions) as they lie in the file."""
        whole = np.full((self.largest, self.repetitions), variable.empty, variable.dtype)
        whole[np.array(unit.sizes) - 1] = values
        return whole

    def gather(self, unit: AnyUnit, variable: Variable, whole: np.ndarray) -> np.ndarray:
        """Return what `spread` was given."""
        return whole[np.array(unit.sizes) - 1]

    def attributes_of(self, variable: Variable) -> dict[str, Any]:
        """Return the attributes of a variable."""
        return _attributes(variable)

    def digest_table(self, unit: AnyUnit) -> tuple[str, tuple[str, ...]]:
        """Return name and dims of the table that holds a unit's digest."""
        if unit.is_draws:
            return "draws_digest", ("sampling", "split")
        return "digest", UNIT_DIMS

    # -- attributes ----------------------------------------------------------------------------

    @cached_property
    def plan(self) -> str:
        """All that the numbers depend on, as canonical JSON."""
        curves: dict[str, dict[str, Any]] = {}
        for unit in self.units:
            definition = _definition(unit)
            entry = curves.setdefault(canonical_json(definition), {**definition, "draws": []})
            entry["draws"].append([unit.sampling, unit.split])
        scaling = self.units[0].scaling
        plan = {
            **({} if scaling == "none" else {"scaling": scaling}),
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
            "title": f"{_titled(self.units[0].scaling)}: {facts['dataset_name']}{origin}",
            **_credits(facts),
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
        shared = {**plan, "dataset": cube_key(facts["dataset_id"], plan.get("scaling", "none"))}
        units = [unit for curve in plan["curves"] for unit in _units_of(curve, shared)]
        return cls.make(facts, units, plan["repetitions"])


def _credits(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return licence, authors and citation; for rows of the user's own only what to cite."""
    if "openml_id" in facts:
        return dict(CREDITS)
    return {"references": CREDITS["references"]}


def _titled(scaling: str) -> str:
    """Return what a cube of that scaling is, as its title begins."""
    features = {"none": "", "standard": " on standardised features"}
    return f"Learning curves as distributions{features.get(scaling, f' on {scaling} features')}"


# What the labels of `learner_params` say already, or what is no parameter.
_IN_LABELS = ("learner", "tuning", "sizes")
# Attributes that are not facts of the dataset.
_OWN_ATTRIBUTES = (
    "Conventions",
    "title",
    *CREDITS,
    "cube_kind",
    "format_version",
    "package_version",
    "master_seed",
    "plan",
    "plan_sha256",
)


#: What a cube of either kind holds.
AnyContents = Contents | PartContents


def contents_of(facts: Facts, units: Iterable[AnyUnit], repetitions: int) -> AnyContents:
    """Return the contents of a cube of units, or of parts of an experiment."""
    every = list(units)
    parts = [unit for unit in every if isinstance(unit, Part)]
    if parts:
        return PartContents.make(facts, parts, repetitions)
    curves = [unit for unit in every if isinstance(unit, Unit)]
    return Contents.make(facts, curves, repetitions)


def facts_of(subject: Snapshot | Target) -> Facts:
    """Return the file attributes that describe what a cube is of."""
    return snapshot_facts(subject) if isinstance(subject, Snapshot) else {}


def read_attributes(attributes: Mapping[str, Any]) -> AnyContents:
    """Return the contents that a cube's global attributes speak of."""
    curves = attributes["cube_kind"] == CUBE_KIND
    return (Contents if curves else PartContents).from_attributes(attributes)


def _attributes(variable: Variable) -> dict[str, Any]:
    if variable.name in METRICS:
        metric = METRICS[variable.name]
        return {
            "long_name": metric.long_name,
            "units": "1",
            "direction": metric.direction,
            "valid_range": np.array([metric.low, metric.high], np.float32),
        }
    name = variable.name
    # To CF, what is below is missing. A _FillValue would make readers turn counts into floats.
    none = np.array([0], variable.dtype)
    if name.startswith("choice_flag_"):
        metric_name = name.removeprefix("choice_flag_")
        flags = {
            "flag_values": np.arange(len(CHOICE_FLAGS), dtype=np.int8),
            "flag_meanings": " ".join(CHOICE_FLAGS),
        }
        long_name = f"how the value was chosen for {metric_name}, -1: none"
        return {"long_name": long_name, "valid_min": none, **flags}
    if name.startswith("choice_"):
        metric_name = name.removeprefix("choice_")
        long_name = f"index in the grid of the value chosen for {metric_name}, -1: none"
        return {"long_name": long_name, "valid_min": none}
    return {"long_name": f"{_LONG_NAMES[name]}, -1: not built", "units": "1", "valid_min": none}


def _definition(unit: Unit) -> dict[str, Any]:
    """Return what units that differ in sampling and split alone have in common."""
    every = describe(unit)
    return {name: value for name, value in every.items() if name not in (*_SHARED, *_DRAWS)}


# Keys of a description that a whole cube shares, and those that a plan lists as draws.
_SHARED = ("dataset", "dataset_sha256", "master_seed", "scaling")
_DRAWS = ("sampling", "split")


def _units_of(curve: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterable[Unit]:
    """Yield the units of one definition."""
    for sampling, split in curve["draws"]:
        yield unit_of({**shared, **curve, "sampling": sampling, "split": split})


def _check_units(units: Sequence[Unit]) -> None:
    """Raise where units cannot stand in one cube, naming the key in which they differ."""
    if not units:
        msg = "a cube needs at least one unit; expected a plan with a learner and a sampling"
        raise PlanError(msg)
    first = units[0]
    definitions: dict[tuple[str, str], Unit] = {}
    for unit, following in zip(units, (*units[1:], None), strict=True):
        if following is not None and unit.place == following.place:
            msg = f"{unit.label} is asked for twice; expected it once in a cube"
            raise PlanError(msg)
        for key in ("dataset", "dataset_sha256", "scaling", "seed"):
            _same(key, unit, first)
        like = definitions.setdefault((unit.learner, unit.tuning), unit)
        for key in ("estimator", "params", "tuning_rule"):
            _same(key, unit, like)


def _same(key: str, unit: Unit, other: Unit) -> None:
    value, theirs = getattr(unit, key), getattr(other, key)
    if value != theirs:
        msg = (
            f"{key} of {unit.label} is {value!r}, of {other.label} {theirs!r}; "
            "expected the same in all of a cube"
        )
        raise PlanError(msg)
