"""Tuned blocks of NMC, LDC and QDC: the whole grid from one set of moments per cell.

Means and scatter of the rows to fit are taken once. NMC then shrinks the means by each value. The
covariances of LDC and QDC are decomposed once, with the smallest ridge: along their eigenvectors
every other ridge is a number added to the eigenvalues. Refits are those of untuned blocks, from
triangular roots.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    ONE_CLASS_FIT,
    Tuned,
    Tuning,
    choose,
    hold_out,
    hold_out_of,
    is_chosen,
    record,
    take_held,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw, regroup, weigh
from lcdb_builders.kernels.gaussian.block import (
    desk_of,
    places_of,
    score_constant_sets,
    score_left_out,
    score_rest_of_classes,
)
from lcdb_builders.kernels.gaussian.eigen import diagonalise, rotate_columns
from lcdb_builders.kernels.gaussian.model import (
    LDC,
    NMC,
    QDC,
    begin_fit,
    fit_moments,
    linear_scores,
    model_of,
    score_columns,
)
from lcdb_builders.kernels.gaussian.moments import (
    add_draw,
    add_row,
    forget,
    moments_of,
    overall_mean,
)
from lcdb_builders.kernels.gaussian.qr import factor
from lcdb_builders.kernels.scores.metrics import room, score_log_scores

__all__ = ["gaussian_tuned"]

#: The rows to fit: their `moments` and a `model`; `V` (spaces, d, d) eigenvectors and `values`
#: (spaces, d) eigenvalues of their covariances with the `smallest` (1,) ridge. The rows to validate
#: on: `XT` (d, rows); `Y` (spaces, d, rows) their coordinates along V, of QDC squared; `S`
#: (K, rows) log scores, `room` to score them. `means` (K, d) coordinates of means, `coef`, `centre`
#: (d,).
Study = namedtuple(
    "Study",
    [
        "moments",
        "model",
        "V",
        "values",
        "XT",
        "Y",
        "S",
        "room",
        "means",
        "coef",
        "centre",
        "smallest",
    ],
)


def _study(kind: int, task: Task, tuning: Tuning, unit: float) -> Study:
    d, classes = task.X.shape[1], task.classes
    rows = max(len(task.pool), int(task.sizes[-1]))
    spaces = {NMC: 0, LDC: 1, QDC: classes}[kind]
    return Study(
        moments_of(NMC, classes, d),  # factors come from the rows themselves: no roots are kept
        model_of(kind, classes, d, len(task.pool), unit),
        np.zeros((spaces, d, d)),
        np.zeros((spaces, d)),
        np.empty((d, rows)),
        np.empty((spaces, d, rows)),
        np.empty((classes, rows)),
        room(classes, rows),
        np.zeros((classes, d)),
        np.zeros(d),
        np.zeros(d),
        np.array([tuning.grid.min()]),
    )


@kernel(borrow=True)
def _decompose_pooled(study, count, n, held):
    """Decompose the covariance of all classes; take coordinates of means and held-out rows."""
    model = study.model
    V = study.V[0]
    d = len(V)
    factor(model.Z, 0, count, n, study.smallest[0] * model.spread[0], model.L)
    diagonalise(model.L, V, study.values[0])
    overall_mean(study.moments, n, study.centre)
    rotate_columns(V, study.XT, study.centre, held, study.Y[0])
    for c in range(len(model.present)):
        for k in range(d if model.present[c] else 0):
            along = 0.0
            for j in range(d):
                along += V[k, j] * (model.means[c, j] - study.centre[j])
            study.means[c, k] = along


@kernel(borrow=True)
def _decompose_each(study, first, stop, held):
    """Decompose the covariance of each class; take squared coordinates of held-out rows."""
    model, moments = study.model, study.moments
    d = len(model.L)
    for c in range(len(model.present)):
        if not model.present[c]:
            continue
        V = study.V[c]
        if moments.distinct[c]:
            ridge = study.smallest[0] * model.spread[0]
            factor(model.Z, first[c], stop[c], moments.counts[c], ridge, model.L)
            diagonalise(model.L, V, study.values[c])
        else:
            for k in range(d):
                for j in range(d):
                    V[k, j] = 1.0 if j == k else 0.0
                study.values[c, k] = model.spread[0]
        Y = study.Y[c]
        rotate_columns(V, study.XT, model.means[c], held, Y)
        for k in range(d):
            for t in range(held):
                Y[k, t] *= Y[k, t]


@kernel(borrow=True)
def _linear_with_ridge(study, more, n, held):
    """Log scores of LDC with so much more than the smallest ridge."""
    coef = study.coef
    for c in range(len(study.S)):
        if study.model.present[c]:
            squares = 0.0
            for k in range(len(coef)):
                coef[k] = study.means[c, k] / (study.values[0, k] + more)
                squares += study.means[c, k] * coef[k]
            intercept = math.log(study.moments.counts[c] / n) - 0.5 * squares
            linear_scores(coef, intercept, study.Y[0], held, study.S[c])


@kernel(borrow=True)
def _quadratic_with_ridge(study, more, n, held):
    """Log scores of QDC with so much more than the smallest ridge."""
    coef = study.coef
    for c in range(len(study.S)):
        if study.model.present[c]:
            added = more if study.moments.distinct[c] else 0.0
            log_det = 0.0
            for k in range(len(coef)):
                variance = study.values[c, k] + added
                log_det += math.log(variance)
                coef[k] = -0.5 / variance
            intercept = math.log(study.moments.counts[c] / n) - 0.5 * log_det
            linear_scores(coef, intercept, study.Y[c], held, study.S[c])


@kernel(borrow=True)
def _try_grid(kind, task, tuning, weight, study, places, cell):
    """Score every grid value on the held-out rows."""
    model = study.model
    first, stop, _ = places
    held, count, n = cell.sizes[1], cell.sizes[0], cell.sizes[2]
    spare = len(model.L) if kind == QDC else 0
    add_draw(task, weight, cell.fit, count, spare, study.moments, places, model.Z)
    begin_fit(kind, 0.0, study.moments, n, model)
    take_held(task, cell, study.XT)
    if kind == LDC:
        _decompose_pooled(study, count, n, held)
    elif kind == QDC:
        _decompose_each(study, first, stop, held)
    for g in range(len(tuning.grid)):
        more = (tuning.grid[g] - study.smallest[0]) * model.spread[0]
        if kind == NMC:
            begin_fit(kind, tuning.grid[g], study.moments, n, model)
            score_columns(kind, model, study.XT, 0, held, study.S)
        elif kind == LDC:
            _linear_with_ridge(study, more, n, held)
        else:
            _quadratic_with_ridge(study, more, n, held)
        score_log_scores(study.S, model.present, cell.lo, cell.hi, study.room, cell.scores[g])


@kernel(borrow=True)
def _take_root(Z, first, stop, L, root):
    """Write the triangular root of the products of columns first:stop of Z."""
    factor(Z, first, stop, 1, 0.0, L)
    for i in range(len(L)):
        for j in range(len(L)):
            root[i, j] = L[j, i] if j >= i else 0.0


@kernel(borrow=True)
def _take_draw(kind, task, weight, distinct, count, moments, places, model):
    """Moments of a draw, with their roots, as if its rows had been added one by one.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC`.
    task
        The block.
    weight
        (N,) how often each row was drawn.
    distinct, count
        ``distinct[:count]`` are the rows drawn.
    moments, places, model
        Overwritten, see `add_draw`.
    """
    d = len(model.L)
    first, stop, _ = places
    add_draw(task, weight, distinct, count, d if kind == QDC else 0, moments, places, model.Z)
    if kind == LDC:
        _take_root(model.Z, 0, count, model.L, moments.roots[0])
    elif kind == QDC:
        for c in range(task.classes):
            if moments.counts[c] > 0:
                _take_root(model.Z, first[c], stop[c], model.L, moments.roots[c])


@kernel(borrow=True)
def _run(kind, task, columns, tuning, moments, model, study, places, desk, cell, tuned):
    """Fill a tuned block.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC`.
    task, columns, tuning
        Cells, where they are scored, and what is chosen from what.
    moments, model, places, desk
        Workspace of refits.
    study
        Of the rows that are not held out.
    cell
        Of `hold_out_of`.
    tuned
        Filled.
    """
    for r in range(task.stop - task.first):
        repetition = task.first + r
        done = 0
        if task.sampling == ADDITIVE:
            draw(task, 0, repetition, desk.order)
            for row in desk.order:
                desk.weight[row] = 1
            forget(moments)
            if columns.varying:
                regroup(task, desk.order, desk.XT, desk.begin, desk.hi[0], desk.lo[0])
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            distinct = desk.order
            count = n
            if task.sampling == ADDITIVE:
                for row in desk.order[done:n]:
                    add_row(kind, moments, task.X[row], task.y[row])
                done = n
            else:
                draw(task, n, repetition, desk.order)
                distinct = desk.distinct
                count = weigh(desk.order[:n], desk.weight, distinct)
            flag = hold_out(task, tuning, n, repetition, distinct, count, desk.weight, cell)
            if flag != ONE_CLASS_FIT:
                _try_grid(kind, task, tuning, desk.weight, study, places, cell)
            choose(tuning, flag, cell, tuned.choices[i, r], tuned.flags[i, r])
            if task.sampling != ADDITIVE:
                _take_draw(kind, task, desk.weight, distinct, count, moments, places, model)
            for g in range(len(tuning.grid)):
                if not is_chosen(cell, g):
                    continue
                fit_moments(kind, tuning.grid[g], moments, n, model)
                if not columns.varying:
                    score_constant_sets(kind, model, columns, desk, cell.refit)
                elif task.sampling == ADDITIVE:
                    score_rest_of_classes(kind, model, moments, desk, cell.refit)
                else:
                    score_left_out(kind, model, columns, desk, cell.refit)
                record(cell, g, tuned.values[i, r])
            if task.sampling != ADDITIVE:
                for row in desk.order[:n]:
                    desk.weight[row] = 0


def gaussian_tuned(
    kind: int, task: Task, columns: Columns, tuning: Tuning, unit: float, tuned: Tuned
) -> None:
    """Fill the cells of a tuned block.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC` of `lcdb_builders.kernels.gaussian.model`.
    task, columns, tuning
        Cells, where they are scored, and what is chosen from what.
    unit
        The mean within-class variance of training sets that have none.
    tuned
        Filled.
    """
    d = task.X.shape[1]
    moments = moments_of(kind, task.classes, d)
    model = model_of(kind, task.classes, d, len(task.pool), unit)
    study, cell = _study(kind, task, tuning, unit), hold_out_of(task, columns, tuning, tuned)
    places, desk = places_of(task), desk_of(task, columns)
    _run(kind, task, columns, tuning, moments, model, study, places, desk, cell, tuned)
