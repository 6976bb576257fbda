"""Logistic regression of weighted rows at its exact optimum, by damped Newton steps.

Minimises ``sum of w_r * log loss_r + 1/2 theta' P theta``. The optimum is reached when the squared
Newton decrement is at most `TOLERANCE` times the objective. One more step is taken from there, and
one from where that leads with the same Hessian, which leaves rounding alone.
"""

from __future__ import annotations

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.linear.newton import (
    LEAST_PIVOT,
    add_weighted_gram,
    cholesky,
    cholesky_solve,
    logistic_pass,
    multiply_lower,
    quadratic,
)

__all__ = ["TOLERANCE", "damped_newton"]

TOLERANCE = 1e-13
# From 0, a separable problem needs some ln(1 / ridge) steps; rows that saturate cost halvings.
STEPS = 1000
# Below this share of the objective a full step is good, and too small for the objective to tell.
NEAR = 1e-8
# A step must take at least this share of what its slope promises, or is halved, until that is
# pointless.
DECREASE, LEAST_LENGTH = 1e-4, 1e-12
# What a `Scratch` keeps of rows: scores, first and second derivatives of losses, and a feature
# times weights.
SCORES, SLOPE, CURVE, WEIGHTED = range(4)
# And of coefficients: the gradient, the step, where it starts, what scales the Hessian, and the
# penalty's part of the gradient.
GRADIENT, STEP, START, SCALE, PENALISED = range(5)


@kernel(borrow=True)
def damped_newton(problem, tolerance, theta, scratch):
    """Go from `theta` to the optimum with exact Hessians and a line search.

    Parameters
    ----------
    problem
        A `Problem`.
    tolerance
        The squared decrement, as a share of the objective, below which one more step is the last;
        at `TOLERANCE`, two more.
    theta
        Start, and on return the optimum.
    scratch
        A `Scratch`.

    Returns
    -------
    bool
        Whether the optimum was reached.
    """
    p, rows, vectors = len(theta), scratch.rows, scratch.vectors
    P, H, L = problem.P, scratch.H, scratch.L
    z, slope, curve = rows[SCORES], rows[SLOPE], rows[CURVE]
    start, step, scale = vectors[START], vectors[STEP], vectors[SCALE]
    gradient, penalised = vectors[GRADIENT], vectors[PENALISED]
    loss = logistic_pass(problem, theta, True, z, slope, curve, gradient)
    objective = loss + 0.5 * quadratic(P, theta)
    for _ in range(STEPS):
        multiply_lower(P, theta, penalised)
        for i in range(p):
            gradient[i] += penalised[i]
            for j in range(i + 1):
                H[i, j] = P[i, j]
        add_weighted_gram(problem.XT, problem.n, curve, rows[WEIGHTED], H)
        smallest = cholesky(H, L, scale)
        cholesky_solve(L, scale, gradient, step)
        squared = 0.0
        for i in range(p):
            squared += gradient[i] * step[i]
            start[i] = theta[i]
        if squared <= tolerance * objective:
            if smallest <= LEAST_PIVOT:
                return False  # in some direction this is no Newton step
            for i in range(p):
                theta[i] -= step[i]
            if tolerance <= TOLERANCE:
                logistic_pass(problem, theta, False, z, slope, curve, gradient)
                multiply_lower(P, theta, penalised)
                for i in range(p):
                    gradient[i] += penalised[i]
                cholesky_solve(L, scale, gradient, step)
                for i in range(p):
                    theta[i] -= step[i]
            return True
        length = 1.0
        before = objective
        while True:
            for i in range(p):
                theta[i] = start[i] - length * step[i]
            loss = logistic_pass(problem, theta, True, z, slope, curve, gradient)
            objective = loss + 0.5 * quadratic(P, theta)
            if squared <= NEAR * before or objective <= before - DECREASE * length * squared:
                break
            length *= 0.5
            if length < LEAST_LENGTH:
                return False
    return False
