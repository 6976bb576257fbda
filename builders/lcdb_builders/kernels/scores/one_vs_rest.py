"""One class against the rest: from decision values of test columns to the metrics of a cell.

``F[c, t]`` is the decision value of column t for class c. Two classes in the training set need one
fit, that of the second; the first has opposite decision values. Binary datasets are scored from
decision values for class 1 as they are.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import draw, gather, left_out, weigh
from lcdb_builders.kernels.scores.counts import score_constant
from lcdb_builders.kernels.scores.metrics import room, score_decisions, score_margins

__all__ = [
    "Desk",
    "clear",
    "desk",
    "draw_fresh",
    "fitted_classes",
    "score_constant_sets",
    "score_left_out",
    "score_own_sets",
    "score_side_by_side",
]

#: Workspace of a block: `F`, `packed` (K, columns) decision values; `present` (K,) classes of the
#: training set; `fitted` (K,) those with a model of their own; `counts` (K,) training weight by
#: class; `XT` (d, columns) and `begin` (K,) a repetition's own columns; `lo`, `hi` (1, K) a cell's
#: own test set; `index` (columns,) what it is picked from; `order`, `distinct` (pool,) rows drawn;
#: `weight` (N,) multiplicities, `size` (1,) how many distinct rows there are.
Desk = namedtuple(
    "Desk",
    [
        "F",
        "packed",
        "present",
        "fitted",
        "counts",
        "XT",
        "begin",
        "lo",
        "hi",
        "index",
        "order",
        "distinct",
        "weight",
        "size",
        "room",
    ],
)


@kernel(glue=True)
def desk(task, columns, width):
    """Return the workspace for a block; `width` features of its own columns are kept."""
    size = len(columns.rows)
    classes = task.classes
    own = size if columns.varying else 0
    return Desk(
        np.empty((classes, size)),
        np.empty((classes, own)),
        np.zeros(classes, np.bool_),
        np.zeros(classes, np.bool_),
        np.zeros(classes),
        np.empty((width, own)),
        np.empty(classes, np.int64),
        np.empty((1, classes), np.int64),
        np.empty((1, classes), np.int64),
        np.empty(own, np.int64),
        np.empty(len(task.pool), np.int64),
        np.empty(len(task.pool), np.int64),
        np.zeros(len(task.y), np.int64),
        np.zeros(1, np.int64),
        room(classes, size),
    )


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


@kernel(glue=True)
def clear(cell):
    """Forget the rows of `draw_fresh`."""
    for row in cell.distinct[: cell.size[0]]:
        cell.weight[row] = 0


@kernel(borrow=True)
def _oppose(F, cell, first, stop):
    """Write the decision values of a class without a fit: the opposite of the other class's."""
    fitted = 0
    last = 0
    for c in range(len(F)):
        if cell.fitted[c]:
            fitted += 1
            last = c
    if fitted == 1:
        for c in range(len(F)):
            if cell.present[c] and c != last:
                for t in range(first, stop):
                    F[c, t] = -F[last, t]


@kernel(borrow=True, glue=True)
def _score(F, cell, lo, hi, workspace, out):
    """Score one test set from decision values."""
    present = 0
    only = 0
    for c in range(len(cell.present)):
        if cell.present[c]:
            present += 1
            only = c
    if present == 1:
        score_constant(only, lo, hi, out)
    elif len(cell.present) == 2:
        score_margins(F[1], lo, hi, workspace, out)
    else:
        score_decisions(F, cell.present, lo, hi, workspace, out)


@kernel(borrow=True)
def score_constant_sets(columns, cell, out):
    """Score ``cell.F`` on every constant test set; ``out`` is (sets, WIDTH)."""
    if len(cell.present) > 2:
        _oppose(cell.F, cell, 0, cell.F.shape[1])
    for k in range(len(columns.lo)):
        _score(cell.F, cell, columns.lo[k], columns.hi[k], cell.room, out[k])


@kernel(borrow=True)
def score_own_sets(cell, out):
    """Score ``cell.F`` on the columns ``lo[0]:hi[0]`` of each class."""
    lo = cell.lo[0]
    hi = cell.hi[0]
    if len(cell.present) > 2:
        for c in range(len(lo)):
            _oppose(cell.F, cell, lo[c], hi[c])
    _score(cell.F, cell, lo, hi, cell.room, out[0])


@kernel(borrow=True)
def score_side_by_side(F, cell, lo, hi, workspace, out):
    """Score decision values of columns of another array, all of them between lo and hi."""
    if len(cell.present) > 2:
        _oppose(F, cell, 0, hi[len(hi) - 1])
    _score(F, cell, lo, hi, workspace, out)


@kernel(borrow=True)
def score_left_out(columns, cell, out):
    """Score ``cell.F`` on the columns of rows of weight 0."""
    lo = cell.lo[0]
    hi = cell.hi[0]
    left_out(columns, cell.weight, cell.index, lo, hi)
    size = hi[len(hi) - 1]
    gather(cell.F, cell.fitted, cell.index, size, cell.packed)
    if len(cell.present) > 2:
        _oppose(cell.packed, cell, 0, size)
    _score(cell.packed, cell, lo, hi, cell.room, out[0])
