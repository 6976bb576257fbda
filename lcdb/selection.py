"""From labels to arrays: the part of a cube that is asked for, or why it cannot be had."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lcdb.cubefile import Header
from lcdb.digests import built_sizes, size_runs
from lcdb.errors import LabelError, did_you_mean
from lcdb.schema import LEARNERS, METRICS, SAMPLINGS, SCALINGS, SPLITS, STATUSES, TUNINGS, UNIT_DIMS

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "USUAL",
    "Labels",
    "Where",
    "as_list",
    "at_sizes",
    "check_label",
    "check_labels",
    "check_metric",
    "check_scaling",
    "check_where",
    "positions",
    "take",
    "take_several",
    "usual_label",
]

#: What is taken wherever nothing is asked for: draws that are independent from size to size, and
#: all rows that were not drawn as test set. Tables and figures of a paper have the paper's.
USUAL = {"sampling": "random", "split": "varying", "tuning": "default"}

#: One label (its dim goes), several (the dim stays, in this order), or None: all there are.
Labels = str | Sequence[str] | None
#: Labels by unit dim.
Where = Mapping[str, Labels]

Array = TypeVar("Array", "xr.DataArray", "xr.Dataset")

_CANONICAL = dict(zip(UNIT_DIMS, (LEARNERS, SAMPLINGS, SPLITS, TUNINGS), strict=True))


def _unknown(dim: str, label: object, known: Sequence[str], where: str) -> LabelError:
    # A name of the contract is no slip of the pen: say what is there instead of guessing.
    right = label in _CANONICAL[dim]
    hint = f" It holds: {', '.join(known)}." if right else did_you_mean(label, known)
    if right and dim in USUAL:  # perhaps nobody asked for it
        hint += f" Ask for one of these, as {dim}={known[0]!r}"
    return LabelError(f"{dim} {str(label)!r} is not in {where}.{hint}")


def as_list(labels: Labels) -> list[str]:
    """Return labels as a list.

    Examples
    --------
    >>> as_list("LDC"), as_list(["LDC", "QDC"]), as_list(None)
    (['LDC'], ['LDC', 'QDC'], [])
    """
    if labels is None:
        return []
    return [labels] if isinstance(labels, str) else list(labels)


def usual_label(dim: str, label: str, known: Sequence[str], where: str) -> str:
    """Return a label that nobody asked for, or the only other one that there is.

    Raises
    ------
    LabelError
        There are several others: one of them has to be asked for.

    Examples
    --------
    >>> usual_label("sampling", "random", ["additive", "random"], "the database")
    'random'
    >>> usual_label("sampling", "random", ["additive"], "the database")
    'additive'
    """
    if label in known:
        return label
    if len(known) == 1:
        return known[0]
    raise _unknown(dim, label, known, where)


def check_label(kind: str, label: object, several: str = "") -> None:
    """Raise LabelError unless a label is text; `several` says what takes more than one.

    Examples
    --------
    >>> check_label("learner", ["LDC", "QDC"], "db.select")
    Traceback (most recent call last):
        ...
    lcdb.errors.LabelError: learner is ['LDC', 'QDC'], a list; expected one name as text. \
db.select takes several
    """
    if not isinstance(label, str):
        more = f". {several} takes several" if several else ""
        msg = f"{kind} is {label!r}, a {type(label).__name__}; expected one name as text{more}"
        raise LabelError(msg)


def check_where(where: Where) -> None:
    """Raise LabelError unless labels are text, or lists of text."""
    for dim, labels in where.items():
        if labels is not None and not isinstance(labels, str | Iterable):
            check_label(dim, labels)
        for label in as_list(labels):
            check_label(dim, label)


def check_metric(metric: object) -> None:
    """Raise LabelError unless a metric of that name exists."""
    check_label("metric", metric)
    if metric not in METRICS:
        msg = f"metric {str(metric)!r} does not exist.{did_you_mean(metric, METRICS)}"
        raise LabelError(msg)


def check_scaling(scaling: object) -> None:
    """Raise LabelError unless a scaling of that name exists.

    Examples
    --------
    >>> check_scaling("standard")
    """
    check_label("scaling", scaling)
    if scaling not in SCALINGS:
        msg = f"scaling {str(scaling)!r} does not exist.{did_you_mean(scaling, SCALINGS)}"
        raise LabelError(msg)


def check_labels(headers: Iterable[Header], where: Where, place: str) -> None:
    """Raise LabelError for a label that none of the cubes has."""
    cubes = list(headers)
    for dim, labels in where.items():
        known = list(dict.fromkeys(label for cube in cubes for label in cube.labels[dim]))
        for label in as_list(labels):
            if label not in known:
                raise _unknown(dim, label, known, place)


def positions(header: Header, where: Where, *, lenient: bool = False) -> dict[str, int | list[int]]:
    """Return the positions of labels along the unit dims, as `isel` takes them.

    With `lenient`, labels of a list that this cube lacks are left out as long as one remains.
    A summary has no positions of curves: it raises SummaryError.
    """
    header.need_repetitions()
    place = f"cube {header.id} ({header.name})"
    found: dict[str, int | list[int]] = {}
    for dim, labels in where.items():
        known = header.labels[dim]
        wanted = as_list(labels)
        there = [label for label in wanted if label in known]
        if len(there) < len(wanted) and not (lenient and there):
            missing = next(label for label in wanted if label not in known)
            raise _unknown(dim, missing, known, place)
        if isinstance(labels, str):
            found[dim] = known.index(labels)
        elif labels is not None:
            found[dim] = [known.index(label) for label in there]
    return found


def take(
    dataset: xr.Dataset, header: Header, index: Mapping[str, int | list[int]], metric: str
) -> xr.DataArray:
    """Return a part of one metric, lazily, with coordinates: at the sizes that it was built at.

    In float64, accuracy as the share that its count is. The coordinates are `fraction`, `status`,
    `dataset` and `scaling`.
    """
    import xarray as xr

    from lcdb.scores import exact_scores

    array = at_sizes(exact_scores(dataset, metric), _sizes(dataset, header, index)).isel(index)
    codes = xr.DataArray(header.status, dims=UNIT_DIMS).isel(index)
    fraction = array["n"].values / header.largest_size
    attrs = {"long_name": "training set size as a share of the largest", "units": "1"}
    array = array.assign_coords(
        fraction=("n", fraction, attrs),
        status=(codes.dims, np.array(STATUSES)[codes.values]),
        dataset=header.id,
        scaling=header.scaling,
    )
    array.attrs["dataset_name"] = header.name
    return array


def _sizes(dataset: xr.Dataset, header: Header, index: Mapping[str, int | list[int]]) -> np.ndarray:
    """Return the sizes of the curves that are taken, as far as these have values."""
    digests = dataset["digest"].values
    taken = np.zeros(digests.shape, bool)
    taken[np.ix_(*(np.atleast_1d(index.get(dim, range(n))) for dim, n in
                   zip(UNIT_DIMS, digests.shape, strict=True)))] = True  # fmt: skip
    if not (digests[taken] != "").any():
        return header.sizes
    plan = json.loads(dataset.attrs["plan"])
    return built_sizes(plan, np.where(taken, digests, ""), header.labels, header.largest_size)


def at_sizes(array: Array, sizes: np.ndarray) -> Array:
    """Return a lazy array or dataset at some of its sizes n."""
    known = array["n"].values
    if np.array_equal(known, sizes):
        return array
    places = np.flatnonzero(np.isin(known, sizes))
    first, last, step = size_runs(places.tolist())[0]
    # A file reads a slice faster than a list of positions.
    is_slice = (last - first) // step + 1 == len(places)
    return array.isel(n=slice(first, last + 1, step) if is_slice else places)


def take_several(
    dataset: xr.Dataset,
    header: Header,
    index: Mapping[str, int | list[int]],
    metrics: Sequence[str],
) -> xr.Dataset:
    """Return the same part of several metrics: as `take` has each of them."""
    import xarray as xr

    parts = {metric: take(dataset, header, index, metric) for metric in metrics}
    return xr.Dataset(parts, attrs={"dataset_name": header.name})
