"""NNC with any number of neighbours, tuned or not: class shares of votes, of whole blocks.

A row that was drawn w times is w neighbours at one distance. Of rows at equal distance the one
drawn first votes first; with fewer rows than neighbours all of them vote.

The classes of the nearest neighbours are written side by side (`voters`), only as many as the
largest number of neighbours needs, and `vote_histogram` counts votes for every number at once. They
come from lists of candidates (`block.Table`) or, along an additive curve, from the lists that it
carries along. Of blocks that are not tuned, which have one number of neighbours, the
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
    Tuned,
    Tuning,
    hold_out_of,
    is_chosen,
    record,
    tune_cell,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, copy, left_out
from lcdb_builders.kernels.neighbours.block import Table, carried_of, restart, take_in
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
from lcdb_builders.kernels.scores.cells import begin_curve, cell_of, take_rows
from lcdb_builders.kernels.scores.metrics import score_probabilities

__all__ = ["votes_block"]

#: Workspace. Of the grid: its ascending `order` (G,), `most` (G,) different numbers of neighbours,
#: `step` (G,) where each value stands among them, whether each is `tried` (G,); `scores` (sets, G,
#: WIDTH). `voters` of a column, and the `tally` of their votes; `index` (columns,) the columns that
#: are polled.
VoteBuffers = namedtuple("VoteBuffers", "order most step tried scores voters tally index")
#: Columns that a cell may be scored or studied on, the `table` of them, and lists that are
#: `carried` along additive curves. `near` are those or the lists of the table.
Study = namedtuple("Study", "columns table carried near")
#: A block: its `task` and `tuning`; what it is scored on, `test`, and where it holds out rows,
#: `study`; `buffers`; the `cell` in hand, which has shares of votes for scores if cells are not
#: tuned, and its `HoldOut`, `held`; what is filled, `tuned`.
Block = namedtuple("Block", "task tuning test study buffers cell held tuned")


def _buffers_of(task: Task, columns: Columns, tuning: Tuning, weight: np.ndarray) -> VoteBuffers:
    """Return room for the cells of a block; `weight` (N,) is that of the cell in hand."""
    values = len(tuning.grid)
    most = min(int(tuning.grid.max()), int(task.sizes[-1]))
    return VoteBuffers(
        order=tuning.grid.argsort(kind="stable"),
        most=np.zeros(values, np.int64),
        step=np.zeros(values, np.int64),
        tried=np.ones(values, bool),
        scores=np.zeros((len(columns.lo), values, WIDTH)),
        voters=voter_buffers(task, most, weight),
        tally=tally_of(task.classes, values, most),
        index=np.arange(len(columns.rows)),
    )


def _study(task: Task, columns: Columns, table: Table, tuning: Tuning, most_bytes: float) -> Study:
    """Carry enough rows that with a fifth held out there are nearly always enough, or none."""
    most = int(tuning.grid.max())
    kept = min(int(1.25 * most + 2.5 * most**0.5), int(task.sizes[-1]))
    additive = task.sampling == ADDITIVE
    carried = carried_of(columns, table, kept if additive else 0, most_bytes)
    near = carried.near if additive else table.near
    return Study(columns=columns, table=table, carried=carried, near=near)


@kernel(glue=True)
def _is_walked(task, study, length, rows, wanted):
    """Whether going down lists costs less than computing distances, where there are lists."""
    listed = min(1.0 * length, len(task.pool) * wanted / len(rows))
    measured = len(rows) * (4.0 + 0.7 * len(study.columns.XT)) + wanted * wanted / 3.0
    fits = task.sampling == ADDITIVE or len(task.pool) <= LARGEST_POOL
    return study.near.size > 0 and listed < measured and fits


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
def _poll(block, study, rows, polled, steps, scores):
    """Let rows vote on columns: score the votes of cells that are tuned, or write their shares.

    Parameters
    ----------
    block
        The block; shares are written to its cell's `F`.
    study
        Columns, and where rows are in lists of them.
    rows
        The distinct rows of the cell that vote.
    polled
        The columns.
    steps
        ``buffers.most[:steps]`` are the numbers of neighbours.
    scores
        (G, WIDTH), of which the first `steps` are written if cells are tuned.
    """
    task, buffers, tunes = block.task, block.buffers, block.tuned.choices.size > 0
    voters, tally, most = buffers.voters, buffers.tally, buffers.most
    wanted = most[steps - 1]
    length = study.near.shape[1]
    if task.sampling == ADDITIVE:
        length = min(block.cell.size[0], length)
    walked = _is_walked(task, study, length, rows, wanted)
    give_votes(task, study.table, rows, voters)
    forget(tally, most, steps)
    for c in range(len(polled.lo)):
        for i in range(polled.lo[c], polled.hi[c]):
            t = polled.index[i]
            if not (walked and vote_in_list(study.near[t], length, voters, most, steps)):
                vote_by_distance(task, study.columns.XT, t, rows, voters, wanted)
            if tunes:
                tally_row(voters.classes, c, most, steps, tally)
            else:
                _share(voters.classes, wanted, i, block.cell.F)
    take_votes(study.table, rows, voters)
    for s in range(steps if tunes else 0):
        score_tally(tally, s, most[s], polled, scores[s])


@kernel(borrow=True)
def _plan_steps(tuning, n, buffers):
    """List the different numbers of neighbours among n rows, ascending; returns how many.

    Only values of the grid that are tried are listed; more neighbours than rows are n.
    """
    steps = 0
    for g in buffers.order:
        if buffers.tried[g]:
            most = min(np.int64(tuning.grid[g]), n)
            if steps == 0 or buffers.most[steps - 1] != most:
                buffers.most[steps] = most
                steps += 1
            buffers.step[g] = steps - 1
    return steps


@kernel(borrow=True)
def _try_grid(block):
    """Score every grid value on the held-out rows; see `tune_cell`."""
    tuning, buffers, held = block.tuning, block.buffers, block.held
    for g in range(len(tuning.grid)):
        buffers.tried[g] = True
    steps = _plan_steps(tuning, held.sizes[FIT_COPIES], buffers)
    index = held.order[: held.sizes[HELD_COPIES]]  # `hold_out` needs it no more
    for t in range(len(index)):
        index[t] = block.study.table.own[held.rows[t]]
    rows, polled = held.fit[: held.sizes[FIT_ROWS]], Polled(index, held.lo, held.hi)
    _poll(block, block.study, rows, polled, steps, buffers.scores[0])
    for g in range(len(tuning.grid)):
        copy(buffers.scores[0, buffers.step[g]], held.scores[g])


@kernel(borrow=True)
def _refit(block, n, out):
    """Score the chosen values on the test sets: every step of a tuned cell, or the one of another.

    ``out`` is (sets, WIDTH), or more.
    """
    tuning, buffers, held, cell = block.tuning, block.buffers, block.held, block.cell
    columns, tunes = block.test.columns, block.tuned.choices.size > 0
    for g in range(len(tuning.grid)):
        buffers.tried[g] = is_chosen(held, g)
    steps = _plan_steps(tuning, n, buffers)
    lo, hi, rows = cell.lo[0], cell.hi[0], cell.distinct[: cell.size[0]]
    if columns.varying:
        left_out(columns, cell.weight, buffers.index, lo, hi)
    for k in range(len(columns.lo)):
        if not columns.varying:
            lo, hi = columns.lo[k], columns.hi[k]
        polled = Polled(buffers.index, lo, hi)
        _poll(block, block.test, rows, polled, steps, buffers.scores[k])
        if not tunes:
            score_probabilities(cell.F, cell.present, lo, hi, cell.room, out[k])
    for g in range(len(tuning.grid) if tunes else 0):
        if buffers.tried[g]:
            for k in range(len(out)):
                copy(buffers.scores[k, buffers.step[g]], held.refit[k])
            record(held, g, out)


@kernel(borrow=True)
def _run(block):
    """Fill the cells of a block."""
    task, test, study, cell = block.task, block.test, block.study, block.cell
    studies = block.tuned.choices.size > 0 and not test.columns.varying
    for r in range(task.stop - task.first):
        repetition = task.first + r
        restart(test.carried)
        restart(study.carried)
        begin_curve(task, repetition, cell)
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            listed = take_rows(task, n, repetition, cell)
            for k in range(listed, n if task.sampling == ADDITIVE else 0):
                take_in(task, test.columns, test.table, cell.order[k], k, test.carried)
                if studies:
                    take_in(task, study.columns, study.table, cell.order[k], k, study.carried)
            tune_cell(block, n, i, r, _try_grid)
            _refit(block, n, block.tuned.values[i, r])


def votes_block(
    task: Task,
    columns: Columns,
    table: Table,
    studied: tuple[Columns, Table] | None,
    tuning: Tuning,
    tuned: Tuned,
    most_bytes: float = np.inf,
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
    most_bytes
        What a table and the lists that are carried beside it may take.
    """
    test = _study(task, columns, table, tuning, most_bytes)
    study = test
    if studied is not None and not columns.varying:
        study = _study(task, *studied, tuning, most_bytes)
    cell = cell_of(task, columns, 0)
    cell.present[:] = True  # all classes have shares
    block = Block(
        task=task,
        tuning=tuning,
        test=test,
        study=study,
        buffers=_buffers_of(task, columns, tuning, cell.weight),
        cell=cell,
        held=hold_out_of(task, columns, tuning),
        tuned=tuned,
    )
    _run(block)
