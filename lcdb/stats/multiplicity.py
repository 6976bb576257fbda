"""Many tests at once, and the test of normality that statsmodels has and SciPy has not."""

from __future__ import annotations

import numpy as np

__all__ = ["benjamini_hochberg", "holm", "lilliefors"]


def benjamini_hochberg(p: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """Return which hypotheses are rejected at a false-discovery rate of alpha; NaN never is.

    Examples
    --------
    >>> benjamini_hochberg([0.001, 0.03, 0.04, np.nan]).tolist()
    [True, True, True, False]
    """
    from statsmodels.stats.multitest import multipletests

    p = np.asarray(p, float)
    rejected = np.zeros(p.shape, bool)
    there = np.isfinite(p)
    if there.any():
        rejected[there] = multipletests(p[there], alpha, method="fdr_bh")[0]
    return rejected


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values corrected for all of them, by Holm; NaN counts for none.

    Examples
    --------
    >>> holm([0.01, 0.04, np.nan, 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    p = np.asarray(p, float)
    corrected = np.full(p.shape, np.nan)
    # As statsmodels has it, which collects garbage at each call: a second in a large process.
    places = np.argsort(p, axis=None)[: np.isfinite(p).sum()]
    rising = np.maximum.accumulate(p.flat[places] * np.arange(len(places), 0, -1))
    corrected.flat[places] = np.minimum(rising, 1.0)
    return corrected


def lilliefors(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Kolmogorov-Smirnov distance from the fitted normal and its p-value.

    Samples lie along the last axis; constant ones, and those with fewer than 4 finite values, give
    NaN. The p-values are statsmodels' table, which ends at 0.001 and 0.99.

    Examples
    --------
    >>> distance, p = lilliefors(np.random.default_rng(0).normal(size=(2, 500)))
    >>> distance.shape, bool((p > 0.05).all())
    ((2,), True)
    """
    from statsmodels.stats.diagnostic import lilliefors as one

    x = np.asarray(x, float)
    rows = x.reshape(-1, x.shape[-1])
    found = np.full((len(rows), 2), np.nan)
    for i, row in enumerate(rows):
        finite = row[np.isfinite(row)]
        if len(finite) >= 4 and np.ptp(finite) > 0:
            found[i] = one(finite)
    return found[:, 0].reshape(x.shape[:-1]), found[:, 1].reshape(x.shape[:-1])
