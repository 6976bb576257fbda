"""What is stored of a unit cell by cell, in its cube and in the journal alike."""

from __future__ import annotations

import h5py
import numpy as np

from lcdb.errors import DamagedError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import Block
from lcdb_builders.storage.blockfile import Scores
from lcdb_builders.storage.cube import read_values
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.manifest import believed, cube_path

__all__ = ["cells_of", "stored_cell"]


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


def stored_cell(journal: Journal, block: Block) -> Scores:
    """Return the values of a block of one cell, from the journal or from the cube.

    Raises
    ------
    DamagedError
        The cube is not what its manifest says.
    """
    n, repetition = block.sizes[0], block.first
    for other in journal.find(block.unit):
        if n in other.sizes and repetition in other.repetitions:
            where = other.sizes.index(n), repetition - other.first
            return {
                name: np.ascontiguousarray(array[where][None, None])
                for name, array in journal.read(other).items()
            }
    entry = believed(journal.root, block.unit.dataset)
    if entry is None:
        msg = f"{cube_path(journal.root, block.unit.dataset)} was damaged or replaced meanwhile"
        raise DamagedError(msg)
    row, values_of = block.unit.sizes.index(n), {}
    with cube_path(journal.root, block.unit.dataset).open("rb") as raw, h5py.File(raw) as file:
        for variable in block.unit.variables:
            values = read_values(file, entry.contents, block.unit, variable)
            values_of[variable.name] = np.ascontiguousarray(values[row, repetition][None, None])
    return values_of
