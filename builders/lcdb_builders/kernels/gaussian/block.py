"""Whole blocks of NMC, LDC and QDC: cells in, metrics out.

Additive training sets grow row by row; all rows up to n are added whatever the sizes of the block,
so a cell's numbers do not depend on which other cells are computed with it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import (
    ADDITIVE,
    Columns,
    Task,
    draw,
    gather,
    left_out,
    regroup,
    weigh,
)
from lcdb_builders.kernels.gaussian.model import fit_draw, fit_moments, model_of, score_columns
from lcdb_builders.kernels.gaussian.moments import add_row, forget, moments_of
from lcdb_builders.kernels.scores.metrics import room, score_log_scores

__all__ = [
    "desk_of",
    "gaussian_block",
    "places_of",
    "score_constant_sets",
    "score_left_out",
    "score_rest_of_classes",
]

#: Workspace of a block: `S`, `packed` (K, columns) log scores; `XT` (d, columns) and `begin` (K,)
#: a repetition's own columns; `lo`, `hi` (1, K) a cell's own test set; `index` (columns,) what it
#: is picked from; `order` (pool,) rows drawn; `weight` (N,); `distinct` (N,).
Desk = namedtuple(
    "Desk",
    ["S", "packed", "XT", "begin", "lo", "hi", "index", "order", "weight", "distinct", "room"],
)


def desk_of(task: Task, columns: Columns) -> Desk:
    """Return the workspace of a block."""
    d, size = columns.XT.shape
    classes = task.classes
    own = size if columns.varying else 0
    return Desk(
        np.empty((classes, size)),
        np.empty((classes, own)),
        np.empty((d, own)),
        np.empty(classes, np.int64),
        np.empty((1, classes), np.int64),
        np.empty((1, classes), np.int64),
        np.empty(own, np.int64),
        np.empty(len(task.pool), np.int64),
        np.zeros(len(task.y), np.int64),
        np.empty(len(task.pool), np.int64),
        room(classes, size),
    )


def places_of(task: Task) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the `places` of `add_draw`."""
    classes, d = task.classes, task.X.shape[1]
    return (
        np.empty(classes, np.int64),
        np.empty(classes, np.int64),
        np.empty(len(task.pool) + classes * d, np.int64),
    )


@kernel(glue=True)
def score_constant_sets(kind, model, columns, desk, out):
    """Score a fitted model on every constant test set; ``out`` is (sets, WIDTH)."""
    score_columns(kind, model, columns.XT, 0, columns.XT.shape[1], desk.S)
    for k in range(len(columns.lo)):
        score_log_scores(desk.S, model.present, columns.lo[k], columns.hi[k], desk.room, out[k])


@kernel(glue=True)
def score_rest_of_classes(kind, model, moments, desk, out):
    """Score on what an additive training set leaves of the repetition's own columns."""
    lo = desk.lo[0]
    hi = desk.hi[0]
    for c in range(len(lo)):
        lo[c] = desk.begin[c] + moments.counts[c]
        score_columns(kind, model, desk.XT, lo[c], hi[c], desk.S)
    score_log_scores(desk.S, model.present, lo, hi, desk.room, out[0])


@kernel(glue=True)
def score_left_out(kind, model, columns, desk, out):
    """Score on the columns that a draw has left out."""
    lo = desk.lo[0]
    hi = desk.hi[0]
    score_columns(kind, model, columns.XT, 0, columns.XT.shape[1], desk.S)
    left_out(columns, desk.weight, desk.index, lo, hi)
    gather(desk.S, model.present, desk.index, hi[len(hi) - 1], desk.packed)
    score_log_scores(desk.packed, model.present, lo, hi, desk.room, out[0])


@kernel(glue=True)
def _additive_repetition(kind, parameter, task, columns, r, moments, model, desk, out):
    """Score a repetition along an additive curve.

    Parameters
    ----------
    kind, parameter
        `NMC`, `LDC` or `QDC`, and its shrinkage or ridge.
    task, columns, r
        Cells, where they are scored, and which repetition of the block.
    moments, model, desk
        Workspace.
    out
        (sizes, repetitions, sets, WIDTH), filled.
    """
    draw(task, 0, task.first + r, desk.order)
    if columns.varying:
        regroup(task, desk.order, desk.XT, desk.begin, desk.hi[0], desk.lo[0])
    forget(moments)
    done = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        for row in desk.order[done:n]:
            add_row(kind, moments, task.X[row], task.y[row])
        done = n
        fit_moments(kind, parameter, moments, n, model)
        if columns.varying:
            score_rest_of_classes(kind, model, moments, desk, out[i, r])
        else:
            score_constant_sets(kind, model, columns, desk, out[i, r])


@kernel(glue=True)
def _draw_and_fit(kind, parameter, task, n, repetition, moments, places, model, desk):
    """Draw a cell afresh and fit to it.

    Parameters
    ----------
    kind, parameter
        `NMC`, `LDC` or `QDC`, and its shrinkage or ridge.
    task, n, repetition
        The cell.
    moments, places, model, desk
        Workspace; the model is fitted, and `desk.weight` says how often each row was drawn.
    """
    draw(task, n, repetition, desk.order)
    distinct = desk.distinct
    count = weigh(desk.order[:n], desk.weight, distinct)
    fit_draw(kind, parameter, task, desk.weight, distinct, count, n, moments, places, model)


@kernel(borrow=True)
def _run(kind, parameter, task, columns, moments, model, places, desk, out):
    """Fill a block.

    Parameters
    ----------
    kind, parameter
        `NMC`, `LDC` or `QDC`, and its shrinkage or ridge.
    task, columns
        Cells, and where they are scored.
    moments, model, places, desk
        Workspace.
    out
        (sizes, repetitions, sets, WIDTH), filled.
    """
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            _additive_repetition(kind, parameter, task, columns, r, moments, model, desk, out)
            continue
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            _draw_and_fit(kind, parameter, task, n, task.first + r, moments, places, model, desk)
            if columns.varying:
                score_left_out(kind, model, columns, desk, out[i, r])
            else:
                score_constant_sets(kind, model, columns, desk, out[i, r])
            for row in desk.order[:n]:
                desk.weight[row] = 0


def gaussian_block(
    kind: int, parameter: float, task: Task, columns: Columns, unit: float, out: np.ndarray
) -> None:
    """Score the cells of a block.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC` of `lcdb_builders.kernels.gaussian.model`.
    parameter
        Shrinkage of NMC, ridge of LDC and QDC.
    task, columns
        Cells, and where they are scored.
    unit
        The mean within-class variance of training sets that have none.
    out
        (sizes, repetitions, sets, WIDTH), filled.
    """
    d = task.X.shape[1]
    # Made here, so that the kernel borrows every array and counts no references.
    moments = moments_of(kind, task.classes, d)
    model = model_of(kind, task.classes, d, len(task.pool), unit)
    places, desk = places_of(task), desk_of(task, columns)
    _run(kind, parameter, task, columns, moments, model, places, desk, out)
