"""What tuned curves chose, against n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.analysis.apply import need_dims
from lcdb.analysis.choices import choice_shares
from lcdb.plot.style import Style, metric_label, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["choices"]

MOST_LABELS = 8


def choices(chosen: xr.Dataset, *, ties: bool = True, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the distribution of the chosen parameter value over repetitions, against n.

    Darker is chosen more often; the line is the median choice.

    Parameters
    ----------
    chosen
        What `lcdb.analysis.chosen_values` returns, of one sampling and split.
    ties
        As `lcdb.analysis.choice_shares` takes it.
    ax
        Where; new axes unless given.
    **style
        ``title``, ``figsize``, and ``color`` and keywords of matplotlib's lines for the median, as
        `learning_curves` takes them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> chosen = xr.Dataset(
    ...     {"choice": (("n", "repetition"), rng.integers(0, 3, (4, 50)).astype(np.int8))},
    ...     {"n": [10, 20, 40, 80], "grid": [1, 6, 11]},
    ...     {"parameter": "neighbors", "metric": "auc", "learner": "NNC"},
    ... )
    >>> choices(chosen).get_ylabel()
    'neighbors'
    """
    given = Style.of(style)
    need_dims(chosen["choice"], "n")
    shares = choice_shares(chosen, ties=ties).transpose("n", "grid")
    there = shares.notnull().any("grid").values
    ax = new_axes(ax, given)
    n, values = shares["n"].values[there], shares.values[there]
    places = np.arange(shares.sizes["grid"])
    if len(n):
        image = ax.pcolormesh(n, places, values.T, cmap="Greys", vmin=0, shading="nearest")
        below = (values.cumsum(axis=1) < 0.5 - 1e-9).sum(axis=1)
        (look,) = given.looks(["median"]).values()
        look.plot(ax, n, np.minimum(below, places[-1]), linewidth=1.4)
        ax.get_figure(root=True).colorbar(  # type: ignore[union-attr]
            image, ax=ax, label="share of repetitions"
        )
    step = max(1, -(-len(places) // MOST_LABELS))
    named = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in
             shares["grid"].values.tolist()]  # fmt: skip
    ax.set_yticks(places[::step], named[::step])
    ax.set(xlabel="training set size n", ylabel=chosen.attrs["parameter"])
    by = metric_label(chosen.attrs["metric"])
    given.caption(ax, f"{chosen.attrs.get('learner', '')}: chosen by {by}; line: median")
    return ax
