"""Harrell and Davis's quantiles, and differences of them by a paired bootstrap.

A quantile is a weighted mean of all order statistics; the weights are those of a beta distribution.
In a resample only the number of copies of each repetition changes, so the sample is sorted once and
the copies are added up in its order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import special

__all__ = [
    "QuantileDifferences",
    "bootstrap_counts",
    "harrell_davis",
    "quantile_differences",
    "resampled_quantiles",
]


class QuantileDifferences(NamedTuple):
    """Differences of quantiles (pair, q), and the ends of their intervals."""

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _weights_below(size: int, quantiles: Sequence[float]) -> np.ndarray:
    """Return the weight of the j smallest values of a sample, (q, size + 1)."""
    q = np.asarray(quantiles, float)[:, None]
    share = np.arange(size + 1) / size
    return special.betainc((size + 1) * q, (size + 1) * (1.0 - q), share)


def harrell_davis(x: np.ndarray, quantiles: Sequence[float]) -> np.ndarray:
    """Return quantiles of samples (..., repetition), on a new last axis.

    Examples
    --------
    >>> harrell_davis(np.array([1.0, 2.0, 3.0]), [0.5]).round(12).tolist()
    [2.0]
    """
    ordered = np.sort(np.asarray(x, float), axis=-1)
    weights = np.diff(_weights_below(ordered.shape[-1], quantiles), axis=-1)
    # Not a matrix product, whose last bit depends on how many samples there are.
    return np.stack([(ordered * weight).sum(axis=-1) for weight in weights], axis=-1)


@functools.lru_cache(maxsize=8)
def bootstrap_counts(size: int, resamples: int, seed: int) -> np.ndarray:
    """Return how often each repetition is drawn, (size, resamples): the same for every sample.

    Examples
    --------
    >>> counts = bootstrap_counts(10, 5, seed=0)
    >>> counts.shape, counts.sum(axis=0).tolist()
    ((10, 5), [10, 10, 10, 10, 10])
    """
    rng = np.random.default_rng([seed, size])
    drawn = rng.integers(0, size, (resamples, size)) + size * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=size * resamples).reshape(resamples, size)
    result = np.ascontiguousarray(counts.T.astype(np.int32))
    result.flags.writeable = False
    return result


@njit(nogil=True, cache=True, error_model="numpy")
def _resample(ordered, order, counts, below, out):
    """Fill in the quantiles (q, resample) of one sorted sample in every resample."""
    drawn = np.zeros(counts.shape[1], np.int32)
    out[:] = ordered[-1]
    for k in range(len(ordered) - 1):
        # The largest value, less the gap above each value times the weight of all up to it.
        drawn += counts[order[k]]
        gap = ordered[k + 1] - ordered[k]
        if gap > 0.0:
            for q in range(len(below)):
                weight = below[q]
                for b in range(len(drawn)):
                    out[q, b] -= weight[drawn[b]] * gap


def resampled_quantiles(
    x: np.ndarray, quantiles: Sequence[float], counts: np.ndarray
) -> np.ndarray:
    """Return the quantiles of every resample, (sample, q, resample), of samples (sample, size).

    Examples
    --------
    >>> counts = bootstrap_counts(50, 20, seed=0)
    >>> resampled_quantiles(np.zeros((2, 50)), [0.5, 0.9], counts).shape
    (2, 2, 20)
    """
    x = np.asarray(x, float)
    below = _weights_below(x.shape[-1], quantiles)
    out = np.empty((len(x), len(below), counts.shape[1]))
    order = np.argsort(x, axis=-1, kind="stable")
    for i, places in enumerate(order):
        _resample(x[i, places], places, counts, below, out[i])
    return out


def quantile_differences(
    x: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> QuantileDifferences:
    """Return differences of quantiles of pairs of samples, with intervals by a paired bootstrap.

    Parameters
    ----------
    x
        Samples (sample, repetition), paired by repetition. Of pairs in which a score is NaN, the
        repetitions are used that both have.
    first, second
        The samples of each pair: first - second.
    quantiles
        Probabilities, strictly between 0 and 1.
    resamples, seed
        Of the bootstrap. The same repetitions are drawn for all samples of one size.
    confidence
        Of the percentile intervals.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal([[0.3], [0.0]], 0.1, (2, 400))
    >>> found = quantile_differences(x, np.array([0]), np.array([1]), [0.5], 200)
    >>> bool((found.low < 0.3).all() and (found.high > 0.28).all())
    True
    """
    x = np.asarray(x, float)
    there = ~np.isnan(x)
    result = QuantileDifferences(*np.full((3, len(first), len(quantiles)), np.nan))
    whole = there.all(axis=-1)
    together = np.flatnonzero(whole[first] & whole[second])
    groups = [(together, slice(None))] if together.size else []
    for pair in np.flatnonzero(~(whole[first] & whole[second])):
        both = there[first[pair]] & there[second[pair]]
        if both.sum() >= 2:
            groups.append((np.array([pair]), both))
    tails = [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence]
    for pairs, repetitions in groups:
        samples, place = np.unique([first[pairs], second[pairs]], return_inverse=True)
        a, b = place.reshape(2, -1)
        values = np.ascontiguousarray(x[samples][:, repetitions])
        centre = harrell_davis(values, quantiles)
        counts = bootstrap_counts(values.shape[-1], resamples, seed)
        drawn = resampled_quantiles(values, quantiles, counts)
        result.difference[pairs] = centre[a] - centre[b]
        ends = np.quantile(drawn[a] - drawn[b], tails, axis=-1)
        result.low[pairs], result.high[pairs] = ends
    return result
