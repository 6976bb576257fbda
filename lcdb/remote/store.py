"""A cube on a host as xarray opens it: variables that are read by range when they are used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np
import xarray as xr
from xarray.backends import AbstractDataStore, BackendArray
from xarray.core import indexing

from lcdb.remote.chunks import Table
from lcdb.remote.format import from_plain, numbers
from lcdb.remote.ranges import Reader
from lcdb.text import visible

__all__ = ["RemoteStore"]


class _Array(BackendArray):
    """One variable, read when it is indexed."""

    def __init__(self, table: Table, reader: Reader) -> None:
        self.table, self.reader = table, reader
        self.shape, self.dtype = table.shape, table.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        return self.table.read(key, self.reader)


class RemoteStore(AbstractDataStore):
    """A cube by its index, as `xarray.open_dataset` takes it.

    Parameters
    ----------
    index
        The index of the cube.
    reader
        What reads its chunks.
    """

    def __init__(self, index: Mapping[str, Any], reader: Reader) -> None:
        self.index, self.reader = index, reader
        self._variables = {visible(one["name"]): self._variable(one) for one in index["variables"]}
        if len(self._variables) < len(index["variables"]):
            msg = "it has two variables of the same name"
            raise ValueError(msg)

    def _variable(self, described: Mapping[str, Any]) -> xr.Variable:
        attributes = _attributes(described)
        dims, shape = list(map(visible, described["dims"])), tuple(described["shape"])
        encoding: dict[str, Any] = {
            "source": str(self.reader.address),
            "original_shape": shape,
            "dtype": str if described["dtype"] == "text" else np.dtype(described["dtype"]),
        }
        data: Any
        if "chunks" in described:
            table = Table.of(described, self.reader.size)
            data = indexing.LazilyIndexedArray(_Array(table, self.reader))
            encoding |= _storage(described, dims)
        else:
            data = _inline(described)
        return xr.Variable(dims, data, attributes, encoding)

    def get_variables(self) -> dict[str, xr.Variable]:
        """Return every variable, lazily."""
        return dict(self._variables)

    def get_attrs(self) -> dict[str, Any]:
        """Return the global attributes."""
        return _attributes(self.index)

    def get_dimensions(self) -> dict[str, int]:
        """Return the length of every dim."""
        return {n: v.size for n, v in self._variables.items() if v.dims == (n,)}

    def get_encoding(self) -> dict[str, Any]:
        """Return what there is to say of the cube as a whole."""
        return {"unlimited_dims": set(), "source": str(self.reader.address)}

    def close(self) -> None:
        """Do nothing: no connection is held."""


def _attributes(described: Mapping[str, Any]) -> dict[str, Any]:
    return {visible(name): from_plain(value) for name, value in described["attributes"].items()}


def _inline(described: Mapping[str, Any]) -> np.ndarray:
    """Return values that the index itself has."""
    shape = tuple(described["shape"])
    if described["dtype"] == "text":
        values = list(map(visible, described["values"]))
        return np.array(values, h5py.string_dtype()).reshape(shape)
    return numbers(described["values"], described["dtype"], math.prod(shape)).reshape(shape)


def _storage(described: Mapping[str, Any], dims: list[str]) -> dict[str, Any]:
    """Return how a variable is stored, in xarray's words."""
    chunk = tuple(described["chunks"]["shape"])
    filters = {one["name"]: one for one in described["chunks"]["filters"]}
    encoding = {
        "chunksizes": chunk,
        "preferred_chunks": dict(zip(dims, chunk, strict=True)),
        "zlib": "deflate" in filters,
        "shuffle": "shuffle" in filters,
        "fletcher32": "fletcher32" in filters,
    }
    if "deflate" in filters:
        encoding["complevel"] = filters["deflate"]["level"]
    return encoding
