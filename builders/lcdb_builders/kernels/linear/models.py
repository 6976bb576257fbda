"""Linear models of all classes, one against the rest: training rows, fits, decision values.

A fit starts from where the coefficients are. Solvers that form Hessians go first; where those lose
too many digits, reflections start from 0.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.linear.hinge import carried_of, finite_newton, forget
from lcdb_builders.kernels.linear.logistic import TOLERANCE, damped_newton
from lcdb_builders.kernels.linear.newton import Problem, scratch_of
from lcdb_builders.kernels.linear.qr_fallback import HINGE, LOGISTIC, orthogonal_newton
from lcdb_builders.kernels.linear.steep_hinge import steep_newton
from lcdb_builders.kernels.scores.cells import has_own_columns, linear_scores
from lcdb_builders.kernels.scores.losses import pad

__all__ = [
    "LREG",
    "LSVC",
    "STEEP",
    "Models",
    "copy_rows",
    "decide_columns",
    "fit",
    "models_of",
    "set_price",
]

#: `STEEP` is LSVC where its penalty is lost beside its loss.
LREG, LSVC, STEEP = 0, 1, 2

#: Models and the training rows in hand. `theta` (K, p), coefficients and intercept; `unit` (p, p)
#: penalty of size 1 and its root `unit_root`; `price` (1,), of LREG's penalty or of LSVC's loss;
#: `P` and `root`, the penalty in use. Of rows: features `XT` (d, rows), `sign` (K, rows), which is
#: +1 for the class and -1 for the rest, and `weight` (rows,). `carried`, a `Carried`, is what LSVC
#: knows of their moments, `scratch` a `Scratch`. `missed` (1,): how many fits reached no optimum.
Models = namedtuple(
    "Models", "theta unit unit_root price P root XT sign weight carried scratch missed"
)


@kernel(glue=True)
def models_of(task, unit, unit_root):
    """Return models of no rows, of price 1."""
    classes, p = task.classes, len(unit)
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
        carried=carried_of(classes, p, rows),
        scratch=scratch_of(p, rows),
        missed=np.zeros(1, np.int64),
    )


@kernel(borrow=True)
def set_price(kind, models, price):
    """Use another size of LREG's penalty, or another price of LSVC's loss."""
    changes = price != models.price[0]
    models.price[0] = price
    if kind == LREG and changes:
        root = np.sqrt(price)
        for i in range(len(models.P)):
            for j in range(len(models.P)):
                models.P[i, j] = price * models.unit[i, j]
                models.root[i, j] = root * models.unit_root[i, j]


@kernel(borrow=True)
def copy_rows(task, rows, count, models):
    """Copy the first few of training rows into `XT` and `sign`."""
    for i in range(count):
        row = rows[i]
        for j in range(len(models.XT)):
            models.XT[j, i] = task.X[row, j]
        label = task.y[row]
        for c in range(task.classes):
            models.sign[c, i] = 1.0 if c == label else -1.0


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
        these rows.
    c, n
        Class, and number of rows.

    A model whose optimum no solver reaches is NaN.
    """
    m, theta = models, models.theta[c]
    problem = Problem(
        XT=m.XT, n=n, sign=m.sign[c], weight=m.weight, P=m.P, root=m.root, price=m.price[0]
    )
    if kind == STEEP:
        if not steep_newton(problem, theta):
            theta[:] = np.nan
            models.missed[0] += 1
        return
    if kind == LREG:
        reached = damped_newton(problem, tolerance, theta, models.scratch)
    else:
        exact = tolerance <= TOLERANCE
        reached = finite_newton(problem, theta, exact, models.carried, c, models.scratch)
    if not reached:
        if kind == LSVC:
            forget(models.carried, c)
        theta[:] = 0.0
        if not orthogonal_newton(LOGISTIC if kind == LREG else HINGE, problem, theta):
            theta[:] = np.nan
            models.missed[0] += 1


@kernel(borrow=True)
def decide_columns(columns, models, cell):
    """Fill ``cell.F`` with decision values of the columns, or of those that are the cell's own.

    Along additive curves these are columns of the repetition, class by class, that follow those of
    the rows that have joined.
    """
    lo, hi = cell.lo[0], cell.hi[0]
    own = has_own_columns(cell)
    for c in range(len(lo) if own else 0):
        lo[c] = cell.begin[c] + np.int64(cell.counts[c])
    for c in range(len(lo)):
        if not cell.fitted[c]:
            continue
        theta = models.theta[c]
        d = len(theta) - 1
        for k in range(len(lo) if own else 0):
            f = cell.F[c, lo[k] : hi[k]]
            linear_scores(theta[:d], theta[d], cell.XT, lo[k], len(f), f)
        if not own:
            linear_scores(theta[:d], theta[d], columns.XT, 0, columns.XT.shape[1], cell.F[c])
