"""The shape of a learning curve of losses: does it rise anywhere, does it bend the wrong way.

All tests are one-sided paired t-tests over repetitions. Whatever two or three sizes they compare,
they need the means and the covariance of the means alone, so the 187,460 triples of 105 sizes cost
as many divisions, and not as many passes over the repetitions. P-values are corrected for all tests
of a curve by Bonferroni, or by the largest t in resamples (`lcdb.stats.max_t`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.stats import norm
from scipy.stats import t as student

from lcdb.stats.contrasts import bump_error, clear, right_share, rise_error
from lcdb.stats.max_t import largest_in_resamples

__all__ = ["Pair", "Shape", "Triple", "shape_of", "thinned"]


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
    """The most significant violations of one curve; p-values are corrected for all tests."""

    rise: Pair
    dip: Pair
    bump: Triple
    peak: Triple
    repetitions: int


@njit(nogil=True, cache=True, error_model="numpy")
def _t(difference, error):
    """Return t of a difference with the right sign; 0 where it has no spread."""
    return difference / error if difference > 0.0 and error > 0.0 else 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _rise(mean, c, i, j):
    return _t(clear(mean[j] - mean[i], mean[j]), rise_error(mean, c, i, j))


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
    right = right_share(n, h, i, j)
    above = clear(mean[i] - (1.0 - right) * mean[h] - right * mean[j], mean[i])
    return above, _t(above, bump_error(mean, c, h, i, j, right))


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


def shape_of(
    losses: np.ndarray, sizes: np.ndarray, resamples: int = 0, seed: int = 0
) -> Shape | None:
    """Return the violations of one curve; None where it has fewer than 2 sizes or repetitions.

    Parameters
    ----------
    losses
        A curve (size, repetition). Sizes without any value are left out, then repetitions that
        lack one of the others.
    sizes
        Ascending training sizes. Places in the result are indices of them.
    resamples, seed
        P-values are those of the largest t in so many resamples of the repetitions, which knows how
        the tests hang together; multiplied by the number of tests where 0.

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
    if len(x) < 2 or x.shape[1] < 2:
        return None
    tests = _Tests(x, sizes[kept], resamples, seed)

    def pair(kind: str) -> Pair:
        i, j, t = _largest_rise(tests.mean, tests.c, kind == "dip")
        if i < 0:
            return Pair(-1, -1, 0.0, 1.0)
        size = float(tests.mean[j] - tests.mean[i])
        return Pair(int(kept[i]), int(kept[j]), size, tests.p_of(t, kind))

    def triple(places: np.ndarray) -> Triple:
        if places[0] < 0:
            return Triple(-1, -1, -1, 0.0, 1.0)
        left, middle, right = (int(k) for k in kept[places])
        return Triple(left, middle, right, *tests.of_triple(*places))

    by_t, by_size = _largest_bumps(tests.mean, tests.c, tests.n)
    return Shape(pair("rise"), pair("dip"), triple(by_t), triple(by_size), x.shape[1])


class _Tests:
    """The moments of one curve without gaps, and p-values corrected for all tests of a kind."""

    def __init__(self, x: np.ndarray, n: np.ndarray, resamples: int, seed: int) -> None:
        self.x, self.n = x, n
        self.mean = x.mean(axis=-1)
        self.c = np.atleast_2d(np.cov(x)) / x.shape[1]
        self.resamples, self.seed = resamples, seed
        size = len(n)
        pairs, triples = size * (size - 1) // 2, size * (size - 1) * (size - 2) // 6
        self.counts = {"rise": pairs, "fall": pairs, "dip": size - 1, "bump": triples}
        self._largest: dict[str, np.ndarray] = {}

    def p_of(self, t: float, kind: str, count: int = 0) -> float:
        """Return the p-value of a t after correction for all tests of its kind, or for so many."""
        if not t > 0:
            return 1.0
        tail = float(student.sf(t, self.x.shape[1] - 1))
        bound = min(1.0, (count or self.counts[kind]) * tail)
        # Bonferroni's is never too small: below what resamples can tell, it is taken.
        if bound * (self.resamples + 1) <= 1.0 or not self.resamples:
            return bound
        z = float(norm.isf(tail))  # the standard errors of resamples are not estimated anew
        if kind not in self._largest:
            self._largest[kind] = largest_in_resamples(
                self.x, self.c, self.n, kind, z, self.resamples, self.seed
            )
        largest = self._largest[kind]
        return min(bound, (1.0 + float((largest >= z).sum())) / (1.0 + len(largest)))

    def of_triple(self, h: int, i: int, j: int) -> tuple[float, float, float, float]:
        """Return the height of a bump, and the p-values of height, rise and fall."""
        above, t = _bump(self.mean, self.c, self.n, h, i, j)
        rise, fall = _rise(self.mean, self.c, h, i), _rise(self.mean, self.c, j, i)
        # Bonferroni's definition of a peak counts all triples for each of the three.
        count = 0 if self.resamples else self.counts["bump"]
        ps = self.p_of(t, "bump"), self.p_of(rise, "rise", count), self.p_of(fall, "fall", count)
        return float(above), *ps
