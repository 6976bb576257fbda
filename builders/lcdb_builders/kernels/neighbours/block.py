"""NNC with one neighbour, of whole blocks: all metrics follow from the confusion matrix.

Distances are sums of squares in feature order in float64, never fused and never expanded, so that
distances that are equal stay equal; of rows at equal distance the one drawn first is nearer. On
integer-valued data half of all queries tie.

Along additive sampling every column keeps its nearest row: a new row is compared with all columns
at once, and only the few that it is nearest to are touched. Fresh draws of few rows look at them
one after the other; those of more walk down each column's list of candidates, nearest first, until
they meet one that was drawn.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.bits import lowest_bit
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw
from lcdb_builders.kernels.core.simd import LANES, load, marks
from lcdb_builders.kernels.scores.counts import score_confusion

__all__ = [
    "EVERY",
    "TIE",
    "Table",
    "distances_of",
    "distances_to",
    "nearest_block",
    "table_of",
    "walk",
    "whole_lanes",
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

#: `slot` (N,) of the rows that may be drawn; `distance` (slots, columns rounded up to `LANES`);
#: `near` (columns, slots) twice the slot, nearest first, plus `TIE`. The last two are empty if they
#: would be too large. `clear` (columns,) entries of each list before the first tie. `own` (N,) the
#: column of each row, -1 for none; `owner` (columns,) row of the confusion matrices.
Table = namedtuple("Table", ["slot", "distance", "near", "clear", "own", "owner"])


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
    """Turn one column's ascending order of slots into its list; returns where its ties begin."""
    size = len(order)
    clear = size
    first = 0
    while first < size:
        stop = first + 1
        mixed = False
        while stop < size and distance[order[stop]] == distance[order[first]]:
            mixed |= label[order[stop]] != label[order[first]]
            stop += 1
        for q in range(first, stop):
            near[q] = 2 * order[q]
            if mixed and q + 1 < stop:
                near[q] += TIE
        if mixed and clear == size:
            clear = first
        first = stop
    return clear


def whole_lanes(size: int) -> int:
    """Return a number of columns rounded up to whole lanes."""
    return (size + LANES - 1) // LANES * LANES


def table_of(task: Task, columns: Columns) -> Table:
    """Return distances of columns to the rows that may be drawn, and lists of them by distance.

    Additive sampling has no use for lists.
    """
    rows, size = len(task.pool), len(columns.rows)
    slot = np.full(len(task.y), -1)
    slot[task.pool] = np.arange(rows)
    own = np.full(len(task.y), -1)
    own[columns.rows] = np.arange(size)
    owner = np.repeat(np.arange(columns.lo.size), (columns.hi - columns.lo).ravel())
    fits = 12 * rows * size <= LARGEST_TABLE
    distance = np.zeros((rows if fits else 0, whole_lanes(size)))
    for i in range(len(distance)):
        distances_to(task.X[task.pool[i]], columns.XT, distance[i, :size])
    wanted = size if fits and task.sampling != ADDITIVE else 0
    near = np.empty((wanted, rows), np.uint16 if 2 * rows < 2**16 else np.uint32)
    clear, label = np.zeros(wanted, np.int64), task.y[task.pool]
    for first in range(0, wanted, RUN):
        some = np.ascontiguousarray(distance[:, first : min(first + RUN, size)].T)
        for t, order in enumerate(some.argsort(axis=1)):
            clear[first + t] = _mark_ties(some[t], order, label, near[first + t])
    return Table(slot, distance, near, clear, own, owner)


#: Workspace. Of columns: the distance `best` (columns rounded up to `LANES`) and the class `label`
#: (columns,) of the nearest row so far, and `room` for distances; `confusion` (sets * K, K) counts;
#: of draws: `order` (pool,) and, by slot, `position`, which draw brought each row first, from 1.
NearestBuffers = namedtuple(
    "NearestBuffers", ["best", "label", "room", "confusion", "order", "position"]
)


def _buffers_of(task: Task, columns: Columns) -> NearestBuffers:
    size, slots = len(columns.rows), len(task.pool)
    return NearestBuffers(
        best=np.empty(whole_lanes(size)),
        label=np.empty(size, np.int64),
        room=np.zeros(whole_lanes(size)),
        confusion=np.empty((columns.lo.size, task.classes), np.int64),
        order=np.empty(slots, np.int64),
        position=np.zeros(slots, np.int32),
    )


@kernel(borrow=True)
def _improve(distance, c, best, label, owner, confusion):
    """Let a row of class c be the nearest of all columns that it is nearer to than their best."""
    for first in range(0, len(best), LANES):
        kept = load(best, first) <= load(distance, first)
        nearer = marks(kept) ^ EVERY
        while nearer != 0:
            t = np.uint64(first) + lowest_bit(nearer)
            nearer &= nearer - np.uint32(1)
            best[t] = distance[t]
            confusion[owner[t], label[t]] -= 1
            confusion[owner[t], c] += 1
            label[t] = c


@kernel(glue=True)
def distances_of(task, columns, table, row, room):
    """Distances of all columns to a row: from the table, or computed into `room`."""
    if len(table.distance) == 0:
        distances_to(task.X[row], columns.XT, room[: len(columns.rows)])
        return room
    return table.distance[table.slot[row]]


@kernel(glue=True)
def _score_sets(confusion, sets, out):
    classes = confusion.shape[1]
    for k in range(sets):
        score_confusion(confusion[k * classes : (k + 1) * classes], out[k])


@kernel(borrow=True)
def _additive_repetition(task, columns, table, r, buffers, out):
    """Score a repetition of all sizes; ``out`` is (sizes, repetitions, sets, WIDTH)."""
    best, label, confusion = buffers.best, buffers.label, buffers.confusion
    draw(task, 0, task.first + r, buffers.order)
    sets, classes = columns.lo.shape
    for k in range(sets):
        for c in range(classes):
            for other in range(classes):
                confusion[k * classes + c, other] = 0
            confusion[k * classes + c, 0] = columns.hi[k, c] - columns.lo[k, c]
    for t in range(len(label)):
        best[t] = np.inf
        label[t] = 0
    for t in range(len(label), len(best)):
        best[t] = -1.0  # nothing is nearer than that
    done = 0
    for i in range(len(task.sizes)):
        while done < task.sizes[i]:
            row = buffers.order[done]
            if columns.varying:  # it leaves the test set, and nothing is nearer than that
                t = table.own[row]
                confusion[table.owner[t], label[t]] -= 1
                best[t] = -1.0
            distance = distances_of(task, columns, table, row, buffers.room)
            _improve(distance, task.y[row], best, label, table.owner, confusion)
            done += 1
        _score_sets(confusion, sets, out[i, r])


@kernel(borrow=True)
def _keep_nearest(distance, c, best, label):
    """Like `_improve`, without branches: for when much is improved."""
    for t in range(len(label)):
        nearer = distance[t] < best[t]
        best[t] = distance[t] if nearer else best[t]
        label[t] = c if nearer else label[t]


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


@kernel(borrow=True)
def _label_columns(task, columns, table, n, buffers):
    """Label every column by its nearest row of a draw."""
    best, label, order, position = buffers.best, buffers.label, buffers.order, buffers.position
    if n * n > WALK * len(task.pool) and len(table.near) > 0:
        for t in range(len(label)):
            label[t] = task.y[order[walk(table.near[t], position) - 1]]
        return
    for t in range(len(label)):
        best[t] = np.inf
    for i in range(n):
        row = order[i]
        if position[table.slot[row]] == i + 1:  # copies of a row change nothing
            distance = distances_of(task, columns, table, row, buffers.room)
            _keep_nearest(distance, task.y[row], best, label)


@kernel(borrow=True)
def _fresh_cell(task, columns, table, n, repetition, buffers, out):
    """Score a cell whose rows are drawn afresh; ``out`` is (sets, WIDTH)."""
    order, position, confusion = buffers.order, buffers.position, buffers.confusion
    draw(task, n, repetition, order)
    for i in range(len(confusion)):
        for c in range(confusion.shape[1]):
            confusion[i, c] = 0
    for i in range(n - 1, -1, -1):
        position[table.slot[order[i]]] = i + 1
    _label_columns(task, columns, table, n, buffers)
    for t in range(len(buffers.label)):
        confusion[table.owner[t], buffers.label[t]] += 1
    for i in range(n):
        slot = table.slot[order[i]]
        if columns.varying and position[slot] == i + 1:  # it is in no test set
            t = table.own[order[i]]
            confusion[table.owner[t], buffers.label[t]] -= 1
    for i in range(n):
        position[table.slot[order[i]]] = 0
    _score_sets(confusion, len(columns.lo), out)


@kernel(borrow=True)
def _run(task, columns, table, buffers, out):
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            _additive_repetition(task, columns, table, r, buffers, out)
            continue
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            _fresh_cell(task, columns, table, n, task.first + r, buffers, out[i, r])


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
