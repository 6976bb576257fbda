"""Unit and block: plain data that says what is computed, and the keys that name it on disk.

A unit is (dataset, scaling, learner, sampling, split, tuning). A block is a unit, a run of its
sizes and a run of repetitions. Keys hash what numbers depend on and nothing else, so a plan that
grows finds its old blocks again, and a reference path never mixes with a kernel.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from lcdb.schema import (
    KEY_VERSION,
    LEARNERS,
    SAMPLINGS,
    SPLITS,
    TUNINGS,
    VARIABLES,
    Variable,
)

if TYPE_CHECKING:
    from lcdb_builders.domain.sampling import Draws
    from lcdb_builders.domain.snapshot import Snapshot

__all__ = ["DRAWS", "Block", "Stored", "Unit", "canonical_json", "digest"]

# Stands in the place of a learner for the unit that holds `n_test` and `n_classes_train`.
DRAWS = "draws"


def canonical_json(value: Any) -> str:
    """Return JSON text that is the same for equal values: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


class Stored(Protocol):
    """What journal, packing and repair ask of what they keep: a unit, or an experiment's part."""

    @property
    def dataset(self) -> str:
        """Name of the cube."""

    @property
    def seed(self) -> int:
        """The master seed."""

    @property
    def implementation(self) -> str:
        """What computes it."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of its arrays; the columns are repetitions, or trials."""

    @property
    def is_draws(self) -> bool:
        """Whether this is the unit of the draws themselves, which is no curve."""

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that its numbers depend on, as a JSON-able dict."""

    @property
    def key(self) -> str:
        """Digest of the identity."""

    @property
    def label(self) -> str:
        """Readable name."""

    @property
    def folder(self) -> str:
        """Name of its folder in the journal."""

    @property
    def place(self) -> tuple[Any, ...]:
        """Sort key of the canonical order within a cube."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that hold its values, in the order in which they are written."""

    def inner_shape(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of one cell's values."""

    def computed(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which cells were computed, as values alone tell: (sizes, repetitions)."""

    def at(self, dim: str) -> str:
        """Return the label along a dim."""

    def wanted(self, repetitions: int) -> int:
        """Return how many repetitions there must be for it to be complete."""

    def where(self, block: Block) -> str:
        """Return in words which cells a block of it holds."""


@dataclass(frozen=True)
class Unit:
    """What a curve's numbers depend on.

    Parameters
    ----------
    dataset
        Name of the cube: the id of the dataset, with the scaling behind it if there is one.
    dataset_sha256
        Digest of the snapshot, before it was scaled: what rows are drawn with.
    seed
        The plan's master seed.
    learner
        Label in the cube, such as ``"LDC"``; `DRAWS` for the unit of the draws themselves.
    estimator
        Import path of a class named in the plan; empty for registered learners.
    params
        Canonical JSON of every parameter (defaults included, so a changed default is seen).
    implementation
        What computes it, such as ``"reference-1"``: other numbers in the last bits, another key.
    sampling, split, tuning
        Labels along the cube's dims.
    tuning_rule
        Canonical JSON of parameter, grid and tie rule; empty where `tuning` is ``"default"``.
    sizes
        Every n of the curve, ascending.
    rows_per_class
        How many rows each class that is drawn must have for a cell to be computed; 0 for any.
    scaling
        How the features are scaled.
    """

    dataset: str
    dataset_sha256: str
    seed: int
    learner: str
    estimator: str
    params: str
    implementation: str
    sampling: str
    split: str
    tuning: str
    tuning_rule: str
    sizes: tuple[int, ...]
    rows_per_class: int = 0
    scaling: str = "none"

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters as a dict."""
        return json.loads(self.params)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the numbers of the unit depend on, as a JSON-able dict."""
        # What earlier versions did not have is left out where it changes nothing.
        more: dict[str, Any] = {}
        if self.rows_per_class:
            more["rows_per_class"] = self.rows_per_class
        if self.scaling != "none":
            more["scaling"] = self.scaling
        return more | {
            "format_version": KEY_VERSION,
            "dataset_sha256": self.dataset_sha256,
            "seed": self.seed,
            "learner": self.learner,
            "estimator": self.estimator,
            "params": self.params,
            "implementation": self.implementation,
            "sampling": self.sampling,
            "split": self.split,
            "tuning": self.tuning,
            "tuning_rule": self.tuning_rule,
            "sizes": list(self.sizes),
        }

    @cached_property
    def key(self) -> str:
        """Digest of the identity."""
        return digest(self.identity)

    @property
    def label(self) -> str:
        """Readable name, such as ``61-LDC-additive-fixed-default`` or ``61-standard-LDC-…``."""
        return "-".join((self.dataset, self.learner, self.sampling, self.split, self.tuning))

    @property
    def folder(self) -> str:
        """Name of the unit's folder in the journal: readable, and different for another key."""
        return f"{self.label}-{self.key[:12]}"

    @property
    def place(self) -> tuple[Any, ...]:
        """Sort key of the canonical order: draws, then learners as in a cube's labels."""
        rank = LEARNERS.index(self.learner) if self.learner in LEARNERS else len(LEARNERS)
        return (
            -1 if self.is_draws else rank,
            self.learner,
            SAMPLINGS.index(self.sampling),
            SPLITS.index(self.split),
            TUNINGS.index(self.tuning),
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that hold the unit's values, in the order in which they are written.

        Examples
        --------
        >>> unit = Unit("61", "ab", 1, DRAWS, "", "{}", "1", "random", "fixed", "default", "", (1,))
        >>> [variable.name for variable in unit.variables]
        ['n_test', 'n_classes_train']
        """
        return tuple(
            variable
            for variable in VARIABLES.values()
            if self.is_draws == ("learner" not in variable.dims)
            and (self.tuning == "tuned" or not variable.name.startswith("choice_"))
        )

    def inner_shape(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of one cell's values: they are numbers."""
        return ()

    def computed(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which cells were computed: these variables are never -1 where they were."""
        return values["n_test" if self.is_draws else "n_clipped"] >= 0

    def draws(self, snapshot: Snapshot) -> Draws:
        """Return the training and test sets of the unit in its snapshot."""
        # Only who draws waits for the compiler of the kernels to be imported.
        from lcdb_builders.domain.sampling import Draws

        where = (self.dataset_sha256, self.seed, self.sampling, self.split)
        return Draws(snapshot.rows, *where, y=snapshot.y)

    @property
    def is_draws(self) -> bool:
        """Whether this is the unit of the draws themselves, which is no curve."""
        return self.learner == DRAWS

    def at(self, dim: str) -> str:
        """Return the label along a dim."""
        return getattr(self, dim)

    def wanted(self, repetitions: int) -> int:
        """Return how many repetitions there must be for the unit to be complete."""
        return repetitions

    def where(self, block: Block) -> str:
        """Return in words which cells a block of the unit holds."""
        sizes = f"n {block.sizes[0]} to {block.sizes[-1]}"
        return f"{sizes}, repetitions {block.first} to {block.stop - 1}"

    def unasked(self) -> Unit:
        """Return the unit without what may be asked of it anew: nothing."""
        return self

    def joined(self, other: Any) -> Unit:
        """Return the unit that two stand for, of which a cube holds one: the first."""
        return self

    def with_split(self, split: str) -> Unit:
        """Return the unit that differs in the split alone."""
        return replace(self, split=split)


Whole = TypeVar("Whole", bound=Stored)


@dataclass(frozen=True)
class Block(Generic[Whole]):
    """A run of sizes and of repetitions of one unit: what a worker computes in one piece.

    Of a part of an experiment it is a run of trials.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> block = Block(unit, sizes=(1, 2, 3), first=0, stop=50)
    >>> block.repetitions, block.shape
    (range(0, 50), (3, 50))
    """

    unit: Whole
    sizes: tuple[int, ...]
    first: int
    stop: int

    @property
    def repetitions(self) -> range:
        """Repetitions first..stop-1."""
        return range(self.first, self.stop)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of each score array: sizes × repetitions."""
        return len(self.sizes), self.stop - self.first

    @property
    def cells(self) -> int:
        """Number of fits."""
        return len(self.sizes) * (self.stop - self.first)

    @cached_property
    def key(self) -> str:
        """Digest of the unit's key and the two runs."""
        return digest([self.unit.key, list(self.sizes), self.first, self.stop])

    @property
    def name(self) -> str:
        """File name stem within the unit's folder; sorts by n, then by repetition."""
        where = f"n{self.sizes[0]:05d}-{self.sizes[-1]:05d}.r{self.first:05d}-{self.stop:05d}"
        return f"{where}.{self.key[:12]}"

    def with_split(self: Block[Unit], split: str) -> Block[Unit]:
        """Return the block that differs in the split alone."""
        return replace(self, unit=self.unit.with_split(split))
