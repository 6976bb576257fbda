"""What `Database.select` returns goes in, and the same kind of thing comes out.

A function of one array takes as well a dict of arrays by dataset, and gives a dict; a
`xarray.Dataset` of several metrics, and gives the dim ``metric``; and a whole cube. What it is
about is decided here, once, so that functions are written for one array.
Of a summary, or a part of one, there is an answer as far as it knows it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

import xarray as xr

from lcdb.analysis.of_summaries import is_summary, of_summary
from lcdb.errors import LabelError
from lcdb.schema import METRICS
from lcdb.scores import exact_scores

__all__ = ["by_dataset", "metrics_of", "takes_selections"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Belongs to accuracies alone: counts of test rows.
_TEST_ROWS = "n_test"


def by_dataset(function: _Function) -> _Function:
    """Let a function of one array or cube take a dict of them by dataset, and return a dict.

    Further arguments that are dicts by dataset themselves, such as ``n_test``, are taken apart too.

    Examples
    --------
    >>> @by_dataset
    ... def largest(scores):
    ...     return float(scores.max())
    >>> largest({61: xr.DataArray([1.0, 2.0]), 11: xr.DataArray([3.0])})
    {61: 2.0, 11: 3.0}
    """

    @functools.wraps(function)
    def call(scores: Any, *arguments: Any, **options: Any) -> Any:
        if not _is_dict(scores):
            return function(scores, *arguments, **options)
        parts = {}
        for key in scores:
            chosen = [_of(key, value) for value in arguments]
            named = {name: _of(key, value) for name, value in options.items()}
            parts[key] = function(scores[key], *chosen, **named)
        return parts

    return cast(_Function, call)


def takes_selections(function: _Function) -> _Function:
    """Let a function of one array take whatever ``db.select`` returns, or a cube of ``db``.

    Of a dataset with several metrics the results are put together along the dim ``metric``; an
    argument ``n_test`` reaches accuracies alone.

    Examples
    --------
    >>> @takes_selections
    ... def mean(scores):
    ...     return scores.mean("repetition")
    >>> scores = xr.Dataset({"auc": ("repetition", [0.5, 1.0]), "brier": ("repetition", [0.0, 1])})
    >>> mean(scores).metric.values.tolist(), mean(scores).values.tolist()
    (['auc', 'brier'], [0.75, 0.5])
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(scores: Any, *arguments: Any, **options: Any) -> Any:
        if is_summary(scores):
            _, *given = signature.bind(scores, *arguments, **options).arguments.items()
            return of_summary(function.__name__, scores, dict(given))
        if not isinstance(scores, xr.Dataset):
            return function(scores, *arguments, **options)
        _, *named = signature.bind(scores, *arguments, **options).arguments.items()
        found = {
            name: function(array, **_of_metric(name, dict(named)))
            for name, array in metrics_of(scores)
        }
        return _along_metrics(found)

    return by_dataset(cast(_Function, call))


def metrics_of(dataset: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield the metrics of a dataset, in float64: those of a cube as `Database.curve` has them."""
    names = [str(name) for name in dataset.data_vars if name in METRICS]
    if not names:
        there = ", ".join(map(str, dataset.data_vars)) or "nothing"
        msg = f"the dataset holds {there}; expected one or more of {', '.join(METRICS)}"
        raise LabelError(msg)
    for name in names:
        array = exact_scores(dataset, name)
        if "dataset_name" in dataset.attrs:
            array = array.assign_attrs(dataset_name=dataset.attrs["dataset_name"])
        yield name, array


def _along_metrics(found: Mapping[str, Any]) -> Any:
    """Return results of several metrics as one, along the dim ``metric``."""
    parts = []
    for name, result in found.items():
        attrs = {k: v for k, v in result.attrs.items() if k not in ("direction", "metric")}
        part = result.drop_attrs(deep=False).assign_attrs(attrs)
        parts.append(part.assign_coords(metric=name))
        if isinstance(part, xr.DataArray):
            parts[-1].name = "value"
    options: dict[str, Any] = {"coords": "minimal", "compat": "override", "join": "outer"}
    return xr.concat(parts, "metric", combine_attrs="drop_conflicts", **options)


def _is_dict(scores: object) -> bool:
    # A Dataset is a mapping of variables, not of datasets.
    return isinstance(scores, Mapping) and not isinstance(scores, xr.Dataset)


def _of(key: Any, value: Any) -> Any:
    if not _is_dict(value):
        return value
    if key not in value:
        msg = f"an argument has no entry for dataset {key!r}; expected one for each of the scores"
        raise LabelError(msg)
    return value[key]


def _of_metric(metric: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as they are for one metric: datasets of several metrics are taken apart."""
    parts = dict(options)
    for name, value in options.items():
        if name == _TEST_ROWS and metric != "accuracy":
            parts[name] = None
        elif isinstance(value, xr.Dataset) and metric in value:
            parts[name] = dict(metrics_of(value))[metric]
    return parts
