"""The figures of Jordan, Cohen and Thomas, drawn from the experiments of a database."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb.errors import LabelError, NotBuiltError, did_you_mean
from lcdb.plot.figures import inverse_cdf
from lcdb.plot.lifetimes import lifetime_curves, lifetime_returns
from lcdb.plot.style import caption, colours, need_matplotlib
from lcdb.summaries.lifetimes import window_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lcdb.database import Database

__all__ = ["EXPERIMENT_FIGURES", "draw_experiment"]


@dataclass(frozen=True)
class _Figure:
    """A figure: what it shows, of which experiment, and how it is drawn."""

    title: str
    experiment: str
    draw: Callable[[xr.Dataset], list[Axes]]


def _there(row: xr.DataArray) -> np.ndarray:
    values = row.values.astype(float)
    return values[np.isfinite(values)]


def _grid(rows: int, columns: int, *, share: bool = False) -> np.ndarray:
    """Return the axes of a grid; those of a column have one scale if `share`."""
    need_matplotlib()
    import matplotlib.pyplot as plt

    size = (0.8 + 3.4 * columns, 0.4 + 2.7 * rows)
    _, axes = plt.subplots(
        rows, columns, figsize=size, layout="constrained", squeeze=False,
        sharey="col" if share else False,
    )  # fmt: skip
    return axes


def _accuracies(cube: xr.Dataset) -> list[Axes]:
    """Draw a row per mode and a column per task: inverse CDFs of the learners' accuracies.

    The modes of a task have one scale, since they are what is compared.
    """
    modes, tasks = cube["mode"].values, cube["task"].values
    axes = _grid(len(modes), len(tasks), share=True)
    for j, task in enumerate(tasks):
        for i, mode in enumerate(modes):
            ax = axes[i, j]
            samples = _samples(cube["accuracy"].sel(mode=mode, task=task))
            if not samples:
                ax.set_axis_off()
                continue
            inverse_cdf(samples, ax=ax)
            caption(ax, f"{task}, {mode}")
            ax.set_ylabel("accuracy" if j == 0 else "")
    axes[0, 0].figure.supxlabel(_BANDS, fontsize="small")
    return list(axes.ravel())


_BANDS = "shaded: bands that hold the whole curve with 95 % confidence, where trials bound them"


def _samples(part: xr.DataArray) -> dict[str, np.ndarray]:
    """Return the trials of every learner that has some."""
    found = {str(name): _there(part.sel(learner=name)) for name in part["learner"].values}
    return {name: sample for name, sample in found.items() if sample.size}


def _returns(cube: xr.Dataset) -> list[Axes]:
    """Draw inverse CDFs of the mean return of a lifetime."""
    names = [str(n) for n in cube["algorithm"].values if not str(n).startswith(_RERUNS)]
    samples = {name: _there(cube["mean_return"].sel(algorithm=name)) for name in names}
    ax = _grid(1, 1)[0, 0]
    return [lifetime_returns({name: s for name, s in samples.items() if s.size}, ax=ax)]


_RERUNS = "ppo_p"


def _reruns(cube: xr.Dataset) -> list[Axes]:
    """Draw, for trials that were run again and again, returns along episodes and inverse CDFs."""
    names = [str(n) for n in cube["algorithm"].values if str(n).startswith(_RERUNS)]
    samples = {name: _there(cube["mean_return"].sel(algorithm=name)) for name in names}
    samples = {name: sample for name, sample in samples.items() if sample.size}
    if not samples:
        msg = "no trial of PPO was run again; 'lcdb build pendulum --appendix-c' does it"
        raise NotBuiltError(msg)
    left, middle, right = _grid(1, 3)[0]
    _selected(cube, list(samples), left)
    chosen = cube.sel(algorithm=list(samples))
    if "episode_return" in cube:
        chosen_returns = chosen["episode_return"]
        lifetime_curves(chosen_returns, window_of(chosen_returns.sizes["episode"]), ax=middle)
    else:
        lifetime_curves(chosen, ax=middle)
    caption(middle, "run again: mean ± sd of an episode")
    lifetime_returns(samples, ax=right)
    caption(right, "run again: mean return of a lifetime")
    left.sharey(right)  # of the same quantity
    return [left, middle, right]


def _selected(cube: xr.Dataset, names: list[str], ax: Axes) -> None:
    """Draw the returns of all trials of PPO, and which of them were run again."""
    known = "ppo" in cube["algorithm"].values
    whole = _there(cube["mean_return"].sel(algorithm="ppo")) if known else np.empty(0)
    if whole.size:
        lifetime_returns({"ppo": whole}, ax=ax)
    else:
        ax.set(xlabel="probability", ylabel="mean return of a lifetime", xlim=(0, 1))
    shown = colours(["ppo", *names])
    for name in names:
        asked = json.loads(str(cube["params"].sel(algorithm=name).item()))
        if "trial" not in asked:
            continue
        first = cube["mean_return"].sel(algorithm=asked["algorithm"]).sel(trial=asked["trial"])
        share = int(name.removeprefix(_RERUNS)) / 100.0
        ax.plot([share], [float(first)], marker="o", markersize=5, color=shown[name])
    caption(ax, "all trials; dots: those that are run again")


EXPERIMENT_FIGURES: dict[str, _Figure] = {
    "1": _Figure("accuracy by task and mode: inverse CDFs of the learners", "dse", _accuracies),
    "2": _Figure("return on the pendulum: inverse CDFs of the algorithms", "pendulum", _returns),
    "3": _Figure("trials of PPO run again with new seeds", "pendulum", _reruns),
}


def draw_experiment(db: Database, name: str) -> list[Axes]:
    """Draw a figure of the paper on new axes.

    Parameters
    ----------
    db
        An open database that holds the figure's experiment.
    name
        One of `EXPERIMENT_FIGURES`.

    Raises
    ------
    LabelError
        There is no such figure.
    NotBuiltError
        The database does not hold its experiment.
    """
    if name not in EXPERIMENT_FIGURES:
        msg = f"there is no figure {name!r} in jordan2018.{did_you_mean(name, EXPERIMENT_FIGURES)}"
        raise LabelError(msg)
    figure = EXPERIMENT_FIGURES[name]
    if figure.experiment not in db.experiments:
        made = f"'lcdb build {figure.experiment} --out {db.path}' makes it"
        msg = f"{db.path} does not hold the experiment {figure.experiment!r}; {made}"
        raise NotBuiltError(msg)
    return figure.draw(db[figure.experiment])
