"""The Gaussian kernel between all rows of a dataset, and sums of its rows.

A row of the kernel is computed when it is first needed, and kept where there is room; the others
are computed again whenever they are needed. Numbers are the same either way.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.elementary import exp_nonpositive
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import fma

__all__ = ["Gram", "add_kernel_rows", "add_rows", "gram_of", "place_of"]

# Rows of the kernel that are summed at a time.
TOGETHER = 4

#: The kernel of N rows: their features `XT` (d, N), and `gamma`; by row, its `place` (N,) in the
#: `table` or -1; how many are `kept` (1,). The last rows of the table, as many as are summed at a
#: time, are for those that find no place.
Gram = namedtuple("Gram", ["XT", "gamma", "place", "kept", "table"])


def gram_of(X: np.ndarray, gamma: float, most_bytes: float = np.inf) -> Gram:
    """Return the kernel of rows, of which at most so many bytes are kept."""
    rows = len(X)
    places = int(min(rows, most_bytes // (8 * rows)))
    return Gram(
        XT=np.ascontiguousarray(X.T),
        gamma=gamma,
        place=np.full(rows, -1),
        kept=np.zeros(1, np.int64),
        table=np.empty((places + TOGETHER, rows)),
    )


@kernel(borrow=True)
def _fill(XT, gamma, row, out):
    """Fill `out` (N,) with exp(-gamma |x - z|²) of a row and all rows.

    Distances are summed in feature order, so copies of a row have exactly the same kernel values.
    """
    for r in range(len(out)):
        out[r] = 0.0
    for j in range(len(XT)):
        column = XT[j]
        x = column[row]
        for r in range(len(out)):
            difference = column[r] - x
            out[r] += difference * difference
    for r in range(len(out)):
        out[r] = exp_nonpositive(-gamma * out[r])


@kernel(borrow=True)
def place_of(gram, row, spare):
    """Return where in the table a row of the kernel is.

    One that gets no place of its own stays until the next with the same `spare`, from 0 to 3.
    """
    place = gram.place[row]
    if place < 0:
        places = len(gram.table) - TOGETHER
        place = places + spare
        if gram.kept[0] < places:
            place = gram.kept[0]
            gram.kept[0] += 1
            gram.place[row] = place
        _fill(gram.XT, gram.gamma, row, gram.table[place])
    return place


@kernel(borrow=True)
def _add_four(matrix, rows, factors, out):
    """Add four rows, each times a number, to `out`, in that order."""
    a, b, c, d = matrix[rows[0]], matrix[rows[1]], matrix[rows[2]], matrix[rows[3]]
    s, t, u, v = factors[0], factors[1], factors[2], factors[3]
    for r in range(len(out)):
        out[r] = fma(v, d[r], fma(u, c[r], fma(t, b[r], fma(s, a[r], out[r]))))


@kernel(borrow=True)
def _add_one(a, s, out):
    for r in range(len(out)):
        out[r] = fma(s, a[r], out[r])


@kernel
def add_rows(matrix, rows, factors, count, out):
    """Add to ``out`` the sum of factor times row of a matrix, four rows at a time.

    Every number is summed in the same order, so copies of a row stay equal.
    """
    i = 0
    while i + 4 <= count:
        _add_four(matrix, rows[i:], factors[i:], out)
        i += 4
    while i < count:
        _add_one(matrix[rows[i]], factors[i], out)
        i += 1


@kernel
def add_kernel_rows(gram, rows, factors, count, out):
    """Add to ``out`` the sum of factor times row of the kernel, as `add_rows` does."""
    places = np.empty(TOGETHER, np.int64)
    for first in range(0, count, TOGETHER):
        some = min(TOGETHER, count - first)
        for k in range(some):
            places[k] = place_of(gram, rows[first + k], k)
        add_rows(gram.table, places, factors[first : first + some], some, out)
