"""Which cells of a unit there are, and how those that are missing are cut into blocks.

What is there is asked of cells and not of block names, so that a database that grows in
repetitions computes the new cells alone, whatever its blocks looked like before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import Block

__all__ = ["Coverage", "Lengths", "Rectangle"]

#: First and last n, first repetition, and the repetition after the last.
Rectangle = tuple[int, int, int, int]


@dataclass(frozen=True)
class Lengths:
    """How long the blocks of a unit are.

    Parameters
    ----------
    sizes
        Number of training sizes in a block.
    repetitions
        Number of repetitions in a block.
    """

    sizes: int
    repetitions: int

    def __post_init__(self) -> None:
        if self.sizes < 1 or self.repetitions < 1:
            msg = f"block lengths are {self.sizes} × {self.repetitions}; expected 1 or more each"
            raise ValueError(msg)


class Coverage:
    """Which cells (size × repetition) of a unit there are.

    Examples
    --------
    >>> from lcdb_builders.domain.unit import Unit
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3, 5))
    >>> coverage = Coverage(unit, repetitions=10)
    >>> coverage.add((1, 5, 0, 4))
    >>> coverage.complete, coverage.cells, coverage.rectangles()
    (False, 16, [(1, 5, 0, 4)])
    >>> [(block.sizes, block.repetitions) for block in coverage.missing(Lengths(3, 5))]
    [((1, 2, 3), range(4, 5)), ((1, 2, 3), range(5, 10)), ((5,), range(4, 5)), ((5,), range(5, 10))]
    """

    def __init__(self, unit: AnyUnit, repetitions: int, held: Iterable[Rectangle] = ()) -> None:
        self.unit = unit
        self._sizes = np.array(unit.sizes)
        self.there = np.zeros((len(unit.sizes), repetitions), bool)
        for rectangle in held:
            self.add(rectangle)

    def add(self, rectangle: Rectangle) -> None:
        """Note that the cells of a rectangle are there; what lies outside does not count."""
        self.there[self.where(rectangle)] = True

    def add_block(self, block: Block) -> None:
        """Note that the cells of a block are there."""
        self.add((block.sizes[0], block.sizes[-1], block.first, block.stop))

    def where(self, rectangle: Rectangle) -> tuple[slice, slice]:
        """Return a rectangle as an index of arrays (sizes of the unit, repetitions)."""
        first_n, last_n, first, stop = rectangle
        start, end = np.searchsorted(self._sizes, [first_n, last_n + 1])
        return slice(int(start), int(end)), slice(first, stop)

    def holds(self, block: Block) -> bool:
        """Return whether all cells of a block are there."""
        where = self.where((block.sizes[0], block.sizes[-1], block.first, block.stop))
        inside = block.stop <= self.there.shape[1]
        return inside and bool(self.there[where].all())

    @property
    def cells(self) -> int:
        """Number of cells that are there."""
        return int(self.there.sum())

    @property
    def wanted(self) -> int:
        """Number of cells that the unit needs to be complete."""
        return len(self._sizes) * self.unit.wanted(self.there.shape[1])

    @property
    def complete(self) -> bool:
        """Whether every cell is there that the unit needs."""
        return bool(self.there[:, : self.unit.wanted(self.there.shape[1])].all())

    def rectangles(self) -> list[Rectangle]:
        """Return what is there as rectangles that do not overlap, the same for the same cells."""
        sizes = self.unit.sizes
        return [
            (sizes[start], sizes[end - 1], first, stop)
            for start, end, first, stop in _rectangles(self.there)
        ]

    def missing(self, lengths: Lengths) -> list[Block]:
        """Return the blocks of a fixed grid, cut down to the cells that are not there."""
        rows, columns = self.there.shape
        blocks = []
        for top in range(0, rows, lengths.sizes):
            for left in range(0, columns, lengths.repetitions):
                tile = ~self.there[top : top + lengths.sizes, left : left + lengths.repetitions]
                for start, end, first, stop in _rectangles(tile):
                    sizes = self.unit.sizes[top + start : top + end]
                    blocks.append(Block(self.unit, sizes, left + first, left + stop))
        return blocks


def _rectangles(mask: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """Yield the true cells as (start, end, first, stop): runs of rows in runs of like columns."""
    if not mask.any():
        return
    changes = np.flatnonzero((mask[:, 1:] != mask[:, :-1]).any(axis=0)) + 1
    edges = [0, *changes.tolist(), mask.shape[1]]
    for first, stop in itertools.pairwise(edges):
        column = np.concatenate([[False], mask[:, first], [False]]).astype(np.int8)
        steps = np.diff(column)
        starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield start, end, first, stop
