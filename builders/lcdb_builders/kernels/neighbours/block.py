"""NNC with one neighbour, of whole blocks: all metrics follow from the confusion matrix.

Distances are sums of squares in feature order in float64, never fused and never expanded, so that
distances that are equal stay equal; of rows at equal distance the one drawn first is nearer. On
integer-valued data half of all queries tie.

Every column keeps its nearest row: a new row is compared with all columns at once, and only those
that it is nearest to are touched, which along additive curves are fewer and fewer. Fresh draws of
many rows walk down each column's list of candidates instead, nearest first, until they meet one
that was drawn.

For more neighbours than one, columns keep so many rows along additive curves, in order.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw
from lcdb_builders.kernels.core.simd import LANES, load, lowest_bit, marks
from lcdb_builders.kernels.scores.counts import score_confusion

__all__ = [
    "ENTRY",
    "LARGEST_TABLE",
    "TIE",
    "Table",
    "carried_of",
    "insert",
    "nearest_block",
    "restart",
    "table_of",
    "take_in",
    "walk",
]

# Columns that are sorted at a time.
RUN = 64
EVERY = np.uint32(2**LANES - 1)
# The low bit of an entry of a list: the next candidate is as near as this one, and not all that are
# as near have one class.
TIE = 1
# A draw of n rows is walked to if n * n exceeds this multiple of the number of candidates.
WALK = 3
# Beyond so many bytes distances are computed when they are needed, again and again.
LARGEST_TABLE = 600_000_000
# Bytes of a distance and of an entry of a list.
ENTRY = 12

#: `slot` (N,) of the rows that may be drawn; `distance` (slots, columns rounded up to `LANES`);
#: `near` (columns, slots) twice the slot, nearest first, plus `TIE`. The last two are empty if they
#: would be too large. `own` (N,) the column of each row, -1 for none; `owner` (columns,) row of the
#: confusion matrices.
Table = namedtuple("Table", "slot distance near own owner")


@kernel(borrow=True)
def distances_to(x, XT, out):
    """Write the squared distances of all columns to a row."""
    for t in range(len(out)):
        out[t] = 0.0
    for j in range(len(x)):
        z = XT[j]
        value = x[j]
        for t in range(len(out)):
            out[t] += (z[t] - value) * (z[t] - value)


@kernel(borrow=True)
def _mark_ties(distance, order, label, near):
    """Turn one column's ascending order of slots into its list."""
    size = len(order)
    first = 0
    while first < size:
        stop = first + 1
        mixed = False
        while stop < size and distance[order[stop]] == distance[order[first]]:
            mixed |= label[order[stop]] != label[order[first]]
            stop += 1
        for q in range(first, stop):
            near[q] = 2 * order[q] + (TIE if mixed and q + 1 < stop else 0)
        first = stop


def _whole_lanes(size: int) -> int:
    """Return a number of columns rounded up to whole lanes."""
    return (size + LANES - 1) // LANES * LANES


def _distances(task: Task, columns: Columns, run: slice) -> np.ndarray:
    """Return the distances of a run of columns to the rows that may be drawn."""
    XT = np.ascontiguousarray(columns.XT[:, run])
    out = np.empty((len(task.pool), XT.shape[1]))
    for i, row in enumerate(task.pool):
        distances_to(task.X[row], XT, out[i])
    return out


def table_of(task: Task, columns: Columns, most_bytes: float = np.inf) -> Table:
    """Return distances of columns to the rows that may be drawn, and lists of them by distance.

    Additive sampling has no use for lists. Distances are left out, and then lists, where they would
    take more than so many bytes.
    """
    rows, size = len(task.pool), len(columns.rows)
    slot = np.full(len(task.y), -1)
    slot[task.pool] = np.arange(rows)
    own = np.full(len(task.y), -1)
    own[columns.rows] = np.arange(size)
    owner = np.repeat(np.arange(columns.lo.size), (columns.hi - columns.lo).ravel())
    entry = np.dtype(np.uint16 if 2 * rows < 2**16 else np.uint32)
    fits = ENTRY * rows * size <= LARGEST_TABLE
    lists = fits and task.sampling != ADDITIVE and entry.itemsize * rows * size <= most_bytes
    fits = fits and (8 + lists * entry.itemsize) * rows * size <= most_bytes
    distance = np.zeros((rows if fits else 0, _whole_lanes(size)))
    for i in range(len(distance)):
        distances_to(task.X[task.pool[i]], columns.XT, distance[i, :size])
    listed = size if lists else 0
    near = np.empty((listed, rows), entry)
    label = task.y[task.pool]
    for first in range(0, listed, RUN):
        run = slice(first, min(first + RUN, size))
        some = distance[:, run] if fits else _distances(task, columns, run)
        some = np.ascontiguousarray(some.T)
        for t, order in enumerate(some.argsort(axis=1)):
            _mark_ties(some[t], order, label, near[first + t])
    return Table(slot=slot, distance=distance, near=near, own=own, owner=owner)


#: Workspace. Of columns: the distance `best` (columns rounded up to `LANES`) and the class `label`
#: (columns,) of the nearest row so far, and distances that are `computed`; `confusion`
#: (sets * K, K) counts; of draws: `order` (pool,) and, by slot, `position`, which draw brought each
#: row first, from 1.
NearestBuffers = namedtuple("NearestBuffers", "best label computed confusion order position")


def _buffers_of(task: Task, columns: Columns) -> NearestBuffers:
    """Return room for the cells of a block, one after the other."""
    size, slots = len(columns.rows), len(task.pool)
    return NearestBuffers(
        best=np.empty(_whole_lanes(size)),
        label=np.empty(size, np.int64),
        computed=np.zeros(_whole_lanes(size)),
        confusion=np.empty((columns.lo.size, task.classes), np.int64),
        order=np.empty(slots, np.int64),
        position=np.zeros(slots, np.int32),
    )


@kernel(borrow=True)
def _improve(distance, c, best, label, owner, confusion):
    """Let a row of class c be the nearest of all columns that it is nearer to than their best.

    Parameters
    ----------
    distance, c
        (columns rounded up to `LANES`,) of all columns to the row, and its class.
    best, label
        Of `NearestBuffers`, brought up to date.
    owner
        Of the `Table`.
    confusion
        (sets * K, K) counts, brought up to date.
    """
    for first in range(0, len(best), LANES):
        nearer = marks(load(best, first) <= load(distance, first)) ^ EVERY
        while nearer != 0:
            t = np.uint64(first) + lowest_bit(nearer)
            nearer &= nearer - np.uint32(1)
            best[t] = distance[t]
            confusion[owner[t], label[t]] -= 1
            confusion[owner[t], c] += 1
            label[t] = c


@kernel(glue=True)
def _distances_of(task, columns, table, row, computed):
    """Distances of all columns to a row: from the table, or `computed`."""
    if len(table.distance) == 0:
        distances_to(task.X[row], columns.XT, computed[: len(columns.rows)])
        return computed
    return table.distance[table.slot[row]]


@kernel(glue=True)
def _restart(columns, buffers):
    """Return to a training set of no rows: no column is near to any, and all are labelled 0."""
    best, label, confusion = buffers.best, buffers.label, buffers.confusion
    sets, classes = columns.lo.shape
    for k in range(sets):
        for c in range(classes):
            for other in range(classes):
                confusion[k * classes + c, other] = 0
            confusion[k * classes + c, 0] = columns.hi[k, c] - columns.lo[k, c]
    for t in range(len(best)):
        best[t] = np.inf if t < len(label) else -1.0  # nothing is nearer than that
    for t in range(len(label)):
        label[t] = 0


@kernel(glue=True)
def _take_in(task, columns, table, row, buffers):
    """Add a row to the training set."""
    best, label, confusion = buffers.best, buffers.label, buffers.confusion
    if columns.varying:  # it leaves the test set, if it has not
        t = table.own[row]
        confusion[table.owner[t], label[t]] -= best[t] >= 0.0
        best[t] = -1.0
    distance = _distances_of(task, columns, table, row, buffers.computed)
    _improve(distance, task.y[row], best, label, table.owner, confusion)


@kernel(borrow=True)
def walk(near, position):
    """Return the position of the nearest candidate that was drawn: of equal ones, the first drawn.

    Of equal ones of one class, any.

    Parameters
    ----------
    near
        One column's list of candidates.
    position
        By slot: 1 for the row drawn first, 2 for the next, 0 for rows that were not drawn.
    """
    q = 0
    while position[near[q] >> 1] == 0:
        q += 1
    first = position[near[q] >> 1]
    while near[q] & TIE:
        q += 1
        place = position[near[q] >> 1]
        if place != 0 and place < first:
            first = place
    return first


@kernel(glue=True)
def _walk_to_draw(task, columns, table, n, buffers):
    """Label every column by its nearest row of a draw, from lists."""
    order, position, confusion = buffers.order, buffers.position, buffers.confusion
    for i in range(n - 1, -1, -1):
        position[table.slot[order[i]]] = i + 1
    for t in range(len(table.near)):
        counts = confusion[table.owner[t]]
        counts[0] -= 1
        slot = table.slot[columns.rows[t]]
        if not (columns.varying and slot >= 0 and position[slot] > 0):  # else in no test set
            counts[task.y[order[walk(table.near[t], position) - 1]]] += 1
    for i in range(n):
        position[table.slot[order[i]]] = 0


@kernel(borrow=True)
def _run(task, columns, table, buffers, out):
    """Fill the cells of a block."""
    order = buffers.order
    for r in range(task.stop - task.first):
        done = 0
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE or i == 0:
                draw(task, n, task.first + r, order)
                _restart(columns, buffers)
                done = 0
            if len(table.near) > 0 and n * n > WALK * len(task.pool):
                _walk_to_draw(task, columns, table, n, buffers)
            else:
                for row in order[done:n]:
                    _take_in(task, columns, table, row, buffers)
                done = n
            for k in range(len(columns.lo)):
                first, stop = k * task.classes, (k + 1) * task.classes
                score_confusion(buffers.confusion[first:stop], out[i, r, k])


def nearest_block(task: Task, columns: Columns, table: Table, out: np.ndarray) -> None:
    """Score the cells of a block by their nearest neighbour.

    Parameters
    ----------
    task, columns
        Cells, and where they are scored.
    table
        Of the same task and columns; good for all blocks of a dataset, sampling and split.
    out
        (sizes, repetitions, sets, WIDTH), filled.
    """
    _run(task, columns, table, _buffers_of(task, columns), out)


# -- lists along additive curves -------------------------------------------------------------------

#: `near` (columns, kept) twice the slots of the nearest rows, nearest first, of equal ones the
#: first drawn; their `distance` (columns, kept); (columns rounded up to `LANES`,) the distance that
#: a row must beat, `limit`, and distances that are `computed`.
Carried = namedtuple("Carried", "near distance limit computed")


def carried_of(columns: Columns, table: Table, kept: int, most_bytes: float = np.inf) -> Carried:
    """Return room for so many nearest rows of each column, or for none where it is too large.

    Together with the table it takes at most so many bytes.
    """
    size = len(columns.rows)
    free = min(most_bytes - table.distance.nbytes - table.near.nbytes, LARGEST_TABLE)
    kept = kept if (8 + table.near.itemsize) * kept * size <= free else 0
    return Carried(
        near=np.zeros((size, kept), table.near.dtype),
        distance=np.zeros((size, kept)),
        limit=np.zeros(_whole_lanes(size)),
        computed=np.zeros(_whole_lanes(size)),
    )


@kernel(borrow=True)
def restart(carried):
    """Return to a training set of no rows."""
    size = len(carried.near)
    for t in range(len(carried.limit)):
        carried.limit[t] = np.inf if t < size else -1.0


@kernel(borrow=True)
def insert(near, distance, filled, new, entry):
    """Put a row at a distance `new` in its place among the `filled` nearest, which move up."""
    place = filled
    while place > 0 and distance[place - 1] > new:
        distance[place] = distance[place - 1]
        near[place] = near[place - 1]
        place -= 1
    distance[place] = new
    near[place] = entry


@kernel(borrow=True)
def take_in(task, columns, table, row, count, carried):
    """Add a row to the nearest of all columns that it is near enough to, if these are kept.

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
    kept = carried.distance.shape[1]
    if kept == 0:
        return
    distance = _distances_of(task, columns, table, row, carried.computed)
    entry = 2 * table.slot[row]
    filled = min(count, kept - 1)
    full = count >= kept - 1
    for first in range(0, len(carried.limit), LANES):
        nearer = marks(load(carried.limit, first) <= load(distance, first)) ^ EVERY
        while nearer != 0:
            t = np.uint64(first) + lowest_bit(nearer)
            nearer &= nearer - np.uint32(1)
            insert(carried.near[t], carried.distance[t], filled, distance[t], entry)
            if full:
                carried.limit[t] = carried.distance[t, kept - 1]
