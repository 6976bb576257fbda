"""The Gaussian kernel between all rows of a dataset, and sums of its rows."""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.elementary import exp_nonpositive, fma
from lcdb_builders.kernels.core.jit import kernel

__all__ = ["add_rows", "gaussian_gram"]


@kernel
def gaussian_gram(X, gamma, out):
    """Fill ``out`` (N, N) with exp(-gamma |x - z|²) of all pairs of rows of X (N, d).

    Distances are summed in feature order, so copies of a row have exactly the same kernel values.
    """
    rows, features = X.shape
    XT = X.T.copy()
    distance = np.empty(rows)
    for i in range(rows):
        distance[:] = 0.0
        for j in range(features):
            column = XT[j]
            x = X[i, j]
            for r in range(rows):
                gap = column[r] - x
                distance[r] += gap * gap
        row = out[i]
        for r in range(rows):
            row[r] = exp_nonpositive(-gamma * distance[r])


@kernel(borrow=True)
def _add_four(a, b, c, d, s, t, u, v, out):
    """Add four rows, each times a number, to `out`, in that order.

    Parameters
    ----------
    a, b, c, d
        Rows of the kernel.
    s, t, u, v
        Numbers.
    out
        Added to.
    """
    for r in range(len(out)):
        out[r] = fma(v, d[r], fma(u, c[r], fma(t, b[r], fma(s, a[r], out[r]))))


@kernel(borrow=True)
def _add_one(a, s, out):
    for r in range(len(out)):
        out[r] = fma(s, a[r], out[r])


@kernel
def add_rows(gram, rows, factors, count, out):
    """Add to ``out`` the sum of factor times row of the Gram matrix, four rows at a time.

    Every number is summed in the same order, so copies of a row stay equal.
    """
    i = 0
    while i + 4 <= count:
        _add_four(
            gram[rows[i]],
            gram[rows[i + 1]],
            gram[rows[i + 2]],
            gram[rows[i + 3]],
            factors[i],
            factors[i + 1],
            factors[i + 2],
            factors[i + 3],
            out,
        )
        i += 4
    while i < count:
        _add_one(gram[rows[i]], factors[i], out)
        i += 1
