"""NNC with one neighbour, of whole blocks: all metrics follow from the confusion matrix.

Distances are sums of squares in feature order in float64, never fused and never expanded, so that
distances that are equal stay equal; of rows at equal distance the one drawn first is nearer. On
integer-valued data half of all queries tie.

Along additive sampling every column keeps its nearest row: a new row is compared with all columns
at once, and only the few that it is nearest to are touched. Fresh draws of few rows look at them
one after the other, for many columns at a time (`neighbour_keys`); those of more walk down each
column's list of candidates, nearest first, until they meet one that was drawn.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.bits import lowest_bit
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw
from lcdb_builders.kernels.core.simd import LANES, load, marks
from lcdb_builders.kernels.neighbours.keys import count_by_key, key_width, label_bits, parts_of
from lcdb_builders.kernels.scores.counts import score_confusion

__all__ = [
    "EVERY",
    "TIE",
    "Table",
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
# Draws of up to so many rows are looked at row by row; a walk costs the same, and less where more
# are drawn, on all of six real datasets.
FEW = 256
# Beyond so many bytes distances are computed when they are needed, again and again.
LARGEST_TABLE = 600_000_000

#: `slot` (N,) of the rows that may be drawn; `distance` (slots, columns rounded up to `LANES`);
#: `near` (columns, slots) twice the slot, nearest first, plus `TIE`. The last two are empty if they
#: would be too large. `keys` (slots * `key_width`,) as of `neighbour_keys`, empty where lists are
#: or where keys take more than 16 bits. `clear` (columns,) entries of each list before the first
#: tie; `place` as of `neighbour_few.places_of`, if it was asked for.
#: `own` (N,) the column of each row, -1 for none; `owner` (columns,) row of the confusion matrices.
Table = namedtuple("Table", ["slot", "distance", "near", "keys", "clear", "place", "own", "owner"])


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
def _mark_ties(distance, order, label, bits, near, keys):
    """Turn one column's ascending order of slots into its list; returns where its ties begin."""
    size = len(order)
    clear = size
    first = 0
    rank = 0
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
            if len(keys) > 0:
                keys[order[q]] = (2 * rank + mixed) << bits | label[order[q]]
        rank += 1
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
    bits = label_bits(task.classes)
    short = wanted > 0 and 2 * rows << bits < 2**16
    keys = np.zeros((rows if short else 0, key_width(size)), np.uint16)
    clear, label = np.zeros(wanted, np.int64), task.y[task.pool]
    for first in range(0, wanted, RUN):
        some = np.ascontiguousarray(distance[:, first : min(first + RUN, size)].T)
        for t, order in enumerate(some.argsort(axis=1)):
            clear[first + t] = _mark_ties(
                some[t], order, label, bits, near[first + t], keys[:, first + t]
            )
    return Table(slot, distance, near, keys.ravel(), clear, np.zeros((0, 0), np.uint16), own, owner)


@kernel(borrow=True)
def _improve(found, c, best, label, owner, confusion):
    """Let a row of class c be the nearest of all columns that it is nearer to than their best."""
    for at in range(0, len(best), LANES):
        kept = load(best, at) <= load(found, at)
        nearer = marks(kept) ^ EVERY
        while nearer != 0:
            t = np.uint64(at) + lowest_bit(nearer)
            nearer &= nearer - np.uint32(1)
            best[t] = found[t]
            confusion[owner[t], label[t]] -= 1
            confusion[owner[t], c] += 1
            label[t] = c


@kernel(glue=True)
def _distances(task, columns, table, row, room):
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
def _additive_repetition(task, columns, table, r, best, label, confusion, order, room, out):
    draw(task, 0, task.first + r, order)
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
            row = order[done]
            if columns.varying:  # it leaves the test set, and nothing is nearer than that
                t = table.own[row]
                confusion[table.owner[t], label[t]] -= 1
                best[t] = -1.0
            found = _distances(task, columns, table, row, room)
            _improve(found, task.y[row], best, label, table.owner, confusion)
            done += 1
        _score_sets(confusion, sets, out[i, r])


@kernel(borrow=True)
def _keep_nearest(found, c, best, label):
    """Like `_improve`, without branches: for when much is improved."""
    for t in range(len(label)):
        nearer = found[t] < best[t]
        best[t] = found[t] if nearer else best[t]
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
def _place(task, table, order, n, position):
    """Write by slot which draw brought each row first."""
    for i in range(n - 1, -1, -1):
        position[table.slot[order[i]]] = i + 1


@kernel(borrow=True)
def _label_columns(task, columns, table, order, n, position, best, label, room):
    """Label every column by its nearest row of a draw."""
    many = n * n > WALK * len(task.pool)
    if many and len(table.near) > 0:
        for t in range(len(label)):
            label[t] = task.y[order[walk(table.near[t], position) - 1]]
        return
    for t in range(len(label)):
        best[t] = np.inf
    for i in range(n):
        row = order[i]
        if position[table.slot[row]] == i + 1:  # copies of a row change nothing
            found = _distances(task, columns, table, row, room)
            _keep_nearest(found, task.y[row], best, label)


@kernel(glue=True)
def _count_labels(task, columns, table, order, n, position, best, label, confusion, room):
    """Count all columns by the class of their nearest row of a draw, one column after the other."""
    _place(task, table, order, n, position)
    _label_columns(task, columns, table, order, n, position, best, label, room)
    for t in range(len(label)):
        confusion[table.owner[t], label[t]] += 1
    if columns.varying:
        for i in range(n):
            slot = table.slot[order[i]]
            if position[slot] == i + 1:
                t = table.own[order[i]]
                confusion[table.owner[t], label[t]] -= 1
    for i in range(n):
        position[table.slot[order[i]]] = 0


@kernel(borrow=True)
def _fresh_cell(
    task, columns, table, n, repetition, best, label, confusion, places, parts, room, out
):
    order, position = places
    draw(task, n, repetition, order)
    for i in range(len(confusion)):
        for c in range(confusion.shape[1]):
            confusion[i, c] = 0
    if len(table.keys) > 0 and n <= FEW:
        count_by_key(task, columns, table, order[:n], parts, confusion)
    else:
        _count_labels(task, columns, table, order, n, position, best, label, confusion, room)
    _score_sets(confusion, len(columns.lo), out)


@kernel(borrow=True)
def _run(task, columns, table, best, label, confusion, places, parts, room, out):
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            order = places[0]
            _additive_repetition(task, columns, table, r, best, label, confusion, order, room, out)
            continue
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            repetition = task.first + r
            _fresh_cell(
                task,
                columns,
                table,
                n,
                repetition,
                best,
                label,
                confusion,
                places,
                parts,
                room,
                out[i, r],
            )


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
    size = len(columns.rows)
    places = (np.empty(len(task.pool), np.int64), np.zeros(len(task.pool), np.int32))
    confusion = np.empty((columns.lo.size, task.classes), np.int64)
    best, room = np.empty(whole_lanes(size)), np.zeros(whole_lanes(size))
    label = np.empty(size, np.int64)
    parts = parts_of(table.owner, int(task.sizes[-1]))
    _run(task, columns, table, best, label, confusion, places, parts, room, out)
