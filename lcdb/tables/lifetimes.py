"""The pendulum's numbers in Jordan, Cohen and Thomas 2018: Table 2, and the reruns of Appendix C.

The paper does not say how many episodes its lifetimes have. Ours are cut at several lengths: a
shorter lifetime is the beginning of a longer one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.errors import LabelError
from lcdb.schema import EXPERIMENTS
from lcdb.summaries.lifetimes import LENGTHS
from lcdb.tables.rows import Row, Table

__all__ = ["LENGTHS", "length_of", "lifetime_means", "table_2", "table_of_reruns"]

_NAMES = {"actor_critic": "Actor-Critic", "ppo": "PPO"}
_STATISTICS = {
    "mean": lambda z: z.mean(axis=-1),
    "cvar_0.5": lambda z: stats.cvar_upper(z, 0.5),
}
_RESAMPLES = 400
# Labels of parts that run a trial of PPO again: the percentile follows.
_RERUN = "ppo_p"


def lifetime_means(cube: xr.Dataset, algorithm: str, episodes: int) -> np.ndarray:
    """Return the mean return over the first episodes of every lifetime that was computed.

    Parameters
    ----------
    cube
        The cube of the pendulum, or its summary.
    algorithm
        A label of its dim ``algorithm``.
    episodes
        How many; none is returned where lifetimes are shorter. A summary has some numbers only,
        those of its dim ``length``.

    Examples
    --------
    >>> returns = xr.DataArray([[[1.0, 3.0], [5.0, 5.0], [np.nan, np.nan]]],
    ...                        {"algorithm": ["ppo"]}, ("algorithm", "trial", "episode"))
    >>> lifetime_means(returns.to_dataset(name="episode_return"), "ppo", 2).tolist()
    [2.0, 5.0]
    """
    if algorithm not in cube["algorithm"].values or length_of(cube) < episodes:
        return np.empty(0)
    if "mean_of_first" in cube:
        means = _of_summary(cube, algorithm, episodes)
    else:
        returns = cube["episode_return"].sel(algorithm=algorithm).isel(episode=slice(episodes))
        means = returns.transpose("trial", "episode").values.mean(axis=1, dtype=np.float64)
    return means[np.isfinite(means)]


def length_of(cube: xr.Dataset) -> int:
    """Return how many episodes the lifetimes of a cube, or of its summary, have."""
    return cube.sizes["episode"] if "episode" in cube.sizes else int(cube.attrs["episodes"])


def _of_summary(cube: xr.Dataset, algorithm: str, episodes: int) -> np.ndarray:
    known = cube["length"].values.tolist()
    if episodes not in known:
        msg = (
            f"the summary has no means of the first {episodes} episodes; expected one of "
            f"{', '.join(map(str, known))}, or the cube itself"
        )
        raise LabelError(msg)
    return cube["mean_of_first"].sel(algorithm=algorithm, length=episodes).values.astype(float)


def table_2(cube: xr.Dataset | None, printed: Mapping[str, Any]) -> Table:
    """Return Table 2: mean and CVaR_0.5 of the mean return, published beside ours.

    Parameters
    ----------
    cube
        The cube of the pendulum, or its summary; None if the database has none.
    printed
        ``table_2`` of the published numbers.
    """
    rows = []
    for algorithm, name in _NAMES.items():
        for episodes in LENGTHS:
            means = np.empty(0) if cube is None else lifetime_means(cube, algorithm, episodes)
            for statistic, function in _STATISTICS.items():
                row = f"{name}, {episodes} episodes"
                rows.append(_row(row, statistic, printed[algorithm][statistic], means, function))
    return Table(
        name="table_2",
        title="Table 2: mean return of a lifetime on the pendulum",
        rows=tuple(rows),
        digits=1,
        note="The paper prints one number per algorithm and leaves the length of a lifetime open.",
        about="The paper leaves the length of a lifetime open",
    )


def _row(name: str, statistic: str, published: float | None, z: np.ndarray, function: Any) -> Row:
    if len(z) < 2:
        return Row(name, statistic, published, None)
    rng = np.random.default_rng(0)  # the same table from the same database
    error, _, _ = stats.bootstrap(z, function, rng, _RESAMPLES)
    beside: dict[str, float | None] = {"standard error": float(error)}
    return Row(name, statistic, published, float(function(z)), len(z), beside=beside)


def table_of_reruns(cube: xr.Dataset | None) -> Table:
    """Return Appendix C: trials at some percentiles, and what their hyper-parameters give again.

    A trial was selected for its return; its reruns were not, so their mean is nearer the middle.
    """
    rows = []
    asked_for = _reruns(cube)
    for label in EXPERIMENTS["pendulum"].labels["algorithm"]:
        if not label.startswith(_RERUN):
            continue
        name = f"PPO, percentile {int(label.removeprefix(_RERUN))}"
        if cube is None or label not in asked_for:
            rows.append(Row(name, "reruns", None, None))
            continue
        asked = asked_for[label]
        first = cube["mean_return"].sel(algorithm=asked["algorithm"], trial=asked["trial"])
        rows.append(Row(name, "selected trial", None, float(first), 1))
        rows.append(_rerun_row(name, lifetime_means(cube, label, length_of(cube))))
    return Table(
        name="appendix_c",
        title="Appendix C: selected trials of PPO, and their hyper-parameters run again",
        rows=tuple(rows),
        digits=1,
        note="Figures without numbers in the paper; mean (SD) of the mean return of a lifetime.",
        about="Mean return of a lifetime; the paper has figures without numbers",
    )


def _rerun_row(name: str, means: np.ndarray) -> Row:
    if len(means) < 2:
        return Row(name, "reruns", None, None)
    low, high = np.quantile(means, [0.05, 0.95])
    sd = float(means.std(ddof=1))
    beside: dict[str, float | None] = {
        "standard error": sd / np.sqrt(len(means)),
        "5 % quantile": float(low),
        "95 % quantile": float(high),
    }
    ours = float(means.mean())
    return Row(name, "reruns", None, ours, len(means), beside=beside, ours_sd=sd)


def _reruns(cube: xr.Dataset | None) -> dict[str, dict[str, Any]]:
    """Return the parameters of the parts that run a trial again, by label."""
    if cube is None:
        return {}
    texts = zip(cube["algorithm"].values, cube["params"].values, strict=True)
    found = {str(label): json.loads(str(text) or "{}") for label, text in texts}
    return {label: asked for label, asked in found.items() if "trial" in asked}
