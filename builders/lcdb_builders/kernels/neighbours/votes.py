"""NNC with any number of neighbours, of whole blocks: class shares of votes.

A row that was drawn w times is w neighbours at one distance. Of rows at equal distance the one
drawn first votes first; with fewer rows than neighbours all of them vote.

Along additive sampling every column keeps its nearest rows in order. Fresh draws walk down each
column's list of candidates (`neighbours.Table`), one group of equal distances after the other.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw, gather, left_out
from lcdb_builders.kernels.neighbours.block import TIE, Table, distances_to
from lcdb_builders.kernels.scores.metrics import room, score_probabilities

__all__ = ["votes_block"]

#: Workspace: `distance`, `voter` (columns, neighbours) the nearest rows of each column and their
#: classes, `limit` (columns,) the distance that a row must beat; `votes`, `p`, `packed`
#: (K, columns); `every` (K,) true; `found` (columns,) distances; `order`, `weight` (N,), `position`
#: (slots,) of draws; `group` (slots,) a group of equal distances; `index`, `lo`, `hi` of what a
#: draw has left out.
Desk = namedtuple(
    "Desk",
    [
        "distance",
        "voter",
        "limit",
        "votes",
        "p",
        "packed",
        "every",
        "found",
        "order",
        "weight",
        "position",
        "group",
        "index",
        "lo",
        "hi",
        "room",
    ],
)


def _desk(task: Task, columns: Columns, neighbours: int) -> Desk:
    size, classes, slots = len(columns.rows), task.classes, len(task.pool)
    kept = min(neighbours, int(task.sizes[-1]))
    return Desk(
        np.empty((size, kept)),
        np.empty((size, kept), np.int64),
        np.empty(size),
        np.empty((classes, size)),
        np.empty((classes, size)),
        np.empty((classes, size if columns.varying else 0)),
        np.ones(classes, bool),
        np.empty(size),
        np.empty(slots, np.int64),
        np.zeros(len(task.y), np.int64),
        np.zeros(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty(size, np.int64),
        np.empty(classes, np.int64),
        np.empty(classes, np.int64),
        room(classes, size),
    )


@kernel(borrow=True)
def _forget(desk):
    """Return to a training set of no rows."""
    for c in range(len(desk.votes)):
        for t in range(len(desk.limit)):
            desk.votes[c, t] = 0.0
    for t in range(len(desk.limit)):
        desk.limit[t] = np.inf
    for i in range(len(desk.weight)):
        desk.weight[i] = 0


@kernel(borrow=True)
def _insert(desk, c, held):
    """Insert a row of class c, at distances ``desk.found``, where it is among the nearest."""
    kept = desk.distance.shape[1]
    full = held == kept
    for t in range(len(desk.limit)):
        new = desk.found[t]
        if new >= desk.limit[t]:
            continue
        distance = desk.distance[t]
        voter = desk.voter[t]
        place = held
        if full:
            place = kept - 1
            desk.votes[voter[place], t] -= 1.0
        while place > 0 and distance[place - 1] > new:
            distance[place] = distance[place - 1]
            voter[place] = voter[place - 1]
            place -= 1
        distance[place] = new
        voter[place] = c
        desk.votes[c, t] += 1.0
        if held >= kept - 1:
            desk.limit[t] = distance[kept - 1]


@kernel(glue=True)
def _measure(task, columns, table, row, found):
    """Write the distances of all columns to a row, from the table or anew."""
    if len(table.distance) == 0:
        distances_to(task.X[row], columns.XT, found)
    else:
        known = table.distance[table.slot[row]]
        for t in range(len(found)):
            found[t] = known[t]


@kernel(borrow=True)
def _score(columns, voters, desk, out):
    """Score the votes of so many voters per column; ``out`` is (sets, WIDTH)."""
    p = desk.p
    for c in range(len(p)):
        for t in range(p.shape[1]):
            p[c, t] = desk.votes[c, t] / voters
    if columns.varying:
        left_out(columns, desk.weight, desk.index, desk.lo, desk.hi)
        gather(p, desk.every, desk.index, desk.hi[len(p) - 1], desk.packed)
        score_probabilities(desk.packed, desk.every, desk.lo, desk.hi, desk.room, out[0])
        return
    for k in range(len(columns.lo)):
        score_probabilities(p, desk.every, columns.lo[k], columns.hi[k], desk.room, out[k])


@kernel(borrow=True)
def _grow(task, columns, table, first, stop, held, desk):
    """Add the rows ``desk.order[first:stop]`` one by one; returns how many voters there are."""
    kept = desk.distance.shape[1]
    for i in range(first, stop):
        row = desk.order[i]
        _measure(task, columns, table, row, desk.found)
        _insert(desk, task.y[row], held)
        held = min(held + 1, kept)
        desk.weight[row] += 1
    return held


@kernel(borrow=True)
def _vote_from_group(task, desk, group, count, left, t):
    """Let the first-drawn rows of a group of equal distances cast what votes are left."""
    total = 0
    for i in range(count):
        total += desk.weight[desk.order[desk.position[group[i]] - 1]]
    for i in range(1, count if total > left else 0):  # the order matters where it is cut
        slot = group[i]
        place = i
        while place > 0 and desk.position[group[place - 1]] > desk.position[slot]:
            group[place] = group[place - 1]
            place -= 1
        group[place] = slot
    for i in range(count):
        row = desk.order[desk.position[group[i]] - 1]
        cast = min(desk.weight[row], left)
        desk.votes[task.y[row], t] += cast
        left -= cast
    return left


@kernel(borrow=True)
def _walk_columns(task, table, voters, desk):
    """Let the nearest rows of a draw vote on every column."""
    group = desk.group
    for t in range(len(table.near)):
        near = table.near[t]
        left = voters
        q = 0
        while left > 0:
            count = 0
            more = True
            while more:
                slot = near[q] >> 1
                if desk.position[slot] != 0:
                    group[count] = slot
                    count += 1
                more = (near[q] & TIE) != 0
                q += 1
            left = _vote_from_group(task, desk, group, count, left, t)


@kernel(borrow=True)
def _fresh_cell(task, columns, table, n, repetition, desk, out):
    draw(task, n, repetition, desk.order)
    _forget(desk)
    if len(table.near) == 0:
        voters = _grow_in_copies(task, columns, table, n, desk)
    else:
        voters = min(n, desk.distance.shape[1])
        for i in range(n - 1, -1, -1):
            desk.position[table.slot[desk.order[i]]] = i + 1
            desk.weight[desk.order[i]] += 1
        _walk_columns(task, table, voters, desk)
        for i in range(n):
            desk.position[table.slot[desk.order[i]]] = 0
    _score(columns, voters, desk, out)


@kernel(borrow=True)
def _grow_in_copies(task, columns, table, n, desk):
    """Add a draw row by row, all copies of a row when it was drawn first."""
    kept = desk.distance.shape[1]
    held = 0
    for i in range(n):
        desk.weight[desk.order[i]] += 1
    for i in range(n):
        row = desk.order[i]
        if desk.weight[row] < 0:
            continue
        _measure(task, columns, table, row, desk.found)
        for _ in range(min(desk.weight[row], kept)):
            _insert(desk, task.y[row], held)
            held = min(held + 1, kept)
        desk.weight[row] = -desk.weight[row]
    return held


@kernel(borrow=True)
def _run(task, columns, table, desk, out):
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            draw(task, 0, task.first + r, desk.order)
            _forget(desk)
            held = 0
            done = 0
            for i in range(len(task.sizes)):
                held = _grow(task, columns, table, done, task.sizes[i], held, desk)
                done = task.sizes[i]
                _score(columns, held, desk, out[i, r])
            continue
        for i in range(len(task.sizes)):
            _fresh_cell(task, columns, table, task.sizes[i], task.first + r, desk, out[i, r])


def votes_block(
    neighbours: int, task: Task, columns: Columns, table: Table, out: np.ndarray
) -> None:
    """Score the cells of a block by the votes of their nearest neighbours.

    Parameters
    ----------
    neighbours
        k.
    task, columns, table, out
        As for `lcdb_builders.kernels.neighbours.block.nearest_block`.
    """
    _run(task, columns, table, _desk(task, columns, neighbours), out)
