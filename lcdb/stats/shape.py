"""The shape of a learning curve of losses: does it rise anywhere, does it bend the wrong way.

All tests are one-sided paired t-tests over repetitions. Whatever two or three sizes they compare,
they need the means and the covariance of the means alone, so the 187,460 triples of 105 sizes cost
as many divisions, and not as many passes over the repetitions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.stats import t as student

__all__ = ["Pair", "Shape", "Triple", "shape_of", "thinned"]

#: A variance of a difference below this share of its parts, or of the squared mean, is rounding.
_ROUNDING = 1e-12
_ROUNDING_OF_MEANS = 2.0**-84


class Pair(NamedTuple):
    """The rise with the smallest p-value: mean[late] - mean[early]."""

    early: int
    late: int
    size: float
    p: float


class Triple(NamedTuple):
    """A middle size whose mean lies above the chord from left to right, by `size`."""

    left: int
    middle: int
    right: int
    size: float
    p: float
    #: P-values of the rise from left to middle and of the fall from middle to right.
    rise_p: float = 1.0
    fall_p: float = 1.0


class Shape(NamedTuple):
    """The most significant violations of one curve; every p-value is multiplied by its tests."""

    rise: Pair
    dip: Pair
    bump: Triple
    peak: Triple
    repetitions: int


@njit(nogil=True, cache=True, error_model="numpy")
def _t(difference, variance, scale, mean):
    """Return t of a difference with the right sign; 0 where it has no spread."""
    least = max(_ROUNDING * scale, _ROUNDING_OF_MEANS * mean * mean)
    if difference <= 0.0 or not variance > least:
        return 0.0
    return difference / np.sqrt(variance)


@njit(nogil=True, cache=True, error_model="numpy")
def _rise(mean, c, i, j):
    parts = c[i, i] + c[j, j]
    return _t(mean[j] - mean[i], parts - 2.0 * c[i, j], parts, mean[j])


@njit(nogil=True, cache=True, error_model="numpy")
def _largest_rise(mean, c, last_only):
    """Return (i, j, t) of the pair i < j with the largest t."""
    size = len(mean)
    best, first, second = 0.0, -1, -1
    for i in range(size - 1):
        for j in range(size - 1 if last_only else i + 1, size):
            t = _rise(mean, c, i, j)
            if t > best:
                best, first, second = t, i, j
    return first, second, best


@njit(nogil=True, cache=True, error_model="numpy")
def _bump(mean, c, n, h, i, j):
    """Return by how much the middle mean is above the chord, and its t."""
    right = (n[i] - n[h]) / (n[j] - n[h])
    left = 1.0 - right
    above = mean[i] - left * mean[h] - right * mean[j]
    parts = c[i, i] + left * left * c[h, h] + right * right * c[j, j]
    crossed = left * c[h, i] + right * c[i, j] - left * right * c[h, j]
    return above, _t(above, parts - 2.0 * crossed, parts, mean[i])


@njit(nogil=True, cache=True, error_model="numpy")
def _largest_bumps(mean, c, n):
    """Return the triples (h, i, j) with the largest t and with the largest violation."""
    size = len(mean)
    most, highest = 0.0, 0.0
    by_t, by_size = np.full(3, -1), np.full(3, -1)
    for h in range(size - 2):
        for i in range(h + 1, size - 1):
            for j in range(i + 1, size):
                above, t = _bump(mean, c, n, h, i, j)
                if t > most:
                    most = t
                    by_t[:] = (h, i, j)
                if above > highest:
                    highest = above
                    by_size[:] = (h, i, j)
    return by_t, by_size


def thinned(sizes: np.ndarray, at_most: int = 400) -> np.ndarray:
    """Return the places of at most so many sizes, evenly spread on a logarithmic axis.

    Examples
    --------
    >>> thinned(np.arange(1, 9), 4).tolist(), thinned(np.array([5, 9]), 4).tolist()
    ([0, 1, 3, 7], [0, 1])
    """
    sizes = np.asarray(sizes, float)
    if len(sizes) <= at_most:
        return np.arange(len(sizes))
    # Neighbouring aims share a size where sizes are few: aim more often, until there are enough.
    enough, too_many = at_most, len(sizes) * at_most
    while too_many - enough > 1:
        aims = (enough + too_many) // 2
        if len(_nearest(sizes, aims)) <= at_most:
            enough = aims
        else:
            too_many = aims
    return _nearest(sizes, enough)


def _nearest(sizes: np.ndarray, aims: int) -> np.ndarray:
    """Return the places nearest to so many points, evenly spread on a logarithmic axis."""
    points = np.geomspace(max(sizes[0], 1.0), sizes[-1], aims)
    above = np.clip(np.searchsorted(sizes, points), 1, len(sizes) - 1)
    nearer = points - sizes[above - 1] < sizes[above] - points
    return np.unique(np.where(nearer, above - 1, above))


def shape_of(losses: np.ndarray, sizes: np.ndarray) -> Shape | None:
    """Return the violations of one curve; None where it has fewer than 2 sizes or repetitions.

    Parameters
    ----------
    losses
        A curve (size, repetition). Sizes without any value are left out, then repetitions that
        lack one of the others.
    sizes
        Ascending training sizes. Places in the result are indices of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> n = np.arange(1, 9)
    >>> losses = (1 / n + 0.2 * (n == 5))[:, None] + 0.02 * rng.normal(size=(8, 100))
    >>> shape = shape_of(losses, n)
    >>> shape.rise.late, shape.peak.middle, bool(shape.peak.p < 0.05), bool(shape.dip.p < 0.05)
    (4, 4, True, False)
    """
    losses, sizes = np.asarray(losses, float), np.asarray(sizes, float)
    kept = np.flatnonzero(~np.isnan(losses).all(axis=-1))
    x = losses[kept]
    x = x[:, ~np.isnan(x).any(axis=0)]
    n, repetitions = x.shape
    if n < 2 or repetitions < 2:
        return None
    mean = x.mean(axis=-1)
    c = np.atleast_2d(np.cov(x)) / repetitions

    def p_of(t: float, tests: int) -> float:
        return min(1.0, tests * float(student.sf(t, repetitions - 1))) if t > 0 else 1.0

    def pair(last_only: bool, tests: int) -> Pair:
        i, j, t = _largest_rise(mean, c, last_only)
        if i < 0:
            return Pair(-1, -1, 0.0, 1.0)
        return Pair(int(kept[i]), int(kept[j]), float(mean[j] - mean[i]), p_of(t, tests))

    triples = n * (n - 1) * (n - 2) // 6

    def triple(places: np.ndarray) -> Triple:
        if places[0] < 0:
            return Triple(-1, -1, -1, 0.0, 1.0)
        h, i, j = places
        above, t = _bump(mean, c, sizes[kept], h, i, j)
        rise, fall = _rise(mean, c, h, i), _rise(mean, c, j, i)
        ps = [p_of(value, triples) for value in (t, rise, fall)]
        left, middle, right = (int(k) for k in kept[places])
        return Triple(left, middle, right, float(above), *ps)

    by_t, by_size = _largest_bumps(mean, c, sizes[kept])
    rises = pair(False, n * (n - 1) // 2), pair(True, n - 1)
    return Shape(*rises, triple(by_t), triple(by_size), repetitions)
