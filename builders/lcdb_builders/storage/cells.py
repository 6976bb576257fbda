"""What is stored of a unit cell by cell, in its cube and in the journal alike."""

from __future__ import annotations

from functools import cached_property, lru_cache

import h5py
import numpy as np

from lcdb.errors import DamagedError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.storage.blockfile import Scores
from lcdb_builders.storage.cube import read_values
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.manifest import believed, cube_path

__all__ = ["StoredUnit", "cells_of"]


def cells_of(journal: Journal, unit: AnyUnit) -> np.ndarray:
    """Return the cells that are there, as rows of (place of the size, repetition)."""
    entry = believed(journal.root, unit.dataset)
    held = entry.by_unit.get(unit) if entry is not None else None
    blocks = journal.verified(unit)
    rectangles = held.coverage if held is not None else ()
    most = max([*(b.stop for b in blocks), *(stop for *_, stop in rectangles)], default=0)
    coverage = Coverage(unit, most, rectangles)
    for block in blocks:
        coverage.add_block(block)
    return np.argwhere(coverage.there)


class StoredUnit:
    """What is stored of a unit, in the journal and in its cube; each is read once.

    Parameters
    ----------
    journal, unit
        Where, and of what.
    """

    def __init__(self, journal: Journal, unit: AnyUnit) -> None:
        self.unit = unit
        self._journal = journal
        self._blocks = journal.find(unit)
        self._read = lru_cache(maxsize=2)(journal.read)

    def cell(self, n: int, repetition: int) -> Scores:
        """Return the values of one cell, from the journal or from the cube.

        Raises
        ------
        DamagedError
            The cube is not what its manifest says.
        """
        for block in self._blocks:
            if n in block.sizes and repetition in block.repetitions:
                place = block.sizes.index(n), repetition - block.first
                return _one(self._read(block), place)
        return _one(self._in_cube, (self.unit.sizes.index(n), repetition))

    @cached_property
    def _in_cube(self) -> Scores:
        root, unit = self._journal.root, self.unit
        entry, path = believed(root, unit.dataset), cube_path(root, unit.dataset)
        if entry is None:
            msg = f"{path} was damaged or replaced meanwhile"
            raise DamagedError(msg)
        with path.open("rb") as raw, h5py.File(raw) as file:
            return {v.name: read_values(file, entry.contents, unit, v) for v in unit.variables}


def _one(values: Scores, place: tuple[int, int]) -> Scores:
    """Return the values at one place as a block of one cell has them."""
    return {name: np.ascontiguousarray(array[place][None, None]) for name, array in values.items()}
