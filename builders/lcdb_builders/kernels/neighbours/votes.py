"""NNC with any number of neighbours, tuned or not: class shares of votes, of whole blocks.

A row that was drawn w times is w neighbours at one distance. Of rows at equal distance the one
drawn first votes first; with fewer rows than neighbours all of them vote.

The classes of the nearest neighbours are written side by side (`voters`), only as many as the
largest number of neighbours needs, and `vote_histogram` counts votes for every number at once. They
come from lists of candidates (`block.Table`) or, along an additive curve, from the lists that it
carries along (`carried`). The class shares of one number of neighbours, of blocks that are not
tuned, are scored row by row.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.holdout import (
    FIT_COPIES,
    FIT_ROWS,
    HELD_COPIES,
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
from lcdb_builders.kernels.neighbours.vote_histogram import forget, score_tally, tally_of, tally_row
from lcdb_builders.kernels.neighbours.voters import (
    LARGEST_POOL,
    give_votes,
    take_votes,
    vote_by_distance,
    vote_in_list,
    voter_buffers,
)
from lcdb_builders.kernels.scores.metrics import room, score_probabilities

__all__ = ["Study", "carries", "votes_block"]

# Additive curves carry lists along if they have at least one in so many of all sizes.
SPARSE = 10

#: Workspace. Of the grid: `most` (G,) different numbers of neighbours, `step` (G,) where each value
#: stands among them, `wanted` (G,) values to try; `scores` (sets, G, WIDTH). `voters` of a column,
#: and the `tally` of their votes. Of cells: `order`, `distinct` (pool,), `index` (columns,), `lo`,
#: `hi`, `size` (K,); `P` (K, columns) shares of votes, `every` (K,) true and `room` to score them.
VoteBuffers = namedtuple(
    "VoteBuffers",
    "most step wanted scores voters tally order distinct index lo hi size P every room",
)
#: Columns that a cell may be scored or studied on, and the `table` of them; `carried` lists, of no
#: length if none are.
Study = namedtuple("Study", ["columns", "table", "carried"])
#: Lists of candidates `near` (columns, room) of which the first `length` count, and how many of
#: each are `clear` of ties.
Lists = namedtuple("Lists", ["near", "length", "clear"])
#: Columns by class: those of class c are ``index[lo[c]:hi[c]]``.
Polled = namedtuple("Polled", ["index", "lo", "hi"])


def carries(task: Task) -> bool:
    """Return whether lists of nearest rows are carried along the sizes of a task."""
    return task.sampling == ADDITIVE and SPARSE * len(task.sizes) >= task.sizes[-1]


def _buffers_of(task: Task, columns: Columns, tuning: Tuning) -> VoteBuffers:
    classes, slots, values = task.classes, len(task.pool), len(tuning.grid)
    most = min(int(tuning.grid.max()), int(task.sizes[-1]))
    return VoteBuffers(
        most=np.zeros(values, np.int64),
        step=np.zeros(values, np.int64),
        wanted=np.zeros(values, bool),
        scores=np.zeros((len(columns.lo), values, WIDTH)),
        voters=voter_buffers(task, most),
        tally=tally_of(classes, values, most),
        order=np.zeros(slots, np.int64),
        distinct=np.zeros(slots, np.int64),
        index=np.arange(len(columns.rows)),
        lo=np.zeros(classes, np.int64),
        hi=np.zeros(classes, np.int64),
        size=np.zeros(classes, np.int64),
        P=np.empty((classes, len(columns.rows))),
        every=np.ones(classes, bool),
        room=room(classes, len(columns.rows)),
    )


def _carried(task: Task, columns: Columns, table: Table, tuning: Tuning) -> Carried:
    """Return room for enough rows that with a fifth held out there are nearly always enough."""
    most = int(tuning.grid.max())
    kept = min(int(1.25 * most + 2.5 * most**0.5), int(task.sizes[-1]))
    return carried_of(columns, table, kept if carries(task) else 0)


@kernel(glue=True)
def _is_walked(task, study, lists, rows, wanted):
    """Whether going down lists costs less than computing distances, where there are lists."""
    listed = min(1.0 * lists.length, len(task.pool) * wanted / len(rows))
    measured = len(rows) * (4.0 + 0.7 * len(study.columns.XT)) + wanted * wanted / 3.0
    return len(lists.near) > 0 and listed < measured and len(task.pool) <= LARGEST_POOL


@kernel(glue=True)
def _name_voters(task, study, lists, rows, walked, t, steps, buffers):
    """Write the classes of the rows nearest to column t.

    Parameters
    ----------
    task, study, lists
        Where rows are, and lists of them.
    rows, walked
        Distinct rows that vote, and what `_is_walked` says of them.
    t
        The column.
    steps
        ``buffers.most[:steps]`` are the numbers of neighbours.
    buffers
        Rows have been given their votes; ``voters.classes`` is written.
    """
    voters, most = buffers.voters, buffers.most
    ready = walked and vote_in_list(
        task, lists.near[t], lists.length, lists.clear[t], voters, most, steps
    )
    if not ready:
        vote_by_distance(task, study.columns.XT, t, rows, voters, most[steps - 1])


@kernel(borrow=True)
def _poll(task, study, lists, rows, polled, steps, buffers):
    """Let rows vote on `polled` columns and count the votes; the rest as for `_name_voters`."""
    tally, most = buffers.tally, buffers.most
    walked = _is_walked(task, study, lists, rows, most[steps - 1])
    forget(tally, most, steps)
    for c in range(len(polled.lo)):
        for i in range(polled.lo[c], polled.hi[c]):
            _name_voters(task, study, lists, rows, walked, polled.index[i], steps, buffers)
            tally_row(buffers.voters.classes, c, most, steps, tally)


@kernel(borrow=True)
def _plan_steps(tuning, n, buffers):
    """List the different numbers of neighbours among n rows, ascending; returns how many.

    Only wanted values of the grid are listed, which ascends; more neighbours than rows are n.
    """
    steps = 0
    for g in range(len(tuning.grid)):
        if buffers.wanted[g]:
            most = min(np.int64(tuning.grid[g]), n)
            if steps == 0 or buffers.most[steps - 1] != most:
                buffers.most[steps] = most
                steps += 1
            buffers.step[g] = steps - 1
    return steps


@kernel(borrow=True)
def _score(polled, steps, buffers, scores):
    """Score every step; ``scores`` is (G, WIDTH)."""
    for c in range(len(polled.lo)):
        buffers.size[c] = polled.hi[c] - polled.lo[c]
    for s in range(steps):
        score_tally(buffers.tally, s, buffers.most[s], buffers.size, scores[s])


@kernel(glue=True)
def _lists(study, held):
    """Return lists of candidates after so many rows have been carried along, if they are."""
    carried, near = study.carried, study.table.near
    if carried.near.shape[1] > 0:
        return Lists(carried.near, min(held, carried.near.shape[1]), carried.clear)
    return Lists(near, near.shape[1], study.table.clear)


@kernel(borrow=True)
def _try_grid(task, tuning, study, n, buffers, cell):
    """Score every grid value on the held-out rows."""
    for g in range(len(tuning.grid)):
        buffers.wanted[g] = True
    steps = _plan_steps(tuning, cell.sizes[FIT_COPIES], buffers)
    rows = cell.fit[: cell.sizes[FIT_ROWS]]
    index = cell.order[: cell.sizes[HELD_COPIES]]  # `hold_out` needs it no more
    for t in range(len(index)):
        index[t] = study.table.own[cell.held[t]]
    polled = Polled(index, cell.lo, cell.hi)
    give_votes(task, study.table, rows, buffers.voters)
    _poll(task, study, _lists(study, n), rows, polled, steps, buffers)
    take_votes(study.table, rows, buffers.voters)
    scores = buffers.scores[0]
    _score(polled, steps, buffers, scores)
    for g in range(len(tuning.grid)):
        for m in range(WIDTH):
            cell.scores[g, m] = scores[buffers.step[g], m]


@kernel(borrow=True)
def _refit(task, tuning, test, n, rows, buffers, cell, out):
    """Score the chosen values on the test sets.

    Parameters
    ----------
    task, tuning, test
        Of the block.
    n, rows
        The cell, and its distinct rows.
    buffers, cell
        Workspace, and what was chosen.
    out
        (sets, WIDTH), filled.
    """
    columns = test.columns
    for g in range(len(tuning.grid)):
        buffers.wanted[g] = is_chosen(cell, g)
    steps = _plan_steps(tuning, n, buffers)
    give_votes(task, test.table, rows, buffers.voters)
    if columns.varying:
        left_out(columns, buffers.voters.weight, buffers.index, buffers.lo, buffers.hi)
    for k in range(len(columns.lo)):
        lo = buffers.lo if columns.varying else columns.lo[k]
        hi = buffers.hi if columns.varying else columns.hi[k]
        polled = Polled(buffers.index, lo, hi)
        _poll(task, test, _lists(test, n), rows, polled, steps, buffers)
        _score(polled, steps, buffers, buffers.scores[k])
    take_votes(test.table, rows, buffers.voters)
    for g in range(len(tuning.grid)):
        if buffers.wanted[g]:
            for k in range(len(columns.lo)):
                for m in range(WIDTH):
                    cell.refit[k, m] = buffers.scores[k, buffers.step[g], m]
            record(cell, g, out)


@kernel(borrow=True)
def _share(task, test, n, rows, wanted, buffers, out):
    """Score the shares of one number of votes on the test sets, row by row.

    Parameters
    ----------
    task, test
        Of the block.
    n, rows
        The cell, and its distinct rows.
    wanted
        How many neighbours vote.
    buffers
        Workspace.
    out
        (sets, WIDTH or more), filled.
    """
    columns, lists, P = test.columns, _lists(test, n), buffers.P
    buffers.most[0] = min(wanted, n)
    give_votes(task, test.table, rows, buffers.voters)
    if columns.varying:
        left_out(columns, buffers.voters.weight, buffers.index, buffers.lo, buffers.hi)
    count = buffers.hi[len(P) - 1] if columns.varying else len(buffers.index)
    walked = _is_walked(task, test, lists, rows, buffers.most[0])
    for i in range(count):
        _name_voters(task, test, lists, rows, walked, buffers.index[i], 1, buffers)
        for c in range(len(P)):
            P[c, i] = 0.0
        for v in range(buffers.most[0]):
            P[buffers.voters.classes[v], i] += 1.0
        for c in range(len(P)):
            P[c, i] /= buffers.most[0]
    take_votes(test.table, rows, buffers.voters)
    for k in range(len(columns.lo)):
        lo = buffers.lo if columns.varying else columns.lo[k]
        hi = buffers.hi if columns.varying else columns.hi[k]
        score_probabilities(P, buffers.every, lo, hi, buffers.room, out[k])


@kernel(borrow=True)
def _run(task, tunes, tuning, test, study, buffers, cell, tuned):
    """Fill the cells of a block.

    Parameters
    ----------
    task, tunes, tuning
        Cells, whether they choose, and from what.
    test, study
        What they are scored on, and what they hold out rows of.
    buffers, cell
        Workspace.
    tuned
        Filled.
    """
    weight = buffers.voters.weight
    for r in range(task.stop - task.first):
        repetition = task.first + r
        restart(test.carried)
        restart(study.carried)
        done = 0
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE or i == 0:
                draw(task, n, repetition, buffers.order)
            while test.carried.near.shape[1] > 0 and done < n:
                row = buffers.order[done]
                take_in(task, test.columns, test.table, row, done, test.carried)
                if tunes and not test.columns.varying:
                    take_in(task, study.columns, study.table, row, done, study.carried)
                done += 1
            count = weigh(buffers.order[:n], weight, buffers.distinct)
            rows = buffers.distinct[:count]
            if tunes:
                flag = hold_out(task, tuning, n, repetition, rows, count, weight, cell)
                if flag != ONE_CLASS_FIT:
                    _try_grid(task, tuning, study, n, buffers, cell)
                choose(tuning, flag, cell, tuned.choices[i, r], tuned.flags[i, r])
                _refit(task, tuning, test, n, rows, buffers, cell, tuned.values[i, r])
            else:
                _share(task, test, n, rows, np.int64(tuning.grid[0]), buffers, tuned.values[i, r])
            for row in rows:
                weight[row] = 0


def votes_block(
    task: Task,
    columns: Columns,
    table: Table,
    studied: tuple[Columns, Table] | None,
    tuning: Tuning,
    tuned: Tuned,
) -> None:
    """Fill the cells of a block.

    Parameters
    ----------
    task, columns, tuning
        Cells, where they are scored, and what is chosen from what.
    table
        Of the columns: lists of candidates, or, if the task `carries` its own, distances.
    studied
        Columns of all rows that may be held out, and their table: if the test set varies, the same.
        None for a block that is not tuned, which has a grid of one value.
    tuned
        Filled.
    """
    test = Study(columns, table, _carried(task, columns, table, tuning))
    study = test
    if studied is not None and not columns.varying:
        study = Study(*studied, _carried(task, *studied, tuning))
    buffers, cell = _buffers_of(task, columns, tuning), hold_out_of(task, columns, tuning)
    _run(task, studied is not None, tuning, test, study, buffers, cell, tuned)
