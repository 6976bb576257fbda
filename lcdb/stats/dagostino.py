"""Skewness and kurtosis tests, and D'Agostino and Pearson's K² of both.

The transformations are those of D'Agostino (1970) and of Anscombe and Glynn (1983). Unlike SciPy's,
a skewness of exactly 0 has the score 0 (SciPy moves it to that of 1).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

__all__ = ["k_squared", "kurtosis_score", "skewness_score", "two_sided"]


def skewness_score(skewness: np.ndarray, n: int) -> np.ndarray:
    """Return the normal score of a biased skewness; NaN for n < 8.

    Examples
    --------
    >>> skewness_score(np.array([0.0, 0.5]), 100).round(3).tolist()
    [0.0, 2.075]
    """
    if n < 8:
        return np.full(np.shape(skewness), np.nan)
    y = skewness * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta2 = 3.0 * (n * n + 27 * n - 70) * (n + 1) * (n + 3)
    beta2 /= (n - 2.0) * (n + 5) * (n + 7) * (n + 9)
    w2 = math.sqrt(2.0 * (beta2 - 1.0)) - 1.0
    return np.arcsinh(y / math.sqrt(2.0 / (w2 - 1.0))) / math.sqrt(0.5 * math.log(w2))


def kurtosis_score(kurtosis: np.ndarray, n: int) -> np.ndarray:
    """Return the normal score of a biased Pearson kurtosis (3 if normal); NaN for n < 5.

    Examples
    --------
    >>> kurtosis_score(np.array([3.0, 4.0]), 100).round(3).tolist()
    [0.321, 1.908]
    """
    if n < 5:
        return np.full(np.shape(kurtosis), np.nan)
    expected = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    x = (kurtosis - expected) / math.sqrt(variance)
    root = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    root *= math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2.0) * (n - 3)))
    a = 6.0 + 8.0 / root * (2.0 / root + math.sqrt(1.0 + 4.0 / root**2))
    denominator = 1.0 + x * math.sqrt(2.0 / (a - 4.0))
    with np.errstate(divide="ignore"):
        term = np.cbrt((1.0 - 2.0 / a) / denominator)
    term = np.where(denominator == 0.0, np.nan, term)
    return (1.0 - 2.0 / (9.0 * a) - term) / math.sqrt(2.0 / (9.0 * a))


def k_squared(
    skewness: np.ndarray, kurtosis: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return K², its p-value, and the p-values of the skewness and of the kurtosis test.

    Examples
    --------
    >>> k2, p, _, _ = k_squared(np.array([0.5]), np.array([4.0]), 100)
    >>> k2.round(3).tolist(), p.round(4).tolist()
    ([7.949], [0.0188])
    """
    by_skewness = skewness_score(skewness, n)
    by_kurtosis = kurtosis_score(kurtosis, n)
    k2 = by_skewness**2 + by_kurtosis**2
    return k2, np.exp(-0.5 * k2), two_sided(by_skewness), two_sided(by_kurtosis)


def two_sided(score: np.ndarray) -> np.ndarray:
    """Return the two-sided p-value of a normal score."""
    return 2.0 * ndtr(-np.abs(score))
