"""Whole blocks of LREG and LSVC: cells in, metrics out.

Features come centred and scaled by constants of the dataset
(`lcdb_builders.kernels.linear.coordinates`), and the penalty is the matrix
that means the same model there.

Every fit starts from the model of the whole pool, along additive curves too, so that a cell's
numbers do not depend on which other cells are computed with it: not even the last bit, by which
rows of few distinct values tie or do not.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, draw, regroup
from lcdb_builders.kernels.linear.hinge import forget
from lcdb_builders.kernels.linear.logistic import TOLERANCE
from lcdb_builders.kernels.linear.models import (
    LREG,
    LSVC,
    STEEP,
    decide_all,
    decide_own,
    fit,
    models_of,
    set_price,
    take_rows,
)
from lcdb_builders.kernels.linear.newton import copy
from lcdb_builders.kernels.scores.cells import cell_of, clear
from lcdb_builders.kernels.scores.one_vs_rest import (
    draw_fresh,
    fitted_classes,
    score_constant_sets,
    score_left_out,
    score_own_sets,
)

__all__ = ["LREG", "LSVC", "STEEP", "linear_block"]


@kernel(glue=True)
def _show(cell, decisions, i, r):
    """Copy decision values, if they are wanted."""
    if decisions.size > 0:
        for c in range(len(cell.F)):
            copy(cell.F[c], decisions[i, r, c])


@kernel(borrow=True)
def _fit_fresh(kind, models, start, cell, size):
    """Fit weighted rows, from the models in `start`."""
    for c in range(len(cell.fitted)):
        if cell.fitted[c]:
            copy(start[c], models.theta[c])
            forget(models.carried, c)
            fit(kind, TOLERANCE, models, c, size)


@kernel(glue=True)
def _fit_pool(kind, task, models, start, cell):
    """Fit the whole pool, for draws to start from."""
    size = len(task.pool)
    cell.counts[:] = 0.0
    for row in task.pool:
        cell.counts[task.y[row]] += 1.0
    fitted_classes(cell)
    take_rows(task, task.pool, 0, size, models)
    _fit_fresh(kind, models, start, cell, size)
    start[:] = models.theta


@kernel(borrow=True)
def _additive_repetition(kind, task, columns, r, models, start, cell, out, decisions):
    """Score all sizes of a repetition, each from the models of the pool.

    Parameters
    ----------
    kind
        `LREG` or `LSVC`.
    task, columns, r
        Cells, where they are scored, and which repetition of the block.
    models, start
        Models of all classes, and those of the pool.
    cell
        Workspace.
    out, decisions
        As of `linear_block`.
    """
    draw(task, 0, task.first + r, cell.order)
    if columns.varying:
        regroup(task, cell.order, cell.XT, cell.begin, cell.hi[0], cell.lo[0])
    for i in range(len(task.pool)):
        models.weight[i] = 1.0
    cell.counts[:] = 0.0
    last = task.sizes[len(task.sizes) - 1]
    take_rows(task, cell.order, 0, last, models)
    done = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        for k in range(done, n):
            cell.counts[task.y[cell.order[k]]] += 1.0
        done = n
        fitted_classes(cell)
        _fit_fresh(kind, models, start, cell, n)
        if columns.varying:
            for c in range(task.classes):
                cell.lo[0, c] = cell.begin[c] + np.int64(cell.counts[c])
            decide_own(models, cell)
        else:
            decide_all(models, columns, cell)
        _show(cell, decisions, i, r)
        if columns.varying:
            score_own_sets(cell, out[i, r])
        else:
            score_constant_sets(columns, cell, out[i, r])


@kernel(borrow=True)
def _fresh_repetition(kind, task, columns, r, models, start, cell, out, decisions):
    """Score all sizes of a repetition, each from the models of the pool.

    Parameters
    ----------
    kind
        `LREG` or `LSVC`.
    task, columns, r
        Cells, where they are scored, and which repetition of the block.
    models, start
        Models of all classes, and those of the pool.
    cell
        Workspace.
    out, decisions
        As of `linear_block`.
    """
    for i in range(len(task.sizes)):
        size = draw_fresh(task, task.sizes[i], task.first + r, cell)
        for k in range(size):
            models.weight[k] = cell.weight[cell.distinct[k]]
        take_rows(task, cell.distinct, 0, size, models)
        _fit_fresh(kind, models, start, cell, size)
        decide_all(models, columns, cell)
        _show(cell, decisions, i, r)
        if columns.varying:
            score_left_out(columns, cell, out[i, r])
        else:
            score_constant_sets(columns, cell, out[i, r])
        clear(cell)


@kernel
def linear_block(kind, task, columns, unit, unit_root, price, out, decisions):
    """Score the cells of a block.

    Parameters
    ----------
    kind
        `LREG`, `LSVC` or `STEEP`.
    task
        A `Task`, with scaled features.
    columns
        `Columns` to score on, with the same features.
    unit
        (d + 1, d + 1) penalty P: what is minimised is the loss plus half of theta' P theta.
    unit_root
        Its square root R: P is R' R.
    price
        Factor of LSVC's loss, or of LREG's penalty.
    out
        (sizes, repetitions, sets, WIDTH), filled.
    decisions
        (sizes, repetitions, K, columns), filled with decision values of fitted classes, in the
        order of the columns they are scored in; of size 0 if they are not wanted.

    Returns
    -------
    (4,) int64
        Passes over rows, linear systems, models fitted by reflections, and models not found, whose
        cells mean nothing.
    """
    cell = cell_of(task, columns, task.X.shape[1])
    models = models_of(task, unit, unit_root)
    set_price(kind, models, price)
    start = np.zeros(models.theta.shape)
    _fit_pool(kind, task, models, start, cell)
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            _additive_repetition(kind, task, columns, r, models, start, cell, out, decisions)
        else:
            _fresh_repetition(kind, task, columns, r, models, start, cell, out, decisions)
    return models.count
