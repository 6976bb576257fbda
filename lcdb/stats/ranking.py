"""Whether the best k change when learners are ranked by quantiles instead of mean and variance.

Samples have learners on the second-last axis and repetitions on the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["TopKChange", "gaussian_null", "top_k_change", "top_k_of"]

# Ranking scores closer than this are ties: means of equal samples in another order differ by 1e-16.
_DECIMALS = 9


class TopKChange(NamedTuple):
    """Where two rankings disagree, under each tie rule: bool arrays of the leading shape."""

    #: The ordered top k differ, ties going to the first learner.
    ordered: np.ndarray
    #: They differ whatever way ties are broken.
    tie_aware: np.ndarray
    #: The sets differ, ties going to the first learner.
    set: np.ndarray
    #: The winners differ, ties going to the first learner.
    top_1: np.ndarray


def top_k_change(
    samples: np.ndarray, quantile: float, width: float, k: int = 3, direction: str = "maximize"
) -> TopKChange:
    """Compare the top k by mean + width·sd with the top k by a quantile.

    Parameters
    ----------
    samples
        Scores (..., learner, repetition). A learner with NaN is left out.
    quantile
        For instance 0.975, with linear interpolation.
    width
        The number of standard deviations (ddof 1) that goes with it, for instance 2.
    k
        How many of the best are compared.
    direction
        ``"maximize"`` or ``"minimize"``; for the latter quantile and width are of the score as
        it is, and small values rank first.

    Examples
    --------
    >>> a, b = np.tile([0.5, 0.7], 50), np.full(100, 0.65)
    >>> change = top_k_change(np.stack([a, b]), quantile=0.025, width=-2, k=1)
    >>> bool(change.ordered), bool(change.tie_aware)
    (False, False)
    """
    samples = np.asarray(samples, float)
    sign = {"maximize": 1.0, "minimize": -1.0}[direction]
    by_moments = samples.mean(axis=-1) + width * samples.std(axis=-1, ddof=1)
    by_quantile = np.quantile(samples, quantile, axis=-1)
    return top_k_of(sign * by_moments, sign * by_quantile, k)


def top_k_of(one: np.ndarray, other: np.ndarray, k: int = 3) -> TopKChange:
    """Compare the top k by two scores (..., learner), of which large ones are good.

    Examples
    --------
    >>> bool(top_k_of(np.array([0.5, 0.7]), np.array([0.7, 0.5]), k=1).top_1)
    True
    """
    shape = one.shape[:-1]
    pairs = zip(one.reshape(-1, one.shape[-1]), other.reshape(-1, other.shape[-1]), strict=True)
    found = np.array([_compare(a, b, k) for a, b in pairs], bool).reshape(-1, 4)
    return TopKChange(*(column.reshape(shape) for column in found.T))


def _compare(a: np.ndarray, b: np.ndarray, k: int) -> tuple[bool, bool, bool, bool]:
    there = np.isfinite(a) & np.isfinite(b)
    a, b = np.round(a[there], _DECIMALS), np.round(b[there], _DECIMALS)
    first, second = np.argsort(-a, kind="stable")[:k], np.argsort(-b, kind="stable")[:k]
    return (
        not np.array_equal(first, second),
        not _can_agree(a, b, k),
        set(first) != set(second),
        len(first) > 0 and first[0] != second[0],
    )


def _can_agree(a: np.ndarray, b: np.ndarray, k: int) -> bool:
    """Return whether some way of breaking ties gives both rankings the same top k.

    Place by place, whoever is among the best of both may come next. Which one of several does not
    matter: the others stay among the best of both.
    """
    left = np.ones(len(a), bool)
    for _ in range(min(k, len(a))):
        both = left & (a == a[left].max()) & (b == b[left].max())
        if not both.any():
            return False
        left[np.flatnonzero(both)[0]] = False
    return True


def gaussian_null(
    samples: np.ndarray,
    rng: np.random.Generator,
    test_rows: np.ndarray | None = None,
) -> np.ndarray:
    """Draw normal samples of the same means and covariance, of the same shape.

    Parameters
    ----------
    samples
        Scores (learner, repetition).
    rng
        Source of the draw.
    test_rows
        If given, each draw is rounded to multiples of 1/T: what a share of T test rows would show.
        Rounding adds 1/(12 T²) to the variance, which is taken off the diagonal before.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.normal([[0.8], [0.7]], 0.02, (2, 1000))
    >>> gaussian_null(samples, rng, test_rows=50).shape
    (2, 1000)
    """
    samples = np.asarray(samples, float)
    covariance = np.atleast_2d(np.cov(samples))
    if test_rows is not None:
        step = float(np.mean(1.0 / np.asarray(test_rows, float) ** 2)) / 12.0
        covariance = covariance - np.diag(np.minimum(np.diag(covariance), step))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = samples.mean(axis=-1)[:, None] + root @ rng.standard_normal(samples.shape)
    if test_rows is None:
        return drawn
    return np.rint(drawn * test_rows) / test_rows
