"""Everything about many distributions in one pass: moments, tests of normality, quantiles.

Distributions lie along the last axis. A sorted sample gives all of it at once, so sorting, which
is most of the cost, happens once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit

from lcdb.stats.dagostino import k_squared
from lcdb.stats.shapiro import coefficients, p_value

__all__ = ["FIELDS", "QUANTILES", "is_constant", "summary"]

QUANTILES = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
FIELDS = (
    "count",
    "mean",
    "sd",
    "minimum",
    "maximum",
    "distinct",
    "constant",
    "skewness",
    "excess_kurtosis",
    "shapiro_w",
    "shapiro_p",
    "shapiro_log_p",
    "dagostino_k2",
    "dagostino_p",
    "skewness_p",
    "kurtosis_p",
)
# Rows sorted and passed over together: a block of 1,000 float32 values each stays in cache.
_ROWS = 256


# Sums may be taken in lanes, which is three times as fast. Then the last bits are the compiler's
# choice, and this must not be compiled into another function: they would depend on which of the
# two was compiled first.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _central_sums(rows, n, weights, out):
    """Fill out[row] = mean, power sums 2..4 about it, Σ a·y and distinct values of ascending rows.

    Values are taken relative to the middle one and in units of the range, so that neither a large
    offset nor a scale of 1e±300 costs digits. Rows whose range has no reciprocal are left alone.
    """
    for r in range(rows.shape[0]):
        y = rows[r]
        spread = np.float64(y[n - 1]) - np.float64(y[0])
        scale = 1.0 / spread
        if not (np.isfinite(spread) and np.isfinite(scale)):
            continue
        middle = np.float64(y[n // 2])
        total = 0.0
        distinct = 1
        for i in range(n):
            total += (np.float64(y[i]) - middle) * scale
        for i in range(1, n):
            distinct += y[i] != y[i - 1]
        mean = total / n
        s2 = 0.0
        s3 = 0.0
        s4 = 0.0
        weighted = 0.0
        for i in range(n):
            d = (np.float64(y[i]) - middle) * scale - mean
            d2 = d * d
            s2 += d2
            s3 += d2 * d
            s4 += d2 * d2
            weighted += weights[i] * d
        out[r, 0], out[r, 1], out[r, 2] = mean, s2, s3
        out[r, 3], out[r, 4], out[r, 5] = s4, weighted, distinct


@njit(nogil=True, cache=True, error_model="numpy")
def _shapes(rows, n, square, sums, out):
    """Fill out[row] = mean, sd, skewness, kurtosis, 1 - W, distinct from what was summed."""
    for r in range(rows.shape[0]):
        low = np.float64(rows[r, 0])
        spread = np.float64(rows[r, n - 1]) - low
        out[r, :] = np.nan
        if not np.isfinite(spread):
            continue
        if not np.isfinite(1.0 / spread):  # one value, or values a few subnormal steps apart
            out[r, 0] = low
            out[r, 1] = 0.0 if n > 1 else np.nan
            out[r, 5] = 1.0
            continue
        mean, s2, s3 = sums[r, 0], sums[r, 1], sums[r, 2]
        s4, weighted, distinct = sums[r, 3], sums[r, 4], sums[r, 5]
        out[r, 0] = np.float64(rows[r, n // 2]) + mean * spread
        out[r, 1] = spread * math.sqrt(s2 / (n - 1))
        out[r, 5] = distinct
        m2 = s2 / n
        if spread * math.sqrt(m2) <= 2.220446049250313e-16 * abs(out[r, 0]):
            continue  # spread of rounding alone: shape is meaningless
        out[r, 2] = s3 / n / (m2 * math.sqrt(m2))
        out[r, 3] = s4 / n / (m2 * m2)
        length = math.sqrt(square * s2)
        out[r, 4] = (length - weighted) * (length + weighted) / (square * s2)


def is_constant(minimum: np.ndarray, maximum: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return where a distribution of float32 scores is constant up to rounding.

    Examples
    --------
    >>> is_constant(np.array([0.5, 0.5]), np.array([0.5, 0.6]), np.array([0.5, 0.55])).tolist()
    [True, False]
    """
    return maximum - minimum <= 4e-7 * np.maximum(1.0, np.abs(mean))


def summary(
    x: np.ndarray, quantiles: Sequence[float] = QUANTILES
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return moments, tests of normality and quantiles of each distribution.

    Parameters
    ----------
    x
        Samples along the last axis, float32 or float64. NaN are left out, row by row; a row that
        holds an infinity has no statistics.
    quantiles
        Probabilities, with linear interpolation between order statistics.

    Returns
    -------
    fields
        Arrays of shape ``x.shape[:-1]`` by name, see `FIELDS`: ``constant`` is bool, all others
        float64. ``sd`` has ddof 1, skewness and kurtosis are the biased ones. Where a sample is
        constant or too small (3 values for Shapiro-Wilk, 8 for D'Agostino), a test is NaN.
    quantile
        Array of shape ``x.shape[:-1] + (len(quantiles),)``.

    Examples
    --------
    >>> scores = np.random.default_rng(1).normal(0.8, 0.02, (3, 1000))
    >>> fields, quantile = summary(scores, [0.05, 0.5])
    >>> fields["mean"].round(2).tolist(), (fields["shapiro_p"] < 0.05).tolist()
    ([0.8, 0.8, 0.8], [False, False, False])
    >>> quantile.shape
    (3, 2)
    """
    x = np.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float64)
    shape, repetitions = x.shape[:-1], x.shape[-1]
    rows = x.reshape(-1, repetitions)
    probabilities = np.asarray(quantiles, float)
    fields = {name: np.full(len(rows), np.nan) for name in FIELDS}
    values = np.full((len(rows), len(probabilities)), np.nan)
    for start in range(0, len(rows), _ROWS):
        part = np.arange(start, min(start + _ROWS, len(rows)))
        block = rows[start : start + _ROWS]
        counts = repetitions - np.isnan(block).sum(axis=1)
        for n in np.unique(counts):
            if not n:
                continue  # a cube has many cells that were not built: they cost no sort
            same = counts == n
            where = part[same]
            ordered = np.sort(block if same.all() else block[same], axis=1)  # NaN last
            fields["count"][where] = n
            _fill(fields, where, ordered, int(n))
            values[where] = _interpolate(ordered, int(n), probabilities)
        fields["count"][part[counts == 0]] = 0
    fields["constant"] = is_constant(fields["minimum"], fields["maximum"], fields["mean"])
    return (
        {name: field.reshape(shape) for name, field in fields.items()},
        values.reshape((*shape, len(probabilities))),
    )


def _fill(fields: dict[str, np.ndarray], where: np.ndarray, rows: np.ndarray, n: int) -> None:
    """Write the statistics of ascending rows with n values each."""
    weights = coefficients(n) if n >= 3 else np.zeros(n)
    square = float(weights @ weights) if n >= 3 else 1.0
    raw = np.empty((len(rows), 6))
    sums = np.empty((len(rows), 6))
    _central_sums(rows, n, weights, sums)
    _shapes(rows, n, square, sums, raw)
    mean, sd, skewness, kurtosis, one_minus_w, distinct = raw.T
    found = {
        "mean": mean,
        "sd": sd,
        "minimum": rows[:, 0].astype(float),
        "maximum": rows[:, n - 1].astype(float),
        "distinct": distinct,
        "skewness": skewness,
        "excess_kurtosis": kurtosis - 3.0,
    }
    if n >= 3:
        found["shapiro_w"] = 1.0 - one_minus_w
        found["shapiro_p"], found["shapiro_log_p"] = p_value(one_minus_w, n)
    tests = ("dagostino_k2", "dagostino_p", "skewness_p", "kurtosis_p")
    found |= zip(tests, k_squared(skewness, kurtosis, n), strict=True)
    for name, value in found.items():
        fields[name][where] = value


def _interpolate(rows: np.ndarray, n: int, probabilities: np.ndarray) -> np.ndarray:
    """Return quantiles of ascending rows with n values each (Hyndman and Fan's type 7)."""
    place = (n - 1) * probabilities
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, n - 1)
    below = rows[:, low].astype(float)
    return below + (place - low) * (rows[:, high] - below)
