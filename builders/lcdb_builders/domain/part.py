"""Part: plain data that says what a row of an experiment's trials is computed from.

To an experiment what `lcdb_builders.domain.unit.Unit` is to a dataset's curves: a `Block` of a
part is a run of its trials, and journal, packing and repair treat the two alike.
Its trial t depends on the part's identity and on t, and never on how many trials are asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from lcdb.schema import EXPERIMENTS, KEY_VERSION, Experiment
from lcdb_builders.domain.unit import Block, Unit, digest

__all__ = ["AnyUnit", "Part", "piece", "trial_block"]


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


def piece(unit: AnyUnit, sizes: tuple[int, ...], first: int, stop: int) -> Block:
    """Return a block of a unit or of a part.

    What stores a block asks of it only what both have; what computes curves never sees a part.
    """
    return Block(cast(Unit, unit), sizes, first, stop)


def trial_block(part: Part, first: int, stop: int) -> Block:
    """Return the block of a run of trials.

    Examples
    --------
    >>> trial_block(Part("dse", ("LR", "moons", "random"), 7, "dse-1"), 0, 50).shape
    (1, 50)
    """
    return piece(part, part.sizes, first, stop)
