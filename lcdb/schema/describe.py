"""A cube in JSON: what `schemas/cube.schema.json` is held against.

Relations that JSON Schema cannot express (n ends at floor(0.7 N), labels come in canonical order)
are computed here and stated under ``agreement`` as true or false.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from lcdb.schema.experiments import EXPERIMENTS
from lcdb.schema.tables import SAMPLINGS, SPLITS, SUMMARY_KIND, TUNINGS, learner_order
from lcdb.schema.trials import agreements

__all__ = ["describe", "plain"]

_LABELS = {"sampling": SAMPLINGS, "split": SPLITS, "tuning": TUNINGS}


def plain(value: Any) -> Any:
    """Return an attribute or number as JSON has it; a float32 by its shortest decimal form.

    Examples
    --------
    >>> plain(np.array([0, 36.05], np.float32)), plain(np.int64(3)), plain("x")
    ([0.0, 36.05], 3, 'x')
    """
    if isinstance(value, np.ndarray):
        return (
            [plain(item) for item in value.tolist()]
            if value.dtype.kind != "f"
            else [plain(item) for item in value.reshape(-1)]
        )
    if isinstance(value, np.floating):
        number = float(str(value))
        return number if np.isfinite(number) else str(value)
    if isinstance(value, np.generic):
        return value.item()
    return value


#: What a database adds to a cube that it opens; it stands in no file.
_DRAWS = "draws"


def describe(dataset: xr.Dataset) -> dict[str, Any]:
    """Return structure, labels and attributes of a cube as JSON; no value of a curve is read.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     described = describe(db["iris"])
    >>> described["variables"]["n_test"]["dims"]
    ['sampling', 'split', 'n', 'repetition']
    """
    described = {
        "attributes": {str(name): plain(value) for name, value in dataset.attrs.items()},
        "dimensions": {str(dim): int(length) for dim, length in dataset.sizes.items()},
        "coordinates": {
            str(name): _coordinate(array)
            for name, array in dataset.coords.items()
            if name != _DRAWS
        },
        "variables": {str(name): _variable(array) for name, array in dataset.data_vars.items()},
        "agreement": _agreement(dataset),
    }
    try:
        return {**described, "plan": json.loads(dataset.attrs["plan"])}
    except (KeyError, TypeError, ValueError):  # told by the attribute and by `agreement`
        return described


def _variable(array: xr.DataArray) -> dict[str, Any]:
    described: dict[str, Any] = {
        "dims": list(array.dims),
        "dtype": "string" if array.dtype.kind in "OUST" else str(array.dtype),
        "attributes": {str(name): plain(value) for name, value in array.attrs.items()},
        "fill_value": _fill_value(array),
    }
    filters = _filters(array.encoding)
    return described if filters is None else {**described, "filters": filters}


def _coordinate(array: xr.DataArray) -> dict[str, Any]:
    described = _variable(array)
    if described["dtype"] == "string" and array.ndim == 1:
        described["labels"] = [str(label) for label in array.values]
    return described


def _fill_value(array: xr.DataArray) -> Any:
    encoding = array.encoding
    if "_FillValue" in encoding:
        value = encoding["_FillValue"]
        return "NaN" if isinstance(value, float | np.floating) and np.isnan(value) else plain(value)
    # xarray writes NaN for floats that were never on disk.
    in_memory = not ({"source", "original_shape"} & set(encoding))
    return "NaN" if in_memory and array.dtype.kind == "f" else None


def _filters(encoding: Mapping[str, Any]) -> list[str] | None:
    """Return the filters that a chunked variable is stored with, None if it is not."""
    if not encoding.get("chunksizes"):
        return None
    compression = "gzip" if encoding.get("zlib") else encoding.get("compression")
    named = (
        ("shuffle", encoding.get("shuffle")),
        (str(compression), compression),
        ("fletcher32", encoding.get("fletcher32")),
    )
    return [name for name, used in named if used]


# Agreements that cubes of any kind keep.
_ANY_CUBE = ("plan_fits_its_digest", "plan_is_sorted_json")


def _agreement(dataset: xr.Dataset) -> dict[str, bool]:
    """Return what must hold between parts of a cube; a part that is missing is told elsewhere."""
    checks: dict[str, Callable[[xr.Dataset], bool]] = {
        "labels_in_canonical_order": _labels_ordered,
        "sizes_are_1_to_m": _whole_or_built_sizes,
        "repetitions_count_from_0": lambda ds: _counts_up(
            ds["repetition"], 0, ds.sizes["repetition"] - 1
        ),
        "plan_fits_its_digest": lambda ds: (
            hashlib.sha256(ds.attrs["plan"].encode()).hexdigest() == ds.attrs["plan_sha256"]
        ),
        "plan_is_sorted_json": _plan_sorted,
        "plan_fits_the_cube": _plan_fits,
        "learner_params_are_json": _params_json,
    }
    if dataset.attrs.get("cube_kind") in EXPERIMENTS:
        checks = {name: checks[name] for name in _ANY_CUBE} | agreements()
    if dataset.attrs.get("cube_kind") == SUMMARY_KIND:
        kept = ("labels_in_canonical_order", *_ANY_CUBE, "learner_params_are_json")
        checks = {name: checks[name] for name in kept}
        checks["sizes_are_some_of_1_to_m"] = _some_sizes
    found = {}
    for name, check in checks.items():
        try:
            found[name] = bool(check(dataset))
        except (KeyError, AttributeError, TypeError):
            continue
        except ValueError:  # text that is not JSON
            found[name] = False
    return found


def _labels_ordered(dataset: xr.Dataset) -> bool:
    learners = tuple(map(str, dataset["learner"].values))
    right = learners == learner_order(set(learners))
    for dim, known in _LABELS.items():
        labels = tuple(map(str, dataset[dim].values))
        right &= labels == tuple(label for label in known if label in labels)
    return right


def _counts_up(array: xr.DataArray, first: int, last: int) -> bool:
    return np.array_equal(array.values, np.arange(first, last + 1))


def _whole_or_built_sizes(dataset: xr.Dataset) -> bool:
    """Return whether sizes are those of a file, 1 to m, or of a plan, which databases return."""
    most = int(dataset.attrs["n_rows"]) * 7 // 10
    if _counts_up(dataset["n"], 1, most):
        return True
    runs = [run for curve in json.loads(dataset.attrs["plan"])["curves"] for run in curve["sizes"]]
    planned = {n for first, last, step in runs for n in range(first, last + 1, step)}
    return dataset["n"].values.tolist() == sorted(planned)


def _some_sizes(dataset: xr.Dataset) -> bool:
    sizes = dataset["n"].values
    ascending = (np.diff(sizes) > 0).all()
    most = int(dataset.attrs["n_rows"]) * 7 // 10
    return bool(sizes[0] > 0 and sizes[-1] <= most and ascending)


def _plan_sorted(dataset: xr.Dataset) -> bool:
    text = dataset.attrs["plan"]
    return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text


def _plan_fits(dataset: xr.Dataset) -> bool:
    plan = json.loads(dataset.attrs["plan"])
    same = ("dataset_sha256", "format_version", "master_seed")
    right = all(plan[name] == plain(dataset.attrs[name]) for name in same)
    right &= plan.get("scaling", "none") == dataset.attrs.get("scaling", "none")
    return right and plan["repetitions"] == dataset.sizes["repetition"]


def _params_json(dataset: xr.Dataset) -> bool:
    return all(
        isinstance(json.loads(text), dict)
        for text in dataset["learner_params"].values.ravel()
        if text != ""
    )
