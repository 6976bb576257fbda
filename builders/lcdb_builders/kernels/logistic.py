"""Logistic regression of weighted rows at its exact optimum, by damped or carried Newton steps.

Minimises ``sum of w_r * log loss_r + 1/2 theta' P theta``. The optimum is reached when the squared
Newton decrement is at most `TOLERANCE` times the objective, and one more step is taken from there.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.newton import (
    add_weighted_gram,
    cholesky,
    cholesky_solve,
    invert,
    logistic_pass,
    multiply_lower,
    multiply_symmetric,
    quadratic,
)

__all__ = ["TOLERANCE", "carried_newton", "damped_newton"]

TOLERANCE = 1e-13
# From 0, a separable problem needs some ln(1 / ridge) steps; rows that saturate cost halvings.
STEPS = 500
# Below this share of the objective a full step is good, and too small for the objective to tell.
NEAR = 1e-8


@kernel
def damped_newton(XT, n, sign, weight, P, tolerance, theta, inverse, count):
    """Go from `theta` to the optimum with exact Hessians and a line search.

    Parameters
    ----------
    XT, n, sign, weight
        Rows as for `logistic_pass`.
    P
        Penalty (lower triangle).
    tolerance
        The squared decrement, as a share of the objective, below which one more step is the last.
    theta
        Start, and on return the optimum.
    inverse
        Filled with the inverse Hessian at the last point but one, unless it has no rows.
    count
        Passes and Hessians are counted here.

    Returns
    -------
    bool
        Whether the optimum was reached.
    """
    p = len(theta)
    z = np.empty(n)
    slope = np.empty(n)
    curve = np.empty(n)
    scaled = np.empty(n)
    gradient = np.empty(p)
    step = np.empty(p)
    start = np.empty(p)
    scale = np.empty(p)
    H = np.empty((p, p))
    L = np.zeros((p, p))
    penalised = np.empty(p)
    loss = logistic_pass(XT, n, sign, weight, theta, True, z, slope, curve, gradient)
    objective = loss + 0.5 * quadratic(P, theta)
    count[0] += 1
    for _ in range(STEPS):
        multiply_lower(P, theta, penalised)
        for i in range(p):
            gradient[i] += penalised[i]
            for j in range(i + 1):
                H[i, j] = P[i, j]
        add_weighted_gram(XT, n, curve, scaled, H)
        count[1] += 1
        cholesky(H, L, scale)
        cholesky_solve(L, scale, gradient, step)
        squared = 0.0
        for i in range(p):
            squared += gradient[i] * step[i]
            start[i] = theta[i]
        if squared <= tolerance * objective:
            for i in range(p):
                theta[i] -= step[i]
            if len(inverse) > 0:
                invert(L, scale, inverse, step)
            return True
        length = 1.0
        before = objective
        while True:
            for i in range(p):
                theta[i] = start[i] - length * step[i]
            loss = logistic_pass(XT, n, sign, weight, theta, True, z, slope, curve, gradient)
            count[0] += 1
            objective = loss + 0.5 * quadratic(P, theta)
            if squared <= NEAR * before or objective <= before - 1e-4 * length * squared:
                break
            length *= 0.5
            if length < 1e-12:
                return False
    return False


@kernel
def carried_newton(XT, n, sign, weight, P, theta, inverse, step, squared, count):
    """Go on from the optimum of almost the same rows, with their inverse Hessian.

    Each step costs a pass without Hessian. Secant updates keep the inverse good.

    Parameters
    ----------
    XT, n, sign, weight, P, theta, count
        As for `damped_newton`.
    inverse
        Inverse Hessian, approximately; updated.
    step, squared
        The first step, from the new rows' gradients alone, and its squared decrement.

    Returns
    -------
    bool
        Whether the optimum was reached; if not, `theta` is no worse a start than it was.
    """
    p = len(theta)
    z = np.empty(n)
    slope = np.empty(n)
    curve = np.empty(n)
    gradient = np.empty(p)
    last = np.empty(p)
    change = np.empty(p)
    penalised = np.empty(p)
    start = theta.copy()
    for i in range(p):
        theta[i] -= step[i]
    for turn in range(8):
        least = logistic_pass(XT, n, sign, weight, theta, False, z, slope, curve, gradient)
        count[0] += 1
        multiply_lower(P, theta, penalised)
        ridge = 0.0
        for i in range(p):
            gradient[i] += penalised[i]
            ridge += penalised[i] * theta[i]
        if turn > 0:
            for i in range(p):
                change[i] = last[i] - gradient[i]
            _secant_update(inverse, step, change)
        before = squared
        multiply_symmetric(inverse, gradient, step)
        squared = 0.0
        for i in range(p):
            squared += gradient[i] * step[i]
            last[i] = gradient[i]
        enough = TOLERANCE * (least + 0.5 * ridge)
        ratio = min(1.0, squared / before) if before > 0.0 else 1.0
        if not squared <= 0.1 * before and not squared <= 0.01 * enough:
            theta[:] = start
            return False
        for i in range(p):
            theta[i] -= step[i]
        if squared <= enough and squared * ratio <= 0.01 * enough:
            return True
    theta[:] = start
    return False


@kernel(glue=True)
def _secant_update(inverse, step, change):
    """BFGS: afterwards the inverse maps ``change`` of gradients to ``step``."""
    p = len(step)
    along = 0.0
    for i in range(p):
        along += step[i] * change[i]
    if along <= 0.0:
        return
    mapped = np.empty(p)
    multiply_symmetric(inverse, change, mapped)
    bend = 0.0
    for i in range(p):
        bend += mapped[i] * change[i]
    factor = (1.0 + bend / along) / along
    for i in range(p):
        a = factor * step[i] - mapped[i] / along
        b = step[i] / along
        for j in range(p):
            inverse[i, j] += a * step[j] - b * mapped[j]
