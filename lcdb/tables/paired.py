"""Numbers of tables 6 and 7: paired differences, and changes of the best three."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import analysis, stats
from lcdb.tables.frame import curve_statistics, tests_of
from lcdb.tables.views import some_curves, some_draws

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database

__all__ = ["LEFT_OUT", "TopKShares", "paired_frame", "top_k_changes"]

#: Datasets without tuned curves in the paper: left out of its tables 6 and 7.
LEFT_OUT = ("1063", "44037", "46597")
_SEED = 7


def paired_frame(
    db: Database, metric: str, tuning: str, split: str, view: str | None
) -> pd.DataFrame:
    """Return a row for every (dataset, sampling, pair of learners): columns as `curve_frame` has.

    Accuracies are compared as counts, since both learners of a pair share each repetition's test
    set: their differences are whole numbers, and ``lattice`` asks for a normal rounded to those.
    """
    import pandas as pd

    rows = []
    for key in db:
        scores = some_curves(db, key, metric, view, tuning)
        if scores is None or split not in scores["split"].values:
            continue
        draws = some_draws(db, key, view) if metric == "accuracy" else None
        for sampling in scores["sampling"].values:
            there = scores.sel(sampling=sampling, split=split)
            n_test = None if draws is None else draws.sel(sampling=sampling, split=split)
            for pair, difference in _differences(there, n_test):
                on_lattice = n_test is not None and view is None
                tests = tests_of(difference, np.ones(difference.shape) if on_lattice else None)
                kept = tests["count"] > 0
                found = curve_statistics({name: value[kept] for name, value in tests.items()})
                rows.append({"dataset": str(key), "sampling": str(sampling), "pair": pair, **found})
    return pd.DataFrame(rows)


def _differences(
    scores: xr.DataArray, n_test: xr.DataArray | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the differences (n, repetition) of each pair of learners that have values."""
    there = scores.isel(learner=scores["status"].isin(["complete", "partial"]).values)
    values = there.transpose("learner", "n", "repetition").values
    if n_test is not None:
        rows = n_test.transpose("n", "repetition").values
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
    found: dict[str, list[np.ndarray]] = {}
    for key in db:
        scores = some_curves(db, key, metric, view, tuning)
        if scores is None or (subset and str(key) in LEFT_OUT):
            continue
        if "additive" not in scores["sampling"].values or "fixed" not in scores["split"].values:
            continue
        scores = scores.sel(sampling="additive", split="fixed")
        whole = scores.count("repetition") == scores.sizes["repetition"]
        whole = whole.sum("learner") > 3
        scores = scores.isel(n=whole.values).load()
        if not scores.sizes["n"]:
            continue
        change = analysis.top_k_change(scores, quantile, width)
        for name in ("ordered", "tie_aware", "set", "top_1"):
            found.setdefault(name, []).append(change[name].values)
        if view is not None:
            continue
        found.setdefault("normal", []).append(_null(scores, quantile, width, None))
        if metric == "accuracy":
            n_test = some_draws(db, key, view).sel(sampling="additive", split="fixed")
            rows = n_test.sel(n=scores["n"]).values[0, :1]  # a fixed test set has one size
            found.setdefault("normal on lattice", []).append(_null(scores, quantile, width, rows))
    if not found:
        return TopKShares()
    shares = {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}
    shares["mean over datasets"] = float(np.mean([part.mean() for part in found["ordered"]]))
    return TopKShares(shares, sum(part.size for part in found["ordered"]))


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
