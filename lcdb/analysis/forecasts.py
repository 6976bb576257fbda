"""Beyond the last size: forecasts with intervals, rows that are needed, and how well that works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import stdtrit
from scipy.stats import rankdata

from lcdb.analysis.apply import REPETITION, direction_of, need_dims
from lcdb.analysis.fits import chosen_models, one_curve
from lcdb.analysis.selections import takes_selections
from lcdb.curves.benchmarking import METHODS, Cases, judge, make_cases
from lcdb.curves.calibration import HONEST, Calibration, measure, shipped
from lcdb.curves.forecasting import (
    CANDIDATES,
    FEWEST_SIZES,
    RATIOS,
    Forecast,
    forecast_curves,
)
from lcdb.errors import LabelError
from lcdb.scores import ROUNDING
from lcdb.stats import harrell_davis

__all__ = ["forecast", "forecast_benchmark", "forecast_calibration", "rows_needed"]

#: A curve and where it stands along the other dims.
_Placed = tuple[tuple[int, ...], xr.DataArray]

_LONG_NAMES = {
    "mean": "predicted mean over training sets",
    "mean_low": "lower end of the interval for the mean",
    "mean_high": "upper end of the interval for the mean",
    "single_low": "lower end of the interval for one training set",
    "single_high": "upper end of the interval for one training set",
    "weight": "weight of a model, the same at all sizes",
    "calibrated": "whether the width of the interval for the mean was measured; no other is",
}


def _bounds(curve: xr.DataArray) -> tuple[float, float]:
    low, high = curve.attrs.get("valid_range", (-np.inf, np.inf))
    return float(low), float(high)


def _one_by_one(
    curve: xr.DataArray,
) -> tuple[list[str], list[tuple[tuple[int, ...], xr.DataArray]]]:
    """Return the dims besides n and repetition, and every curve with its place along them."""
    others = [str(dim) for dim in curve.dims if dim not in ("n", REPETITION)]
    shape = tuple(curve.sizes[dim] for dim in others)
    places = [tuple(map(int, place)) for place in np.ndindex(*shape)]
    return others, [(place, curve.isel(dict(zip(others, place, strict=True)))) for place in places]


def _seen(curve: xr.DataArray, over: str | float, last: int | None) -> dict[str, Any]:
    """Return what a forecast knows of one curve."""
    if last is not None:
        curve = curve.sel(n=curve["n"] <= last)
    middle = one_curve(curve.sortby("n"), over)
    kept = np.isfinite(middle.values)
    n = np.asarray(middle["n"].values, float)[kept]
    if len(n) < FEWEST_SIZES:
        msg = f"the curve has {len(n)} sizes with values; a forecast needs {FEWEST_SIZES} or more"
        raise LabelError(msg)
    known = {"n": n, "mean": np.asarray(middle.values, float)[kept], "sd": None}
    known |= {"error": np.zeros(len(n)), "count": np.ones(len(n))}
    if REPETITION in curve.dims:
        x = np.asarray(curve.sortby("n").transpose("n", REPETITION).values, float)[kept]
        sd, count = np.nanstd(x, axis=-1, ddof=1), np.isfinite(x).sum(axis=-1)
        error = sd / np.sqrt(count) if over == "mean" else _error_of_quantile(x, float(over))
        known |= {"x": x, "sd": sd, "count": count, "error": np.where(count > 1, error, 0.0)}
    return known


def _error_of_quantile(x: np.ndarray, q: float) -> np.ndarray:
    """Return standard errors of a quantile of samples (..., repetition), after Maritz and Jarrett.

    It is the sd of order statistics, weighed as Harrell and Davis weigh them for the quantile.

    Examples
    --------
    >>> x = np.arange(1000) / 1000
    >>> round(float(_error_of_quantile(x, 0.5)), 4)  # sqrt(0.25 / 1000) in theory
    0.0158
    """
    size = x.shape[-1]
    inside = [float(np.clip(q, 1 / (size + 1), size / (size + 1)))]
    above = x - x.min(axis=-1, keepdims=True)  # squares of them have the same order
    mean, square = harrell_davis(above, inside), harrell_davis(above**2, inside)
    return np.sqrt(np.maximum(square - mean**2, 0.0))[..., 0]


def _predict(
    known: dict[str, Any], targets: np.ndarray, models: tuple[str, ...], bounds: tuple[float, float]
) -> Forecast:
    sd = 0.0 if known["sd"] is None else float(known["sd"][-1])
    error = known["error"][-1:]
    return forecast_curves(
        known["n"], known["mean"][None], error, np.array([sd]), targets, bounds, models
    )


def _single(known: dict[str, Any], targets: np.ndarray, level: float) -> np.ndarray:
    """Return how far one training set's score lies from the mean: (2, targets), below and above.

    The shape of the distribution is that of the last three sizes; its standard deviation goes on as
    a power of n, as the last half of the sizes has it, and never rises.
    """
    n, sd, x = known["n"], known["sd"], known["x"]
    late = slice(-max(3, len(n) // 2), None)
    positive = sd[late] > 0
    power = 0.0
    if positive.sum() >= 2:
        power = np.polyfit(np.log(n[late][positive]), np.log(sd[late][positive]), 1)[0]
    recent = x[-3:] - np.nanmean(x[-3:], axis=-1, keepdims=True)
    scale = np.where(sd[-3:] > 0, sd[-3:], 1.0)[:, None]
    ends = np.nanquantile(recent / scale, [(1 - level) / 2, (1 + level) / 2])
    return ends[:, None] * sd[-1] * (targets / n[-1]) ** min(power, 0.0)


@takes_selections
def forecast(
    curve: xr.DataArray,
    n: float | Sequence[float] | np.ndarray,
    models: str | Sequence[str] = "best",
    level: float = 0.9,
    *,
    over: str | float = "mean",
    last: int | None = None,
) -> xr.Dataset:
    """Predict a curve beyond its last size, with intervals whose coverage was measured.

    Candidates are fitted to the sizes that are there and weighed by how well they would have
    predicted the last of them from those before. The widths of intervals were calibrated on means
    over training sets, of curves of nine datasets whose later sizes are known, up to four times the
    last size seen; beyond that, and for quantiles or models of one's own, ``calibrated`` is False.
    That is said of the interval for the mean alone: the one for a single training set was not
    measured. The forecast is one curve, which goes on from the last mean that was seen, so that
    `rows_needed` reads its answers off the same curve.

    Parameters
    ----------
    curve
        An array with the dim ``n`` and any others; with ``repetition`` its mean is predicted.
    n
        Sizes beyond the last.
    models
        ``"best"``, the weighted candidates; or names of models to weigh in their place.
    level
        Share of curves whose later mean the interval for the mean should hold.
    over
        ``"mean"``, or a quantile over repetitions to predict in its place.
    last
        The last size to look at; all by default. For forecasts whose truth is known.

    Returns
    -------
    xarray.Dataset
        ``mean`` with ``mean_low`` and ``mean_high``; ``single_low`` and ``single_high`` for the
        score of one future training set, where there are repetitions; ``calibrated``; and the
        ``weight`` of each model, which is the same at all sizes.

    See Also
    --------
    rows_needed : when a target is reached.
    forecast_benchmark : how often the intervals hold what came.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curve = db.curve("iris", "QDC", sampling="random", split="varying")
    ...     ahead = lcdb.analysis.forecast(curve, [80, 100], last=50)
    ...     truth = curve.sel(n=[80, 100]).mean("repetition")
    >>> bool((ahead.mean_low < truth).all() and (truth < ahead.mean_high).all())
    True
    """
    need_dims(curve, "n")
    if not 0 < level < 1:
        msg = f"level is {level!r}; expected a share between 0 and 1, such as 0.9"
        raise LabelError(msg)
    targets = np.unique(np.atleast_1d(np.asarray(n, float)))
    is_best = isinstance(models, str) and models == "best"
    names = CANDIDATES if is_best else tuple(each.name for each in chosen_models(models))
    bounds, rule = _bounds(curve), shipped()
    others, curves = _one_by_one(curve)
    shape = tuple(curve.sizes[dim] for dim in others)
    lines = {
        name: np.full((*shape, len(targets)), np.nan)
        for name in ("mean", "mean_low", "mean_high", "single_low", "single_high")
    }
    weight = np.full((*shape, len(names) + 1), np.nan)
    calibrated = np.zeros((*shape, len(targets)), bool)
    for place, one in curves:
        known = _seen(one, over, last)
        end = known["n"][-1]
        if targets[0] <= end:
            msg = f"n is {targets[0]:g}, but the curve is known up to {end:g}: ask for larger n"
            raise LabelError(msg)
        result = _predict(known, targets, names, bounds)
        half = rule.factor(level, end, np.minimum(targets / end, HONEST)) * result.spread[0]
        center = result.center[0]
        lines["mean"][place] = center
        lines["mean_low"][place], lines["mean_high"][place] = center - half, center + half
        if known["sd"] is not None and over == "mean":
            below, above = _single(known, targets, level)
            lines["single_low"][place] = center - np.hypot(half, below)
            lines["single_high"][place] = center + np.hypot(half, above)
        weight[place] = result.weights[:, 0]
        calibrated[place] = (targets <= HONEST * end) & is_best & (over == "mean")
    dims = (*others, "n")
    content: dict[str, Any] = {
        name: (dims, np.clip(values, *bounds)) for name, values in lines.items()
    }
    content["weight"] = ((*others, "model"), weight)
    content["calibrated"] = (dims, calibrated)
    coords = {k: v for k, v in curve.coords.items() if not {"n", REPETITION} & set(v.dims)}
    dataset = xr.Dataset(content, {**coords, "n": targets, "model": [*names, "last value"]})
    for name, text in _LONG_NAMES.items():
        dataset[name].attrs["long_name"] = text
    return dataset.assign_attrs(_about("forecast", curve, over), level=level)


def _about(analysis: str, curve: xr.DataArray, over: str | float) -> dict[str, Any]:
    """Return attributes that say what a result is about."""
    attrs: dict[str, Any] = {"analysis": analysis, "over": over}
    if curve.name is not None:
        attrs["metric"] = str(curve.name)
    attrs |= {k: curve.attrs[k] for k in ("direction", "dataset_name") if k in curve.attrs}
    return attrs


@takes_selections
def rows_needed(
    curve: xr.DataArray,
    target: float,
    quantile: float | None = None,
    level: float = 0.9,
    *,
    largest: float | None = None,
    last: int | None = None,
    direction: str | None = None,
) -> xr.Dataset:
    """Say how many rows a target takes, also beyond the sizes that are there.

    The answer is read off the means that were seen and the curve that `forecast` predicts beyond
    them: the smallest n from which on that curve keeps the target, up to `largest`. So what
    `forecast` says at any size agrees with it.

    Parameters
    ----------
    curve
        An array with the dim ``n``.
    target
        The score to reach.
    quantile
        Of the bad end: 0.05 asks for 19 of 20 training sets; the mean by default, for which alone
        intervals are calibrated.
    level
        Of the interval.
    largest
        How far to look; four times the last size by default, as far as intervals are calibrated.
    last
        The last size to look at; all by default.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        ``rows`` with ``rows_low`` and ``rows_high``, infinite where that is beyond what can be
        said, and ``answer``: *seen* (a size that there is), *forecast*, or *beyond*. ``rows_low``
        is the smallest n from which on the better ends of the intervals keep the target, and
        ``rows_high`` that of the worse ends: of Student's intervals of the means that were seen,
        and of the forecast's. Where ``rows`` was seen and the worse ends keep the target at the
        sizes that were seen, these alone decide. Between two of them, ``rows_low`` is one more than
        the smaller.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curve = db.curve("iris", "QDC", sampling="random", split="varying")
    ...     needed = lcdb.analysis.rows_needed(curve, 0.97, last=63)
    >>> needed.answer.item(), bool(needed.rows_low <= needed.rows <= needed.rows_high)
    ('forecast', True)
    """
    need_dims(curve, "n")
    way = direction_of(curve, direction)
    sign = 1.0 if way == "maximize" else -1.0
    over: str | float = "mean"
    if quantile is not None:
        over = quantile if way == "maximize" else 1.0 - quantile
    others, curves = _one_by_one(curve)
    shape = tuple(curve.sizes[dim] for dim in others)
    rows = [np.full(shape, np.inf) for _ in range(3)]
    answer = np.full(shape, "beyond", dtype="<U8")
    reached = np.full(shape, np.nan)
    for place, one in curves:
        known = _seen(one, over, last)
        end = known["n"][-1]
        reach = HONEST * end if largest is None else float(largest)
        # A mean that equals the target may miss it by its own rounding, as in sample_size_for.
        slack = ROUNDING.get(str(curve.dtype), 1e-12) * max(1.0, abs(target))
        aim = _Aim(sign, target - sign * slack, level, over)
        needed = _rows_of(one, known, aim, reach, last)
        for line, number in zip(rows, needed, strict=True):
            line[place] = number
        reached[place] = max(reach, end)
        if np.isfinite(needed[0]):
            answer[place] = "seen" if needed[0] <= end else "forecast"
    coords = {k: v for k, v in curve.coords.items() if not {"n", REPETITION} & set(v.dims)}
    text = f"rows until {target:g}"
    return xr.Dataset(
        {
            "rows": (others, rows[0], {"long_name": text}),
            "rows_low": (others, rows[1], {"long_name": f"{text}, lower end"}),
            "rows_high": (others, rows[2], {"long_name": f"{text}, upper end"}),
            "answer": (others, answer, {"long_name": "what the number rests on"}),
            "largest": (others, reached, {"long_name": "the largest size that was looked at"}),
        },
        coords,
        {**_about("rows_needed", curve, over), "level": level, "target": target, "direction": way},
    )


class _Aim(NamedTuple):
    """A target: 1 for scores and -1 for losses, the score, the level, and what is predicted."""

    sign: float
    target: float
    level: float
    over: str | float


def _rows_of(
    curve: xr.DataArray, known: dict[str, Any], aim: _Aim, reach: float, last: int | None
) -> np.ndarray:
    """Return rows, rows_low and rows_high of one curve; infinite if beyond what can be said."""
    n, end = known["n"], int(known["n"][-1])
    half = stdtrit(np.maximum(known["count"] - 1, 1), (1 + aim.level) / 2) * known["error"]
    seen = aim.sign * known["mean"] + np.array([[0.0], [1.0], [-1.0]]) * half
    sizes = np.arange(end + 1, int(reach) + 1, dtype=float)
    if sizes.size > _SIZES:
        sizes = np.unique(np.round(np.geomspace(end + 1, int(reach), _SIZES)))
    while True:
        ahead = _lines(curve, sizes, aim, last)
        kept = _kept(np.hstack([seen, ahead]) >= aim.sign * aim.target)
        # Between the last size that misses the target and the first that keeps it.
        places = kept[kept > len(n)] - len(n)
        gaps = [np.arange(sizes[k - 1] + 1, sizes[k]) for k in places if k < len(sizes)]
        between = np.concatenate([*gaps, np.empty(0)])
        if not between.size:
            break
        few = between[np.unique(np.linspace(0, len(between) - 1, _SIZES).round().astype(int))]
        sizes = np.union1d(sizes, few)
    every = np.concatenate([n, sizes, [np.inf]])
    result = every[kept]
    if kept[0] < len(n) and (lasting := int(_kept(seen[2:] >= aim.sign * aim.target)[0])) < len(n):
        result[2] = n[
            lasting
        ]  # sizes that were seen settle it; what is beyond them does not move it
    if kept[1] < len(n):
        result[1] = 1.0 if kept[1] == 0 else n[kept[1] - 1] + 1
    return result


#: Forecasts that `rows_needed` asks for at once.
_SIZES = 5000


def _lines(curve: xr.DataArray, sizes: np.ndarray, aim: _Aim, last: int | None) -> np.ndarray:
    """Return the forecast mean, its better and its worse end (3, sizes); larger is better."""
    if not sizes.size:
        return np.empty((3, 0))
    ahead = forecast(curve, sizes, level=aim.level, over=aim.over, last=last)
    names = ["mean", "mean_high", "mean_low"] if aim.sign > 0 else ["mean", "mean_low", "mean_high"]
    return aim.sign * np.array([ahead[name].values for name in names])


def _kept(good: np.ndarray) -> np.ndarray:
    """Return of each row the first place from which on all are good; the length if none is."""
    return good.shape[1] - np.logical_and.accumulate(good[:, ::-1], axis=1).sum(axis=1)


def _all_cases(curves: Mapping[Any, Any]) -> tuple[list[str], Cases]:
    names, parts = [], []
    for dataset, several in curves.items():
        names.append(str(dataset))
        arrays = several.data_vars.values() if isinstance(several, xr.Dataset) else [several]
        for array in arrays:
            need_dims(array, "n", REPETITION)
            others = [dim for dim in array.dims if dim not in ("n", REPETITION)]
            x = np.asarray(array.transpose(*others, "n", REPETITION).values, float)
            x = x.reshape(-1, *x.shape[-2:])
            n = np.asarray(array["n"].values, float)
            there = np.isfinite(x).all(axis=-1)
            for sizes in np.unique(there, axis=0):
                if not sizes.any():
                    continue
                same = x[(there == sizes).all(axis=1)][:, sizes]
                mean, sd = same.mean(axis=-1), same.std(axis=-1, ddof=1)
                shown = n[sizes], mean, sd, same.shape[-1], _bounds(array)
                parts.append(make_cases(len(names) - 1, *shown))
    if len(names) < 2 or not any(len(part.cut) for part in parts):
        msg = (
            "a benchmark needs two datasets or more with repetitions, whose curves go on to twice "
            "one of the sizes 16, 32, 64, …: pass what db.select returns"
        )
        raise LabelError(msg)
    return names, Cases.joined(parts)


def forecast_benchmark(curves: Mapping[Any, Any], level: float = 0.9) -> xr.Dataset:
    """Judge forecasts by a database's own later sizes.

    Every curve is cut at 16, 32, 64, … rows and predicted at two and four times that: by each
    family of models, by the last value, and by `forecast`. Intervals of each dataset are calibrated
    on all others.

    Parameters
    ----------
    curves
        What ``db.select`` returns: arrays (or Datasets of several metrics) by dataset.
    level
        Of the intervals.

    Returns
    -------
    xarray.Dataset
        By ``forecaster``, ``cut`` and ``ratio``: median absolute ``error``, mean ``rank`` (1 is
        best, equals share theirs), ``coverage``, and Winkler's ``score`` of the intervals; and by
        ``dataset`` ``coverage_of`` and ``score_of``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     judged = lcdb.analysis.forecast_benchmark(db.select(**labels))
    >>> judged.error.dims
    ('forecaster', 'cut', 'ratio')
    """
    names, cases = _all_cases(curves)
    judged = judge(cases, level)
    size = np.abs(cases.error)
    order = rankdata(size, axis=1)
    cuts, ratios = np.unique(cases.cut), np.unique(cases.ratio)
    fields = {"error": size, "rank": order, "coverage": judged.covered, "score": judged.winkler}
    content: dict[str, Any] = {}
    for name, values in fields.items():
        table = np.full((len(METHODS), len(cuts), len(ratios)), np.nan)
        for i, cut in enumerate(cuts):
            for j, ratio in enumerate(ratios):
                chosen = (cases.cut == cut) & (cases.ratio == ratio)
                if chosen.any():
                    middle = np.median if name == "error" else np.mean
                    table[:, i, j] = middle(values[chosen], axis=0)
        content[name] = (("forecaster", "cut", "ratio"), table)
    for name in ("coverage", "score"):
        by_dataset = [
            fields[name][cases.dataset == k].mean(axis=0)
            if (cases.dataset == k).any()
            else np.full(len(METHODS), np.nan)
            for k in range(len(names))
        ]
        content[f"{name}_of"] = (("forecaster", "dataset"), np.array(by_dataset).T)
    coords = {"forecaster": list(METHODS), "cut": cuts, "ratio": ratios, "dataset": names}
    return xr.Dataset(content, coords, {"level": level, "cases": len(cases.cut)})


def forecast_calibration(curves: Mapping[Any, Any]) -> dict[str, Any]:
    """Return what `forecast` would be calibrated with by these curves, as JSON holds it.

    Parameters
    ----------
    curves
        What ``db.select`` returns.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     rule = lcdb.analysis.forecast_calibration(db.select(**labels))
    >>> rule["ratios"]
    [2.0, 4.0]
    """
    _, cases = _all_cases(curves)
    best = METHODS.index("forecast")
    error = np.abs(cases.error[:, best]) / cases.spread[:, best]
    rule: Calibration = measure(error, cases.cut, cases.ratio, RATIOS)
    return {"ratios": list(RATIOS), "factors": rule.factors.round(4).tolist()}
