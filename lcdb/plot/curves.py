"""Curves with their quantiles: what one line, band and fan are, whatever axes they are drawn on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.analysis.apply import REPETITION, need_dims
from lcdb.analysis.of_summaries import is_summary
from lcdb.errors import ArgumentError, LabelError, did_you_mean
from lcdb.plot.style import Look, each
from lcdb.schema import METRICS, UNIT_DIMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curves", "Fan", "Mean", "draw_curve", "lifetimes_error", "named_curves"]


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
        scores = _without_lone_labels(scores)
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
    ax: Axes, curves: Curves, look: Look, fan: Fan, width: float | None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Draw one line with its band and quantiles; return it, and whether the band was cut off."""
    part, colour = curves.by_name[look.name], look.color
    n, mean = part["n"].values, part["mean"].values
    look.plot(ax, n, mean, linewidth=1.6)
    for pair in fan.pairs:
        below, above = (part["quantile"].sel(q=q).values for q in pair)
        ax.fill_between(n, below, above, color=colour, alpha=0.16, linewidth=0)
    for q in fan.alone:
        dotted = look.companion(":")
        ax.plot(n, part["quantile"].sel(q=q), color=colour, linewidth=1.0, linestyle=dotted)
    if width is None:
        return n, mean, False
    half = width * part["sd"].values
    low, high = (np.clip(edge, *curves.limits) for edge in (mean - half, mean + half))
    if fan.pairs:
        for edge in (low, high):
            ax.plot(n, edge, color=colour, linewidth=0.8, linestyle=look.companion("--"))
    else:
        ax.fill_between(n, low, high, color=colour, alpha=0.18, linewidth=0)
    reach = np.abs(high - low - 2 * half)
    return n, mean, bool((reach > 1e-9).any())


@dataclass(frozen=True)
class Mean:
    """A mean along n, and the ends of the band around it where there is one."""

    n: np.ndarray
    mean: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None

    @classmethod
    def of(cls, part: xr.DataArray | xr.Dataset, share: float) -> Mean:
        """Return that of one curve, with the middle `share` of repetitions."""
        ends = [(1 - share) / 2, (1 + share) / 2] if share else []
        if is_summary(part):
            found = analysis.summary(part, ends or [0.5])  # type: ignore[arg-type]
            mean, quantile = found["mean"], found["quantile"].rename(q="quantile")
        elif REPETITION in part.dims:
            part = part.compute().astype(float).dropna("n", how="all")
            mean = part.mean(REPETITION)  # type: ignore[assignment]
            quantile = part.quantile(ends or [0.5], REPETITION)  # type: ignore[assignment]
        else:
            mean, ends = part, []  # type: ignore[assignment]
        mean = mean.dropna("n")
        if not mean.size:
            msg = "there are no values to draw: the curves were not built"
            raise LabelError(msg)
        low, high = (
            quantile.sel(n=mean["n"]).transpose("quantile", "n").values if ends else (None, None)
        )
        return cls(mean["n"].values, mean.values, low, high)


def named_curves(curves: Any, metric: str | None) -> dict[str, xr.DataArray | xr.Dataset]:
    """Return one curve for each line, by its name.

    Parameters
    ----------
    curves
        As `lcdb.plot.learning_curves` takes them.
    metric
        Which one, of curves that have several.
    """
    if isinstance(curves, Mapping) and not isinstance(curves, xr.Dataset):
        items = [(key, _lines(value, metric)) for key, value in curves.items()]
    elif isinstance(curves, Sequence) and not isinstance(curves, str):
        items = [(None, _lines(value, metric)) for value in curves]
    else:
        items = [(None, _lines(curves, metric))]
    named: dict[str, xr.DataArray | xr.Dataset] = {}
    for key, lines in items:
        for own, part in lines:
            name = _name(key, own, part, alone=len(items) == 1, single=len(lines) == 1)
            if name in named:
                msg = f"two curves are named {name!r}; expected a mapping from names to curves"
                raise LabelError(msg)
            named[name] = part
    if not named:
        msg = "there is nothing to draw; expected at least one curve"
        raise LabelError(msg)
    return named


def _name(key: Any, own: str, part: Any, *, alone: bool, single: bool) -> str:
    """Return the name of a line from its key, a text or the id of a dataset, and its own name."""
    if key is None or (alone and not isinstance(key, str)):
        return own
    named = key if isinstance(key, str) else part.attrs.get("dataset_name", key)
    return str(named) if single else own if alone else f"{own}, {named}"


def _lines(curve: Any, metric: str | None) -> list[tuple[str, xr.DataArray | xr.Dataset]]:
    """Return the lines of an array, of a result of `lcdb.learning_curve` or of a summary."""
    if not isinstance(curve, xr.DataArray | xr.Dataset):
        msg = f"a curve is of type {type(curve).__name__}; expected what lcdb.learning_curve, "
        raise ArgumentError(msg + "db.curve or db.select returns")
    if {"episode", "window"} & set(curve.dims) or "trial" in curve.dims:
        raise lifetimes_error()
    part = _without_lone_labels(_of_metric(curve, metric))
    array = part["mean"] if isinstance(part, xr.Dataset) else part
    extra = sorted({str(dim) for dim in array.dims} - {"learner", "n", REPETITION})
    if extra or "n" not in array.dims:
        missing = "there is no dim n; expected the sizes of training sets"
        several = f"there are several labels of {', '.join(extra)}; select one of each"
        raise LabelError(several if extra else missing)
    if "learner" not in array.dims:
        return [(each(array, "learner")[0][0], part)]
    return [(name, part.sel(learner=name)) for name in map(str, array["learner"].values)]


def _without_lone_labels(part: Any) -> Any:
    """Return an array without the dims of which it has one label."""
    lone = [dim for dim in UNIT_DIMS[1:] if part.sizes.get(dim) == 1]
    return part.squeeze(lone) if lone else part


def _of_metric(curve: xr.DataArray | xr.Dataset, metric: str | None) -> xr.DataArray | xr.Dataset:
    if isinstance(curve, xr.DataArray):
        if metric is not None and curve.name is not None and metric != curve.name:
            msg = f"metric is {metric!r}; the curve is of {curve.name}"
            raise LabelError(msg)
        return curve
    if is_summary(curve):
        known = [str(name) for name in np.ravel(curve["metric"].values)]
    else:
        known = [str(name) for name, array in curve.items() if "n" in array.dims]
    if not known:
        msg = "the dataset has no variable with the dim n; expected learning curves"
        raise LabelError(msg)
    chosen = metric or ("accuracy" if "accuracy" in known else known[0])
    if chosen not in known:
        msg = f"there is no metric {chosen!r}.{did_you_mean(chosen, known)}"
        raise LabelError(msg)
    if not is_summary(curve):
        return curve[chosen]
    return curve.sel(metric=chosen) if curve["metric"].dims else curve


def lifetimes_error() -> LabelError:
    """Return the error of `learning_curves` for returns of lifetimes."""
    msg = "these are returns of lifetimes; lcdb.plot.lifetime_curves draws them, and "
    return LabelError(msg + "learning_curves draws scores against the training set size")
