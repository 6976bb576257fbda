"""What the page shows of curves: statistics of their cells, and of paired differences.

A panel is what one metric has of one (sampling, split, tuning), for every learner: arrays begin
with the dims learner (or pair) and n.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.schema import METRICS, STATUSES
from lcdb.scores import exact_scores
from lcdb.summaries.layout import PROBABILITIES

__all__ = ["COLUMNS", "PROBABILITIES", "Labels", "Panel", "cells", "cells_of_summary", "pairs"]

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


@dataclass(frozen=True)
class Panel:
    """The scores of a panel.

    Parameters
    ----------
    metric
        What they are.
    scores
        Array (learner, n, repetition), NaN where nothing was built.
    test_rows
        Array (n, repetition).
    """

    metric: str
    scores: np.ndarray
    test_rows: np.ndarray

    @classmethod
    def of(cls, cube: xr.Dataset, labels: Labels, metric: str, sizes: np.ndarray) -> Panel:
        """Read a panel of a cube, for some of its sizes.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     labels = ("random", "fixed", "default")
        ...     panel = Panel.of(db["iris"], labels, "auc", np.array([10, 100]))
        >>> panel.scores.shape, panel.test_rows.shape
        ((4, 2, 200), (2, 200))
        """
        unit = dict(zip(_UNIT, labels, strict=True))
        some = exact_scores(cube, metric).sel(unit)
        status = cube["status"].sel(unit).values
        places = np.searchsorted(cube["n"].values, sizes)
        x = np.full((some.sizes["learner"], len(sizes), some.sizes["repetition"]), np.nan)
        for i in np.flatnonzero(status != _NOT_BUILT):
            # A whole curve is read: its sizes lie in the same few chunks.
            x[i] = some.isel(learner=i).transpose("n", "repetition").values[places]
        draws = cube["n_test"].sel(sampling=labels[0], split=labels[1])
        return cls(metric, x, draws.transpose("n", "repetition").values[places])


def cells(panel: Panel) -> dict[str, np.ndarray]:
    """Return the statistics of a panel's cells, by name.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = ("random", "fixed", "default")
    ...     found = cells(Panel.of(db["iris"], labels, "accuracy", np.array([10, 100])))
    >>> found["mean"].shape, found["quantile"].shape[-1] == len(PROBABILITIES)
    ((4, 2), True)
    """
    x, rows = panel.scores, panel.test_rows
    found, quantile = stats.summary(x, PROBABILITIES)
    found |= {"quantile": quantile, "lattice_p": np.full(quantile.shape[:-1], np.nan)}
    found |= {"n_test_least": rows.min(axis=-1), "n_test_most": rows.max(axis=-1)}
    there = found["count"] > 0
    if panel.metric == "accuracy" and there.any():
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


def pairs(panel: Panel) -> dict[str, np.ndarray]:
    """Return the paired differences of every two learners, the earlier one first.

    They are what `lcdb.analysis.compare` returns, with the dims (pair, n): ``mean_difference`` and
    ``better`` with the ends of their 95 % intervals, and ``count``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = ("random", "fixed", "default")
    ...     found = pairs(Panel.of(db["iris"], labels, "accuracy", np.array([10, 100])))
    >>> found["better"].shape
    (6, 2)
    """
    x = panel.scores
    sign = 1.0 if METRICS[panel.metric].direction == "maximize" else -1.0
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
