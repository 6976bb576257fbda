"""Figures: each function draws one on the axes that it is given, and returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.errors import ArgumentError
from lcdb.plot.curves import Curves, Fan, Mean, draw_curve, lifetimes_error, named_curves
from lcdb.plot.sizes import size_axis
from lcdb.plot.style import (
    Style,
    context,
    each,
    metric_label,
    metric_of,
    new_axes,
    span,
    unscaled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "inverse_cdf",
    "learning_curves",
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
    **style: Any,
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
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     ax = lcdb.plot.quantile_curves(db.curve("iris", "LDC"))
    >>> ax.get_xlabel()
    'training set size n'
    """
    from lcdb.plot.labels import label_ends

    given = Style.of(style)
    curves = Curves.of(scores, quantiles)
    ax = new_axes(ax, given)
    fan = Fan.of(quantiles)
    ends, cut = [], False
    for look in given.looks(curves.names, ax).values():
        n, mean, cut_here = draw_curve(ax, curves, look, fan, width)
        ends.append((look.label, n[-1], mean[-1]))
        cut |= cut_here
    size_axis(ax, curves.sizes, log=log)
    ax.set_ylabel(metric_label(curves.metric))
    label_ends(ax, ends)
    given.caption(ax, context(scores), *fan.key(width, cut))
    return ax


def learning_curves(
    curves: xr.DataArray | xr.Dataset | Mapping[Any, Any] | Sequence[Any],
    metric: str | None = None,
    *,
    band: float | None = None,
    ax: Axes | None = None,
    log: bool | None = None,
    **style: Any,
) -> Axes:
    """Draw mean scores against the training set size, one line for each curve.

    Parameters
    ----------
    curves
        What `lcdb.learning_curve`, ``db.curve`` or ``db.select`` returns, a summary, or means of
        such over repetitions; a mapping from name to such, or a list of them.
    metric
        Which one, of curves that have several: accuracy unless given.
    band
        Share of repetitions in the band around each mean: of 0.9 it goes from the 5 % to the 95 %
        quantile. 0 for none. Unless given, 0.9 around a single curve and none around several.
    ax
        Where; new axes unless given. Lines that are there already keep their colours.
    log
        Whether the axis of sizes is logarithmic; where sizes span more than a decade unless given.
    **style
        What matplotlib's lines take, such as ``linewidth`` or ``marker``, and

        - ``color`` for all lines, or ``colors``, a mapping from name to colour;
        - ``label``, a text for each line or a mapping from name to text;
        - ``title``, in the place of what is written above the axes; ``""`` for none;
        - ``figsize`` of a new figure, in inches.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = db.select("iris", sampling="random", split="varying")[61]
    ...     ax = learning_curves(curves, colors={"LDC": "black"}, linewidth=1)
    >>> [line.get_label() for line in ax.lines], ax.lines[1].get_color()
    (['NMC', 'LDC', 'QDC', 'NNC'], '#000000')
    """
    from lcdb.plot.labels import label_ends

    given = Style.of({key: value for key, value in style.items() if key != "window"})
    lines = named_curves(curves, metric)
    if "window" in style:
        raise lifetimes_error()
    share = (0.9 if len(lines) == 1 else 0.0) if band is None else band
    if not 0.0 <= share < 1.0:
        msg = f"band is {band!r}; expected a share of repetitions in [0, 1), such as 0.9"
        raise ArgumentError(msg)
    means = {name: Mean.of(part, share) for name, part in lines.items()}
    ax = new_axes(ax, given)
    ends = []
    for look in given.looks(list(means), ax).values():
        one = means[look.name]
        look.plot(ax, one.n, one.mean, linewidth=1.6)
        if one.low is not None and one.high is not None:
            ax.fill_between(one.n, one.low, one.high, color=look.color, alpha=0.16, linewidth=0)
        ends.append((look.label, one.n[-1], one.mean[-1]))
    size_axis(ax, np.concatenate([one.n for one in means.values()]), log)
    ax.set_ylabel(" and ".join(dict.fromkeys(metric_label(metric_of(p)) for p in lines.values())))
    label_ends(ax, ends)
    has_band = any(one.low is not None for one in means.values())
    key = f"band: middle {100 * share:g} % of repetitions" if has_band else ""
    given.caption(ax, context(lines), key)
    return ax


def rejection_map(shares: xr.DataArray, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the share of non-Gaussian cells as a map of learner × dataset, with its numbers.

    Parameters
    ----------
    shares
        Percentages with two dims: rows, then columns.
    ax
        Where; new axes unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> table = xr.DataArray([[5.0, 90.0]], {"learner": ["LDC"], "dataset": [11, 61]},
    ...                      ("learner", "dataset"))
    >>> lcdb_axes = rejection_map(table)
    >>> [text.get_text() for text in lcdb_axes.texts]
    ['5', '90']
    """
    given = Style.of(style, "title", "figsize")
    rows, columns = shares.dims
    size = (max(4.2, 1.6 + 0.55 * shares.sizes[columns]), 1.0 + 0.32 * shares.sizes[rows])
    ax = new_axes(ax, given, figsize=size)
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
    given.caption(ax, "non-Gaussian cells (%)")
    return ax


def inverse_cdf(
    samples: Mapping[str, np.ndarray] | xr.DataArray,
    confidence: float | None = 0.95,
    support: tuple[float, float] = (-np.inf, np.inf),
    ax: Axes | None = None,
    **style: Any,
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
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> ax = inverse_cdf({"LDC": np.random.default_rng(0).uniform(size=500)}, support=(0, 1))
    >>> ax.get_xlabel()
    'probability'
    """
    from lcdb.plot.labels import label_ends

    given = Style.of(style)
    if isinstance(samples, xr.DataArray):
        parts = {name: part.values for name, part in each(samples, "learner")}
        label: object = samples.name
    else:
        parts, label = {str(k): np.asarray(v, float) for k, v in samples.items()}, "value"
    ax = new_axes(ax, given)
    p = np.linspace(0, 1, 1001)
    ends = []
    for look in given.looks(list(parts), ax).values():
        raw = parts[look.name]
        values = raw[np.isfinite(raw)].astype(float)
        curve = stats.inverse_cdf(values, p)
        look.plot(ax, p, curve, where="pre", linewidth=1.4)
        if confidence is not None:
            # A band that reaches the end of the support says only that it reaches it.
            with unscaled(ax):
                _band(ax, p, values, confidence, support, look.color)
        ends.append((look.label, 1.0, curve[-1]))
    ax.set(xlabel="probability", ylabel=metric_label(label))
    ax.margins(x=0, y=0.04)
    label_ends(ax, ends)
    given.caption(ax, context(samples) if isinstance(samples, xr.DataArray) else "")
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
    profiles: xr.DataArray, ax: Axes | None = None, order: Sequence[str] | None = None, **style: Any
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
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     found = lcdb.analysis.profile(db.select(**labels), kind="gap")
    >>> profile(found).get_ylabel()
    'share of problems'
    """
    from lcdb.plot.labels import broken, label_ends, room_above

    given = Style.of(style)
    ax = new_axes(ax, given)
    dim = next(str(d) for d in profiles.dims if d != "tau")
    names = [str(v) for v in profiles[dim].values] if order is None else list(order)
    tau = profiles["tau"].values
    ends = []
    for look in given.looks(names, ax, dashed=True).values():
        share = profiles.sel({dim: look.name}).transpose("tau").values
        look.plot(ax, tau, share, where="post", linewidth=1.4)
        ends.append((look.label, tau[-1], share[-1]))
    kind = profiles.attrs.get("distance", "")
    meaning = {"welch": "-ln p of a Welch test", "mann_whitney": "-ln p of a Mann-Whitney test"}
    meaning |= {"gap": "difference of means", "ratio": "ratio to the best - 1"}
    unit = meaning.get(kind, "distance")
    xlabel = broken(room_above(ax), f"distance from the best τ ({unit})")
    ax.set(xlabel=xlabel, ylabel="share of problems", xscale="log")
    span(ax, y=(0.0, 1.0))
    ax.margins(x=0, y=0.03)
    label_ends(ax, ends)
    given.caption(ax, "")
    return ax
