"""Whole blocks of NMC, LDC and QDC: cells in, metrics out.

Additive training sets grow row by row; all rows up to n are added whatever the sizes of the block,
so a cell's numbers do not depend on which other cells are computed with it.

To tune a cell, means and scatter of the rows that are not held out are taken once. NMC then shrinks
the means by each value. The covariances of LDC and QDC are decomposed once, of features over √v and
with the smallest ridge: along their eigenvectors every other ridge is a number added to the
eigenvalues. What was chosen is fitted from triangular roots of all rows.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    FIT_COPIES,
    FIT_ROWS,
    HELD_COPIES,
    Tuned,
    Tuning,
    hold_out_of,
    is_chosen,
    record,
    take_held,
    tune_cell,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task
from lcdb_builders.kernels.gaussian.eigen import diagonalise, rotate_columns
from lcdb_builders.kernels.gaussian.model import (
    LDC,
    NMC,
    QDC,
    begin_fit,
    fit,
    model_of,
    score_columns,
    take_roots,
)
from lcdb_builders.kernels.gaussian.moments import (
    add_draw,
    add_row,
    columns_of,
    forget,
    overall_mean,
)
from lcdb_builders.kernels.gaussian.qr import factor, leave_out
from lcdb_builders.kernels.scores.cells import (
    begin_curve,
    cell_of,
    has_own_columns,
    linear_scores,
    score_test_sets,
    take_rows,
)
from lcdb_builders.kernels.scores.metrics import room, score_log_scores

__all__ = ["gaussian_block"]

#: A block of a `kind` of models: its `task`, the `columns` to score on and its `tuning`; the
#: `model` and the `cell` in hand, its `HoldOut`, `held`, and the `study` of the rows to fit; what
#: is filled, `tuned`.
Block = namedtuple("Block", "kind task columns tuning model cell held study tuned")

#: The `model` of the rows to fit, of which `coef` is in coordinates along eigenvectors of their
#: covariances with the `smallest` ridge, of features over √v; `V` (spaces, d, d) takes deviations
#: of features to those; `values` (spaces, d) eigenvalues; `means` (K, d) coordinates of means. The
#: rows to validate on: `XT` (d, rows); `Y` (spaces, d, rows) their coordinates, of QDC squared; `S`
#: (K, rows) log scores, `room` to score them.
Study = namedtuple("Study", "model V smallest values means XT Y S room")


def _study(kind: int, task: Task, tuning: Tuning, unit: float, rows: int) -> Study:
    """Return room to study cells of which at most so many rows are held out."""
    d, classes = task.X.shape[1], task.classes
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
    L, spread = model.L, model.spread
    if kind == LDC:
        overall_mean(moments, n, model.centre)
    for s in range(len(study.V)):
        V, values = study.V[s], study.values[s]
        if kind == LDC or moments.distinct[s]:
            first, stop = columns_of(kind, s, moments)
            count = n if kind == LDC else moments.counts[s]
            factor(moments.Z, first, stop, count, study.smallest, spread, L)
            leave_out(spread, L)
            for j in range(len(L)):
                for k in range(j + 1 if spread[j] > 0.0 else 0):
                    L[j, k] /= spread[j]
            diagonalise(L, V, values)
        elif model.present[s]:
            for k in range(len(L)):
                for j in range(len(L)):
                    V[k, j] = 0.0
                V[k, k] = 1.0
                values[k] = 1.0
        if kind == LDC or model.present[s]:
            for j in range(len(L)):
                along = 1.0 / spread[j] if spread[j] > 0.0 else 0.0
                for k in range(len(L)):
                    V[k, j] *= along
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
            # What is left out is an eigenvector by itself, in its place, of value 1.
            variance = study.values[s, k] + (added if model.spread[k] > 0.0 else 0.0)
            if kind == LDC:
                coef[k] = study.means[c, k] / variance
                total += study.means[c, k] * coef[k]
            else:
                coef[k] = -0.5 / variance
                total += math.log(variance)
        intercept = math.log(moments.counts[c] / n) - 0.5 * total
        linear_scores(coef, intercept, study.Y[s], 0, rows, study.S[c])


@kernel(borrow=True)
def _try_grid(block):
    """Score every grid value on the held-out rows; see `tune_cell`."""
    kind, tuning, held, study = block.kind, block.tuning, block.held, block.study
    model = study.model
    n, rows = held.sizes[FIT_COPIES], held.sizes[HELD_COPIES]
    fitted = held.fit[: held.sizes[FIT_ROWS]]
    add_draw(kind, block.task, block.cell.weight, fitted, model.moments)
    begin_fit(kind, 0.0, n, model)
    take_held(block.task, held, study.XT)
    _decompose(kind, study, n, rows)
    for g in range(len(tuning.grid)):
        if kind == NMC:
            begin_fit(kind, tuning.grid[g], n, model)
            score_columns(kind, model, study.XT, 0, rows, study.S)
        else:
            _score_with_ridge(kind, study, tuning.grid[g] - study.smallest, n, rows)
        score_log_scores(study.S, model.present, held.lo, held.hi, study.room, held.scores[g])


@kernel(glue=True)
def _take_moments(block, n, repetition):
    """List the n rows of a cell, and take their moments."""
    kind, task, cell, moments = block.kind, block.task, block.cell, block.model.moments
    listed = take_rows(task, n, repetition, cell)
    drawn = cell.distinct[: cell.size[0]]
    if task.sampling != ADDITIVE:
        add_draw(kind, task, cell.weight, drawn, moments)
    else:
        if listed == 0:
            forget(moments)
        for row in drawn[listed:]:
            add_row(kind, moments, task.X[row], task.y[row])


@kernel(glue=True)
def _score(block, out):
    """Score the fitted model on every test set; ``out`` is (sets, WIDTH)."""
    kind, columns, model, cell = block.kind, block.columns, block.model, block.cell
    if has_own_columns(cell):
        for c in range(len(model.present)):
            first, stop = cell.begin[c] + model.moments.counts[c], cell.hi[0, c]
            cell.lo[0, c] = first
            score_columns(kind, model, cell.XT, first, stop, cell.F)
    else:
        score_columns(kind, model, columns.XT, 0, columns.XT.shape[1], cell.F)
    score_test_sets(columns, cell, model.present, model.present, score_log_scores, out)


@kernel(borrow=True)
def _run(block):
    """Fill a block."""
    kind, task, tuning, held = block.kind, block.task, block.tuning, block.held
    model, tuned = block.model, block.tuned
    additive, tunes = task.sampling == ADDITIVE, tuned.choices.size > 0
    for r in range(task.stop - task.first):
        repetition = task.first + r
        begin_curve(task, repetition, block.cell)
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            _take_moments(block, n, repetition)
            out = tuned.values[i, r]
            if not tunes:
                fit(kind, tuning.grid[0], additive, n, model)
                _score(block, out)
                continue
            tune_cell(block, n, i, r, _try_grid)
            if not additive:
                take_roots(kind, model)
            for g in range(len(tuning.grid)):
                if is_chosen(held, g):
                    fit(kind, tuning.grid[g], True, n, model)
                    _score(block, held.refit)
                    record(held, g, out)


def gaussian_block(
    kind: int, task: Task, columns: Columns, tuning: Tuning, unit: float, tuned: Tuned
) -> None:
    """Fill the cells of a block.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC` of `lcdb_builders.kernels.gaussian.model`.
    task, columns
        Cells, and where they are scored.
    tuning
        Shrinkages of NMC, ridges of LDC and QDC, and what is chosen from what.
    unit
        The mean within-class variance of training sets that have none.
    tuned
        Filled.
    """
    # All made here, so that the kernel borrows every array and counts no references.
    d = task.X.shape[1]
    held = hold_out_of(task, columns, tuning, tuned)
    most = len(held.rows) if tuned.choices.size > 0 else 0
    block = Block(
        kind=kind,
        task=task,
        columns=columns,
        tuning=tuning,
        model=model_of(kind, task.classes, d, len(task.pool), unit),
        cell=cell_of(task, columns, d),
        held=held,
        study=_study(kind, task, tuning, unit, most),
        tuned=tuned,
    )
    _run(block)
