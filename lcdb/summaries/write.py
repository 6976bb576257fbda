"""A summary as a netCDF-4 file: the same content gives the same bytes."""

from __future__ import annotations

import io
from typing import Any

import h5netcdf
import h5py
import numpy as np
import xarray as xr

__all__ = ["as_netcdf"]

_TEXT = h5py.string_dtype()
_FILTERS: dict[str, Any] = {
    "compression": "gzip",
    "compression_opts": 9,
    "shuffle": True,
    "fletcher32": True,
}
#: Variables of fewer values are stored as they are.
_SMALL = 256
#: Sizes in one chunk: a learner's cells of one metric at these sizes come with one read.
_SIZES = 256


def as_netcdf(summary: xr.Dataset) -> bytes:
    """Return a summary that `describe` made as the bytes of its file.

    Examples
    --------
    >>> import lcdb
    >>> from lcdb.summaries.describe import describe
    >>> with lcdb.tutorial() as db:
    ...     small = describe(db["iris"].isel(learner=[0]), np.array([10, 100]), "0" * 64)
    >>> as_netcdf(small)[1:4], as_netcdf(small) == as_netcdf(small)
    (b'HDF', True)
    """
    buffer = io.BytesIO()
    with (
        h5py.File(buffer, "w", track_order=True) as file,
        h5netcdf.File(file, "w") as netcdf,
    ):
        netcdf.dimensions = {str(dim): length for dim, length in summary.sizes.items()}
        for name in (*summary.coords, *summary.data_vars):
            _write(netcdf, str(name), summary[name])
        for name, value in summary.attrs.items():
            netcdf.attrs[str(name)] = value
    return buffer.getvalue()


def _write(netcdf: h5netcdf.File, name: str, array: xr.DataArray) -> None:
    values = array.values
    if values.dtype.kind in "OUST":
        stored = netcdf.create_variable(name, array.dims, dtype=_TEXT)
        stored[...] = np.asarray(values, object)
    elif values.size < _SMALL or name in array.dims:
        stored = netcdf.create_variable(name, array.dims, data=values)
    else:
        fill = {"fillvalue": values.dtype.type("nan")} if values.dtype.kind == "f" else {}
        stored = netcdf.create_variable(
            name, array.dims, dtype=values.dtype, chunks=_chunks(array), **fill, **_FILTERS
        )
        stored[...] = values
    for key, value in array.attrs.items():
        stored.attrs[str(key)] = value


def _chunks(array: xr.DataArray) -> tuple[int, ...]:
    """Return chunks of one metric and learner, and of many sizes."""
    lengths = {"metric": 1, "learner": 1, "n": _SIZES}
    return tuple(min(lengths.get(str(dim), length), length) for dim, length in array.sizes.items())
