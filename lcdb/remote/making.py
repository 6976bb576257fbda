"""A cube becomes an index: where each chunk lies, its checksum, and all that is small.

The index is a function of the cube and of the reasons in its manifest, without times or versions of
ours, so that the same cube has the same index wherever it is made.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

from lcdb.cubefile import Header, cube_kind, open_cube, open_store, read_header
from lcdb.errors import DamagedError, SchemaError, StaleError
from lcdb.hdf5 import attributes, damage, dims_of
from lcdb.manifest import stamp_of
from lcdb.reasons import read_reasons
from lcdb.regular import open_regular
from lcdb.remote.format import (
    CUBE_INDEX,
    FOLDER_INDEX,
    INDEX_VERSION,
    column,
    encode,
    index_name,
    plain,
)
from lcdb.schema import EXPERIMENTS
from lcdb.trials import TrialHeader, read_trial_header
from lcdb.trust import examine

__all__ = ["cube_index", "folder_index"]

#: HDF5's numbers of filters, and what they are called here.
_FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32"}


# A cube is read again that changed meanwhile, if only because another site was linked to it.
_ATTEMPTS = 5


def cube_index(path: Path) -> bytes:
    """Return the index of a cube, after comparing the whole file with its manifest.

    Without a manifest every value is read and compared with the digests in the cube itself.

    Raises
    ------
    NotFoundError, DamagedError, SchemaError, StaleError
        There is no such file; it is not what was written; it is no cube, or stored otherwise; it
        was replaced again and again.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     index = cube_index(db.headers[61].path)
    >>> len(index) < 20_000
    True
    """
    for _ in range(_ATTEMPTS):
        content = _content(path)
        if content is not None:
            return encode(content)
    msg = f"{path} was replaced while its index was made: run the same command again"
    raise StaleError(msg)


def _content(path: Path) -> dict[str, Any] | None:
    """Return what the index of a cube says; None if it was not the same file all the time."""
    trust = examine([path])[path]
    record, header = trust.record, _header(path)
    with open_regular(path, "a cube") as raw:
        sha256 = hashlib.file_digest(raw, "sha256").hexdigest()  # type: ignore[arg-type]
        if record is None:
            _read_all(path, header)
        elif record.sha256 != sha256:
            msg = f"{path} is damaged: it has another digest than its manifest has of it"
            raise DamagedError(msg)
        with damage(path), h5py.File(raw, "r") as file:
            content = {
                "kind": CUBE_INDEX,
                "index_version": INDEX_VERSION,
                "header": {**_described(header), "bytes": raw.seek(0, 2), "sha256": sha256},
                "attributes": {name: plain(v) for name, v in attributes(file).items()},
                "variables": [_variable(path, raw, file, name) for name in file],
                "reasons": _reasons(header),
            }
        same = stamp_of(os.fstat(raw.fileno())) == stamp_of(path.stat()) == trust.stamp
    return content if same else None


def _header(path: Path) -> Header | TrialHeader:
    return read_trial_header(path) if cube_kind(path) in EXPERIMENTS else read_header(path)


def _read_all(path: Path, header: Header | TrialHeader) -> None:
    """Read every value once, which raises where one is not what was written."""
    import xarray as xr

    if isinstance(header, Header):
        dataset = open_cube(path, check=True)[1]
    else:
        dataset = xr.open_dataset(open_store(path, check=True))
    with dataset:
        for array in dataset.variables.values():
            # Curve by curve, which is what digests are of; a summary is small.
            leading = () if header.is_summary else array.shape[: max(0, array.ndim - 2)]
            for where in itertools.product(*map(range, leading)):
                array[where].values  # noqa: B018  # reading it is what compares it


def _described(header: Header | TrialHeader) -> dict[str, Any]:
    """Return what opening a database needs to know of a cube."""
    shared: dict[str, Any] = {
        "file": header.path.name,
        "labels": {dim: list(labels) for dim, labels in header.labels.items()},
        "status": header.status.ravel().tolist(),
        "format_version": header.format_version,
    }
    if isinstance(header, TrialHeader):
        more = {"trials": header.trials, "wanted": header.wanted.ravel().tolist()}
        return {**shared, **more, "cube_kind": header.experiment}
    names = ("id", "name", "rows", "features", "classes", "repetitions", "scaling")
    told = {**shared, **{name: getattr(header, name) for name in names}, "cube_kind": header.kind}
    if header.is_summary:
        return {**told, "sizes": header.sizes.tolist()}
    # Most cubes have every size: only others say which ones they have.
    every = ((1, header.largest_size, 1),)
    return told if header.runs == every else {**told, "runs": list(map(list, header.runs))}


def _reasons(header: Header | TrialHeader) -> list[list[str]]:
    known = read_reasons(header.path) if isinstance(header, Header) else {}
    return sorted([*labels, reason] for labels, reason in known.items())


def _variable(path: Path, raw: BinaryIO, file: h5py.File, name: str) -> dict[str, Any]:
    stored = file[name]
    is_text = h5py.check_string_dtype(stored.dtype) is not None
    described = {
        "name": name,
        "dims": list(dims_of(stored)),
        "shape": list(stored.shape),
        "dtype": "text" if is_text else stored.dtype.newbyteorder("<").str,
        "attributes": {key: plain(value) for key, value in attributes(stored).items()},
    }
    if stored.chunks:
        return {**described, "fill": plain(stored.fillvalue), "chunks": _chunks(path, raw, stored)}
    if is_text:
        return {**described, "values": stored.asstr()[...].ravel().tolist()}
    return {**described, "values": column(stored[...].ravel())}


def _chunks(path: Path, raw: BinaryIO, stored: h5py.Dataset) -> dict[str, Any]:
    """Return the table of a variable's chunks, in the order of their places in the array."""
    grid = [-(-n // chunk) for n, chunk in zip(stored.shape, stored.chunks, strict=True)]
    table = np.zeros((math.prod(grid), 4), np.int64)  # offset, length, checksum, mask
    found: list[Any] = []
    stored.id.chunk_iter(found.append)
    for one in found:
        where = [first // n for first, n in zip(one.chunk_offset, stored.chunks, strict=True)]
        raw.seek(one.byte_offset)
        checksum = zlib.crc32(raw.read(one.size))
        row = int(np.ravel_multi_index(where, grid))
        table[row] = one.byte_offset, one.size, checksum, one.filter_mask
    ends = np.concatenate([[0], (table[:, 0] + table[:, 1])[:-1]])
    described = {
        "shape": list(stored.chunks),
        "filters": _filters(path, stored),
        # From the end of the chunk before: mostly 0, which is nothing when it is compressed.
        "gaps": column(table[:, 0] - ends),
        "lengths": column(table[:, 1].astype(np.uint32)),
        "crc32": column(table[:, 2].astype(np.uint32)),
    }
    if table[:, 3].any():
        described["masks"] = column(table[:, 3].astype(np.uint32))
    return described


def _filters(path: Path, stored: h5py.Dataset) -> list[dict[str, Any]]:
    pipeline = stored.id.get_create_plist()
    described: list[dict[str, Any]] = []
    for i in range(pipeline.get_nfilters()):
        number, _, values, told = pipeline.get_filter(i)
        if number not in _FILTERS:
            msg = (
                f"{path}: {stored.name.lstrip('/')} is stored with the filter {told!r}; expected "
                "shuffle, deflate and fletcher32 alone, as cubes of lcdb have them"
            )
            raise SchemaError(msg)
        name = _FILTERS[number]
        described.append({"name": name, **({"level": values[0]} if name == "deflate" else {})})
    return described


def folder_index(records: Iterable[tuple[str, Mapping[str, Any]]]) -> bytes:
    """Return the index of a database directory.

    Parameters
    ----------
    records
        The index of every cube, after the name of the folder below the database in which the cube
        is: ``"cubes/"`` or ``"summaries/"``.
    """
    cubes = []
    for folder, record in records:
        header = record["header"]
        place = f"{folder}{header['file']}"
        described = {key: value for key, value in header.items() if key != "file"}
        index = {"index": index_name(place), "index_sha256": record["record_sha256"]}
        cubes.append({**described, "file": place, **index})
    cubes.sort(key=lambda cube: cube["file"])
    return encode({"kind": FOLDER_INDEX, "index_version": INDEX_VERSION, "cubes": cubes})
