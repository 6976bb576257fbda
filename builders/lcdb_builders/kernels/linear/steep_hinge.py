"""Squared hinge at its optimum where penalties are tiny beside the price of losses.

Rows that can be told apart are told apart as far as that pays: at the optimum they lack as little
of their margin as the penalty is small, 1e-20 of it for features of 1e10. Margins are sums of
numbers near 1, of which double precision does not see that. So coefficients are pairs of doubles,
products and sums of margins and gradients are kept with their rounding errors (twice the digits),
and Newton steps, which need few digits, come from a triangular factor of the rows themselves.

A step is taken as far as the objective falls along it, by the sign of its slope: the objective is
mostly the loss of rows that nobody can tell apart, and changes in digits that it does not have.

Penalties that are still smaller are raised: without any there is a shortest solution among those
that rows allow, and both are as near to it as doubles tell.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import fma
from lcdb_builders.kernels.linear.qr_fallback import factor, newton_step

__all__ = ["narrowed", "steep_newton"]

# One penalty is at most so many times the next smaller one, and the price of losses the largest.
WIDEST = 1e20
# Where that leaves too many decades between all of them, gaps are made narrower, and once more by
# ten: if coefficients, of columns of size 1, move by less, it has changed nothing.
NARROWER, UNCHANGED = (1e14, 1e10), 1e-7
STEPS = 300
# Steps this small, as a share of the coefficients, are rounding; from the other on, steps that grow
# no smaller are, too.
DONE, EXHAUSTED = 1e-14, 1e-10


@kernel
def narrowed(root, size, price, widest):
    """Return the penalty of each coefficient in units of the price of losses, gaps made narrower.

    Parameters
    ----------
    root
        (p, p) square root of the penalty, of which the diagonal is used.
    size
        (p,) largest values of the columns; those of zeros get a penalty of 1.
    price
        Factor of the loss.
    widest
        The widest gap that may be left.

    Returns
    -------
    penalty
        (p,) of each coefficient.

    Examples
    --------
    >>> root = np.diag([1e-150, 2e-150, 1e-80, 1.0])
    >>> [f"{share:.3g}" for share in narrowed(root, np.ones(4), 0.5, 1e20)]
    ['2.5e-41', '1e-40', '1e-20', '1']
    """
    p = len(root)
    penalty = np.ones(p)
    level = np.zeros(p)  # logarithms: squares of roots may be no doubles
    for j in range(p):
        level[j] = 2.0 * np.log(root[j, j]) - np.log(2.0 * price) if size[j] > 0.0 else 0.0
    order = np.argsort(level)
    for direction in (-1, 1):
        last = 0.0
        shift = 0.0
        for i in range(p):
            j = order[i] if direction > 0 else order[p - 1 - i]
            if direction * level[j] <= 0.0 or size[j] == 0.0:
                continue
            shift += max(0.0, direction * (level[j] - last) - np.log(widest))
            last = level[j]
            penalty[j] = np.exp(level[j] - direction * shift)
    return penalty


@kernel(borrow=True)
def _fill_gaps(problem, high, low, gap, rest):
    """Fill what rows lack of a margin of 1, in two parts: gap + rest."""
    n, sign = problem.n, problem.sign
    for r in range(n):
        gap[r] = 1.0
        rest[r] = 0.0
    for j in range(len(high)):
        x = problem.XT[j]
        a = -high[j]
        b = -low[j]
        for r in range(n):
            value = sign[r] * x[r]
            product = a * value
            total = gap[r] + product
            back = total - gap[r]
            error = (gap[r] - (total - back)) + (product - back)
            rest[r] += error + fma(a, value, -product) + b * value
            gap[r] = total
    for r in range(n):
        total = gap[r] + rest[r]
        rest[r] = (gap[r] - total) + rest[r]
        gap[r] = total


@kernel(borrow=True)
def _gradient(problem, penalty, high, low, gap, rest, gradient):
    """Fill the gradient, in units of the price of losses.

    Parameters
    ----------
    problem
        A `Problem`.
    penalty
        (p,) of each coefficient, in units of the price of losses.
    high, low
        (p,) both parts of each coefficient, which is their sum.
    gap, rest
        (n,) both parts of what each row lacks of its margin.
    gradient
        (p,), filled.
    """
    for j in range(len(high)):
        x = problem.XT[j]
        total = penalty[j] * high[j]
        small = fma(penalty[j], high[j], -total) + penalty[j] * low[j]
        for r in range(problem.n):
            if gap[r] <= 0.0:
                continue
            value = -problem.sign[r] * x[r]
            loss = problem.weight[r] * gap[r]
            loss_rest = fma(problem.weight[r], gap[r], -loss) + problem.weight[r] * rest[r]
            product = loss * value
            whole = total + product
            back = whole - total
            small += (total - (whole - back)) + (product - back)
            small += fma(loss, value, -product) + loss_rest * value
            total = whole
        gradient[j] = total + small


@kernel(borrow=True)
def _take_step(high, low, step, length, next_high, next_low):
    """Fill the coefficients at the end of a part of a step.

    Parameters
    ----------
    high, low
        (p,) both parts of each coefficient, which is their sum.
    step, length
        (p,) the whole step, and how much of it is taken.
    next_high, next_low
        (p,) each, filled with both parts.
    """
    for j in range(len(high)):
        move = length * step[j]
        total = high[j] + move
        back = total - high[j]
        error = (high[j] - (total - back)) + (move - back)
        small = error + low[j]
        next_high[j] = total + small
        next_low[j] = (total - next_high[j]) + small


@kernel(borrow=True)
def _rise(problem, penalty, step, along, within):
    """Return how steeply the slope along a step rises where these rows are within the margin."""
    rise = 0.0
    for j in range(len(step)):
        rise += penalty[j] * step[j] * step[j]
    for r in range(problem.n):
        rise += within[r] * problem.weight[r] * along[r] * along[r]
    return rise


@kernel
def _length(problem, penalty, step, squared, gap, along):
    """Return how far along a Newton step the objective falls.

    Its slope rises from minus the squared decrement in straight pieces, which change where a row
    comes to its margin.

    Parameters
    ----------
    problem
        A `Problem`.
    penalty
        (p,) of each coefficient, in units of the price of losses.
    step, squared
        (p,) the step, and its squared decrement.
    gap
        (n,) what each row lacks of its margin, before the step.
    along
        (n,), filled with what the step changes of the scores.
    """
    n = problem.n
    breakpoints, within = np.empty(n), np.empty(n)
    _fill_along(problem, step, along)
    for r in range(n):
        move = problem.sign[r] * along[r]
        within[r] = 1.0 if gap[r] > 0.0 else 0.0
        breakpoints[r] = gap[r] / move if move != 0.0 else -1.0
        if gap[r] == 0.0 and move > 0.0:
            breakpoints[r] = -1.0  # it leaves its margin
    slope = -squared
    last = 0.0
    bent = False
    rise = _rise(problem, penalty, step, along, within)
    summed = rise
    for r in np.argsort(breakpoints):
        if not breakpoints[r] >= 0.0 or breakpoints[r] == np.inf:
            continue
        next_slope = slope + rise * (breakpoints[r] - last)
        if next_slope >= 0.0:
            break
        slope = next_slope
        last = breakpoints[r]
        bent = True
        bend = problem.weight[r] * along[r] * along[r]
        rise += -bend if within[r] > 0.0 else bend
        within[r] = 1.0 - within[r]
        if rise < 0.5 * summed:  # before what is left is what rounding has left
            rise = _rise(problem, penalty, step, along, within)
            summed = rise
    return last - slope / rise if bent else 1.0


@kernel(borrow=True)
def _fill_along(problem, step, along):
    """Fill what a step changes of the scores."""
    for r in range(problem.n):
        along[r] = 0.0
    for j in range(len(step)):
        x = problem.XT[j]
        for r in range(problem.n):
            along[r] = fma(step[j], x[r], along[r])


@kernel(borrow=True)
def _note_active(problem, gap, active):
    """Note which rows lack something of their margin; return how many changed."""
    changed = 0
    for r in range(problem.n):
        now = 1.0 if gap[r] > 0.0 else 0.0
        changed += now != active[r]
        active[r] = now
    return changed


@kernel
def _newton_step(problem, active, penalty, order, gradient, step):
    """Fill the step to the minimum for the active rows; return its squared decrement.

    Rows are spent on the coefficients with the smallest penalties, which come first in `order`:
    penalties that are far apart are lost among the others if the small ones are left to the end.

    Parameters
    ----------
    problem, active
        A `Problem`, and (n,) which of its rows lack something of their margin, 0 or 1.
    penalty, order
        (p,) of each coefficient, in units of the price of losses; coefficients in its order.
    gradient, step
        (p,) the gradient in the same units, and the step, which is filled.
    """
    n, p = problem.n, len(penalty)
    AT = np.zeros((p, n + p))
    norms, sorted_gradient, sorted_step = np.empty(p), np.empty(p), np.empty(p)
    for k in range(p):
        j = order[k]
        for r in range(n):
            AT[k, r] = active[r] * np.sqrt(problem.weight[r]) * problem.XT[j, r]
        AT[k, n + k] = np.sqrt(penalty[j])
        sorted_gradient[k] = gradient[j]
    factor(AT, norms)
    squared = newton_step(AT, norms, sorted_gradient, sorted_step)
    for k in range(p):
        step[order[k]] = sorted_step[k]
    return squared


@kernel(borrow=True)
def _largest(values):
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@kernel
def steep_newton(problem, theta):
    """Go from 0 to the optimum.

    Parameters
    ----------
    problem
        A `Problem`, with a penalty on each coefficient and none of their products; there is no
        intercept beside the features.
    theta
        Filled, with 0 for the intercept.

    Returns
    -------
    bool
        Whether the optimum was reached, as exactly as doubles tell.
    """
    if _minimise(problem, WIDEST, theta):
        return True
    other = np.empty(len(theta))
    for widest in NARROWER:
        if _minimise(problem, widest, theta) and _minimise(problem, 0.1 * widest, other):
            reach = _largest(theta)
            for j in range(len(theta)):
                other[j] -= theta[j]
            if _largest(other) <= UNCHANGED * reach:
                return True
    return False


@kernel
def _minimise(problem, widest, theta):
    """Go from 0 to the optimum with no gap between penalties wider than `widest`."""
    n, p = problem.n, len(theta) - 1
    size = np.empty(p)
    for j in range(p):
        size[j] = _largest(problem.XT[j, :n])
    penalty = narrowed(problem.root[:p, :p], size, problem.price, widest)
    order = np.argsort(penalty)
    high, low, next_high, next_low = np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p)
    gradient, step = np.empty(p), np.empty(p)
    gap, rest, along, active = np.empty(n), np.empty(n), np.empty(n), np.zeros(n)
    _fill_gaps(problem, high, low, gap, rest)
    _gradient(problem, penalty, high, low, gap, rest, gradient)
    changed = _note_active(problem, gap, active)
    last = np.inf
    theta[:] = 0.0
    for _ in range(STEPS):
        squared = _newton_step(problem, active, penalty, order, gradient, step)
        if not squared < np.inf:
            return False
        length = _length(problem, penalty, step, squared, gap, along)
        _take_step(high, low, step, length, next_high, next_low)
        _fill_gaps(problem, next_high, next_low, gap, rest)
        _gradient(problem, penalty, next_high, next_low, gap, rest, gradient)
        changed = _note_active(problem, gap, active)
        high[:] = next_high
        low[:] = next_low
        moved = length * _largest(step)
        reach = _largest(high)
        exhausted = moved <= EXHAUSTED * reach and moved >= 0.5 * last
        settled = (changed == 0 and moved <= DONE * reach) or moved <= DONE * DONE * reach
        if length == 1.0 and (settled or exhausted):
            theta[:p] = high
            return True
        last = moved if changed == 0 else np.inf
    return False
