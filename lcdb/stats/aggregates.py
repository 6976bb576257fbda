"""One number for many datasets: aggregates of scores with stratified intervals, and mean ranks.

Aggregates are those of Agarwal et al. (2021): repetitions are resampled within each dataset, so an
interval says what other repetitions on these datasets would give. Ranks are over datasets: they say
what other datasets would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from lcdb.stats.multiplicity import holm
from lcdb.stats.paired import differences, wilcoxon

__all__ = [
    "AGGREGATES",
    "Ranks",
    "aggregates",
    "improvement",
    "interquartile_mean",
    "mean_ranks",
    "resampled_aggregates",
    "resampled_improvement",
]

#: What `aggregates` computes, in this order.
AGGREGATES = ("interquartile_mean", "median", "mean", "optimality_gap")


class Ranks(NamedTuple):
    """Mean ranks of learners over datasets, 1 being the best, and what tests say of them."""

    mean_rank: np.ndarray
    friedman_statistic: float
    friedman_p: float
    #: Of Nemenyi's test, of each pair of learners.
    nemenyi_p: np.ndarray
    #: Of Wilcoxon's signed ranks over datasets, of each pair, corrected by Holm.
    holm_p: np.ndarray
    #: Mean ranks further apart than this differ, by Nemenyi's test.
    critical_difference: float


def interquartile_mean(x: np.ndarray) -> np.ndarray:
    """Return the mean of the middle half of all scores (..., dataset, repetition).

    Examples
    --------
    >>> float(interquartile_mean(np.array([[0.0, 1.0, 2.0, 99.0]])))
    1.5
    """
    x = np.asarray(x, float)
    rows = x.reshape(*x.shape[:-2], -1)
    cut = rows.shape[-1] // 4
    ends = (cut, rows.shape[-1] - cut - 1)
    return np.partition(rows, ends, axis=-1)[..., cut : rows.shape[-1] - cut].mean(axis=-1)


def aggregates(x: np.ndarray, target: float = 1.0, direction: str = "maximize") -> np.ndarray:
    """Return `AGGREGATES` of scores (..., dataset, repetition), on a new first axis.

    Median and mean are of the means of datasets; the optimality gap is by how much scores fall
    short of a target on average, those beyond it counting as 0.

    Examples
    --------
    >>> aggregates(np.array([[0.5, 0.5], [0.9, 0.9], [0.4, 0.4]])).round(6).tolist()
    [0.575, 0.5, 0.6, 0.4]
    """
    x = np.asarray(x, float)
    means = x.mean(axis=-1)
    short = target - x if direction == "maximize" else x - target
    gap = np.maximum(short, 0.0).mean(axis=(-1, -2))
    return np.stack([interquartile_mean(x), np.median(means, -1), means.mean(-1), gap])


def resampled_aggregates(
    x: np.ndarray,
    target: float = 1.0,
    direction: str = "maximize",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals of `aggregates`, by resampling repetitions within datasets.

    Parameters
    ----------
    x
        Scores (learner, dataset, repetition).
    target, direction
        Of the optimality gap.
    resamples, seed
        Of the bootstrap.
    confidence
        Of the percentile intervals.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(0.7, 0.1, (2, 5, 50))
    >>> low, high = resampled_aggregates(x, resamples=100)
    >>> low.shape, bool((low < high).all())
    ((4, 2), True)
    """
    x = np.asarray(x, float)
    rng = np.random.default_rng(seed)
    rows = np.arange(x.shape[-2])[:, None]
    drawn = np.empty((resamples, len(AGGREGATES), *x.shape[:-2]))
    for i in range(resamples):
        places = rng.integers(0, x.shape[-1], x.shape[-2:])
        drawn[i] = aggregates(x[..., rows, places], target, direction)
    low, high = np.quantile(drawn, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], axis=0)
    return low, high


@njit(nogil=True, cache=True, error_model="numpy")
def _wins(x, y, order, of_x, of_y):
    """Return twice the pairs that x wins, ties counting half, with copies of each score.

    `order` sorts x followed by y.
    """
    size = len(x)
    total, below, start = 0, 0, 0
    while start < len(order):
        first = order[start]
        value = x[first] if first < size else y[first - size]
        mine, theirs = 0, 0
        while start < len(order):
            k = order[start]
            if (x[k] if k < size else y[k - size]) != value:
                break
            if k < size:
                mine += of_x[k]
            else:
                theirs += of_y[k - size]
            start += 1
        total += mine * (2 * below + theirs)
        below += theirs
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def _add_wins(x, y, order, of_x, of_y, out):
    scale = 2.0 * len(x) * len(y)
    for i in range(len(of_x)):
        out[i] += _wins(x, y, order, of_x[i], of_y[i]) / scale


def improvement(x: np.ndarray, y: np.ndarray) -> float:
    """Return the probability that x is larger than y, averaged over datasets; ties count half.

    Any repetition of the one may meet any of the other: scores are (dataset, repetition).

    Examples
    --------
    >>> improvement(np.array([[1.0, 2.0], [3.0, 3.0]]), np.array([[0.0, 2.0], [3.0, 4.0]]))
    0.4375
    """
    return float(_improvements(x, y, np.ones((len(x), 2, 1, x.shape[-1]), np.int64))[0])


def _improvements(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the improvement in every resample, by counts (dataset, side, resample, repetition)."""
    x, y = (np.ascontiguousarray(v, float) for v in (x, y))
    out = np.zeros(counts.shape[2])
    order = np.argsort(np.concatenate([x, y], axis=-1), axis=-1, kind="stable")
    for i, places in enumerate(order):
        _add_wins(x[i], y[i], places, counts[i, 0], counts[i, 1], out)
    return out / len(x)


def resampled_improvement(
    x: np.ndarray, y: np.ndarray, resamples: int = 2000, seed: int = 0, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of `improvement`, by resampling repetitions of each side and dataset.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 3, 100))
    >>> low, high = resampled_improvement(x, y, resamples=200)
    >>> low < improvement(x, y) < high
    True
    """
    rng = np.random.default_rng(seed)
    size = np.shape(x)[-1]
    even = np.full(size, 1.0 / size)
    counts = rng.multinomial(size, even, (len(x), 2, resamples))
    tails = [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence]
    low, high = np.quantile(_improvements(x, y, counts), tails)
    return float(low), float(high)


def mean_ranks(means: np.ndarray, direction: str = "maximize", alpha: float = 0.05) -> Ranks:
    """Return mean ranks of learners (dataset, learner) with Friedman's and Nemenyi's tests.

    Friedman's test needs three learners, and all of them two datasets; what is less gives NaN.

    Examples
    --------
    >>> ranks = mean_ranks(np.array([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]]))
    >>> ranks.mean_rank.tolist(), round(ranks.friedman_p, 3)
    ([1.0, 2.0, 3.0], 0.05)
    """
    means = np.asarray(means, float)
    datasets, learners = means.shape
    sign = -1.0 if direction == "maximize" else 1.0
    # Means of equal samples in another order differ by 1e-16: those are ties.
    ranks = rankdata(sign * means.round(9), axis=-1)
    mean = ranks.mean(axis=0)
    nemenyi, paired = np.full((2, learners, learners), np.nan)
    statistic, p, apart = np.nan, np.nan, np.nan
    if learners >= 3 and datasets >= 2 and (np.ptp(ranks, axis=-1) > 0).any():
        statistic, p = (float(v) for v in friedmanchisquare(*ranks.T))
    if learners >= 2 and datasets >= 2:
        error = np.sqrt(learners * (learners + 1) / (12.0 * datasets))
        nemenyi = studentized_range.sf(np.abs(mean[:, None] - mean) / error, learners, np.inf)
        apart = float(studentized_range.isf(alpha, learners, np.inf) * error)
        first, second = np.triu_indices(learners, k=1)
        d, tolerance = differences(means.T[first], means.T[second])
        corrected = holm(wilcoxon(d, tolerance))
        paired = np.ones((learners, learners))
        paired[first, second] = paired[second, first] = corrected
    return Ranks(mean, statistic, p, nemenyi, paired, apart)
