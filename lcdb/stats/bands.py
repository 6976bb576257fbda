"""Simultaneous bands along a curve of differences, and where the order of two learners changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from lcdb.stats.quantiles import bootstrap_counts, harrell_davis, resampled_quantiles
from lcdb.stats.unpaired import OTHER_STREAM

__all__ = ["Band", "OrderChange", "difference_band", "last_change"]


class Band(NamedTuple):
    """Differences along a curve, between ends that hold for all sizes at once."""

    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    #: How many standard errors the ends are away.
    critical: float


class OrderChange(NamedTuple):
    """The last change of order: the places that it lies between, -1 where there is none."""

    before: int
    after: int
    #: How often the order changes.
    changes: int


def difference_band(
    a: np.ndarray,
    b: np.ndarray,
    quantile: float | None = None,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    *,
    paired: bool = True,
) -> Band:
    """Return a simultaneous band of the differences of means, or of quantiles, of two curves.

    Repetitions are resampled jointly for all sizes. The band is as many standard errors wide as the
    largest of all standardised deviations stays within (max-t), translated from the normal to
    Student's distribution, since errors are estimated: those of quantiles from few values near the
    quantile, with fewer degrees of freedom unless the two vary alike.

    Parameters
    ----------
    a, b
        Curves (size, repetition), paired. Sizes where either has nothing give NaN; then
        repetitions are left out that lack a score.
    quantile
        Whose difference (Harrell-Davis); the mean unless given.
    resamples, seed
        Of the bootstrap.
    confidence
        That the band holds everywhere.
    paired
        Whether repetition r of both saw the same rows; if not, each is resampled by itself, and
        numbers of repetitions may differ.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(4, 200))
    >>> band = difference_band(noise + 1.0, np.zeros((4, 200)))
    >>> bool((band.low < 1).all() and (band.high > 1).all()), bool(2.2 < band.critical < 2.8)
    (True, True)
    """
    if not paired:
        return _unpaired_band(a, b, quantile, resamples, seed, confidence)
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    d = a - b
    kept = np.flatnonzero(~np.isnan(d).all(axis=-1))
    complete = ~np.isnan(d[kept]).any(axis=0)
    repetitions = int(complete.sum())
    ends = np.full((3, len(d)), np.nan)
    if repetitions < 2 or not kept.size:
        return Band(ends[0], ends[1], ends[2], np.nan)
    a, b = (np.ascontiguousarray(x[kept][:, complete]) for x in (a, b))
    counts = bootstrap_counts(repetitions, resamples, seed)
    dof = repetitions - 1.0
    if quantile is None:
        centre = (a - b).mean(axis=-1)
        deviations = ((a - b) - centre[:, None]) @ counts.astype(float) / repetitions
        error = (a - b).std(axis=-1) / np.sqrt(repetitions)
    else:
        centre = harrell_davis(a, [quantile])[:, 0] - harrell_davis(b, [quantile])[:, 0]
        drawn = [resampled_quantiles(x, [quantile], counts)[:, 0] for x in (a, b)]
        deviations = drawn[0] - drawn[1] - centre[:, None]
        error = deviations.std(axis=-1)
        dof = min(dof, _degrees_of_freedom(repetitions, quantile, *drawn))
    scale = 2.0**-42 * np.maximum(np.abs(a), np.abs(b)).max(axis=-1)
    larger = np.sqrt(repetitions / (repetitions - 1))
    band = _max_t(centre, error, deviations, scale, dof, larger, confidence)
    ends[:, kept] = band[:3]
    return Band(ends[0], ends[1], ends[2], band.critical)


def _max_t(
    centre: np.ndarray, error: np.ndarray, deviations: np.ndarray, scale: np.ndarray, dof: float,
    larger: float | np.ndarray, confidence: float,
) -> Band:  # fmt: skip
    """Return a band by its deviations (size, resample)."""
    centre, error = (np.where(np.abs(v) <= scale, 0.0, v) for v in (centre, error))
    spread = error > 0
    critical = 0.0
    if spread.any():
        largest = np.abs(deviations[spread] / error[spread][:, None]).max(axis=0)
        critical = _student(float(np.quantile(largest, confidence)), dof)
    width = critical * error * larger
    return Band(centre, centre - width, centre + width, critical)


def _unpaired_band(
    a: np.ndarray, b: np.ndarray, quantile: float | None, resamples: int, seed: int,
    confidence: float,
) -> Band:  # fmt: skip
    """Return the band of two curves (size, repetition) that have no pairs."""
    curves = [np.asarray(x, float) for x in (a, b)]
    there = [~np.isnan(x).all(axis=-1) for x in curves]
    kept = np.flatnonzero(there[0] & there[1])
    ends = np.full((3, len(curves[0])), np.nan)
    nothing = Band(ends[0], ends[1], ends[2], np.nan)
    sides = []
    for x, stream in zip(curves, (seed, seed + OTHER_STREAM), strict=True):
        x = x[kept]
        x = np.ascontiguousarray(x[:, ~np.isnan(x).any(axis=0)])
        if x.shape[-1] < 2 or not kept.size:
            return nothing
        counts = bootstrap_counts(x.shape[-1], resamples, stream)
        sides.append((x, counts, x.shape[-1]))
    if quantile is None:
        centre = sides[0][0].mean(axis=-1) - sides[1][0].mean(axis=-1)
        drawn = [
            (x - x.mean(axis=-1)[:, None]) @ counts.astype(float) / size
            for x, counts, size in sides
        ]
        of_each = [x.var(axis=-1) / size for x, _, size in sides]
        dof = _least_welch(sides[0][0], sides[1][0])
    else:
        of_both = [harrell_davis(x, [quantile])[:, 0] for x, _, _ in sides]
        centre = of_both[0] - of_both[1]
        drawn = [resampled_quantiles(x, [quantile], counts)[:, 0] for x, counts, _ in sides]
        drawn = [values - middle[:, None] for values, middle in zip(drawn, of_both, strict=True)]
        of_each = [values.var(axis=-1) for values in drawn]
        fewest = min(size for _, _, size in sides)
        dof = min(fewest - 1.0, _degrees_of_freedom(fewest, quantile, *drawn))
    error = np.sqrt(of_each[0] + of_each[1])
    corrected = sum(v * s / (s - 1) for v, (_, _, s) in zip(of_each, sides, strict=True))
    larger = np.sqrt(np.divide(corrected, error**2, out=np.ones_like(error), where=error > 0))
    scale = 2.0**-42 * np.maximum(*(np.abs(x).max(axis=-1) for x, _, _ in sides))
    band = _max_t(centre, error, drawn[0] - drawn[1], scale, dof, larger, confidence)
    ends[:, kept] = band[:3]
    return Band(ends[0], ends[1], ends[2], band.critical)


def _least_welch(x: np.ndarray, y: np.ndarray) -> float:
    """Return the fewest of Welch's degrees of freedom along two curves."""
    n, m = x.shape[-1], y.shape[-1]
    a, b = x.var(axis=-1, ddof=1) / n, y.var(axis=-1, ddof=1) / m
    parts = a**2 / (n - 1) + b**2 / (m - 1)
    kept = parts > 0
    return float(((a + b)[kept] ** 2 / parts[kept]).min()) if kept.any() else np.inf


def _degrees_of_freedom(repetitions: int, quantile: float, a: np.ndarray, b: np.ndarray) -> float:
    """Return how well the standard error of a difference of quantiles is known.

    That of one Harrell-Davis quantile rests on about sqrt(R q (1 - q)) gaps between order
    statistics, and errs with the quantile itself; of two that vary alike, that cancels. The factor
    was found by simulation: bands of normal scores with 100 repetitions cover 94.7 to 96.2 %
    for q = .05, .5 and .95, whether the two vary alike, one half as much, or one not at all.
    """
    one, other = a.var(axis=-1), b.var(axis=-1)
    both = one + other
    if not (both > 0).any():
        return np.inf
    apart = float(np.mean(np.abs(one - other)[both > 0] / both[both > 0]))
    near = np.sqrt(repetitions * quantile * (1.0 - quantile))
    return float(6.0 * near / apart) if apart > 0 else np.inf


def _student(z: float, dof: float) -> float:
    """Return the t that is exceeded as often as a normal z; z itself where that is never."""
    tail = norm.sf(z)
    return float(student.isf(tail, dof)) if tail > 1e-15 else z


def last_change(low: np.ndarray, high: np.ndarray) -> OrderChange:
    """Return where a band that was on one side of 0 has gone to the other, for the last time.

    Examples
    --------
    >>> last_change(np.array([1.0, -1.0, -3.0]), np.array([2.0, 1.0, -2.0]))
    OrderChange(before=0, after=2, changes=1)
    """
    order = np.where(np.asarray(low) > 0, 1, np.where(np.asarray(high) < 0, -1, 0))
    settled = np.flatnonzero(order)
    turns = np.flatnonzero(np.diff(order[settled]))
    if not turns.size:
        return OrderChange(-1, -1, 0)
    return OrderChange(int(settled[turns[-1]]), int(settled[turns[-1] + 1]), len(turns))
