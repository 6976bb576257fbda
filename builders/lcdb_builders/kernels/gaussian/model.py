"""NMC, LDC and QDC: a Gaussian per class, fitted to moments and scored on columns.

A fit factors the covariance and ridge afresh for each n: the ridge of a feature changes with its
within-class variance v over all classes. In features over √v it is λ I, so that no score of LDC and
QDC depends on origin and unit of a feature. The scores of a row do not depend on where it stands.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import fma
from lcdb_builders.kernels.gaussian.moments import (
    LDC,
    NMC,
    QDC,
    columns_of,
    moments_of,
    overall_mean,
)
from lcdb_builders.kernels.gaussian.qr import (
    factor,
    invert,
    leave_out,
    solve,
    solve_transposed,
)
from lcdb_builders.kernels.scores.cells import linear_scores
from lcdb_builders.kernels.scores.losses import CHUNK

__all__ = ["LDC", "NMC", "QDC", "begin_fit", "fit", "model_of", "score_columns", "take_roots"]

#: `moments` of the training rows and their `present` (K,) classes; `means` (K, d); of LDC `coef`
#: (K, d), `centre` (d,); of QDC `white` (K, d, d); of both `intercept` (K,) and `spread` (d,), the
#: √v of each feature, 0 of one that is left out; of NMC ``spread[0]``, the mean within-class
#: variance s̄, and `unit`, what it is if there is none; workspace `L` (d, d) and `Y` (d + 1, CHUNK).
Model = namedtuple("Model", "moments present means coef intercept centre white spread unit L Y")


def model_of(kind, classes, d, rows, unit):
    """Return an unfitted model, with workspace for draws of so many distinct rows."""
    return Model(
        moments=moments_of(kind, classes, d, rows),
        present=np.zeros(classes, bool),
        means=np.zeros((classes, d)),
        coef=np.zeros((classes, d)),
        intercept=np.zeros(classes),
        centre=np.zeros(d),
        white=np.zeros((classes if kind == QDC else 1, d, d)),
        spread=np.ones(d),
        unit=unit,
        L=np.zeros((d, d)),
        Y=np.zeros((d + 1, CHUNK)),
    )


@kernel(borrow=True)
def _median(values):
    """Median of a few numbers, by counting what is below each of them."""
    size = len(values)
    total = 0.0
    for i in range(size):
        x = values[i]
        below = 0
        for j in range(size):
            below += (values[j] < x) | ((values[j] == x) & (j < i))
        total += x * ((below == (size - 1) // 2) + 0.0) + x * ((below == size // 2) + 0.0)
    return 0.5 * total


@kernel(borrow=True)
def _shrink(shrinkage, n, classes, model):
    """Means moved towards the overall mean, as the reference does it (Tibshirani et al. 2002)."""
    moments = model.moments
    K, d = moments.means.shape
    deviation = moments.row
    for j in range(d):
        deviation[j] = math.sqrt(moments.within[j] / (n - classes))
    middle = _median(deviation)
    for j in range(d):
        overall = 0.0
        for c in range(K):
            overall += moments.counts[c] * moments.means[c, j]
        overall /= n
        for c in range(K):
            if model.present[c]:
                offset = moments.means[c, j] - overall
                threshold = (
                    shrinkage
                    * math.sqrt(1.0 / moments.counts[c] - 1.0 / n)
                    * (deviation[j] + middle)
                )
                size = max(abs(offset) - threshold, 0.0)
                model.means[c, j] = overall + (size if offset > 0.0 else -size)


@kernel(borrow=True)
def _discriminants(n, model):
    """Coefficients and intercepts of LDC from the factor in ``model.L``."""
    moments = model.moments
    classes, d = moments.means.shape
    overall_mean(moments, n, model.centre)
    for c in range(classes):
        if not model.present[c]:
            continue
        u = model.coef[c]
        for j in range(d):
            moments.row[j] = moments.means[c, j] - model.centre[j]
        solve(model.L, moments.row, u)
        square = 0.0
        for j in range(d):
            square += u[j] * u[j]
        model.intercept[c] = math.log(moments.counts[c] / n) - 0.5 * square
        solve_transposed(model.L, u, u)


@kernel(glue=True)
def _whiten(n, c, model):
    """Inverse factor and intercept of class c of QDC from the factor in ``model.L``."""
    white = model.white[c]
    invert(model.L, white)
    log_det = 0.0
    for j in range(len(model.L)):
        if model.spread[j] > 0.0:
            log_det += math.log(abs(model.L[j, j]) / model.spread[j])
        else:
            white[j, j] = 0.0
    model.intercept[c] = math.log(model.moments.counts[c] / n) - log_det


@kernel(glue=True)
def _whiten_by_spread(n, c, model):
    """Inverse factor and intercept of a class that has no covariance: that of diag(v)."""
    for j in range(len(model.L)):
        for k in range(j):
            model.white[c, j, k] = 0.0
        model.white[c, j, j] = 1.0 / model.spread[j] if model.spread[j] > 0.0 else 0.0
    model.intercept[c] = math.log(model.moments.counts[c] / n)


@kernel(borrow=True)
def _squares_between(moments, j, n):
    """Sum the squared deviations of a feature that is constant within every class."""
    counts, base = moments.counts, moments.base
    first = 0
    while counts[first] == 0:
        first += 1
    offset = 0.0
    for c in range(len(counts)):
        if counts[c] > 0:
            offset += counts[c] * (base[c, j] - base[first, j])
    squares = 0.0
    for c in range(len(counts)):
        if counts[c] > 0:
            apart = base[c, j] - base[first, j] - offset / n
            squares += counts[c] * (apart * apart)
    return squares


@kernel(borrow=True)
def _take_spread(n, model):
    """Take √v of each feature: 0 if it is constant over the training set."""
    moments = model.moments
    for j in range(len(model.spread)):
        # Deviations from a mean are all 0 only where values are equal (see `moments`).
        squares = moments.within[j]
        if squares == 0.0:
            squares = _squares_between(moments, j, n)
        model.spread[j] = math.sqrt(squares / n)


@kernel(borrow=True)
def begin_fit(kind, parameter, n, model):
    """Take means and spread, shrinking those of NMC; returns whether there are several classes."""
    moments = model.moments
    classes = 0
    for c in range(len(moments.counts)):
        model.present[c] = moments.counts[c] > 0
        classes += model.present[c]
        for j in range(len(moments.within)):
            model.means[c, j] = moments.means[c, j]
    if kind == NMC:
        total = 0.0
        for j in range(len(moments.within)):
            total += moments.within[j]
        mean = total / len(moments.within) / n
        model.spread[0] = mean if mean > 0.0 else model.unit
        if parameter > 0.0 and n > classes:
            _shrink(parameter, n, classes, model)
    elif classes > 1:
        _take_spread(n, model)
    return classes > 1


@kernel(borrow=True)
def take_roots(kind, model):
    """Write the triangular roots of a draw's scatters, as if its rows had been added one by one."""
    moments = model.moments
    for s in range(len(moments.roots)):
        first, stop = columns_of(kind, s, moments)
        if first < stop:
            factor(moments.Z, first, stop, 1, 0.0, model.spread, model.L)
            for i in range(len(model.L)):
                for j in range(len(model.L)):
                    moments.roots[s, i, j] = model.L[j, i]


@kernel(glue=True)
def fit(kind, parameter, rooted, n, model):
    """Fit to rows whose moments were taken; a model of one class is its `present` alone.

    Parameters
    ----------
    kind, parameter
        `NMC`, `LDC` or `QDC`, and its shrinkage or ridge.
    rooted
        Whether triangular roots are factored, which last, or a draw, of which nothing is left.
    n
        How many rows those are, with copies.
    model
        Fitted.
    """
    if not begin_fit(kind, parameter, n, model):
        return
    moments = model.moments
    for s in range(len(moments.roots)):
        if kind == LDC or moments.distinct[s]:
            first, stop = columns_of(kind, s, moments)
            if rooted:
                for j in range(len(model.L)):
                    for i in range(len(model.L)):
                        moments.Z[j, i] = moments.roots[s, i, j]
                first, stop = 0, len(model.L)
            count = n if kind == LDC else moments.counts[s]
            factor(moments.Z, first, stop, count, parameter, model.spread, model.L)
            leave_out(model.spread, model.L)
            if kind == LDC:
                _discriminants(n, model)
            else:
                _whiten(n, s, model)
        elif model.present[s]:
            _whiten_by_spread(n, s, model)


@kernel(borrow=True)
def _distance_scores(mean, spread, XT, a, b, s):
    """Squared distances in feature order over -2 s̄, without fused operations.

    Parameters
    ----------
    mean, spread
        (d,) mean of the class, and s̄.
    XT, a, b
        (d, columns) features, and columns a:b of them.
    s
        (b - a,) log scores, filled.
    """
    d = len(mean)
    size = b - a
    for i in range(size):
        s[i] = 0.0
    for j in range(d):
        x = XT[j, a:b]
        m = mean[j]
        for i in range(size):
            s[i] += (x[i] - m) * (x[i] - m)
    for i in range(size):
        s[i] = s[i] / (-2.0 * spread)


@kernel(borrow=True)
def _quadratic_scores(white, intercept, Y, size, z, s):
    """Intercept minus half the squared length of the whitened deviations.

    Parameters
    ----------
    white, intercept
        (d, d) inverse factor of the class, and its intercept.
    Y, size
        (at least d, CHUNK) deviations from its mean, and of how many rows.
    z
        (CHUNK,) workspace: one whitened coordinate of each row.
    s
        (size,) log scores, filled.
    """
    for i in range(size):
        s[i] = intercept
    for k in range(len(white)):
        linear_scores(white[k, : k + 1], 0.0, Y, 0, size, z)
        for i in range(size):
            s[i] = fma(-0.5 * z[i], z[i], s[i])


@kernel(borrow=True)
def _centre_columns(XT, centre, a, b, Y):
    """Fill Y with columns a:b less the centre."""
    for j in range(len(centre)):
        x = XT[j, a:b]
        y = Y[j]
        m = centre[j]
        for i in range(b - a):
            y[i] = x[i] - m


@kernel(glue=True)
def _score_run(kind, model, XT, a, b, S):
    """Scores of at most CHUNK columns a:b for the present classes.

    Parameters
    ----------
    kind, model, XT, S
        As for `score_columns`.
    a, b
        Which columns.
    """
    Y = model.Y
    if kind == LDC:
        _centre_columns(XT, model.centre, a, b, Y)
    for c in range(len(model.present)):
        if not model.present[c]:
            continue
        s = S[c, a:b]
        if kind == NMC:
            _distance_scores(model.means[c], model.spread[0], XT, a, b, s)
        elif kind == LDC:
            linear_scores(model.coef[c], model.intercept[c], Y, 0, b - a, s)
        else:
            _centre_columns(XT, model.means[c], a, b, Y)
            _quadratic_scores(model.white[c], model.intercept[c], Y, b - a, Y[len(model.L)], s)


@kernel(borrow=True)
def score_columns(kind, model, XT, first, stop, S):
    """Write the log scores of columns first:stop for the present classes, if more than one.

    Parameters
    ----------
    kind, model
        As they were fitted.
    XT
        (d, columns) features.
    first, stop
        Which columns.
    S
        (K, columns) log scores; rows of absent classes are left as they are.
    """
    classes = 0
    for c in range(len(model.present)):
        classes += model.present[c]
    if classes > 1:
        for a in range(first, stop, CHUNK):  # runs that stay in the cache
            _score_run(kind, model, XT, a, min(a + CHUNK, stop), S)
