"""What the cube of an experiment holds besides its trials' values.

The counterpart of `lcdb_builders.storage.contents.Contents`: whoever writes, reads or repairs cubes
asks either for the same things.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lcdb._version import __version__
from lcdb.errors import PlanError
from lcdb.schema import CREDITS, EXPERIMENTS, FORMAT_VERSION, Experiment, TrialVariable, Variable
from lcdb.schema.experiments import PART_TABLES, TRIAL
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.unit import canonical_json

__all__ = [
    "PartContents",
    "Target",
    "describe_part",
    "described_part",
]

# Values of a chunk: 1 MB of float32 where a trial has many steps.
_CHUNK_VALUES = 1 << 18
_CHUNK_TRIALS = 4096


@dataclass(frozen=True)
class Target:
    """What an experiment's cube is packed for, in the place of a dataset's snapshot.

    Parameters
    ----------
    id
        Name of the experiment.
    origin
        Where data that its trials use came from; for the manifest.
    """

    id: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    #: A snapshot's digest; parts have one of their data each.
    sha256 = ""


def describe_part(part: Part) -> dict[str, Any]:
    """Return a part as a JSON-able dict; `described_part` undoes it."""
    return {
        "experiment": part.dataset,
        "labels": list(part.labels),
        "master_seed": part.seed,
        "implementation": part.implementation,
        "params": part.parameters,
        "data_sha256": part.data_sha256,
        "length": part.length,
        "trials": part.trials,
    }


def described_part(text: Mapping[str, Any]) -> Part:
    """Return the part of a description.

    Examples
    --------
    >>> part = Part("dse", ("kNN", "moons", "random"), 7, "dse-1")
    >>> described_part(describe_part(part)) == part
    True
    """
    if text["experiment"] not in EXPERIMENTS:
        msg = f"there is no experiment {text['experiment']!r}; expected one of {list(EXPERIMENTS)}"
        raise PlanError(msg)
    return Part(
        dataset=text["experiment"],
        labels=tuple(text["labels"]),
        seed=text["master_seed"],
        implementation=text["implementation"],
        params=canonical_json(text["params"]),
        data_sha256=text["data_sha256"],
        length=text["length"],
        trials=text.get("trials", 0),
    )


@dataclass(frozen=True)
class PartContents:
    """What an experiment's cube holds besides values.

    Parameters
    ----------
    facts
        File attributes that describe stored data; usually none.
    units
        Its parts in canonical order.
    repetitions
        Length of the dim `trial`: the most trials of a part.
    trials
        How many are wanted, part by part.

    Examples
    --------
    >>> parts = [Part("dse", (name, "moons", "random"), 7, "dse-1", trials=count)
    ...          for name, count in (("LR", 30), ("kNN", 50))]
    >>> contents = PartContents.make({}, parts, 50)
    >>> contents.labels["learner"], contents.shape["trial"], contents.trials
    (('kNN', 'LR'), 50, (50, 30))
    >>> PartContents.from_attributes(contents.attributes) == contents
    True
    """

    facts: dict[str, str | int]
    units: tuple[Part, ...]
    repetitions: int
    trials: tuple[int, ...]

    @classmethod
    def make(
        cls, facts: Mapping[str, str | int], units: Iterable[Part], repetitions: int
    ) -> PartContents:
        """Return contents with the parts in canonical order, after checking that they fit."""
        ordered = tuple(sorted(units, key=lambda part: part.place))
        _check_parts(ordered)
        return cls(dict(facts), ordered, repetitions, tuple(part.trials for part in ordered))

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, Any]) -> PartContents:
        """Return the contents that a cube's global attributes speak of."""
        plan = json.loads(attributes["plan"])
        shared = {"experiment": plan["experiment"], "master_seed": plan["master_seed"]}
        parts = [described_part({**part, **shared}) for part in plan["parts"]]
        facts = {k: value for k, value in attributes.items() if k not in _OWN_ATTRIBUTES}
        return cls.make(facts, parts, plan["trials"])

    @property
    def experiment(self) -> Experiment:
        """Dims, labels and variables."""
        return self.units[0].experiment

    @property
    def unit_dims(self) -> tuple[str, ...]:
        """The dims of a part's labels."""
        return self.experiment.dims

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Labels of the dims of a part, in canonical order."""
        by_dim = {}
        for dim in self.unit_dims:
            used = {part.at(dim) for part in self.units}
            by_dim[dim] = tuple(sorted(used, key=lambda label: self.experiment.rank(dim, label)))
        return by_dim

    @cached_property
    def shape(self) -> dict[str, int]:
        """Length of every dim."""
        lengths = {dim: len(labels) for dim, labels in self.labels.items()}
        shape = {**lengths, TRIAL: self.repetitions}
        if self.experiment.inner:
            shape[self.experiment.inner] = max(part.length for part in self.units)
        return shape

    @property
    def counters(self) -> dict[str, tuple[int, str]]:
        """First value and description of the dims that count."""
        first_values = {TRIAL: (0, "trial")}
        if self.experiment.inner:
            first_values[self.experiment.inner] = (1, self.experiment.inner)
        return first_values

    @property
    def dim_names(self) -> dict[str, str]:
        """Descriptions of the dims of labels."""
        return {dim: dim for dim in self.unit_dims}

    @cached_property
    def variables(self) -> tuple[TrialVariable, ...]:
        """Variables that some part has."""
        every = [v.name for part in self.units for v in part.experiment.part_variables(part.labels)]
        return tuple(v for v in self.experiment.variables.values() if v.name in every)

    def chunks(self, variable: Variable) -> tuple[int, ...]:
        """Return the chunk lengths of a variable: many trials of one part, with all their steps."""
        outer = variable.dims.index(TRIAL)
        inner = tuple(self.shape[dim] for dim in variable.dims[outer + 1 :])
        most = _CHUNK_TRIALS if not inner else max(1, _CHUNK_VALUES // inner[0])
        return (*(1,) * outer, min(most, self.repetitions), *inner)

    def attributes_of(self, variable: Variable) -> dict[str, Any]:
        """Return the attributes of a variable."""
        return self.experiment.variables[variable.name].attributes

    # -- a part's values -----------------------------------------------------------------------

    def spread(self, part: AnyUnit, variable: Variable, values: np.ndarray) -> np.ndarray:
        """Return values (1, trials, steps of the part) as they lie in the file."""
        row = values[0]
        if row.ndim == 1 or row.shape[1] == self.shape[self.experiment.inner]:
            return row
        whole = np.full((len(row), self.shape[self.experiment.inner]), variable.empty, row.dtype)
        whole[:, : row.shape[1]] = row
        return whole

    def gather(self, part: AnyUnit, variable: Variable, whole: np.ndarray) -> np.ndarray:
        """Return what `spread` was given."""
        steps = part.inner_shape(variable)
        return whole[None, :, : steps[0]] if steps else whole[None]

    # -- tables --------------------------------------------------------------------------------

    @property
    def status_name(self) -> str:
        """Description of the table `status`."""
        return PART_TABLES["status"][1]

    @property
    def texts(self) -> dict[str, tuple[tuple[str, ...], str]]:
        """Dims and descriptions of the tables of text."""
        return {name: (self.unit_dims, PART_TABLES[name][1]) for name in ("params", "digest")}

    @property
    def text_values(self) -> dict[str, dict[tuple[int, ...], str]]:
        """Texts by table and place."""
        return {"params": {self._place(part): part.params for part in self.units}}

    @property
    def counts(self) -> dict[str, tuple[np.ndarray, str]]:
        """Tables of numbers by name, with their descriptions."""
        wanted = np.zeros([len(self.labels[dim]) for dim in self.unit_dims], np.int32)
        for part in self.units:
            wanted[self._place(part)] = part.trials
        return {"trials": (wanted, PART_TABLES["trials"][1])}

    def digest_table(self, part: AnyUnit) -> tuple[str, tuple[str, ...]]:
        """Return name and dims of the table that holds a part's digest."""
        return "digest", self.unit_dims

    def _place(self, part: Part) -> tuple[int, ...]:
        return tuple(self.labels[dim].index(part.at(dim)) for dim in self.unit_dims)

    # -- attributes ----------------------------------------------------------------------------

    @cached_property
    def plan(self) -> str:
        """All that the numbers depend on, and how many there are to be, as canonical JSON."""
        parts = []
        for part in self.units:
            description = describe_part(part)
            kept = {
                key: description[key]
                for key in description
                if key not in ("experiment", "master_seed")
            }
            parts.append(kept)
        return canonical_json(
            {
                "experiment": self.experiment.name,
                "format_version": FORMAT_VERSION,
                "master_seed": self.units[0].seed,
                "parts": parts,
                "trials": self.repetitions,
            }
        )

    @cached_property
    def attributes(self) -> dict[str, str | int]:
        """Global attributes of the file, in the order in which they are written."""
        return {
            "Conventions": "CF-1.11",
            "title": self.experiment.title,
            **CREDITS,
            "cube_kind": self.experiment.name,
            "format_version": FORMAT_VERSION,
            "package_version": __version__,
            **self.facts,
            "master_seed": self.units[0].seed,
            "plan": self.plan,
            "plan_sha256": hashlib.sha256(self.plan.encode()).hexdigest(),
        }


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


def _check_parts(parts: Sequence[Part]) -> None:
    """Raise where parts cannot stand in one cube."""
    if not parts:
        msg = "a cube needs at least one part; expected an experiment with one to build"
        raise PlanError(msg)
    first = parts[0]
    for part, following in zip(parts, (*parts[1:], None), strict=True):
        if following is not None and part.place == following.place:
            msg = f"{part.label} is asked for twice; expected it once in a cube"
            raise PlanError(msg)
        for key in ("dataset", "seed"):
            value, theirs = getattr(part, key), getattr(first, key)
            if value != theirs:
                msg = (
                    f"{key} of {part.label} is {value!r}, of {first.label} {theirs!r}; "
                    "expected the same in all of a cube"
                )
                raise PlanError(msg)
