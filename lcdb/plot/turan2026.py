"""The figures of Turan, Loog and Tax 2026, drawn from a database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.errors import LabelError, did_you_mean
from lcdb.plot.beyond import by_repetitions, decomposition, rank_map
from lcdb.plot.distributions import distributions
from lcdb.plot.figures import (
    inverse_cdf,
    profile,
    quantile_curves,
    rejection_map,
)
from lcdb.plot.shares import non_gaussian_panels
from lcdb.plot.style import caption, context, metric_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from lcdb.database import Database, Key

__all__ = ["FIGURES", "Figure", "draw"]


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: what it shows, of which dataset, and how it is drawn."""

    title: str
    dataset: Key | None
    draw: Callable[[Database, Key, str], Axes]


def _bands(db: Database, key: Key, metric: str) -> Axes:
    curves = db.select(
        key, learner=["LREG", "QDC"], sampling="additive", split="fixed", tuning="default",
        metric=metric,
    )[db.resolve(key)]  # fmt: skip
    return quantile_curves(curves)


def _near_100(curves: xr.DataArray) -> xr.DataArray:
    """Return the computed size nearest to n = 100."""
    return curves.dropna("n", how="all").sel(n=100, method="nearest")


def _by_sampling_and_split(db: Database, key: Key, metric: str) -> Axes:
    splits = [s for s in db.headers[db.resolve(key)].labels["split"] if s != "pool"]
    curves = db.select(key, learner="ADAB", split=splits, tuning="default", metric=metric)
    cell = _near_100(curves[db.resolve(key)])
    parts = {
        f"{sampling}\n{split}": cell.sel(sampling=sampling, split=split).values
        for split in cell["split"].values
        for sampling in cell["sampling"].values
    }
    ax = distributions(parts, learner="ADAB")
    ax.set(xlabel=f"ADAB at n = {int(cell.n)}", ylabel=metric_label(metric))
    caption(ax, context(cell.isel(sampling=0, split=0).drop_vars(["sampling", "split"])))
    return ax


def _along_n(db: Database, key: Key, metric: str) -> Axes:
    curve = db.curve(key, "QDC", metric=metric).dropna("n", how="all")
    places = np.unique(np.geomspace(1, curve.sizes["n"], 8).round().astype(int)) - 1
    ax = distributions(curve.isel(n=places), dim="n", learner="QDC")
    ax.set(xlabel="training set size n of QDC")
    return ax


def _all_learners(db: Database, key: Key, metric: str) -> Axes:
    cell = _near_100(_plain(db, key, metric)[db.resolve(key)])
    ax = distributions(cell)
    ax.set(xlabel=f"learner, at n = {int(cell.n)}")
    return ax


def _default_and_tuned(db: Database, key: Key, metric: str) -> Axes:
    curves = db.select(key, learner="QDC", sampling="additive", split="fixed", metric=metric)
    cell = _near_100(curves[db.resolve(key)])
    if "tuning" not in cell.dims or cell.sizes["tuning"] < 2:
        msg = f"dataset {key} has no tuned QDC; build a plan with tunings = ['default', 'tuned']"
        raise LabelError(msg)
    ax = distributions(cell, dim="tuning", learner="QDC")
    ax.set(xlabel=f"QDC at n = {int(cell.n)}")
    return ax


def _plain(
    db: Database, key: Key | None, metric: str, split: str = "fixed"
) -> dict[Key, xr.DataArray]:
    """Return the additive, untuned curves of all learners on a dataset, or on all.

    Where there is no such split, the curves of `fixed` are shown.
    """
    chosen = None if key in (None, "") else key
    if all(split not in header.labels["split"] for header in db.headers.values()):
        split = "fixed"
    return db.select(chosen, sampling="additive", split=split, tuning="default", metric=metric)


def _share_along_n(db: Database, key: Key, metric: str) -> Axes:
    return non_gaussian_panels(_plain(db, key, metric))[0]


def _shares_of_losses(db: Database, key: Key, metric: str) -> Axes:
    losses = {name: _plain(db, key, name) for name in ("brier", "cross_entropy")}
    return non_gaussian_panels(losses)[0]


def _quantiles_and_mean(db: Database, key: Key, metric: str) -> Axes:
    return quantile_curves(db.curve(key, "QDC", metric=metric), quantiles=(0.025, 0.975))


def _of(frame: pd.DataFrame, db: Database, key: Key, metric: str) -> pd.DataFrame:
    """Return the rows of a metric, and of one dataset if there is one."""
    chosen = frame[frame["metric"] == metric]
    return chosen if key == "" else chosen[chosen["dataset"] == str(db.resolve(key))]


def _map(db: Database, key: Key, metric: str) -> Axes:
    from lcdb.tables import curve_frame

    chosen = _of(curve_frame(db, lattice=False), db, key, metric)
    rates = chosen.groupby(["learner", "dataset"], sort=False)["rate"].mean()
    ax = rejection_map(rates.to_xarray())
    caption(ax, f"non-Gaussian cells (%) · {metric_label(metric)}", _EVERY)
    return ax


_EVERY = "mean over samplings, splits and tunings"


def _by_repetitions(db: Database, key: Key, metric: str) -> Axes:
    parts = [
        analysis.normality_by_repetitions(scores)["non_gaussian"].stack(cell=["n"])  # noqa: PD013
        for scores in _plain(db, key, metric, "varying").values()
    ]
    cells = xr.concat([part.drop_vars(["cell", "n"]) for part in parts], "cell", coords="minimal",
                      compat="override", join="outer")  # fmt: skip
    ax = by_repetitions(cells.mean("cell").transpose("learner", "repetitions"))
    caption(ax, context(_plain(db, key, metric, "varying")))
    return ax


def _views(db: Database, key: Key, metric: str) -> Axes:
    import pandas as pd

    from lcdb.tables import VIEWS, curve_frame, published

    columns = {}
    for view in (None, *VIEWS):
        chosen = _of(curve_frame(db, view, lattice=False), db, key, metric)
        name = (view or "honest").replace("_", " ")
        if not chosen.empty:
            columns[name] = chosen.groupby("learner", sort=False)["rate"].mean()
    printed = published()
    known = printed["table_2"].get(metric) or {
        learner: pairs[metric] for learner, pairs in printed["table_D13"]["learner"].items()
    }
    columns["published"] = pd.Series({learner: pair[0] for learner, pair in known.items()})
    rates = pd.DataFrame(columns)
    ax = decomposition(rates.reindex(columns["honest"].index))
    names = db.headers.values() if key == "" else [db.headers[db.resolve(key)]]
    datasets = ", ".join(header.name for header in names)
    ax.set_xlabel(f"non-Gaussian cells (%) of {metric_label(metric)}: {datasets}\n{_EVERY}")
    return ax


def _ranks(db: Database, key: Key, metric: str) -> Axes:
    curves = _plain(db, key, metric)[db.resolve(key)].dropna("n", how="all")
    worst = 0.05 if curves.attrs["direction"] == "maximize" else 0.95
    ax = rank_map(analysis.rank_change(curves, worst))
    caption(ax, context(curves), ax.get_title(loc="left"))
    return ax


def _inverse_cdfs(db: Database, key: Key, metric: str) -> Axes:
    cell = _near_100(_plain(db, key, metric, "varying")[db.resolve(key)])
    ax = inverse_cdf(cell)
    caption(ax, context(cell), f"n = {int(cell.n)}; bands: 95 % for the whole curve")
    return ax


def _profiles(db: Database, key: Key, metric: str) -> Axes:
    curves = {k: part.dropna("n", how="all") for k, part in _plain(db, key, metric).items()}
    ax = profile(analysis.profile(curves, kind="gap"))
    caption(ax, context(curves))
    return ax


FIGURES: dict[str, Figure] = {
    "1a": Figure("LREG and QDC: band of the moments against quantiles", 46597, _bands),
    "2a": Figure("ADAB by sampling and split", 1063, _by_sampling_and_split),
    "2b": Figure("QDC along n", 1063, _along_n),
    "2c": Figure("all learners at n = 100", 1063, _all_learners),
    "2d": Figure("QDC, default against tuned", 1063, _default_and_tuned),
    "3a": Figure("share of non-Gaussian cells along n", None, _share_along_n),
    "3b": Figure("QDC: quantiles against mean", 11, _quantiles_and_mean),
    "D5": Figure("share of non-Gaussian cells along n, of the losses", None, _shares_of_losses),
    "map": Figure("share of non-Gaussian cells by learner and dataset", None, _map),
    "repetitions": Figure("rejection rate against repetitions", None, _by_repetitions),
    "views": Figure("honest rates, duplicate seeds, test on the pool, published", None, _views),
    "ranks": Figure("places that learners gain or lose by the 5 % quantile", 61, _ranks),
    "icdf": Figure("inverse CDFs of all learners at n = 100, with bands", 1063, _inverse_cdfs),
    "profile": Figure("performance profiles over (dataset, n), by gap", None, _profiles),
}


def draw(db: Database, name: str, *, dataset: Key | None = None, metric: str = "accuracy") -> Axes:
    """Draw a figure of the paper.

    Parameters
    ----------
    db
        An open database.
    name
        One of `FIGURES`: ``"1a"``, ``"2a"`` and so on to ``"D5"`` are the paper's, the others ours.
    dataset
        Another dataset than the paper's.
    metric
        One of the four metrics.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     ax = lcdb.plot.draw(db, "3b", dataset="iris")
    >>> ax.get_ylabel()
    'accuracy'
    """
    if name not in FIGURES:
        msg = f"there is no figure {name!r}.{did_you_mean(name, FIGURES)}"
        raise LabelError(msg)
    figure = FIGURES[name]
    if dataset is not None:
        db.resolve(dataset)
    key = figure.dataset if dataset is None else dataset
    return figure.draw(db, "" if key is None else key, metric)
