"""Linear models at their optimum where normal equations lose too many digits.

The triangular factor of a Hessian comes from the weighted rows and a root of the penalty, by
reflections: forming the Hessian would square its condition number. It takes several times as long
as the solvers that carry moments, and is there for the few cells that those give up: separable or
nearly dependent rows, with features of very different spread.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.linear.logistic import DECREASE, LEAST_LENGTH, NEAR, STEPS, TOLERANCE
from lcdb_builders.kernels.linear.newton import add_products, fill_scores, logistic_pass

__all__ = ["HINGE", "LOGISTIC", "factor", "newton_step", "orthogonal_newton"]

LOGISTIC, HINGE = 0, 1
# Objectives closer than this may be the same.
SAME = 1e-11
# So little of a column that the others do not explain is rounding.
LEAST_REST = 1e-14


@kernel(reorder=True)
def factor(AT, norms):
    """Reflect columns, which stand in the rows of AT, to a triangle; ``AT[j, i]`` for i <= j.

    They are divided by their lengths first, which are kept in `norms` (p,).
    """
    p, rows = AT.shape
    for j in range(p):
        total = 0.0
        for r in range(rows):
            total += AT[j, r] * AT[j, r]
        norms[j] = np.sqrt(total) if total > 0.0 else 1.0
        for r in range(rows):
            AT[j, r] /= norms[j]
    for k in range(p):
        v = AT[k, k:]
        total = 0.0
        for r in range(len(v)):
            total += v[r] * v[r]
        if total == 0.0:
            continue
        diagonal = -np.sqrt(total) if v[0] > 0.0 else np.sqrt(total)
        v[0] -= diagonal
        half = -diagonal * v[0]  # half of v'v after the change
        for j in range(k + 1, p):
            other = AT[j, k:]
            total = 0.0
            for r in range(len(v)):
                total += v[r] * other[r]
            multiple = total / half
            for r in range(len(v)):
                other[r] -= multiple * v[r]
        v[0] = diagonal


@kernel
def newton_step(AT, norms, gradient, step):
    """Fill the Newton step from the triangle; return its squared decrement, NaN if singular."""
    p = len(gradient)
    squared = 0.0
    for i in range(p):
        total = gradient[i] / norms[i]
        for k in range(i):
            total -= AT[i, k] * step[k]
        if not abs(AT[i, i]) > LEAST_REST:
            return np.nan
        step[i] = total / AT[i, i]
        squared += step[i] * step[i]
    for i in range(p - 1, -1, -1):
        for k in range(i + 1, p):
            step[i] -= AT[k, i] * step[k]
        step[i] /= AT[i, i]
    for i in range(p):
        step[i] /= -norms[i]
    return squared


@kernel(borrow=True)
def _hinge_pass(problem, theta, z, slope, curve, gradient):
    """Fill derivatives and gradient of the squared hinge, as `logistic_pass`; return the loss.

    The second derivative jumps at the margin; on it, it is 0.

    Parameters
    ----------
    problem, theta
        A `Problem`, and (p,) coefficients.
    z, slope, curve
        (rows,), filled with scores and with both derivatives of each row's loss.
    gradient
        (p,), filled with the gradient of the loss, without the penalty.
    """
    n = problem.n
    fill_scores(problem.XT, 0, n, theta, z)
    loss = 0.0
    for r in range(n):
        price = problem.price * problem.weight[r]
        gap = max(1.0 - problem.sign[r] * z[r], 0.0)
        loss += price * gap * gap
        slope[r] = -2.0 * price * problem.sign[r] * gap
        curve[r] = 2.0 * price if gap > 0.0 else 0.0
    gradient[:] = 0.0
    add_products(problem.XT, 0, n, slope, gradient)
    return loss


@kernel(borrow=True)
def _objective(kind, problem, theta, z, slope, curve, gradient):
    """Return the objective at `theta`, with the gradient of all of it filled.

    Parameters
    ----------
    kind
        `LOGISTIC` or `HINGE`.
    problem, theta
        A `Problem`, and (p,) coefficients.
    z, slope, curve
        (rows,), filled with scores and with both derivatives of each row's loss.
    gradient
        (p,), filled.
    """
    root = problem.root
    if kind == LOGISTIC:
        value = logistic_pass(problem, theta, True, z, slope, curve, gradient)
    else:
        value = _hinge_pass(problem, theta, z, slope, curve, gradient)
    for i in range(len(root)):
        total = 0.0
        for j in range(len(theta)):
            total += root[i, j] * theta[j]
        value += 0.5 * total * total
        for j in range(len(theta)):
            gradient[j] += root[i, j] * total
    return value


@kernel(borrow=True)
def _stack(problem, curve, AT):
    """Fill columns with the rows, weighted by the root of their curvature, and the penalty's."""
    n = problem.n
    p = len(problem.root)
    for r in range(n):
        weight = np.sqrt(curve[r])
        for j in range(p - 1):
            AT[j, r] = weight * problem.XT[j, r]
        AT[p - 1, r] = weight
    for j in range(p):
        for i in range(p):
            AT[j, n + i] = problem.root[i, j]


@kernel
def orthogonal_newton(kind, problem, theta):
    """Go from `theta` to the optimum by damped Newton steps.

    Parameters
    ----------
    kind
        `LOGISTIC` or `HINGE`.
    problem
        A `Problem`; of its penalty, the root is used.
    theta
        Start, and on return the optimum.

    Returns
    -------
    bool
        Whether the optimum was reached, as exactly as rounding allows.
    """
    n, p = problem.n, len(theta)
    z, slope, curve = np.empty(n), np.empty(n), np.empty(n)
    gradient, start, step, norms = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    AT = np.empty((p, n + p))
    objective = _objective(kind, problem, theta, z, slope, curve, gradient)
    for _ in range(STEPS):
        _stack(problem, curve, AT)
        factor(AT, norms)
        squared = newton_step(AT, norms, gradient, step)
        if not squared < np.inf:
            return False
        start[:] = theta
        before = objective
        done = squared <= TOLERANCE * before
        length = 1.0
        while True:
            for i in range(p):
                theta[i] = start[i] + length * step[i]
            if done:
                return True
            objective = _objective(kind, problem, theta, z, slope, curve, gradient)
            same = squared <= NEAR * before and objective <= (1.0 + SAME) * before
            if same or objective <= before - DECREASE * length * squared:
                break
            length *= 0.5
            if length < LEAST_LENGTH:
                # A row just outside of the margin stops any step that takes it for one far outside:
                # this one has brought it in, where the next step sees it.
                break
    return False
