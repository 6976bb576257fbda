"""Stochastic dominance between two paired samples of scores, larger being better."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["THRESHOLD", "Dominance", "almost_dominates", "first_order", "second_order", "violation"]

#: A dominates B almost, if the upper bound of its violation is below this.
THRESHOLD = 0.2
_NORMAL_95 = 1.6448536269514722


class Dominance(NamedTuple):
    """Almost stochastic order of A over B."""

    #: Share of the squared quantile distance where A is below B: 0 all for A, 1 all for B.
    violation: float
    #: Its standard deviation over bootstraps of pairs.
    sd: float
    #: Whether violation + 1.645 sd is below 0.2.
    dominates: bool


@njit(nogil=True, cache=True, error_model="numpy")
def _violation(a, b):
    """Return the violation of ascending samples; NaN if they are equal."""
    against = 0.0
    total = 0.0
    for i in range(len(a)):
        d = b[i] - a[i]
        total += d * d
        if d > 0.0:
            against += d * d
    return against / total if total > 0.0 else np.nan


@njit(nogil=True, cache=True, error_model="numpy")
def _bootstrap(a, b, of_a, of_b, out):
    for i in range(len(of_a)):
        out[i] = _violation(np.sort(a[of_a[i]]), np.sort(b[of_b[i]]))


def violation(a: np.ndarray, b: np.ndarray) -> float:
    """Return how much "A dominates B" is violated, in squared 2-Wasserstein distance.

    Examples
    --------
    >>> violation(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.0
    >>> violation(np.array([1.0, 4.0]), np.array([2.0, 2.0]))
    0.2
    """
    return float(_violation(np.sort(np.asarray(a, float)), np.sort(np.asarray(b, float))))


def almost_dominates(
    a: np.ndarray,
    b: np.ndarray,
    rng: np.random.Generator,
    direction: str = "maximize",
    bootstraps: int = 1000,
    *,
    paired: bool = True,
) -> Dominance:
    """Test whether A is almost stochastically larger than B, with repetitions paired or not.

    The bare violation calls two samples of one distribution dominant a quarter of the time; its
    upper bound does not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(0.9, 0.02, 500), rng.normal(0.8, 0.02, 500)
    >>> almost_dominates(a, b, rng, bootstraps=200).dominates
    True
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or a.ndim != 1:
        msg = f"paired samples have one length; got shapes {a.shape} and {b.shape}"
        raise ValueError(msg)
    if direction == "minimize":
        a, b = -a, -b
    there = np.isfinite(a) & np.isfinite(b)
    a, b = a[there], b[there]
    bare = violation(a, b)
    if np.isnan(bare):
        return Dominance(bare, np.nan, False)
    drawn = np.empty(bootstraps)
    picks = rng.integers(0, len(a), (bootstraps, len(a)))
    others = picks if paired else rng.integers(0, len(a), (bootstraps, len(a)))
    _bootstrap(a, b, picks, others, drawn)
    sd = float(np.nanstd(drawn, ddof=1))
    return Dominance(bare, sd, bool(bare + _NORMAL_95 * sd < THRESHOLD))


def first_order(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether no quantile of A is below that of B, and some is above.

    Examples
    --------
    >>> first_order([1.0, 3.0], [1.0, 2.0]), first_order([0.0, 9.0], [1.0, 2.0])
    (True, False)
    """
    difference = np.sort(np.asarray(a, float)) - np.sort(np.asarray(b, float))
    return bool((difference >= 0).all() and (difference > 0).any())


def second_order(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether the mean of the worst q of A is never below that of B, and somewhere above.

    Examples
    --------
    >>> second_order([2.0, 2.0], [1.0, 3.0]), first_order([2.0, 2.0], [1.0, 3.0])
    (True, False)
    """
    a, b = np.sort(np.asarray(a, float)), np.sort(np.asarray(b, float))
    difference = np.cumsum(a) - np.cumsum(b)
    rounding = 1e-12 * (np.abs(a).sum() + np.abs(b).sum())
    return bool((difference >= -rounding).all() and (difference > rounding).any())
