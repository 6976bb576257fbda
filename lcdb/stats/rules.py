"""Which cells are called non-Gaussian: one rule for each test, wherever cells are counted.

A cell is 1 where its test rejects at 5 %, 0 where not or where it is constant (as Turan, Loog and
Tax count those), and NaN where it cannot be said.
"""

from __future__ import annotations

import numpy as np

from lcdb.stats.lattice import grouped_normal_test, ragged_lattice_test

__all__ = ["LEAST_COUNT", "LEVEL", "lattice_non_gaussian", "lattice_test", "non_gaussian"]

LEVEL = 0.05
#: Cells of fewer values are not counted.
LEAST_COUNT = 8
_SEED = 45  # of simulated nulls


def non_gaussian(p: np.ndarray, count: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Return which cells a test of normality rejects, by its p-values.

    Examples
    --------
    >>> p = np.array([0.01, 0.2, np.nan, 0.01])
    >>> non_gaussian(p, np.array([9, 9, 9, 5]), np.array([False, False, True, False])).tolist()
    [1.0, 0.0, 0.0, nan]
    """
    with np.errstate(invalid="ignore"):
        rejected = ~np.asarray(constant, bool) & (np.asarray(p) < LEVEL)
    return np.where(np.asarray(count) >= LEAST_COUNT, rejected, np.nan)


def lattice_non_gaussian(p: np.ndarray, count: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Return which cells are no normal distribution rounded to a lattice; NaN if untestable.

    A simulated p-value is a multiple of 1/100: 0.05 itself is among the 5 % that are rejected.

    Examples
    --------
    >>> p = np.array([0.05, 0.2, np.nan, np.nan])
    >>> flat = np.array([False, False, True, False])
    >>> lattice_non_gaussian(p, np.full(4, 9), flat).tolist()
    [1.0, 0.0, 0.0, nan]
    """
    p = np.asarray(p, float)
    with np.errstate(invalid="ignore"):
        tested = np.where(np.isnan(p), np.nan, p <= LEVEL)
    rejected = np.where(np.asarray(constant, bool), 0.0, tested)
    return np.where(np.asarray(count) >= LEAST_COUNT, rejected, np.nan)


def lattice_test(
    scores: np.ndarray, test_rows: np.ndarray, simulations: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Test scores on the lattice of their test rows, whether those vary or not.

    Parameters
    ----------
    scores, test_rows
        Arrays of one shape, repetitions along the last axis.
    simulations
        Null samples for each distribution whose test rows vary; without any, it is not tested.

    Returns
    -------
    p, bins, step
        As `grouped_normal_test` gives them; bins and step are NaN where test rows vary.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> rows = np.stack([np.full(500, 157), rng.integers(40, 60, 500)])
    >>> rounded = np.round(rng.normal(0.8, 0.05, rows.shape) * rows) / rows
    >>> p, bins, _ = lattice_test(rounded, rows, simulations=99)
    >>> (p > 0.05).tolist(), np.isnan(bins).tolist()
    ([True, True], [False, True])
    """
    scores, test_rows = np.broadcast_arrays(scores, test_rows)
    fixed = test_rows.min(axis=-1) == test_rows.max(axis=-1)
    found = grouped_normal_test(np.where(fixed[..., None], scores, np.nan), test_rows[..., 0])
    if simulations and not fixed.all():
        rng = np.random.default_rng(_SEED)
        ragged = ~fixed
        found[0][ragged] = ragged_lattice_test(scores[ragged], test_rows[ragged], rng, simulations)
    return found
