"""The seam between labelled arrays and `lcdb.stats`: repetition goes last, labels stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from lcdb.errors import LabelError

__all__ = ["REPETITION", "direction_of", "need_dims", "over_repetitions"]

REPETITION = "repetition"


def need_dims(array: xr.DataArray, *dims: str) -> None:
    """Raise unless an array has these dims."""
    missing = [dim for dim in dims if dim not in array.dims]
    if missing:
        msg = (
            f"the array has dims {tuple(map(str, array.dims))}; expected {', '.join(missing)} too: "
            "pass an array of db.curve or db.select that was not reduced"
        )
        raise LabelError(msg)


def direction_of(array: xr.DataArray, direction: str | None) -> str:
    """Return whether large or small scores are good: as asked, or as the metric says."""
    chosen = direction or array.attrs.get("direction", "maximize")
    if chosen not in ("maximize", "minimize"):
        msg = f"direction is {chosen!r}; expected 'maximize' or 'minimize'"
        raise LabelError(msg)
    return chosen


def over_repetitions(
    function: Callable[..., tuple[np.ndarray, ...]],
    *arrays: xr.DataArray,
    names: Sequence[str],
    core: Sequence[Sequence[str]] | None = None,
    out: Sequence[Sequence[str]] | None = None,
    sizes: dict[str, int] | None = None,
    dtypes: Sequence[type] | None = None,
) -> xr.Dataset:
    """Return the outputs of a function of arrays whose last axis is repetition, as a Dataset.

    Parameters
    ----------
    function
        Takes NumPy arrays with their core dims last; returns a tuple of arrays.
    *arrays
        What it takes; all other dims are kept, aligned and broadcast by name. Dask arrays are
        computed chunk by chunk, repetitions in one chunk.
    names
        Of the outputs.
    core
        Core dims by array; ``["repetition"]`` for each unless given.
    out
        New dims by output, with their lengths in `sizes`.
    dtypes
        Of the outputs; float unless given.
    """
    for array, inner in zip(arrays, core or [[REPETITION]] * len(arrays), strict=True):
        need_dims(array, *inner)
    dask: dict[str, Any] = {"output_sizes": sizes} if sizes else {}
    whole = [
        array.chunk(dict.fromkeys(inner, -1)) if array.chunks is not None else array
        for array, inner in zip(arrays, core or [[REPETITION]] * len(arrays), strict=True)
    ]

    def call(*blocks: np.ndarray) -> Any:
        results = function(*blocks)
        return results if len(results) > 1 else results[0]

    found = xr.apply_ufunc(
        call,
        *whole,
        input_core_dims=core or [[REPETITION]] * len(arrays),
        output_core_dims=out or [[] for _ in names],
        join="inner",
        dask="parallelized",
        dask_gufunc_kwargs=dask,
        output_dtypes=list(dtypes or [float] * len(names)),
        keep_attrs=False,
    )
    several = found if len(names) > 1 else (found,)
    return xr.Dataset(dict(zip(names, several, strict=True)))
