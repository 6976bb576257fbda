"""Forecasts judged by sizes that came later: every model, the last value, their weighted mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lcdb.curves.calibration import Calibration, measure
from lcdb.curves.forecasting import FEWEST_SIZES, RATIOS, TINY, forecast_curves
from lcdb.curves.models import GROUPS

__all__ = ["CUTS", "METHODS", "Cases", "Judged", "judge", "make_cases"]

#: Last sizes that a forecast may see.
CUTS = (16, 32, 64, 128, 256, 512)
FORECAST = "forecast"
_MODELS = tuple(group[0] for group in GROUPS)
#: What is compared: a model of each family, the last value carried on, and their weighted mean.
METHODS = (*_MODELS, "last value", FORECAST)


@dataclass(frozen=True)
class Cases:
    """Forecasts whose truth is known, one row a (curve, cut, target).

    Parameters
    ----------
    dataset
        (cases,) position of the dataset.
    cut, ratio
        (cases,) the last size seen, and how many times that the target is (nominal).
    error
        (cases, methods) truth - center.
    spread
        (cases, methods) what each method's intervals are multiples of.
    """

    dataset: np.ndarray
    cut: np.ndarray
    ratio: np.ndarray
    error: np.ndarray
    spread: np.ndarray

    @staticmethod
    def joined(parts: list[Cases]) -> Cases:
        """Return the cases of several datasets as one."""
        names = ("dataset", "cut", "ratio", "error", "spread")
        return Cases(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Judged:
    """Intervals of held-out datasets, by (case, method): do they hold the truth, and how wide."""

    covered: np.ndarray
    width: np.ndarray
    winkler: np.ndarray


def make_cases(
    dataset: int,
    n: np.ndarray,
    scores: np.ndarray,
    sd: np.ndarray,
    repetitions: int,
    bounds: tuple[float, float],
) -> Cases:
    """Return the cases of curves that share their sizes.

    Parameters
    ----------
    dataset
        Position of the dataset.
    n
        (S,) sizes.
    scores, sd
        (curves, S) means and standard deviations over repetitions.
    repetitions
        How many there are.
    bounds
        Of the metric.
    """
    rows: list[tuple[np.ndarray, ...]] = []
    for cut in CUTS:
        seen = n <= cut
        # The target is the size nearest to its nominal place, and must be near it.
        wanted = [ratio for ratio in RATIOS if cut * ratio <= n[-1] * 1.05]
        if seen.sum() < FEWEST_SIZES + 2 or not wanted:
            continue
        nearest = [int(np.argmin(np.abs(np.log(n / (cut * ratio))))) for ratio in wanted]
        error = sd[:, seen][:, -1] / np.sqrt(repetitions)
        shown = n[seen], scores[:, seen], error, sd[:, seen][:, -1], n[nearest], bounds
        best, every = forecast_curves(*shown), forecast_curves(*shown, _MODELS)
        for t, ratio in enumerate(wanted):
            truth = scores[:, nearest[t]]
            center = np.vstack([every.said[..., t], best.center[:, t]])
            own = np.hypot(every.held_out[..., RATIOS.index(ratio)], np.maximum(error, TINY))
            spread = np.vstack([own, best.spread[:, t]])
            count = len(truth)
            rows.append(
                (
                    np.full(count, dataset),
                    np.full(count, cut),
                    np.full(count, ratio),
                    (truth - center).T,
                    spread.T,
                )
            )
    if not rows:
        empty = np.empty((0, len(METHODS)))
        return Cases(np.empty(0, int), np.empty(0, int), np.empty(0), empty, empty)
    return Cases(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def judge(cases: Cases, level: float) -> Judged:
    """Return how intervals do on each dataset when all others have calibrated them.

    The score is Winkler's: the width, and 2/(1 - level) times what the truth lies outside. Every
    method is calibrated in the same way, by its own errors.
    """
    shape = cases.error.shape
    half = np.full(shape, np.nan)
    for left_out in np.unique(cases.dataset):
        out = cases.dataset == left_out
        for method in range(shape[1]):
            known = np.abs(cases.error[~out, method]) / cases.spread[~out, method]
            rule = measure(known, cases.cut[~out], cases.ratio[~out], RATIOS)
            half[out, method] = _widths(rule, cases, out, level) * cases.spread[out, method]
    beyond = np.maximum(np.abs(cases.error) - half, 0.0)
    return Judged(beyond == 0.0, 2.0 * half, 2.0 * half + 2.0 / (1.0 - level) * beyond)


def _widths(rule: Calibration, cases: Cases, chosen: np.ndarray, level: float) -> np.ndarray:
    """Return the factors of chosen cases."""
    factors = np.empty(chosen.sum())
    cuts, ratios = cases.cut[chosen], cases.ratio[chosen]
    for cut in np.unique(cuts):
        same = cuts == cut
        factors[same] = rule.factor(level, cut, ratios[same])
    return factors
