"""Learners beside each other: rankings, profiles, and how many rows a target needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims, over_repetitions
from lcdb.analysis.of_summaries import is_summary, quantile_of_summary
from lcdb.analysis.pairs import check_along, check_metric, check_share
from lcdb.analysis.selections import metrics_of, takes_selections
from lcdb.errors import ArgumentError, LabelError
from lcdb.schema import METRICS
from lcdb.scores import ROUNDING

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "best",
    "profile",
    "profile_of_distances",
    "rank_change",
    "sample_size_for",
    "top_k_change",
]


@takes_selections
def top_k_change(
    scores: xr.DataArray,
    quantile: float = 0.975,
    width: float = 2.0,
    k: int = 3,
    direction: str | None = None,
) -> xr.Dataset:
    """Return where the best k learners by mean + width·sd differ from those by a quantile.

    Parameters
    ----------
    scores
        An array with dims ``learner`` and ``repetition``.
    quantile, width
        What is compared: .975 goes with 2, .5 with 0, .025 with -2.
    k
        How many of the best.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        Booleans: ``ordered`` (ties to the first learner), ``tie_aware`` (no way of breaking ties
        makes them equal), ``set`` and ``top_1``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="additive", split="fixed", tuning="default")
    ...     found = lcdb.analysis.top_k_change(db.select("iris", **labels)[61])
    >>> found["tie_aware"].dims, bool((found["tie_aware"] <= found["ordered"]).all())
    (('n',), True)
    """
    need_dims(scores, "learner", REPETITION)
    way = direction_of(scores, direction)

    def compare(x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(stats.top_k_change(x, quantile, width, k, way))

    found = over_repetitions(
        compare,
        scores,
        names=stats.TopKChange._fields,
        core=[["learner", REPETITION]],
        dtypes=[bool] * 4,
    )
    found.attrs.update(quantile=quantile, width=width, k=k, direction=way)
    return found


@takes_selections
def rank_change(
    scores: xr.DataArray,
    quantile: float = 0.05,
    width: float | None = None,
    direction: str | None = None,
) -> xr.DataArray:
    """Return by how many places learners move when they are ranked by a quantile.

    Parameters
    ----------
    scores
        An array with dims ``learner`` and ``repetition``.
    quantile
        What ranks them: of the scores as they are, .05 being the bad end of an accuracy and the
        good end of a loss.
    width
        Compared with the ranking by mean + width·sd; by the mean unless given.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.DataArray
        Rank by mean - rank by quantile: positive for a learner that gains places. Ties share the
        mean of their ranks; a learner without values is NaN and has no rank.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     moved = lcdb.analysis.rank_change(db.select("iris", **labels)[61].dropna("n"))
    >>> moved.dims, bool((abs(moved.sum("learner")) < 1e-9).all())
    (('learner', 'n'), True)
    """
    need_dims(scores, "learner", REPETITION)
    sign = 1.0 if direction_of(scores, direction) == "minimize" else -1.0

    def change(x: np.ndarray) -> tuple[np.ndarray]:
        x = x.astype(float)
        center = x.mean(axis=-1)
        if width:
            center = center + width * x.std(axis=-1, ddof=1)
        by_quantile = np.quantile(x, quantile, axis=-1)
        ranks = [
            # Means of equal samples in another order differ by 1e-16: those are ties.
            rankdata(sign * value.round(9), axis=-1, nan_policy="omit")
            for value in (center, by_quantile)
        ]
        return (ranks[0] - ranks[1],)

    found = over_repetitions(
        change,
        scores,
        names=["rank_change"],
        core=[["learner", REPETITION]],
        out=[["learner"]],
    )["rank_change"]
    found = found.transpose("learner", ...)
    found.attrs = {"long_name": "places gained by the quantile", "units": "1", "quantile": quantile}
    return found


def profile(
    scores: xr.DataArray | xr.Dataset | Mapping[Any, xr.DataArray] | Mapping[Any, xr.Dataset],
    tau: Sequence[float] | np.ndarray | None = None,
    kind: str = "welch",
    direction: str | None = None,
) -> xr.DataArray:
    """Return performance profiles: methods are learners, problems are all other labels.

    Parameters
    ----------
    scores
        An array with dims ``learner`` and ``repetition``, or the dict that ``db.select`` returns:
        problems are then (dataset, n). A problem that a learner has no value for counts against
        it; one that no learner has a value for is left out. Of several metrics there is the dim
        ``metric``: give `tau` then, since their distances have different units.
    tau
        Thresholds above 0; 200 that cover the distances unless given.
    kind
        ``"welch"``, ``"mann_whitney"`` (both -ln p), or ``"gap"`` (difference of means). With a
        thousand repetitions every p-value is near 0, so look at the gap too.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.DataArray
        Share of problems, with dims ``learner`` and ``tau``; draw it as steps.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     found = lcdb.analysis.profile(db.select(**labels), [0.001, 0.01, 0.1], kind="gap")
    >>> found.dims, bool((found.diff("tau") >= 0).all())
    (('learner', 'tau'), True)
    """
    several = isinstance(scores, Mapping) and not isinstance(scores, xr.Dataset)
    parts: list[Any] = list(scores.values()) if several else [scores]  # type: ignore[operator]
    if any(isinstance(part, xr.Dataset) for part in parts):
        return _profiles_by_metric(parts, tau, kind, direction)
    return _profile(parts, tau, kind, direction)


def _profiles_by_metric(
    datasets: Sequence[xr.Dataset],
    tau: Sequence[float] | np.ndarray | None,
    kind: str,
    direction: str | None,
) -> xr.DataArray:
    """Return the profiles of each metric, along the dim ``metric``."""
    arrays: dict[str, list[xr.DataArray]] = {}
    for dataset in datasets:
        for name, array in metrics_of(dataset):
            arrays.setdefault(name, []).append(array)
    if tau is None and len(arrays) > 1:
        msg = f"profiles of {', '.join(arrays)} have no thresholds in common; give tau="
        raise LabelError(msg)
    profiles = [
        _profile(some, tau, kind, direction).assign_coords(metric=name)
        for name, some in arrays.items()
    ]
    return xr.concat(profiles, "metric", coords="minimal", compat="override", join="outer")


def _profile(
    arrays: Sequence[xr.DataArray],
    tau: Sequence[float] | np.ndarray | None,
    kind: str,
    direction: str | None,
) -> xr.DataArray:
    for array in arrays:
        need_dims(array, "learner", REPETITION)
    check_metric(*arrays)
    way = direction_of(arrays[0], direction)
    learners = list(dict.fromkeys(str(v) for array in arrays for v in array["learner"].values))
    distance = np.concatenate([_distances(a, learners, kind, way) for a in arrays], axis=1)
    distance = distance[:, np.isfinite(distance).any(axis=0)]
    return profile_of_distances(distance, {"learner": learners}, tau, kind)


def profile_of_distances(
    distance: np.ndarray,
    methods: Mapping[str, Sequence[str]],
    tau: Sequence[float] | np.ndarray | None,
    kind: str,
) -> xr.DataArray:
    """Return the profiles of distances (method, problem), labelled.

    `methods` names the first dim and its labels; thresholds are spread over the distances unless
    given.
    """
    ((dim, names),) = methods.items()
    thresholds = _spread(distance) if tau is None else np.asarray(tau, float)
    return xr.DataArray(
        stats.profile(distance, thresholds),
        {dim: list(names), "tau": thresholds},
        (dim, "tau"),
        "profile",
        {
            "long_name": "share of problems within tau of the best",
            "units": "1",
            "distance": kind,
            "problems": distance.shape[1],
        },
    )


def _distances(scores: xr.DataArray, learners: list[str], kind: str, way: str) -> np.ndarray:
    """Return distances (learner, problem) of one array; NaN for learners that it lacks."""
    others = [dim for dim in scores.dims if dim not in ("learner", REPETITION)]
    ordered = scores.transpose("learner", *others, REPETITION)
    x = np.asarray(ordered.values, float)
    x = x.reshape(x.shape[0], -1, x.shape[-1])
    known = ~np.isnan(x).any(axis=(0, 2))
    partly = ~known & (~np.isnan(x).any(axis=2)).any(axis=0)
    found = np.full((len(learners), x.shape[1]), np.nan)
    rows = np.array([learners.index(str(name)) for name in ordered["learner"].values])
    measure = _MEASURES.get(kind)
    if measure is None:
        msg = f"kind is {kind!r}; expected one of {', '.join(_MEASURES)}"
        raise ArgumentError(msg)
    if known.any():
        found[np.ix_(rows, np.flatnonzero(known))] = measure(x[:, known], way)
    for problem in np.flatnonzero(partly):
        there = ~np.isnan(x[:, problem]).any(axis=1)
        found[rows[there], problem] = measure(x[there][:, [problem]], way)[:, 0]
    return found


_MEASURES = {
    "welch": stats.welch_distance_of_samples,
    "mann_whitney": stats.mann_whitney_distance,
    "gap": lambda x, way: stats.gap_distance(x.mean(axis=-1), way),
}


def _spread(distance: np.ndarray) -> np.ndarray:
    positive = distance[np.isfinite(distance) & (distance > 0)]
    if not positive.size:
        return np.array([1.0])
    return np.geomspace(np.quantile(positive, 0.01), positive.max() * 1.001, 200)


def best(
    scores: Mapping[Any, Any],
    n: int | None = None,
    by: str | float | Sequence[str | float] = ("mean", 0.05),
    *,
    alpha: float = 0.05,
    resamples: int = 2000,
    seed: int = 0,
    direction: str | None = None,
) -> pd.DataFrame:
    """Return which learner is first on each dataset, by how much, and whether that is settled.

    Parameters
    ----------
    scores
        A dict by dataset, as ``db.select`` returns it, of arrays with the dims ``learner``, ``n``
        and ``repetition``; or of parts of summaries with ``learner`` and ``n``.
    n
        Number of training rows: the nearest size that there is, at most a fifth away; the last size
        of each dataset unless given.
    by
        What ranks them, one or several: ``"mean"``, or a quantile of the bad end: for a minimised
        metric, 0.05 asks for the .95 quantile of the loss.
    alpha
        The level that a first place is settled at, in each row by itself.
    resamples, seed
        Of the bootstrap.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    pandas.DataFrame
        A row for each dataset and `by`: ``dataset``, ``name``, ``n``, ``by``, ``first`` with its
        ``value``, ``second``, ``margin`` (by how much the first is better), ``settled``, and
        ``open``, the learners that the first is not settled to be better than. It is settled where
        a band around the paired differences of all pairs of learners, which holds for all of them
        at once (max-t over a joint bootstrap of repetitions), is better than 0 for the first
        against each other. Of summaries, which lack the pairs, ``settled`` and ``open`` are None.
        ``attrs["left_out"]`` says by dataset why it has no row.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     table = lcdb.analysis.best(db.select(**labels), n=20)
    >>> table[["name", "n", "by", "first", "settled"]].values.tolist()[0]
    ['iris', 20, 'mean', 'LDC', True]
    """
    import pandas as pd

    asked = [by] if isinstance(by, str | float | int) else list(by)
    for one in asked:
        if one != "mean" and (isinstance(one, str) or not 0 < one < 1):
            msg = f"by is {one!r}; expected 'mean', or a quantile between 0 and 1, as 0.05"
            raise ArgumentError(msg)
    check_share("alpha", alpha)
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for key, part in scores.items():
        cell = _cell_near(part, n)
        if isinstance(cell, str):
            left_out[str(key)] = cell
            continue
        for one in asked:
            q = None if one == "mean" else float(one)
            row = _first_of(cell, q, direction, alpha, resamples, seed)
            name = str(cell.attrs.get("dataset_name", key))
            rows.append({"dataset": str(key), "name": name, "by": one, **row})
    names = ["dataset", "name", "n", "by", "first", "value", "second", "margin", "settled", "open"]
    table = pd.DataFrame(rows, columns=names)
    table.attrs["left_out"] = left_out
    return table


#: A size stands for one that is asked for if it is no further away than this, as a ratio.
_NEAR = 1.2


def _cell_near(part: Any, n: int | None) -> Any:
    """Return all learners at one size, without those that have no values; or why there is none."""
    values = part["mean"] if is_summary(part) else part
    if "learner" not in values.dims or "n" not in values.dims:
        msg = (
            f"the scores have dims {', '.join(map(str, values.dims))}; expected learner and n: "
            "pass what db.select returns, with one sampling, split and tuning"
        )
        raise LabelError(msg)
    known = values.count([dim for dim in values.dims if dim != "n"]) > 0
    sizes = values["n"].values[known.values]
    if not sizes.size:
        return "it has no values"
    chosen = sizes[-1] if n is None else sizes[np.abs(np.log(sizes / n)).argmin()]
    if n is not None and not 1 / _NEAR <= chosen / n <= _NEAR:
        return f"its sizes are {sizes[0]} to {sizes[-1]}, and none is near {n}"
    cell = part.sel(n=chosen)
    there = values.sel(n=chosen)
    there = there.count([dim for dim in there.dims if dim != "learner"]) > 0
    if there.sum() < 2:
        return f"it has fewer than two learners at n = {chosen}"
    return cell.isel(learner=np.flatnonzero(there.values))


def _first_of(
    cell: Any, q: float | None, direction: str | None, alpha: float, resamples: int, seed: int
) -> dict[str, Any]:
    """Return a row of `best` of one cell (learner, repetition), or of a part of a summary."""
    names = [str(name) for name in cell["learner"].values]
    way = direction or _direction_of_cell(cell)
    sign = 1.0 if way == "maximize" else -1.0
    end = q if q is None or sign > 0 else 1.0 - q
    if is_summary(cell):
        values, samples = _of_summary(cell, end), None
    else:
        check_along(cell, "learner")
        samples = np.asarray(cell.transpose("learner", REPETITION).values, float)
        samples = samples[:, ~np.isnan(samples).any(axis=0)]
        values = samples.mean(-1) if end is None else np.quantile(samples, end, axis=-1)
    order = np.argsort(-sign * values.round(9), kind="stable")
    row = {
        "n": int(cell["n"]),
        "first": names[order[0]],
        "value": float(values[order[0]]),
        "second": names[order[1]],
        "margin": float(sign * (values[order[0]] - values[order[1]])),
        "settled": None,
        "open": None,
    }
    if samples is None:
        return row
    one, other = np.triu_indices(len(names), k=1)
    band = stats.difference_band(samples[one], samples[other], end, resamples, seed, 1.0 - alpha)
    better = np.where(one == order[0], sign * np.where(sign > 0, band.low, band.high), -np.inf)
    behind = np.where(other == order[0], -sign * np.where(sign > 0, band.high, band.low), -np.inf)
    settled = np.maximum(better, behind) > 0
    of_first = (one == order[0]) | (other == order[0])
    still = [names[j if i == order[0] else i] for i, j in
             zip(one[of_first & ~settled], other[of_first & ~settled], strict=True)]  # fmt: skip
    return {**row, "settled": not still, "open": still}


def _direction_of_cell(cell: Any) -> str:
    if is_summary(cell):
        return METRICS[str(cell["metric"].values)].direction
    return direction_of(cell, None)


def _of_summary(cell: xr.Dataset, q: float | None) -> np.ndarray:
    """Return the means, or a quantile that the summary has, by learner."""
    if q is None:
        return np.asarray(cell["mean"].transpose("learner").values, float)
    return np.asarray(quantile_of_summary(cell, q).isel(q=0).values, float)


def _check_target(scores: xr.DataArray, target: float) -> None:
    """Raise ArgumentError for a target that no score of this metric can have."""
    metric = METRICS.get(str(scores.name))
    if metric is None or metric.low <= target <= metric.high:
        return
    hint = f": did you mean {target / 100:g}?" if 1 < target <= 100 and metric.high == 1 else ""
    msg = f"target is {target!r}; {metric.name} lies between {metric.low:g} and {metric.high:g}"
    raise ArgumentError(msg + hint)


def _check_probability(quantile: float) -> None:
    if not 0 <= quantile <= 1:
        msg = f"quantile is {quantile!r}; expected a probability between 0 and 1, as 0.05"
        raise ArgumentError(msg)


@takes_selections
def sample_size_for(
    scores: xr.DataArray,
    target: float,
    quantile: float | None = None,
    direction: str | None = None,
) -> xr.DataArray:
    """Return how many rows it takes until the mean or a quantile reaches a target, and keeps it.

    The smallest n from which on the mean over repetitions, or the quantile, is at least the target
    (at most, for a minimised metric) at every larger size that there is. With quantile 0.05: from
    here on, 19 times out of 20 the learner does this well. `rows_needed` asks the same beyond the
    sizes that there are.

    Parameters
    ----------
    scores
        An array with dims ``n`` and ``repetition``.
    target
        The score to reach.
    quantile
        Of the bad end: for a minimised metric, 0.05 asks for the .95 quantile of the loss. The
        mean unless given.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.DataArray
        The size n; NaN where the target is never reached for good.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     needed = lcdb.analysis.sample_size_for(db.curve("iris", "LDC"), target=0.8)
    >>> 5 < int(needed) < 105
    True
    """
    need_dims(scores, "n", REPETITION)
    way = direction_of(scores, direction)
    _check_target(scores, target)
    if quantile is not None:
        _check_probability(quantile)
    bad_end = quantile if quantile is None or way == "maximize" else 1.0 - quantile
    sizes = scores["n"].values
    # An interpolated quantile that equals the target may miss it by its own rounding.
    slack = ROUNDING.get(str(scores.dtype), 1e-12) * max(1.0, abs(target))

    def smallest(x: np.ndarray) -> tuple[np.ndarray]:
        x = x.astype(float)
        value = x.mean(axis=-1) if bad_end is None else np.quantile(x, bad_end, axis=-1)
        good = value >= target - slack if way == "maximize" else value <= target + slack
        absent = np.isnan(value)  # sizes that were not computed say nothing
        lasting = np.flip(np.logical_and.accumulate(np.flip(good | absent, -1), axis=-1), -1) & good
        first = np.where(lasting.any(axis=-1), sizes[lasting.argmax(axis=-1)], np.nan)
        return (first,)

    core = [["n", REPETITION]]
    found = over_repetitions(smallest, scores, names=["sample_size"], core=core)["sample_size"]
    end = "mean" if bad_end is None else f"{bad_end:g} quantile"
    found.attrs = {"long_name": f"rows until the {end} reaches {target:g}", "units": "1"}
    return found
