"""One class against the rest: from decision values of test columns to the metrics of a cell.

``F[c, t]`` is the decision value of column t for class c. Two classes in the training set need one
fit, that of the second; the first has opposite decision values. Binary datasets are scored from
decision values for class 1 as they are.
"""

from __future__ import annotations

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import draw, gather, left_out, weigh
from lcdb_builders.kernels.scores.counts import score_constant
from lcdb_builders.kernels.scores.metrics import score_decisions, score_margins

__all__ = [
    "draw_fresh",
    "fitted_classes",
    "score_constant_sets",
    "score_left_out",
    "score_own_sets",
    "score_side_by_side",
]


@kernel(borrow=True)
def fitted_classes(cell):
    """Find out from `counts` which classes are present and which need a fit; return how many are.

    One class needs no fit, two need that of the second, more need one each.
    """
    present = 0
    last = 0
    for c in range(len(cell.counts)):
        cell.present[c] = cell.counts[c] > 0.0
        cell.fitted[c] = cell.present[c]
        if cell.present[c]:
            present += 1
            last = c
    if present <= 2:
        for c in range(len(cell.counts)):
            cell.fitted[c] = present == 2 and c == last
    return present


@kernel(glue=True)
def draw_fresh(task, n, repetition, cell):
    """Draw a cell's rows into `distinct` and `weight`, count classes; return how many rows."""
    draw(task, n, repetition, cell.order)
    size = weigh(cell.order[:n], cell.weight, cell.distinct)
    cell.counts[:] = 0.0
    for row in cell.distinct[:size]:
        cell.counts[task.y[row]] += cell.weight[row]
    cell.size[0] = size
    fitted_classes(cell)
    return size


@kernel(borrow=True)
def score_side_by_side(F, cell, lo, hi, workspace, out):
    """Score the decision values of one test set, ``F[c, lo[k]:hi[k]]`` for its rows of class k.

    Where two classes of more are present, those of the first are written.
    """
    classes = len(cell.present)
    present, first, last = 0, classes, 0
    for c in range(classes):
        if cell.present[c]:
            present += 1
            first = min(first, c)
            last = c
    if present == 1:
        score_constant(last, lo, hi, out)
    elif classes == 2:
        score_margins(F[1], lo, hi, workspace, out)
    else:
        for k in range(classes if present == 2 else 0):
            for t in range(lo[k], hi[k]):
                F[first, t] = -F[last, t]
        score_decisions(F, cell.present, lo, hi, workspace, out)


@kernel(borrow=True)
def score_constant_sets(columns, cell, out):
    """Score ``cell.F`` on every constant test set; ``out`` is (sets, WIDTH)."""
    for k in range(len(columns.lo)):
        score_side_by_side(cell.F, cell, columns.lo[k], columns.hi[k], cell.room, out[k])


@kernel(borrow=True)
def score_own_sets(cell, out):
    """Score ``cell.F`` on the columns ``lo[0]:hi[0]`` of each class."""
    score_side_by_side(cell.F, cell, cell.lo[0], cell.hi[0], cell.room, out[0])


@kernel(borrow=True)
def score_left_out(columns, cell, out):
    """Score ``cell.F`` on the columns of rows of weight 0."""
    lo, hi = cell.lo[0], cell.hi[0]
    left_out(columns, cell.weight, cell.index, lo, hi)
    gather(cell.F, cell.fitted, cell.index, hi[len(hi) - 1], cell.packed)
    score_side_by_side(cell.packed, cell, lo, hi, cell.room, out[0])
