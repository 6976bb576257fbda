"""An experiment's cube held against its contract: what must hold between its parts, and counts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from lcdb.schema.experiments import EXPERIMENTS, TRIAL, Experiment, TrialVariable
from lcdb.schema.tables import STATUSES

__all__ = ["agreements", "describe_parts"]


def agreements() -> dict[str, Callable[[xr.Dataset], bool]]:
    """Return what must hold between pieces of an experiment's cube, by name."""
    return {
        "labels_in_canonical_order": _labels_ordered,
        "trials_count_from_0": lambda ds: _counts_from(ds, TRIAL, 0),
        "steps_count_from_1": lambda ds: (
            not _of(ds).inner or _of(ds).inner not in ds or _counts_from(ds, _of(ds).inner, 1)
        ),
        "plan_fits_the_cube": _plan_fits,
        "params_are_json": lambda ds: all(
            isinstance(json.loads(text), dict) for text in ds["params"].values.ravel() if text
        ),
    }


def _of(dataset: xr.Dataset) -> Experiment:
    return EXPERIMENTS[dataset.attrs["cube_kind"]]


def _labels_ordered(dataset: xr.Dataset) -> bool:
    experiment = _of(dataset)
    for dim in experiment.dims:
        ranks = [experiment.rank(dim, str(label)) for label in dataset[dim].values]
        if ranks != sorted(set(ranks)):
            return False
    return True


def _counts_from(dataset: xr.Dataset, dim: str, first: int) -> bool:
    return np.array_equal(dataset[dim].values, np.arange(first, first + dataset.sizes[dim]))


def _plan_fits(dataset: xr.Dataset) -> bool:
    plan = json.loads(dataset.attrs["plan"])
    right = plan["experiment"] == dataset.attrs["cube_kind"]
    right &= plan["format_version"] == int(dataset.attrs["format_version"])
    right &= plan["master_seed"] == int(dataset.attrs["master_seed"])
    right &= plan["trials"] == dataset.sizes[TRIAL]
    wanted = {tuple(part["labels"]): part["trials"] for part in plan["parts"]}
    stored = {labels: int(dataset["trials"].values[where]) for labels, where in _parts(dataset)}
    return right and all(stored[labels] == wanted.get(labels, 0) for labels in stored)


def _parts(dataset: xr.Dataset) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Yield labels and place of every combination of labels."""
    levels = [[str(label) for label in dataset[dim].values] for dim in _of(dataset).dims]
    for where in itertools.product(*(range(len(level)) for level in levels)):
        yield tuple(level[i] for level, i in zip(levels, where, strict=True)), where


def describe_parts(dataset: xr.Dataset) -> dict[str, Any]:
    """Return counts of the trials of every part as JSON; reads one part at a time.

    Per part: its labels, status and wanted trials; how many there are (``present``), how many of
    those wanted are not (``missing``), and how many values disagree with that: of a trial that is
    there and has no value or an unknown code, or that is not there and has one.
    """
    return {"parts": [_part(dataset, labels, where) for labels, where in _parts(dataset)]}


def _part(dataset: xr.Dataset, labels: tuple[str, ...], where: tuple[int, ...]) -> dict[str, Any]:
    experiment = _of(dataset)
    place = dict(zip(experiment.dims, where, strict=True))
    code = int(dataset["status"].values[where])
    wanted = int(dataset["trials"].values[where])
    first, *others = experiment.part_variables(labels)
    there = _there(_values(dataset, first, place), first)
    return {
        "labels": list(labels),
        "status": STATUSES[code] if 0 <= code < len(STATUSES) else f"code {code}",
        "wanted": wanted,
        "present": int(there.sum()),
        "missing": int((~there[:wanted]).sum()),
        "disagreeing": sum(_wrong(_values(dataset, v, place), v, there) for v in others),
    }


def _values(dataset: xr.Dataset, variable: TrialVariable, place: dict[str, int]) -> np.ndarray:
    array = dataset[variable.name]
    return array.isel({dim: i for dim, i in place.items() if dim in array.dims}).values


def _there(values: np.ndarray, variable: TrialVariable) -> np.ndarray:
    return ~np.isnan(values) if values.dtype.kind == "f" else np.not_equal(values, variable.empty)


def _wrong(values: np.ndarray, variable: TrialVariable, there: np.ndarray) -> int:
    """Return how many trials have a value of a variable where they should not, or none."""
    filled: np.ndarray = _there(values, variable)
    if filled.ndim > 1:  # a trial may have fewer steps than another part's
        filled = np.any(filled, axis=1)
    lacking = np.zeros_like(there)
    if variable.flags:
        lacking = there & ~np.isin(values, range(len(variable.flags)))
    elif values.dtype.kind != "f":
        lacking = there & ~filled
    return int(np.count_nonzero((filled & ~there) | lacking))
