"""One cube file: its header at once, its arrays when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from lcdb._version import __version__
from lcdb.digests import built_sizes, size_runs, unit_sizes
from lcdb.errors import (
    FormatVersionError,
    LabelError,
    MissingExtraError,
    SchemaError,
    SummaryError,
    did_you_mean,
)
from lcdb.foreign import refuse_foreign_storage
from lcdb.hdf5 import DRIVER, damage
from lcdb.manifest import stamp_of
from lcdb.naming import as_number, cube_key
from lcdb.schema import (
    CUBE_KIND,
    DIMS,
    FORMAT_VERSION,
    LIFETIMES_KIND,
    STATUSES,
    SUMMARY_KIND,
    UNIT_DIMS,
    validate,
)
from lcdb.slices import Slices
from lcdb.text import visible
from lcdb.trust import check_signature, examine

if TYPE_CHECKING:
    import xarray as xr

    from lcdb.backend import HDF5Store

__all__ = ["Header", "cube_kind", "dask_chunks", "open_cube", "open_store", "read_header"]

# Whole curves in one dask chunk: 6 times faster to reduce than chunks as they are on disk.
_CHUNKS = {"n": -1, "repetition": -1}


@dataclass(frozen=True)
class Header:
    """What is known of a cube without reading its arrays.

    `runs` are the training sizes of which there are values, as (first, last, step).
    """

    path: Path
    id: str
    name: str
    rows: int
    features: int
    classes: int
    format_version: int
    labels: dict[str, tuple[str, ...]]
    runs: tuple[tuple[int, int, int], ...] = field(repr=False)
    repetitions: int
    status: np.ndarray = field(repr=False)
    scaling: str = "none"
    bytes: int = 0
    kind: str = CUBE_KIND

    @property
    def key(self) -> int | str:
        """What the cube is called in a database: an OpenML id is a number."""
        return as_number(cube_key(self.id, self.scaling))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The training sizes of which there are values, ascending."""
        return unit_sizes({"sizes": self.runs}).astype(np.int32)

    @property
    def size_count(self) -> int:
        """How many sizes that are."""
        return sum((last - first) // step + 1 for first, last, step in self.runs)

    @property
    def largest_size(self) -> int:
        """The largest training size that the dataset allows: floor(0.7 N)."""
        return self.rows * 7 // 10

    @property
    def is_summary(self) -> bool:
        """Whether statistics of each cell are there in the place of its repetitions."""
        return self.kind == SUMMARY_KIND

    def status_of(self, learner: str, sampling: str, split: str, tuning: str) -> str:
        """Return the status of a curve."""
        unit = zip(UNIT_DIMS, (learner, sampling, split, tuning), strict=True)
        return STATUSES[self.status[tuple(self.labels[dim].index(label) for dim, label in unit)]]

    def need_repetitions(self) -> None:
        """Raise if this is a summary: what is asked for takes the cube itself.

        Raises
        ------
        SummaryError
            The message says which cube that is.
        """
        if self.is_summary:
            msg = (
                f"{self.name} ({self.id}) is here as a summary ({self.path}), which has no "
                f"repetitions; this takes its full cube: lcdb.open the database that has it. "
                "db[dataset] has what the summary knows of each cell"
            )
            raise SummaryError(msg)

    @property
    def counts(self) -> dict[str, int]:
        """Number of curves by status."""
        found = np.bincount(self.status.ravel(), minlength=len(STATUSES))
        return {name: int(count) for name, count in zip(STATUSES, found, strict=True)}


def _text(value: Any) -> str:
    """Return a netCDF string attribute or element as str that is safe to print."""
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0]
    return visible(value.decode() if isinstance(value, bytes) else value)


def _integer(value: Any) -> int:
    return int(np.asarray(value).reshape(-1)[0])


def cube_kind(path: Path) -> str:
    """Return the kind of a cube file: ``"curves"`` or that of another cube, ``""`` if foreign."""
    check_signature(path)
    with damage(path), h5py.File(path, "r", **DRIVER) as file:
        return _kind(file)


def _kind(file: h5py.File) -> str:
    return _text(file.attrs["cube_kind"]) if "cube_kind" in file.attrs else ""


def read_header(path: Path) -> Header:
    """Return the header of a curve cube, or raise what is wrong with the file.

    Raises
    ------
    NotFoundError, DamagedError, SchemaError, FormatVersionError
        There is no such file; it is damaged; it is no curve cube; a newer lcdb wrote it.
    """
    check_signature(path)
    with damage(path), h5py.File(path, "r", **DRIVER) as file:
        return _header(path, file)


def _header(path: Path, file: h5py.File) -> Header:
    kind = _kind(file)
    if kind not in (CUBE_KIND, SUMMARY_KIND):
        told = f"cube_kind is {kind!r}" if kind else "it has no attribute 'cube_kind'"
        msg = f"{path} is not a curve cube of lcdb: {told}, expected {CUBE_KIND!r}"
        raise SchemaError(msg)
    version = _integer(file.attrs["format_version"])
    if version > FORMAT_VERSION:
        msg = (
            f"{path} has format version {version}; lcdb {__version__} reads up to "
            f"{FORMAT_VERSION}: update lcdb-plusplus"
        )
        raise FormatVersionError(msg)
    refuse_foreign_storage(path, file)
    labels = {dim: tuple(map(_text, file[dim][...])) for dim in UNIT_DIMS}
    rows, axis = _integer(file.attrs["n_rows"]), file["n"]
    largest = rows * 7 // 10
    if kind == SUMMARY_KIND:
        repetitions, sizes = _integer(file.attrs["repetitions"]), axis[...]
        if not (
            len(sizes) and sizes[0] > 0 and (np.diff(sizes) > 0).all() and sizes[-1] <= largest
        ):
            msg = f"its sizes n are not some of 1 to {largest}, ascending"
            raise ValueError(msg)
    else:
        repetitions = len(file["repetition"])
        if len(axis) != largest or not np.array_equal(axis[...], np.arange(1, largest + 1)):
            msg = f"its sizes n are not 1 to {largest}, as of {rows} rows"
            raise ValueError(msg)
        if not np.array_equal(file["repetition"][...], np.arange(repetitions)):
            msg = "its repetitions do not count from 0"
            raise ValueError(msg)
        plan = json.loads(_text(file.attrs["plan"]))
        sizes = built_sizes(plan, file["digest"].asstr()[...], labels, largest)
    status = file["status"][...]
    if (
        status.shape != tuple(map(len, labels.values()))
        or not np.isin(status, range(len(STATUSES))).all()
    ):
        msg = "its status table does not fit its labels"
        raise ValueError(msg)
    return Header(
        path=path,
        id=_text(file.attrs["dataset_id"]),
        name=_text(file.attrs["dataset_name"]),
        rows=rows,
        features=_integer(file.attrs["n_features"]),
        classes=_integer(file.attrs["n_classes"]),
        format_version=version,
        labels=labels,
        runs=tuple((first, last, step) for first, last, step in size_runs(sizes.tolist())),
        repetitions=repetitions,
        status=status,
        scaling=_text(file.attrs["scaling"]) if "scaling" in file.attrs else "none",
        bytes=file.id.get_filesize(),
        kind=kind,
    )


def open_cube(
    path: Path, chunks: Any = None, check: bool | None = None
) -> tuple[Header, xr.Dataset]:
    """Open one cube file: its header as it is now, and a lazy dataset of the same file.

    A build may publish a larger cube at any moment; header and dataset must not be of two.

    Parameters
    ----------
    path
        The file.
    chunks
        None for plain arrays that are read when they are used; ``"auto"`` or True for dask arrays
        of whole curves; a dict for dask chunks by dim.
    check
        As `lcdb.open` takes it.
    """
    import xarray as xr

    wanted = dask_chunks(chunks)
    with damage(path):
        store = open_store(path, check)
        header = _header(path, store.file)
        if wanted is not None and header.is_summary:
            wanted = {dim: n for dim, n in wanted.items() if dim != "repetition"}
        dataset = xr.open_dataset(store, chunks=wanted)
        # What a manifest would have told of names, dims and attributes.
        if check is not False and not store.vouched:
            validate(dataset, values=False)
        return header, dataset


def open_store(path: Path, check: bool | None = None) -> HDF5Store:
    """Open a file that was examined: the very one, though builds may replace it at any moment.

    Parameters
    ----------
    path
        The file.
    check
        As `lcdb.open` takes it.
    """
    from lcdb.backend import HDF5Store

    while True:
        trust = examine([path], check)[path]
        store = HDF5Store(path)
        if stamp_of(path.stat()) == trust.stamp:
            break
        store.close()
    store.vouched = trust.record is not None
    if check and store.get_attrs().get("cube_kind") not in (SUMMARY_KIND, LIFETIMES_KIND):
        store.slices = Slices.of(path, trust.stamp, store.file, trust.record)
    return store


def dask_chunks(chunks: Any) -> dict[str, Any] | None:
    """Return chunks as xarray takes them, after checking what the user gave.

    Examples
    --------
    >>> dask_chunks("auto")
    {'n': -1, 'repetition': -1}
    >>> dask_chunks({"repetition": 100})
    {'n': -1, 'repetition': 100}
    """
    if chunks is None:
        return None
    if find_spec("dask") is None:
        msg = "chunks= needs dask, which is not installed: pip install dask"
        raise MissingExtraError(msg)
    if chunks is True or chunks == "auto":
        return dict(_CHUNKS)
    if not isinstance(chunks, Mapping):
        msg = f"chunks is {chunks!r}; expected None, 'auto' or a dict from dim to chunk length"
        raise TypeError(msg)
    for dim, length in chunks.items():
        if dim not in DIMS:
            msg = f"chunks names no dim {dim!r}.{did_you_mean(dim, DIMS)}"
            raise LabelError(msg)
        if isinstance(length, bool) or not isinstance(length, int) or (length < 1 and length != -1):
            msg = f"chunks[{dim!r}] is {length!r}; expected a length, or -1 for the whole dim"
            raise TypeError(msg)
    return {**_CHUNKS, **chunks}
