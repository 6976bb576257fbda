"""Squared hinge of weighted rows at its exact optimum, by finite Newton steps.

Minimises ``C * sum of w_r * max(0, 1 - t_r z_r)**2 + 1/2 theta' P theta``. Rows within the margin
are active; for a given set of them the objective is quadratic, so its minimum is one linear system
away. Second moments of the active rows are carried from step to step and from size to size: a row
that turns active or passive costs one outer product, and no step needs a pass for the gradient.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.logistic import NEAR, STEPS, TOLERANCE
from lcdb_builders.kernels.newton import (
    add_outer,
    add_products,
    add_weighted_gram,
    cholesky,
    cholesky_solve,
    linear_scores,
    multiply_lower,
    quadratic,
)

__all__ = ["finite_newton"]

# Outer products until the moments are summed afresh, so that rounding cannot pile up.
FRESH = 512
# With a smaller pivot the moments have lost too many digits: the rows themselves make up for them.
REFINED = 1e-6


@kernel(reorder=True, borrow=True)
def _hinge(n, sign, weight, z, active, within):
    """Loss at scores z, and which rows are within the margin; returns how many changed."""
    loss = 0.0
    changed = 0.0
    for r in range(n):
        gap = 1.0 - sign[r] * z[r]
        inside = 1.0 if gap > 0.0 else 0.0
        gap = max(gap, 0.0)
        loss += weight[r] * gap * gap
        within[r] = inside
        changed += abs(inside - active[r])
    return loss, changed


@kernel(reorder=True, borrow=True)
def _hinge_loss(n, sign, weight, z, along, length):
    """Loss at scores ``z + length * along``."""
    loss = 0.0
    for r in range(n):
        gap = max(1.0 - sign[r] * (z[r] + length * along[r]), 0.0)
        loss += weight[r] * gap * gap
    return loss


@kernel(glue=True)
def _refresh(XT, n, sign, weight, within, moments, targets, spare, scaled):
    """Sum moments and targets of the rows within the margin."""
    moments[:] = 0.0
    targets[:] = 0.0
    for r in range(n):
        spare[r] = weight[r] * within[r]
    add_weighted_gram(XT, n, spare, scaled, moments)
    for r in range(n):
        spare[r] *= sign[r]
    add_products(XT, 0, n, spare, targets)


@kernel(glue=True)
def _exchange(XT, n, sign, weight, within, active, moments, targets, x):
    """Move rows that turned active or passive into or out of the moments."""
    p = len(targets)
    for r in range(n):
        change = within[r] - active[r]
        if change != 0.0:
            for j in range(p - 1):
                x[j] = XT[j, r]
            x[p - 1] = 1.0
            scale = change * weight[r]
            add_outer(moments, x, scale)
            for j in range(p):
                targets[j] += scale * sign[r] * x[j]


@kernel(glue=True)
def _refine(XT, n, sign, weight, P, C, active, L, scale, goal, z, pull):
    """Solve for what is left of the gradient at `goal`, summed over the rows themselves."""
    p = len(goal)
    gradient = np.zeros(p)
    step = np.empty(p)
    linear_scores(XT, 0, n, goal, z)
    for r in range(n):
        pull[r] = 2.0 * C * weight[r] * active[r] * (sign[r] - z[r])
    add_products(XT, 0, n, pull, gradient)
    multiply_lower(P, goal, step)
    for i in range(p):
        gradient[i] -= step[i]
    cholesky_solve(L, scale, gradient, step)
    for i in range(p):
        goal[i] += step[i]


@kernel
def finite_newton(XT, n, sign, weight, P, C, theta, active, moments, targets, age, count):
    """Go from `theta` to the optimum.

    Parameters
    ----------
    XT, n, sign, weight
        Rows, how many of them, their classes as +1 or -1, their weights.
    P
        Penalty (lower triangle), positive definite.
    C
        Price of the loss.
    theta
        Start, and on return the optimum.
    active, moments, targets, age
        Which rows the sums hold; the sums over them of w x x' (lower triangle) and of w t x; outer
        products since they were last summed afresh. Carried along rows that only grow.
    count
        Passes and linear systems are counted here.

    Returns
    -------
    bool
        Whether the optimum was reached.
    """
    p = len(theta)
    z = np.empty(n)
    along = np.empty(n)
    within = np.empty(n)
    scaled = np.empty(n)
    H = np.empty((p, p))
    L = np.zeros((p, p))
    scale = np.empty(p)
    goal = np.empty(p)
    right = np.empty(p)
    linear_scores(XT, 0, n, theta, z)
    loss, changed = _hinge(n, sign, weight, z, active, within)
    objective = C * loss + 0.5 * quadratic(P, theta)
    count[0] += 1
    for _ in range(STEPS):
        if changed > 0.0:
            age[0] += int(changed)
            if changed > 8 + n / 16 or age[0] > FRESH:
                _refresh(XT, n, sign, weight, within, moments, targets, along, scaled)
                age[0] = 0
            else:
                _exchange(XT, n, sign, weight, within, active, moments, targets, goal)
            for r in range(n):
                active[r] = within[r]
        for i in range(p):
            right[i] = 2.0 * C * targets[i]
            for j in range(i + 1):
                H[i, j] = P[i, j] + 2.0 * C * moments[i, j]
        count[1] += 1
        smallest = cholesky(H, L, scale)
        cholesky_solve(L, scale, right, goal)
        if smallest < REFINED:
            _refine(XT, n, sign, weight, P, C, active, L, scale, goal, along, within)
        for i in range(p):
            right[i] = goal[i] - theta[i]
        squared = quadratic(H, right)
        if squared <= TOLERANCE * objective:
            theta[:] = goal
            return True
        before = objective
        linear_scores(XT, 0, n, goal, along)
        loss, changed = _hinge(n, sign, weight, along, active, within)
        count[0] += 1
        objective = C * loss + 0.5 * quadratic(P, goal)
        if changed == 0.0:  # the minimum of the quadratic, and that is the objective there
            theta[:] = goal
            return True
        if squared <= NEAR * before or objective <= before - 1e-4 * squared:
            theta[:] = goal
            z, along = along, z
            continue
        for r in range(n):
            along[r] -= z[r]
        length = 0.5
        while True:
            for i in range(p):
                goal[i] = theta[i] + length * right[i]
            loss = _hinge_loss(n, sign, weight, z, along, length)
            objective = C * loss + 0.5 * quadratic(P, goal)
            if objective <= before - 1e-4 * length * squared:
                break
            length *= 0.5
            if length < 1e-12:
                return False
        theta[:] = goal
        linear_scores(XT, 0, n, theta, z)
        loss, changed = _hinge(n, sign, weight, z, active, within)
        count[0] += 1
    return False
