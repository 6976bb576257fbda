"""Two learners on the same rows: tests and intervals of paired differences.

Differences have repetitions on the last axis; NaN, a pair that lacks a score, is left out. What
differs by less than its tolerance is tied: 0.96 - 0.92 and 0.92 - 0.88 are one difference, and
in doubles they are two.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import special
from scipy.stats import norm
from scipy.stats import t as student

__all__ = [
    "PairedMean",
    "Superiority",
    "corrected_p",
    "differences",
    "paired_mean",
    "sign_test",
    "signed_ranks_of",
    "superiority",
    "wilcoxon",
]

#: Differences of scores of size 1 are equal up to this: a few hundred roundings of a double.
_ROUNDING = 2.0**-42
#: Up to so many untied differences the distribution of the signed ranks is counted out.
_EXACT = 50


class PairedMean(NamedTuple):
    """The mean of paired differences, its t interval, and what it was computed from."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    sd: np.ndarray
    pairs: np.ndarray


class Superiority(NamedTuple):
    """P(better) + P(equal)/2 and its interval."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


def differences(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a - b, exactly 0 where the two are equal up to rounding, and what rounding may do.

    Examples
    --------
    >>> d, tolerance = differences(np.array([0.3, 0.9]), np.array([0.1 + 0.2, 0.4]))
    >>> d.tolist(), tolerance.shape
    ([0.0, 0.5], (1,))
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    d = a - b
    there = ~np.isnan(d)
    scale = np.where(there, np.maximum(np.abs(a), np.abs(b)), 0.0).max(axis=-1, keepdims=True)
    tolerance = _ROUNDING * scale
    return np.where(np.abs(d) <= tolerance, 0.0, d), tolerance


def paired_mean(
    d: np.ndarray, tolerance: np.ndarray | float = 0.0, confidence: float = 0.95
) -> PairedMean:
    """Return the mean of differences with Student's interval and two-sided p-value.

    Differences that are all equal have an interval of width 0, and p = 0 unless they are 0.

    Examples
    --------
    >>> found = paired_mean(np.array([0.1, 0.3, 0.2]))
    >>> round(float(found.mean), 3), round(float(found.p), 3)
    (0.2, 0.074)
    """
    d = np.asarray(d, float)
    there = ~np.isnan(d)
    count = there.sum(axis=-1)
    some = np.maximum(count, 1)
    mean = np.where(there, d, 0.0).sum(axis=-1) / some
    squares = np.where(there, (d - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    sd = np.sqrt(squares / np.maximum(count - 1, 1))
    spread = np.where(there, d, -np.inf).max(-1) - np.where(there, d, np.inf).min(-1)
    sd = np.where(spread <= np.broadcast_to(tolerance, (*d.shape[:-1], 1))[..., 0], 0.0, sd)
    error = sd / np.sqrt(some)
    width = student.ppf(0.5 + 0.5 * confidence, np.maximum(count - 1, 1)) * error
    p = _two_sided(mean, error, count)
    few = count < 2
    parts = [np.where(few, np.nan, v) for v in (mean, mean - width, mean + width, p, sd)]
    return PairedMean._make([*parts, count])


def corrected_p(
    mean: np.ndarray, sd: np.ndarray, count: np.ndarray, test_per_training: np.ndarray
) -> np.ndarray:
    """Return the two-sided p-value of Nadeau and Bengio's corrected resampled t-test.

    Repetitions that draw their training rows from the same table are correlated; the variance of
    their mean is taken to be (1/R + test rows / training rows) times that of one.

    Examples
    --------
    >>> float(corrected_p(0.02, 0.01, 10, 0.0)) < 0.001 < float(corrected_p(0.02, 0.01, 10, 0.5))
    True
    """
    mean, sd, count = np.asarray(mean, float), np.asarray(sd, float), np.asarray(count)
    error = sd * np.sqrt(1.0 / np.maximum(count, 1) + test_per_training)
    return np.where(count < 2, np.nan, _two_sided(mean, error, count))


def _two_sided(mean: np.ndarray, error: np.ndarray, count: np.ndarray) -> np.ndarray:
    t = np.abs(mean) / np.where(error == 0, 1.0, error)  # an error that is NaN stays so
    p = 2.0 * student.sf(t, np.maximum(count - 1, 1))
    return np.where(error == 0, np.where(mean == 0, 1.0, 0.0), p)


def sign_test(d: np.ndarray) -> np.ndarray:
    """Return the two-sided p-value of the sign test; ties are left out, and nothing else gives 1.

    Examples
    --------
    >>> float(sign_test(np.array([1.0, 2.0, 0.0, 0.5, 3.0])))
    0.125
    """
    d = np.asarray(d, float)
    ahead, behind = (d > 0).sum(axis=-1), (d < 0).sum(axis=-1)
    p = 2.0 * special.bdtr(np.minimum(ahead, behind), ahead + behind, 0.5)
    return np.where(np.isnan(d).all(axis=-1), np.nan, np.minimum(p, 1.0))


def superiority(d: np.ndarray, confidence: float = 0.95) -> Superiority:
    """Return how often a difference is positive, ties counting half, with Wilson's interval.

    Ties make the share more certain than wins and losses would: Wilson's interval is that of as
    many untied pairs as would have the variance that was seen.

    Examples
    --------
    >>> found = superiority(np.array([1.0, 2.0, 0.0, -1.0]))
    >>> float(found.share), bool(0.2 < found.low < found.high < 0.95)
    (0.625, True)
    """
    d = np.asarray(d, float)
    count = (~np.isnan(d)).sum(axis=-1)
    some = np.maximum(count, 1)
    ahead, behind = (d > 0).sum(axis=-1) / some, (d < 0).sum(axis=-1) / some
    share = 0.5 + 0.5 * (ahead - behind)
    variance = 0.25 * (ahead + behind - (ahead - behind) ** 2)
    untied = share * (1.0 - share)
    # 1/size of the untied sample: 1/R without ties, 0 where everything is tied.
    rate = np.where(untied > 0, variance / np.where(untied > 0, untied, 1.0), 1.0) / some
    z = norm.ppf(0.5 + 0.5 * confidence)
    centre = (share + 0.5 * z * z * rate) / (1.0 + z * z * rate)
    half = z * np.sqrt(rate * untied + 0.25 * (z * rate) ** 2) / (1.0 + z * z * rate)
    parts = (share, np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0))
    return Superiority(*(np.where(count < 1, np.nan, part) for part in parts))


def wilcoxon(d: np.ndarray, tolerance: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the two-sided p-value of Wilcoxon's signed ranks; differences of 0 are left out.

    Up to 50 untied differences the p-value is exact; otherwise it is that of the normal
    approximation with the correction for ties.

    Examples
    --------
    >>> float(wilcoxon(np.array([0.1, 0.4, -0.2, 0.8, 0.3])))
    0.1875
    """
    rows, count, positive, ties = _ranked(np.asarray(d, float), tolerance)
    expected = 0.25 * count * (count + 1.0)
    variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - ties / 48.0
    z = (positive - expected) / np.sqrt(np.where(variance > 0, variance, 1.0))
    p = np.where(count > 0, np.minimum(1.0, 2.0 * norm.sf(np.abs(z))), 1.0)
    zeros = (rows == 0).any(axis=-1)
    for i in np.flatnonzero((count <= _EXACT) & (ties == 0) & (count > 0) & ~zeros):
        p[i] = _exact_p(int(count[i]), int(positive[i]))
    p[np.isnan(rows).all(axis=-1)] = np.nan
    return p.reshape(np.shape(d)[:-1])


def signed_ranks_of(d: np.ndarray, tolerance: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the sum of the positive ranks less the sum of the negative ones.

    Examples
    --------
    >>> float(signed_ranks_of(np.array([0.1, 0.4, -0.2])))
    2.0
    """
    _, count, positive, _ = _ranked(np.asarray(d, float), tolerance)
    return (2.0 * positive - 0.5 * count * (count + 1.0)).reshape(np.shape(d)[:-1])


def _ranked(d: np.ndarray, tolerance: np.ndarray | float) -> tuple[np.ndarray, ...]:
    """Return rows of differences in steps of their tolerance, and of each what its ranks say."""
    unit = np.broadcast_to(tolerance, (*d.shape[:-1], 1))
    steps = np.where(unit > 0, np.rint(d / np.where(unit > 0, unit, 1.0)), d)
    rows = steps.reshape(-1, d.shape[-1])
    count, positive, ties = np.empty((3, len(rows)))
    _signed_ranks(rows, count, positive, ties)
    return rows, count, positive, ties


@functools.lru_cache
def _rank_sums(count: int) -> np.ndarray:
    """Return P(sum of the positive ranks <= s) for s = 0, 1, ... with fair signs."""
    chances = np.ones(1)
    for rank in range(1, count + 1):
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    return np.cumsum(chances)


def _exact_p(count: int, positive: int) -> float:
    least = min(positive, count * (count + 1) // 2 - positive)
    return min(1.0, 2.0 * float(_rank_sums(count)[least]))


@njit(nogil=True, cache=True, error_model="numpy")
def _signed_ranks(rows, count, positive, ties):
    """Fill in how many differences are not 0, the sum of positive ranks, and the sum of t³ - t."""
    for r in range(len(rows)):
        row = rows[r]
        kept = row[(row != 0.0) & ~np.isnan(row)]
        size = np.abs(kept)
        order = np.argsort(size)
        count[r], positive[r], ties[r] = len(kept), 0.0, 0.0
        start = 0
        while start < len(kept):
            end = start + 1
            while end < len(kept) and size[order[end]] == size[order[start]]:
                end += 1
            rank = 0.5 * (start + 1 + end)
            for k in range(start, end):
                if kept[order[k]] > 0.0:
                    positive[r] += rank
            tied = float(end - start)
            ties[r] += tied * tied * tied - tied
            start = end
