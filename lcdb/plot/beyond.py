"""Figures of what a rejection rate and a mean leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.errors import ArgumentError, LabelError, did_you_mean
from lcdb.plot.sizes import size_axis
from lcdb.plot.style import Style, new_axes, plain, span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["bias_variance", "by_repetitions", "decomposition", "rank_map"]

#: How each column of a decomposition is drawn: what was published is a line, not one of ours.
_MARKERS = {
    "honest": ("o", "#000000"),
    "duplicate seeds": ("D", "#D55E00"),
    "pool": ("s", "#0072B2"),
    "both": ("^", "#CC79A7"),
    "published": ("|", "#000000"),
}


def by_repetitions(shares: xr.DataArray, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw how the rate of rejections grows with the number of repetitions.

    Parameters
    ----------
    shares
        Shares in [0, 1] with the dim ``repetitions``, and ``learner`` for several lines: a mean of
        what `lcdb.analysis.normality_by_repetitions` returns.
    ax
        Where; new axes unless given.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> shares = xr.DataArray([[0.2, 0.9]], {"learner": ["LDC"], "repetitions": [25, 1000]},
    ...                       ("learner", "repetitions"))
    >>> by_repetitions(shares).get_xlabel()
    'repetitions R'
    """
    from lcdb.plot.labels import label_ends

    given = Style.of(style)
    ax = new_axes(ax, given)
    parts = shares if "learner" in shares.dims else shares.expand_dims(learner=["all cells"])
    counts = parts["repetitions"].values
    ends = []
    for look in given.looks([str(v) for v in parts["learner"].values], ax, dashed=True).values():
        rate = 100.0 * parts.sel(learner=look.name).values
        look.plot(ax, counts, rate, marker=".", linewidth=1.4)
        ends.append((look.label, counts[-1], rate[-1]))
    ax.set_xscale("log")
    ax.set_xticks(counts, [f"{count:g}" for count in counts])
    ax.minorticks_off()
    ax.set(xlabel="repetitions R", ylabel="non-Gaussian cells (%)")
    span(ax, y=(0.0, 100.0))
    ax.margins(y=0.03)
    ax.axhline(5, color="0.6", linewidth=0.8)
    ax.annotate("5 %: normal", (counts[0], 5), xytext=(0, 2), textcoords="offset points",
                fontsize="x-small")  # fmt: skip
    label_ends(ax, ends)
    given.caption(ax, "")
    return ax


def decomposition(rates: pd.DataFrame, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw honest rates beside what the behaviour of the public generator makes of them.

    Parameters
    ----------
    rates
        Percentages: a row for each learner or dataset, columns among ``honest``, ``duplicate
        seeds``, ``pool``, ``both`` and ``published``; NaN is left out.
    ax
        Where; new axes unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> import pandas as pd
    >>> rates = pd.DataFrame({"honest": [60.0], "published": [97.9]}, index=["NMC"])
    >>> decomposition(rates).get_xlabel()
    'non-Gaussian cells (%)'
    """
    from lcdb.plot.labels import legend

    given = Style.of(style, "title", "figsize")
    ax = new_axes(ax, given, figsize=(5.6, 1.5 + 0.3 * len(rates)))
    places = np.arange(len(rates))
    ours = rates[[name for name in rates.columns if name != "published"]]
    ax.hlines(places, ours.min(axis=1), ours.max(axis=1), color="0.75", linewidth=2, zorder=1)
    for name in [name for name in _MARKERS if name in rates.columns]:
        marker, colour = _MARKERS[name]
        is_line = marker == "|"
        ax.scatter(
            rates[name], places, marker=marker, label=name, zorder=2,
            s=140 if is_line else 24, color=colour, linewidths=2 if is_line else 0,
        )  # fmt: skip
    ax.set_yticks(places, [str(label) for label in rates.index])
    ax.invert_yaxis()
    ax.set(xlabel="non-Gaussian cells (%)", xlim=(None, 101))
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    legend(ax)
    given.caption(ax, "")
    return ax


def rank_map(change: xr.DataArray, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw by how many places each learner moves when a quantile ranks it, along n.

    Parameters
    ----------
    change
        What `lcdb.analysis.rank_change` returns, with dims ``learner`` and ``n``.
    ax
        Where; new axes unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> change = xr.DataArray([[1.0, 0.0], [-1.0, 0.0]], {"learner": ["LDC", "QDC"], "n": [5, 9]},
    ...                       ("learner", "n"))
    >>> [label.get_text() for label in rank_map(change).get_yticklabels()]
    ['LDC', 'QDC']
    """
    given = Style.of(style, "title", "figsize", "colors")
    change = change.transpose("learner", "n").dropna("n", how="all")
    learners, sizes = change["learner"].values, change["n"].values
    ax = new_axes(ax, given, figsize=(6.4, 1.1 + 0.26 * len(learners)))
    reach = max(1.0, float(np.nanmax(np.abs(change.values))))
    # Columns of equal width: sizes are unevenly spaced, and the small ones are where ranks move.
    drawn = ax.imshow(change.values, cmap="PuOr", vmin=-reach, vmax=reach, aspect="auto",
                      interpolation="nearest")  # fmt: skip
    ax.set_yticks(range(len(learners)), [str(name) for name in learners])
    looks = given.looks([str(name) for name in learners])
    for label in ax.get_yticklabels():
        label.set_color(looks[label.get_text()].color)
    ticks = np.unique(np.linspace(0, len(sizes) - 1, min(len(sizes), 10)).round().astype(int))
    ax.set_xticks(ticks, [f"{n:g}" for n in sizes[ticks]])
    ax.set(xlabel="training set size n")
    ax.spines[:].set_visible(False)
    quantile = change.attrs.get("quantile")
    what = "a quantile" if quantile is None else f"the {100 * quantile:g} % quantile"
    bar = ax.get_figure(root=True).colorbar(drawn, ax=ax, pad=0.02)  # type: ignore[union-attr]
    bar.set_label("places", fontsize="small")
    bar.outline.set_visible(False)
    text = f"places gained (+) or lost (-) when ranked by {what} instead of the mean"
    given.caption(ax, text)
    return ax


_KINDS = {
    "brier": ("brier", "brier_bias"),
    "kohavi_wolpert": ("error", "kohavi_wolpert_bias"),
    "domingos": ("error", "domingos_bias"),
}


def bias_variance(
    parts: xr.Dataset,
    kind: str = "brier",
    ax: Axes | None = None,
    log: bool | None = None,
    **style: Any,
) -> Axes:
    """Draw what the mean error is made of along n: bias, and variance on top of it.

    Parameters
    ----------
    parts
        What `lcdb.analysis.bias_variance` returns.
    kind
        ``"brier"``, ``"kohavi_wolpert"`` or ``"domingos"``, whose variance can be negative where
        wrong labels vary.
    ax
        Where; new axes unless given.
    log
        Whether the axis of sizes is logarithmic; where sizes span more than a decade unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     parts = lcdb.analysis.bias_variance(db, "iris", "LDC", [10, 40], repetitions=20)
    >>> bias_variance(parts).get_ylabel()
    'mean Brier score'
    """
    from lcdb.plot.labels import legend

    given = Style.of(style, "title", "figsize")
    if kind not in _KINDS:
        msg = f"no kind {kind!r}.{did_you_mean(kind, _KINDS)}"
        raise ArgumentError(msg)
    total, bias = _KINDS[kind]
    missing = [name for name in (total, bias) if name not in parts]
    if missing or parts[total].dims != ("n",):
        msg = "expected what lcdb.analysis.bias_variance returns, along n"
        raise LabelError(msg)
    ax = new_axes(ax, given)
    parts = parts.sortby("n").dropna("n", subset=[total])
    n, low, high = (parts[name].values for name in ("n", bias, total))
    ax.fill_between(n, 0.0, low, color="#0072B2", alpha=0.35, lw=0, label="bias")
    ax.fill_between(n, low, high, color="#E69F00", alpha=0.45, lw=0, label="variance")
    text = str(parts[total].attrs.get("long_name", total))
    ax.plot(n, high, color="black", marker=".", linewidth=1.4, label=text)
    size_axis(ax, n, log)
    ax.set_ylabel(text)
    names = [str(parts[name].values) for name in ("learner", "dataset") if name in parts.coords]
    given.caption(ax, " · ".join(map(plain, names)))
    legend(ax)
    return ax
