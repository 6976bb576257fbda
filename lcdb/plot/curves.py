"""Curves with their quantiles: what one line, band and fan are, whatever axes they are drawn on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.analysis.apply import REPETITION, need_dims
from lcdb.analysis.of_summaries import is_summary
from lcdb.errors import LabelError
from lcdb.plot.style import colour_of, each
from lcdb.schema import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curves", "Fan", "draw_curve"]


@dataclass(frozen=True)
class Curves:
    """Mean, sd and quantiles along n of one curve or several, by name."""

    metric: str
    sizes: np.ndarray
    by_name: dict[str, xr.Dataset]

    @classmethod
    def of(cls, scores: xr.DataArray | xr.Dataset, quantiles: Sequence[float]) -> Curves:
        """Return those of scores, or of one metric of a summary."""
        probabilities = sorted(map(float, quantiles))
        if isinstance(scores, xr.DataArray):
            need_dims(scores, "n", REPETITION)
            name = str(scores.name)
            found = analysis.summary(scores.dropna("n", how="all"), probabilities)
        elif is_summary(scores) and not scores["metric"].dims:
            name = str(scores["metric"].values)
            found = analysis.summary(scores, probabilities)  # type: ignore[arg-type]
        else:
            msg = "there are several metrics; choose one: cube['auc'], or summary.sel(metric='auc')"
            raise LabelError(msg)
        extra = [str(dim) for dim in found["mean"].dims if dim not in ("learner", "n")]
        if extra:
            msg = f"there are several labels of {', '.join(extra)}; expected one of each"
            raise LabelError(msg + ", or draw them with lcdb.plot.small_multiples")
        found = found.compute().dropna("n", how="all", subset=["mean"])
        parts = {}
        for label, _ in each(found["mean"], "learner"):
            part = found.sel(learner=label) if "learner" in found.dims else found
            there = part["mean"].notnull().values
            if there.any():
                parts[label] = part.isel(n=there)
        if not parts:
            msg = "there are no values to draw: the curves were not built"
            raise LabelError(msg)
        return cls(name, found["n"].values, parts)

    @property
    def names(self) -> list[str]:
        """What there is a line for."""
        return list(self.by_name)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest value that a score can have."""
        metric = METRICS.get(self.metric)
        return (metric.low, metric.high) if metric else (-np.inf, np.inf)


@dataclass(frozen=True)
class Fan:
    """Probabilities as pairs from the outside in, and those that are drawn as lines."""

    pairs: tuple[tuple[float, float], ...]
    alone: tuple[float, ...]

    @classmethod
    def of(cls, quantiles: Sequence[float]) -> Fan:
        """Return lines of up to two quantiles, and a fan of more."""
        p = sorted(map(float, quantiles))
        if len(p) <= 2:
            return cls((), tuple(p))
        half = len(p) // 2
        return cls(tuple((p[i], p[-1 - i]) for i in range(half)), tuple(p[half : len(p) - half]))

    def key(self, width: float | None, cut: bool) -> list[str]:
        """Return what the lines and shades are, in lines that fit."""
        parts = ["line: mean"]
        if width is not None:
            end = ", cut off at the last possible score" if cut else ""
            parts.append(f"{'dashed' if self.pairs else 'band'}: ± {width:g} sd{end}")
        if self.pairs:
            shades = ", ".join(f"{100 * a:g}–{100 * b:g} %" for a, b in self.pairs)
            parts.append(f"shades: {shades}")
        if self.alone:
            plural = "s" if len(self.alone) > 1 else ""
            names = " and ".join(f"{100 * q:g} %" for q in self.alone)
            parts.append(f"dotted: {names} quantile{plural}")
        if not self.pairs and not cut:
            return ["; ".join(parts)]
        return ["; ".join(parts[:2]), "; ".join(parts[2:])]


def draw_curve(
    ax: Axes, curves: Curves, name: str, fan: Fan, width: float | None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Draw one line with its band and quantiles; return it, and whether the band was cut off."""
    part, colour = curves.by_name[name], colour_of(name)
    n, mean = part["n"].values, part["mean"].values
    ax.plot(n, mean, color=colour, linewidth=1.6, label=name)
    for pair in fan.pairs:
        below, above = (part["quantile"].sel(q=q).values for q in pair)
        ax.fill_between(n, below, above, color=colour, alpha=0.16, linewidth=0)
    for q in fan.alone:
        ax.plot(n, part["quantile"].sel(q=q), color=colour, linewidth=1.0, linestyle=":")
    if width is None:
        return n, mean, False
    half = width * part["sd"].values
    low, high = (np.clip(edge, *curves.limits) for edge in (mean - half, mean + half))
    if fan.pairs:
        for edge in (low, high):
            ax.plot(n, edge, color=colour, linewidth=0.8, linestyle="--")
    else:
        ax.fill_between(n, low, high, color=colour, alpha=0.18, linewidth=0)
    reach = np.abs(high - low - 2 * half)
    return n, mean, bool((reach > 1e-9).any())
