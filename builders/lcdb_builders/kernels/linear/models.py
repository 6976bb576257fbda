"""Linear models of all classes, one against the rest: training rows, fits, decision values.

A fit starts from where the coefficients are. Solvers that form Hessians go first; where those lose
too many digits, reflections start from 0.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.elementary import fma
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE
from lcdb_builders.kernels.linear.hinge import carried, finite_newton, forget
from lcdb_builders.kernels.linear.logistic import TOLERANCE, damped_newton
from lcdb_builders.kernels.linear.newton import MISSED, REFLECTED, Problem, scratch
from lcdb_builders.kernels.linear.qr_fallback import HINGE, LOGISTIC, orthogonal_newton
from lcdb_builders.kernels.linear.steep_hinge import steep_newton
from lcdb_builders.kernels.scores.losses import pad
from lcdb_builders.kernels.scores.one_vs_rest import (
    fitted_classes,
    score_constant_sets,
    score_left_out,
    score_own_sets,
)

__all__ = [
    "LREG",
    "LSVC",
    "STEEP",
    "Models",
    "count_classes",
    "decide",
    "decide_columns",
    "fit",
    "models_of",
    "problem_of",
    "score_columns",
    "set_price",
    "take_rows",
]

#: `STEEP` is LSVC where its penalty is lost beside its loss.
LREG, LSVC, STEEP = 0, 1, 2

#: Models and the training rows in hand. `theta` (K, p), coefficients and intercept; `unit` (p, p)
#: penalty of size 1 and its root `unit_root`; `price` (1,), of LREG's penalty or of LSVC's loss;
#: `P` and `root`, the penalty in use. `XT` (d, rows), `sign` (K, rows), `weight` (rows,).
#: `carried` what LSVC knows of its moments. `count` (4,): what `newton` has names for.
Models = namedtuple(
    "Models", "theta unit unit_root price P root XT sign weight carried scratch count"
)


@kernel(glue=True)
def models_of(task, unit, unit_root):
    """Return models of no rows, of price 1."""
    classes = task.classes
    p = len(unit)
    rows = pad(len(task.pool))  # so that no feature begins in the middle of a vector
    return Models(
        theta=np.zeros((classes, p)),
        unit=unit,
        unit_root=unit_root,
        price=np.ones(1),
        P=unit.copy(),
        root=unit_root.copy(),
        XT=np.empty((p - 1, rows)),
        sign=np.empty((classes, rows)),
        weight=np.ones(rows),
        carried=carried(classes, p, rows),
        scratch=scratch(p, rows),
        count=np.zeros(4, np.int64),
    )


@kernel(borrow=True)
def set_price(kind, models, price):
    """Use another size of LREG's penalty, or another price of LSVC's loss."""
    models.price[0] = price
    if kind == LREG:
        root = np.sqrt(price)
        for i in range(len(models.P)):
            for j in range(len(models.P)):
                models.P[i, j] = price * models.unit[i, j]
                models.root[i, j] = root * models.unit_root[i, j]


@kernel(borrow=True)
def take_rows(task, rows, count, models):
    """Copy the first few of training rows into `XT` and `sign`."""
    for i in range(count):
        row = rows[i]
        for j in range(len(models.XT)):
            models.XT[j, i] = task.X[row, j]
        label = task.y[row]
        for c in range(task.classes):
            models.sign[c, i] = 1.0 if c == label else -1.0


@kernel(glue=True)
def problem_of(models, c, n):
    """Return what the model of a class minimises over the first n rows in hand."""
    return Problem(
        models.XT, n, models.sign[c], models.weight, models.P, models.root, models.price[0]
    )


@kernel(borrow=True)
def fit(kind, tolerance, models, c, n):
    """Fit a class to the first n rows in hand.

    Parameters
    ----------
    kind
        `LREG`, `LSVC` or `STEEP`, which starts from 0.
    tolerance
        Of LREG, see `damped_newton`; LSVC's last digits are worked out at `TOLERANCE` alone.
    models
        Rows, and where to start; its model of class `c` is replaced. What LSVC carries must be of
        the first of these rows.
    c, n
        Class, and number of rows.

    A model that is not found at all is NaN.
    """
    theta = models.theta[c]
    problem = problem_of(models, c, n)
    if kind == STEEP:
        if not steep_newton(problem, theta):
            theta[:] = np.nan
            models.count[MISSED] += 1
        return
    if kind == LREG:
        reached = damped_newton(problem, tolerance, theta, models.scratch, models.count)
    else:
        exact = tolerance <= TOLERANCE
        reached = finite_newton(
            problem, theta, exact, models.carried, c, models.scratch, models.count
        )
    if not reached:
        if kind == LSVC:
            forget(models.carried, c)
        theta[:] = 0.0
        models.count[REFLECTED] += 1
        if not orthogonal_newton(LOGISTIC if kind == LREG else HINGE, problem, theta):
            theta[:] = np.nan
            models.count[MISSED] += 1


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


@kernel(borrow=True)
def decide_columns(task, columns, models, cell):
    """Fill ``cell.F`` with decision values of the columns, or of those that are the cell's own.

    Along additive curves these are columns of the repetition, class by class, that follow those of
    the rows that have joined.
    """
    own = columns.varying and task.sampling == ADDITIVE
    for c in range(task.classes):
        if own:
            cell.lo[0, c] = cell.begin[c] + np.int64(cell.counts[c])
    for c in range(task.classes):
        if not cell.fitted[c]:
            continue
        if own:
            for k in range(task.classes):
                decide(cell.XT, cell.lo[0, k], cell.hi[0, k], models.theta[c], cell.F[c])
        else:
            decide(columns.XT, 0, columns.XT.shape[1], models.theta[c], cell.F[c])


@kernel(borrow=True)
def score_columns(task, columns, cell, out):
    """Score the decision values of `decide_columns` on the test sets."""
    if not columns.varying:
        score_constant_sets(columns, cell, out)
    elif task.sampling == ADDITIVE:
        score_own_sets(cell, out)
    else:
        score_left_out(columns, cell, out)


@kernel(borrow=True)
def count_classes(task, rows, cell):
    """Count the classes of rows, each of weight 1; see which need a model."""
    cell.counts[:] = 0.0
    for row in rows:
        cell.counts[task.y[row]] += 1.0
    fitted_classes(cell)
