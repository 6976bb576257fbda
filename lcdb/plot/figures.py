"""Figures: each function draws one on the axes that it is given, and returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import analysis, stats
from lcdb.analysis.apply import REPETITION, need_dims
from lcdb.plot.style import colour_of, label_ends, line_style_of, metric_label, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "distributions",
    "inverse_cdf",
    "non_gaussian_share",
    "profile",
    "quantile_curves",
    "rejection_map",
]


def _each(scores: xr.DataArray, dim: str) -> list[tuple[str, xr.DataArray]]:
    """Return (label, part) along a dim, or the whole under the dataset's name without it."""
    if dim in scores.dims:
        return [(str(label), scores.sel({dim: label})) for label in scores[dim].values]
    name = scores.coords[dim].item() if dim in scores.coords else scores.attrs.get("dataset_name")
    return [(str(name or scores.name or "scores"), scores)]


def quantile_curves(
    scores: xr.DataArray,
    quantiles: tuple[float, float] = (0.05, 0.95),
    width: float = 2.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean, mean ± width·sd as a band, and two quantiles as lines, against n.

    Where the lines leave the band, the distribution is not the normal one that the band suggests.

    Parameters
    ----------
    scores
        Dims ``n`` and ``repetition``, and ``learner`` for several at once.
    quantiles, width
        What is drawn.
    ax
        Where; new axes unless given.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     ax = lcdb.plot.quantile_curves(db.curve("iris", "LDC"))
    >>> ax.get_xlabel()
    'training set size n'
    """
    need_dims(scores, "n", REPETITION)
    ax = new_axes(ax)
    ends = []
    for name, part in _each(scores.dropna("n", how="all"), "learner"):
        found = analysis.summary(part, quantiles).compute()
        n, mean, spread = found["n"].values, found["mean"].values, width * found["sd"].values
        colour = colour_of(name)
        ax.fill_between(n, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
        ax.plot(n, mean, color=colour, linewidth=1.6, label=name)
        for i in range(len(quantiles)):
            ax.plot(n, found["quantile"].isel(q=i), color=colour, linewidth=1.0, linestyle=":")
        there = np.flatnonzero(np.isfinite(mean))
        if there.size:
            ends.append((name, n[there[-1]], mean[there[-1]]))
    ax.set(xlabel="training set size n", ylabel=metric_label(scores.name))
    ax.set_xlim(scores["n"].values[0], scores["n"].values[-1])
    label_ends(ax, ends)
    low, high = (f"{100 * q:g}" for q in quantiles)
    text = f"line: mean; band: ± {width:g} sd; dotted: {low} % and {high} % quantile"
    ax.set_title(text, fontsize="small", loc="left")
    return ax


def distributions(
    samples: xr.DataArray | Mapping[str, np.ndarray],
    dim: str = "learner",
    ax: Axes | None = None,
    learner: str | None = None,
) -> Axes:
    """Draw the distribution over repetitions of several cells beside each other.

    Parameters
    ----------
    samples
        Dims `dim` and ``repetition``, or a mapping from label to sample.
    dim
        What stands side by side: learner, sampling, split, n, ...
    ax
        Where; new axes unless given.
    learner
        Whose distributions all of them are: they have its colour.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     cells = db.select("iris", **labels)[61].sel(n=20)
    ...     ax = lcdb.plot.distributions(cells)
    >>> ax.get_ylabel()
    'accuracy'
    """
    ax = new_axes(ax)
    if isinstance(samples, xr.DataArray):
        label: object = samples.name
        parts = [(name, part.values.ravel()) for name, part in _each(samples, dim)]
    else:
        label = None
        parts = [(name, np.asarray(values, float)) for name, values in samples.items()]
    kept = [values[np.isfinite(values)].astype(float) for _, values in parts]
    seen = np.concatenate(kept)
    # A bar of a sample with two distinct values would be as tall as their distance.
    tallest = max(np.ptp(seen), 1e-6) / 30 if seen.size else 1.0
    for place, ((name, _), values) in enumerate(zip(parts, kept, strict=True)):
        _one_distribution(ax, place, values, colour_of(learner or name), tallest)
    ax.set_xticks(range(len(parts)), [name for name, _ in parts])
    ax.set(ylabel=metric_label(label), xlabel=dim)
    return ax


def _one_distribution(
    ax: Axes, place: int, values: np.ndarray, colour: str, tallest: float
) -> None:
    """Draw a sample as a mirrored histogram with its median and middle 90 %.

    A histogram, since scores on a lattice have no smooth density.
    """
    if not values.size:
        return
    distinct = np.unique(values)
    if distinct.size <= 40:
        gap = min(np.diff(distinct).min(), tallest) if distinct.size > 1 else tallest
        counts = np.array([(values == v).sum() for v in distinct])
        edges = np.stack([distinct - gap / 2, distinct + gap / 2], axis=1)
    else:
        counts, cuts = np.histogram(values, bins=40)
        edges = np.stack([cuts[:-1], cuts[1:]], axis=1)
    half = 0.42 * counts / counts.max()
    height = edges[:, 1] - edges[:, 0]
    ax.barh(
        edges[:, 0], 2 * half, height, left=place - half, align="edge", color=colour, alpha=0.45
    )
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    ax.plot([place, place], [low, high], color=colour, linewidth=1.2)
    ax.plot([place], [middle], marker="o", color=colour, markersize=4)


def non_gaussian_share(
    scores: Mapping[Any, xr.DataArray] | xr.DataArray, bins: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw the share of non-Gaussian cells against the share of the largest size.

    Parameters
    ----------
    scores
        What ``db.select`` returns, or one of its arrays; with the dim ``learner`` a line for each.
    bins
        Of n/m in (0, 1].
    ax
        Where; new axes unless given.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     ax = lcdb.plot.non_gaussian_share(db.select(learner=["NMC", "LDC"], **labels))
    >>> ax.get_ylabel()
    'non-Gaussian cells (%)'
    """
    arrays = list(scores.values()) if isinstance(scores, Mapping) else [scores]
    found: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
    for array in arrays:
        rejected = analysis.normality(array)["non_gaussian"].compute()
        for name, part in _each(rejected, "learner"):
            fraction = part["fraction"].broadcast_like(part).values.ravel()
            values = part.values.ravel()
            kept = np.isfinite(values)
            x, y = found.setdefault(name, ([], []))
            x.append(fraction[kept])
            y.append(values[kept])
    ax = new_axes(ax)
    ends = []
    edges = np.linspace(0, 1, bins + 1)
    for name, (xs, ys) in found.items():
        which = np.clip(np.digitize(np.concatenate(xs), edges, right=True) - 1, 0, bins - 1)
        total = np.bincount(which, minlength=bins)
        hits = np.bincount(which, np.concatenate(ys), minlength=bins)
        there = total > 0
        centre, share = (edges[:-1] + 0.5 / bins)[there], 100 * hits[there] / total[there]
        look: dict[str, Any] = {
            "color": colour_of(name),
            "linestyle": line_style_of(name),
            "linewidth": 1.4,
        }
        ax.plot(centre, share, label=name, **look)
        if there.any():
            ends.append((name, centre[-1], share[-1]))
    ax.set(xlabel="n / largest n", ylabel="non-Gaussian cells (%)", xlim=(0, 1), ylim=(-3, 103))
    ax.axhline(5, color="0.6", linewidth=0.8)
    ax.annotate("5 %", (0, 5), xytext=(2, 2), textcoords="offset points", fontsize="x-small")
    label_ends(ax, ends)
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
    size = (1.6 + 0.55 * shares.sizes[columns], 1.0 + 0.32 * shares.sizes[rows])
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
        Smallest and largest possible value, which bound the bands.
    ax
        Where; new axes unless given.

    Examples
    --------
    >>> ax = inverse_cdf({"LDC": np.random.default_rng(0).uniform(size=500)}, support=(0, 1))
    >>> ax.get_xlabel()
    'probability'
    """
    if isinstance(samples, xr.DataArray):
        parts = {name: part.values for name, part in _each(samples, "learner")}
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
            low, high = stats.inverse_cdf_band(values, p, confidence, support)
            low = np.where(np.isfinite(low), low, values.min())
            high = np.where(np.isfinite(high), high, values.max())
            colour = colour_of(name)
            ax.fill_between(p, low, high, step="pre", color=colour, alpha=0.15, linewidth=0)
        ends.append((name, 1.0, curve[-1]))
    ax.set(xlabel="probability", ylabel=metric_label(label), xlim=(0, 1))
    if ends:  # a band that reaches the end of the support says only that it reaches it
        drawn = np.concatenate([line.get_ydata() for line in ax.lines]).astype(float)
        margin = 0.04 * max(np.ptp(drawn), 1e-6)
        ax.set_ylim(drawn.min() - margin, drawn.max() + margin)
    label_ends(ax, ends)
    return ax


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
