"""Whole blocks of LREG and LSVC: cells in, metrics out; tuned along the path of penalties.

Features come centred and scaled by constants of the dataset
(`lcdb_builders.kernels.linear.coordinates`), and the penalty is the matrix
that means the same model there.

Every fit of a block that is not tuned starts from the model of the whole pool (`STEEP` from 0),
along additive curves too, so that a cell's numbers do not depend on which other cells are computed
with it: not even the last bit, by which rows of few distinct values tie or do not.

Tuned cells have a path from strong to weak penalties, on which every fit starts from the one
before, and LREG's from the fourth on where the last three point to. Paths start from the model of
the whole pool (LREG) or from 0 (LSVC), and refits from the path's own models.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    FIT_ROWS,
    HELD_COPIES,
    is_chosen,
    record,
    take_held,
    tune_cell,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, copy
from lcdb_builders.kernels.linear.hinge import forget
from lcdb_builders.kernels.linear.logistic import TOLERANCE
from lcdb_builders.kernels.linear.models import (
    LREG,
    LSVC,
    STEEP,
    copy_rows,
    decide_columns,
    fit,
    models_of,
    set_price,
)
from lcdb_builders.kernels.scores.cells import begin_curve, cell_of, linear_scores
from lcdb_builders.kernels.scores.one_vs_rest import (
    count_part,
    fitted_classes,
    part_of,
    score_decided,
    score_side_by_side,
    take_classes,
)

__all__ = ["LREG", "LSVC", "STEEP", "linear_block"]

# Steps converge quadratically: after the last one, a path of LREG is as good as `TOLERANCE` asks.
PATH_TOLERANCE = 1e-9

#: What fits start from: `theta` (G, K, d + 1) by grid value, and of paths, `start` (K, d + 1). The
#: `part` of a cell that a path is fitted to and scored on, and the held-out rows `XT` (d, rows).
Path = namedtuple("Path", "theta start part XT")
#: A block of a `kind` of models: its `task`, the `columns` to score on and its `tuning`; the `cell`
#: in hand, its `HoldOut`, `held`, its `models` and the `path` to them; what is filled, `tuned` and
#: `decisions`.
Block = namedtuple("Block", "kind task columns tuning cell held models path tuned decisions")


@kernel(glue=True)
def _extrapolate(paths, g, step, c, theta):
    """Start from where the last models of a path point to.

    Along equal steps of the logarithm models of separable rows change by almost the same, and
    others by ever less: the last change is continued by its ratio to the one before.
    """
    last, before, first = paths[g - step, c], paths[g - 2 * step, c], paths[g - 3 * step, c]
    change = 0.0
    change_before = 0.0
    for j in range(len(theta)):
        change += (last[j] - before[j]) ** 2
        change_before += (before[j] - first[j]) ** 2
    ratio = min(1.0, np.sqrt(change / change_before)) if change_before > 0.0 else 0.0
    for j in range(len(theta)):
        theta[j] = last[j] + ratio * (last[j] - before[j])


@kernel(borrow=True)
def _follow(block, c, n):
    """Fit a class to the rows in hand with every value of the grid, from strong to weak."""
    kind, grid, models, path = block.kind, block.tuning.grid, block.models, block.path
    step = -1 if kind == LREG else 1
    first = len(grid) - 1 if kind == LREG else 0
    theta = models.theta[c]
    copy(path.start[c], theta)
    forget(models.carried, c)
    for i in range(len(grid)):
        g = first + i * step
        if kind == LREG and i > 2:
            _extrapolate(path.theta, g, step, c, theta)
        set_price(kind, models, grid[g])
        fit(kind, PATH_TOLERANCE, models, c, n)
        copy(theta, path.theta[g, c])


@kernel(glue=True)
def _start_from_pool(block):
    """Fit the whole pool, with the strongest penalty, for paths or cells to start from."""
    task, cell, models, path = block.task, block.cell, block.models, block.path
    for row in task.pool:
        cell.counts[task.y[row]] += 1.0
    fitted_classes(cell)
    copy_rows(task, task.pool, len(task.pool), models)
    set_price(block.kind, models, block.tuning.grid[len(block.tuning.grid) - 1])
    for c in range(task.classes):
        if cell.fitted[c]:
            fit(block.kind, TOLERANCE, models, c, len(task.pool))
            if not np.isfinite(models.theta[c]).all():  # a start need not be an optimum
                models.theta[c] = 0.0
    models.missed[0] = 0
    path.start[:] = models.theta
    path.theta[:] = models.theta


@kernel(glue=True)
def _take(block, rows):
    """Take rows in hand, with their weights."""
    models = block.models
    copy_rows(block.task, rows, len(rows), models)
    for i in range(len(rows)):
        models.weight[i] = block.cell.weight[rows[i]]


@kernel(borrow=True)
def _try_grid(block):
    """Score every grid value on the held-out rows; see `tune_cell`."""
    held, path, part = block.held, block.path, block.path.part
    rows = held.fit[: held.sizes[FIT_ROWS]]
    count_part(held, part)
    _take(block, rows)
    take_held(block.task, held, path.XT)
    for c in range(block.task.classes):
        if part.fitted[c]:
            _follow(block, c, len(rows))
    for g in range(len(block.tuning.grid)):
        for c in range(block.task.classes):
            if part.fitted[c]:
                theta = path.theta[g, c]
                d = len(theta) - 1
                linear_scores(theta[:d], theta[d], path.XT, 0, held.sizes[HELD_COPIES], part.F[c])
        score_side_by_side(part.F, part.present, held.lo, held.hi, part.room, held.scores[g])


@kernel(glue=True)
def _refit(block, i, r):
    """Score the chosen values on the test sets: fits to the first rows in hand."""
    task, cell, held, models, path = block.task, block.cell, block.held, block.models, block.path
    for c in range(task.classes):
        if cell.fitted[c]:
            forget(models.carried, c)
    for g in range(len(block.tuning.grid)):
        if not is_chosen(held, g):
            continue
        set_price(block.kind, models, block.tuning.grid[g])
        for c in range(task.classes):
            if cell.fitted[c]:
                copy(path.theta[g, c], models.theta[c])
                models.carried.known[c] = False  # the scores are not this model's
                fit(block.kind, TOLERANCE, models, c, cell.size[0])
        decide_columns(block.columns, models, cell)
        for c in range(task.classes if block.decisions.size > 0 else 0):  # tests ask for them
            if cell.fitted[c]:
                copy(cell.F[c], block.decisions[i, r, c])
        score_decided(block.columns, cell, held.refit)
        record(held, g, block.tuned.values[i, r])


@kernel(borrow=True)
def _run(block):
    """Go through the cells of a block."""
    task, cell, models = block.task, block.cell, block.models
    tunes = block.tuned.choices.size > 0
    # Such rows are heads of the next ones: all are taken at once, each of weight 1.
    nested = task.sampling == ADDITIVE and not tunes
    for r in range(task.stop - task.first):
        repetition = task.first + r
        begin_curve(task, repetition, cell)
        if nested:
            copy_rows(task, cell.order, task.sizes[len(task.sizes) - 1], models)
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            take_classes(task, n, repetition, cell)
            if tunes:
                block.path.theta[:] = 0.0
            tune_cell(block, n, i, r, _try_grid)
            if not nested:
                _take(block, cell.distinct[: cell.size[0]])
            _refit(block, i, r)


@kernel
def linear_block(kind, task, columns, unit, unit_root, tuning, held, tuned, decisions):
    """Fill the cells of a block.

    Parameters
    ----------
    kind
        `LREG`, `LSVC` or `STEEP`.
    task
        A `Task`, with scaled features.
    columns
        `Columns` to score on, with the same features.
    unit
        (d + 1, d + 1) penalty P of size 1: what is minimised is the loss plus half of theta' P
        theta.
    unit_root
        Its square root R: P is R' R.
    tuning
        What is chosen from what: factors of LREG's penalty, or of LSVC's loss.
    held, tuned
        A `HoldOut`, of `hold_out_of`, and what is filled, a `Tuned`.
    decisions
        (sizes, repetitions, K, columns), filled with decision values of fitted classes, in the
        order of the columns they are scored in; of size 0 if they are not wanted.

    Returns
    -------
    int
        How many fits reached no optimum, whose cells mean nothing.
    """
    classes, p = task.classes, len(unit)
    models = models_of(task, unit, unit_root)
    path = Path(
        theta=np.zeros((len(tuning.grid), classes, p)),
        start=np.zeros((classes, p)),
        part=part_of(task, columns, held),
        XT=np.empty((p - 1, len(held.rows))),
    )
    block = Block(
        kind=kind,
        task=task,
        columns=columns,
        tuning=tuning,
        cell=cell_of(task, columns, p - 1),
        held=held,
        models=models,
        path=path,
        tuned=tuned,
        decisions=decisions,
    )
    if kind == LREG or (kind == LSVC and tuned.choices.size == 0):
        _start_from_pool(block)
    _run(block)
    return models.missed[0]
