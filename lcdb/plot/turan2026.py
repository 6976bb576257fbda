"""The figures of Turan, Loog and Tax 2026, drawn from a database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lcdb.errors import LabelError, did_you_mean
from lcdb.plot.figures import (
    distributions,
    non_gaussian_share,
    quantile_curves,
    rejection_map,
)

if TYPE_CHECKING:
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


def _by_sampling_and_split(db: Database, key: Key, metric: str) -> Axes:
    splits = [s for s in db.headers[db.resolve(key)].labels["split"] if s != "pool"]
    curves = db.select(key, learner="ADAB", split=splits, tuning="default", metric=metric)
    cell = curves[db.resolve(key)].isel(n=-1)
    parts = {
        f"{sampling}\n{split}": cell.sel(sampling=sampling, split=split).values
        for split in cell["split"].values
        for sampling in cell["sampling"].values
    }
    ax = distributions(parts)
    ax.set(xlabel="", ylabel=metric)
    return ax


def _along_n(db: Database, key: Key, metric: str) -> Axes:
    curve = db.curve(key, "QDC", metric=metric).dropna("n", how="all")
    places = np.unique(np.geomspace(1, curve.sizes["n"], 8).round().astype(int)) - 1
    ax = distributions(curve.isel(n=places), dim="n")
    ax.set(xlabel="training set size n")
    return ax


def _all_learners(db: Database, key: Key, metric: str) -> Axes:
    curves = db.select(key, sampling="additive", split="fixed", tuning="default", metric=metric)
    return distributions(curves[db.resolve(key)].sel(n=100, method="nearest"))


def _default_and_tuned(db: Database, key: Key, metric: str) -> Axes:
    curves = db.select(key, learner="QDC", sampling="additive", split="fixed", metric=metric)
    cell = curves[db.resolve(key)].sel(n=100, method="nearest")
    if "tuning" not in cell.dims or cell.sizes["tuning"] < 2:
        msg = f"dataset {key} has no tuned QDC; build a plan with tunings = ['default', 'tuned']"
        raise LabelError(msg)
    return distributions(cell, dim="tuning")


def _share_along_n(db: Database, key: Key, metric: str) -> Axes:
    return non_gaussian_share(
        db.select(sampling="additive", split="fixed", tuning="default", metric=metric)
    )


def _quantiles_and_mean(db: Database, key: Key, metric: str) -> Axes:
    return quantile_curves(db.curve(key, "QDC", metric=metric), quantiles=(0.025, 0.975))


def _map(db: Database, key: Key, metric: str) -> Axes:
    from lcdb.tables import curve_frame

    frame = curve_frame(db)
    chosen = frame[frame["metric"] == metric]
    rates = chosen.groupby(["learner", "dataset"], sort=False)["rate"].mean()
    return rejection_map(rates.to_xarray())


FIGURES: dict[str, Figure] = {
    "1a": Figure("LREG and QDC: band of the moments against quantiles", 46597, _bands),
    "2a": Figure("ADAB by sampling and split", 1063, _by_sampling_and_split),
    "2b": Figure("QDC along n", 1063, _along_n),
    "2c": Figure("all learners at n = 100", 1063, _all_learners),
    "2d": Figure("QDC, default against tuned", 1063, _default_and_tuned),
    "3a": Figure("share of non-Gaussian cells along n", None, _share_along_n),
    "3b": Figure("QDC: quantiles against mean", 11, _quantiles_and_mean),
    "map": Figure("share of non-Gaussian cells by learner and dataset", None, _map),
}


def draw(db: Database, name: str, *, dataset: Key | None = None, metric: str = "accuracy") -> Axes:
    """Draw a figure of the paper.

    Parameters
    ----------
    db
        An open database.
    name
        One of `FIGURES`: ``"1a"``, ``"2a"`` and so on; ``"3a"`` with the losses is the paper's D.5,
        and ``"map"`` is our own.
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
    key = figure.dataset if dataset is None else dataset
    return figure.draw(db, "" if key is None else key, metric)
