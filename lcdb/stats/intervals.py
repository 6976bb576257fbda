"""Distribution-free bounds: order-statistic intervals of a quantile, bands of a whole CDF."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.stats import binom

__all__ = ["band_width", "quantile_interval", "quantile_ranks"]


@lru_cache(maxsize=1024)
def quantile_ranks(size: int, q: float, confidence: float = 0.95) -> tuple[int, int, float]:
    """Return ranks (low, high) whose order statistics enclose a quantile, and their coverage.

    Ranks count from 1; ``0`` and ``size + 1`` stand for the ends of the support. Among the
    intervals with at least the wanted coverage, the one with the fewest ranks between its ends
    is returned (of several, the one with the largest coverage). For a continuous distribution the
    coverage is exact, P(low <= B <= high - 1) with B binomial(size, q); ties only raise it.

    Examples
    --------
    >>> low, high, coverage = quantile_ranks(1000, 0.05)
    >>> low, high, round(coverage, 4)
    (37, 64, 0.9504)
    """
    below = np.concatenate([[0.0], binom.cdf(np.arange(size + 1), size, q)])  # P(B <= k - 1)
    low = np.arange(size + 1)
    # The smallest high for each low: P(B <= high - 1) - P(B <= low - 1) >= confidence.
    high = np.searchsorted(below, below[low] + confidence, side="left")
    possible = high <= size + 1
    if not possible.any():
        return 0, size + 1, 1.0
    low, high = low[possible], high[possible]
    coverage = below[high] - below[low]
    best = np.lexsort((-coverage, high - low))[0]
    return int(low[best]), int(high[best]), float(coverage[best])


def quantile_interval(
    ordered: np.ndarray,
    q: float,
    confidence: float = 0.95,
    support: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of a quantile, for samples ascending along the last axis.

    Examples
    --------
    >>> low, high = quantile_interval(np.arange(1000.0), 0.5)
    >>> float(low), float(high)
    (468.0, 530.0)
    """
    size = ordered.shape[-1]
    low, high, _ = quantile_ranks(size, q, confidence)
    shape = ordered.shape[:-1]
    below = ordered[..., low - 1] if low else np.full(shape, support[0])
    above = ordered[..., high - 1] if high <= size else np.full(shape, support[1])
    return below, above


def band_width(size: int, confidence: float = 0.95) -> float:
    """Return the half-width of the Dvoretzky-Kiefer-Wolfowitz band (Massart's constant).

    Examples
    --------
    >>> round(band_width(1000), 4)
    0.0429
    """
    return math.sqrt(math.log(2.0 / (1.0 - confidence)) / (2.0 * size))
