"""Two learners on rows that have nothing to do with each other: what takes no pairs.

Samples have repetitions on the last axis, of any two lengths; NaN are left out of each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu, norm, rankdata
from scipy.stats import t as student

from lcdb.stats.paired import Superiority
from lcdb.stats.power import Power, studies_of
from lcdb.stats.quantiles import (
    QuantileDifferences,
    bootstrap_counts,
    harrell_davis,
    resampled_quantiles,
)

__all__ = [
    "OTHER_STREAM",
    "UNPAIRED_TESTS",
    "WelchMean",
    "mann_whitney",
    "power_of_unpaired_studies",
    "unpaired_quantile_differences",
    "unpaired_superiority",
    "welch_mean",
]

#: Added to a seed, it is the seed of the resamples of the second sample.
OTHER_STREAM = 2**32
#: What two values may differ by and be one, relative to their size.
_ROUNDING = 2.0**-42


class WelchMean(NamedTuple):
    """The difference of two means, Welch's interval and p-value, and what they come from."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    #: Of a difference of one score of each: the root of the sum of the two variances.
    sd: np.ndarray
    #: Welch's degrees of freedom by those of one sample: 1 to 2 for samples of one size.
    freedom: np.ndarray
    first: np.ndarray
    second: np.ndarray


def _moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return count, mean and variance (ddof 1; 0 where all values are one up to rounding)."""
    there = ~np.isnan(x)
    count = there.sum(axis=-1)
    mean = np.where(there, x, 0.0).sum(axis=-1) / np.maximum(count, 1)
    squares = np.where(there, (x - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    largest = np.where(there, x, -np.inf).max(-1)
    smallest = np.where(there, x, np.inf).min(-1)
    scale = _ROUNDING * np.maximum(np.abs(largest), np.abs(smallest))
    with np.errstate(invalid="ignore"):
        equal = largest - smallest <= scale
    return count, mean, np.where(equal, 0.0, squares / np.maximum(count - 1, 1))


def welch_mean(x: np.ndarray, y: np.ndarray, confidence: float = 0.95) -> WelchMean:
    """Return the difference of the means of two samples, after Welch.

    Samples that never vary have an interval of width 0, and p = 0 unless their means are one.

    Examples
    --------
    >>> result = welch_mean(np.array([0.9, 0.8, 0.7]), np.array([0.5, 0.6]))
    >>> round(float(result.mean), 3), round(float(result.p), 3)
    (0.25, 0.049)
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    (n, a, of_a), (m, b, of_b) = _moments(x), _moments(y)
    each = of_a / np.maximum(n, 1), of_b / np.maximum(m, 1)
    error = np.sqrt(each[0] + each[1])
    parts = each[0] ** 2 / np.maximum(n - 1, 1) + each[1] ** 2 / np.maximum(m - 1, 1)
    dof = np.where(parts > 0, error**4 / np.where(parts > 0, parts, 1.0), np.maximum(n + m - 2, 1))
    mean = a - b
    mean = np.where(np.abs(mean) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b)), 0.0, mean)
    width = student.isf(0.5 - 0.5 * confidence, dof) * error
    p = 2.0 * student.sf(np.abs(mean) / np.where(error > 0, error, 1.0), dof)
    p = np.where(error > 0, p, np.where(mean == 0, 1.0, 0.0))
    fourth = of_a**2 + of_b**2
    freedom = np.where(fourth > 0, (of_a + of_b) ** 2 / np.where(fourth > 0, fourth, 1.0), 2.0)
    few = np.minimum(n, m) < 2
    values = (mean, mean - width, mean + width, p, np.sqrt(of_a + of_b), freedom)
    return WelchMean._make([*(np.where(few, np.nan, value) for value in values), n, m])


def _together(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    x, y = np.asarray(x, float), np.asarray(y, float)
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (np.broadcast_to(z, (*shape, z.shape[-1])) for z in (x, y))
    return x, y, shape


def mann_whitney(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the two-sided p-value of Mann and Whitney's test, corrected for ties.

    Examples
    --------
    >>> round(float(mann_whitney(np.arange(9.0), np.arange(9.0) + 4)), 3)
    0.015
    """
    return _mann_whitney(x, y)[0]


def _mann_whitney(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p-values, and by how much the share of wins is more than a half."""
    x, y, shape = _together(x, y)
    if not (np.isnan(x).any() or np.isnan(y).any()):
        result = mannwhitneyu(x, y, axis=-1, method="asymptotic")
        # Samples that are one value have no spread to test with.
        return np.where(np.isnan(result.pvalue), 1.0, result.pvalue), (
            result.statistic / (x.shape[-1] * y.shape[-1]) - 0.5
        )
    both = np.full((2, *shape), np.nan)
    for cell in np.ndindex(shape):
        one, other = (z[cell][~np.isnan(z[cell])] for z in (x, y))
        if one.size and other.size:
            both[(slice(None), *cell)] = _mann_whitney(one, other)
    return both[0], both[1]


def unpaired_superiority(x: np.ndarray, y: np.ndarray, confidence: float = 0.95) -> Superiority:
    """Return how often a score of x is larger than one of y, ties counting half, with an interval.

    The interval is Wilson's for as many pairs as would have DeLong's variance, and for no more than
    two samples of one distribution would be worth.

    Examples
    --------
    >>> result = unpaired_superiority(np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0]))
    >>> round(float(result.share), 3)
    0.75
    """
    x, y, shape = _together(x, y)
    ends = np.full((3, *shape), np.nan)
    z = norm.ppf(0.5 + 0.5 * confidence)
    for cell in np.ndindex(shape):
        one, other = (s[cell][~np.isnan(s[cell])] for s in (x, y))
        n, m = one.size, other.size
        if not n or not m:
            continue
        ranks = rankdata(np.concatenate([one, other]))
        of_one = (ranks[:n] - rankdata(one)) / m
        of_other = 1.0 - (ranks[n:] - rankdata(other)) / n
        share = of_one.mean()
        variance = sum(part.var(ddof=1) / part.size for part in (of_one, of_other) if part.size > 1)
        most = 3.0 * n * m / (n + m + 1.0)
        untied = share * (1.0 - share)
        size = min(most, untied / variance) if variance > 0 else most
        if np.ptp(np.concatenate([one, other])) == 0:
            ends[(slice(None), *cell)] = 0.5
            continue
        rate = 1.0 / size
        centre = (share + 0.5 * z * z * rate) / (1.0 + z * z * rate)
        half = z * np.sqrt(rate * untied + 0.25 * (z * rate) ** 2) / (1.0 + z * z * rate)
        low, high = min(centre - half, share), max(centre + half, share)
        ends[(slice(None), *cell)] = share, max(low, 0.0), min(high, 1.0)
    return Superiority(*ends)


def unpaired_quantile_differences(
    x: np.ndarray,
    y: np.ndarray,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> QuantileDifferences:
    """Return differences of quantiles of two samples, each resampled by itself.

    Parameters
    ----------
    x, y
        Samples (..., repetition).
    quantiles
        Probabilities, strictly between 0 and 1.
    resamples, seed
        Of the bootstrap.
    confidence
        Of the percentile intervals.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(0.3, 0.1, 400)
    >>> result = unpaired_quantile_differences(x, x[:200] - 0.3, [0.5], 200)
    >>> bool(result.low[0] < 0.3 < result.high[0])
    True
    """
    x, y, shape = _together(x, y)
    result = QuantileDifferences(*np.full((3, *shape, len(quantiles)), np.nan))
    tails = [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence]
    for cell in np.ndindex(shape):
        one, other = (z[cell][~np.isnan(z[cell])] for z in (x, y))
        if one.size < 2 or other.size < 2:
            continue
        drawn = [
            resampled_quantiles(z[None], quantiles, bootstrap_counts(z.size, resamples, stream))[0]
            for z, stream in ((one, seed), (other, seed + OTHER_STREAM))
        ]
        result.difference[cell] = harrell_davis(one, quantiles) - harrell_davis(other, quantiles)
        result.low[cell], result.high[cell] = np.quantile(drawn[0] - drawn[1], tails, axis=-1)
    return result


def _difference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return differences of means, 0 where they differ by rounding."""
    return np.round(x.mean(axis=-1) - y.mean(axis=-1), 12)


#: By name: the p-values of rows of two samples, and a number with the sign of each result.
UNPAIRED_TESTS = {
    "t": (lambda x, y: welch_mean(x, y).p, _difference),
    "wilcoxon": (mann_whitney, lambda x, y: _mann_whitney(x, y)[1]),
}


def power_of_unpaired_studies(
    x: np.ndarray,
    y: np.ndarray,
    repetitions: np.ndarray,
    test: str = "t",
    studies: int = 4000,
    seed: int = 0,
    alpha: float = 0.05,
) -> Power:
    """Return how often studies of two samples, drawn from many scores, find what all show.

    Parameters
    ----------
    x, y
        Scores (repetition); NaN are left out.
    repetitions
        How many of each a study has: drawn with replacement.
    test
        ``"t"`` (Welch) or ``"wilcoxon"`` (Mann and Whitney), two-sided.
    studies, seed
        How many are drawn for each number of repetitions, and from which stream.
    alpha
        A study finds a difference if p <= alpha.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal([[0.7], [0.0]], 1.0, (2, 1000))
    >>> power = power_of_unpaired_studies(x, y, np.array([5, 100]))
    >>> bool(power.found[0] < 0.3), bool(power.found[1] > 0.99)
    (True, True)
    """
    return studies_of((x, y), UNPAIRED_TESTS[test], repetitions, studies, seed, alpha)
