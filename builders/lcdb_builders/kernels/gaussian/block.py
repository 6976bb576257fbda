"""Whole blocks of NMC, LDC and QDC: cells in, metrics out.

Additive training sets grow row by row; all rows up to n are added whatever the sizes of the block,
so a cell's numbers do not depend on which other cells are computed with it.
"""

from __future__ import annotations

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
from lcdb_builders.kernels.gaussian.model import fit, model_of, score_columns
from lcdb_builders.kernels.gaussian.moments import add_draw, add_row, forget
from lcdb_builders.kernels.scores.cells import cell_of, clear
from lcdb_builders.kernels.scores.metrics import score_log_scores

__all__ = ["begin_repetition", "gaussian_block", "score_test_sets", "take_rows"]


@kernel(glue=True)
def begin_repetition(task, columns, repetition, model, cell):
    """Start an additive curve: draw its order, from which no row is taken yet."""
    if task.sampling == ADDITIVE:
        clear(cell)
        forget(model.moments)
        draw(task, 0, repetition, cell.order)
        if columns.varying:
            regroup(task, cell.order, cell.XT, cell.begin, cell.hi[0], cell.lo[0])


@kernel(glue=True)
def take_rows(kind, task, n, repetition, model, cell):
    """List the n rows of a cell with their weights, and take their moments.

    Parameters
    ----------
    kind
        `NMC`, `LDC` or `QDC`.
    task, n, repetition
        The cell; along an additive curve the rows before are taken already.
    model, cell
        Moments, and rows; both are written.
    """
    if task.sampling == ADDITIVE:
        for i in range(cell.size[0], n):
            row = cell.order[i]
            cell.distinct[i] = row
            cell.weight[row] = 1
            add_row(kind, model.moments, task.X[row], task.y[row])
        cell.size[0] = n
    else:
        clear(cell)
        draw(task, n, repetition, cell.order)
        cell.size[0] = weigh(cell.order[:n], cell.weight, cell.distinct)
        add_draw(kind, task, cell.weight, cell.distinct[: cell.size[0]], model.moments)


@kernel(glue=True)
def score_test_sets(kind, task, columns, model, cell, out):
    """Score a fitted model on every test set; ``out`` is (sets, WIDTH)."""
    lo, hi = cell.lo[0], cell.hi[0]
    if columns.varying and task.sampling == ADDITIVE:
        # The repetition's own columns are in the order in which they are drawn.
        for c in range(task.classes):
            lo[c] = cell.begin[c] + model.moments.counts[c]
            score_columns(kind, model, cell.XT, lo[c], hi[c], cell.F)
        score_log_scores(cell.F, model.present, lo, hi, cell.room, out[0])
        return
    score_columns(kind, model, columns.XT, 0, columns.XT.shape[1], cell.F)
    if columns.varying:
        left_out(columns, cell.weight, cell.index, lo, hi)
        gather(cell.F, model.present, cell.index, hi[len(hi) - 1], cell.packed)
        score_log_scores(cell.packed, model.present, lo, hi, cell.room, out[0])
    else:
        for k in range(len(columns.lo)):
            score_log_scores(cell.F, model.present, columns.lo[k], columns.hi[k], cell.room, out[k])


@kernel(borrow=True)
def _run(kind, parameter, task, columns, model, cell, out):
    """Fill a block: `model` and `cell` are workspace, the rest is as of `gaussian_block`."""
    for r in range(task.stop - task.first):
        repetition = task.first + r
        begin_repetition(task, columns, repetition, model, cell)
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            take_rows(kind, task, n, repetition, model, cell)
            fit(kind, parameter, task.sampling == ADDITIVE, n, model)
            score_test_sets(kind, task, columns, model, cell, out[i, r])


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
    model = model_of(kind, task.classes, d, len(task.pool), unit)
    _run(kind, parameter, task, columns, model, cell_of(task, columns, d), out)
