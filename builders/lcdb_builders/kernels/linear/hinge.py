"""Squared hinge of weighted rows at its exact optimum, by finite Newton steps.

Minimises ``C * sum of w_r * max(0, 1 - t_r z_r)**2 + 1/2 theta' P theta``. Rows within the margin
are active; for a given set of them the objective is quadratic, so its minimum is one linear system
away. Second moments of the active rows are carried from step to step and along a path of prices: a
row that turns active or passive costs one outer product, and no step needs a pass for the gradient.
What rounding has left in the moments, a last solve for the gradient that the rows themselves have
takes away.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import copy
from lcdb_builders.kernels.linear.logistic import DECREASE, LEAST_LENGTH, NEAR, STEPS, TOLERANCE
from lcdb_builders.kernels.linear.newton import (
    LEAST_PIVOT,
    add_outer,
    add_products,
    add_weighted_gram,
    cholesky,
    cholesky_solve,
    fill_scores,
    multiply_lower,
    quadratic,
)

__all__ = ["Carried", "carried_of", "finite_newton", "forget"]

# Outer products until the moments are summed afresh, so that rounding cannot pile up.
FRESH = 512
# With a smaller pivot the moments have lost too many digits: the rows themselves make up for them.
REFINED = 1e-6
# What a `Scratch` keeps of rows: scores at the goal of a step, which rows are within the margin,
# and weighted residuals. While moments are summed, weights of the rows within the margin stand in
# the place of scores, and a feature times those in that of residuals.
SCORES, WITHIN, RESIDUAL = range(3)
MEMBERS, WEIGHTED = SCORES, RESIDUAL
# And of coefficients: what scales the Hessian, the goal of a step, the step, and the gradient that
# is left there with the correction for it. Before there is a scale, features of a row stand there.
SCALE, GOAL, STEP, GRADIENT, CORRECTION = range(5)
FEATURES = SCALE

#: What is known of each class, along a path of prices. If its last optimum is `known` (K,): `z` (K,
#: rows), scores there, and `loss` (K,) without its price. Of the rows that are `active` (K, rows),
#: 0 or 1: `moments` (K, p, p), their sum of w x x' (lower triangle), `targets` (K, p), that of
#: w t x; and `age` (K,), how many outer products ago they were summed afresh.
Carried = namedtuple("Carried", "known z loss active moments targets age")


@kernel(glue=True)
def carried_of(classes, p, rows):
    """Return what is known of no rows."""
    return Carried(
        known=np.zeros(classes, np.bool_),
        z=np.empty((classes, rows)),
        loss=np.zeros(classes),
        active=np.zeros((classes, rows)),
        moments=np.zeros((classes, p, p)),
        targets=np.zeros((classes, p)),
        age=np.zeros(classes, np.int64),
    )


@kernel(borrow=True)
def forget(carried, c):
    """Know nothing of a class."""
    carried.known[c] = False
    carried.active[c] = 0.0
    carried.moments[c] = 0.0
    carried.targets[c] = 0.0
    carried.age[c] = 0


@kernel(reorder=True, borrow=True)
def _hinge(n, sign, weight, z, active, within):
    """Sum the loss of the first n rows, and mark those within the margin.

    Parameters
    ----------
    n
        How many rows.
    sign, weight, z
        (rows,) their classes, +1 or -1, weights and scores.
    active, within
        (rows,), 0 or 1: which were within the margin, and filled with which are.

    Returns
    -------
    loss, changed
        The loss without its price, and how many rows have come into the margin or left it.
    """
    t, w, f = sign[:n], weight[:n], z[:n]
    before, now = active[:n], within[:n]
    loss = 0.0
    changed = 0.0
    for r in range(n):
        gap = 1.0 - t[r] * f[r]
        inside = 1.0 if gap > 0.0 else 0.0
        gap = max(gap, 0.0)
        loss += w[r] * gap * gap
        now[r] = inside
        changed += abs(inside - before[r])
    return loss, changed


@kernel(reorder=True, borrow=True)
def _hinge_loss(n, sign, weight, z, along, length):
    """Return the loss, without its price, at scores ``z + length * along``.

    Parameters
    ----------
    n
        How many rows.
    sign, weight
        (rows,) their classes, +1 or -1, and weights.
    z, along, length
        (rows,) scores, and what a step changes of them; how much of the step is taken.
    """
    loss = 0.0
    for r in range(n):
        gap = max(1.0 - sign[r] * (z[r] + length * along[r]), 0.0)
        loss += weight[r] * gap * gap
    return loss


@kernel(glue=True)
def _refresh(problem, within, moments, targets, members, weighted):
    """Sum moments and targets of the rows within the margin.

    That is as dear as a Hessian: it pays where many rows have come or gone.

    Parameters
    ----------
    problem, within
        A `Problem`, and (rows,) which of its rows are within the margin, 0 or 1.
    moments, targets
        (p, p) and (p,), filled; see `Carried`.
    members, weighted
        (rows,) each: workspace for weights of these rows, and for a feature times those.
    """
    n = problem.n
    moments[:] = 0.0
    targets[:] = 0.0
    for r in range(n):
        members[r] = problem.weight[r] * within[r]
    add_weighted_gram(problem.XT, n, members, weighted, moments)
    for r in range(n):
        members[r] *= problem.sign[r]
    add_products(problem.XT, 0, n, members, targets)


@kernel(glue=True)
def _exchange(problem, within, active, moments, targets, x):
    """Move rows that turned active or passive into or out of the moments.

    Each costs some p² operations, so that a few rows are cheaper than all of them anew.

    Parameters
    ----------
    problem
        A `Problem`.
    within, active
        (rows,), 0 or 1: which rows are within the margin, and which the moments are of.
    moments, targets
        (p, p) and (p,), changed; see `Carried`.
    x
        (p,) workspace for the features of a row, and the 1.
    """
    p = len(targets)
    for r in range(problem.n):
        change = within[r] - active[r]
        if change != 0.0:
            for j in range(p - 1):
                x[j] = problem.XT[j, r]
            x[p - 1] = 1.0
            weight = change * problem.weight[r]
            add_outer(moments, x, weight)
            for j in range(p):
                targets[j] += weight * problem.sign[r] * x[j]


@kernel(glue=True)
def _activate(problem, changed, within, carried, c, scratch):
    """Bring moments and targets to the rows within the margin.

    Parameters
    ----------
    problem
        A `Problem`.
    changed, within
        How many rows have come into the margin or left it, and (rows,) which are within, 0 or 1.
    carried, c
        What is known of all classes, and which of them this is.
    scratch
        A `Scratch`.
    """
    active, moments, targets = carried.active[c], carried.moments[c], carried.targets[c]
    carried.age[c] += int(changed)
    if changed > 8 + problem.n / 16 or carried.age[c] > FRESH:
        members, weighted = scratch.rows[MEMBERS], scratch.rows[WEIGHTED]
        _refresh(problem, within, moments, targets, members, weighted)
        carried.age[c] = 0
    else:
        _exchange(problem, within, active, moments, targets, scratch.vectors[FEATURES])
    copy(within[: problem.n], active)


@kernel(glue=True)
def _refine(problem, active, L, scale, goal, scratch):
    """Solve for what is left of the gradient at `goal`, summed over the rows themselves.

    Parameters
    ----------
    problem, active
        A `Problem`, and (rows,) which of its rows are active, 0 or 1.
    L, scale
        The Hessian's factor and what it is scaled by, of `cholesky`.
    goal
        (p,), about the minimum for the active rows, and on return nearer to it.
    scratch
        A `Scratch`.
    """
    p = len(goal)
    z, residual = scratch.rows[SCORES], scratch.rows[RESIDUAL]
    gradient, correction = scratch.vectors[GRADIENT], scratch.vectors[CORRECTION]
    fill_scores(problem.XT, 0, problem.n, goal, z)
    for r in range(problem.n):
        price = 2.0 * problem.price * problem.weight[r] * active[r]
        residual[r] = price * (problem.sign[r] - z[r])
    gradient[:] = 0.0
    add_products(problem.XT, 0, problem.n, residual, gradient)
    multiply_lower(problem.P, goal, correction)  # for a moment, what the penalty pulls
    for i in range(p):
        gradient[i] -= correction[i]
    cholesky_solve(L, scale, gradient, correction)
    for i in range(p):
        goal[i] += correction[i]


@kernel(glue=True)
def _solve(problem, theta, carried, c, scratch, goal, step):
    """Fill `goal` with the minimum for the active rows, and `step` with the step to there.

    Parameters
    ----------
    problem, theta
        A `Problem`, and (p,) where the step starts.
    carried, c
        What is known of all classes, and which of them this is.
    scratch
        A `Scratch`, in which the Hessian, its factor and scale are left.
    goal, step
        (p,) each, filled.

    Returns
    -------
    float
        The step's squared decrement; NaN where rounding hides a direction from the moments.
    """
    p, H, scale = len(goal), scratch.H, scratch.vectors[SCALE]
    for i in range(p):
        step[i] = 2.0 * problem.price * carried.targets[c, i]  # the right-hand side, so far
        for j in range(i + 1):
            H[i, j] = problem.P[i, j] + 2.0 * problem.price * carried.moments[c, i, j]
    smallest = cholesky(H, scratch.L, scale)
    if smallest <= LEAST_PIVOT:
        return np.nan
    cholesky_solve(scratch.L, scale, step, goal)
    if smallest < REFINED:
        _refine(problem, carried.active[c], scratch.L, scale, goal, scratch)
    for i in range(p):
        step[i] = goal[i] - theta[i]
    return quadratic(H, step)


@kernel(glue=True)
def _go_less_far(problem, theta, step, squared, objective, z, along, goal):
    """Halve the step until the objective falls.

    Parameters
    ----------
    problem
        Rows, penalty and price.
    theta, step
        (p,) where to go from, and on return the end of the step that is taken; (p,) the whole step.
    squared, objective
        The squared decrement, and the objective at `theta`.
    z, along
        (rows,) scores at `theta` and at the end of the whole step, of which the difference is left.
    goal
        (p,) workspace.

    Returns
    -------
    bool
        Whether the objective fell.
    """
    for r in range(problem.n):
        along[r] -= z[r]
    length = 0.5
    while length >= LEAST_LENGTH:
        for i in range(len(theta)):
            goal[i] = theta[i] + length * step[i]
        loss = _hinge_loss(problem.n, problem.sign, problem.weight, z, along, length)
        reached = problem.price * loss + 0.5 * quadratic(problem.P, goal)
        if reached <= objective - DECREASE * length * squared:
            copy(goal, theta)
            return True
        length *= 0.5
    return False


@kernel(borrow=True)
def finite_newton(problem, theta, exact, carried, c, scratch):
    """Go from `theta` to the optimum.

    Each step solves for the rows that are active, until the same ones stay so.

    Parameters
    ----------
    problem
        A `Problem`; its penalty is positive definite.
    theta
        Start, and on return the optimum; where something is known of the class, its last optimum.
    exact
        Whether what rounding left in carried moments is to be taken away in the end.
    carried, c
        What is known of all classes, and which of them this is.
    scratch
        A `Scratch`.

    Returns
    -------
    bool
        Whether the optimum was reached.
    """
    XT, n, sign, weight = problem.XT, problem.n, problem.sign, problem.weight
    z, active = carried.z[c], carried.active[c]
    goal_z, within = scratch.rows[SCORES], scratch.rows[WITHIN]
    goal, step = scratch.vectors[GOAL], scratch.vectors[STEP]
    if carried.known[c]:
        loss, changed = carried.loss[c], 0.0
        copy(active[:n], within)
    else:
        fill_scores(XT, 0, n, theta, z)
        loss, changed = _hinge(n, sign, weight, z, active, within)
    carried.known[c] = False
    objective = problem.price * loss + 0.5 * quadratic(problem.P, theta)
    for _ in range(STEPS):
        if changed > 0.0:
            _activate(problem, changed, within, carried, c, scratch)
        squared = _solve(problem, theta, carried, c, scratch, goal, step)
        if not squared >= 0.0:
            return False
        if squared <= TOLERANCE * objective:
            if exact:
                _refine(problem, active, scratch.L, scratch.vectors[SCALE], goal, scratch)
            copy(goal, theta)
            return True
        before = objective
        fill_scores(XT, 0, n, goal, goal_z)
        loss, changed = _hinge(n, sign, weight, goal_z, active, within)
        objective = problem.price * loss + 0.5 * quadratic(problem.P, goal)
        settled = changed == 0.0  # the minimum of the quadratic, and that is the objective there
        if settled or squared <= NEAR * before or objective <= before - DECREASE * squared:
            copy(goal, theta)
            copy(goal_z[:n], z)
            if settled:
                carried.known[c] = True
                carried.loss[c] = loss
                if exact:
                    _refine(problem, active, scratch.L, scratch.vectors[SCALE], goal, scratch)
                    copy(goal, theta)
                return True
            continue
        if not _go_less_far(problem, theta, step, squared, before, z, goal_z, goal):
            return False
        fill_scores(XT, 0, n, theta, z)
        loss, changed = _hinge(n, sign, weight, z, active, within)
        objective = problem.price * loss + 0.5 * quadratic(problem.P, theta)
    return False
