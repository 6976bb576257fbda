"""Models fitted to many curves that share their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lcdb.curves.families import Family, box
from lcdb.curves.models import Model
from lcdb.curves.projection import grid_shapes, minimise

__all__ = ["STATUSES", "Fits", "fit_curves", "predict"]

#: What a fit can be. ``boundary``: the optimum lies at the edge of the box, mostly because it lies
#: at infinity; ``underdetermined``: fewer sizes than parameters, one of many optima.
STATUSES = ("optimum", "boundary", "failed", "underdetermined")
#: Points of the grid along one coordinate, where one or two are searched.
POINTS = (400, 65)
#: Closer to the edge of the box than this share of its width is at the edge.
EDGE = 1e-6


@dataclass(frozen=True)
class Fits:
    """One model fitted to many curves.

    Parameters
    ----------
    model
        The model.
    values
        (curves, 4) parameters a-d, NaN where the model has none and where the fit failed.
    loss
        (curves,) weighted sum of squares.
    status
        (curves,) positions in `STATUSES`.
    place
        (curves, 5) the fit in the form that loses no digits: intercept, slope, coordinates of the
        shape, and the number of sizes; what `predict` reads.
    ends
        (curves, 2) smallest and largest size.
    """

    model: Model
    values: np.ndarray
    loss: np.ndarray
    status: np.ndarray
    place: np.ndarray
    ends: np.ndarray


@dataclass(frozen=True)
class _Grid:
    """The shapes of a family on a grid over its box, for given sizes and weights."""

    low: np.ndarray
    high: np.ndarray
    places: np.ndarray
    counts: np.ndarray
    unit: np.ndarray
    norm: np.ndarray


@lru_cache(maxsize=48)
def _grid(family: Family, sizes: bytes, weights: bytes) -> _Grid:
    """Return the grid of a family; curves of the same sizes share it, also from call to call."""
    n, weight = np.frombuffer(sizes), np.frombuffer(weights)
    edges = box(family.code, n)
    free = len(edges)
    counts = np.ones(2, np.int64)
    counts[:free] = POINTS[free - 1] if free else 1
    axes = [np.zeros(1), np.zeros(1)]
    for k, (low_end, high_end) in enumerate(edges):
        axes[k] = np.linspace(low_end, high_end, int(counts[k]))
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    unit = np.empty((len(places), len(n)))
    norm = np.empty(len(places))
    grid_shapes(family.code, family.intercept, family.sign, n, weight, places, unit, norm)
    low = np.ascontiguousarray(edges[:, 0])
    high = np.ascontiguousarray(edges[:, 1])
    return _Grid(low, high, places, counts, unit, norm)


def fit_curves(
    model: Model, n: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None
) -> Fits:
    """Return the least-squares optimum of a model for each curve.

    Parameters
    ----------
    model
        The model.
    n
        (S,) distinct sizes, ascending.
    scores
        (curves, S); what is not finite is left out.
    weights
        (S,) or (curves, S), non-negative; 1 by default.

    Examples
    --------
    >>> from lcdb.curves.models import model
    >>> n = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    >>> fits = fit_curves(model("pow3"), n, 0.9 - 0.5 * n[None] ** -0.7)
    >>> fits.values[0, :3].round(6).tolist()
    [0.9, 0.5, 0.7]
    """
    scores = np.asarray(scores, float)
    weight = np.broadcast_to(1.0 if weights is None else np.asarray(weights, float), scores.shape)
    sizes = np.asarray(n, float)
    used = np.isfinite(scores) & (weight > 0) & np.isfinite(weight) & (sizes >= model.smallest)
    count = len(scores)
    fits = Fits(
        model,
        np.full((count, 4), np.nan),
        np.full(count, np.nan),
        np.full(count, STATUSES.index("failed"), np.int8),
        np.full((count, 5), np.nan),
        np.full((count, 2), np.nan),
    )
    for k in range(count):
        chosen = used[k]
        if not chosen.any():
            continue
        w = np.ascontiguousarray(weight[k, chosen])
        inside = np.ascontiguousarray(sizes[chosen])
        grid = _grid(model.family, inside.tobytes(), w.tobytes())
        _fit_one(model, inside, np.ascontiguousarray(scores[k, chosen]), w, grid, fits, k)
    return fits


def _fit_one(
    model: Model,
    n: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    grid: _Grid,
    fits: Fits,
    k: int,
) -> None:
    """Fit one curve and write row `k` of the fits.

    Parameters
    ----------
    model
        The model.
    n, y, weight
        Sizes, scores and weights of the curve, without gaps.
    grid
        Its family's shapes on these sizes.
    fits, k
        Where the result goes.
    """
    family = model.family
    u, out = np.zeros(2), np.empty(5)
    minimise(
        family.code, family.intercept, family.sign, n, y, weight,
        grid.low, grid.high, grid.places, grid.counts, grid.unit, grid.norm, u, out,
    )  # fmt: skip
    if not np.isfinite(out[0]):
        return
    ends = float(n[0]), float(n[-1])
    values = model.read(float(out[1]), float(out[2]), u, *ends)
    free = len(grid.low)
    edge = EDGE * (grid.high - grid.low)
    at_edge = (u[:free] - grid.low < edge) | (grid.high - u[:free] < edge)
    status = "boundary" if at_edge.any() and out[2] != 0.0 else "optimum"
    if family.sign in (1, -1) and out[2] == 0.0:
        status = "boundary"  # the best slope has the other sign: the optimum is at no slope at all
    if len(n) < model.parameters:
        status = "underdetermined"
    fits.values[k, : len(values)] = values
    fits.loss[k] = out[0]
    fits.status[k] = STATUSES.index(status)
    fits.place[k] = (out[1], out[2], u[0], u[1], len(n))
    fits.ends[k] = ends


def predict(fits: Fits, n: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return (curves, sizes) what fitted models say at any sizes; NaN where a fit failed.

    Examples
    --------
    >>> from lcdb.curves.models import model
    >>> n = np.array([1.0, 2.0, 4.0, 8.0])
    >>> fits = fit_curves(model("log2"), n, np.log(n)[None])
    >>> predict(fits, [np.e]).round(9).tolist()
    [[1.0]]
    """
    sizes = np.asarray(n, float)
    result = np.full((len(fits.values), len(sizes)), np.nan)
    with np.errstate(all="ignore"):
        for k, values in enumerate(fits.values):
            if np.isfinite(fits.loss[k]):
                result[k] = fits.model.evaluate(sizes, *values[: fits.model.parameters])
    return result
