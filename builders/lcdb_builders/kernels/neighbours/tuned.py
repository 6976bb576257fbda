"""Tuned blocks of NNC: every number of neighbours from one walk over each row's neighbours.

The classes of the nearest neighbours are written side by side (`neighbour_voters`), only as many as
the largest number of neighbours needs, and `neighbour_tally` counts votes. They come from lists of
candidates (`neighbours.Table`) or, along an additive curve, from the lists that it carries along
(`neighbour_carried`). Few rows vote on many test rows at once (`neighbour_few`).
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.holdout import (
    ONE_CLASS_FIT,
    Tuned,
    Tuning,
    choose,
    hold_out,
    hold_out_of,
    is_chosen,
    record,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw, left_out, weigh
from lcdb_builders.kernels.neighbours.block import Table
from lcdb_builders.kernels.neighbours.carried import Carried, carried_of, restart, take_in
from lcdb_builders.kernels.neighbours.few_rows import bits_of, count_few, few_of, tally_few
from lcdb_builders.kernels.neighbours.vote_histogram import forget, score_tally, tally_of, tally_row
from lcdb_builders.kernels.neighbours.voters import (
    LARGEST_POOL,
    arm,
    booth_of,
    disarm,
    vote_by_distance,
    vote_in_list,
)

__all__ = ["carries", "neighbours_tuned"]

# Additive curves carry lists along if they have at least one in so many of all sizes.
SPARSE = 10

#: Workspace. Of the grid: `most` (G,) numbers of neighbours, `first` (G,) where each value stands
#: among them, `wanted` (G,) values to try; `scores` (sets, G, WIDTH). `booth` for rows that vote.
#: Of cells: `order`, `distinct` (pool,), `index` (columns,), `lo`, `hi`, `size` (K,).
Desk = namedtuple(
    "Desk",
    [
        "most",
        "first",
        "wanted",
        "scores",
        "booth",
        "order",
        "distinct",
        "index",
        "lo",
        "hi",
        "size",
    ],
)
#: Where rows are polled: `XT`, `table`, lists of candidates `near` (columns, room) of which the
#: first `length` count, and how many of each are `clear` of ties.
Station = namedtuple("Station", ["XT", "table", "near", "length", "clear"])


def carries(task: Task) -> bool:
    """Return whether lists of nearest rows are carried along the sizes of a task."""
    return task.sampling == ADDITIVE and SPARSE * len(task.sizes) >= task.sizes[-1]


def _most(task: Task, tuning: Tuning) -> int:
    return min(int(tuning.grid.max()), int(task.sizes[-1]))


def _desk(task: Task, columns: Columns, tuning: Tuning) -> Desk:
    classes, slots, values = task.classes, len(task.pool), len(tuning.grid)
    return Desk(
        np.zeros(values, np.int64),
        np.zeros(values, np.int64),
        np.zeros(values, bool),
        np.zeros((len(columns.lo), values, WIDTH)),
        booth_of(task, _most(task, tuning)),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.arange(len(columns.rows)),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
    )


def _carried(task: Task, columns: Columns, table: Table, tuning: Tuning) -> Carried:
    """Return room for enough rows that with a fifth held out there are nearly always enough."""
    most = int(tuning.grid.max())
    kept = min(int(1.25 * most + 2.5 * most**0.5), int(task.sizes[-1]))
    return carried_of(columns, table, kept if carries(task) else 0)


@kernel(borrow=True)
def _poll(task, station, rows, index, lo, hi, steps, desk, tally):
    """Let rows vote on the columns ``index[lo[c]:hi[c]]`` of each class c, and count the votes."""
    near = station.near
    wanted = desk.most[steps - 1]
    # Entries of a list to go down, and what distances cost in the same unit.
    listed = min(1.0 * station.length, len(task.pool) * wanted / len(rows))
    measured = len(rows) * (4.0 + 0.7 * len(station.XT)) + wanted * wanted / 3.0
    walked = len(near) > 0 and listed < measured and len(task.pool) <= LARGEST_POOL
    booth = desk.booth
    forget(tally, desk.most, steps)
    for c in range(len(lo)):
        for i in range(lo[c], hi[c]):
            t = index[i]
            ready = walked and vote_in_list(
                task, near[t], station.length, station.clear[t], booth, desk.most, steps
            )
            if not ready:
                vote_by_distance(task, station.XT, t, rows, booth, wanted)
            tally_row(desk.booth.voters, c, desk.most, steps, tally)


@kernel(glue=True)
def _is_few(station, rows, most, steps, size):
    """Whether counting votes by bisection costs less than going down lists, on so many columns."""
    place = station.table.place
    if len(place) == 0:
        return False
    passes = steps * (bits_of(len(place) + 1) + 2)
    listed = len(place) * most[steps - 1] / len(rows)
    return 0.042 * len(rows) * passes * place.shape[1] + 100.0 * size < listed * size


@kernel(borrow=True)
def _poll_few(task, station, rows, index, lo, hi, steps, desk, few, tally):
    """Do what `_poll` does, by bisection except where lists are tied."""
    table = station.table
    place = table.place
    count_few(task, table, rows, desk.booth.weight, desk.most, steps, few)
    forget(tally, desk.most, steps)
    for c in range(len(lo)):
        for i in range(lo[c], hi[c]):
            t = index[i]
            if few.reach[steps - 1, t] < table.clear[t]:
                tally_few(task, table, t, c, desk.most, steps, few, tally)
            else:
                vote_in_list(task, table.near[t], len(place), 0, desk.booth, desk.most, steps)
                tally_row(desk.booth.voters, c, desk.most, steps, tally)


@kernel(borrow=True)
def _plan_steps(tuning, n, desk):
    """List the different numbers of neighbours among n rows, ascending; returns how many.

    Only wanted values of the grid are listed, which ascends; more neighbours than rows are n.
    """
    steps = 0
    for g in range(len(tuning.grid)):
        if desk.wanted[g]:
            most = min(np.int64(tuning.grid[g]), n)
            if steps == 0 or desk.most[steps - 1] != most:
                desk.most[steps] = most
                steps += 1
            desk.first[g] = steps - 1
    return steps


@kernel(borrow=True)
def _score(lo, hi, steps, desk, tally, scores):
    """Score every step; ``scores`` is (G, WIDTH)."""
    for c in range(len(lo)):
        desk.size[c] = hi[c] - lo[c]
    for s in range(steps):
        score_tally(tally, s, desk.most[s], desk.size, scores[s])


@kernel(borrow=True)
def _try_grid(task, tuning, station, desk, tally, at):
    """Score every grid value on the held-out rows."""
    for g in range(len(tuning.grid)):
        desk.wanted[g] = True
    steps = _plan_steps(tuning, at.sizes[2], desk)
    rows = at.fit[: at.sizes[0]]
    index = at.order[: at.sizes[1]]  # `hold_out` needs it no more
    for t in range(len(index)):
        index[t] = station.table.own[at.held[t]]
    arm(task, station.table, rows, desk.booth)
    _poll(task, station, rows, index, at.lo, at.hi, steps, desk, tally)
    disarm(station.table, rows, desk.booth)
    scores = desk.scores[0]
    _score(at.lo, at.hi, steps, desk, tally, scores)
    for g in range(len(tuning.grid)):
        for m in range(5):
            at.scores[g, m] = scores[desk.first[g], m]


@kernel(borrow=True)
def _refit(task, columns, tuning, station, n, rows, desk, few, tally, at, out):
    """Score the chosen values on the test sets."""
    for g in range(len(tuning.grid)):
        desk.wanted[g] = is_chosen(at, g)
    steps = _plan_steps(tuning, n, desk)
    arm(task, station.table, rows, desk.booth)
    if columns.varying:
        left_out(columns, desk.booth.weight, desk.index, desk.lo, desk.hi)
    for k in range(len(columns.lo)):
        lo = desk.lo if columns.varying else columns.lo[k]
        hi = desk.hi if columns.varying else columns.hi[k]
        size = hi[len(hi) - 1] - lo[0]
        if _is_few(station, rows, desk.most, steps, size):
            _poll_few(task, station, rows, desk.index, lo, hi, steps, desk, few, tally)
        else:
            _poll(task, station, rows, desk.index, lo, hi, steps, desk, tally)
        _score(lo, hi, steps, desk, tally, desk.scores[k])
    disarm(station.table, rows, desk.booth)
    for g in range(len(tuning.grid)):
        if desk.wanted[g]:
            for k in range(len(columns.lo)):
                for m in range(5):
                    at.found[k, m] = desk.scores[k, desk.first[g], m]
            record(at, g, out)


@kernel(glue=True)
def _station(columns, table, carried, held):
    """Where rows are polled after so many have been carried along, if they are."""
    if carried.near.shape[1] > 0:
        length = min(held, carried.near.shape[1])
        return Station(columns.XT, table, carried.near, length, carried.clear)
    return Station(columns.XT, table, table.near, table.near.shape[1], table.clear)


@kernel(borrow=True)
def _run(
    task, columns, table, studied, study, carried, followed, tuning, desk, few, tally, at, tuned
):
    for r in range(task.stop - task.first):
        repetition = task.first + r
        restart(carried)
        restart(followed)
        done = 0
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE or i == 0:
                draw(task, n, repetition, desk.order)
            while carried.near.shape[1] > 0 and done < n:
                take_in(task, columns, table, desk.order[done], done, carried)
                if not columns.varying:
                    take_in(task, studied, study, desk.order[done], done, followed)
                done += 1
            count = weigh(desk.order[:n], desk.booth.weight, desk.distinct)
            rows = desk.distinct[:count]
            flag = hold_out(task, tuning, n, repetition, rows, count, desk.booth.weight, at)
            if flag != ONE_CLASS_FIT:
                _try_grid(task, tuning, _station(studied, study, followed, n), desk, tally, at)
            choose(tuning, flag, at, tuned.choices[i, r], tuned.flags[i, r])
            out = tuned.values[i, r]
            here = _station(columns, table, carried, n)
            _refit(task, columns, tuning, here, n, rows, desk, few, tally, at, out)
            for row in rows:
                desk.booth.weight[row] = 0


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
        Of the columns: lists of candidates, or, if the task `carries` its own, distances.
    studied, study
        Columns of all rows that may be held out, and their table: if the test set varies, the same.
    tuned
        Filled.
    """
    desk, at = _desk(task, columns, tuning), hold_out_of(task, columns, tuning)
    few = few_of(task.classes, len(task.pool), len(columns.rows) if len(table.place) else 0)
    tally = tally_of(task.classes, len(tuning.grid), _most(task, tuning))
    carried = _carried(task, columns, table, tuning)
    followed = carried if columns.varying else _carried(task, studied, study, tuning)
    _run(
        task, columns, table, studied, study, carried, followed, tuning, desk, few, tally, at, tuned
    )
