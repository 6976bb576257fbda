"""Normality of scores that live on a lattice, as accuracy does on multiples of 1/T.

Shapiro-Wilk rejects an exactly normal value that was rounded to steps of h almost always once
h/σ >= 0.2. The tests here ask whether the scores are a *rounded* normal.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import gammaincc

from lcdb.stats.summary import summary

__all__ = ["LARGEST_STEP", "grouped_normal_test", "ragged_lattice_test"]

#: Steps wider than this many standard deviations leave too few cells to tell anything.
LARGEST_STEP = 1.2
_LEAST_EXPECTED = 5.0
_LEAST_BINS = 4


@njit(nogil=True, cache=True, error_model="numpy")
def _normal_cdf(z):
    return 0.5 * math.erfc(-z * 0.7071067811865476)


@njit(nogil=True, cache=True, error_model="numpy")
def _grouped(counts, largest_step, least_expected, out):
    """Fill out[row] = χ², bins, h/σ of the rounded normal with the sample's mean and variance."""
    size = counts.shape[1]
    for r in range(counts.shape[0]):
        out[r, :] = np.nan
        low = counts[r, 0]
        high = low
        total = 0
        for i in range(size):
            total += counts[r, i]
            low = min(low, counts[r, i])
            high = max(high, counts[r, i])
        mean = total / size
        square = 0.0
        seen = np.zeros(high - low + 1)
        for i in range(size):
            d = counts[r, i] - mean
            square += d * d
            seen[counts[r, i] - low] += 1.0
        latent = square / size - 1.0 / 12.0  # rounding to steps of 1 adds 1/12
        if latent <= 0.0:
            out[r, 2] = np.inf
            continue
        sigma = math.sqrt(latent)
        out[r, 2] = 1.0 / sigma
        if out[r, 2] > largest_step:
            continue
        chi = 0.0
        bins = 0
        observed = 0.0
        expected = 0.0
        passed = 0.0
        for k in range(high - low + 1):
            upper = 1.0 if k == high - low else _normal_cdf((low + k + 0.5 - mean) / sigma)
            observed += seen[k]
            expected += size * (upper - passed)
            passed = upper
            rest = size * (1.0 - passed)
            # A bin closes when it holds enough and leaves enough for another one.
            if expected >= least_expected and (rest >= least_expected or k == high - low):
                chi += (observed - expected) ** 2 / expected
                bins += 1
                observed = 0.0
                expected = 0.0
        out[r, 0] = chi
        out[r, 1] = bins


def grouped_normal_test(
    scores: np.ndarray, test_rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Test whether scores on multiples of 1/T are a normal distribution rounded to that lattice.

    A grouped χ² against N(mean, s² - h²/12) integrated over the lattice cells, in bins with at
    least 5 expected values, on bins - 3 degrees of freedom.

    Parameters
    ----------
    scores
        Shares such as accuracy, samples along the last axis. A sample with NaN is not tested.
    test_rows
        T of each distribution: broadcasts against ``scores.shape[:-1]``.

    Returns
    -------
    p
        The p-value; NaN where h/σ exceeds `LARGEST_STEP` or fewer than 4 bins are left.
    bins
        Number of bins used.
    step
        h/σ, the lattice step in units of the latent standard deviation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rounded = np.round(rng.normal(0.8, 0.02, (2, 1000)) * 157) / 157
    >>> p, bins, step = grouped_normal_test(rounded, 157)
    >>> (p > 0.05).tolist(), step.round(2).tolist()
    ([True, True], [0.33, 0.31])
    """
    scores = np.asarray(scores)
    shape = scores.shape[:-1]
    rows = scores.reshape(-1, scores.shape[-1])
    test_rows = np.broadcast_to(np.asarray(test_rows, float), shape).reshape(-1, 1)
    raw = np.full((len(rows), 3), np.nan)
    whole = np.isfinite(rows).all(axis=1)
    if whole.any():
        counts = np.rint(rows[whole].astype(float) * test_rows[whole]).astype(np.int64)
        found = np.empty((len(counts), 3))
        _grouped(counts, LARGEST_STEP, _LEAST_EXPECTED, found)
        raw[whole] = found
    chi, bins, step = raw.T
    tested = bins >= _LEAST_BINS
    df = np.where(tested, bins - 3.0, 1.0)
    p = np.where(tested, gammaincc(0.5 * df, 0.5 * np.where(tested, chi, 0.0)), np.nan)
    return p.reshape(shape), bins.reshape(shape), step.reshape(shape)


def ragged_lattice_test(
    scores: np.ndarray,
    test_rows: np.ndarray,
    rng: np.random.Generator,
    simulations: int = 399,
) -> np.ndarray:
    """Test scores whose T varies by repetition: Shapiro-Wilk against a simulated null.

    The null is ``round(z_r T_r) / T_r`` with z normal, of the sample's own mean and standard
    deviation and with the sample's own T: what a bootstrap with varying test set gives.

    Parameters
    ----------
    scores, test_rows
        Arrays of one shape, repetitions along the last axis.
    rng
        Source of the null.
    simulations
        Null samples for each distribution; the smallest p-value is 1 / (simulations + 1).

    Returns
    -------
    p
        Multiples of 1 / (simulations + 1): reject where p is *at most* the level. NaN where a
        sample is constant, or where h/σ exceeds `LARGEST_STEP`: the latent standard deviation is
        then anyone's guess, and the null with it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(40, 60, (1, 500))
    >>> rounded = np.round(rng.normal(0.7, 0.05, rows.shape) * rows) / rows
    >>> bool(ragged_lattice_test(rounded, rows, rng, simulations=99)[0] > 0.05)
    True
    """
    scores = np.asarray(scores, float)
    shape = scores.shape[:-1]
    rows = scores.reshape(-1, scores.shape[-1])
    test_rows = np.broadcast_to(np.asarray(test_rows, float), scores.shape).reshape(rows.shape)
    observed = summary(rows, ())[0]
    p = np.full(len(rows), np.nan)
    testable = np.flatnonzero(~observed["constant"] & np.isfinite(observed["shapiro_w"]))
    for r in testable:
        there = np.isfinite(rows[r])
        t = test_rows[r, there]
        # Rounding adds h²/12 of its own to the variance that the sample shows.
        square = float(np.mean(1.0 / t**2))
        latent = observed["sd"][r] ** 2 - square / 12.0
        if latent * LARGEST_STEP**2 < square:
            continue
        z = rng.standard_normal((simulations, len(t))) * math.sqrt(latent) + observed["mean"][r]
        null = summary(np.rint(z * t) / t, ())[0]["shapiro_w"]
        lower = np.sum(~(null > observed["shapiro_w"][r]))
        p[r] = (1.0 + lower) / (simulations + 1.0)
    return p.reshape(shape)
