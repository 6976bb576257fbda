"""Learners over many datasets: one number each, with its interval, and mean ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims
from lcdb.analysis.pairs import check_along, check_metric, check_share
from lcdb.analysis.selections import metrics_of
from lcdb.errors import LabelError

__all__ = ["aggregate"]

_LONG_NAMES = {
    "interquartile_mean": "mean of the middle half of all scores",
    "median": "median over datasets of the mean score",
    "mean": "mean over datasets of the mean score",
    "optimality_gap": "mean shortfall from the target",
    "mean_rank": "mean rank over datasets, 1 being the best",
    "improvement": "probability that learner is better than other, averaged over datasets",
    "nemenyi_p": "p-value of Nemenyi's test of the mean ranks",
    "holm_p": "p-value of Wilcoxon's signed ranks over datasets, Holm over all pairs",
    "friedman_p": "p-value of Friedman's test that all learners rank alike",
    "critical_difference": "mean ranks further apart differ by Nemenyi's test",
}


def aggregate(
    scores: Mapping[Any, xr.DataArray] | Mapping[Any, xr.Dataset],
    target: float | None = None,
    *,
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    direction: str | None = None,
    paired: bool = True,
) -> xr.Dataset:
    """Return aggregates of learners over datasets, with intervals, and mean ranks.

    Intervals come from resampling the repetitions within each dataset: they say how certain the
    number is for these datasets. Whether learners differ on other datasets is what the tests of
    ranks ask, to which each dataset is one observation.

    Parameters
    ----------
    scores
        A dict by dataset, as ``db.select`` returns it, of arrays with the dims ``learner`` and
        ``repetition`` at one size each: ``{key: a.dropna("n").isel(n=-1) for key, a in ...}``.
        Of datasets with several metrics there is the dim ``metric``.
    target
        What the optimality gap is measured from: 1 unless given, or 0 for a minimised metric.
    resamples, seed
        Of the bootstrap.
    confidence
        Of all intervals; 1 - confidence is the level of the critical difference.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.
    paired
        Whether the learners of a dataset see the same rows in a repetition, and all datasets are of
        one sampling and split, which is checked by their labels. Nothing here takes pairs: without
        them the numbers are the same.

    Returns
    -------
    xarray.Dataset
        By learner ``interquartile_mean``, ``median``, ``mean``, ``optimality_gap``, each with
        ``_low`` and ``_high``, and ``mean_rank``; by learner and ``other`` ``improvement`` with its
        ends, ``nemenyi_p`` and ``holm_p``; and ``friedman_p`` and ``critical_difference``. The
        attribute ``left_out`` names datasets in which a learner lacks values, ``datasets`` counts
        those that are in.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     chosen = db.select(learner=["NMC", "LDC", "QDC"], **labels)
    ...     scores = {key: array.dropna("n").isel(n=-1) for key, array in chosen.items()}
    >>> found = lcdb.analysis.aggregate(scores, resamples=100)
    >>> found["interquartile_mean"].dims, found.attrs["datasets"], found.attrs["left_out"]
    (('learner',), 2, [])
    """
    check_share("confidence", confidence)
    if not isinstance(scores, Mapping) or isinstance(scores, xr.Dataset) or not scores:
        msg = "aggregate goes over datasets; expected the dict by dataset that db.select returns"
        raise LabelError(msg)
    by_metric: dict[str, dict[Any, xr.DataArray]] = {}
    for key, part in scores.items():
        named = metrics_of(part) if isinstance(part, xr.Dataset) else [("", part)]
        for name, array in named:
            by_metric.setdefault(name, {})[key] = array
    results = {
        name: _aggregated(arrays, target, resamples, seed, confidence, direction, paired)
        for name, arrays in by_metric.items()
    }
    if set(results) == {""}:
        return results[""]
    parts = [part.assign_coords(metric=name) for name, part in results.items()]
    return xr.concat(parts, "metric", combine_attrs="drop_conflicts")


def _aggregated(
    arrays: Mapping[Any, xr.DataArray],
    target: float | None,
    resamples: int,
    seed: int,
    confidence: float,
    direction: str | None,
    paired: bool,
) -> xr.Dataset:
    check_metric(*arrays.values())
    x, learners, left_out = _table(arrays, paired)
    one = next(iter(arrays.values()))
    way = direction_of(one, direction)
    aim = (1.0 if way == "maximize" else 0.0) if target is None else target
    centre = stats.aggregates(x, aim, way)
    ends = stats.resampled_aggregates(x, aim, way, resamples, seed, confidence)
    result = xr.Dataset(coords={"learner": learners, "other": learners})
    for name, *values in zip(stats.AGGREGATES, centre, *ends, strict=True):
        for suffix, value in zip(("", "_low", "_high"), values, strict=True):
            result[name + suffix] = ("learner", value)
    better = _improvements(x if way == "maximize" else -x, resamples, seed, confidence)
    for suffix, value in zip(("", "_low", "_high"), better, strict=True):
        result["improvement" + suffix] = (("learner", "other"), value)
    ranks = stats.mean_ranks(x.mean(axis=-1).T, way, 1.0 - confidence)
    result["mean_rank"] = ("learner", ranks.mean_rank)
    result["nemenyi_p"] = (("learner", "other"), ranks.nemenyi_p)
    result["holm_p"] = (("learner", "other"), ranks.holm_p)
    result["friedman_p"] = ((), ranks.friedman_p)
    result["critical_difference"] = ((), ranks.critical_difference)
    for label, variable in result.data_vars.items():
        base = str(label).removesuffix("_low").removesuffix("_high")
        side = {"_low": "lower end of: ", "_high": "upper end of: "}.get(
            str(label)[len(base) :], ""
        )
        variable.attrs = {"long_name": side + _LONG_NAMES[base], "units": "1"}
    result.attrs = {"analysis": "aggregate", "direction": way, "confidence": confidence}
    result.attrs.update(target=aim, datasets=x.shape[1], repetitions=x.shape[2], left_out=left_out)
    if one.name is not None:
        result.attrs["metric"] = str(one.name)
    return result


def _table(
    arrays: Mapping[Any, xr.DataArray], paired: bool
) -> tuple[np.ndarray, list[str], list[str]]:
    """Return scores (learner, dataset, repetition) of complete datasets, and the others' names."""
    if paired:
        _check_alike(arrays)
    learners = list(dict.fromkeys(str(v) for a in arrays.values() for v in _learners(a)))
    kept, left_out = [], []
    for key, array in arrays.items():
        if set(array.dims) != {"learner", REPETITION}:
            msg = (
                f"dataset {key!r} has dims {tuple(map(str, array.dims))}; expected learner and "
                "repetition: select one size of each, as array.dropna('n').isel(n=-1)"
            )
            raise LabelError(msg)
        check_along(array, "learner", paired)
        if set(map(str, array["learner"].values)) == set(learners):
            x = array.sel(learner=learners).transpose("learner", REPETITION).values.astype(float)
            x = x[:, ~np.isnan(x).all(axis=0)]
            if x.size and not np.isnan(x).any():
                kept.append(x)
                continue
        left_out.append(str(key))
    if not kept:
        msg = f"no dataset has values of all of {', '.join(learners)}; choose fewer learners"
        raise LabelError(msg)
    fewest = min(x.shape[1] for x in kept)
    return np.stack([x[:, :fewest] for x in kept], axis=1), learners, left_out


def _check_alike(arrays: Mapping[Any, xr.DataArray]) -> None:
    """Raise LabelError where datasets are of different samplings or splits."""
    for label in ("sampling", "split"):
        known = {
            str(array[label].values): key
            for key, array in arrays.items()
            if label in array.coords and not array[label].dims
        }
        if len(known) > 1:
            (one, first), (other, second) = list(known.items())[:2]
            msg = (
                f"{label} differs: {one} of dataset {first!r} and {other} of {second!r}; select "
                f"one {label} for all, or say paired=False"
            )
            raise LabelError(msg)


def _learners(array: xr.DataArray) -> np.ndarray:
    need_dims(array, "learner", REPETITION)
    return array["learner"].values


def _improvements(x: np.ndarray, resamples: int, seed: int, confidence: float) -> np.ndarray:
    """Return improvement and its ends (3, learner, other); a learner ties with itself."""
    result = np.full((3, len(x), len(x)), 0.5)
    for i, j in zip(*np.triu_indices(len(x), k=1), strict=True):
        share = stats.improvement(x[i], x[j])
        low, high = stats.resampled_improvement(x[i], x[j], resamples, seed, confidence)
        result[:, i, j] = share, low, high
        result[:, j, i] = 1.0 - share, 1.0 - high, 1.0 - low
    return result
