"""The squared hinge at its exact optimum, with twice the digits of double precision.

At the optimum rows that can be told apart lack about as much of their margin as the penalty is
smaller than the price of losses: 1e-20 for features of 1e10, which double precision does not see in
a sum of numbers near 1. So margins and gradients are summed without rounding errors, coefficients
are pairs of doubles, and Newton steps, which need few digits, come from a triangular factor.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dgeqrf, dtrtrs

__all__ = ["minimise"]

MOST_STEPS = 300
# Steps this small, as a share of the coefficients, are rounding; steps that grow no smaller are it
# from the other on.
ROUNDING, EXHAUSTED = 1e-14, 1e-10
# So little of a column that the others do not explain is rounding.
LEAST_REST = 1e-14
# One penalty is at most so many times the next smaller one, and the price of losses the largest:
# without any penalty there is a shortest solution among those that rows allow, and what is nearer
# to it than 1e-20 is it.
WIDEST = 1e20
# Where that leaves too many decades between all of them, gaps are made narrower, and once more by
# ten: if coefficients, of columns of size 1, move by less, it has changed nothing.
NARROWER, UNCHANGED = (1e14, 1e10), 1e-7
SPLIT = 2.0**27 + 1


class NoOptimumError(ArithmeticError):
    """Rounding hides the optimum."""


def minimise(rows: np.ndarray, weight: np.ndarray, root: np.ndarray, price: float) -> np.ndarray:
    """Return the c that minimises price · Σ weight · max(0, 1 - rows @ c)² + ½ |root · c|².

    Parameters
    ----------
    rows
        (n, p) rows times their signs, in columns of about size 1.
    weight
        (n,) multiplicities.
    root
        (p,) square roots of the penalties.
    price
        Factor of the losses.

    Examples
    --------
    >>> minimise(np.array([[1.0], [0.5]]), np.ones(2), np.array([1e-30]), 1.0)
    array([2.])
    """
    filled = np.abs(rows).max(axis=0) > 0
    optimum = np.zeros(rows.shape[1])
    columns, log = rows[:, filled], 2 * np.log(root[filled]) - math.log(2 * price)
    for widest in (WIDEST, *NARROWER):
        try:
            optimum[filled] = _optimum(columns, weight, _narrowed(log, widest))
            if widest < WIDEST:
                other = _optimum(columns, weight, _narrowed(log, widest / 10))
                if np.abs(other - optimum[filled]).max() > UNCHANGED * np.abs(other).max():
                    continue
        except NoOptimumError:
            continue
        return optimum
    msg = "LSVC found no optimum that rounding does not hide; expected features of other units"
    raise NoOptimumError(msg)


def _narrowed(log: np.ndarray, widest: float) -> np.ndarray:
    """Return penalties in units of the price from their logarithms, with no gap wider than this.

    Examples
    --------
    >>> _narrowed(np.log([1e-160, 1e-70, 1e-71, 1e2]), 1e20).round(50)
    array([1.e-41, 1.e-20, 1.e-21, 1.e+02])
    """
    penalties = np.zeros(len(log))
    for sign in (-1.0, 1.0):
        side = np.flatnonzero(sign * log > 0)
        side = side[np.argsort(sign * log[side])]
        gaps = np.minimum(np.diff(sign * log[side], prepend=0.0), math.log(widest))
        penalties[side] = sign * gaps.cumsum()
    return np.exp(penalties)


def _optimum(rows: np.ndarray, weight: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return coefficients by Newton steps, each as far as the objective falls."""
    high, low = np.zeros(len(share)), np.zeros(len(share))
    gap, rest = _missing(rows, high, low)
    last = np.inf
    for _ in range(MOST_STEPS):
        active = gap > 0
        gradient = _gradient(rows, weight, share, high, low, gap, rest)
        step, squared = _newton_step(rows, weight * active, share, gradient)
        length = _length(rows, weight, share, step, squared, gap)
        sum_, error = _two_sum(high, length * step)
        high, low = _two_sum(sum_, error + low)
        gap, rest = _missing(rows, high, low)
        moved, reach = np.abs(length * step).max(), np.abs(high).max()
        same = bool(((gap > 0) == active).all())
        settled = (same and moved <= ROUNDING * reach) or moved <= ROUNDING**2 * reach
        exhausted = last / 2 <= moved <= EXHAUSTED * reach
        if length == 1 and (settled or exhausted):
            return high
        last = moved if same else np.inf
    msg = f"LSVC found no optimum in {MOST_STEPS} Newton steps"
    raise NoOptimumError(msg)


def _newton_step(
    rows: np.ndarray, weight: np.ndarray, share: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the step to the minimum for rows of weight, and its squared decrement.

    Columns with the smallest penalties come first: they are lost among others' rounding otherwise.
    """
    order = np.argsort(share, kind="stable")
    stacked = np.vstack([np.sqrt(weight)[:, None] * rows, np.diag(np.sqrt(share))])[:, order]
    scale = np.sqrt((stacked * stacked).sum(axis=0))
    factor = dgeqrf(stacked / scale)[0][: len(scale)]
    if not np.abs(factor.diagonal()).min() > LEAST_REST:
        msg = "the curvature vanishes in a direction"
        raise NoOptimumError(msg)
    half, _ = dtrtrs(factor, gradient[order] / scale, trans=1)
    step = np.empty(len(scale))
    step[order] = -dtrtrs(factor, half)[0] / scale
    return step, float(half @ half)


def _length(
    rows: np.ndarray,
    weight: np.ndarray,
    share: np.ndarray,
    step: np.ndarray,
    squared: float,
    gap: np.ndarray,
) -> float:
    """Return where the slope along a step, which rises in straight pieces, reaches 0.

    It begins at minus the squared decrement; pieces end where rows come to their margins.

    Parameters
    ----------
    rows, weight
        (rows, coefficients) features by class sign, and weights of the rows.
    share, step
        (coefficients,): the penalty of each, and the direction.
    squared
        The squared decrement.
    gap
        (rows,): what each lacks to its margin.
    """
    move = rows @ step
    with np.errstate(divide="ignore", invalid="ignore"):
        where = gap / move
    where[(gap == 0) & (move > 0)] = -1.0  # they leave their margins
    within, bends = gap > 0, weight * move**2
    own = share @ step**2
    slope, last, rise, bent = -squared, 0.0, own + bends[within].sum(), False
    for r in np.argsort(where):
        if not 0 <= where[r] < np.inf:
            continue
        there = slope + rise * (where[r] - last)
        if there >= 0:
            break
        slope, last, within[r], bent = there, where[r], not within[r], True
        rise = own + bends[within].sum()
    return float(last - slope / rise) if bent else 1.0


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a sum, and its rounding error."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a product, and its rounding error."""
    product = a * b
    a_high = SPLIT * a - (SPLIT * a - a)
    b_high = SPLIT * b - (SPLIT * b - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _missing(rows: np.ndarray, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what rows lack of a margin of 1, in two parts."""
    gap, rest = np.ones(len(rows)), np.zeros(len(rows))
    for j, column in enumerate(rows.T):
        product, small = _two_product(column, -high[j])
        gap, error = _two_sum(gap, product)
        rest += error + small - low[j] * column
    return _two_sum(gap, rest)


def _gradient(
    rows: np.ndarray,
    weight: np.ndarray,
    share: np.ndarray,
    high: np.ndarray,
    low: np.ndarray,
    gap: np.ndarray,
    rest: np.ndarray,
) -> np.ndarray:
    """Return share · c - Σ weight · gap · row over the rows that lack something, rounded once.

    Parameters
    ----------
    rows, weight, share
        As of `_length`.
    high, low
        (coefficients,): c as a sum of two numbers.
    gap, rest
        (rows,): what each lacks to its margin, as a sum of two numbers.
    """
    active = gap > 0
    loss, error = _two_product(weight[active], gap[active])
    error = error + weight[active] * rest[active]
    gradient = np.empty(len(share))
    for j, column in enumerate(rows[active].T):
        product, small = _two_product(loss, -column)
        own, own_small = _two_product(share[j : j + 1], high[j : j + 1])
        parts = (product, small, -error * column, own, own_small, share[j : j + 1] * low[j : j + 1])
        gradient[j] = math.fsum(np.concatenate(parts))
    return gradient
