"""The curves of some learners of a host's cube become a cube here, read by ranges.

It says what the host's says of the dataset, the plan and the labels; curves of other learners are
``not_built``. Each chunk is compared with its checksum in the index, and each curve with its
digests in the manifest. Chunks are kept in ``pull/`` until the cube is there, so that a copy can be
gone on with; more learners can join it later.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from lcdb.errors import DamagedError, NotFoundError, PlanError, SchemaError, StorageError
from lcdb.naming import cube_key
from lcdb.remote.address import Address
from lcdb.remote.diskcache import DiskCache
from lcdb.remote.host import Host
from lcdb.schema import Variable
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.storage import disk
from lcdb_builders.storage.blockfile import Scores
from lcdb_builders.storage.cube import slice_digest
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.indexes import index_packed
from lcdb_builders.storage.lease import TakenError, locked
from lcdb_builders.storage.manifest import (
    Entry,
    Manifest,
    Slice,
    believed,
    cube_path,
    file_sha256,
    manifest_path,
)
from lcdb_builders.storage.writing import Writing

__all__ = ["LARGEST_MANIFEST", "take"]

#: A manifest of more bytes is none.
LARGEST_MANIFEST = 256 << 20
_WORKERS = 4


def take(
    host: Host, root: Path, address: Address, described: dict[str, Any], learners: Collection[str]
) -> int:
    """Write a cube with the curves of some learners; return how many bytes of chunks came now.

    Parameters
    ----------
    host
        The database on the host.
    root
        The directory to write into.
    address, described
        One of the host's cubes of curves, and what its index says of it.
    learners
        Their labels. Those that the directory has already stay.

    Raises
    ------
    PlanError
        The directory holds another cube under that name.
    NotFoundError
        The host has no manifest of the cube.
    DamagedError
        What the host sent is not what its index and manifest describe.
    """
    key = cube_key(described["id"], described["scaling"])
    if _is_whole(cube_path(root, key), described["sha256"]):
        return 0
    pieces = _Pieces(disk.under(root, "pull", f"{described['sha256']}.chunks"))
    source = _Source(host, address, _entry(host, address, key, described, pieces.folder), pieces)
    source.fetch(_missing(root, key, source.entry, learners))
    try:
        with locked(root, key) as lease:
            taking, path = _Taking(root, key, source, learners), cube_path(root, key)
            if taking.new or taking.old is None:
                sha256 = taking.write(path, lease)
            else:
                sha256 = taking.old.sha256
            index_packed(root, path, sha256)
    except TakenError as error:
        msg = f"{cube_path(root, key)} was not written: {error}; run the same command again"
        raise StorageError(msg) from error
    pieces.clear()
    return pieces.bytes


def _is_whole(path: Path, sha256: str) -> bool:
    return path.exists() and file_sha256(path) == sha256


def _entry(
    host: Host, address: Address, key: str, described: dict[str, Any], folder: Path
) -> Entry:
    """Return what the host's manifest says of a cube; it is kept with the pieces."""
    target = manifest_path(folder, key)
    if not target.exists():
        source = address.parent.parent / "manifest" / target.name
        try:
            data = host.transport.whole(source, LARGEST_MANIFEST)
        except NotFoundError as error:
            msg = (
                f"{source} does not exist: curves of some learners are compared with their digests "
                "in the manifest; ask for 'manifest/' to be uploaded, or pull the cube with all"
            )
            raise NotFoundError(msg) from error
        disk.make_folder(target.parent)
        disk.replace(target, data)
    try:
        entries = Manifest.read(folder, key).entries
    except DamagedError:
        disk.unlink(target)  # so that the next attempt asks again
        raise
    for entry in entries:
        if entry.sha256 == described["sha256"]:
            return entry
    disk.unlink(target)
    msg = f"the manifest of {address} is of another cube: 'lcdb index' where the database is kept"
    raise DamagedError(msg)


def _missing(root: Path, key: str, theirs: Entry, learners: Collection[str]) -> list[Slice]:
    """Return the host's slices that are wanted and not here."""
    old = _standing(root, key, theirs)
    held = {s.unit for s in old.slices if s.coverage} if old is not None else set()
    return [s for s in theirs.slices if s.coverage and _wanted(s, learners) and s.unit not in held]


def _wanted(s: Slice, learners: Collection[str]) -> bool:
    return s.unit.is_draws or s.unit.at("learner") in learners


def _standing(root: Path, key: str, theirs: Entry) -> Entry | None:
    """Return the cube that is here if it is a part of the host's; None if there is none."""
    path = cube_path(root, key)
    if not path.exists():
        return None
    ours = believed(root, key)
    if ours is not None and ours.contents == theirs.contents:
        known = theirs.by_unit
        if all(s.digests == known[s.unit].digests for s in ours.slices if s.coverage):
            return ours
    msg = (
        f"{path} is no part of the host's cube: it is left as it is; pull into another directory, "
        "or move the file out of this one"
    )
    raise PlanError(msg)


class _Pieces(DiskCache):
    """Chunks that came from the host, each in a file, until they are in a cube."""

    def __init__(self, folder: Path) -> None:
        disk.make_folder(folder)
        self.folder = folder
        #: How much came now.
        self.bytes = 0
        self._lock = threading.Lock()

    def _path(self, key: str) -> Path:
        return self.folder / key.rpartition("-")[2]

    def put(self, key: str, value: bytes) -> None:
        """Keep a chunk."""
        with self._lock:
            self.bytes += len(value)
        disk.create(self._path(key), value)

    def clear(self) -> None:
        """Remove all of them, and the manifest that was kept with them."""
        for folder in (self.folder / "manifest", self.folder):
            for path in folder.iterdir() if folder.is_dir() else ():
                if path.is_file():
                    disk.unlink(path)
            disk.remove_folder(folder)


class _Source:
    """A cube on a host, of which curves are read."""

    def __init__(self, host: Host, address: Address, entry: Entry, pieces: _Pieces) -> None:
        self.address, self.entry = address, entry
        # Nothing between two chunks is read along: what was asked for is a part.
        self.reader = replace(host.reader(address), disk=pieces, check=True, gap=0)
        self.tables = host.tables(address)
        self._check(host)

    def _check(self, host: Host) -> None:
        """Raise where the index speaks of other arrays than the manifest."""
        contents = self.entry.contents
        for variable in contents.variables:
            table = self.tables.get(variable.name)
            shape = tuple(contents.shape[dim] for dim in variable.dims)
            if table is None or table.shape != shape or table.dtype != np.dtype(variable.dtype):
                msg = (
                    f"{self.address} does not hold {variable.name} as this version of lcdb writes "
                    "it: pull the cube with all its learners"
                )
                raise SchemaError(msg)
        labels = host.index(self.address)["header"]["labels"]
        if {dim: tuple(some) for dim, some in labels.items()} != contents.labels:
            msg = f"index and manifest of {self.address} speak of other curves"
            raise SchemaError(msg)

    def _key(self, unit: AnyUnit, variable: Variable) -> tuple[Any, ...]:
        contents = self.entry.contents
        return tuple(
            slice(None) if dim in contents.counters else contents.labels[dim].index(unit.at(dim))
            for dim in variable.dims
        )

    def fetch(self, slices: list[Slice]) -> None:
        """Bring the chunks of slices, several at the same time."""

        def one(s: Slice) -> None:
            chunks = [
                chunk
                for variable in s.unit.variables
                for chunk in self.tables[variable.name].chunks(self._key(s.unit, variable))
            ]
            self.reader.read(chunks, lambda *_: None)

        with ThreadPoolExecutor(_WORKERS) as pool:
            for _ in pool.map(one, slices):
                pass

    def values(self, s: Slice) -> Scores:
        """Return a slice's values, which are those that the manifest has the digests of."""
        contents, values = self.entry.contents, {}
        for variable in s.unit.variables:
            whole = self.tables[variable.name].read(self._key(s.unit, variable), self.reader)
            array = contents.gather(s.unit, variable, whole)
            if slice_digest(s.unit, variable, array) != s.digests[variable.name]:
                msg = (
                    f"{self.address}: {variable.name} of {s.unit.label} has another digest than "
                    "its manifest says; nothing of it was written"
                )
                raise DamagedError(msg)
            values[variable.name] = array
        return values


class _Taking(Writing):
    """The cube that is here, and curves of the host's, become the cube that is here."""

    def __init__(self, root: Path, key: str, source: _Source, learners: Collection[str]) -> None:
        theirs = source.entry
        self.root, self.dataset, self.origin = root, key, theirs.origin
        self.contents = theirs.contents
        self.old = _standing(root, key, theirs)
        self.new = {s.unit: s for s in _missing(root, key, theirs, learners)}
        self.blocks = dict.fromkeys(self.contents.units, ())
        self.slices = [self._slice(s, learners) for s in theirs.slices]
        self._source = source

    def _slice(self, theirs: Slice, learners: Collection[str]) -> Slice:
        """Return what this cube will have of a unit."""
        held = self.held(theirs.unit)
        if held is not None:
            return held
        if _wanted(theirs, learners):
            return theirs
        copies = f"'lcdb pull --learner {theirs.unit.at('learner')}' copies it"
        return Slice(theirs.unit, "not_built", f"not copied from the host; {copies}")

    def values(
        self, unit: AnyUnit, old: h5py.File | None
    ) -> tuple[Scores, tuple[Environment, ...], str]:
        """Return a unit's values as the host has them, and what its manifest says of them."""
        s = self.new[unit]
        return self._source.values(s), s.computed_on, s.source
