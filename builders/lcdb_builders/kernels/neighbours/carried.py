"""The nearest rows of every column, carried along an additive curve.

Each column keeps the rows that are nearest to it, in order. A new row is compared with what all
columns keep at once, and only those that it is near enough to take it in: every column takes in
fewer and fewer rows as training sets grow.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.bits import lowest_bit
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import Columns
from lcdb_builders.kernels.core.simd import LANES, load, marks
from lcdb_builders.kernels.neighbours.block import EVERY, Table, distances_of, whole_lanes

__all__ = ["carried_of", "insert", "restart", "take_in"]

#: `near` (columns, kept) twice the slots of the nearest rows, nearest first, of equal ones the
#: first drawn; their `distance` (columns, kept); `limit` and `room` (columns rounded up to
#: `LANES`,), the distance that a row must beat, and distances.
Carried = namedtuple("Carried", "near distance limit room")


def carried_of(columns: Columns, table: Table, kept: int) -> Carried:
    """Return room for so many nearest rows of each column."""
    size = len(columns.rows)
    return Carried(
        near=np.zeros((size, kept), table.near.dtype),
        distance=np.zeros((size, kept)),
        limit=np.zeros(whole_lanes(size)),
        room=np.zeros(whole_lanes(size)),
    )


@kernel(borrow=True)
def restart(carried):
    """Return to a training set of no rows."""
    size = len(carried.near)
    for t in range(len(carried.limit)):
        carried.limit[t] = np.inf if t < size else -1.0


@kernel(borrow=True)
def insert(near, distance, held, new, entry):
    """Put a row in its place among the `held` nearest, which make room for it."""
    place = held
    while place > 0 and distance[place - 1] > new:
        distance[place] = distance[place - 1]
        near[place] = near[place - 1]
        place -= 1
    distance[place] = new
    near[place] = entry


@kernel(borrow=True)
def take_in(task, columns, table, row, count, carried):
    """Add a row to the nearest of all columns that it is near enough to.

    Parameters
    ----------
    task, columns, table
        Where rows are, and distances if the table has them.
    row
        The row.
    count
        How many have been added before.
    carried
        Of `carried_of`.
    """
    distance = distances_of(task, columns, table, row, carried.room)
    kept = carried.distance.shape[1]
    entry = 2 * table.slot[row]
    held = min(count, kept - 1)
    full = count >= kept - 1
    for first in range(0, len(carried.limit), LANES):
        nearer = marks(load(carried.limit, first) <= load(distance, first)) ^ EVERY
        while nearer != 0:
            t = np.uint64(first) + lowest_bit(nearer)
            nearer &= nearer - np.uint32(1)
            insert(carried.near[t], carried.distance[t], held, distance[t], entry)
            if full:
                carried.limit[t] = carried.distance[t, kept - 1]
