"""One row per curve and metric: what all tables of rejection rates are means of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.cells import cell_statistics
from lcdb.schema import METRICS, UNIT_DIMS
from lcdb.summaries.stored import curve_rows
from lcdb.tables.views import some_curves, some_draws

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database, Key

__all__ = [
    "CURVE_STATISTICS",
    "DISTANCES",
    "EVERY",
    "FAR",
    "RATES",
    "SHAPES",
    "at_every_n",
    "both_ranges",
    "curve_frame",
    "curve_statistics",
    "percent",
    "tests_of",
]

#: Percentages of the cells of a curve, by column.
RATES = {
    "rate": "Shapiro-Wilk rejects at 5 %",
    "dagostino": "D'Agostino and Pearson reject at 5 %",
    "skewness_test": "the skewness test rejects at 5 %",
    "kurtosis_test": "the kurtosis test rejects at 5 %",
    "lattice": "accuracy: a normal rounded to multiples of 1/n_test is rejected at 5 %",
    "tested": "accuracy: cells on which that test can tell anything (constant ones: Gaussian)",
}
#: Medians over the cells of a curve: how far from normal they are, whatever the repetitions.
SHAPES = {
    "w": "Shapiro-Wilk W",
    "skewness": "skewness",
    "kurtosis": "excess kurtosis",
    "tail": "(5 % quantile - that of the normal with this mean and sd) / sd",
}
#: A 5 % quantile that is so many sd away from that of the normal is far off.
FAR = 0.5
#: How far tails are off, whatever the direction: medians of signed numbers hide that.
DISTANCES = {
    "absolute_tail": "the mean of |tail|",
    "far": "the percentage of cells with |tail| above 0.5",
}
#: The percentages that the paper prints, with each size standing for those around it: what they
#: would be at every n, where a plan has steps.
EVERY = {
    f"every_{name}": f"{RATES[name]}, at every n"
    for name in ("rate", "dagostino", "skewness_test", "kurtosis_test")
} | {"every_constant": "constant cells, at every n"}
_COUNTS = ("cells", "missing", "constant")
_STATISTICS = [*RATES, *SHAPES, *DISTANCES, *_COUNTS, *EVERY]
#: All that there is to say of a curve and metric.
CURVE_STATISTICS = (
    *_STATISTICS,
    *("last_skewness", "last_kurtosis"),
    *(f"from_10_{name}" for name in _STATISTICS if name == "every_rate" or name not in EVERY),
)
COLUMNS = ["dataset", "classes", *UNIT_DIMS, "metric", *CURVE_STATISTICS]


def curve_frame(db: Database, view: str | None = None, lattice: bool = True) -> pd.DataFrame:
    """Return a row for every computed curve and metric.

    Parameters
    ----------
    db
        An open database; any part of a plan will do.
    view
        None for the numbers as they are, else one of `lcdb.tables.VIEWS`.
    lattice
        Whether to test accuracies on their lattice too, which takes most of the time. Not done
        under a view.

    Returns
    -------
    pandas.DataFrame
        Columns ``dataset, classes, learner, sampling, split, tuning, metric``; the percentages
        `RATES`, of which ``rate`` is the P of the paper; the medians `SHAPES`; the `DISTANCES`;
        the percentages `EVERY`, which are the same as those of `RATES` if every n was computed;
        counts of ``cells``, ``missing`` and ``constant`` ones; skewness and excess kurtosis at
        the last n; all but these two again over n >= 10, as ``from_10_rate`` and so on.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     frame = curve_frame(db)
    >>> bool(frame["rate"].between(0, 100).all())
    True
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for key in (db := db.scaled()):
        if db.headers[key].is_summary and view is None:
            rows += curve_rows(db, key)
            continue
        for metric in METRICS:
            for tuning in ("default", "tuned"):
                scores = some_curves(db, key, metric, view, tuning)
                if scores is not None:
                    wanted = lattice and view is None and metric == "accuracy"
                    draws = some_draws(db, key, view) if wanted else None
                    rows += _rows(db, key, scores, metric, tuning, draws)
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(
    db: Database,
    key: Key,
    scores: xr.DataArray,
    metric: str,
    tuning: str,
    draws: xr.DataArray | None,
) -> list[dict[str, object]]:
    scores = scores.transpose("learner", "sampling", "split", "n", "repetition")
    sizes = scores["n"].values
    found = []
    for (i, sampling), (j, split) in _pairs(scores["sampling"].values, scores["split"].values):
        n_test = None
        if draws is not None:
            drawn = draws.sel(sampling=sampling, split=split, n=sizes)
            n_test = drawn.transpose("n", "repetition").values
        for place, learner in enumerate(scores["learner"].values):  # one curve at a time: memory
            one = scores[place, i, j]
            if one["status"].item() not in ("complete", "partial"):
                continue
            unit = map(str, (learner, sampling, split, tuning))
            tests = tests_of(one.values, n_test)
            found.append(
                {
                    "dataset": db.headers[key].id,
                    "classes": db.headers[key].classes,
                    **dict(zip(UNIT_DIMS, unit, strict=True)),
                    "metric": metric,
                    **both_ranges(tests, sizes),
                }
            )
    return found


def _pairs(first: np.ndarray, second: np.ndarray) -> list[tuple[tuple[int, str], tuple[int, str]]]:
    return [(a, b) for b in enumerate(second) for a in enumerate(first)]


def tests_of(x: np.ndarray, n_test: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the tests of normality of the cells (n, repetition) of one curve.

    Parameters
    ----------
    x
        Scores, NaN where there is none.
    n_test
        Test rows of the same shape, for scores that are shares of them; else None.
    """
    return cell_statistics(x, n_test)[0]


def both_ranges(tests: dict[str, np.ndarray], sizes: np.ndarray) -> dict[str, float]:
    """Return `CURVE_STATISTICS` from the tests of a curve's cells: at all sizes, and from 10."""
    computed = tests["count"] > 0  # a curve's sizes may have steps
    tests = {name: values[computed] for name, values in tests.items()}
    later = sizes[computed] >= 10
    sizes = sizes[computed]
    from_10 = curve_statistics({k: values[later] for k, values in tests.items()}, sizes[later])
    last = slice(-1, None)
    return {
        **curve_statistics(tests, sizes),
        "last_skewness": _median(tests["skewness"][last]),
        "last_kurtosis": _median(tests["excess_kurtosis"][last]),
        **{f"from_10_{name}": value for name, value in from_10.items()},
    }


def curve_statistics(tests: dict[str, np.ndarray], sizes: np.ndarray) -> dict[str, float]:
    """Return `RATES`, `SHAPES`, counts and so on from the tests of the cells of a curve."""
    constant, count = tests["constant"].astype(bool), tests["count"]
    enough = count >= stats.LEAST_COUNT

    def rejected(name: str) -> np.ndarray:
        return stats.non_gaussian(tests[name], count, constant)

    by_test = {
        "rate": rejected("shapiro_p"),
        "dagostino": rejected("dagostino_p"),
        "skewness_test": rejected("skewness_p"),
        "kurtosis_test": rejected("kurtosis_p"),
    }
    lattice = stats.lattice_non_gaussian(tests["lattice_p"], count, constant)
    far = np.abs(tests["tail"][enough & np.isfinite(tests["tail"])])
    on_lattice = np.isfinite(tests["lattice_p"]).any()
    return {
        **{name: percent(g) for name, g in by_test.items()},
        "lattice": percent(lattice) if on_lattice else float("nan"),
        "tested": percent(np.isfinite(lattice[enough])) if on_lattice else float("nan"),
        "w": _median(tests["shapiro_w"][enough]),
        "skewness": _median(tests["skewness"][enough]),
        "kurtosis": _median(tests["excess_kurtosis"][enough]),
        "tail": _median(tests["tail"][enough]),
        "absolute_tail": float(far.mean()) if far.size else float("nan"),
        "far": 100.0 * float((far > FAR).mean()) if far.size else float("nan"),
        "cells": int(enough.sum()),
        "missing": int((~enough).sum()),
        "constant": int(constant.sum()),
        **{f"every_{name}": at_every_n(g, sizes, constant) for name, g in by_test.items()},
        "every_constant": at_every_n(np.where(enough, constant, np.nan), sizes, constant),
    }


def at_every_n(g: np.ndarray, sizes: np.ndarray, constant: np.ndarray | None = None) -> float:
    """Return the percentage of cells with g = 1 as if there were one at every n of their range.

    See `lcdb.stats.between_sizes`.

    Examples
    --------
    >>> g, sizes = np.array([1.0, 1.0, 0.0]), np.array([1, 2, 4])
    >>> at_every_n(g, sizes), at_every_n(g, sizes, constant=np.array([False, False, True]))
    (62.5, 75.0)
    """
    _, drawn = stats.between_sizes(g, sizes, constant)
    return 100.0 * float(drawn.mean()) if drawn.size else float("nan")


def percent(g: np.ndarray) -> float:
    """Return the percentage of cells that are rejected, of those that there are."""
    kept = g[np.isfinite(g)]
    return 100.0 * float(kept.mean()) if kept.size else float("nan")


def _median(values: np.ndarray) -> float:
    kept = values[np.isfinite(values)]
    return float(np.median(kept)) if kept.size else float("nan")
