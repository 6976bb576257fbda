"""How training sets are drawn: a drawing of the samplings, as figure A.4 of the paper has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lcdb.plot.style import need_matplotlib
from lcdb.schema import SAMPLING_ROWS

if TYPE_CHECKING:
    pass

__all__ = ["samplings"]

#: Those of the paper's figure: `stratified` needs classes, which this drawing has none of.
_DRAWN = tuple(row for row in SAMPLING_ROWS.values() if row.is_default)
_SHADES = ("#FFFFFF", "#88BBDD", "#4477AA", "#223366")


def samplings(rows: int = 12, seed: int = 1) -> np.ndarray:
    """Draw which rows the training sets of one repetition hold, for the default samplings.

    A square is a row of the pool in the training set of size n; its shade says how often it was
    drawn, which only `bootstrap` does more than once.

    Parameters
    ----------
    rows
        Of the pool; n runs from 1 to as many.
    seed
        Of the drawing. The database's own draws come from its master seed.

    Returns
    -------
    numpy.ndarray
        Of matplotlib axes, one for each sampling.

    Examples
    --------
    >>> [ax.get_title() for ax in samplings(rows=8)]
    ['additive', 'random', 'bootstrap']
    """
    need_matplotlib()
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    figure, axes = plt.subplots(1, len(_DRAWN), sharey=True, layout="constrained",
                                figsize=(7.2, 2.9))  # fmt: skip
    for ax, sampling in zip(axes, _DRAWN, strict=True):
        drawn = _drawn(sampling.name, rows, np.random.default_rng(seed))
        # Four times and more are as dark as three: it hardly happens, and says no more.
        mesh = ax.pcolormesh(
            np.arange(rows + 1) + 0.5, np.arange(rows + 1) + 0.5, np.minimum(drawn, 3),
            cmap=ListedColormap(_SHADES), vmin=-0.5, vmax=3.5, edgecolor="#DDDDDD", linewidth=0.5,
        )  # fmt: skip
        ax.set(
            title=sampling.name, xlabel=f"training set size n\n{sampling.caption}", aspect="equal"
        )
        ax.set_xticks([1, *range(rows // 4, rows + 1, max(rows // 4, 1))])
        ax.set_yticks([1, rows])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    axes[0].set_ylabel("row of the pool")
    bar = figure.colorbar(mesh, ax=axes, ticks=range(4), shrink=0.6, pad=0.02)
    bar.ax.set_yticklabels(["not drawn", "once", "twice", "more often"], fontsize="small")
    bar.outline.set_edgecolor("#DDDDDD")
    bar.ax.tick_params(length=0)
    return axes


def _drawn(sampling: str, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return how often a row (first axis) is drawn into each training set (second axis)."""
    order = rng.permutation(rows)
    drawn = np.zeros((rows, rows), int)
    for n in range(1, rows + 1):
        if sampling == "additive":
            chosen = order[:n]
        else:
            chosen = rng.choice(rows, n, replace=sampling == "bootstrap")
        np.add.at(drawn[:, n - 1], chosen, 1)
    return drawn
