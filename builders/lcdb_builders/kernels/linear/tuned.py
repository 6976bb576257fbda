"""Tuned blocks of LREG and LSVC: along the path of penalties, from strong to weak.

Every fit of a path starts where the last ones point to. Paths start from the model of the whole
pool (LREG) or from 0 (LSVC), and refits from the path's own models, so that a cell's numbers do not
depend on which other cells are computed with it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    FIT_ROWS,
    HELD_COPIES,
    ONE_CLASS_FIT,
    choose,
    hold_out,
    is_chosen,
    record,
    take_held,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, draw, regroup, weigh
from lcdb_builders.kernels.linear.hinge import forget
from lcdb_builders.kernels.linear.logistic import TOLERANCE
from lcdb_builders.kernels.linear.models import (
    LREG,
    count_classes,
    decide,
    decide_columns,
    fit,
    models_of,
    score_columns,
    set_price,
    take_rows,
)
from lcdb_builders.kernels.linear.newton import copy
from lcdb_builders.kernels.scores.cells import cell_of
from lcdb_builders.kernels.scores.metrics import room
from lcdb_builders.kernels.scores.one_vs_rest import fitted_classes, score_side_by_side

__all__ = ["linear_tuned"]

# Steps converge quadratically: after the last one, a path of LREG is as good as `TOLERANCE` asks.
PATH_TOLERANCE = 1e-9

#: `paths` (G, K, d + 1) models of the rows to fit, `start` (K, d + 1) of the pool with the
#: strongest penalty, and `models`, the ones in hand. Held-out rows `held` (d, rows), their decision
#: values `F` (K, rows) and `room` to score them.
Paths = namedtuple("Paths", "paths start models held F room")
#: A block of a `kind` of models: its `task`, the `columns` to score on and its `tuning`; the `cell`
#: in hand, what is `held` out of it, and the `path` of its models.
Block = namedtuple("Block", "kind task columns tuning cell held path")


@kernel(glue=True)
def _paths(task, tuning, unit, unit_root):
    """Return paths of no models."""
    classes, p, rows = task.classes, len(unit), len(task.pool)
    return Paths(
        paths=np.zeros((len(tuning.grid), classes, p)),
        start=np.zeros((classes, p)),
        models=models_of(task, unit, unit_root),
        held=np.empty((p - 1, rows)),
        F=np.empty((classes, rows)),
        room=room(classes, rows),
    )


@kernel(glue=True)
def _point_on(paths, g, step, c, theta):
    """Start from where the last models of a path point to.

    Along equal steps of the logarithm models of separable rows change by almost the same, and
    others by ever less: the last change is continued by its ratio to the one before.
    """
    last = paths[g - step, c]
    before = paths[g - 2 * step, c]
    first = paths[g - 3 * step, c]
    now = 0.0
    then = 0.0
    for j in range(len(theta)):
        now += (last[j] - before[j]) ** 2
        then += (before[j] - first[j]) ** 2
    ratio = min(1.0, np.sqrt(now / then)) if then > 0.0 else 0.0
    for j in range(len(theta)):
        theta[j] = last[j] + ratio * (last[j] - before[j])


@kernel(borrow=True)
def _follow(kind, tuning, path, c, n):
    """Fit a class to the rows in hand with every value of the grid, from strong to weak."""
    models = path.models
    values = len(tuning.grid)
    step = -1 if kind == LREG else 1
    first = values - 1 if kind == LREG else 0
    theta = models.theta[c]
    copy(path.start[c], theta)
    forget(models.carried, c)
    for i in range(values):
        g = first + i * step
        if kind == LREG and i > 2:
            _point_on(path.paths, g, step, c, theta)
        set_price(kind, models, tuning.grid[g])
        fit(kind, PATH_TOLERANCE, models, c, n)
        copy(theta, path.paths[g, c])


@kernel(glue=True)
def _start_from_pool(block):
    """Fit the whole pool with the strongest penalty, for the paths of cells to start from."""
    task, tuning, models = block.task, block.tuning, block.path.models
    count_classes(task, task.pool, block.cell)
    take_rows(task, task.pool, len(task.pool), models)
    set_price(block.kind, models, tuning.grid[len(tuning.grid) - 1])
    for c in range(task.classes):
        if block.cell.fitted[c]:
            fit(block.kind, TOLERANCE, models, c, len(task.pool))
    block.path.start[:] = models.theta


@kernel(borrow=True)
def _try_grid(block):
    """Score every grid value on the held-out rows."""
    task, tuning, cell, held, path = block.task, block.tuning, block.cell, block.held, block.path
    models = path.models
    n = held.sizes[FIT_ROWS]
    for c in range(task.classes):
        cell.counts[c] = held.counts[c]
    fitted_classes(cell)
    take_rows(task, held.fit, n, models)
    for i in range(n):
        models.weight[i] = cell.weight[held.fit[i]]
    take_held(task, held, path.held)
    for c in range(task.classes):
        if cell.fitted[c]:
            _follow(block.kind, tuning, path, c, n)
    for g in range(len(tuning.grid)):
        for c in range(task.classes):
            if cell.fitted[c]:
                decide(path.held, 0, held.sizes[HELD_COPIES], path.paths[g, c], path.F[c])
        score_side_by_side(path.F, cell, held.lo, held.hi, path.room, held.scores[g])


@kernel(borrow=True)
def _refit(block, distinct, out):
    """Score the chosen values on the test sets.

    Parameters
    ----------
    block
        The block, with the path of models of every value.
    distinct
        The training rows.
    out
        (sets, WIDTH), filled.
    """
    task, cell, held, models = block.task, block.cell, block.held, block.path.models
    cell.counts[:] = 0.0
    for i in range(len(distinct)):
        row = distinct[i]
        cell.counts[task.y[row]] += cell.weight[row]
        models.weight[i] = cell.weight[row]
    fitted_classes(cell)
    take_rows(task, distinct, len(distinct), models)
    for c in range(task.classes):
        forget(models.carried, c)
    for g in range(len(block.tuning.grid)):
        if not is_chosen(held, g):
            continue
        set_price(block.kind, models, block.tuning.grid[g])
        for c in range(task.classes):
            if cell.fitted[c]:
                copy(block.path.paths[g, c], models.theta[c])
                models.carried.known[c] = 0  # the scores are not this model's
                fit(block.kind, TOLERANCE, models, c, len(distinct))
        decide_columns(task, block.columns, models, cell)
        score_columns(task, block.columns, cell, held.refit)
        record(held, g, out)


@kernel
def linear_tuned(kind, task, columns, unit, root, tuning, held, tuned):
    """Fill the cells of a tuned block.

    Parameters
    ----------
    kind
        `LREG`, `LSVC` or `STEEP` of `lcdb_builders.kernels.linear.block`.
    task, columns
        Cells and where they are scored, with scaled features.
    unit
        (d + 1, d + 1) penalty of size 1.
    root
        Its square root: root' root = unit.
    tuning
        What is chosen from what: penalties of LREG, prices of LSVC.
    held
        A `HoldOut`.
    tuned
        Filled.

    Returns
    -------
    (4,) int64
        What `linear_block` counts.
    """
    cell, path = cell_of(task, columns, task.X.shape[1]), _paths(task, tuning, unit, root)
    block = Block(kind, task, columns, tuning, cell, held, path)
    if kind == LREG:
        _start_from_pool(block)
    for r in range(task.stop - task.first):
        repetition = task.first + r
        if task.sampling == ADDITIVE:
            draw(task, 0, repetition, cell.order)
            if columns.varying:
                regroup(task, cell.order, cell.XT, cell.begin, cell.hi[0], cell.lo[0])
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE:
                draw(task, n, repetition, cell.order)
            count = weigh(cell.order[:n], cell.weight, cell.distinct)
            distinct = cell.distinct[:count]
            flag = hold_out(task, tuning, n, repetition, distinct, count, cell.weight, held)
            path.paths[:] = 0.0
            if flag != ONE_CLASS_FIT:
                _try_grid(block)
            choose(tuning, flag, held, tuned.choices[i, r], tuned.flags[i, r])
            _refit(block, distinct, tuned.values[i, r])
            for row in distinct:
                cell.weight[row] = 0
    return path.models.count
