"""NNC with any number of neighbours, tuned or not: class shares of votes, of whole blocks.

A row that was drawn w times is w neighbours at one distance. Of rows at equal distance the one
drawn first votes first; with fewer rows than neighbours all of them vote.

The classes of the nearest neighbours are written side by side (`voters`), only as many as the
largest number of neighbours needs, and `vote_histogram` counts votes for every number at once. They
come from lists of candidates (`block.Table`) or, along an additive curve, from the lists that it
carries along (`carried`). Of blocks that are not tuned, which have one number of neighbours, the
class shares are scored row by row.
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
from lcdb_builders.kernels.neighbours.carried import carried_of, restart, take_in
from lcdb_builders.kernels.neighbours.vote_histogram import (
    Polled,
    forget,
    score_tally,
    tally_of,
    tally_row,
)
from lcdb_builders.kernels.neighbours.voters import (
    LARGEST_POOL,
    give_votes,
    take_votes,
    vote_by_distance,
    vote_in_list,
    voter_buffers,
)
from lcdb_builders.kernels.scores.metrics import room, score_probabilities

__all__ = ["votes_block"]

#: Workspace. Whether cells are tuned: `tunes`. Of the grid: `most` (G,) different numbers of
#: neighbours, `step` (G,) where each value stands among them, `wanted` (G,) values to try; `scores`
#: (sets, G, WIDTH). `voters` of a column, and the `tally` of their votes. Of cells: `order`,
#: `distinct` (pool,), `index` (columns,), `lo`, `hi` (K,). Of cells that are not tuned: `P`
#: (K, columns) shares of votes, `every` (K,) true and `room` to score them.
VoteBuffers = namedtuple(
    "VoteBuffers",
    "tunes most step wanted scores voters tally order distinct index lo hi P every room",
)
#: Columns that a cell may be scored or studied on, the `table` of them, and lists that are
#: `carried` along additive curves. `near` are those or the lists of the table.
Study = namedtuple("Study", "columns table carried near")


def _buffers_of(task: Task, columns: Columns, tunes: bool, tuning: Tuning) -> VoteBuffers:
    classes, slots, values = task.classes, len(task.pool), len(tuning.grid)
    most = min(int(tuning.grid.max()), int(task.sizes[-1]))
    shared = 0 if tunes else len(columns.rows)
    return VoteBuffers(
        tunes=tunes,
        most=np.zeros(values, np.int64),
        step=np.zeros(values, np.int64),
        wanted=np.ones(values, bool),
        scores=np.zeros((len(columns.lo), values, WIDTH)),
        voters=voter_buffers(task, most),
        tally=tally_of(classes, values, most),
        order=np.zeros(slots, np.int64),
        distinct=np.zeros(slots, np.int64),
        index=np.arange(len(columns.rows)),
        lo=np.zeros(classes, np.int64),
        hi=np.zeros(classes, np.int64),
        P=np.empty((classes, shared)),
        every=np.ones(classes, bool),
        room=room(classes, shared),
    )


def _study(task: Task, columns: Columns, table: Table, tuning: Tuning) -> Study:
    """Carry enough rows that with a fifth held out there are nearly always enough."""
    most = int(tuning.grid.max())
    kept = min(int(1.25 * most + 2.5 * most**0.5), int(task.sizes[-1]))
    additive = task.sampling == ADDITIVE
    carried = carried_of(columns, table, kept if additive else 0)
    return Study(columns, table, carried, carried.near if additive else table.near)


@kernel(glue=True)
def _is_walked(task, study, length, rows, wanted):
    """Whether going down lists costs less than computing distances, where there are lists."""
    listed = min(1.0 * length, len(task.pool) * wanted / len(rows))
    measured = len(rows) * (4.0 + 0.7 * len(study.columns.XT)) + wanted * wanted / 3.0
    return len(study.near) > 0 and listed < measured and len(task.pool) <= LARGEST_POOL


@kernel(glue=True)
def _share(classes, most, i, P):
    """Write the shares of the first votes as column i."""
    for c in range(len(P)):
        P[c, i] = 0.0
    for v in range(most):
        P[classes[v], i] += 1.0
    for c in range(len(P)):
        P[c, i] /= most


@kernel(borrow=True)
def _poll(task, study, n, rows, polled, steps, buffers, scores):
    """Let rows vote on columns: score the votes of cells that are tuned, or write their shares.

    Parameters
    ----------
    task, study
        Where rows are, and lists of them.
    n, rows
        The cell, and its distinct rows that vote.
    polled
        The columns.
    steps
        ``buffers.most[:steps]`` are the numbers of neighbours.
    buffers
        Its `P` is written if cells are not tuned.
    scores
        (G, WIDTH), of which the first `steps` are written if cells are tuned.
    """
    voters, tally, most = buffers.voters, buffers.tally, buffers.most
    wanted = most[steps - 1]
    length = study.near.shape[1]
    if task.sampling == ADDITIVE:
        length = min(n, length)
    walked = _is_walked(task, study, length, rows, wanted)
    give_votes(task, study.table, rows, voters)
    forget(tally, most, steps)
    for c in range(len(polled.lo)):
        for i in range(polled.lo[c], polled.hi[c]):
            t = polled.index[i]
            if not (walked and vote_in_list(study.near[t], length, voters, most, steps)):
                vote_by_distance(task, study.columns.XT, t, rows, voters, wanted)
            if buffers.tunes:
                tally_row(voters.classes, c, most, steps, tally)
            else:
                _share(voters.classes, wanted, i, buffers.P)
    take_votes(study.table, rows, voters)
    for s in range(steps if buffers.tunes else 0):
        score_tally(tally, s, most[s], polled, scores[s])


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
def _try_grid(task, tuning, study, n, buffers, cell):
    """Score every grid value on the held-out rows."""
    for g in range(len(tuning.grid)):
        buffers.wanted[g] = True
    steps = _plan_steps(tuning, cell.sizes[FIT_COPIES], buffers)
    rows = cell.fit[: cell.sizes[FIT_ROWS]]
    index = cell.order[: cell.sizes[HELD_COPIES]]  # `hold_out` needs it no more
    for t in range(len(index)):
        index[t] = study.table.own[cell.held[t]]
    polled, scores = Polled(index, cell.lo, cell.hi), buffers.scores[0]
    _poll(task, study, n, rows, polled, steps, buffers, scores)
    for g in range(len(tuning.grid)):
        for m in range(WIDTH):
            cell.scores[g, m] = scores[buffers.step[g], m]


@kernel(borrow=True)
def _vote_on_tests(task, test, n, rows, steps, buffers, out):
    """Score votes on the test sets: every step of a tuned cell, or the one of another into `out`.

    ``out`` is (sets, WIDTH), or more; the rest is as for `_poll`.
    """
    columns = test.columns
    if columns.varying:
        left_out(columns, buffers.voters.weight, buffers.index, buffers.lo, buffers.hi)
    for k in range(len(columns.lo)):
        lo = buffers.lo if columns.varying else columns.lo[k]
        hi = buffers.hi if columns.varying else columns.hi[k]
        polled = Polled(buffers.index, lo, hi)
        _poll(task, test, n, rows, polled, steps, buffers, buffers.scores[k])
        if not buffers.tunes:
            score_probabilities(buffers.P, buffers.every, lo, hi, buffers.room, out[k])


@kernel(glue=True)
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
    for g in range(len(tuning.grid)):
        buffers.wanted[g] = is_chosen(cell, g)
    _vote_on_tests(task, test, n, rows, _plan_steps(tuning, n, buffers), buffers, out)
    for g in range(len(tuning.grid)):
        if buffers.wanted[g]:
            for k in range(len(out)):
                for m in range(WIDTH):
                    cell.refit[k, m] = buffers.scores[k, buffers.step[g], m]
            record(cell, g, out)


@kernel(borrow=True)
def _run(task, tuning, test, study, buffers, cell, tuned):
    """Fill the cells of a block: `buffers` and `cell` are workspace, the rest as of `votes_block`.

    They are scored on `test`, and hold out rows of `study`.
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
            while task.sampling == ADDITIVE and done < n:
                row = buffers.order[done]
                take_in(task, test.columns, test.table, row, done, test.carried)
                if buffers.tunes and not test.columns.varying:
                    take_in(task, study.columns, study.table, row, done, study.carried)
                done += 1
            count = weigh(buffers.order[:n], weight, buffers.distinct)
            rows = buffers.distinct[:count]
            if buffers.tunes:
                flag = hold_out(task, tuning, n, repetition, rows, count, weight, cell)
                if flag != ONE_CLASS_FIT:
                    _try_grid(task, tuning, study, n, buffers, cell)
                choose(tuning, flag, cell, tuned.choices[i, r], tuned.flags[i, r])
                _refit(task, tuning, test, n, rows, buffers, cell, tuned.values[i, r])
            else:
                steps = _plan_steps(tuning, n, buffers)
                _vote_on_tests(task, test, n, rows, steps, buffers, tuned.values[i, r])
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
        Of the columns.
    studied
        Columns of all rows that may be held out, and their table: if the test set varies, the same.
        None for a block that is not tuned, which has a grid of one value.
    tuned
        Filled.
    """
    test = _study(task, columns, table, tuning)
    study = test
    if studied is not None and not columns.varying:
        study = _study(task, *studied, tuning)
    buffers = _buffers_of(task, columns, studied is not None, tuning)
    cell = hold_out_of(task, columns, tuning)
    _run(task, tuning, test, study, buffers, cell, tuned)
