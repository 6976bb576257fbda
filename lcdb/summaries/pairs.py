"""What a summary keeps of learners beside each other: paired differences, and the best three."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from itertools import combinations

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.schema import METRICS, STATUSES, UNIT_DIMS
from lcdb.scores import exact_scores
from lcdb.summaries.layout import COMPARISONS, PAIR_CODES
from lcdb.tables.frame import CURVE_STATISTICS
from lcdb.tables.paired import count_changes, differences, pair_statistics

__all__ = ["WAYS", "describe_pairs", "describe_top_k", "pair_names"]

#: Ways of counting changes of the best three.
WAYS = ("ordered", "tie_aware", "set", "top_1", "normal", "normal on lattice")


def pair_names(cube: xr.Dataset) -> list[str]:
    """Return a label for each pair of learners.

    Examples
    --------
    >>> pair_names(xr.Dataset(coords={"learner": ["NMC", "LDC", "QDC"]}))
    ['NMC - LDC', 'NMC - QDC', 'LDC - QDC']
    """
    return [f"{a} - {b}" for a, b in combinations(map(str, cube["learner"].values), 2)]


def describe_pairs(cube: xr.Dataset, chosen: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
    """Write tests of all paired differences: of cells at the chosen sizes, and of curves."""
    places = {name: place for place, name in enumerate(pair_names(cube))}
    labels = [cube[dim].values for dim in UNIT_DIMS[1:]]
    for (m, metric), *unit in itertools.product(enumerate(METRICS), *map(enumerate, labels)):
        where = tuple(place for place, _ in unit)
        scores = _some(cube, metric, *(str(label) for _, label in unit))
        n_test = None
        if metric == "accuracy":
            n_test = cube["n_test"].isel(sampling=where[0], split=where[1])
        for pair, difference in differences(scores, n_test):
            tests, curve = pair_statistics(difference, cube["n"].values, n_test is not None)
            at = (m, places[pair], *where)
            arrays["pair_normality"][at] = _codes(tests)[chosen]
            row = [curve.get(name, np.nan) for name in CURVE_STATISTICS]
            arrays["pair_statistic"][at] = row


def describe_top_k(cube: xr.Dataset, arrays: Mapping[str, np.ndarray]) -> None:
    """Write at how many sizes the best three change: additive and fixed."""
    if "additive" not in cube["sampling"].values or "fixed" not in cube["split"].values:
        return
    draws = cube["n_test"].sel(sampling="additive", split="fixed")
    tunings = map(str, cube["tuning"].values)
    for (m, metric), (t, tuning) in itertools.product(enumerate(METRICS), enumerate(tunings)):
        scores = _some(cube, metric, "additive", "fixed", tuning).load()
        for c, (quantile, width) in enumerate(COMPARISONS):
            n_test = draws if metric == "accuracy" else None
            for way, pair in count_changes(scores, n_test, quantile, width).items():
                arrays["top_k_change"][m, t, c, WAYS.index(way)] = pair


def _some(cube: xr.Dataset, metric: str, sampling: str, split: str, tuning: str) -> xr.DataArray:
    """Return all learners' scores (learner, n, repetition), with their status."""
    labels = {"sampling": sampling, "split": split, "tuning": tuning}
    codes = cube["status"].sel(labels).values
    scores = exact_scores(cube, metric).sel(labels)
    return scores.assign_coords(status=("learner", np.array(STATUSES)[codes]))


def _codes(tests: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return what the cells of a pair are, by `PAIR_CODES`."""
    constant = tests["constant"].astype(bool)
    g = stats.non_gaussian(tests["shapiro_p"], tests["count"], constant)
    codes = np.where(np.isnan(g), PAIR_CODES["too_few"], g == 1)
    codes = np.where(constant, PAIR_CODES["constant"], codes)
    return np.where(tests["count"] > 0, codes, PAIR_CODES["absent"]).astype(np.int8)
