"""Figures of agents' lifetimes: how they learn, and how their returns are distributed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.errors import LabelError
from lcdb.plot.figures import inverse_cdf
from lcdb.plot.style import Style, new_axes
from lcdb.summaries.lifetimes import window_means

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["lifetime_curves", "lifetime_returns"]


def lifetime_curves(
    returns: xr.DataArray | xr.Dataset,
    window: int = 1,
    band: bool = True,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the mean return against the episode, with ± sd over trials as a band.

    Parameters
    ----------
    returns
        ``episode_return`` of a cube: dims ``trial`` and ``episode``, and ``algorithm`` for several;
        or the summary of a cube, which has means of windows of episodes.
    window
        Episodes that are averaged, so that lines can be told apart; a summary has its own.
    band
        Whether to draw the bands.
    ax
        Where; new axes unless given.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> returns = xr.DataArray(rng.normal(size=(2, 9, 30)), {"algorithm": ["actor_critic", "ppo"]},
    ...                        ("algorithm", "trial", "episode"))
    >>> lifetime_curves(returns, window=3).get_ylabel()
    'return of an episode'
    """
    from lcdb.plot.labels import label_ends

    given = Style.of(style)
    if isinstance(returns, xr.Dataset):
        bands = list(_bands_of_summary(returns))
    else:
        bands = list(_bands(returns, window))
    ax = new_axes(ax, given)
    ends = []
    looks = given.looks([name for name, *_ in bands], ax, dashed=True)
    for name, episode, mean, spread in bands:
        look = looks[name]
        look.plot(ax, episode, mean, linewidth=1.4)
        if band:
            low, high = mean - spread, mean + spread
            ax.fill_between(episode, low, high, color=look.color, alpha=0.15, linewidth=0)
        ends.append((look.label, episode[-1], mean[-1]))
    ax.set(xlabel="episode", ylabel="return of an episode")
    label_ends(ax, ends)
    given.caption(ax, "")
    return ax


def lifetime_returns(
    means: Mapping[str, np.ndarray],
    confidence: float | None = 0.95,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw inverse CDFs of the mean return of a lifetime, one per algorithm.

    Parameters
    ----------
    means
        By name, such as `lcdb.tables.lifetime_means` returns them.
    confidence
        Of the bands; None for none.
    ax
        Where; new axes unless given.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> lifetime_returns({"PPO": rng.normal(size=50)}).get_ylabel()
    'mean return of a lifetime'
    """
    ax = inverse_cdf(means, confidence, ax=ax, **style)
    ax.set(ylabel="mean return of a lifetime")
    return ax


#: Name, last episode of every window, mean and standard deviation over trials.
_Band = tuple[str, np.ndarray, np.ndarray, np.ndarray]


def _bands(returns: xr.DataArray, window: int) -> Iterator[_Band]:
    missing = {"trial", "episode"} - {str(dim) for dim in returns.dims}
    if missing:
        msg = f"the array lacks the dims {', '.join(sorted(missing))}; expected episode_return"
        msg += " (lcdb.plot.learning_curves draws learning curves)"
        raise LabelError(msg)
    for name, part in _by_algorithm(returns):
        rows = part.dropna("trial", how="all").transpose("trial", "episode").values.astype(float)
        smooth = window_means(rows, window)
        if smooth.size:
            episode = (np.arange(smooth.shape[1]) + 1) * window
            yield name, episode, smooth.mean(axis=0), smooth.std(axis=0)


def _bands_of_summary(summary: xr.Dataset) -> Iterator[_Band]:
    if "window_mean" not in summary:
        msg = "the dataset has no window_mean; expected episode_return, or a summary of lifetimes"
        raise LabelError(msg)
    for name in summary["algorithm"].values:
        one = summary.sel(algorithm=name)
        mean, spread = one["window_mean"].values, one["window_sd"].values
        if np.isfinite(mean).any():
            yield str(name), summary["window"].values, mean, spread


def _by_algorithm(returns: xr.DataArray) -> list[tuple[str, xr.DataArray]]:
    if "algorithm" not in returns.dims:
        return [(str(returns.coords["algorithm"].item()) if "algorithm" in returns.coords
                 else "return", returns)]  # fmt: skip
    return [(str(name), returns.sel(algorithm=name)) for name in returns["algorithm"].values]
