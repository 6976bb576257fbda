"""One row per curve and metric: what all tables of rejection rates are means of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.schema import METRICS, UNIT_DIMS

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database, Key

__all__ = ["VIEWS", "curve_frame", "duplicate_seeds", "some_curves"]

#: Ways in which the public generator of the paper differs from the paper's text.
VIEWS = {
    "duplicate_seeds": "repetition seeds drawn with replacement, so that some 63 % are distinct",
    "pool": "separate test sets evaluated on the training pool",
}
_SEED = 2026
COLUMNS = [
    *("dataset", "classes", *UNIT_DIMS, "metric"),
    *("rate", "from_10", "dagostino", "skewness_test", "kurtosis_test", "lattice"),
    *("median_w", "last_skewness", "last_kurtosis", "cells", "missing", "constant"),
]


def duplicate_seeds(scores: xr.DataArray) -> xr.DataArray:
    """Return honest repetitions re-indexed as if their seeds had been drawn with replacement.

    Examples
    --------
    >>> scores = xr.DataArray(np.arange(1000.0), dims="repetition")
    >>> 600 < len(np.unique(duplicate_seeds(scores))) < 660
    True
    """
    size = scores.sizes["repetition"]
    picks = np.random.default_rng(_SEED).integers(0, size, size)
    return scores.isel(repetition=picks)


def some_curves(
    db: Database, key: Key, metric: str, view: str | None, tuning: str
) -> xr.DataArray | None:
    """Return a metric of one dataset and tuning as a view has it: all learners, additive and so on.

    The split `pool` is left out, or takes the place of `fixed` in the view of that name. None where
    the cube has nothing of the kind.
    """
    labels = db.headers[key].labels
    if tuning not in labels["tuning"]:
        return None
    splits = [split for split in labels["split"] if split != "pool"]
    if view == "pool":
        if "pool" not in labels["split"]:
            return None
        splits = ["pool"]
    if not splits:
        return None
    scores = db.select(key, split=splits, tuning=tuning, metric=metric)[key]
    if view == "pool":
        scores = scores.assign_coords(split=["fixed"])
    return duplicate_seeds(scores) if view == "duplicate_seeds" else scores


def curve_frame(db: Database, view: str | None = None) -> pd.DataFrame:
    """Return a row for every computed curve and metric.

    Parameters
    ----------
    db
        An open database; any part of a plan will do.
    view
        None for the numbers as they are, else one of `VIEWS`.

    Returns
    -------
    pandas.DataFrame
        Columns ``dataset, classes, learner, sampling, split, tuning, metric``; ``rate``, the
        percentage P of cells that Shapiro-Wilk rejects, and that ``from_10``, over n >= 10; the
        same for D'Agostino-Pearson, skewness, kurtosis and the lattice-aware test; medians of W
        and skewness; counts of ``cells``, ``missing`` and ``constant`` ones.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     frame = curve_frame(db)
    >>> bool(frame["rate"].between(0, 100).all())
    True
    """
    import pandas as pd

    rows = []
    for key in db:
        for metric in METRICS:
            for tuning in ("default", "tuned"):
                scores = some_curves(db, key, metric, view, tuning)
                if scores is not None:
                    rows += _rows(db, key, scores, metric, tuning, view)
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(
    db: Database, key: Key, scores: xr.DataArray, metric: str, tuning: str, view: str | None
) -> list[dict[str, object]]:
    scores = scores.transpose("learner", "sampling", "split", "n", "repetition")
    n_test = _test_rows(db, key, scores, view) if metric == "accuracy" else None
    sizes = scores["n"].values
    labels = [scores[dim].values for dim in ("sampling", "split")]
    found = []
    for place, learner in enumerate(scores["learner"].values):  # one at a time bounds memory
        one = scores.isel(learner=place)
        status = one["status"].transpose("sampling", "split").values
        tests = _tests(one.values, n_test)
        for i, j in np.argwhere((status == "complete") | (status == "partial")):
            unit = (learner, labels[0][i], labels[1][j], tuning)
            found.append(
                {
                    "dataset": str(key),
                    "classes": db.headers[key].classes,
                    **dict(zip(UNIT_DIMS, map(str, unit), strict=True)),
                    "metric": metric,
                    **_statistics({name: values[i, j] for name, values in tests.items()}, sizes),
                }
            )
    return found


def _test_rows(db: Database, key: Key, scores: xr.DataArray, view: str | None) -> np.ndarray:
    """Return T by (sampling, split, n), NaN where it varies between repetitions."""
    split = ["pool"] if view == "pool" else list(scores["split"].values)
    chosen = db[key]["n_test"].sel(sampling=scores["sampling"], split=split)
    rows = chosen.transpose("sampling", "split", "n", "repetition").values
    return np.where(rows.min(axis=-1) == rows.max(axis=-1), rows[..., 0], np.nan)


def _tests(x: np.ndarray, n_test: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the tests of normality of the cells of one learner."""
    fields, _ = stats.summary(x, ())
    fields["lattice_p"] = np.full(x.shape[:-1], np.nan)
    if n_test is not None:
        fixed = n_test > 0
        fields["lattice_p"][fixed] = stats.grouped_normal_test(x[fixed], n_test[fixed])[0]
    return fields


def _statistics(tests: dict[str, np.ndarray], sizes: np.ndarray) -> dict[str, float]:
    """Return the statistics of one curve from the tests of its cells."""
    computed = tests["count"] > 0  # a curve's sizes may have steps
    tests = {name: values[computed] for name, values in tests.items()}
    sizes = sizes[computed]
    constant, enough = tests["constant"].astype(bool), tests["count"] >= 8

    def rejected(name: str) -> np.ndarray:
        return np.where(enough, ~constant & (tests[name] < 0.05), np.nan)

    g, lattice = rejected("shapiro_p"), tests["lattice_p"]
    last = slice(-1, None)
    return {
        "rate": _percent(g),
        "from_10": _percent(g[sizes >= 10]),
        "dagostino": _percent(rejected("dagostino_p")),
        "skewness_test": _percent(rejected("skewness_p")),
        "kurtosis_test": _percent(rejected("kurtosis_p")),
        "lattice": _percent(np.where(np.isnan(lattice), np.nan, lattice < 0.05)),
        "median_w": _median(tests["shapiro_w"]),
        "last_skewness": _median(tests["skewness"][last]),
        "last_kurtosis": _median(tests["excess_kurtosis"][last]),
        "cells": int(enough.sum()),
        "missing": int((~enough).sum()),
        "constant": int(constant.sum()),
    }


def _percent(g: np.ndarray) -> float:
    kept = g[np.isfinite(g)]
    return 100.0 * float(kept.mean()) if kept.size else float("nan")


def _median(values: np.ndarray) -> float:
    kept = values[np.isfinite(values)]
    return float(np.median(kept)) if kept.size else float("nan")
