"""One class against the rest: from decision values of test columns to the metrics of a cell.

``F[c, t]`` is the decision value of column t for class c. Two classes in the training set need one
fit, that of the second; the first has opposite decision values. Binary datasets are scored from
decision values for class 1 as they are.
"""

from __future__ import annotations

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import Columns
from lcdb_builders.kernels.scores.cells import cell_of, score_test_sets, take_rows
from lcdb_builders.kernels.scores.counts import score_constant
from lcdb_builders.kernels.scores.metrics import score_decisions, score_margins

__all__ = [
    "count_part",
    "fitted_classes",
    "part_of",
    "score_decided",
    "score_side_by_side",
    "take_classes",
]


@kernel(borrow=True)
def fitted_classes(cell):
    """Find out from `counts` which classes are present and which need a fit.

    One class needs no fit, two need that of the second, more need one each.
    """
    present, last = 0, 0
    for c in range(len(cell.counts)):
        cell.present[c] = cell.counts[c] > 0.0
        cell.fitted[c] = cell.present[c]
        if cell.present[c]:
            present += 1
            last = c
    if present <= 2:
        for c in range(len(cell.counts)):
            cell.fitted[c] = present == 2 and c == last


@kernel(glue=True)
def take_classes(task, n, repetition, cell):
    """List the n rows of a cell, as `take_rows` does, and find out which classes need a fit."""
    listed = take_rows(task, n, repetition, cell)
    if listed == 0:
        cell.counts[:] = 0.0
    for row in cell.distinct[listed : cell.size[0]]:
        cell.counts[task.y[row]] += cell.weight[row]
    fitted_classes(cell)


@kernel(glue=True)
def part_of(task, columns, held):
    """Return the workspace for the part of a cell that it is tuned on, scored on what is held out.

    Its columns are the rows that a `HoldOut` holds out.
    """
    XT, lo, hi = columns.XT, columns.lo, columns.hi
    return cell_of(task, Columns(varying=False, XT=XT, rows=held.rows, lo=lo, hi=hi), 0)


@kernel(glue=True)
def count_part(held, part):
    """Find out which classes need a fit of the rows that are not held out."""
    for c in range(len(part.counts)):
        part.counts[c] = held.counts[c]
    fitted_classes(part)


@kernel(borrow=True)
def score_side_by_side(F, present, lo, hi, workspace, out):
    """Score the decision values of one test set, ``F[c, lo[k]:hi[k]]`` for its rows of class k.

    Where two classes of more are present, those of the first are written.

    Parameters
    ----------
    F
        (K, T) decision values; rows of classes without a fit are not read.
    present
        (K,) bool, classes of the training set.
    lo, hi, workspace, out
        As for `lcdb_builders.kernels.scores.metrics.score_log_scores`.
    """
    classes = len(present)
    count, first, last = 0, classes, 0
    for c in range(classes):
        if present[c]:
            count += 1
            first = min(first, c)
            last = c
    if count == 1:
        score_constant(last, lo, hi, out)
    elif classes == 2:
        score_margins(F[1], lo, hi, workspace, out)
    else:
        for k in range(classes if count == 2 else 0):
            for t in range(lo[k], hi[k]):
                F[first, t] = -F[last, t]
        score_decisions(F, present, lo, hi, workspace, out)


@kernel(borrow=True)
def score_decided(columns, cell, out):
    """Score decision values ``cell.F`` on every test set; ``out`` is (sets, WIDTH)."""
    score_test_sets(columns, cell, cell.present, cell.fitted, score_side_by_side, out)
