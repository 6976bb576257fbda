"""What the manifest beside a cube promises: the bytes of its metadata, the digests of its slices.

HDF5 keeps a checksum of every chunk of values but none of its own metadata, where a flipped bit
may make a curve another one, or HDF5 hang. The manifest has a digest of all bytes that are not
chunks: few enough to be read and compared in milliseconds before HDF5 looks at the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from lcdb.digests import canonical_json
from lcdb.errors import DamagedError, NotFoundError
from lcdb.regular import open_regular, read_regular
from lcdb.schema import FORMAT_VERSION

__all__ = [
    "Extents",
    "Record",
    "Stamp",
    "believed",
    "manifest_file",
    "metadata_extents",
    "metadata_sha256",
    "read_records",
    "stamp_of",
]

#: Runs of bytes of a file: first byte and length.
Extents = tuple[tuple[int, int], ...]
#: What changes when a file is written or replaced.
Stamp = tuple[int, ...]

# A cube whose manifest has no digest of metadata is read whole if it is as small as that.
_SMALL = 8_000_000
_ATTEMPTS = 3


def manifest_file(cube: Path) -> Path:
    """Return where the manifest of a cube is, if the cube is still in its database directory.

    Examples
    --------
    >>> manifest_file(Path("database/cubes/61.nc")).as_posix()
    'database/manifest/61.json'
    """
    return cube.parent.parent / "manifest" / f"{cube.stem}.json"


def stamp_of(found: os.stat_result) -> Stamp:
    """Return what tells a file from what it was, or from another in its place."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def metadata_extents(file: h5py.File) -> Extents:
    """Return where the bytes of a cube are that belong to no chunk of values."""
    chunks: list[tuple[int, int]] = []
    for name in file:
        stored = file[name]
        if isinstance(stored, h5py.Dataset) and stored.chunks:
            stored.id.chunk_iter(lambda one: chunks.append((one.byte_offset, one.size)))
    found: list[tuple[int, int]] = []
    position = 0
    for first, length in sorted(chunks):
        if first > position:
            found.append((position, first - position))
        position = max(position, first + length)
    size = file.id.get_filesize()
    return (*found, (position, size - position)) if size > position else tuple(found)


def metadata_sha256(file: BinaryIO, extents: Iterable[Iterable[int]]) -> str:
    """Return the digest of runs of bytes of a file, one behind the other."""
    digest = hashlib.sha256()
    for first, length in extents:
        file.seek(first)
        digest.update(file.read(length))
    return digest.hexdigest()


@dataclass(frozen=True)
class Record:
    """What a manifest says of one cube file.

    Parameters
    ----------
    sha256, length
        Of the whole file.
    metadata, extents
        Digest of its metadata, and where they are; empty in manifests that do not have them.
    units
        What is known of every unit: description, status, digests by variable.
    """

    sha256: str
    length: int
    metadata: str
    extents: Extents
    units: tuple[Mapping[str, Any], ...]


def read_records(cube: Path) -> tuple[Record, ...] | None:
    """Return what the manifest says of a cube, the current one first; None if nothing can be told.

    There is no manifest, or not one that is as it was written, or a newer version wrote it.
    """
    place = Path(os.path.abspath(cube))
    if place.parent.name != "cubes":
        return None
    try:
        content = json.loads(read_regular(manifest_file(place), "a manifest"))
        written = content.pop("record_sha256")
        if hashlib.sha256(canonical_json(content).encode()).hexdigest() != written:
            return None
        if content["format_version"] > FORMAT_VERSION:
            return None
        entries = [content[name] for name in ("current", "next") if content.get(name)]
        return tuple(map(_record, entries)) or None
    except (NotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _record(entry: Mapping[str, Any]) -> Record:
    file = entry["cube"]
    metadata = file.get("metadata", {"sha256": "", "extents": []})
    extents = tuple((first, length) for first, length in metadata["extents"])
    # Runs are read: they are within the file, one behind the other, whatever a manifest says.
    ends = [0, *(end for first, length in extents for end in (first, first + length))]
    if (
        any(type(end) is not int for end in ends)
        or ends != sorted(ends)
        or ends[-1] > file["bytes"]
    ):
        msg = "its metadata lie elsewhere than in the file"
        raise ValueError(msg)
    return Record(
        sha256=file["sha256"],
        length=file["bytes"],
        metadata=metadata["sha256"],
        extents=extents,
        units=tuple(entry["units"]),
    )


def believed(cube: Path) -> tuple[Record | None, Stamp]:
    """Return what the manifest promises of the file that is there, as far as it keeps that.

    Size and metadata are compared; chunks have checksums of their own and are compared when they
    are read.

    Returns
    -------
    Record or None
        None if nothing is known of the file.
    Stamp
        Of the file that was looked at.

    Raises
    ------
    DamagedError
        It is another file than the manifest tells of.
    """
    tried: list[tuple[Any, Stamp]] = []
    while True:
        records = read_records(cube)
        with open_regular(cube, "a cube") as file:
            stamp = stamp_of(os.fstat(file.fileno()))
            if records is None:
                return None, stamp
            size = os.fstat(file.fileno()).st_size
            wrong = [_wrong(record, file, size) for record in records]
        for record, what in zip(records, wrong, strict=True):
            if not what:
                return record, stamp
            if what == _UNKNOWN:
                return None, stamp
        # A build may have published between the two reads: look again until both hold.
        if (records, stamp) in tried or len(tried) >= _ATTEMPTS:
            msg = (
                f"{cube} is not the file that its manifest describes ({wrong[0]}): it is damaged, "
                f"or another was put in its place; 'lcdb verify' on its database says which parts "
                f"are lost and 'lcdb build' computes them again; lcdb.open(..., check=False) reads "
                "it as it is"
            )
            raise DamagedError(msg)
        tried.append((records, stamp))


_UNKNOWN = "unknown"


def _wrong(record: Record, file: BinaryIO, size: int) -> str:
    """Return how a file differs from what a record says; `_UNKNOWN` if too little is said."""
    if size != record.length:
        return f"it has {size:,} bytes, expected {record.length:,}"
    if record.metadata:
        differs = metadata_sha256(file, record.extents) != record.metadata
        return "its metadata have another digest" if differs else ""
    if size > _SMALL:
        return _UNKNOWN
    differs = metadata_sha256(file, [(0, size)]) != record.sha256
    return "its bytes have another digest" if differs else ""
