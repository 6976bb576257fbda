"""Whole blocks of LREG and LSVC: cells in, metrics out.

Features come centred and scaled by constants of the dataset (`lcdb_builders.kernels.scaling`), and
the penalty is the matrix that means the same model there.

Along additive sampling every class carries its coefficients and what its solver knows of the
curvature. Fresh draws all start from the model of the whole pool, so that a cell's numbers do not
depend on which other cells are computed with it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.elementary import exp_nonpositive, fma
from lcdb_builders.kernels.hinge import finite_newton
from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.layout import ADDITIVE, draw, regroup
from lcdb_builders.kernels.logistic import TOLERANCE, carried_newton, damped_newton
from lcdb_builders.kernels.newton import multiply_symmetric
from lcdb_builders.kernels.onevsrest import (
    clear,
    desk,
    draw_fresh,
    fitted_classes,
    score_constant_sets,
    score_left_out,
    score_own_sets,
)
from lcdb_builders.kernels.orthogonal import HINGE, LOGISTIC, orthogonal_newton

__all__ = ["LREG", "LSVC", "decide", "decide_all", "decide_own", "linear_block", "take_rows"]

LREG, LSVC = 0, 1
# An inverse Hessian is computed afresh when so large a share of the rows is newer.
STALE = 0.2

#: Models of all classes and the training rows in hand. `theta` (K, d + 1); `P` penalty, `root` with
#: root' root = P; `price` C of LSVC. LREG carries `inverse` (K, d + 1, d + 1) and `known` (K,), the
#: number of rows when it was computed, 0 if it is not; LSVC carries `active` (K, rows), `moments`
#: (K, d + 1, d + 1), `targets` (K, d + 1) and `age` (K, 1). `XT` (d, rows), `sign` (K, rows),
#: `weight` (rows,).
Models = namedtuple(
    "Models",
    [
        "theta",
        "P",
        "root",
        "price",
        "inverse",
        "known",
        "active",
        "moments",
        "targets",
        "age",
        "XT",
        "sign",
        "weight",
        "start",
        "count",
    ],
)


@kernel(glue=True)
def _models(kind, task, P, root, price):
    classes = task.classes
    p = len(P)
    rows = len(task.pool)
    carried = classes if kind == LREG else 0
    counted = classes if kind == LSVC else 0
    return Models(
        np.zeros((classes, p)),
        P,
        root,
        price,
        np.empty((carried, p, p)),
        np.zeros(carried, np.int64),
        np.zeros((counted, rows)),
        np.zeros((counted, p, p)),
        np.zeros((counted, p)),
        np.zeros((counted, 1), np.int64),
        np.empty((p - 1, rows)),
        np.empty((classes, rows)),
        np.ones(rows),
        np.zeros((classes, p)),
        np.zeros(4, np.int64),
    )


@kernel(borrow=True)
def decide(XT, first, stop, theta, out):
    """Fill ``out[first:stop]`` with decision values of columns, summed in feature order."""
    d = len(theta) - 1
    f = out[first:stop]
    for t in range(len(f)):
        f[t] = theta[d]
    j = 0
    while j + 4 <= d:
        a = XT[j, first:stop]
        b = XT[j + 1, first:stop]
        c = XT[j + 2, first:stop]
        e = XT[j + 3, first:stop]
        for t in range(len(f)):
            value = fma(theta[j + 1], b[t], fma(theta[j], a[t], f[t]))
            f[t] = fma(theta[j + 3], e[t], fma(theta[j + 2], c[t], value))
        j += 4
    while j < d:
        a = XT[j, first:stop]
        for t in range(len(f)):
            f[t] = fma(theta[j], a[t], f[t])
        j += 1


@kernel
def take_rows(task, rows, first, stop, models):
    """Copy training rows into `XT` and `sign`."""
    for i in range(first, stop):
        row = rows[i]
        for j in range(len(models.XT)):
            models.XT[j, i] = task.X[row, j]
        label = task.y[row]
        for c in range(task.classes):
            models.sign[c, i] = 1.0 if c == label else -1.0


@kernel(glue=True)
def _forget(models):
    models.theta[:] = 0.0
    models.known[:] = 0
    for c in range(len(models.active)):
        _forget_moments(models, c)


@kernel(glue=True)
def _step_of_new_rows(models, c, done, n, step):
    """Newton step from rows done..n-1 alone, whose curvature joins the inverse Hessian.

    Returns the squared decrement. The other rows' gradients cancel at the optimum without them.
    """
    p = len(step)
    theta = models.theta[c]
    inverse = models.inverse[c]
    x = np.ones(p)
    mapped = np.empty(p)
    gradient = np.zeros(p)
    for r in range(done, n):
        z = theta[p - 1]
        for j in range(p - 1):
            x[j] = models.XT[j, r]
            z += theta[j] * x[j]
        margin = models.sign[c, r] * z
        small = exp_nonpositive(-abs(margin))
        large = 1.0 / (1.0 + small)
        wrong = small * large if margin > 0.0 else large
        curve = small * large * large
        multiply_symmetric(inverse, x, mapped)
        scale = 1.0
        for j in range(p):
            scale += curve * mapped[j] * x[j]
            gradient[j] -= models.sign[c, r] * wrong * x[j]
        for i in range(p):
            factor = curve / scale * mapped[i]
            for j in range(p):
                inverse[i, j] -= factor * mapped[j]
    multiply_symmetric(inverse, gradient, step)
    squared = 0.0
    for j in range(p):
        squared += gradient[j] * step[j]
    return squared


@kernel(glue=True)
def _grow_logistic(models, c, done, n):
    """Bring the model of a class from `done` training rows to n."""
    sign = models.sign[c]
    theta = models.theta[c]
    inverse = models.inverse[c]
    known = models.known[c]
    if known > 0 and n - known <= STALE * n and n - done <= 4:
        step = np.empty(len(theta))
        squared = _step_of_new_rows(models, c, done, n, step)
        if carried_newton(
            models.XT,
            n,
            sign,
            models.weight,
            models.P,
            theta,
            inverse,
            step,
            squared,
            models.count,
        ):
            return
    models.known[c] = n
    _fit_logistic(models, c, n, inverse)


@kernel
def _fit_logistic(models, c, n, inverse):
    """Fit with exact Hessians from where the coefficients are; if that fails, by reflections."""
    if not damped_newton(
        models.XT,
        n,
        models.sign[c],
        models.weight,
        models.P,
        TOLERANCE,
        models.theta[c],
        inverse,
        models.count,
    ):
        if len(inverse) > 0:
            models.known[c] = 0
        _fit_by_reflections(LOGISTIC, models, c, n)


@kernel
def _fit_hinge(models, c, n):
    """Fit from where coefficients and moments are; if that fails, by reflections."""
    if not finite_newton(
        models.XT,
        n,
        models.sign[c],
        models.weight,
        models.P,
        models.price,
        models.theta[c],
        models.active[c],
        models.moments[c],
        models.targets[c],
        models.age[c],
        models.count,
    ):
        _forget_moments(models, c)
        _fit_by_reflections(HINGE, models, c, n)


@kernel
def _fit_by_reflections(kind, models, c, n):
    """Fit from 0 where moments have lost too many digits. A model that is not found is NaN."""
    models.theta[c] = 0.0
    models.count[2] += 1
    if not orthogonal_newton(
        kind,
        models.XT,
        n,
        models.sign[c],
        models.weight,
        models.root,
        models.price,
        models.theta[c],
    ):
        models.theta[c] = np.nan
        models.count[3] += 1


@kernel
def _forget_moments(models, c):
    models.active[c] = 0.0
    models.moments[c] = 0.0
    models.targets[c] = 0.0
    models.age[c] = 0


@kernel(glue=True)
def _keep_up(kind, models, at, done, n):
    """Fit the classes that need it; those that do not are to be fitted afresh when they do."""
    for c in range(len(at.fitted)):
        if at.fitted[c]:
            if kind == LREG:
                _grow_logistic(models, c, done, n)
            else:
                _fit_hinge(models, c, n)
        elif kind == LREG:
            models.known[c] = 0


@kernel(glue=True)
def _additive_repetition(kind, task, columns, r, models, at, out, decisions):
    draw(task, 0, task.first + r, at.order)
    if columns.varying:
        regroup(task, at.order, at.XT, at.begin, at.hi[0], at.lo[0])
    _forget(models)
    models.weight[:] = 1.0
    at.counts[:] = 0.0
    last = task.sizes[len(task.sizes) - 1]
    take_rows(task, at.order, 0, last, models)
    done = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        for row in at.order[done:n]:
            at.counts[task.y[row]] += 1.0
        fitted_classes(at)
        _keep_up(kind, models, at, done, n)
        done = n
        if columns.varying:
            for c in range(task.classes):
                at.lo[0, c] = at.begin[c] + np.int64(at.counts[c])
            decide_own(models, at)
        else:
            decide_all(models, columns, at)
        if decisions.size > 0:
            decisions[i, r] = at.F
        if columns.varying:
            score_own_sets(at, out[i, r])
        else:
            score_constant_sets(columns, at, out[i, r])


@kernel(glue=True)
def decide_all(models, columns, at):
    """Fill ``at.F`` with decision values of all columns."""
    for c in range(len(at.fitted)):
        if at.fitted[c]:
            decide(columns.XT, 0, columns.XT.shape[1], models.theta[c], at.F[c])


@kernel(glue=True)
def decide_own(models, at):
    """Fill ``at.F`` with decision values of the repetition's own columns from ``at.lo``."""
    for c in range(len(at.fitted)):
        if at.fitted[c]:
            for k in range(len(at.fitted)):
                decide(at.XT, at.lo[0, k], at.hi[0, k], models.theta[c], at.F[c])


@kernel
def _fit_fresh(kind, models, at, size):
    """Fit weighted rows, from the model of the whole pool."""
    for c in range(len(at.fitted)):
        if not at.fitted[c]:
            continue
        models.theta[c] = models.start[c]
        if kind == LREG:
            _fit_logistic(models, c, size, models.inverse[c, :0])
        else:
            _forget_moments(models, c)
            _fit_hinge(models, c, size)


@kernel(glue=True)
def _fit_pool(kind, task, models, at):
    """Fit the whole pool, for draws to start from."""
    size = len(task.pool)
    at.counts[:] = 0.0
    for row in task.pool:
        at.counts[task.y[row]] += 1.0
    fitted_classes(at)
    take_rows(task, task.pool, 0, size, models)
    models.weight[:] = 1.0
    _fit_fresh(kind, models, at, size)
    models.start[:] = models.theta


@kernel(glue=True)
def _fit_draw(kind, task, n, repetition, models, at):
    size = draw_fresh(task, n, repetition, at)
    for i in range(size):
        models.weight[i] = at.weight[at.distinct[i]]
    take_rows(task, at.distinct, 0, size, models)
    _fit_fresh(kind, models, at, size)


@kernel
def linear_block(kind, task, columns, P, root, price, out, decisions):
    """Score the cells of a block.

    Parameters
    ----------
    kind
        `LREG` or `LSVC`.
    task
        A `Task`, with scaled features.
    columns
        `Columns` to score on, with the same features.
    P
        (d + 1, d + 1) penalty: what is minimised is the loss plus half of theta' P theta.
    root
        Its square root: root' root = P.
    price
        Factor of the squared hinge; not used by LREG.
    out
        (sizes, repetitions, sets, 5), filled.
    decisions
        (sizes, repetitions, K, columns), filled with decision values of fitted classes, in the
        order of the columns they are scored in; of size 0 if they are not wanted.

    Returns
    -------
    (4,) int64
        Passes over rows, linear systems, models fitted by reflections, and models not found, whose
        cells mean nothing.
    """
    at = desk(task, columns, task.X.shape[1])
    models = _models(kind, task, P, root, price)
    if task.sampling != ADDITIVE:
        _fit_pool(kind, task, models, at)
    for r in range(task.stop - task.first):
        if task.sampling == ADDITIVE:
            _additive_repetition(kind, task, columns, r, models, at, out, decisions)
            continue
        for i in range(len(task.sizes)):
            _fit_draw(kind, task, task.sizes[i], task.first + r, models, at)
            decide_all(models, columns, at)
            if decisions.size > 0:
                decisions[i, r] = at.F
            if columns.varying:
                score_left_out(columns, at, out[i, r])
            else:
                score_constant_sets(columns, at, out[i, r])
            clear(at)
    return models.count
