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
    take_held,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task
from lcdb_builders.kernels.gaussian.block import begin_repetition, score_test_sets, take_rows
from lcdb_builders.kernels.gaussian.eigen import diagonalise, rotate_columns
from lcdb_builders.kernels.gaussian.model import (
    LDC,
    NMC,
    QDC,
    begin_fit,
    fit,
    linear_scores,
    model_of,
    score_columns,
    take_roots,
)
from lcdb_builders.kernels.gaussian.moments import add_draw, columns_of, overall_mean
from lcdb_builders.kernels.gaussian.qr import factor
from lcdb_builders.kernels.scores.cells import cell_of
from lcdb_builders.kernels.scores.metrics import room, score_log_scores

__all__ = ["gaussian_tuned"]

#: The `model` of the rows to fit, of which `coef` and `centre` are in coordinates along
#: eigenvectors `V` (spaces, d, d) of their covariances with the `smallest` ridge; `values`
#: (spaces, d) eigenvalues; `means` (K, d) coordinates of means. The rows to validate on: `XT`
#: (d, rows); `Y` (spaces, d, rows) their coordinates, of QDC squared; `S` (K, rows) log scores,
#: `room` to score them.
Study = namedtuple("Study", "model V smallest values means XT Y S room")


def _study(kind: int, task: Task, tuning: Tuning, unit: float) -> Study:
    d, classes = task.X.shape[1], task.classes
    rows = max(len(task.pool), int(task.sizes[-1]))
    spaces = {NMC: 0, LDC: 1, QDC: classes}[kind]
    return Study(
        model=model_of(kind, classes, d, len(task.pool), unit),
        V=np.zeros((spaces, d, d)),
        smallest=float(tuning.grid.min()),
        values=np.zeros((spaces, d)),
        means=np.zeros((classes, d)),
        XT=np.empty((d, rows)),
        Y=np.empty((spaces, d, rows)),
        S=np.empty((classes, rows)),
        room=room(classes, rows),
    )


@kernel(borrow=True)
def _take_coordinates(kind, s, study, rows):
    """Take coordinates of held-out rows along eigenvectors `s`, and what scores need of them."""
    model, V, Y = study.model, study.V[s], study.Y[s]
    d = len(V)
    if kind == QDC:
        rotate_columns(V, study.XT, model.means[s], rows, Y)
        for k in range(d):
            for t in range(rows):
                Y[k, t] *= Y[k, t]
        return
    rotate_columns(V, study.XT, model.centre, rows, Y)
    for c in range(len(model.present)):
        for k in range(d if model.present[c] else 0):
            along = 0.0
            for j in range(d):
                along += V[k, j] * (model.means[c, j] - model.centre[j])
            study.means[c, k] = along


@kernel(borrow=True)
def _decompose(kind, study, n, rows):
    """Decompose the covariances of n rows, and take coordinates of those held out."""
    model, moments = study.model, study.model.moments
    ridge = study.smallest * model.spread[0]
    if kind == LDC:
        overall_mean(moments, n, model.centre)
    for s in range(len(study.V)):
        if kind == LDC or moments.distinct[s]:
            first, stop = columns_of(kind, s, moments)
            count = n if kind == LDC else moments.counts[s]
            factor(moments.Z, first, stop, count, ridge, model.L)
            diagonalise(model.L, study.V[s], study.values[s])
        elif model.present[s]:
            study.V[s] = 0.0
            for k in range(len(model.L)):
                study.V[s, k, k] = 1.0
                study.values[s, k] = model.spread[0]
        if kind == LDC or model.present[s]:
            _take_coordinates(kind, s, study, rows)


@kernel(borrow=True)
def _score_with_ridge(kind, study, more, n, rows):
    """Write log scores of LDC or QDC with so much more than the smallest ridge."""
    model, moments = study.model, study.model.moments
    for c in range(len(model.present)):
        if not model.present[c]:
            continue
        s = c if kind == QDC else 0
        added = more if kind == LDC or moments.distinct[c] else 0.0
        coef = model.coef[c]
        total = 0.0
        for k in range(len(coef)):
            variance = study.values[s, k] + added
            if kind == LDC:
                coef[k] = study.means[c, k] / variance
                total += study.means[c, k] * coef[k]
            else:
                coef[k] = -0.5 / variance
                total += math.log(variance)
        intercept = math.log(moments.counts[c] / n) - 0.5 * total
        linear_scores(coef, intercept, study.Y[s], rows, study.S[c])


@kernel(borrow=True)
def _try_grid(kind, task, tuning, weight, study, held):
    """Score every grid value on the held-out rows."""
    model = study.model
    n, rows = held.sizes[FIT_COPIES], held.sizes[HELD_COPIES]
    add_draw(kind, task, weight, held.fit[: held.sizes[FIT_ROWS]], model.moments)
    begin_fit(kind, 0.0, n, model)
    take_held(task, held, study.XT)
    _decompose(kind, study, n, rows)
    for g in range(len(tuning.grid)):
        if kind == NMC:
            begin_fit(kind, tuning.grid[g], n, model)
            score_columns(kind, model, study.XT, 0, rows, study.S)
        else:
            more = (tuning.grid[g] - study.smallest) * model.spread[0]
            _score_with_ridge(kind, study, more, n, rows)
        score_log_scores(study.S, model.present, held.lo, held.hi, study.room, held.scores[g])


@kernel(borrow=True)
def _run(kind, task, columns, tuning, study, model, cell, held, tuned):
    """Fill a tuned block.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC`.
    task, columns, tuning
        Cells, where they are scored, and what is chosen from what.
    study
        Of the rows that are not held out.
    model, cell
        Of all rows.
    held
        Of `hold_out_of`.
    tuned
        Filled.
    """
    for r in range(task.stop - task.first):
        repetition = task.first + r
        begin_repetition(task, columns, repetition, model, cell)
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            take_rows(kind, task, n, repetition, model, cell)
            flag = hold_out(
                task, tuning, n, repetition, cell.distinct, cell.size[0], cell.weight, held
            )
            if flag != ONE_CLASS_FIT:
                _try_grid(kind, task, tuning, cell.weight, study, held)
            choose(tuning, flag, held, tuned.choices[i, r], tuned.flags[i, r])
            if task.sampling != ADDITIVE:
                take_roots(kind, model)
            for g in range(len(tuning.grid)):
                if is_chosen(held, g):
                    fit(kind, tuning.grid[g], True, n, model)
                    score_test_sets(kind, task, columns, model, cell, held.refit)
                    record(held, g, tuned.values[i, r])


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
    model = model_of(kind, task.classes, d, len(task.pool), unit)
    study, held = _study(kind, task, tuning, unit), hold_out_of(task, columns, tuning, tuned)
    _run(kind, task, columns, tuning, study, model, cell_of(task, columns, d), held, tuned)
