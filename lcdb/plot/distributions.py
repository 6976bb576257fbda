"""Distributions beside each other, as histograms whose bars follow the lattice of the scores.

Of a summary, which has quantiles and no repetitions, as nested boxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.analysis.of_summaries import is_summary
from lcdb.plot.style import Style, context, each, metric_label, new_axes
from lcdb.scores import ROUNDING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["distributions", "lattice_step"]


def distributions(
    samples: xr.DataArray | xr.Dataset | Mapping[str, np.ndarray | xr.DataArray],
    dim: str = "learner",
    ax: Axes | None = None,
    learner: str | None = None,
    **style: Any,
) -> Axes:
    """Draw the distribution over repetitions of several cells beside each other.

    Parameters
    ----------
    samples
        Dims `dim` and ``repetition``, or a mapping from label to sample. Of a summary cells of one
        metric, or a mapping from label to its ``quantile``.
    dim
        What stands side by side: learner, sampling, split, n, ...
    ax
        Where; new axes unless given.
    learner
        Whose distributions all of them are: they have its colour.
    **style
        ``color``, ``colors``, ``title`` and ``figsize``, as `learning_curves` takes them.

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
    given = Style.of(style, "color", "colors", "title", "figsize")
    ax = new_axes(ax, given)
    parts = _by_label(samples, dim)
    looks = given.looks(list(parts) if learner is None else [learner])
    kept = {
        name: values[np.isfinite(values)]
        for name, values in parts.items()
        if not isinstance(values, xr.DataArray)
    }
    seen = np.concatenate([*kept.values(), np.empty(0)])
    # A bar of a sample with two distinct values would be as tall as their distance.
    tallest = max(np.ptp(seen), 1e-6) / 30 if seen.size else 1.0
    for place, (name, values) in enumerate(parts.items()):
        colour = looks[learner or name].color
        if isinstance(values, xr.DataArray):
            _nested_boxes(ax, place, values, colour)
        else:
            _one_distribution(ax, place, kept[name], colour, tallest)
    ax.set_xticks(range(len(parts)), list(parts))
    ax.set(ylabel=metric_label(_metric_of(samples)), xlabel=dim)
    has_labels = not isinstance(samples, Mapping) or is_summary(samples)
    of = context(samples) if has_labels else ""
    given.caption(ax, of, BOXES if is_summary(samples) else "")
    return ax


#: What the boxes of a summary are, for captions.
BOXES = "boxes: middle 50, 80, 90, 95, 98 and 99 %; line: middle 90 %; dot: median"
_OUTER = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25)


def _by_label(samples: Any, dim: str) -> dict[str, np.ndarray | xr.DataArray]:
    """Return samples by label as NumPy's arrays, or quantiles as xarray's."""
    parts: Mapping[Any, Any]
    if is_summary(samples):
        parts = dict(each(samples["quantile"], dim))
    else:
        parts = dict(each(samples, dim)) if isinstance(samples, xr.DataArray) else samples
    return {
        str(name): part if "q" in getattr(part, "dims", ()) else np.asarray(part, float)
        for name, part in parts.items()
    }


def _metric_of(samples: Any) -> object:
    if is_summary(samples):
        return samples["metric"].item()
    return samples.name if isinstance(samples, xr.DataArray) else None


def _nested_boxes(ax: Axes, place: int, quantiles: xr.DataArray, colour: str) -> None:
    """Draw quantiles as boxes in each other, the wider the more in the middle, and the median.

    What lies between two quantiles is not known, so there is no density.
    """
    at = dict(zip(quantiles["q"].values.round(6).tolist(), quantiles.values, strict=True))
    if not np.isfinite(at[0.5]):
        return
    for step, q in enumerate(_OUTER, 1):
        half = 0.42 * step / len(_OUTER)
        ends = [place - half, place + half]
        ax.fill_between(ends, at[q], at[round(1 - q, 6)], color=colour, alpha=0.2, linewidth=0)
    ax.plot([place, place], [at[0.05], at[0.95]], color=colour, linewidth=1.2)
    ax.plot([place], [at[0.5]], marker="o", color=colour, markersize=5, markeredgecolor="white")


def _one_distribution(
    ax: Axes, place: int, values: np.ndarray, colour: str, tallest: float
) -> None:
    """Draw a sample as a mirrored histogram with its median and middle 90 %.

    A histogram, since scores on a lattice have no smooth density.
    """
    if not values.size:
        return
    counts, edges = _bars(values, tallest)
    half = 0.42 * counts / counts.max()
    height = edges[:, 1] - edges[:, 0]
    ax.barh(
        edges[:, 0], 2 * half, height, left=place - half, align="edge", color=colour, alpha=0.45
    )
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    ax.plot([place, place], [low, high], color=colour, linewidth=1.2)
    ax.plot([place], [middle], marker="o", color=colour, markersize=4)


def _bars(values: np.ndarray, tallest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how many values there are in each bar, and the bars' lower and upper edges.

    Shares of n test rows lie on multiples of 1/n. Bars that are no whole number of them wide hold
    now more, now fewer of the multiples, and show modes that are not there.
    """
    distinct = np.unique(values)
    if distinct.size <= _MOST_BARS:
        gap = min(np.diff(distinct).min(), tallest) if distinct.size > 1 else tallest
        counts = np.array([(values == v).sum() for v in distinct])
        return counts, np.stack([distinct - gap / 2, distinct + gap / 2], axis=1)
    step = lattice_step(distinct)
    if step is None:
        counts, cuts = np.histogram(values, bins=_MOST_BARS)
    else:
        places = np.rint((values - distinct[0]) / step).astype(int)
        wide = -(-(int(places.max()) + 1) // _MOST_BARS)
        counts = np.bincount(places // wide)
        cuts = distinct[0] + step * (wide * np.arange(len(counts) + 1) - 0.5)
    return counts, np.stack([cuts[:-1], cuts[1:]], axis=1)


_MOST_BARS = 40
# Of a lattice finer than this nothing can be seen, and rounding looks like one.
_FINEST = 2e-5


def lattice_step(distinct: np.ndarray) -> float | None:
    """Return the step of which all differences of values are multiples; None if there is none.

    Examples
    --------
    >>> round(1 / lattice_step(np.array([3, 5, 9, 10]) / 422), 6)
    422.0
    >>> lattice_step(np.array([0.0, 1.0, np.sqrt(2)])) is None
    True
    """
    tolerance = ROUNDING.get(str(distinct.dtype), 1e-12)
    step = 0.0
    for gap in np.diff(distinct):
        larger, smaller = max(step, float(gap)), min(step, float(gap))
        while smaller > tolerance:  # Euclid's algorithm, on numbers that are nearly multiples
            rest = larger % smaller
            larger, smaller = smaller, min(rest, smaller - rest)
        step = larger
        if step < _FINEST:
            return None
    if not step:
        return None
    reach = float(distinct[-1] - distinct[0])
    return reach / round(reach / step)
