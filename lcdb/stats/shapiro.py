"""Shapiro-Wilk: coefficients and p-values of Royston's algorithm (AS R94).

The statistic itself is a by-product of the pass over a sorted sample: see `lcdb.stats.summary`.
Normal quantiles are those of AS 111, as R94 and SciPy have them; better ones would move W by 1e-9.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.special import log_ndtr, ndtr

__all__ = ["coefficients", "p_value"]

# Royston 1995: corrections of the two largest coefficients, and the fits of the null of log(1 - W).
_LARGEST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_SECOND = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_SMALL_MEAN = (0.5440, -0.39978, 0.025054, -6.714e-4)
_SMALL_SPREAD = (1.3822, -0.77857, 0.062767, -0.0020322)
_SMALL_BOUND = (-2.273, 0.459)
_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)
_SPREAD = (-0.4803, -0.082676, 0.0030302)
_LEAST_P = 1e-99  # what R94 returns where its transformation for n < 12 ends


def _normal_quantile(p: np.ndarray) -> np.ndarray:
    """Return the lower-half normal quantiles of AS 111 (Beasley and Springer 1977)."""
    q = p - 0.5
    r = q * q
    above = polyval(r, (2.50662823884, -18.61500062529, 41.39119773534, -25.44106049637))
    below = polyval(r, (1.0, -8.47351093090, 23.08336743743, -21.06224101826, 3.13082909833))
    t = np.sqrt(-np.log(p))
    tail = polyval(t, (-2.78718931138, -2.29796479134, 4.85014127135, 2.32121276858))
    tail = -tail / polyval(t, (1.0, 3.54388924762, 1.63706781897))
    return np.where(np.abs(q) <= 0.42, q * above / below, tail)


@lru_cache(maxsize=256)
def coefficients(n: int) -> np.ndarray:
    """Return the n coefficients of W for an ascending sample: antisymmetric, unit length nearly.

    Examples
    --------
    >>> coefficients(4).round(4).tolist()
    [-0.6873, -0.1663, 0.1663, 0.6873]
    """
    if n < 3:
        msg = f"Shapiro-Wilk needs at least 3 values, got {n}"
        raise ValueError(msg)
    half = _upper_half(n)
    whole = np.zeros(n)
    whole[: n // 2] = -half
    whole[n - n // 2 :] = half[::-1]
    whole.setflags(write=False)
    return whole


def _upper_half(n: int) -> np.ndarray:
    """Return the positive coefficients, largest first."""
    if n == 3:
        return np.array([math.sqrt(0.5)])
    m = -_normal_quantile((np.arange(1, n // 2 + 1) - 0.375) / (n + 0.25))
    total = 2.0 * float(m @ m)
    root = 1.0 / math.sqrt(n)
    corrected = [polyval(root, _LARGEST) + m[0] / math.sqrt(total)]
    if n > 5:
        corrected.append(polyval(root, _SECOND) + m[1] / math.sqrt(total))
    head = np.array(corrected)
    known = len(head)
    rest = (total - 2.0 * float(m[:known] @ m[:known])) / (1.0 - 2.0 * float(head @ head))
    half = m / math.sqrt(rest)
    half[:known] = head
    return half


def p_value(one_minus_w: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return p and log p of W, given 1 - W (which keeps its digits where W is near 1).

    Examples
    --------
    >>> p, log_p = p_value(np.array([0.02, 0.5]), 50)
    >>> p.round(4).tolist(), log_p.round(1).tolist()
    ([0.552, 0.0], [-0.6, -25.5])
    """
    one_minus_w = np.asarray(one_minus_w, float)
    if n == 3:
        # 6/π (asin √W - asin √¾), with the digits that 1 - W has and W has not.
        p = np.clip(1.0 - 6.0 / math.pi * np.arcsin(np.sqrt(np.clip(one_minus_w, 0, 0.25))), 0, 1)
        with np.errstate(divide="ignore"):
            return p, np.log(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(one_minus_w)
        if n >= 12:
            x = math.log(n)
            z = (y - polyval(x, _MEAN)) / math.exp(polyval(x, _SPREAD))
            return ndtr(-z), log_ndtr(-z)
        bound = polyval(n, _SMALL_BOUND)
        z = (-np.log(bound - y) - polyval(n, _SMALL_MEAN)) / math.exp(polyval(n, _SMALL_SPREAD))
        beyond = y >= bound
        p = np.where(beyond, _LEAST_P, ndtr(-z))
        return p, np.where(beyond, math.log(_LEAST_P), log_ndtr(-z))
