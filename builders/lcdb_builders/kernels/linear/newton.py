"""Pieces of Newton's method for sums of convex losses of linear scores.

Rows stand along the last axis: ``XT[j, r]`` is feature j of row r. The last coordinate of
``theta`` is the intercept, whose feature is 1 and is not stored. Passes go over the rows in runs
that stay in the cache.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.elementary import exp_nonpositive, log_sigmoid
from lcdb_builders.kernels.core.jit import kernel

__all__ = [
    "LEAST_PIVOT",
    "Problem",
    "add_outer",
    "add_products",
    "add_weighted_gram",
    "cholesky",
    "cholesky_solve",
    "fill_scores",
    "logistic_pass",
    "multiply_lower",
    "quadratic",
    "scratch_of",
]

# Rows per run: 17 features of so many rows are 70 kB.
RUN = 512
LEAST_PIVOT = 1e-15

#: What is to be minimised: the loss of the first `n` columns of `XT` (d, rows), of classes `sign`
#: (rows,), +1 or -1, and weights `weight` (rows,), plus half of theta' P theta. Of the penalty `P`
#: (p, p) the lower triangle is used; `root` is its square root: root' root = P. `price` is the
#: factor of the squared hinge.
Problem = namedtuple("Problem", "XT n sign weight P root price")

#: Workspace of a solver, made once for many fits: `rows` (4, n) and `vectors` (5, p), whose places
#: each solver names by what it keeps there, a Hessian `H` and its factor `L` (p, p).
Scratch = namedtuple("Scratch", "rows vectors H L")


@kernel(glue=True)
def scratch_of(p, n):
    """Return the workspace for p coefficients and at most n rows."""
    return Scratch(
        rows=np.empty((4, n)), vectors=np.empty((5, p)), H=np.empty((p, p)), L=np.zeros((p, p))
    )


@kernel(reorder=True, borrow=True)
def fill_scores(XT, first, stop, theta, z):
    """Fill ``z[first:stop]`` with the scores of those rows."""
    d = len(theta) - 1
    b = theta[d]
    out = z[first:stop]
    size = stop - first
    for r in range(size):
        out[r] = b
    j = 0
    while j + 4 <= d:
        x0 = XT[j, first:stop]
        x1 = XT[j + 1, first:stop]
        x2 = XT[j + 2, first:stop]
        x3 = XT[j + 3, first:stop]
        t0, t1, t2, t3 = theta[j], theta[j + 1], theta[j + 2], theta[j + 3]
        for r in range(size):
            out[r] += t0 * x0[r] + t1 * x1[r] + t2 * x2[r] + t3 * x3[r]
        j += 4
    while j < d:
        x0 = XT[j, first:stop]
        t0 = theta[j]
        for r in range(size):
            out[r] += t0 * x0[r]
        j += 1


@kernel(reorder=True, inline=True, borrow=True)
def _add_sums(XT, first, stop, values, features, out):
    """Add to ``out`` the sums over rows of value times feature, for the first few features.

    Parameters
    ----------
    XT
        (d, rows) features.
    first, stop
        Which rows.
    values
        (stop - first or more,) their values, from the first on.
    features
        How many features.
    out
        (features or more,), added to.
    """
    v = values[: stop - first]
    j = 0
    while j + 4 <= features:
        x0 = XT[j, first:stop]
        x1 = XT[j + 1, first:stop]
        x2 = XT[j + 2, first:stop]
        x3 = XT[j + 3, first:stop]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for r in range(len(v)):
            s0 += v[r] * x0[r]
            s1 += v[r] * x1[r]
            s2 += v[r] * x2[r]
            s3 += v[r] * x3[r]
        out[j] += s0
        out[j + 1] += s1
        out[j + 2] += s2
        out[j + 3] += s3
        j += 4
    while j < features:
        x0 = XT[j, first:stop]
        s0 = 0.0
        for r in range(len(v)):
            s0 += v[r] * x0[r]
        out[j] += s0
        j += 1


@kernel(reorder=True, borrow=True)
def add_products(XT, first, stop, values, out):
    """Add to ``out`` the sum over rows of value times (features, 1)."""
    d = len(out) - 1
    v = values[first:stop]
    _add_sums(XT, first, stop, v, d, out)
    total = 0.0
    for r in range(len(v)):
        total += v[r]
    out[d] += total


@kernel(reorder=True, borrow=True)
def _slopes(first, stop, sign, weight, z, slope, curve):
    """Fill first and second derivatives of the log loss of rows.

    Parameters
    ----------
    first, stop
        Which rows.
    sign, weight, z
        (rows,) their classes, +1 or -1, their weights and scores.
    slope, curve
        (rows,), filled for these rows.

    Returns
    -------
    float
        The sum of the slopes' sizes. A row's log loss is at least the probability of its wrong
        class, the size of its slope.
    """
    zs, t, w = z[first:stop], sign[first:stop], weight[first:stop]
    g, h = slope[first:stop], curve[first:stop]
    least = 0.0
    for r in range(stop - first):
        margin = t[r] * zs[r]
        small = exp_nonpositive(-abs(margin))
        large = 1.0 / (1.0 + small)
        wrong = w[r] * (small * large if margin > 0.0 else large)
        g[r] = -t[r] * wrong
        h[r] = w[r] * small * large * large
        least += wrong
    return least


@kernel(reorder=True, borrow=True)
def _log_loss(first, stop, sign, weight, z):
    """Sum of log losses, to relative accuracy even where every row is far on its right side."""
    zs, t, w = z[first:stop], sign[first:stop], weight[first:stop]
    total = 0.0
    for r in range(stop - first):
        total -= w[r] * log_sigmoid(t[r] * zs[r])
    return total


@kernel(glue=True)
def logistic_pass(problem, theta, want_loss, z, slope, curve, gradient):
    """Scores, derivatives and gradient of the log loss, without the penalty.

    All in one pass over runs of rows, while their features are in the cache.

    Parameters
    ----------
    problem
        A `Problem`.
    theta
        Coefficients and intercept.
    want_loss
        Whether to sum the loss; a lower bound of it comes for free.
    z, slope, curve
        (rows,), filled with scores and with both derivatives of each row's loss.
    gradient
        (p,), filled with the gradient.

    Returns
    -------
    float
        The loss, or a lower bound of it: the sum of probabilities of wrong classes.
    """
    XT, n, sign, weight = problem.XT, problem.n, problem.sign, problem.weight
    gradient[:] = 0.0
    least = 0.0
    loss = 0.0
    first = 0
    while first < n:
        stop = min(n, first + RUN)
        fill_scores(XT, first, stop, theta, z)
        least += _slopes(first, stop, sign, weight, z, slope, curve)
        if want_loss:
            loss += _log_loss(first, stop, sign, weight, z)
        add_products(XT, first, stop, slope, gradient)
        first = stop
    return loss if want_loss else least


@kernel(reorder=True, borrow=True)
def add_weighted_gram(XT, n, weight, weighted, H):
    """Add to the lower triangle of H the sum over rows of weight times (x, 1)(x, 1)'.

    In ``weighted`` there is room for a feature of a run of rows, times their weights.
    """
    d = len(H) - 1
    first = 0
    while first < n:
        stop = min(n, first + RUN)
        size = stop - first
        w = weight[first:stop]
        s = weighted[:size]
        for i in range(d):
            x = XT[i, first:stop]
            for r in range(size):
                s[r] = w[r] * x[r]
            _add_sums(XT, first, stop, s, i + 1, H[i])
        _add_sums(XT, first, stop, w, d, H[d])
        total = 0.0
        for r in range(size):
            total += w[r]
        H[d, d] += total
        first = stop


@kernel(reorder=True, borrow=True)
def add_outer(H, x, weight):
    """Add ``weight * x x'`` to the lower triangle of H."""
    for i in range(len(x)):
        row = H[i]
        value = weight * x[i]
        for j in range(i + 1):
            row[j] += value * x[j]


@kernel(reorder=True, borrow=True)
def multiply_lower(H, x, out):
    """Fill ``out`` with H x from the lower triangle of H."""
    for i in range(len(x)):
        row = H[i]
        total = row[i] * x[i]
        for j in range(i):
            total += row[j] * x[j]
            out[j] += row[j] * x[i]
        out[i] = total


@kernel(reorder=True, borrow=True)
def quadratic(H, x):
    """Return x'Hx from the lower triangle of H."""
    total = 0.0
    for i in range(len(x)):
        row = H[i]
        below = 0.0
        for j in range(i):
            below += row[j] * x[j]
        total += x[i] * (2.0 * below + row[i] * x[i])
    return total


@kernel(reorder=True, borrow=True)
def cholesky(H, L, scale):
    """Factor H, scaled to a unit diagonal, as L L' from its lower triangle; fill `scale` (p,).

    A pivot that rounding has eaten is raised to what rounding leaves, so that steps in directions
    of which nothing is known stay finite.

    Returns
    -------
    float
        The smallest pivot: the share of a diagonal entry that the others do not explain.
    """
    p = H.shape[0]
    smallest = 1.0
    for i in range(p):
        scale[i] = 1.0 / np.sqrt(H[i, i]) if H[i, i] > 0.0 else 1.0
    for i in range(p):
        row = L[i]
        for j in range(i + 1):
            other = L[j]
            total = H[i, j] * scale[i] * scale[j]
            for k in range(j):
                total -= other[k] * row[k]
            if j < i:
                row[j] = total / other[j]
            else:
                smallest = min(smallest, total)
                row[i] = np.sqrt(max(total, LEAST_PIVOT))
    return smallest


@kernel(reorder=True, borrow=True)
def cholesky_solve(L, scale, b, x):
    """Solve H x = b with the factor and the scale of `cholesky`."""
    p = len(b)
    for i in range(p):
        row = L[i]
        total = b[i] * scale[i]
        for k in range(i):
            total -= row[k] * x[k]
        x[i] = total / row[i]
    for i in range(p - 1, -1, -1):
        total = x[i] / L[i, i]
        x[i] = total
        row = L[i]
        for k in range(i):
            x[k] -= row[k] * total
    for i in range(p):
        x[i] *= scale[i]
