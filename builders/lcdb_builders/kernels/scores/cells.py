"""A cell in hand: its training rows, the columns that it is scored on, and room for its scores.

Models that are scored by a row of numbers for each class share it: log scores or decision values.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, draw, gather, left_out, regroup, weigh
from lcdb_builders.kernels.core.simd import fma
from lcdb_builders.kernels.scores.metrics import room

__all__ = [
    "Cell",
    "begin_curve",
    "cell_of",
    "clear",
    "has_own_columns",
    "linear_scores",
    "score_test_sets",
    "take_rows",
]

#: Workspace of a block: `F`, `packed` (K, columns) scores; `present` (K,) classes of the training
#: set; `fitted` (K,) those with a model of their own; `counts` (K,) training weight by class; `XT`
#: (d, columns) and `begin` (K,) a repetition's own columns; `lo`, `hi` (1, K) a cell's own test
#: set; `index` (columns,) what it is picked from; `order`, `distinct` (pool,) rows drawn; `weight`
#: (N,) multiplicities, `size` (1,) how many distinct rows there are; `room` to score them.
Cell = namedtuple(
    "Cell",
    "F packed present fitted counts XT begin lo hi index order distinct weight size room",
)


@kernel(glue=True)
def cell_of(task, columns, width):
    """Return the workspace for a block; `width` features are kept of an additive curve's columns.

    With none these are scored as any others, where they stand.
    """
    size = len(columns.rows)
    classes = task.classes
    parted = size if columns.varying else 0
    own = parted if task.sampling == ADDITIVE else 0
    return Cell(
        F=np.empty((classes, size)),
        packed=np.empty((classes, parted)),
        present=np.zeros(classes, np.bool_),
        fitted=np.zeros(classes, np.bool_),
        counts=np.zeros(classes),
        XT=np.empty((width, own)),
        begin=np.empty(classes, np.int64),
        lo=np.empty((1, classes), np.int64),
        hi=np.empty((1, classes), np.int64),
        index=np.empty(parted, np.int64),
        order=np.empty(len(task.pool), np.int64),
        distinct=np.empty(len(task.pool), np.int64),
        weight=np.zeros(len(task.y), np.int64),
        size=np.zeros(1, np.int64),
        room=room(classes, size),
    )


@kernel(inline=True, borrow=True)
def has_own_columns(cell):
    """Whether test rows stand in the order in which the repetition draws them, class by class."""
    return cell.XT.size > 0


@kernel(glue=True)
def clear(cell):
    """Forget the rows that are listed."""
    for row in cell.distinct[: cell.size[0]]:
        cell.weight[row] = 0
    cell.size[0] = 0


@kernel(glue=True)
def begin_curve(task, repetition, cell):
    """Start an additive curve: draw its order, from which no row is taken yet."""
    if task.sampling == ADDITIVE:
        clear(cell)
        draw(task, 0, repetition, cell.order)
        if has_own_columns(cell):
            regroup(task, cell.order, cell.XT, cell.begin, cell.hi[0], cell.lo[0])


@kernel(glue=True)
def take_rows(task, n, repetition, cell):
    """List the n rows of a cell with their weights.

    Returns how many of them were listed before: along additive curves those of the size before.
    """
    listed = cell.size[0]
    if task.sampling == ADDITIVE:
        for i in range(listed, n):
            row = cell.order[i]
            cell.distinct[i] = row
            cell.weight[row] = 1
        cell.size[0] = n
    else:
        listed = 0
        clear(cell)
        draw(task, n, repetition, cell.order)
        cell.size[0] = weigh(cell.order[:n], cell.weight, cell.distinct)
    return listed


@kernel(inline=True, borrow=True)
def linear_scores(coef, intercept, XT, first, size, s):
    """Fill ``s[:size]`` with an intercept plus weighted columns from `first`, in feature order.

    Parameters
    ----------
    coef, intercept
        (d,) weights of features, and what is added to their sum.
    XT
        (at least d, columns) features.
    first, size
        The first column, and how many.
    s
        Filled.
    """
    d = len(coef)
    a, size = np.uint64(first), np.uint64(size)
    for i in range(size):
        s[i] = intercept
    j = 0
    while j + 4 <= d:
        x0, x1, x2, x3 = XT[j], XT[j + 1], XT[j + 2], XT[j + 3]
        c0, c1, c2, c3 = coef[j], coef[j + 1], coef[j + 2], coef[j + 3]
        for i in range(size):
            value = fma(c1, x1[a + i], fma(c0, x0[a + i], s[i]))
            s[i] = fma(c3, x3[a + i], fma(c2, x2[a + i], value))
        j += 4
    while j < d:
        x0 = XT[j]
        c0 = coef[j]
        for i in range(size):
            s[i] = fma(c0, x0[a + i], s[i])
        j += 1


@kernel(glue=True)
def score_test_sets(columns, cell, present, scored, score, out):
    """Score ``cell.F`` on every test set; ``out`` is (sets, WIDTH).

    Parameters
    ----------
    columns, cell
        The columns, and the cell with its rows and scores; if columns are the repetition's own, the
        test set is ``lo[0]:hi[0]``.
    present, scored
        (K,) classes of the training set, and those that `F` has scores of.
    score
        ``score(F, present, lo, hi, room, out)`` scores one test set.
    out
        Filled.
    """
    lo, hi = cell.lo[0], cell.hi[0]
    if not columns.varying:
        for k in range(len(columns.lo)):
            score(cell.F, present, columns.lo[k], columns.hi[k], cell.room, out[k])
    elif has_own_columns(cell):
        score(cell.F, present, lo, hi, cell.room, out[0])
    else:
        left_out(columns, cell.weight, cell.index, lo, hi)
        gather(cell.F, scored, cell.index, hi[len(hi) - 1], cell.packed)
        score(cell.packed, present, lo, hi, cell.room, out[0])
