"""A cube as a netCDF-4 file: its skeleton, and the slices of its units.

What a cube holds is a pure function of its `Contents` and of the scores. Labels and slices are
written in one canonical order and without time stamps, so that the same content gives the same
bytes whatever the order in which it was computed.

Cells that were not built read as NaN, or -1 for integers: the latter by HDF5's own fill value,
since a `_FillValue` attribute would turn integers into floats on reading.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import h5netcdf
import h5py
import numpy as np

from lcdb.schema import LEARNER_ROWS, STATUSES, Variable
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import canonical_json
from lcdb_builders.storage.contents import AnyContents, read_attributes

__all__ = [
    "CubeWriter",
    "read_contents",
    "read_digests",
    "read_values",
    "same_chunks",
    "slice_digest",
    "unit_digest",
]

_FILTERS: dict[str, Any] = {
    "compression": "gzip",
    "compression_opts": 4,
    "shuffle": True,
    "fletcher32": True,
}
_TEXT = h5py.string_dtype()


def slice_digest(unit: AnyUnit, variable: Variable, values: np.ndarray) -> str:
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


def _where(contents: AnyContents, unit: AnyUnit, dims: Iterable[str]) -> tuple[int, ...]:
    """Return the index of a unit along dims of labels."""
    return tuple(contents.labels[dim].index(unit.at(dim)) for dim in dims)


def _slice(contents: AnyContents, unit: AnyUnit, variable: Variable) -> tuple[int, ...]:
    """Return the leading indices of a unit's slice; dims that count follow."""
    labelled = (dim for dim in variable.dims if dim not in contents.counters)
    return _where(contents, unit, labelled)


class CubeWriter:
    """A cube in the making.

    Slices must be given in the order of ``contents.units`` and of their `variables`: the order of
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
    >>> from lcdb_builders.domain.snapshot import Snapshot
    >>> from lcdb_builders.storage.contents import Contents
    >>> from lcdb_builders.domain.unit import DRAWS, Unit
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    >>> snapshot = Snapshot("toy", X, y, ("a", "b"), ("no", "yes"), "toy")
    >>> unit = Unit("toy", snapshot.sha256, 1, DRAWS, "", "{}", "1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> contents = Contents.of(snapshot, [unit], repetitions=4)
    >>> with CubeWriter(io.BytesIO(), contents) as writer:
    ...     for variable in unit.variables:
    ...         writer.put(unit, variable, np.ones((3, 4), variable.dtype))
    ...     writer.finish({}, {unit: "a digest"})
    """

    def __init__(self, file: Any, contents: AnyContents) -> None:
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

    def put(self, unit: AnyUnit, variable: Variable, values: np.ndarray) -> None:
        """Write one variable of a unit: array (sizes of the unit, repetitions of the cube)."""
        whole = self.contents.spread(unit, variable, values)
        self.file[variable.name][_slice(self.contents, unit, variable)] = whole

    def copy(self, unit: AnyUnit, variable: Variable, source: h5py.File, old: AnyContents) -> None:
        """Copy one variable of a unit from a cube of as many repetitions, chunk by chunk."""
        target = self.file[variable.name].id
        there = _slice(self.contents, unit, variable)
        slice_ = _slice(old, unit, variable)
        origin = source[variable.name].id
        for start in _chunk_starts(self.file[variable.name], len(there)):
            mask, chunk = origin.read_direct_chunk((*slice_, *start))
            target.write_direct_chunk((*there, *start), chunk, mask)

    def finish(self, statuses: Mapping[AnyUnit, str], digests: Mapping[AnyUnit, str]) -> None:
        """Write what is known once all slices are: status and digest of every unit."""
        for unit, digest in digests.items():
            name, dims = self.contents.digest_table(unit)
            self.file[name][_where(self.contents, unit, dims)] = digest
        for unit, status in statuses.items():
            where = _where(self.contents, unit, self.contents.unit_dims)
            self.file["status"][where] = np.int8(STATUSES.index(status))

    def close(self) -> None:
        """Close the HDF5 file; the file object stays open."""
        self.file.close()

    def __enter__(self) -> CubeWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _chunk_starts(stored: h5py.Dataset, labelled: int) -> Iterator[tuple[int, ...]]:
    """Return where chunks begin along the dims that count, behind those of labels."""
    lengths = zip(stored.shape[labelled:], stored.chunks[labelled:], strict=True)
    return itertools.product(*(range(0, length, chunk) for length, chunk in lengths))


def same_chunks(
    one: tuple[h5py.File, AnyContents],
    other: tuple[h5py.File, AnyContents],
    unit: AnyUnit,
    variable: Variable,
) -> bool:
    """Return whether two cubes have the same bytes for one variable of a unit."""
    chunks = []
    for file, contents in (one, other):
        where, stored = _slice(contents, unit, variable), file[variable.name]
        starts = _chunk_starts(stored, len(where))
        chunks.append([stored.id.read_direct_chunk((*where, *start)) for start in starts])
    return chunks[0] == chunks[1]


def _write_coordinates(netcdf: h5netcdf.File, contents: AnyContents) -> None:
    netcdf.dimensions = contents.shape
    for dim, text in contents.dim_names.items():
        coordinate = netcdf.create_variable(dim, (dim,), dtype=_TEXT)
        coordinate[...] = np.array(contents.labels[dim], object)
        coordinate.attrs["long_name"] = text
        rows = [LEARNER_ROWS[name] for name in contents.labels[dim] if name in LEARNER_ROWS]
        if rows:
            coordinate.attrs["comment"] = "; ".join(f"{row.name}: {row.long_name}" for row in rows)
    for dim, (first, text) in contents.counters.items():
        data = np.arange(first, first + contents.shape[dim], dtype=np.int32)
        coordinate = netcdf.create_variable(dim, (dim,), data=data)
        coordinate.attrs["units"] = "1"
        coordinate.attrs["long_name"] = text


def _create_variable(netcdf: h5netcdf.File, contents: AnyContents, variable: Variable) -> None:
    chunks = contents.chunks(variable)
    dtype = np.dtype(variable.dtype)
    fill: dict[str, Any] = {"fillvalue": dtype.type("nan")} if dtype.kind == "f" else {}
    if dtype.kind != "f":
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_fill_value(np.array(variable.empty, variable.dtype))
        fill = {"dcpl": properties}
    created = netcdf.create_variable(
        variable.name, variable.dims, dtype=variable.dtype, chunks=chunks, **fill, **_FILTERS
    )
    for name, value in contents.attributes_of(variable).items():
        created.attrs[name] = value


def _create_tables(netcdf: h5netcdf.File, contents: AnyContents) -> None:
    """Create what is small and kept by unit: status, parameters, digests."""
    dims = contents.unit_dims
    status = netcdf.create_variable(
        "status", dims, data=np.zeros([contents.shape[dim] for dim in dims], np.int8)
    )
    status.attrs["long_name"] = contents.status_name
    status.attrs["flag_values"] = np.arange(len(STATUSES), dtype=np.int8)
    status.attrs["flag_meanings"] = " ".join(STATUSES)
    for name, (numbers, text) in contents.counts.items():
        table = netcdf.create_variable(name, dims, data=numbers)
        table.attrs["long_name"] = text
    for name, (dims, text) in contents.texts.items():
        table = netcdf.create_variable(name, dims, dtype=_TEXT)
        table.attrs["long_name"] = text
        table[...] = np.full([contents.shape[dim] for dim in dims], "", object)
    for name, texts in contents.text_values.items():
        for where, text in texts.items():
            netcdf[name][where] = text


def read_contents(file: h5py.File) -> AnyContents:
    """Return what a cube says that it holds."""
    attributes = {name: _plain(value) for name, value in file.attrs.items() if name[0] != "_"}
    return read_attributes(attributes)


def _plain(value: Any) -> str | int:
    item = np.asarray(value).reshape(-1)[0]
    return item if isinstance(item, str) else int(item)


def read_digests(
    file: h5py.File, contents: AnyContents, units: Iterable[AnyUnit]
) -> dict[AnyUnit, str]:
    """Return the digests of units that a cube carries with it, and that a manifest may lose."""
    digests = {}
    for unit in units:
        name, dims = contents.digest_table(unit)
        digests[unit] = file[name].asstr()[_where(contents, unit, dims)]
    return digests


def read_values(
    file: h5py.File, contents: AnyContents, unit: AnyUnit, variable: Variable
) -> np.ndarray:
    """Return one variable of a unit: array (sizes of the unit, repetitions of the cube)."""
    whole = file[variable.name][_slice(contents, unit, variable)]
    return contents.gather(unit, variable, whole)
