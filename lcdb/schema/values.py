"""What the values of a cube say about themselves, curve by curve: counts for the contract."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from lcdb.schema.describe import plain
from lcdb.schema.tables import METRICS, STATUSES, UNIT_DIMS

__all__ = ["curve_sizes", "describe_values"]

# Losses of one scoring pass: no degenerate test set can make them undefined. A classifier that
# answers with labels alone has an accuracy and nothing else.
_LOSSES = ("brier", "cross_entropy")
# float32 keeps a count of up to 10,000 rows to well within this.
_LATTICE = 0.01


def curve_sizes(dataset: xr.Dataset) -> dict[tuple[str, ...], np.ndarray]:
    """Return which sizes each planned curve has: a mask along n by unit labels.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     masks = curve_sizes(db["iris"])
    >>> masks["LDC", "additive", "fixed", "default"].shape
    (15,)
    """
    sizes = dataset["n"].values
    masks: dict[tuple[str, ...], np.ndarray] = {}
    for curve in json.loads(dataset.attrs["plan"])["curves"]:
        runs = [np.arange(first, last + 1, step) for first, last, step in curve["sizes"]]
        mask = np.isin(sizes, np.concatenate(runs))
        for sampling, split in curve["draws"]:
            masks[curve["learner"], sampling, split, curve["tuning"]] = mask
    return masks


def describe_values(dataset: xr.Dataset) -> dict[str, Any]:
    """Return counts of the values of every curve as JSON; reads one curve at a time.

    Per curve: its labels and status; per metric the cells that should hold a value and do not
    (``missing``), that hold one outside the curve's sizes (``outside``), the range of values;
    and how many cells break an agreement between variables.
    """
    return {"curves": list(_curves(dataset))}


def _curves(dataset: xr.Dataset) -> Iterator[dict[str, Any]]:
    masks = curve_sizes(dataset)
    nowhere = np.zeros(dataset.sizes["n"], bool)
    levels = [[str(label) for label in dataset[dim].values] for dim in UNIT_DIMS]
    codes = dataset["status"].values
    for where in itertools.product(*(range(len(level)) for level in levels)):
        labels = tuple(level[i] for level, i in zip(levels, where, strict=True))
        code = int(codes[where])
        yield {
            **dict(zip(UNIT_DIMS, labels, strict=True)),
            "status": STATUSES[code] if 0 <= code < len(STATUSES) else f"code {code}",
            "planned": labels in masks,
            **_curve(dataset, dict(zip(UNIT_DIMS, where, strict=True)), masks.get(labels, nowhere)),
        }


def _curve(dataset: xr.Dataset, where: dict[str, int], mask: np.ndarray) -> dict[str, Any]:
    def read(name: str) -> np.ndarray:
        array = dataset[name]
        array = array.isel({dim: i for dim, i in where.items() if dim in array.dims})
        return array.transpose("n", "repetition").values

    tuned = str(dataset["tuning"].values[where["tuning"]]) == "tuned"
    scores = {name: read(name) for name in METRICS}
    there = {name: ~np.isnan(values) for name, values in scores.items()}
    tests, clipped = read("n_test"), read("n_clipped")
    scored, losses = there["accuracy"], there["brier"]
    found: dict[str, Any] = {
        "metrics": {name: _metric(values, there[name], mask) for name, values in scores.items()}
    }
    found["scored_in_part"] = _count(
        np.any([there[name] != losses for name in _LOSSES], axis=0)
        | ((losses | there["auc"]) & ~scored)
        | (there["auc"] & ~losses)
    )
    found["scored_without_draw"] = _count(scored & ((tests < 1) | (read("n_classes_train") < 1)))
    found["accuracy_is_no_count"] = _count(_off_lattice(scores["accuracy"], tests) & scored)
    found["n_clipped_disagrees"] = _count(
        # Zero at a size of the curve: the cell was computed, and its classifier failed.
        np.where(
            scored,
            (clipped < 0) | (clipped > tests),
            (clipped != -1) & ~((clipped == 0) & mask[:, None]),
        )
    )
    if tuned:
        chosen = [read(f"choice_{name}") for name in METRICS]
        flags = [read(f"choice_flag_{name}") for name in METRICS]
        found["choice_disagrees"] = sum(_count((c >= 0) != scored) for c in (*chosen, *flags))
    return found


def _metric(values: np.ndarray, there: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {
        "present": _count(there),
        "missing": _count(~there[mask]),
        "outside": _count(there[~mask]),
    }
    if there.any():
        limit = np.finfo(values.dtype).max  # JSON has no infinity
        low, high = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
        found["minimum"], found["maximum"] = (plain(np.clip(v, -limit, limit)) for v in (low, high))
    return found


def _off_lattice(accuracy: np.ndarray, tests: np.ndarray) -> np.ndarray:
    hits = np.where(np.isfinite(accuracy), accuracy, 0.5).astype(np.float64) * tests
    return np.abs(hits - np.round(hits)) > _LATTICE


def _count(mask: np.ndarray) -> int:
    return int(np.count_nonzero(mask))
