"""Figures: each function draws one on the axes that it is given, and returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.plot.curves import Curves, Fan, draw_curve
from lcdb.plot.sizes import size_axis
from lcdb.plot.style import (
    caption,
    colour_of,
    context,
    each,
    label_ends,
    line_style_of,
    metric_label,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "inverse_cdf",
    "profile",
    "quantile_curves",
    "rejection_map",
]


def quantile_curves(
    scores: xr.DataArray | xr.Dataset,
    quantiles: Sequence[float] = (0.05, 0.95),
    width: float | None = 2.0,
    ax: Axes | None = None,
    log: bool = False,
) -> Axes:
    """Draw mean, mean ± width·sd as a band, and quantiles, against n.

    Where quantiles leave the band, the distribution is not the normal one that the band suggests.
    Up to two quantiles are dotted lines; more are a fan of shades, each from a quantile to the one
    that lies as far from the other end, and the band is two dashed lines then. The band is cut off
    where scores cannot lie.

    Parameters
    ----------
    scores
        Dims ``n`` and ``repetition``, and ``learner`` for several at once; or one metric of a
        summary, ``db[61].sel(metric=...)``.
    quantiles
        Probabilities, any number of them.
    width
        Of the band, in standard deviations; None for no band.
    ax
        Where; new axes unless given.
    log
        Whether the axis of sizes is logarithmic.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     ax = lcdb.plot.quantile_curves(db.curve("iris", "LDC"))
    >>> ax.get_xlabel()
    'training set size n'
    """
    curves = Curves.of(scores, quantiles)
    ax = new_axes(ax)
    fan = Fan.of(quantiles)
    ends, cut = [], False
    for name in curves.names:
        n, mean, cut_here = draw_curve(ax, curves, name, fan, width)
        ends.append((name, n[-1], mean[-1]))
        cut |= cut_here
    size_axis(ax, curves.sizes, log=log)
    ax.set_ylabel(metric_label(curves.metric))
    label_ends(ax, ends)
    caption(ax, context(scores), *fan.key(width, cut))
    return ax


def rejection_map(shares: xr.DataArray, ax: Axes | None = None) -> Axes:
    """Draw the share of non-Gaussian cells as a map of learner × dataset, with its numbers.

    Parameters
    ----------
    shares
        Percentages with two dims: rows, then columns.
    ax
        Where; new axes unless given.

    Examples
    --------
    >>> table = xr.DataArray([[5.0, 90.0]], {"learner": ["LDC"], "dataset": [11, 61]},
    ...                      ("learner", "dataset"))
    >>> lcdb_axes = rejection_map(table)
    >>> [text.get_text() for text in lcdb_axes.texts]
    ['5', '90']
    """
    rows, columns = shares.dims
    size = (max(4.2, 1.6 + 0.55 * shares.sizes[columns]), 1.0 + 0.32 * shares.sizes[rows])
    ax = new_axes(ax, figsize=size)
    values = shares.values
    ax.imshow(values, cmap="cividis", vmin=0, vmax=100, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:.0f}"
        bright = "black" if value > 55 else "white"
        colour = "0.4" if np.isnan(value) else bright
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize="small")
    ax.set_xticks(range(shares.sizes[columns]), [str(v) for v in shares[columns].values])
    ax.set_yticks(range(shares.sizes[rows]), [str(v) for v in shares[rows].values])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set(xlabel=str(columns), ylabel=str(rows))
    ax.set_title("non-Gaussian cells (%)", fontsize="small", loc="left")
    return ax


def inverse_cdf(
    samples: Mapping[str, np.ndarray] | xr.DataArray,
    confidence: float | None = 0.95,
    support: tuple[float, float] = (-np.inf, np.inf),
    ax: Axes | None = None,
) -> Axes:
    """Draw inverse CDFs with simultaneous bands: value against probability.

    Parameters
    ----------
    samples
        A mapping from label to sample, or an array with dims ``learner`` and ``repetition``.
    confidence
        Of the Dvoretzky-Kiefer-Wolfowitz bands; None for none.
    support
        Smallest and largest possible value. Near 0 and 1 no outcome bounds a band on both sides:
        it reaches the support there, which is drawn faintly, and of an infinite one not at all.
    ax
        Where; new axes unless given.

    Examples
    --------
    >>> ax = inverse_cdf({"LDC": np.random.default_rng(0).uniform(size=500)}, support=(0, 1))
    >>> ax.get_xlabel()
    'probability'
    """
    if isinstance(samples, xr.DataArray):
        parts = {name: part.values for name, part in each(samples, "learner")}
        label: object = samples.name
    else:
        parts, label = {name: np.asarray(v, float) for name, v in samples.items()}, "value"
    ax = new_axes(ax)
    p = np.linspace(0, 1, 1001)
    ends = []
    for name, raw in parts.items():
        values = raw[np.isfinite(raw)].astype(float)
        curve = stats.inverse_cdf(values, p)
        ax.step(p, curve, where="pre", color=colour_of(name), linewidth=1.4, label=name)
        if confidence is not None:
            _band(ax, p, values, confidence, support, colour_of(name))
        ends.append((name, 1.0, curve[-1]))
    ax.set(xlabel="probability", ylabel=metric_label(label), xlim=(0, 1))
    if ends:  # a band that reaches the end of the support says only that it reaches it
        drawn = np.concatenate([line.get_ydata() for line in ax.lines]).astype(float)
        margin = 0.04 * max(np.ptp(drawn), 1e-6)
        ax.set_ylim(drawn.min() - margin, drawn.max() + margin)
    label_ends(ax, ends)
    if isinstance(samples, xr.DataArray):
        caption(ax, context(samples))
    return ax


def _band(
    ax: Axes,
    p: np.ndarray,
    values: np.ndarray,
    confidence: float,
    support: tuple[float, float],
    colour: str,
) -> None:
    """Fill a band where outcomes bound it, and faintly where the support does."""
    look: dict[str, Any] = {"step": "pre", "color": colour, "linewidth": 0}
    inner = np.isfinite(stats.inverse_cdf_band(values, p, confidence)).all(axis=0)
    low, high = stats.inverse_cdf_band(values, p, confidence, support)
    ax.fill_between(p, low, high, where=inner, alpha=0.15, **look)
    ends = ~inner & np.isfinite(low) & np.isfinite(high)
    if ends.any():
        ax.fill_between(p, low, high, where=ends, alpha=0.03, **look)


def profile(
    profiles: xr.DataArray, ax: Axes | None = None, order: Sequence[str] | None = None
) -> Axes:
    """Draw performance profiles as steps: share of problems against distance from the best.

    Parameters
    ----------
    profiles
        What `lcdb.analysis.profile` returns: dims ``learner`` (or another first dim) and ``tau``.
    ax
        Where; new axes unless given.
    order
        Which methods, in which order; all unless given.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     found = lcdb.analysis.profile(db.select(**labels), kind="gap")
    >>> profile(found).get_ylabel()
    'share of problems'
    """
    ax = new_axes(ax)
    dim = next(str(d) for d in profiles.dims if d != "tau")
    names = [str(v) for v in profiles[dim].values] if order is None else list(order)
    tau = profiles["tau"].values
    ends = []
    for place, name in enumerate(names):
        share = profiles.sel({dim: name}).transpose("tau").values
        look: dict[str, Any] = {
            "color": colour_of(name),
            "linestyle": line_style_of(name, place),
            "linewidth": 1.4,
        }
        ax.step(tau, share, where="post", label=name, **look)
        ends.append((name, tau[-1], share[-1]))
    kind = profiles.attrs.get("distance", "")
    meaning = {"welch": "-ln p of a Welch test", "mann_whitney": "-ln p of a Mann-Whitney test"}
    meaning |= {"gap": "difference of means", "ratio": "ratio to the best - 1"}
    unit = meaning.get(kind, "distance")
    ax.set(xlabel=f"distance from the best τ ({unit})", ylabel="share of problems")
    ax.set(xscale="log", xlim=(tau[0], tau[-1]), ylim=(-0.03, 1.03))
    label_ends(ax, ends)
    return ax
