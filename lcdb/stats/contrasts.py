"""What two or three sizes of a curve of means say: a rise, or a mean above a chord.

Both are contrasts of means, whose standard errors the covariance of the means gives.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["bump_error", "clear", "right_share", "rise_error"]

#: A variance of a difference below this share of its parts, or of the squared mean, is rounding.
_ROUNDING = 1e-12
_ROUNDING_OF_MEANS = 2.0**-84
#: A difference of means below this share of the mean is rounding.
_ROUNDING_OF_DIFFERENCES = 2.0**-42


@njit(nogil=True, cache=True, error_model="numpy")
def clear(difference, mean):
    """Return a difference of means; 0 where it is rounding."""
    return difference if abs(difference) > _ROUNDING_OF_DIFFERENCES * abs(mean) else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _error(variance, scale, mean):
    """Return a standard error; 0 where there is no spread beyond rounding."""
    least = max(_ROUNDING * scale, _ROUNDING_OF_MEANS * mean * mean)
    return np.sqrt(variance) if variance > least else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def rise_error(mean, c, i, j):
    """Return the standard error of mean[j] - mean[i]."""
    parts = c[i, i] + c[j, j]
    return _error(parts - 2.0 * c[i, j], parts, mean[j])


@njit(nogil=True, cache=True, error_model="numpy")
def right_share(n, h, i, j):
    """Return how far i is on the way from h to j: the weight of j in the chord."""
    return (n[i] - n[h]) / (n[j] - n[h])


@njit(nogil=True, cache=True, error_model="numpy")
def bump_error(mean, c, h, i, j, right):
    """Return the standard error of the mean at i above the chord from h to j."""
    left = 1.0 - right
    parts = c[i, i] + left * left * c[h, h] + right * right * c[j, j]
    crossed = left * c[h, i] + right * c[i, j] - left * right * c[h, j]
    return _error(parts - 2.0 * crossed, parts, mean[i])
