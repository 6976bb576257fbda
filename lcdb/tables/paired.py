"""Numbers of tables 6 and 7: paired differences, and changes of the best three."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import analysis, stats
from lcdb.tables.frame import duplicate_seeds, some_curves

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["PairedRate", "TopKShares", "paired_rates", "top_k_changes"]

#: Datasets without tuned curves in the paper: left out of its tables 6 and 7.
_LEFT_OUT = ("1063", "44037", "46597")
_SEED = 7


@dataclass(frozen=True)
class PairedRate:
    """Mean percentage of non-Gaussian differences over curves, and what it rests on."""

    rate: float | None
    cells: int
    missing: int
    constant: int


@dataclass(frozen=True)
class TopKShares:
    """Shares of (dataset, n) where the best three change, by way of counting."""

    shares: dict[str, float] = field(default_factory=dict)
    cells: int = 0

    @property
    def names(self) -> list[str]:
        """Ways of counting, the published one first."""
        return list(self.shares) or ["ordered"]


def _keys(db: Database, subset: bool) -> list[Key]:
    return [key for key in db if not (subset and str(key) in _LEFT_OUT)]


def paired_rates(
    db: Database, metric: str, tuning: str, split: str, subset: bool, view: str | None
) -> PairedRate:
    """Return the mean rejection rate over (dataset, sampling, pair of learners)."""
    rates: list[float] = []
    cells = missing = constant = 0
    for key in _keys(db, subset):
        scores = some_curves(db, key, metric, view, tuning)
        if scores is None or split not in scores["split"].values or scores.sizes["learner"] < 2:
            continue
        n_test = None
        if metric == "accuracy":
            label = "pool" if view == "pool" else split
            n_test = db[key]["n_test"].sel(split=label, drop=True)
            n_test = duplicate_seeds(n_test) if view == "duplicate_seeds" else n_test
        for sampling in scores["sampling"].values:
            there = scores.sel(sampling=sampling, split=split)
            there = there.sel(learner=there["status"].isin(["complete", "partial"]).values)
            if there.sizes["learner"] < 2:
                continue
            rows = None if n_test is None else n_test.sel(sampling=sampling, drop=True)
            tests = analysis.paired_normality(there, rows).compute()
            tests = tests.isel(n=(tests["count"] > 0).any("pair").values)
            g = tests["non_gaussian"].transpose("pair", "n").values
            finite = np.isfinite(g)
            rates += [
                100.0 * row[kept].mean() for row, kept in zip(g, finite, strict=True) if kept.any()
            ]
            cells += int(finite.sum())
            missing += int((~finite).sum())
            constant += int(tests["constant"].sum())
    return PairedRate(float(np.mean(rates)) if rates else None, cells, missing, constant)


def top_k_changes(
    db: Database, metric: str, quantile: float, width: float, subset: bool
) -> TopKShares:
    """Return how often the best three change: additive, fixed and tuned, pooled over datasets."""
    found: dict[str, list[np.ndarray]] = {}
    for key in _keys(db, subset):
        scores = some_curves(db, key, metric, None, "tuned")
        if scores is None or "additive" not in scores["sampling"].values:
            continue
        if "fixed" not in scores["split"].values:
            continue
        scores = scores.sel(sampling="additive", split="fixed")
        whole = scores.notnull().all("repetition").sum("learner") > 3
        scores = scores.isel(n=whole.values).load()
        if not scores.sizes["n"]:
            continue
        change = analysis.top_k_change(scores, quantile, width)
        for name in ("ordered", "tie_aware", "set", "top_1"):
            found.setdefault(name, []).append(change[name].values)
        n_test = db[key]["n_test"].sel(sampling="additive", split="fixed").sel(n=scores["n"])
        lattice = n_test.values[0, :1] if metric == "accuracy" else None
        for name, rows in (("normal", None), ("normal on lattice", lattice)):
            if name == "normal" or rows is not None:
                null = _null(scores, quantile, width, rows)
                found.setdefault(name, []).append(null)
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
