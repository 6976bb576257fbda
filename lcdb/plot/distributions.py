"""Distributions beside each other, as histograms whose bars follow the lattice of the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb.plot.style import caption, colour_of, context, each, metric_label, new_axes
from lcdb.scores import ROUNDING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["distributions", "lattice_step"]


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
        parts = [(name, part.values.ravel()) for name, part in each(samples, dim)]
    else:
        label = None
        parts = [(name, np.asarray(values, float)) for name, values in samples.items()]
    kept = [values[np.isfinite(values)].astype(float) for _, values in parts]
    seen = np.concatenate([*kept, np.empty(0)])
    # A bar of a sample with two distinct values would be as tall as their distance.
    tallest = max(np.ptp(seen), 1e-6) / 30 if seen.size else 1.0
    for place, ((name, _), values) in enumerate(zip(parts, kept, strict=True)):
        _one_distribution(ax, place, values, colour_of(learner or name), tallest)
    ax.set_xticks(range(len(parts)), [name for name, _ in parts])
    ax.set(ylabel=metric_label(label), xlabel=dim)
    if isinstance(samples, xr.DataArray):
        caption(ax, context(samples))
    return ax


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
