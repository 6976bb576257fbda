"""What a `Builder` is to build: units of a plan, or parts of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.run.engine import Settings
from lcdb_builders.storage.parts import Target

__all__ = ["Work"]


@dataclass(frozen=True)
class Work:
    """What is to be built.

    Parameters
    ----------
    root
        The database directory.
    settings
        How blocks are computed.
    repetitions
        R, or the most trials of a part.
    snapshots
        What cubes are packed for, by name of the cube.
    units
        All that a cube is to hold, by its name.
    chosen
        What of it is to be built now.
    """

    root: Path
    settings: Settings
    repetitions: int
    snapshots: Mapping[str, Snapshot | Target]
    units: Mapping[str, Sequence[AnyUnit]]
    chosen: Mapping[str, Sequence[AnyUnit]]
