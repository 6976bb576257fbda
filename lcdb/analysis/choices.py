"""What tuned curves chose: stored indices become parameter values, and those a distribution."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from lcdb.analysis.apply import REPETITION, need_dims
from lcdb.analysis.selections import by_dataset
from lcdb.errors import LabelError, did_you_mean
from lcdb.schema import CHOICE_FLAGS, METRICS

__all__ = ["choice_shares", "chosen_values"]

TUNED = "tuned"


def _rule(cube: xr.Dataset, learner: str) -> dict[str, Any]:
    """Return parameter, grid and tie rule of a learner's tuned curves."""
    known = [str(name) for name in np.atleast_1d(cube["learner"].values)]
    if learner not in known:
        msg = f"no learner {learner!r} in this cube.{did_you_mean(learner, known)}"
        raise LabelError(msg)
    text = ""
    if TUNED in np.atleast_1d(cube["tuning"].values):
        text = str(cube["learner_params"].sel(learner=learner, tuning=TUNED).values)
    rule = json.loads(text).get("tuning_rule") if text else None
    if not rule:
        msg = f"{learner} has no tuned curves in this cube; build a plan with tunings = ['tuned']"
        raise LabelError(msg)
    return rule


@by_dataset
def chosen_values(cube: xr.Dataset, learner: str, metric: str = "accuracy") -> xr.Dataset:
    """Return the parameter value that a metric chose in every cell of a learner's tuned curves.

    Parameters
    ----------
    cube
        A cube of the database, ``db["iris"]``, or a part of it, ``db["iris"].sel(split="fixed")``;
        of a dict of cubes, or ``db`` itself, there is a dict.
    learner
        Its label.
    metric
        The metric that chooses.

    Returns
    -------
    xarray.Dataset
        ``value`` of the tuned parameter, NaN where nothing has been chosen; ``choice``, its index
        in the grid, -1 for none; and ``flag``, how it was chosen: an index in
        `lcdb.schema.CHOICE_FLAGS`. Its attributes name the parameter and the tie rule, and the
        coordinate ``grid`` holds all values.

    Examples
    --------
    >>> text = '{"tuning_rule": {"grid": [1, 6, 11], "parameter": "neighbors", "tie": "first"}}'
    >>> dims = ("learner", "sampling", "split", "n", "repetition")
    >>> choice = np.array([2, 0, -1, 2], np.int8).reshape(1, 1, 1, 1, 4)
    >>> cube = xr.Dataset(
    ...     {
    ...         "choice_auc": (dims, choice),
    ...         "choice_flag_auc": (dims, np.zeros_like(choice)),
    ...         "learner_params": (("learner", "tuning"), [["{}", text]]),
    ...     },
    ...     {"learner": ["NNC"], "tuning": ["default", "tuned"], "n": [20]},
    ... )
    >>> found = chosen_values(cube, "NNC", "auc").squeeze()
    >>> found["value"].values, found.attrs["parameter"]
    (array([11.,  1., nan, 11.]), 'neighbors')
    """
    if metric not in METRICS:
        msg = f"no metric {metric!r}.{did_you_mean(metric, METRICS)}"
        raise LabelError(msg)
    rule = _rule(cube, learner)
    known = [name for name in METRICS if f"choice_{name}" in cube]
    if metric not in known:
        msg = f"no values were chosen by {metric!r} in this cube.{did_you_mean(metric, known)}"
        raise LabelError(msg)
    grid = np.asarray(rule["grid"])
    numbers = grid.astype(float) if grid.dtype.kind in "biuf" else grid.astype(object)
    part = cube[[f"choice_{metric}", f"choice_flag_{metric}"]]
    if "learner" in part.dims:
        part = part.sel(learner=learner)
    choice = part[f"choice_{metric}"]
    nothing = np.nan if numbers.dtype == float else None

    def look_up(index: np.ndarray) -> np.ndarray:
        values = numbers[np.clip(index, 0, len(numbers) - 1)]
        values[(index < 0) | (index >= len(numbers))] = nothing
        return values

    value = xr.apply_ufunc(
        look_up, choice, dask="parallelized", output_dtypes=[numbers.dtype], keep_attrs=False
    )
    value.attrs = {"long_name": f"{rule['parameter']} chosen by {metric}"}
    names = {f"choice_{metric}": "choice", f"choice_flag_{metric}": "flag"}
    found = part.rename_vars(names).assign(value=value).assign_coords(grid=("grid", grid))
    found.attrs = {
        "learner": learner,
        "metric": metric,
        "parameter": rule["parameter"],
        "tie": rule["tie"],
        "dataset_name": str(cube.attrs.get("dataset_name", "")),
    }
    return found


@by_dataset
def choice_shares(chosen: xr.Dataset, *, ties: bool = True) -> xr.DataArray:
    """Return how often each grid value was chosen: its share of the repetitions.

    Parameters
    ----------
    chosen
        What `chosen_values` returns.
    ties
        Count cells where several values were best, or only one class was there to choose by, and
        the tie rule has decided. Without them the shares are those of the other cells.

    Returns
    -------
    xarray.DataArray
        With the dim ``grid`` in the place of ``repetition``; NaN where no repetition counts.

    Examples
    --------
    >>> chosen = xr.Dataset(
    ...     {
    ...         "choice": (("n", "repetition"), np.array([[0, 1, 1, 1]], np.int8)),
    ...         "flag": (("n", "repetition"), np.array([[0, 0, 1, 1]], np.int8)),
    ...     },
    ...     {"n": [20], "grid": [0.1, 1.0]},
    ...     {"parameter": "C", "metric": "auc"},
    ... )
    >>> choice_shares(chosen).values, choice_shares(chosen, ties=False).values
    (array([[0.25, 0.75]]), array([[0.5, 0.5]]))
    """
    need_dims(chosen["choice"], REPETITION)
    counts = chosen["choice"] >= 0
    if not ties:
        counts = counts & (chosen["flag"] == CHOICE_FLAGS.index("chosen"))
    places = xr.DataArray(np.arange(chosen.sizes["grid"]), {"grid": chosen["grid"]}, ("grid",))
    hits = ((chosen["choice"] == places) & counts).sum(REPETITION)
    total = counts.sum(REPETITION)
    shares = hits / total.where(total > 0)
    shares.name = "share"
    shares.attrs = {
        **chosen.attrs,
        "long_name": f"share of repetitions that chose each {chosen.attrs['parameter']}",
        "units": "1",
    }
    return shares
