"""The curve cube as a netCDF-4 file: its skeleton, and the slices of its units.

What a cube holds is a pure function of its `Contents` and of the scores. Labels and slices are
written in one canonical order and without time stamps, so that the same content gives the same
bytes whatever the order in which it was computed.

Cells that were not built read as NaN, or -1 for integers: the latter by HDF5's own fill value,
since a `_FillValue` attribute would turn integers into floats on reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import h5netcdf
import h5py
import numpy as np

from lcdb.schema import (
    CHOICE_FLAGS,
    METRICS,
    STATUSES,
    UNIT_DIMS,
    VARIABLES,
    Variable,
)
from lcdb_builders.storage.contents import Contents
from lcdb_builders.unit import DRAWS, Unit, canonical_json

__all__ = [
    "CHUNK_SIZES",
    "CubeWriter",
    "read_contents",
    "read_digests",
    "read_values",
    "same_chunks",
    "slice_digest",
    "unit_digest",
    "unit_variables",
]

#: Sizes n per chunk; a chunk holds all repetitions.
CHUNK_SIZES = 64
_FILTERS: dict[str, Any] = {
    "compression": "gzip",
    "compression_opts": 4,
    "shuffle": True,
    "fletcher32": True,
}
_TEXT = h5py.string_dtype()
_COORDINATES = {
    "learner": "learner",
    "sampling": "how training sets are drawn",
    "split": "where training and test rows come from",
    "tuning": "default or tuned hyper-parameter",
    "n": "size of the training set",
    "repetition": "repetition",
}
_LONG_NAMES = {
    "n_clipped": "test rows whose label has a probability below the clip of the cross-entropy",
    "n_test": "number of test rows",
    "n_classes_train": "number of classes in the training set",
}


def unit_variables(unit: Unit) -> tuple[Variable, ...]:
    """Return the variables that hold a unit's values, in the order in which they are written.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, DRAWS, "", "{}", "1", "random", "fixed", "default", "", (1, 2))
    >>> [variable.name for variable in unit_variables(unit)]
    ['n_test', 'n_classes_train']
    """
    draws = unit.learner == DRAWS
    return tuple(
        variable
        for variable in VARIABLES.values()
        if draws == ("learner" not in variable.dims)
        and (unit.tuning == "tuned" or not variable.name.startswith("choice_"))
    )


def slice_digest(unit: Unit, variable: Variable, values: np.ndarray) -> str:
    """Return the digest of one variable of a unit: values, and what they are values of.

    Parameters
    ----------
    unit
        Its key is part of the digest, so that right numbers under a wrong label are found.
    variable
        One of the unit's variables.
    values
        Array (sizes of the unit, repetitions of the cube).
    """
    stored = np.ascontiguousarray(values, np.dtype(variable.dtype).newbyteorder("<"))
    digest = hashlib.sha256(canonical_json([unit.key, variable.name, list(stored.shape)]).encode())
    digest.update(stored.data)
    return digest.hexdigest()


def unit_digest(digests: Mapping[str, str]) -> str:
    """Return the digest of a unit from those of its variables."""
    return hashlib.sha256(canonical_json(dict(digests)).encode()).hexdigest()


def _where(contents: Contents, unit: Unit, dims: Iterable[str]) -> tuple[int, ...]:
    """Return the index of a unit along dims of labels."""
    return tuple(contents.labels[dim].index(getattr(unit, dim)) for dim in dims)


def _slice(contents: Contents, unit: Unit, variable: Variable) -> tuple[int, ...]:
    """Return the leading indices of a unit's slice; n and repetition follow."""
    return _where(contents, unit, variable.dims[:-2])


def _digest_table(unit: Unit) -> tuple[str, tuple[str, ...]]:
    """Return name and dims of the table that holds a unit's digest."""
    if unit.learner == DRAWS:
        return "draws_digest", ("sampling", "split")
    return "digest", UNIT_DIMS


class CubeWriter:
    """A cube in the making.

    Slices must be given in the order of ``contents.units`` and of `unit_variables`: the order of
    writing decides the bytes.

    Parameters
    ----------
    file
        A binary file object to write to; it is left open.
    contents
        What the cube is to hold.

    Examples
    --------
    >>> import io
    >>> from lcdb_builders.snapshot import Snapshot
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    >>> snapshot = Snapshot("toy", X, y, ("a", "b"), ("no", "yes"), "toy")
    >>> unit = Unit("toy", snapshot.sha256, 1, DRAWS, "", "{}", "1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> contents = Contents.of(snapshot, [unit], repetitions=4)
    >>> with CubeWriter(io.BytesIO(), contents) as writer:
    ...     for variable in unit_variables(unit):
    ...         writer.put(unit, variable, np.ones((3, 4), variable.dtype))
    ...     writer.finish({}, {unit: "a digest"})
    """

    def __init__(self, file: Any, contents: Contents) -> None:
        self.contents = contents
        # Without a chunk cache every chunk goes to the file when it is written: the order of
        # chunks in the file is then the order of writing, also for chunks copied as they are.
        self.file = h5py.File(file, "w", track_order=True, rdcc_nbytes=0)
        try:
            self._write_skeleton()
        except BaseException:
            self.file.close()
            raise

    def _write_skeleton(self) -> None:
        with h5netcdf.File(self.file, "w") as netcdf:
            _write_coordinates(netcdf, self.contents)
            for variable in self.contents.variables:
                _create_variable(netcdf, self.contents, variable)
            _create_tables(netcdf, self.contents)
            for name, value in self.contents.attributes.items():
                netcdf.attrs[name] = value

    def put(self, unit: Unit, variable: Variable, values: np.ndarray) -> None:
        """Write one variable of a unit: array (sizes of the unit, repetitions of the cube)."""
        shape = (self.contents.largest, self.contents.repetitions)
        whole = np.full(shape, variable.empty, variable.dtype)
        whole[np.array(unit.sizes) - 1] = values
        self.file[variable.name][_slice(self.contents, unit, variable)] = whole

    def copy(self, unit: Unit, variable: Variable, source: h5py.File, old: Contents) -> None:
        """Copy one variable of a unit from a cube of as many repetitions, chunk by chunk."""
        target = self.file[variable.name].id
        there = _slice(self.contents, unit, variable)
        here = _slice(old, unit, variable)
        origin = source[variable.name].id
        for start in _chunk_starts(self.contents):
            mask, chunk = origin.read_direct_chunk((*here, start, 0))
            target.write_direct_chunk((*there, start, 0), chunk, mask)

    def finish(self, statuses: Mapping[Unit, str], digests: Mapping[Unit, str]) -> None:
        """Write what is known once all slices are: status and digest of every unit."""
        for unit, digest in digests.items():
            name, dims = _digest_table(unit)
            self.file[name][_where(self.contents, unit, dims)] = digest
        for unit, status in statuses.items():
            where = _where(self.contents, unit, UNIT_DIMS)
            self.file["status"][where] = np.int8(STATUSES.index(status))

    def close(self) -> None:
        """Close the HDF5 file; the file object stays open."""
        self.file.close()

    def __enter__(self) -> CubeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _chunk_starts(contents: Contents) -> range:
    """Return where chunks begin along n."""
    return range(0, contents.largest, CHUNK_SIZES)


def same_chunks(
    one: tuple[h5py.File, Contents],
    other: tuple[h5py.File, Contents],
    unit: Unit,
    variable: Variable,
) -> bool:
    """Return whether two cubes have the same bytes for one variable of a unit."""
    chunks = []
    for file, contents in (one, other):
        where, stored = _slice(contents, unit, variable), file[variable.name].id
        chunks.append([stored.read_direct_chunk((*where, n, 0)) for n in _chunk_starts(contents)])
    return chunks[0] == chunks[1]


def _write_coordinates(netcdf: h5netcdf.File, contents: Contents) -> None:
    netcdf.dimensions = contents.shape
    for dim, text in _COORDINATES.items():
        if dim in UNIT_DIMS:
            coordinate = netcdf.create_variable(dim, (dim,), dtype=_TEXT)
            coordinate[...] = np.array(contents.labels[dim], object)
        else:
            first = int(dim == "n")
            data = np.arange(first, first + contents.shape[dim], dtype=np.int32)
            coordinate = netcdf.create_variable(dim, (dim,), data=data)
            coordinate.attrs["units"] = "1"
        coordinate.attrs["long_name"] = text


def _create_variable(netcdf: h5netcdf.File, contents: Contents, variable: Variable) -> None:
    chunks = (1,) * (len(variable.dims) - 2)
    chunks += (min(CHUNK_SIZES, contents.largest), contents.repetitions)
    fill: dict[str, Any] = {"fillvalue": np.float32("nan")}
    if variable.dtype != "float32":
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_fill_value(np.array(variable.empty, variable.dtype))
        fill = {"dcpl": properties}
    created = netcdf.create_variable(
        variable.name, variable.dims, dtype=variable.dtype, chunks=chunks, **fill, **_FILTERS
    )
    for name, value in _attributes(variable).items():
        created.attrs[name] = value


def _attributes(variable: Variable) -> dict[str, Any]:
    if variable.name in METRICS:
        metric = METRICS[variable.name]
        return {
            "long_name": metric.long_name,
            "units": "1",
            "direction": metric.direction,
            "valid_range": np.array([metric.low, metric.high], np.float32),
        }
    name = variable.name
    if name.startswith("choice_flag_"):
        metric_name = name.removeprefix("choice_flag_")
        flags = {
            "flag_values": np.arange(len(CHOICE_FLAGS), dtype=np.int8),
            "flag_meanings": " ".join(CHOICE_FLAGS),
        }
        return {"long_name": f"how the value was chosen for {metric_name}, -1: none", **flags}
    if name.startswith("choice_"):
        metric_name = name.removeprefix("choice_")
        return {"long_name": f"index in the grid of the value chosen for {metric_name}, -1: none"}
    return {"long_name": f"{_LONG_NAMES[name]}, -1: not built", "units": "1"}


def _create_tables(netcdf: h5netcdf.File, contents: Contents) -> None:
    """Create what is small and kept by unit: status, parameters, digests."""
    status = netcdf.create_variable(
        "status", UNIT_DIMS, data=np.zeros([contents.shape[d] for d in UNIT_DIMS], np.int8)
    )
    status.attrs["long_name"] = "whether a curve was built"
    status.attrs["flag_values"] = np.arange(len(STATUSES), dtype=np.int8)
    status.attrs["flag_meanings"] = " ".join(STATUSES)
    texts = {
        "learner_params": (("learner", "tuning"), "parameters and tuning rule as JSON"),
        "digest": (UNIT_DIMS, "SHA-256 of a curve's values in all variables"),
        "draws_digest": (("sampling", "split"), "SHA-256 of n_test and n_classes_train"),
    }
    for name, (dims, text) in texts.items():
        table = netcdf.create_variable(name, dims, dtype=_TEXT)
        table.attrs["long_name"] = text
        table[...] = np.full([contents.shape[dim] for dim in dims], "", object)
    for (learner, tuning), params in contents.learner_params.items():
        where = contents.labels["learner"].index(learner), contents.labels["tuning"].index(tuning)
        netcdf["learner_params"][where] = params


def read_contents(file: h5py.File) -> Contents:
    """Return what a cube says that it holds."""
    attributes = {name: _plain(value) for name, value in file.attrs.items() if name[0] != "_"}
    return Contents.from_attributes(attributes)


def _plain(value: Any) -> str | int:
    item = np.asarray(value).reshape(-1)[0]
    return item if isinstance(item, str) else int(item)


def read_digests(file: h5py.File, contents: Contents, units: Iterable[Unit]) -> dict[Unit, str]:
    """Return the digests of units that a cube carries with it, and that a manifest may lose."""
    found = {}
    for unit in units:
        name, dims = _digest_table(unit)
        found[unit] = file[name].asstr()[_where(contents, unit, dims)]
    return found


def read_values(file: h5py.File, contents: Contents, unit: Unit, variable: Variable) -> np.ndarray:
    """Return one variable of a unit: array (sizes of the unit, repetitions of the cube)."""
    whole = file[variable.name][_slice(contents, unit, variable)]
    return whole[np.array(unit.sizes) - 1]
