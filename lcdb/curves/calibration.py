"""How wide an interval must be: spreads of `lcdb.curves.forecasting` against errors that were seen.

The table was measured on curves whose later sizes are known: nine datasets, ten learners, two
samplings, four metrics (plan ``forecast``). It holds quantiles of |truth - center| / spread by how
far the target lies beyond the last size seen, and by that size.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

__all__ = ["HONEST", "Calibration", "measure", "shipped"]

#: Targets farther than this many times the last size are not calibrated.
HONEST = 4.0
#: Groups of last sizes begin here.
SIZES = (0, 20, 40, 80)
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975)


@dataclass(frozen=True)
class Calibration:
    """Widths by level, group of last sizes, and ratio.

    Parameters
    ----------
    factors
        (sizes, ratios, levels): spreads on either side of the center.
    ratios
        Of targets to last sizes.
    """

    factors: np.ndarray
    ratios: np.ndarray

    def factor(self, level: float, last: float, ratios: np.ndarray) -> np.ndarray:
        """Return how many spreads an interval reaches, by ratio of target to last size."""
        group = int(np.searchsorted(SIZES, last, side="right")) - 1
        by_ratio = [np.interp(level, LEVELS, row) for row in self.factors[group]]
        if level > LEVELS[-1]:  # as a normal distribution goes on
            from scipy.special import ndtri

            longer = ndtri((1 + level) / 2) / ndtri((1 + LEVELS[-1]) / 2)
            by_ratio = [row[-1] * longer for row in self.factors[group]]
        return np.interp(np.log2(ratios), np.log2(self.ratios), by_ratio)


def measure(
    error: np.ndarray, last: np.ndarray, ratio: np.ndarray, ratios: tuple[float, ...]
) -> Calibration:
    """Return the calibration that errors in units of the spread ask for.

    Parameters
    ----------
    error
        (cases,) |truth - center| / spread.
    last, ratio
        (cases,) last size seen, and how many times that the target is.
    ratios
        Those that are calibrated.
    """
    groups = np.searchsorted(SIZES, last, side="right") - 1
    factors = np.full((len(SIZES), len(ratios), len(LEVELS)), np.nan)
    for g in range(len(SIZES)):
        for r, each in enumerate(ratios):
            # A group without cases takes what all cases say.
            inside = (groups == g) & (ratio == each)
            chosen = inside if inside.sum() >= 20 else ratio == each
            if chosen.any():
                factors[g, r] = np.quantile(error[chosen], LEVELS)
    # What lies farther away is not known better, whatever the cases at hand say.
    return Calibration(np.maximum.accumulate(factors, axis=1), np.array(ratios))


@cache
def shipped() -> Calibration:
    """Return the calibration that ships.

    Examples
    --------
    >>> bool(shipped().factor(0.9, 100, np.array([2.0]))[0] > 0.5)
    True
    """
    content = json.loads((files("lcdb.data") / "forecast.json").read_text("utf-8"))
    return Calibration(np.array(content["factors"]), np.array(content["ratios"]))
