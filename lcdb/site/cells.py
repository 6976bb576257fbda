"""What the page shows of curves: statistics of their cells, and of paired differences.

A panel is what one metric has of one (sampling, split, tuning), for every learner: arrays begin
with the dims learner (or pair) and n.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.schema import STATUSES
from lcdb.scores import exact_scores
from lcdb.summaries.layout import PROBABILITIES

__all__ = ["COLUMNS", "PROBABILITIES", "Labels", "cells", "cells_of_summary", "pairs"]

#: Sampling, split and tuning.
Labels = tuple[str, str, str]
_UNIT = ("sampling", "split", "tuning")
#: What each file of a panel has. Curves are what the page needs first.
COLUMNS = {
    "curves": ("count", "mean", "sd", "quantile"),
    "tests": (
        *("count", "constant", "mean", "sd", "minimum", "maximum", "skewness", "excess_kurtosis"),
        *("shapiro_w", "shapiro_p", "dagostino_p", "lattice_p", "n_test_least", "n_test_most"),
    ),
}
_NOT_BUILT = STATUSES.index("not_built")


def _scores(cube: xr.Dataset, labels: Labels, metric: str, sizes: np.ndarray) -> np.ndarray:
    """Return the scores (learner, n, repetition) of a panel."""
    some = exact_scores(cube, metric).sel(dict(zip(_UNIT, labels, strict=True)))
    status = cube["status"].sel(dict(zip(_UNIT, labels, strict=True))).values
    places = np.searchsorted(cube["n"].values, sizes)
    x = np.full((some.sizes["learner"], len(sizes), some.sizes["repetition"]), np.nan)
    for i in np.flatnonzero(status != _NOT_BUILT):
        # A whole curve is read: its sizes lie in the same few chunks.
        x[i] = some.isel(learner=i).transpose("n", "repetition").values[places]
    return x


def _test_rows(cube: xr.Dataset, labels: Labels, sizes: np.ndarray) -> np.ndarray:
    """Return the numbers of test rows (n, repetition)."""
    draws = cube["n_test"].sel(sampling=labels[0], split=labels[1]).sel(n=sizes)
    return draws.transpose("n", "repetition").values


def cells(
    cube: xr.Dataset, labels: Labels, metric: str, sizes: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the statistics of a panel's cells, by name.

    Parameters
    ----------
    cube
        As ``db[dataset]`` has it.
    labels
        Sampling, split and tuning.
    metric
        Its name.
    sizes
        Training sizes of the cube.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = ("random", "fixed", "default")
    ...     found = cells(db["iris"], labels, "accuracy", np.array([10, 100]))
    >>> found["mean"].shape, found["quantile"].shape[-1] == len(PROBABILITIES)
    ((4, 2), True)
    """
    x = _scores(cube, labels, metric, sizes)
    rows = _test_rows(cube, labels, sizes)
    found, quantile = stats.summary(x, PROBABILITIES)
    found |= {"quantile": quantile, "lattice_p": np.full(quantile.shape[:-1], np.nan)}
    found |= {"n_test_least": rows.min(axis=-1), "n_test_most": rows.max(axis=-1)}
    there = found["count"] > 0
    if metric == "accuracy" and there.any():
        # Without simulations: cells whose test rows vary are not tested, so that the same cell has
        # the same p-value whatever is computed beside it.
        beside = np.broadcast_to(rows, x.shape)
        found["lattice_p"][there] = stats.lattice_test(x[there], beside[there])[0]
    return _typed(found)


def cells_of_summary(summary: xr.Dataset, labels: Labels, metric: str) -> dict[str, np.ndarray]:
    """Return what `cells` does, from a summary, for the sizes that it has."""
    unit = dict(zip(_UNIT, labels, strict=True))
    some = summary.sel(unit)
    rows = {name: some[name].values for name in ("n_test_least", "n_test_most")}
    named = {*COLUMNS["curves"], *COLUMNS["tests"]} - {"lattice_p", *rows}
    cell = some[sorted(named)].sel(metric=metric).transpose("learner", "n", "q")
    found = {name: cell[name].values for name in named}
    lattice = np.full(found["mean"].shape, np.nan)
    if metric == "accuracy":
        fixed = rows["n_test_least"] == rows["n_test_most"]
        lattice = np.where(fixed, some["lattice_p"].transpose("learner", "n").values, np.nan)
    return _typed({**found, "lattice_p": lattice, **rows})


def _typed(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return counts as integers, whether a cell is constant as a byte, and the rest as doubles."""
    types = {"count": "i4", "n_test_least": "i4", "n_test_most": "i4", "constant": "i1"}
    return {name: array.astype(types.get(name, "f8")) for name, array in found.items()}


def pairs(
    cube: xr.Dataset, labels: Labels, metric: str, sizes: np.ndarray, direction: str
) -> dict[str, np.ndarray]:
    """Return the paired differences of every two learners, the earlier one first.

    Parameters
    ----------
    cube, labels, metric, sizes
        As for `cells`.
    direction
        ``"maximize"`` or ``"minimize"``: what is better.

    Returns
    -------
    dict
        Of what `lcdb.analysis.compare` returns, with the dims (pair, n): ``mean_difference`` and
        ``better`` with the ends of their 95 % intervals, and ``count``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = ("random", "fixed", "default")
    ...     found = pairs(db["iris"], labels, "accuracy", np.array([10, 100]), "maximize")
    >>> found["better"].shape
    (6, 2)
    """
    x = _scores(cube, labels, metric, sizes)
    sign = 1.0 if direction == "maximize" else -1.0
    names = ("mean_difference", "mean_low", "mean_high", "better", "better_low", "better_high")
    rows: dict[str, list[np.ndarray]] = {name: [] for name in (*names, "count")}
    for first, second in combinations(range(len(x)), 2):
        d, tolerance = stats.differences(x[first], x[second])
        mean = stats.paired_mean(d, tolerance)
        values = (mean.mean, mean.low, mean.high, *stats.superiority(sign * d), mean.pairs)
        for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
    found = {name: np.stack(some) for name, some in rows.items()}
    return found | {"count": found["count"].astype(np.int32)}
