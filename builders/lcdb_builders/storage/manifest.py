"""What stands beside a cube: its digest, the digests of its slices, who computed it, and when.

``manifest/<id>.json`` tells of the current cube and, while one is being published, of the next.
A cube is believed if its SHA-256 is that of either, so dying between the two writes is harmless.
All that would break the rule "same content, same bytes" is kept here and not in the cube.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

import h5py
from jsonschema import Draft202012Validator

from lcdb._version import __version__
from lcdb.errors import DamagedError, FormatVersionError
from lcdb.manifest import Extents, metadata_extents, metadata_sha256
from lcdb.regular import check_regular
from lcdb.schema import FORMAT_VERSION
from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.storage import disk
from lcdb_builders.storage.contents import AnyContents, Facts, contents_of
from lcdb_builders.storage.environment import Environment, environment, user
from lcdb_builders.storage.layout import Coverage, Rectangle
from lcdb_builders.storage.naming import describe, described
from lcdb_builders.storage.records import encode_record, read_record

__all__ = [
    "Entry",
    "Manifest",
    "Metadata",
    "Slice",
    "believed",
    "cube_path",
    "file_sha256",
    "manifest_path",
    "written_now",
]


def cube_path(root: Path, dataset: str) -> Path:
    """Return the file of a dataset's cube."""
    return disk.under(root, "cubes", f"{dataset}.nc")


def manifest_path(root: Path, dataset: str) -> Path:
    """Return the file of a dataset's manifest."""
    return disk.under(root, "manifest", f"{dataset}.json")


@dataclass(frozen=True)
class Slice:
    """What a manifest knows of one unit of a cube.

    Parameters
    ----------
    unit
        The unit.
    status, reason
        As in the cube, and why; draws have a status here, too.
    coverage
        The cells that are there, as rectangles.
    digests
        Of decoded values, by variable; empty where nothing is there.
    computed_on
        Environments that computed blocks of the unit.
    lost
        Of the cells that are there, those that lack values, and why.
    source
        Digest of the code that computed them; empty where it is not known of all.
    """

    unit: AnyUnit
    status: str
    reason: str = ""
    coverage: tuple[Rectangle, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    computed_on: tuple[Environment, ...] = ()
    lost: tuple[Lost, ...] = ()
    source: str = ""

    def is_whole(self, repetitions: int) -> bool:
        """Return whether every cell was computed, be it without a value."""
        return Coverage(self.unit, repetitions, self.coverage).complete


@dataclass(frozen=True)
class Metadata:
    """The bytes of a cube that belong to no chunk of values, which HDF5 keeps no checksum of.

    Parameters
    ----------
    sha256
        Of these bytes, one run behind the other.
    extents
        First byte and length of each run.
    """

    sha256: str
    extents: Extents

    @classmethod
    def of(cls, raw: BinaryIO, file: h5py.File) -> Metadata:
        """Return the metadata of a file that is open twice: as bytes, and in HDF5."""
        extents = metadata_extents(file)
        return cls(metadata_sha256(raw, extents), extents)

    @classmethod
    def from_json(cls, text: Mapping[str, Any] | None) -> Metadata | None:
        """Return what a manifest says; None if it says nothing."""
        if text is None:
            return None
        return cls(text["sha256"], tuple((first, length) for first, length in text["extents"]))


@dataclass(frozen=True)
class Entry:
    """One cube file: its digest, and all that is known of it.

    Parameters
    ----------
    sha256, length
        Of the file.
    facts, repetitions
        As in its `Contents`.
    origin
        Where the dataset came from, and what was imputed or dropped.
    slices
        One per unit, in the order of the cube.
    written
        Who wrote the file, when, and with what.
    metadata
        Digest of the bytes that belong to no chunk, and where these are: readers compare them
        before HDF5 looks at the file. None in manifests of versions that did not record it.
    """

    sha256: str
    length: int
    facts: Facts
    repetitions: int
    origin: Mapping[str, Any]
    slices: tuple[Slice, ...]
    written: Mapping[str, Any]
    metadata: Metadata | None = None

    @cached_property
    def contents(self) -> AnyContents:
        """What the cube holds besides scores."""
        return contents_of(self.facts, [s.unit for s in self.slices], self.repetitions)

    @cached_property
    def by_unit(self) -> dict[AnyUnit, Slice]:
        """Slices by unit."""
        return {s.unit: s for s in self.slices}

    def as_json(self) -> dict[str, Any]:
        """Return the entry as a JSON-able dict; environments are listed once."""
        known: list[Environment] = []
        units = [_slice_json(s, known) for s in self.slices]
        return {
            "cube": {"sha256": self.sha256, "bytes": self.length, **_metadata_json(self.metadata)},
            "facts": dict(self.facts),
            "repetitions": self.repetitions,
            "origin": dict(self.origin),
            "units": units,
            "environments": known,
            "written": dict(self.written),
        }

    @classmethod
    def from_json(cls, text: Mapping[str, Any]) -> Entry:
        """Return the entry of what `as_json` returned."""
        known = text["environments"]
        return cls(
            sha256=text["cube"]["sha256"],
            length=text["cube"]["bytes"],
            facts=text["facts"],
            repetitions=text["repetitions"],
            origin=text["origin"],
            slices=tuple(_slice_of(unit, known) for unit in text["units"]),
            written=text["written"],
            metadata=Metadata.from_json(text["cube"].get("metadata")),
        )


def _metadata_json(metadata: Metadata | None) -> dict[str, Any]:
    if metadata is None:
        return {}
    extents = [list(run) for run in metadata.extents]
    return {"metadata": {"sha256": metadata.sha256, "extents": extents}}


def _slice_json(s: Slice, known: list[Environment]) -> dict[str, Any]:
    known.extend(e for e in s.computed_on if e not in known)
    lost = {"lost": [one.as_json() for one in s.lost]} if s.lost else {}
    source = {"source": s.source} if s.source else {}
    return {
        **lost,
        **source,
        "unit": describe(s.unit),
        "status": s.status,
        "reason": s.reason,
        "coverage": [list(rectangle) for rectangle in s.coverage],
        "digests": dict(s.digests),
        "computed_on": [known.index(e) for e in s.computed_on],
    }


def _slice_of(text: Mapping[str, Any], known: Sequence[Environment]) -> Slice:
    return Slice(
        unit=described(text["unit"]),
        status=text["status"],
        reason=text["reason"],
        coverage=tuple(tuple(rectangle) for rectangle in text["coverage"]),
        digests=text["digests"],
        computed_on=tuple(known[i] for i in text["computed_on"]),
        lost=tuple(Lost.from_json(record) for record in text.get("lost", ())),
        source=text.get("source", ""),
    )


def written_now() -> dict[str, Any]:
    """Return who writes a cube here and now, and with what."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"by": user(), "at": now, **environment()}


@dataclass(frozen=True)
class Manifest:
    """The manifest of one dataset."""

    dataset: str
    current: Entry | None = None
    next: Entry | None = None

    def encode(self) -> bytes:
        """Return the bytes of the manifest file, checked against its schema."""
        content = {
            "dataset": self.dataset,
            "format_version": FORMAT_VERSION,
            "current": self.current and self.current.as_json(),
            "next": self.next and self.next.as_json(),
        }
        _validator().validate(content)
        return encode_record(content)

    @classmethod
    def read(cls, root: Path, dataset: str, *, fresh: bool = False) -> Manifest:
        """Return the manifest of a dataset, an empty one if there is none.

        Parameters
        ----------
        root, dataset
            Database directory and dataset.
        fresh
            Read the file even if it has not changed since it was last read.

        Raises
        ------
        DamagedError
            Its bytes are not what was written.
        FormatVersionError
            A newer version wrote it.
        """
        path = manifest_path(root, dataset)
        try:
            stamp = _stamp(path.stat())
            if fresh or path not in _manifests or _manifests[path][0] != stamp:
                _manifests[path] = (stamp, cls._decode(dataset, read_record(path), path))
        except FileNotFoundError:
            return cls(dataset)
        return _manifests[path][1]

    @classmethod
    def _decode(cls, dataset: str, content: dict[str, Any], path: Path) -> Manifest:
        if content.get("format_version", 0) > FORMAT_VERSION:
            msg = (
                f"{path} has format version {content['format_version']}; lcdb {__version__} knows "
                f"up to {FORMAT_VERSION}: update lcdb-plusplus"
            )
            raise FormatVersionError(msg)
        if not _validator().is_valid(content):  # its digest is right, so nothing is damaged
            msg = (
                f"{path} is not a manifest of format {FORMAT_VERSION} as lcdb {__version__} knows "
                "it: another version wrote it; use that one, or a newer one"
            )
            raise FormatVersionError(msg)
        entries = {
            key: Entry.from_json(content[key]) for key in ("current", "next") if content[key]
        }
        return cls(dataset, **entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The cubes that it tells of, the current one first."""
        return tuple(entry for entry in (self.current, self.next) if entry is not None)


@cache
def _validator() -> Draft202012Validator:
    text = (files("lcdb.schemas") / "manifest.schema.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


def _stamp(stat: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written or replaced."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


# What was read, by path, with the stamp of the file that it was read from.
_manifests: dict[Path, tuple[tuple[int, ...], Manifest]] = {}
_digests: dict[Path, tuple[tuple[int, ...], str]] = {}


def file_sha256(path: Path, *, fresh: bool = False) -> str:
    """Return the SHA-256 of a file; a file that has not changed since is not read again.

    Parameters
    ----------
    path
        The file.
    fresh
        Read it in any case.
    """
    check_regular(path)
    with path.open("rb") as file:
        stamp = _stamp(os.fstat(file.fileno()))
        if fresh or path not in _digests or _digests[path][0] != stamp:
            _digests[path] = (stamp, hashlib.file_digest(file, "sha256").hexdigest())
    return _digests[path][1]


def believed(root: Path, dataset: str, *, fresh: bool = False) -> Entry | None:
    """Return the manifest's entry for the cube that is there; None if there is none to believe.

    Either there is no cube, or it is not what any entry tells of: damaged, or without a manifest.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    fresh
        Read the file even if it seems unchanged.
    """
    tried: list[Manifest | None] = []
    while True:
        try:
            manifest = Manifest.read(root, dataset, fresh=fresh)
            sha256 = file_sha256(cube_path(root, dataset), fresh=fresh)
        except (FileNotFoundError, DamagedError):
            return None
        for entry in manifest.entries:
            if entry.sha256 == sha256:
                return entry
        # Another builder may have published between the two reads: look again until both hold.
        if manifest in tried:
            return None
        tried.append(manifest)
