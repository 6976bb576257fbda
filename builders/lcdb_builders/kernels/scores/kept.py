"""What was said of each test row, kept behind the numbers of its cell.

The numbers of a cell go to ``out[:WIDTH]``. Where `out` is longer than that, the scoring functions
write behind them what the metrics saw of the T test rows, class after class as in ``lo[c]:hi[c]``:

=============  ======  =============================================================================
labels         (T,)    class codes, as floats
probabilities  (K, T)  before they are clipped; exactly 0 for classes absent from training
ranks          (K, T)  what the AUC ranks by, before it is rounded; all equal for absent classes
=============  ======  =============================================================================

So predictions come from the very code that made the stored numbers. Builds ask for no predictions,
and pay one comparison per run of rows.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.elementary import exp_nonpositive
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.losses import GUESS, LARGEST, LEAD, REST, TIED, TOP

__all__ = [
    "keep_constant",
    "keep_group",
    "keep_margins",
    "keep_probabilities",
    "keep_softmax",
    "kept_width",
]


def kept_width(classes: int, rows: int) -> int:
    """Return the length of `out` that keeps so many test rows.

    Examples
    --------
    >>> kept_width(3, 45)
    320
    """
    return WIDTH + (1 + 2 * classes) * rows


@kernel(borrow=True)
def keep_margins(margin, a, b, rows, out):
    """Keep columns a:b of two classes, from s_1 - s_0.

    Parameters
    ----------
    margin
        Exactly 0 where the scores are tied.
    a, b, rows
        Which columns, of how many.
    out
        The numbers of the cell, and what is kept behind them.
    """
    label = out[WIDTH:]
    zero, one = label[rows:], label[2 * rows :]
    against, towards = label[3 * rows :], label[4 * rows :]
    for i in range(a, b):
        f = margin[i]
        small = exp_nonpositive(-abs(f))
        large_share = 1.0 / (1.0 + small)
        small_share = small * large_share
        label[i] = 1.0 if f > 0.0 else 0.0
        zero[i] = small_share if f > 0.0 else large_share
        one[i] = large_share if f > 0.0 else small_share
        against[i] = -f
        towards[i] = f


@kernel(borrow=True)
def keep_softmax(odds, classes, powers, work, a, b, rows, out):
    """Keep columns a:b after `softmax_losses`, from what it has left in its workspace.

    Parameters
    ----------
    odds
        (K, columns) class log-odds.
    classes
        Present classes, ascending.
    powers, work
        Its workspace, `powers` and `rows`.
    a, b, rows, out
        As for `keep_margins`.
    """
    count = len(odds)
    label = out[WIDTH:]
    for i in range(b - a):
        label[a + i] = work[GUESS, i]
    for c in range(count):
        share = label[(1 + c) * rows :]
        rank = label[(1 + count + c) * rows :]
        for i in range(a, b):
            share[i] = 0.0
            rank[i] = -np.inf
    for c in classes:
        share = label[(1 + c) * rows :]
        rank = label[(1 + count + c) * rows :]
        for i in range(b - a):
            of_top = 1.0 / (1.0 + work[REST, i] * work[LEAD, i])
            scale = work[LEAD, i] * of_top
            share[a + i] = of_top if work[TOP, i] == float(c) else powers[c, i] * scale
            rank[a + i] = odds[c, a + i]


@kernel(borrow=True)
def keep_group(p, i, rows, out):
    """Keep a row of a group with the (K,) probabilities `p`."""
    best = p[0]
    for c in range(1, len(p)):
        best = max(best, p[c])
    best -= TIED * (1.0 + best)
    label = out[WIDTH:]
    for c in range(len(p) - 1, -1, -1):
        share = p[c]
        if share >= best:
            label[i] = float(c)
        label[(1 + c) * rows + i] = share
        label[(1 + len(p) + c) * rows + i] = share / (1.0 - share) if share < 1.0 else LARGEST


@kernel(borrow=True)
def keep_probabilities(p, a, b, rows, out):
    """Keep columns a:b, from their (K, columns) probabilities."""
    for i in range(a, b):
        keep_group(p[:, i], i, rows, out)


@kernel(borrow=True)
def keep_constant(c, classes, rows, out):
    """Keep rows of which all is said to be class c."""
    for i in range(WIDTH, WIDTH + (1 + 2 * classes) * rows):
        out[i] = 0.0
    label = out[WIDTH:]
    share = label[(1 + c) * rows :]
    for i in range(rows):
        label[i] = float(c)
        share[i] = 1.0
