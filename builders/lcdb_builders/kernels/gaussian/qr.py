"""Triangular factors of scatter matrices, from the rows themselves.

A covariance plus a small ridge has a condition number of millions. Forming it and factoring it
loses that many digits; orthogonal transformations of the rows lose the square root of that.
"""

from __future__ import annotations

import math

from lcdb_builders.kernels.core.jit import kernel

__all__ = ["factor", "insert_row", "invert", "leave_out", "solve", "solve_transposed"]


@kernel(reorder=True, borrow=True)
def insert_row(R, v):
    """Update an upper triangular R so that R'R grows by v v'; overwrites v.

    Plane rotations are backward stable: sums of products are never formed.
    """
    d = len(v)
    for i in range(d):
        x = v[i]
        if x == 0.0:
            continue
        row = R[i]
        diagonal = row[i]
        length = math.sqrt(diagonal * diagonal + x * x)
        cosine, sine = diagonal / length, x / length
        row[i] = length
        for j in range(i + 1, d):
            above = row[j]
            below = v[j]
            row[j] = cosine * above + sine * below
            v[j] = cosine * below - sine * above


@kernel(reorder=True, borrow=True)
def factor(Z, first, stop, n, ridge, units, L):
    """Factor as L L' the products of columns ``Z[j, first:stop]``, over n, plus a ridge.

    The ridge is ``ridge * diag(units**2)``. Householder's method on the columns, extended by those
    of its root times that of n. A change of one column's unit changes its row of L alone.

    Parameters
    ----------
    Z
        (d, at least stop + d), of which ``Z[:, first : stop + d]`` is overwritten; what follows a
        column there need not hold numbers.
    first, stop
        Where the columns begin and end.
    n, ridge, units
        What products are divided by, and what is added: `units` is (d,), 0 for a column to
        `leave_out`.
    L
        (d, d), of which the lower triangle is filled.
    """
    d = len(L)
    end = stop + d
    root = math.sqrt(n * ridge)
    unit = 1.0 / math.sqrt(n)
    for j in range(d):
        column = Z[j]
        for i in range(stop, end):
            column[i] = 0.0
        # A column that is left out is eliminated too: nothing of others stays in its place.
        column[stop + j] = root * units[j] if units[j] > 0.0 else root
    for k in range(d):
        a = first + k
        v = Z[k, a:end]
        squares = 0.0
        for i in range(len(v)):
            squares += v[i] * v[i]
        length = math.sqrt(squares)
        head = v[0]
        # Without a ridge a column may be 0, and stays as it is.
        scale = 1.0 / (length * (length + abs(head))) if length > 0.0 else 0.0
        v[0] = head + length if head >= 0.0 else head - length
        j = k + 1
        while j + 4 <= d:
            _reflect_four(v, scale, Z[j, a:end], Z[j + 1, a:end], Z[j + 2, a:end], Z[j + 3, a:end])
            j += 4
        while j < d:
            _reflect(v, scale, Z[j, a:end])
            j += 1
        for i in range(k):
            L[k, i] = unit * Z[k, first + i]
        L[k, k] = unit * (-length if head >= 0.0 else length)


@kernel(borrow=True)
def leave_out(units, L):
    """Leave columns of unit 0 out of a factor: a variance of 1, and nothing with the others."""
    d = len(L)
    for j in range(d):
        if units[j] == 0.0:  # what reflections have left in there is rounding
            for k in range(d):
                L[j, k] = 0.0
                L[k, j] = 0.0
            L[j, j] = 1.0


@kernel(reorder=True, borrow=True)
def _reflect(v, scale, a):
    """Reflect a column."""
    along = 0.0
    for i in range(len(v)):
        along += v[i] * a[i]
    along *= scale
    for i in range(len(v)):
        a[i] -= along * v[i]


@kernel(reorder=True, borrow=True)
def _reflect_four(v, scale, a, b, c, e):
    """Reflect four columns at once: v is loaded once for them.

    Parameters
    ----------
    v, scale
        Normal of the mirror, and 2 over its squared length.
    a, b, c, e
        The columns.
    """
    sa, sb, sc, se = 0.0, 0.0, 0.0, 0.0
    for i in range(len(v)):
        sa += v[i] * a[i]
        sb += v[i] * b[i]
        sc += v[i] * c[i]
        se += v[i] * e[i]
    sa, sb, sc, se = sa * scale, sb * scale, sc * scale, se * scale
    for i in range(len(v)):
        a[i] -= sa * v[i]
        b[i] -= sb * v[i]
        c[i] -= sc * v[i]
        e[i] -= se * v[i]


@kernel(reorder=True, borrow=True)
def solve(L, b, x):
    """Solve L x = b for a lower triangular L."""
    for i in range(len(b)):
        row = L[i]
        total = b[i]
        for k in range(i):
            total -= row[k] * x[k]
        x[i] = total / row[i]


@kernel(reorder=True, borrow=True)
def solve_transposed(L, b, x):
    """Solve L' x = b for a lower triangular L; b and x may be the same array."""
    for i in range(len(b)):
        x[i] = b[i]
    for i in range(len(b) - 1, -1, -1):
        row = L[i]
        value = x[i] / row[i]
        x[i] = value
        for k in range(i):
            x[k] -= row[k] * value


@kernel(reorder=True, borrow=True)
def invert(L, inverse):
    """Write the inverse of a lower triangular L, lower triangular itself."""
    d = len(inverse)
    for i in range(d):
        row = L[i]
        target = inverse[i]
        for k in range(d):
            target[k] = 0.0
        for m in range(i):
            source = inverse[m]
            weight = row[m]
            for k in range(m + 1):
                target[k] -= weight * source[k]
        reciprocal = 1.0 / row[i]
        for k in range(i):
            target[k] *= reciprocal
        target[i] = reciprocal
