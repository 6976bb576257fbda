"""All ridges from one decomposition: the eigenvectors of a matrix from its triangular factor.

One-sided Jacobi rotations make the columns of a factor orthogonal. The factor is never squared, so
small eigenvalues keep the digits that its columns have, down to the smallest ridge.
"""

from __future__ import annotations

import math

from lcdb_builders.kernels.core.jit import kernel

__all__ = ["diagonalise", "rotate_columns"]

# Columns whose cosine is smaller are orthogonal; rotations converge quadratically below 1e-4.
COSINE = 1e-14
SWEEPS = 30


@kernel(reorder=True, borrow=True)
def _dot(a, b):
    """Return the sum of products."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel(reorder=True, borrow=True)
def _rotate(a, b, cosine, sine):
    """Rotate two rows in their plane."""
    for i in range(len(a)):
        above = a[i]
        below = b[i]
        a[i] = cosine * above - sine * below
        b[i] = sine * above + cosine * below


@kernel(borrow=True)
def diagonalise(L, V, values):
    """Find the eigenvectors and eigenvalues of L L'.

    Parameters
    ----------
    L
        Lower triangular, of full rank.
    V
        Filled with eigenvectors, one in each row.
    values
        Filled with their eigenvalues.
    """
    d = len(L)
    for i in range(d):
        for k in range(d):
            V[k, i] = L[i, k] if k <= i else 0.0
    for _ in range(SWEEPS):
        for k in range(d):
            values[k] = _dot(V[k], V[k])
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                along = _dot(V[p], V[q])
                # Of each: where features are huge their product is no number.
                if abs(along) <= COSINE * math.sqrt(values[p]) * math.sqrt(values[q]):
                    continue
                rotated = True
                zeta = (values[q] - values[p]) / (2.0 * along)
                root = math.sqrt(1.0 + zeta * zeta)
                tangent = 1.0 / (zeta + root) if zeta >= 0.0 else 1.0 / (zeta - root)
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                _rotate(V[p], V[q], cosine, cosine * tangent)
                values[p] -= tangent * along
                values[q] += tangent * along
        if not rotated:
            break
    for k in range(d):
        length = math.sqrt(_dot(V[k], V[k]))
        values[k] = length * length
        for i in range(d):
            V[k, i] /= length


@kernel(reorder=True, borrow=True)
def rotate_columns(V, XT, centre, stop, Y):
    """Write the coordinates of the columns ``XT[:, :stop]`` less a centre along the rows of V."""
    d = len(V)
    for k in range(d):
        y = Y[k, :stop]
        v = V[k]
        for t in range(stop):
            y[t] = v[0] * (XT[0, t] - centre[0])
        for j in range(1, d):
            x = XT[j, :stop]
            m = centre[j]
            w = v[j]
            for t in range(stop):
                y[t] += w * (x[t] - m)
