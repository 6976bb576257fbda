"""The figures of Turan, Loog and Tax 2026, drawn from a database, and others of the same cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.errors import LabelError
from lcdb.plot.beyond import by_repetitions, decomposition, rank_map
from lcdb.plot.chosen import Choice, Figure, near_100
from lcdb.plot.distributions import BOXES, distributions
from lcdb.plot.figures import (
    inverse_cdf,
    profile,
    quantile_curves,
    rejection_map,
)
from lcdb.plot.multiples import combinations
from lcdb.plot.shares import non_gaussian_panels
from lcdb.plot.style import caption, context, metric_label
from lcdb.schema import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES"]


def _caption(style: Mapping[str, Any], ax: Axes, *lines: str) -> None:
    """Write what a figure is of, unless the caller gave a title."""
    if style.get("title") is None:
        caption(ax, *lines)


def _bands(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return quantile_curves(choice.cells(), ax=ax, log=bool(choice.log), **style)


def _by_sampling_and_split(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    header = choice.header
    if choice.labels["split"] is None:  # a test on the training pool is none
        choice = choice.named(split=[s for s in header.labels["split"] if s != "pool"])
    cell = near_100(choice.cells())
    both = cell.expand_dims([dim for dim in ("sampling", "split") if dim not in cell.dims])
    scores = both["quantile"] if choice.header.is_summary else both
    parts = {
        f"{sampling}\n{split}": scores.sel(sampling=sampling, split=split)
        for split in both["split"].values
        for sampling in both["sampling"].values
    }
    ax = distributions(parts, learner=choice.learner, ax=ax, **style)
    ax.set(xlabel=f"{choice.learner} at n = {int(cell.n)}", ylabel=metric_label(choice.metric))
    of = context(both.isel(sampling=0, split=0).drop_vars(["sampling", "split"]))
    _caption(style, ax, of, BOXES if choice.header.is_summary else "")
    return ax


def _along_n(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curve = choice.cells()
    sizes = curve["n"]
    asked = np.geomspace(int(sizes[0]), int(sizes[-1]), 8)
    shown = np.unique(sizes.sel(n=asked, method="nearest"))
    ax = distributions(curve.sel(n=shown), dim="n", learner=choice.learner, ax=ax, **style)
    ax.set(xlabel=f"training set size n of {choice.learner}")
    return ax


def _all_learners(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    cell = near_100(choice.cells())
    ax = distributions(cell, ax=ax, **style)
    ax.set(xlabel=f"learner, at n = {int(cell.n)}")
    return ax


def _default_and_tuned(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    cell = near_100(choice.cells())
    if "tuning" not in cell.dims or cell.sizes["tuning"] < 2:
        msg = (
            f"dataset {choice.dataset} has no tuned {choice.learner}; build a plan with "
            "tunings = ['default', 'tuned']"
        )
        raise LabelError(msg)
    ax = distributions(cell, dim="tuning", learner=choice.learner, ax=ax, **style)
    ax.set(xlabel=f"{choice.learner} at n = {int(cell.n)}")
    return ax


def _share_along_n(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return non_gaussian_panels(_lines({"": choice.all_cells()}), **style)[0]


def _shares_of_losses(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    losses = {name: choice.of(name).all_cells() for name in ("brier", "cross_entropy")}
    return non_gaussian_panels(_lines(losses), **style)[0]


def _lines(selections: Mapping[str, Mapping[Any, Any]]) -> dict[str, Any]:
    """Return what has a line of its own in every panel: each combination of labels."""
    lines: dict[str, dict[Any, Any]] = {}
    for name, selection in selections.items():
        for key, array in selection.items():
            for group, part in combinations(array).items():
                line = ", ".join(filter(None, (metric_label(name) if name else "", group)))
                lines.setdefault(line, {})[key] = part
    return lines


def _quantiles_and_mean(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return quantile_curves(choice.cells(), (0.025, 0.975), ax=ax, log=bool(choice.log), **style)


def _map(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    from lcdb.tables import curve_frame

    chosen = choice.some_rows(curve_frame(choice.db, lattice=False))
    rates = chosen.groupby(["learner", "dataset"], sort=False)["rate"].mean()
    ax = rejection_map(rates.to_xarray(), ax, **style)
    _caption(style, ax, f"non-Gaussian cells (%) · {metric_label(choice.metric)}", choice.over())
    return ax


def _by_repetitions(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curves = choice.curves()
    parts = [
        analysis.normality_by_repetitions(scores)["non_gaussian"].stack(cell=["n"])
        for scores in curves.values()
    ]
    cells = xr.concat([part.drop_vars(["cell", "n"]) for part in parts], "cell", coords="minimal",
                      compat="override", join="outer")  # fmt: skip
    ax = by_repetitions(cells.mean("cell").transpose("learner", "repetitions"), ax, **style)
    _caption(style, ax, context(curves))
    return ax


def _views(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    import pandas as pd

    from lcdb.tables import VIEWS, curve_frame, published

    columns = {}
    for view in (None, *VIEWS):
        chosen = choice.rows(curve_frame(choice.db, view, lattice=False))
        name = (view or "honest").replace("_", " ")
        if not chosen.empty:
            columns[name] = chosen.groupby("learner", sort=False)["rate"].mean()
    printed = published()
    known = printed["table_2"].get(choice.metric) or {
        learner: pairs[choice.metric] for learner, pairs in printed["table_D13"]["learner"].items()
    }
    columns["published"] = pd.Series({learner: pair[0] for learner, pair in known.items()})
    rates = pd.DataFrame(columns)
    ax = decomposition(rates.reindex(columns["honest"].index), ax, **style)
    db, key = choice.db, choice.dataset
    names = db.headers.values() if key is None else [choice.header]
    datasets = ", ".join(header.name for header in names)
    what = metric_label(choice.metric)
    ax.set_xlabel(f"non-Gaussian cells (%) of {what}: {datasets}\n{choice.over()}")
    return ax


def _ranks(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curves: Any = choice.cells()
    worst = 0.05 if METRICS[choice.metric].direction == "maximize" else 0.95
    ax = rank_map(analysis.rank_change(curves, worst), ax, **style)
    _caption(style, ax, context(curves), ax.get_title(loc="left"))
    return ax


def _inverse_cdfs(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    cell = near_100(choice.one())
    ax = inverse_cdf(cell, ax=ax, **style)
    _caption(style, ax, context(cell), f"n = {int(cell.n)}; bands: 95 % for the whole curve")
    return ax


def _profiles(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curves = {k: part.dropna("n", how="all") for k, part in choice.curves().items()}
    ax = profile(analysis.profile(curves, kind="gap"), ax, **style)
    _caption(style, ax, context(curves))
    return ax


_EVERY = {"sampling": None, "split": None, "tuning": None}
_LEARNERS = ("learner",)
#: What the figures of the paper are of.
_PAPERS = {"sampling": "additive", "split": "fixed"}
FIGURES: dict[str, Figure] = {
    "1a": Figure(
        "LREG and QDC: band of the moments against quantiles", 46597, _bands,
        {"learner": ["LREG", "QDC"], **_PAPERS}, _LEARNERS, sizes=True,
    ),
    "2a": Figure(
        "ADAB by sampling and split", 1063, _by_sampling_and_split,
        {"learner": "ADAB", "sampling": None, "split": None}, ("sampling", "split"),
    ),
    "2b": Figure("QDC along n", 1063, _along_n, {"learner": "QDC", **_PAPERS}, ()),
    "2c": Figure("all learners at n = 100", 1063, _all_learners, _PAPERS, _LEARNERS),
    "2d": Figure(
        "QDC, default against tuned", 1063, _default_and_tuned,
        {"learner": "QDC", "tuning": ["default", "tuned"], **_PAPERS}, ("tuning",),
    ),
    "3a": Figure("share of non-Gaussian cells along n", None, _share_along_n, _PAPERS, panels=True),
    "3b": Figure(
        "QDC: quantiles against mean", 11, _quantiles_and_mean,
        {"learner": "QDC", **_PAPERS}, _LEARNERS,
        sizes=True,
    ),
    "D5": Figure(
        "share of non-Gaussian cells along n, of the losses", None, _shares_of_losses, _PAPERS,
        panels=True,
    ),
    "map": Figure("share of non-Gaussian cells by learner and dataset", None, _map, _EVERY),
    "repetitions": Figure(
        "rejection rate against repetitions", None, _by_repetitions, {}, _LEARNERS,
    ),
    "views": Figure(
        "honest rates, duplicate seeds, test on the pool, published", None, _views, _EVERY
    ),
    "ranks": Figure(
        "places that learners gain or lose by the 5 % quantile", 61, _ranks, {}, _LEARNERS
    ),
    "icdf": Figure(
        "inverse CDFs of all learners at n = 100, with bands", 1063, _inverse_cdfs, {}, _LEARNERS,
    ),
    "profile": Figure(
        "performance profiles over (dataset, n), by gap", None, _profiles, {}, _LEARNERS
    ),
}  # fmt: skip
