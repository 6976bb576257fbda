"""The figures of Jordan, Cohen and Thomas, drawn from the experiments of a database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb.errors import LabelError, NotBuiltError, did_you_mean
from lcdb.plot.figures import inverse_cdf
from lcdb.plot.lifetimes import learning_curves, lifetime_returns
from lcdb.plot.style import need_matplotlib

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


def _grid(rows: int, columns: int) -> np.ndarray:
    need_matplotlib()
    import matplotlib.pyplot as plt

    size = (0.8 + 3.4 * columns, 0.4 + 2.7 * rows)
    _, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return axes


def _accuracies(cube: xr.Dataset) -> list[Axes]:
    """Draw a row per mode and a column per task: inverse CDFs of the learners' accuracies."""
    modes, tasks = cube["mode"].values, cube["task"].values
    axes = _grid(len(modes), len(tasks))
    for i, mode in enumerate(modes):
        for j, task in enumerate(tasks):
            part = cube["accuracy"].sel(mode=mode, task=task)
            samples = {str(name): _there(part.sel(learner=name)) for name in cube["learner"].values}
            samples = {name: sample for name, sample in samples.items() if sample.size}
            if not samples:
                axes[i, j].set_axis_off()
                continue
            inverse_cdf(samples, support=(0.0, 1.0), ax=axes[i, j])
            axes[i, j].set_title(f"{task}, {mode}", fontsize="small", loc="left")
            axes[i, j].set_ylabel("accuracy" if j == 0 else "")
    return list(axes.ravel())


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
    left, right = _grid(1, 2)[0]
    returns = cube["episode_return"].sel(algorithm=list(samples))
    window = max(1, returns.sizes["episode"] // 100)
    return [learning_curves(returns, window, ax=left), lifetime_returns(samples, ax=right)]


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
