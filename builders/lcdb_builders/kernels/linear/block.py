"""Whole blocks of LREG and LSVC: cells in, metrics out.

Features come centred and scaled by constants of the dataset
(`lcdb_builders.kernels.linear.coordinates`), and the penalty is the matrix
that means the same model there.

Every fit starts from the model of the whole pool, along additive curves too, so that a cell's
numbers do not depend on which other cells are computed with it: not even the last bit, by which
rows of few distinct values tie or do not.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, draw, regroup
from lcdb_builders.kernels.linear.hinge import forget
from lcdb_builders.kernels.linear.logistic import TOLERANCE
from lcdb_builders.kernels.linear.models import (
    LREG,
    LSVC,
    STEEP,
    count_classes,
    decide_columns,
    fit,
    models_of,
    score_columns,
    set_price,
    take_rows,
)
from lcdb_builders.kernels.linear.newton import copy
from lcdb_builders.kernels.scores.cells import cell_of, clear
from lcdb_builders.kernels.scores.one_vs_rest import draw_fresh, fitted_classes

__all__ = ["LREG", "LSVC", "STEEP", "linear_block"]

#: A block of a `kind` of models: its `task`, the `columns` to score on; `models` of all classes,
#: and those of the pool, `start`; the `cell` in hand; what is filled, `out` and `decisions`.
Block = namedtuple("Block", "kind task columns models start cell out decisions")


@kernel(borrow=True)
def _fit(block, size):
    """Fit the rows in hand, from the models of the pool."""
    models = block.models
    for c in range(block.task.classes):
        if block.cell.fitted[c]:
            copy(block.start[c], models.theta[c])
            forget(models.carried, c)
            fit(block.kind, TOLERANCE, models, c, size)


@kernel(borrow=True)
def _fill(block, size, i, r):
    """Fill the i-th size of a repetition from the rows in hand."""
    task, columns, cell = block.task, block.columns, block.cell
    _fit(block, size)
    decide_columns(task, columns, block.models, cell)
    if block.decisions.size > 0:
        for c in range(task.classes):
            copy(cell.F[c], block.decisions[i, r, c])
    score_columns(task, columns, cell, block.out[i, r])


@kernel(borrow=True)
def _additive_repetition(block, r):
    """Fill all sizes of a repetition whose training sets are each the head of the next."""
    task, models, cell = block.task, block.models, block.cell
    draw(task, 0, task.first + r, cell.order)
    if block.columns.varying:
        regroup(task, cell.order, cell.XT, cell.begin, cell.hi[0], cell.lo[0])
    for i in range(len(task.pool)):
        models.weight[i] = 1.0
    cell.counts[:] = 0.0
    take_rows(task, cell.order, task.sizes[len(task.sizes) - 1], models)
    done = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        for k in range(done, n):
            cell.counts[task.y[cell.order[k]]] += 1.0
        done = n
        fitted_classes(cell)
        _fill(block, n, i, r)


@kernel(borrow=True)
def _fresh_repetition(block, r):
    """Fill all sizes of a repetition whose training sets are drawn afresh."""
    task, models, cell = block.task, block.models, block.cell
    for i in range(len(task.sizes)):
        size = draw_fresh(task, task.sizes[i], task.first + r, cell)
        for k in range(size):
            models.weight[k] = cell.weight[cell.distinct[k]]
        take_rows(task, cell.distinct, size, models)
        _fill(block, size, i, r)
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
    cell, models = cell_of(task, columns, task.X.shape[1]), models_of(task, unit, unit_root)
    start = np.zeros(models.theta.shape)
    block = Block(kind, task, columns, models, start, cell, out, decisions)
    set_price(kind, models, price)
    count_classes(task, task.pool, cell)
    take_rows(task, task.pool, len(task.pool), models)
    _fit(block, len(task.pool))
    start[:] = models.theta
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            _additive_repetition(block, r)
        else:
            _fresh_repetition(block, r)
    return models.count
