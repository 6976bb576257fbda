"""Part: plain data that says what a row of an experiment's trials is computed from.

To an experiment what `lcdb_builders.domain.unit.Unit` is to a dataset's curves: a `Block` of a
part is a run of its trials, and journal, packing and repair treat the two alike.
Its trial t depends on the part's identity and on t, and never on how many trials are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from lcdb.schema import EXPERIMENTS, KEY_VERSION, Experiment, Variable
from lcdb_builders.domain.unit import Block, Unit, digest

__all__ = ["AnyUnit", "Part", "trial_block"]


@dataclass(frozen=True)
class Part:
    """What the trials of one part of an experiment depend on.

    Parameters
    ----------
    dataset
        Name of the experiment, which is that of its cube.
    labels
        Along the dims of the experiment.
    seed
        The master seed.
    implementation
        What computes it: other numbers in the last bits, another key.
    params
        Canonical JSON of everything else that the numbers depend on.
    data_sha256
        Digest of stored data that the trials use; empty where they draw their own.
    length
        Of the experiment's inner dim; 0 where it has none.
    trials
        How many are wanted; no part of what a part is.

    Examples
    --------
    >>> part = Part("dse", ("kNN", "moons", "random"), 7, "dse-1", trials=500)
    >>> part.label, part == Part("dse", ("kNN", "moons", "random"), 7, "dse-1", trials=9)
    ('dse-kNN-moons-random', True)
    """

    dataset: str
    labels: tuple[str, ...]
    seed: int
    implementation: str
    params: str = "{}"
    data_sha256: str = ""
    length: int = 0
    trials: int = field(default=0, compare=False)

    #: Blocks are sizes × repetitions; of a part, one row × trials.
    sizes = (1,)
    #: A part has no unit of draws beside it.
    is_draws = False

    @property
    def experiment(self) -> Experiment:
        """Dims, labels and variables."""
        return EXPERIMENTS[self.dataset]

    @property
    def parameters(self) -> dict[str, Any]:
        """`params` as a dict."""
        return json.loads(self.params)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that the numbers of a trial depend on, as a JSON-able dict."""
        return {
            "format_version": KEY_VERSION,
            "experiment": self.dataset,
            "labels": list(self.labels),
            "seed": self.seed,
            "implementation": self.implementation,
            "params": self.params,
            "data_sha256": self.data_sha256,
            "length": self.length,
        }

    @cached_property
    def key(self) -> str:
        """Digest of the identity."""
        return digest(self.identity)

    @property
    def label(self) -> str:
        """Readable name, such as ``dse-kNN-moons-random``."""
        return "-".join((self.dataset, *self.labels))

    @property
    def folder(self) -> str:
        """Name of the part's folder in the journal: readable, and different for another key."""
        return f"{self.label}-{self.key[:12]}"

    @property
    def place(self) -> tuple[Any, ...]:
        """Sort key of the canonical order: that of labels, dim by dim."""
        ranked = zip(self.experiment.dims, self.labels, strict=True)
        return tuple(self.experiment.rank(dim, label) for dim, label in ranked)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that hold the part's values, in the order in which they are written."""
        return self.experiment.part_variables(self.labels)

    def inner_shape(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of one trial's values: its steps, or none for a number."""
        return (self.length,) if self.experiment.inner in variable.dims else ()

    def computed(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which trials were computed: the first variable has no empty value where it was."""
        first = self.variables[0]
        there = values[first.name]
        return ~np.isnan(there) if there.dtype.kind == "f" else there != first.empty

    def unasked(self) -> Part:
        """Return the part without what may be asked of it anew: how many trials."""
        return self.with_trials(0)

    def joined(self, other: Any) -> Part:
        """Return the part that two stand for, of which a cube holds one: the most trials."""
        return self.with_trials(max(self.trials, other.trials))

    def with_trials(self, trials: int) -> Part:
        """Return the part with another number of trials that are wanted."""
        return replace(self, trials=trials)

    def at(self, dim: str) -> str:
        """Return the label along a dim."""
        return self.labels[self.experiment.dims.index(dim)]

    def wanted(self, repetitions: int) -> int:
        """Return how many trials there must be for the part to be complete."""
        return min(self.trials, repetitions)

    def where(self, block: Block) -> str:
        """Return in words which trials a block of the part holds."""
        return f"trials {block.first} to {block.stop - 1}"


#: What a block may be a piece of.
AnyUnit = Unit | Part


def trial_block(part: Part, first: int, stop: int) -> Block[Part]:
    """Return the block of a run of trials.

    Examples
    --------
    >>> trial_block(Part("dse", ("LR", "moons", "random"), 7, "dse-1"), 0, 50).shape
    (1, 50)
    """
    return Block(part, part.sizes, first, stop)
