"""Tuned blocks of NNC: every number of neighbours from one walk over each row's neighbours.

A row's neighbours are met nearest first: down its list of candidates (`neighbours.Table`), or,
where few rows were drawn or there is no room for lists, in order of distances computed for it.
Votes are written down whenever as many have been cast as a value of the grid asks for. Only as many
neighbours are visited as the largest value needs.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.layout import ADDITIVE, Columns, Task, draw, left_out, weigh
from lcdb_builders.kernels.metrics import room, score_probabilities
from lcdb_builders.kernels.neighbours import TIE, Table
from lcdb_builders.kernels.tuning import (
    ONE_CLASS_FIT,
    Tuned,
    Tuning,
    choose,
    hold_out,
    hold_out_of,
    is_chosen,
    record,
)

__all__ = ["neighbours_tuned"]

# Entries of a list that are looked at before anything is counted.
RUN = 16
# Places in a draw take so many bits.
PLACE_BITS = 32

#: Workspace. Of voting: `most` (G,) numbers of neighbours, `first` (G,) where each of the grid
#: stands among them, `votes` (K,), `p` (G, K, columns), `every` (K,) true. Of rows that vote, by
#: their place in the draw, from 1: `label`, `copies` (pool + 1,); `position` (slots,) the place of
#: each slot, 0 for rows that do not vote; `found` (slots + 1,) the nearest places, and their
#: `distance` (largest value,) from `x` (d,). Of cells: `order`, `distinct` (pool,), `weight` (N,),
#: `index` (columns,), `lo`, `hi` (K,).
Desk = namedtuple(
    "Desk",
    [
        "most",
        "first",
        "votes",
        "p",
        "every",
        "label",
        "copies",
        "position",
        "found",
        "distance",
        "x",
        "order",
        "distinct",
        "weight",
        "index",
        "lo",
        "hi",
        "room",
    ],
)


def _desk(task: Task, columns: Columns, tuning: Tuning) -> Desk:
    classes, slots, values = task.classes, len(task.pool), len(tuning.grid)
    rows = max(slots, int(task.sizes[-1]), len(columns.rows))
    kept = min(int(tuning.grid.max()), slots)
    return Desk(
        np.empty(values, np.int64),
        np.empty(values, np.int64),
        np.empty(classes, np.int64),
        np.empty((values, classes, rows)),
        np.ones(classes, bool),
        np.zeros(slots + 1, np.int64),
        np.zeros(slots + 1, np.int64),
        np.zeros(slots, np.int32),
        np.empty(slots + 1, np.int64),
        np.empty(kept),
        np.empty(task.X.shape[1]),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
        np.zeros(len(task.y), np.int64),
        np.arange(len(columns.rows)),
        np.empty(classes, np.int64),
        np.empty(classes, np.int64),
        room(classes, rows),
    )


@kernel(borrow=True)
def _nearest_in_list(near, desk, wanted):
    """Write the places of the nearest rows that vote, nearest first; returns how many.

    At least so many as are wanted, if there are, and with the last one all that are as near.
    """
    found = desk.found
    count = 0
    group = 0
    q = 0
    size = len(near)
    while count < wanted and q < size:
        for i in range(q, min(q + RUN, size)):  # without branches: most rows may not vote
            entry = np.int64(near[i])
            place = desk.position[entry >> 1]
            found[count] = (group << PLACE_BITS) | place
            count += place != 0
            group += 1 - (entry & TIE)
        q = min(q + RUN, size)
    while q < size and near[q - 1] & TIE:
        place = desk.position[near[q] >> 1]
        found[count] = (group << PLACE_BITS) | place
        count += place != 0
        q += 1
    for i in range(1, count):  # equal distances: by the order of draws
        key = found[i]
        at = i
        while at > 0 and found[at - 1] > key:
            found[at] = found[at - 1]
            at -= 1
        found[at] = key
    for i in range(count):
        found[i] &= (1 << PLACE_BITS) - 1
    return count


@kernel(borrow=True)
def _nearest_by_distance(task, x, rows, desk, wanted):
    """Write the places of the nearest rows, by distances computed here; returns how many."""
    kept = min(len(rows), wanted)
    held = 0
    for i in range(len(rows)):
        z = task.X[rows[i]]
        new = 0.0
        for j in range(len(x)):
            new += (z[j] - x[j]) * (z[j] - x[j])
        if held == kept and new >= desk.distance[held - 1]:
            continue
        held = min(held + 1, kept)
        place = held - 1
        while place > 0 and desk.distance[place - 1] > new:
            desk.distance[place] = desk.distance[place - 1]
            desk.found[place] = desk.found[place - 1]
            place -= 1
        desk.distance[place] = new
        desk.found[place] = i + 1
    return held


@kernel(borrow=True)
def _count_votes(desk, count, steps, t):
    """Let the rows found vote on column t, writing votes down at every step."""
    votes = desk.votes
    for k in range(len(votes)):
        votes[k] = 0
    cast = 0
    step = 0
    for i in range(count):
        place = desk.found[i]
        c = desk.label[place]
        left = desk.copies[place]
        while cast + left >= desk.most[step]:
            votes[c] += desk.most[step] - cast
            left -= desk.most[step] - cast
            cast = desk.most[step]
            for k in range(len(votes)):
                desk.p[step, k, t] = votes[k]
            step += 1
            if step == steps:
                return
        votes[c] += left
        cast += left


@kernel(borrow=True)
def _vote(task, table, rows, index, XT, desk, steps):
    """Let ``rows`` vote on the columns ``index`` of a table; fills the first so many columns of p.

    Weights are in the desk, rows in the order of first draws.
    """
    count = len(rows)
    wanted = min(count, desk.most[steps - 1])
    # Entries of a list to go down, and what distances cost in the same unit.
    listed = len(task.pool) * wanted / count
    measured = count * (2.0 + 0.5 * len(XT)) + wanted * wanted / 6.0
    walked = len(table.near) > 0 and listed < measured
    for i in range(count):
        desk.label[i + 1] = task.y[rows[i]]
        desk.copies[i + 1] = desk.weight[rows[i]]
        if walked:
            desk.position[table.slot[rows[i]]] = i + 1
    for t in range(len(index)):
        if walked:
            found = _nearest_in_list(table.near[index[t]], desk, wanted)
        else:
            for j in range(len(XT)):
                desk.x[j] = XT[j, index[t]]
            found = _nearest_by_distance(task, desk.x, rows, desk, wanted)
        _count_votes(desk, found, steps, t)
    for i in range(count if walked else 0):
        desk.position[table.slot[rows[i]]] = 0
    for s in range(steps):
        for k in range(len(desk.votes)):
            p = desk.p[s, k, : len(index)]
            for t in range(len(p)):
                p[t] /= desk.most[s]


@kernel(borrow=True)
def _plan_steps(tuning, n, wanted, desk):
    """List the different numbers of neighbours among n rows, ascending; returns how many.

    Only wanted values of the grid are listed, which ascends; more neighbours than rows are n.
    """
    steps = 0
    for g in range(len(tuning.grid)):
        if wanted[g]:
            most = min(np.int64(tuning.grid[g]), n)
            if steps == 0 or desk.most[steps - 1] != most:
                desk.most[steps] = most
                steps += 1
            desk.first[g] = steps - 1
    return steps


@kernel(borrow=True)
def _try_grid(task, tuning, study, studied, wanted, desk, at):
    """Score every grid value on the held-out rows."""
    for g in range(len(wanted)):
        wanted[g] = True
    steps = _plan_steps(tuning, at.sizes[2], wanted, desk)
    rows = at.fit[: at.sizes[0]]
    index = at.order[: at.sizes[1]]  # `hold_out` needs it no more
    for t in range(len(index)):
        index[t] = study.own[at.held[t]]
    _vote(task, study, rows, index, studied.XT, desk, steps)
    for g in range(len(tuning.grid)):
        s = desk.first[g]
        if g > 0 and desk.first[g - 1] == s:
            for m in range(5):
                at.scores[g, m] = at.scores[g - 1, m]
        else:
            score_probabilities(desk.p[s], desk.every, at.lo, at.hi, desk.room, at.scores[g])


@kernel(borrow=True)
def _refit(task, columns, table, tuning, n, rows, wanted, desk, at, out):
    """Score the chosen values on the test sets."""
    for g in range(len(wanted)):
        wanted[g] = is_chosen(at, g)
    steps = _plan_steps(tuning, n, wanted, desk)
    size = len(desk.index)
    if columns.varying:
        left_out(columns, desk.weight, desk.index, desk.lo, desk.hi)
        size = desk.hi[len(desk.hi) - 1]
    _vote(task, table, rows, desk.index[:size], columns.XT, desk, steps)
    for g in range(len(tuning.grid)):
        if not wanted[g]:
            continue
        p = desk.p[desk.first[g]]
        if columns.varying:
            score_probabilities(p, desk.every, desk.lo, desk.hi, desk.room, at.found[0])
        else:
            for k in range(len(columns.lo)):
                lo, hi = columns.lo[k], columns.hi[k]
                score_probabilities(p, desk.every, lo, hi, desk.room, at.found[k])
        record(at, g, out)


@kernel(borrow=True)
def _run(task, columns, table, studied, study, tuning, wanted, desk, at, tuned):
    for r in range(task.stop - task.first):
        repetition = task.first + r
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE or i == 0:
                draw(task, n, repetition, desk.order)
            count = weigh(desk.order[:n], desk.weight, desk.distinct)
            rows = desk.distinct[:count]
            flag = hold_out(task, tuning, n, repetition, rows, count, desk.weight, at)
            if flag != ONE_CLASS_FIT:
                _try_grid(task, tuning, study, studied, wanted, desk, at)
            choose(tuning, flag, at, tuned.choices[i, r], tuned.flags[i, r])
            out = tuned.values[i, r]
            _refit(task, columns, table, tuning, n, rows, wanted, desk, at, out)
            for row in rows:
                desk.weight[row] = 0


def neighbours_tuned(
    task: Task,
    columns: Columns,
    table: Table,
    studied: Columns,
    study: Table,
    tuning: Tuning,
    tuned: Tuned,
) -> None:
    """Fill the cells of a tuned block.

    Parameters
    ----------
    task, columns, tuning
        Cells, where they are scored, and what is chosen from what.
    table
        Lists of candidates of the columns.
    studied, study
        Columns of all rows that may be held out, and their lists.
    tuned
        Filled.
    """
    wanted, desk = np.empty(len(tuning.grid), bool), _desk(task, columns, tuning)
    at = hold_out_of(task, columns, tuning)
    _run(task, columns, table, studied, study, tuning, wanted, desk, at, tuned)
