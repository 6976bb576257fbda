"""What is drawn: rates by learner and dataset, along n, tails, what scaling does, the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import lcdb
from findings.evidence import Evidence
from lcdb.plot import non_gaussian_panels, rejection_map
from lcdb.plot.style import colour_of, new_axes
from words import metric_name

# The same picture is the same file: ids are drawn from the salt, and there is no date in it.
_SETTINGS = {"svg.hashsalt": "lcdb", "svg.fonttype": "none", "figure.max_open_warning": 0}
_METADATA = {"Date": None, "Creator": None}


def rates(found: Evidence) -> Figure:
    """Draw the rates of accuracy and AUC by learner and dataset."""
    figure, axes = plt.subplots(1, 2, layout="constrained", sharey=True,
                                figsize=(2.4 + 1.2 * len(found.headers), 4.2))  # fmt: skip
    for ax, metric in zip(axes, ("accuracy", "auc"), strict=True):
        some = found.frame[found.frame["metric"] == metric]
        mean = some.groupby(["learner", "dataset"], sort=False)["every_rate"].mean().to_xarray()
        mean = mean.sel(learner=found.learners, dataset=list(found.headers))
        names = [found.names[str(id)] for id in mean["dataset"].values]
        rejection_map(mean.assign_coords(dataset=names), ax)
        ax.set_title(
            f"non-Gaussian cells (%) at every n, {metric_name(metric)}",
            fontsize="small",
            loc="left",
        )
        ax.tick_params(axis="x", rotation=45)
        ax.set(xlabel="", ylabel="")
    return figure


def along_n(found: Evidence) -> Figure:
    """Draw the shares of non-Gaussian cells along n: additive training sets, fixed test set."""
    where = {"sampling": "additive", "split": "fixed", "tuning": "default"}
    lines = {}
    for metric in ("accuracy", "auc"):
        lines[metric] = {
            key: cells.sel(where).assign_coords(
                fraction=("n", cells["n"].values / found.db.headers[key].largest_size)
            )
            for key, cells in found.cells(metric).items()
        }
    axes = non_gaussian_panels(lines, bins=10)
    return axes[0].get_figure(root=True)


def tails(found: Evidence) -> Figure:
    """Draw by learner how far the 5 % quantile is off, with its sign and without."""
    figure, axes = plt.subplots(1, 2, layout="constrained", sharey=True, figsize=(7.6, 3.4))
    for ax, metric in zip(axes, ("accuracy", "auc"), strict=True):
        new_axes(ax)
        some = found.frame[found.frame["metric"] == metric]
        means = some.groupby("learner")[["tail", "absolute_tail"]].mean().loc[found.learners[::-1]]
        for place, (learner, row) in enumerate(means.iterrows()):
            colour = colour_of(learner)
            ax.plot([row["tail"], row["absolute_tail"]], [place] * 2, color="0.85", zorder=1)
            ax.plot(row["tail"], place, "o", color=colour, markersize=6)
            ax.plot(row["absolute_tail"], place, "o", color=colour, markersize=6, fillstyle="none")
        ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_yticks(range(len(means)), means.index)
        ax.set_xlabel("5 % quantile - that of the normal (sd)")
        text = f"{metric_name(metric)}; filled: with its sign, hollow: whatever the sign"
        ax.set_title(text, fontsize="small", loc="left")
    return figure


def scaling(found: Evidence) -> Figure:
    """Draw mean accuracy at the largest size, unscaled and standardised."""
    count = max(len(found.pairs), 1)
    columns = min(count, 5)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, layout="constrained", sharey=True, squeeze=False,
                                figsize=(1.0 + 1.9 * columns, 0.6 + 2.4 * rows))  # fmt: skip
    learners = found.learners[::-1]
    for ax in axes.ravel()[count:]:
        ax.set_axis_off()
    for ax, (plain, scaled) in zip(axes.ravel(), found.pairs, strict=False):
        new_axes(ax)
        means = [found.last(key, "accuracy")["mean"].reindex(learners) for key in (plain, scaled)]
        for place, learner in enumerate(learners):
            a, b = (mean[learner] for mean in means)
            ax.plot([a, b], [place] * 2, color="0.75", linewidth=1.2, zorder=1)
            ax.plot(a, place, "o", color=colour_of(learner), fillstyle="none", markersize=5)
            ax.plot(b, place, "o", color=colour_of(learner), markersize=5)
        ax.set_yticks(range(len(learners)), learners)
        low = np.nanmin([mean.min() for mean in means])
        ax.set_xlim(low - 0.04, 1.0)
        ax.set_title(found.db.headers[plain].name, fontsize="small", loc="left")
    figure.supxlabel("mean accuracy; hollow: unscaled, filled: standardised", fontsize="medium")
    return figure


def _of_the_paper(name: str) -> Callable[[Evidence], Figure]:
    """Return what draws a figure of the paper, as `lcdb plot reference --figure NAME` does."""
    return lambda found: lcdb.plot.draw(found.db, name).get_figure(root=True)


#: Figures of docs/findings.md, and those of the paper in docs/figures.md.
FIGURES = {"rates": rates, "along-n": along_n, "tails": tails, "scaling": scaling}
PAPERS = {name: _of_the_paper(name) for name in ("1a", "2a", "2b", "2c", "2d", "3a", "3b", "D5")}


def draw(
    db: lcdb.Database, folder: Path, figures: Mapping[str, Callable[[Evidence], Figure]]
) -> list[Path]:
    """Write figures into a folder, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    found, made = Evidence(db), []
    with mpl.rc_context(_SETTINGS):
        mpl.use("agg")
        for name, figure in figures.items():
            made.append(folder / f"{name}.svg")
            figure(found).savefig(made[-1], metadata=_METADATA)
            plt.close("all")
    return made
