"""Numbers of tables 6 and 7: paired differences, and changes of the best three."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import analysis, stats
from lcdb.summaries.stored import changes, paired_rows
from lcdb.tables.frame import EVERY, curve_statistics, tests_of
from lcdb.tables.views import some_curves, some_draws

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database

__all__ = [
    "ALL_DATASETS",
    "LEFT_OUT",
    "TopKShares",
    "count_changes",
    "datasets_compared",
    "differences",
    "pair_statistics",
    "paired_frame",
    "top_k_changes",
    "whose_top_three",
]

#: Datasets without tuned curves in the paper: left out of its tables 6 and 7.
LEFT_OUT = ("1063", "44037", "46597")
#: What rows say that take those as well.
ALL_DATASETS = ", all datasets"
_SEED = 7


def datasets_compared(db: Database) -> tuple[str, ...]:
    """Return what rows say of their datasets: nothing of those of the paper, and of all datasets.

    Where there are none but the paper's, both would be the same.
    """
    all_datasets = {header.id for header in db.headers.values()}
    return ("", ALL_DATASETS) if all_datasets & set(LEFT_OUT) else ("",)


def whose_top_three(db: Database) -> list[tuple[str, str, bool]]:
    """Return whose best three are compared: words, the tuning, and if of the paper's datasets."""
    return [
        (every + also, tuning, not every)
        for every in datasets_compared(db)
        for also, tuning in (("", "tuned"), (", default", "default"))
    ]


def paired_frame(
    db: Database, metric: str, tuning: str, split: str, view: str | None
) -> pd.DataFrame:
    """Return a row for every (dataset, sampling, pair of learners): columns as `curve_frame` has.

    Accuracies are compared as counts, since both learners of a pair share each repetition's test
    set: their differences are whole numbers, and ``lattice`` asks for a normal rounded to those.
    """
    import pandas as pd

    rows: list[dict[str, object]] = []
    for key in (db := db.scaled()):
        if db.headers[key].is_summary and view is None:
            rows += paired_rows(db, key, metric, tuning, split)
            continue
        scores = some_curves(db, key, metric, view, tuning)
        if scores is None or split not in scores["split"].values:
            continue
        draws = some_draws(db, key, view) if metric == "accuracy" else None
        for sampling in scores["sampling"].values:
            there = scores.sel(sampling=sampling, split=split)
            n_test = None if draws is None else draws.sel(sampling=sampling, split=split)
            for pair, difference in differences(there, n_test):
                _, found = pair_statistics(
                    difference, there["n"].values, n_test is not None and view is None
                )
                rows.append(
                    {
                        "dataset": db.headers[key].id,
                        "sampling": str(sampling),
                        "pair": pair,
                        **found,
                    }
                )
    return pd.DataFrame(rows)


def pair_statistics(
    difference: np.ndarray, sizes: np.ndarray, on_lattice: bool
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the tests of the differences (n, repetition) of a pair: of cells, and of the curve."""
    tests = tests_of(difference, np.ones(difference.shape) if on_lattice else None)
    kept = tests["count"] > 0
    found = curve_statistics({k: value[kept] for k, value in tests.items()}, sizes[kept])
    # Of what would be at every n, tables have one rate of pairs: a summary keeps no other.
    unused = EVERY.keys() - {"every_rate"}
    return tests, {name: value for name, value in found.items() if name not in unused}


def differences(
    scores: xr.DataArray, n_test: xr.DataArray | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the differences (n, repetition) of each pair of learners that have values."""
    there = scores.isel(learner=scores["status"].isin(["complete", "partial"]).values)
    values = there.transpose("learner", "n", "repetition").values
    if n_test is not None:
        rows = n_test.sel(n=there["n"]).transpose("n", "repetition").values
        values = np.rint(values.astype(np.float64) * rows).astype(np.float32)
    names = there["learner"].values
    for i, j in combinations(range(len(names)), 2):
        yield f"{names[i]} - {names[j]}", values[i] - values[j]


@dataclass(frozen=True)
class TopKShares:
    """Shares of (dataset, n) where the best three change, by way of counting."""

    shares: dict[str, float] = field(default_factory=dict)
    cells: int = 0


def top_k_changes(
    db: Database,
    metric: str,
    quantile: float,
    width: float,
    tuning: str = "tuned",
    subset: bool = False,
    view: str | None = None,
) -> TopKShares:
    """Return how often the best three change: additive and fixed, pooled over datasets."""
    found: dict[str, list[tuple[int, int]]] = {}
    for key in (db := db.scaled()):
        if subset and db.headers[key].id in LEFT_OUT:
            continue
        if db.headers[key].is_summary and view is None:
            for name, pair in changes(db, key, metric, quantile, width, tuning).items():
                found.setdefault(name, []).append(pair)
            continue
        scores = some_curves(db, key, metric, view, tuning)
        if scores is None:
            continue
        if "additive" not in scores["sampling"].values or "fixed" not in scores["split"].values:
            continue
        labels = {"sampling": "additive", "split": "fixed"}
        draws = None
        if metric == "accuracy" and view is None:
            draws = some_draws(db, key, view).sel(labels)
        counted = count_changes(scores.sel(labels), draws, quantile, width, null=view is None)
        for name, pair in counted.items():
            found.setdefault(name, []).append(pair)
    if not found:
        return TopKShares()
    shares = {name: sum(c for c, _ in parts) / sum(n for _, n in parts)
              for name, parts in found.items()}  # fmt: skip
    shares["mean over datasets"] = float(np.mean([c / n for c, n in found["ordered"]]))
    return TopKShares(shares, sum(n for _, n in found["ordered"]))


def count_changes(
    scores: xr.DataArray,
    n_test: xr.DataArray | None,
    quantile: float,
    width: float,
    null: bool = True,
) -> dict[str, tuple[int, int]]:
    """Return at how many sizes the best three change, and of how many, by way of counting.

    Parameters
    ----------
    scores
        Array (learner, n, repetition) of one dataset, sampling, split and tuning.
    n_test
        For accuracies: their test rows (n, repetition), of which a fixed test set has one number.
    quantile, width
        What is compared, as `lcdb.stats.top_k_change` takes it.
    null
        Count as well for samples from normal distributions of the same mean and covariance.
    """
    whole = scores.count("repetition") == scores.sizes["repetition"]
    scores = scores.isel(n=(whole.sum("learner") > 3).values).load()
    if not scores.sizes["n"]:
        return {}
    change = analysis.top_k_change(scores, quantile, width)
    found = {name: change[name].values for name in ("ordered", "tie_aware", "set", "top_1")}
    if null:
        found["normal"] = _null(scores, quantile, width, None)
        if n_test is not None:
            rows = n_test.sel(n=scores["n"]).transpose("n", "repetition").values[0, :1]
            found["normal on lattice"] = _null(scores, quantile, width, rows)
    return {name: (int(changed.sum()), changed.size) for name, changed in found.items()}


def _null(
    scores: xr.DataArray, quantile: float, width: float, test_rows: np.ndarray | None
) -> np.ndarray:
    """Return where a draw of normal samples of the same mean and covariance changes its top 3."""
    rng = np.random.default_rng(_SEED)
    x = scores.transpose("n", "learner", "repetition").values
    whole = ~np.isnan(x).any(axis=-1)
    drawn = np.full(x.shape, np.nan)
    for i, there in enumerate(whole):
        drawn[i, there] = stats.gaussian_null(x[i, there], rng, test_rows)
    way = scores.attrs.get("direction", "maximize")
    return stats.top_k_change(drawn, quantile, width, direction=way).ordered
