"""Figures of two learners beside each other, and of the shape of a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.errors import LabelError
from lcdb.plot.sizes import size_axis
from lcdb.plot.style import Style, context, metric_label, new_axes, plain, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["aggregates", "crossings", "differences", "powers", "shapes"]

_CROSSING = "#E69F00"
#: What is wrong with a curve.
_RISE, _DIP, _BUMP = "#D55E00", "#CC79A7", "#0072B2"
_QUANTILES = ("#0072B2", "#000000", "#D55E00")


def _one_pair(result: xr.Dataset, dim: str) -> tuple[str, str]:
    """Return the names of the two sides of a result along one dim."""
    if "pair" in result.dims or dim not in result.dims:
        dims = ", ".join(map(str, result.dims)) or "none"
        msg = f"the result has dims {dims}; expected {dim} of one pair: result.isel(pair=0)"
        raise LabelError(msg)
    names = [result.attrs.get(side) or str(result[side].values) for side in ("first", "second")]
    return names[0], names[1]


def _title(ax: Axes, style: Style, result: xr.Dataset, note: str = "") -> None:
    labels = [plain(result.attrs.get("dataset_name", "")), *(
        str(result.coords[dim].item())
        for dim in ("sampling", "split", "tuning")
        if dim in result.coords and not result[dim].dims
    )]  # fmt: skip
    text = " · ".join(filter(None, map(str, [*filter(None, labels), note])))
    style.caption(ax, text)


def _difference_axes(
    ax: Axes, style: Style, result: xr.Dataset, names: tuple[str, str], values: str,
    log: bool | None,
) -> None:  # fmt: skip
    metric = metric_label(result.attrs.get("metric"))
    ax.axhline(0.0, color="0.4", linewidth=0.8)
    size_axis(ax, result["n"].values[result[values].notnull().values], log)
    ax.set_ylabel(f"{metric}: {names[0]} - {names[1]}")
    upper = names[0] if result.attrs["direction"] == "maximize" else names[1]
    _title(ax, style, result, f"above 0: {upper} better")


def differences(
    result: xr.Dataset, ax: Axes | None = None, log: bool | None = None, **style: Any
) -> Axes:
    """Draw differences of mean and quantiles along n, with the interval of each.

    Parameters
    ----------
    result
        Of `lcdb.analysis.compare`, of one pair. Intervals hold for one size each.
    ax
        Where; new axes unless given.
    log
        Whether the axis of sizes is logarithmic; where sizes span more than a decade unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name) for name in ("QDC", "LDC")]
    ...     result = lcdb.analysis.compare(*curves, resamples=50)
    >>> differences(result).get_ylabel()
    'accuracy: QDC - LDC'
    """
    from lcdb.plot.labels import legend

    given = Style.of(style, "title", "figsize")
    names = _one_pair(result, "n")
    ax = new_axes(ax, given)
    there = result["mean_difference"].notnull().values
    n = result["n"].values[there]
    part = result.isel(n=there)
    for q, (colour, dash) in zip(part["q"].values, _quantile_looks(part.sizes["q"]), strict=True):
        one = part.sel(q=q).transpose("n")
        ax.fill_between(
            n, one["quantile_low"], one["quantile_high"], color=colour, alpha=0.15, lw=0
        )
        label = f"{q:g} quantile"
        ax.plot(n, one["quantile_difference"], color=colour, ls=dash, lw=1.2, label=label)
    ax.errorbar(
        n,
        part["mean_difference"],
        [part["mean_difference"] - part["mean_low"], part["mean_high"] - part["mean_difference"]],
        fmt="o",
        color="0.35",
        markersize=3,
        lw=1.0,
        label="mean",
    )
    _difference_axes(ax, given, result, names, "mean_difference", log)
    legend(ax)
    return ax


def _quantile_looks(count: int) -> list[tuple[str, str]]:
    """Return a colour and a dash for each quantile, from the lowest to the highest."""
    places = np.linspace(0, len(_QUANTILES) - 1, count).round().astype(int).tolist()
    if count == 1:
        places = [1]
    dashes = ("-", "--", "-.", ":")
    before = [places[:i].count(place) for i, place in enumerate(places)]
    if max(before, default=0) >= len(dashes):
        msg = f"there are {count} quantiles; expected at most {len(_QUANTILES) * len(dashes)} lines"
        raise LabelError(msg)
    return [(_QUANTILES[place], dashes[i]) for place, i in zip(places, before, strict=True)]


def crossings(
    result: xr.Dataset, ax: Axes | None = None, log: bool | None = None, **style: Any
) -> Axes:
    """Draw the difference of two learners along n, its band, and where the order is open.

    Parameters
    ----------
    result
        Of `lcdb.analysis.crossing`, of one pair.
    ax
        Where; new axes unless given.
    log
        Whether the axis of sizes is logarithmic; where sizes span more than a decade unless given.
    **style
        ``colors``, ``title`` and ``figsize``, as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name) for name in ("QDC", "LDC")]
    ...     result = lcdb.analysis.crossing(*curves, resamples=50)
    >>> crossings(result).get_xlabel()
    'training set size n'
    """
    from lcdb.plot.labels import legend

    given = Style.of(style, "colors", "title", "figsize")
    names = _one_pair(result, "n")
    looks = given.looks(names, reserved=(_CROSSING,))
    ax = new_axes(ax, given)
    part = result.isel(n=result["difference"].notnull().values)
    n, order = part["n"].values, part["order"].values
    ax.fill_between(n, part["low"], part["high"], color="0.85", lw=0)
    ax.plot(n, part["difference"], color="0.3", lw=1.0)
    for side, name in ((1, names[0]), (-1, names[1])):
        won = order == side
        label = f"{name} better"
        colour = looks[name].color
        ax.plot(n[won], part["difference"].values[won], "o", ms=4, color=colour, label=label)
    still = order == 0
    ax.plot(n[still], part["difference"].values[still], "o", ms=4, mfc="white", color="0.3",
            label="open")  # fmt: skip
    if part["changes"] > 0:
        ax.axvspan(float(part["open_low"]), float(part["open_high"]), color=_CROSSING, alpha=0.15,
                   lw=0, label="crossing")  # fmt: skip
    band = f"{100 * result.attrs['confidence']:g} % simultaneous band"
    _difference_axes(ax, given, result, names, "difference", log)
    legend(ax, title=band)
    return ax


def shapes(
    scores: xr.DataArray,
    result: xr.Dataset,
    ax: Axes | None = None,
    log: bool | None = None,
    **style: Any,
) -> Axes:
    """Draw a curve's mean, and mark where it rises and where it bends the wrong way.

    Parameters
    ----------
    scores
        The curve, with dims ``n`` and ``repetition``.
    result
        What `lcdb.analysis.shape` says of it.
    ax
        Where; new axes unless given.
    log
        Whether the axis of sizes is logarithmic; where sizes span more than a decade unless given.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curve = db.curve("iris", "QDC")
    >>> shapes(curve, lcdb.analysis.shape(curve)).get_ylabel()
    'accuracy'
    """
    if set(scores.dims) != {"n", "repetition"} or result.dims:
        msg = f"the curve has dims {', '.join(map(str, scores.dims))}; expected n and repetition"
        raise LabelError(msg + ", and the shape of that curve alone")
    from lcdb.plot.labels import legend

    given = Style.of(style)
    ax = new_axes(ax, given)
    mean = scores.mean("repetition").dropna("n")
    error = scores.std("repetition", ddof=1).sel(n=mean["n"]) / np.sqrt(scores.count("repetition"))
    name = str(scores.coords["learner"].item()) if "learner" in scores.coords else "mean"
    n = mean["n"].values
    look = given.looks([name], ax, reserved=(_RISE, _DIP, _BUMP))[name]
    look.plot(ax, n, mean, linewidth=1.2, marker=".")
    ax.errorbar(n, mean, 2 * error.sel(n=n), fmt="none", ecolor=look.color, elinewidth=1.2)
    marks = (
        ("rise", _RISE, not result["monotone"]),
        ("dip", _DIP, result["dipping"] == 1),
    )
    for kind, colour, is_there in marks:
        if is_there:
            start = float(result[f"{kind}_from"])
            end = float(result["rise_to"]) if kind == "rise" else n[-1]
            label = {"rise": "gets worse", "dip": "worse at the end"}[kind]
            ax.plot([start, end], mean.sel(n=[start, end]), "o--", color=colour, label=label)
    if result["convex"] == 0:
        ends = [float(result["bump_left"]), float(result["bump_right"])]
        middle = float(result["bump_n"])
        between = np.linspace(ends[0], ends[1], 200)  # straight in n, whatever the axis is
        values = mean.sel(n=ends).values
        ax.plot(between, np.interp(between, ends, values), ":", color=_BUMP)
        ax.plot(ends, values, "s", color=_BUMP, ms=4, label="not convex")
        chord = np.interp(middle, ends, values)
        ax.plot([middle, middle], [chord, float(mean.sel(n=middle))], color=_BUMP, lw=2)
    size_axis(ax, n, log)
    ax.set_ylabel(metric_label(scores.name))
    given.caption(ax, context(scores))
    legend(ax)
    return ax


def powers(
    result: xr.Dataset, ax: Axes | None = None, log: bool | None = None, **style: Any
) -> Axes:
    """Draw how often studies of a number of repetitions find a difference.

    Parameters
    ----------
    result
        Of `lcdb.analysis.power`: of one pair, at one size or along n.
    ax
        Where; new axes unless given.
    log
        Whether the axis of sizes is logarithmic; where sizes span more than a decade unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name).sel(n=[10, 20]) for name in ("QDC", "LDC")]
    ...     result = lcdb.analysis.power(*curves, studies=50)
    >>> powers(result).get_xlabel()
    'training set size n'
    """
    names = _one_pair(result, "repetitions")
    from lcdb.plot.labels import legend

    given = Style.of(style, "title", "figsize")
    ax = new_axes(ax, given)
    ax.set(ylabel="studies that find it (%)")
    span(ax, y=(0.0, 100.0))
    ax.margins(y=0.03)
    if "n" in result.dims:
        part = result.dropna("n", how="all", subset=["power"])
        greys = np.linspace(0.75, 0.0, part.sizes["repetitions"])
        for i, number in enumerate(part["repetitions"].values):
            one = part.isel(repetitions=i)
            label = f"{number} repetitions"
            ax.plot(part["n"], 100 * one["power"], marker=".", color=str(greys[i]), label=label)
        worst = 100 * part["wrong_sign"].max("repetitions")
        ax.plot(part["n"], worst, color="#D55E00", ls="--", label="wrong sign, at most")
        size_axis(ax, part["n"].values, log)
    else:
        numbers = result["repetitions"].values
        ax.plot(numbers, 100 * result["power"], marker="o", color="0.2", label="right sign")
        ax.plot(numbers, 100 * result["wrong_sign"], "o--", color="#D55E00", label="wrong sign")
        ax.set_xscale("log")
        ax.set_xticks(numbers, [str(number) for number in numbers])
        ax.minorticks_off()
        ax.set_xlabel("repetitions")
    _title(ax, given, result)
    legend(ax, title=f"{names[0]} and {names[1]}")
    return ax


def aggregates(
    result: xr.Dataset, measure: str = "interquartile_mean", ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw one aggregate of every learner with its interval, the best at the top.

    Parameters
    ----------
    result
        Of `lcdb.analysis.aggregate`, of one metric.
    measure
        ``"interquartile_mean"``, ``"median"``, ``"mean"`` or ``"optimality_gap"``.
    ax
        Where; new axes unless given.
    **style
        ``colors``, ``title`` and ``figsize``, as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     chosen = db.select(**labels)
    ...     last = {key: scores.dropna("n").isel(n=-1) for key, scores in chosen.items()}
    >>> aggregates(lcdb.analysis.aggregate(last, resamples=50), "mean").get_xlabel()
    'mean over datasets of the mean score (accuracy)'
    """
    if f"{measure}_low" not in result or "metric" in result.dims:
        msg = f"no aggregate {measure!r} of one metric; expected interquartile_mean, median, mean "
        raise LabelError(msg + "or optimality_gap, of result.sel(metric=...)")
    given = Style.of(style, "colors", "title", "figsize")
    ax = new_axes(ax, given, figsize=(5.6, 1.0 + 0.35 * result.sizes["learner"]))
    falls = measure == "optimality_gap" or result.attrs["direction"] == "minimize"
    order = np.argsort(result[measure].values, kind="stable")[:: -1 if falls else 1]
    part = result.isel(learner=order)
    looks = given.looks([str(name) for name in part["learner"].values])
    for place, name in enumerate(looks):
        one = part.isel(learner=place)
        ends = [float(one[f"{measure}_{side}"]) for side in ("low", "high")]
        colour = looks[name].color
        ax.plot(ends, [place, place], color=colour, lw=6, alpha=0.35, solid_capstyle="butt")
        ax.plot(float(one[measure]), place, "|", color=colour, ms=12, mew=2, label=name)
    ax.set_yticks(range(len(order)), [str(name) for name in part["learner"].values])
    label = result[measure].attrs.get("long_name", measure)
    ax.set_xlabel(f"{label} ({metric_label(result.attrs.get('metric'))})")
    count, level = result.attrs["datasets"], 100 * result.attrs["confidence"]
    given.caption(ax, f"{count} datasets · {level:g} % intervals")
    return ax
