"""The largest t of all pairs, or all triples, of sizes of a curve, in resamples of its repetitions.

Tests of one curve hang together: neighbouring sizes share rows, and triples share sizes. What the
largest of all t-values would be by chance, with all of that, is what it is in resamples around
their own means (Westfall and Young's max-t). Bonferroni takes the tests for unrelated.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lcdb.stats.contrasts import bump_error, right_share, rise_error
from lcdb.stats.quantiles import bootstrap_counts

__all__ = ["KINDS", "largest_in_resamples"]

#: Rises to any later size, falls, rises to the last size, and means above a chord.
KINDS = ("rise", "fall", "dip", "bump")
#: Once so many resamples exceed a value, its p-value is known to a tenth of itself.
_ENOUGH = 100
#: Resamples at a time: after each of these it may be enough.
_CHUNK = 256
#: Resamples that one pass over the triples carries along, which stay in the cache.
_BLOCK = 128


@njit(nogil=True, cache=True, error_model="numpy")
def _largest_rises(deviations, mean, c, falls, last_only, out):
    """Raise out[resample] to the largest standardised rise (fall) of each resample."""
    size, resamples = deviations.shape
    for i in range(size - 1):
        for j in range(size - 1 if last_only else i + 1, size):
            error = rise_error(mean, c, i, j)
            if error > 0.0:
                scale = -1.0 / error if falls else 1.0 / error
                for b in range(resamples):
                    out[b] = max(out[b], scale * (deviations[j, b] - deviations[i, b]))


@njit(nogil=True, cache=True, error_model="numpy")
def _scales_from(mean, c, n, h, scale, slope):
    """Fill in what multiplies middle and right of every triple that starts at h."""
    size = len(mean)
    for i in range(h + 1, size - 1):
        for j in range(i + 1, size):
            right = right_share(n, h, i, j)
            error = bump_error(mean, c, h, i, j, right)
            scale[i, j] = 1.0 / error if error > 0.0 else 0.0
            slope[i, j] = -right * scale[i, j]


@njit(nogil=True, cache=True, error_model="numpy")
def _largest_bumps(deviations, mean, c, n, out):
    """Raise out[resample] to the largest standardised bump of each resample."""
    size, resamples = deviations.shape
    scale, slope = np.zeros((size, size)), np.zeros((size, size))
    above, most = np.zeros((size, _BLOCK)), np.zeros(_BLOCK)
    for h in range(size - 2):
        _scales_from(mean, c, n, h, scale, slope)
        for start in range(0, resamples, _BLOCK):
            width = min(_BLOCK, resamples - start)
            for i in range(h + 1, size):
                for b in range(width):
                    above[i, b] = deviations[i, start + b] - deviations[h, start + b]
            most[:] = 0.0
            for i in range(h + 1, size - 1):
                middle = above[i]
                for j in range(i + 1, size):
                    right, p, q = above[j], scale[i, j], slope[i, j]
                    for b in range(_BLOCK):
                        t = p * middle[b] + q * right[b]
                        most[b] = t if t > most[b] else most[b]
            for b in range(width):
                out[start + b] = max(out[start + b], most[b])


def largest_in_resamples(
    x: np.ndarray,
    c: np.ndarray,
    n: np.ndarray,
    kind: str,
    z: float,
    resamples: int = 2000,
    seed: int = 0,
) -> np.ndarray:
    """Return the largest standardised contrast of one kind in every resample.

    Fewer resamples where many of them exceed `z`, so that its p-value is known well enough.

    Parameters
    ----------
    x
        A curve (size, repetition) without NaN.
    c
        The covariance of its means, (size, size).
    n
        Ascending training sizes.
    kind
        One of `KINDS`.
    z
        What is to be compared with the largest.
    resamples, seed
        Of the bootstrap.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(5, 50))
    >>> largest = largest_in_resamples(x, np.cov(x) / 50, np.arange(5.0), "rise", 9.0, 500)
    >>> largest.shape, bool(2.0 < np.quantile(largest, 0.95) < 3.0)
    ((500,), True)
    """
    mean, repetitions = x.mean(axis=-1), x.shape[1]
    counts = bootstrap_counts(repetitions, resamples, seed)
    # Resampled means vary by the variance with ddof 0.
    centred = (x - mean[:, None]) / np.sqrt(repetitions * (repetitions - 1.0))
    found, exceeding = np.zeros(resamples), 0
    for start in range(0, resamples, _CHUNK):
        stop = min(start + _CHUNK, resamples)
        deviations = np.ascontiguousarray(centred @ counts[:, start:stop].astype(float))
        part = found[start:stop]
        if kind == "bump":
            _largest_bumps(deviations, mean, c, n, part)
        else:
            _largest_rises(deviations, mean, c, kind == "fall", kind == "dip", part)
        exceeding += int((part >= z).sum())
        if exceeding >= _ENOUGH:
            return found[:stop]
    return found
