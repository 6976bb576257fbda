"""Who computes an experiment's trials: the seam between them and all that stores and schedules.

An experiment is a module with three functions, named in `MAKERS`; it is imported by who needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from lcdb.errors import NotFoundError
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.snapshot import Snapshot

__all__ = ["MAKERS", "Maker", "maker_of", "trials_of"]

#: Modules that compute trials, by name of the experiment.
MAKERS = {
    "dse": "lcdb_builders.experiments.dse.maker",
    "pendulum": "lcdb_builders.experiments.pendulum.maker",
}


class Maker(Protocol):
    """What the module of an experiment has."""

    #: What computes the trials; raised when their numbers change.
    IMPLEMENTATION: str

    def prepare(self) -> None:
        """Import and compile what computes, so that it is nobody's time."""

    def trials(
        self, part: Part, run: Sequence[int], data: Snapshot | None
    ) -> dict[str, np.ndarray]:
        """Return the values of some trials by variable: arrays (trials, steps if it has them).

        Trial t is a pure function of the part's identity and of t. `data` is the snapshot that
        the part's ``params["data"]`` names, None if it names none.
        """

    def seconds(self, part: Part) -> float:
        """Return about how long one trial takes on one core."""


def maker_of(part: Part) -> Maker:
    """Return the module that computes a part's trials."""
    return cast(Maker, import_module(MAKERS[part.dataset]))


def trials_of(part: Part, run: Sequence[int], root: str | Path) -> dict[str, np.ndarray]:
    """Return the values of some trials as the journal takes them.

    Parameters
    ----------
    part, run
        What to compute.
    root
        The database directory, which holds the snapshot of stored data.
    """
    data = _data(str(root), part.parameters["data"], part) if part.data_sha256 else None
    values = maker_of(part).trials(part, run, data)
    return {name: array[None] for name, array in values.items()}


@lru_cache(maxsize=4)
def _data(root: str, name: str, part: Part) -> Snapshot:
    snapshot = snapshots.load(Path(root) / "snapshots", name)
    if snapshot.sha256 != part.data_sha256:
        msg = f"{root} holds other {name} than {part.label} was begun with"
        raise NotFoundError(msg)
    return snapshot
