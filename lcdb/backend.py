"""HDF5 as xarray reads it: a store of lazy arrays that opens in milliseconds and names damage.

xarray's own store asks h5netcdf for every shape and attribute many times, which makes opening a
cube ten times slower than reading a curve of it. This one reads what netCDF-4 files of the cube's
kind have: dimension scales, text labels, attributes, chunks and filters. Files are opened without
locks, so that a read-only or lock-less file system is no obstacle, and through HDF5's `stdio`
driver: HDF5 refuses to open one file twice in a process with different locking flags, but only
within one driver, so a cube that lcdb holds open can still be opened by plain xarray or h5py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from xarray.backends import AbstractDataStore, BackendArray, CachingFileManager
from xarray.core import indexing

from lcdb.errors import StaleError
from lcdb.foreign import refuse_foreign_storage
from lcdb.hdf5 import DRIVER, attributes, damage, dims_of
from lcdb.slices import Slices
from lcdb.text import visible

__all__ = ["HDF5Store"]

# What reading values raises where bytes are not what was written: not IndexError, the user's own.
_UNREADABLE = (OSError, RuntimeError, KeyError)
# Digest of what a cube holds, and where: two cubes of one plan have the same layout.
_PLAN = "plan_sha256"


class _Array(BackendArray):
    """One HDF5 dataset, read when it is indexed; it names the file where reading fails."""

    def __init__(self, store: HDF5Store, dataset: h5py.Dataset) -> None:
        self.manager = store.manager
        self.path = store.path
        self.plan = store.plan
        self.slices = store.slices
        self.name = dataset.name
        self.shape = dataset.shape
        self.is_text = h5py.check_string_dtype(dataset.dtype) is not None
        # The dtype of text that h5netcdf gives: objects that are known to be str.
        self.dtype = h5py.string_dtype() if self.is_text else dataset.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER_1VECTOR
        with damage(self.path, _UNREADABLE):
            return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        file = self.manager.acquire()
        if file.attrs.get(_PLAN, "") != self.plan:  # it was closed, replaced and opened again
            msg = f"{self.path} was replaced by a cube of another plan: open the database again"
            raise StaleError(msg)
        if self.slices is not None:
            self.slices.compare(file, self.name.lstrip("/"), key)
        dataset = file[self.name]
        lengths = [_length(one, size) for one, size in zip(key, self.shape, strict=True)]
        if 0 in lengths:  # h5py cannot select nothing along one dim and a list along another
            return np.empty([n for n in lengths if n is not None], self.dtype)
        return _visible(dataset.asstr()[key]) if self.is_text else dataset[key]


def _visible(texts: Any) -> Any:
    """Return texts without anything that a terminal would obey."""
    if not isinstance(texts, np.ndarray):
        return visible(texts)
    flat = [visible(text) for text in texts.ravel()]
    return np.array(flat, texts.dtype).reshape(texts.shape)


def _length(key: Any, size: int) -> int | None:
    """Return how many elements a key selects of a dim; None for a number, whose dim goes."""
    if isinstance(key, slice):
        return len(range(*key.indices(size)))
    return len(key) if isinstance(key, np.ndarray) else None


def _encoding(dataset: h5py.Dataset, path: Path, dims: tuple[str, ...]) -> dict[str, Any]:
    """Return how a variable is stored, in xarray's words."""
    encoding: dict[str, Any] = {
        "source": str(path),
        "original_shape": dataset.shape,
        "dtype": str if h5py.check_string_dtype(dataset.dtype) else dataset.dtype,
    }
    if dataset.chunks:
        encoding |= {
            "chunksizes": dataset.chunks,
            "preferred_chunks": dict(zip(dims, dataset.chunks, strict=True)),
            "zlib": dataset.compression == "gzip",
            "shuffle": dataset.shuffle,
            "fletcher32": dataset.fletcher32,
        }
        if dataset.compression == "gzip":
            encoding["complevel"] = dataset.compression_opts
        elif dataset.compression:
            encoding["compression"] = dataset.compression
    return encoding


class HDF5Store(AbstractDataStore):
    """A netCDF-4 file without groups, as `xarray.open_dataset` takes it.

    Parameters
    ----------
    path
        The file. It is opened once, and again where it is needed after it was closed; what it
        held must not have changed its place by then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manager = CachingFileManager(h5py.File, str(path), mode="r", kwargs=dict(DRIVER))
        self.plan = self.file.attrs.get(_PLAN, "")
        refuse_foreign_storage(path, self.file)
        #: Digests that values are compared with when they are read, if they are to be.
        self.slices: Slices | None = None
        #: Whether a manifest tells of the file.
        self.vouched = False

    @property
    def file(self) -> h5py.File:
        """The open file."""
        return self.manager.acquire()

    def get_variables(self) -> dict[str, xr.Variable]:
        """Return every variable of the file, lazily."""
        return {visible(name): self._variable(self.file[name]) for name in self.file}

    def _variable(self, dataset: h5py.Dataset) -> xr.Variable:
        dims = tuple(map(visible, dims_of(dataset)))
        data = indexing.LazilyIndexedArray(_Array(self, dataset))
        return xr.Variable(dims, data, attributes(dataset), _encoding(dataset, self.path, dims))

    def get_attrs(self) -> dict[str, Any]:
        """Return the global attributes."""
        return attributes(self.file)

    def get_dimensions(self) -> dict[str, int]:
        """Return the length of every dim that has a scale."""
        return {name: len(self.file[name]) for name in self.file if self.file[name].is_scale}

    def get_encoding(self) -> dict[str, Any]:
        """Return what there is to say of the file as a whole."""
        return {"unlimited_dims": set(), "source": str(self.path)}

    def close(self) -> None:
        """Close the file."""
        self.manager.close()
