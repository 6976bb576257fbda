"""Every statistic of the cells of one curve: what summaries keep, and what tables are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lcdb import stats

__all__ = ["LOW", "cell_statistics"]

#: The quantile whose distance from that of a normal distribution is the ``tail``.
LOW = 0.05
_NORMAL_LOW = -1.6448536269514722
#: Samples of a simulated null, for each cell whose test rows vary.
_SIMULATIONS = 99


def cell_statistics(
    x: np.ndarray, n_test: np.ndarray | None, quantiles: Sequence[float] = ()
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return moments, tests of normality and quantiles of the cells (n, repetition) of one curve.

    Parameters
    ----------
    x
        Scores, NaN where there is none.
    n_test
        Test rows of the same shape, for scores that are shares of them; else None.
    quantiles
        Probabilities.

    Returns
    -------
    fields
        By name, of shape (n,): those of `lcdb.stats.summary`; ``tail``, by how many standard
        deviations the 5 % quantile lies above that of a normal with this mean and standard
        deviation; and ``lattice_p`` and ``lattice_step``, NaN without `n_test`.
    quantile
        Array (n, quantiles).

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(0.8, 0.02, (3, 1000))
    >>> fields, quantile = cell_statistics(x, None, [0.5])
    >>> bool((abs(fields["tail"]) < 0.2).all()), quantile.shape
    (True, (3, 1))
    """
    fields, quantile = stats.summary(x, [LOW, *quantiles])
    with np.errstate(divide="ignore", invalid="ignore"):
        fields["tail"] = (quantile[..., 0] - fields["mean"]) / fields["sd"] - _NORMAL_LOW
    fields["tail"][fields["constant"].astype(bool)] = np.nan
    for name in ("lattice_p", "lattice_step"):
        fields[name] = np.full(x.shape[:-1], np.nan)
    there = fields["count"] > 0
    if n_test is not None:
        p, _, step = stats.lattice_test(x[there], n_test[there], _SIMULATIONS)
        fields["lattice_p"][there], fields["lattice_step"][there] = p, step
    return fields, quantile[..., 1:]
