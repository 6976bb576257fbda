"""Distributions as curves and as risks: CDF, inverse CDF with bands, CVaR, threshold area."""

from __future__ import annotations

import numpy as np

from lcdb.stats.intervals import band_width

__all__ = ["cdf", "cvar_lower", "cvar_upper", "inverse_cdf", "inverse_cdf_band", "threshold_area"]


def cdf(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the share of each sample (last axis) that is at most each value of `at`.

    Examples
    --------
    >>> cdf(np.array([3.0, 1.0, 2.0, 2.0]), np.array([0.0, 2.0, 9.0])).tolist()
    [0.0, 0.75, 1.0]
    """
    ordered = np.sort(np.asarray(x), axis=-1)
    at = np.asarray(at)
    rows = ordered.reshape(-1, ordered.shape[-1])
    found = np.array([np.searchsorted(row, at, side="right") for row in rows], float)
    return (found / ordered.shape[-1]).reshape(ordered.shape[:-1] + at.shape)


def inverse_cdf(x: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the smallest value whose CDF reaches each probability: a step function.

    Examples
    --------
    >>> inverse_cdf(np.array([3.0, 1.0, 2.0, 4.0]), np.array([0.0, 0.25, 0.26, 1.0])).tolist()
    [1.0, 1.0, 2.0, 4.0]
    """
    ordered = np.sort(np.asarray(x), axis=-1)
    return ordered[..., _rank(ordered.shape[-1], np.asarray(probabilities)) - 1]


def _rank(size: int, probabilities: np.ndarray) -> np.ndarray:
    """Return the 1-based rank of the order statistic at each probability."""
    # 0.07 * 100 is a rounding error above 7: step back by less than any probability resolves.
    return np.clip(np.ceil(size * probabilities - 1e-9), 1, size).astype(int)


def inverse_cdf_band(
    x: np.ndarray,
    probabilities: np.ndarray,
    confidence: float = 0.95,
    support: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[np.ndarray, np.ndarray]:
    """Return a band that encloses the whole inverse CDF with the given confidence.

    The Dvoretzky-Kiefer-Wolfowitz band, inverted; where it leaves [0, 1] the support bounds.

    Examples
    --------
    >>> low, high = inverse_cdf_band(np.arange(1000.0), np.array([0.01, 0.5]), support=(0, 1000))
    >>> low.tolist(), high.tolist()
    ([0.0, 457.0], [52.0, 542.0])
    """
    ordered = np.sort(np.asarray(x, float), axis=-1)
    size = ordered.shape[-1]
    half = band_width(size, confidence)
    probabilities = np.asarray(probabilities)
    low = np.ceil(size * (probabilities - half)).astype(int)
    high = np.floor(size * (probabilities + half)).astype(int) + 1
    below = np.where(low >= 1, ordered[..., np.clip(low, 1, size) - 1], support[0])
    above = np.where(high <= size, ordered[..., np.clip(high, 1, size) - 1], support[1])
    return below, above


def cvar_upper(x: np.ndarray, alpha: float) -> np.ndarray:
    """Return the mean of the largest (1 - alpha) share of each sample.

    The value at the boundary enters with its fractional weight.

    Examples
    --------
    >>> float(cvar_upper(np.array([1.0, 2.0, 3.0, 4.0]), 0.5))
    3.5
    >>> float(cvar_upper(np.array([1.0, 2.0, 3.0]), 0.5))  # (3 + 2 / 2) / 1.5
    2.6666666666666665
    """
    return -cvar_lower(-np.asarray(x), 1.0 - alpha)


def cvar_lower(x: np.ndarray, alpha: float) -> np.ndarray:
    """Return the mean of the smallest alpha share of each sample.

    Examples
    --------
    >>> float(cvar_lower(np.array([1.0, 2.0, 3.0, 4.0]), 0.5))
    1.5
    """
    if not 0.0 < alpha <= 1.0:
        msg = f"the averaged share must be above 0 and at most 1, got {alpha:g}"
        raise ValueError(msg)
    ordered = np.sort(np.asarray(x, float), axis=-1)
    weight = np.clip(alpha * ordered.shape[-1] - np.arange(ordered.shape[-1]), 0.0, 1.0)
    used = int(np.count_nonzero(weight))
    return ordered[..., :used] @ weight[:used] / weight.sum()


def threshold_area(x: np.ndarray, threshold: float) -> np.ndarray:
    """Return E[Z; Z >= threshold]: the mean of the sample with all lower values counted as 0.

    Examples
    --------
    >>> float(threshold_area(np.array([1.0, 2.0, 3.0, 4.0]), 3.0))
    1.75
    """
    x = np.asarray(x, float)
    return np.where(x >= threshold, x, np.where(np.isnan(x), np.nan, 0.0)).mean(axis=-1)
