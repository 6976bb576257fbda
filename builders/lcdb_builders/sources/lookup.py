"""Where a snapshot comes from: the database, the user's cache, the package, OpenML, or a file."""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

from lcdb.errors import (
    DamagedError,
    DatasetError,
    FetchError,
    NotFoundError,
    StorageError,
)
from lcdb_builders.domain import snapshot as store
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.sources.cache import locked, snapshot_cache
from lcdb_builders.sources.catalog import find
from lcdb_builders.sources.files import FileSource, check_id
from lcdb_builders.sources.openml_client import OpenML

__all__ = ["fetch", "obtain", "openml_id"]

log = logging.getLogger("lcdb")

Folder = str | os.PathLike[str]


def openml_id(dataset: int | str) -> str:
    """Return the id, as text, of an OpenML dataset given by id or by the name of one of the ten.

    Examples
    --------
    >>> openml_id("iris"), openml_id(4)
    ('61', '4')
    """
    entry = find(dataset)
    return entry.id if entry else str(dataset).strip()


def _stored(folder: Path, id: str) -> tuple[Snapshot | None, str]:
    """Return a snapshot if it is there and whole, and what is damaged if it is not."""
    try:
        return store.load(folder, id), ""
    except NotFoundError:
        return None, ""
    except DamagedError as error:
        log.warning("%s", error)
        return None, str(error)


def _cached(keep: Path, id: str) -> tuple[Snapshot | None, str]:
    """Return a snapshot of the cache if it is there, whole, and what is known by this id.

    A snapshot may be whole and yet of other data: its digest is one of what somebody wrote there.
    """
    snapshot, damage = _stored(keep, id)
    entry = find(id)
    if snapshot is None or entry is None:
        return snapshot, damage
    try:
        entry.check(snapshot)
    except DatasetError as error:
        damage = f"the snapshot of dataset {id} in the cache {keep} is not used: {error}"
        log.warning("%s", damage)
        return None, damage
    return snapshot, ""


def _promised(folder: Path, id: str) -> str | None:
    """Return the digest that a damaged snapshot's JSON file promises, if that file is whole."""
    try:
        return str(store.read_manifest(folder, id)["sha256"])
    except (DamagedError, NotFoundError):
        return None


def obtain(
    dataset: int | str | FileSource,
    root: Folder | None = None,
    *,
    cache: Folder | None = None,
    offline: bool = False,
    openml: OpenML | None = None,
) -> Snapshot:
    """Return the snapshot of a dataset, wherever it can be had, and keep it in the database.

    It is looked for in the database directory, the user's cache, the package, and at OpenML. A
    damaged file in one place is reported, passed over and replaced by what the next place has.

    Parameters
    ----------
    dataset
        An OpenML id, the name of one of the ten, or a file.
    root
        A database directory; its ``snapshots`` folder gets a copy.
    cache
        The user's cache; by default that of ``LCDB_CACHE``.
    offline
        Whether to leave OpenML alone.
    openml
        Which server to ask; by default what the environment says.

    Raises
    ------
    FetchError
        It is nowhere, or OpenML could not be asked.
    DatasetError
        It cannot be used, or is not the dataset that is known by this id.
    DamagedError
        The database was built from data that cannot be had again.

    Examples
    --------
    >>> iris = obtain(61)
    >>> iris.X.shape, iris.class_names[0], iris.origin["source"]
    ((150, 4), 'Iris-setosa', 'bundled')
    """
    folder = None if root is None else Path(root) / "snapshots"
    if isinstance(dataset, FileSource):
        return _obtain_file(dataset, folder)
    id, keep = openml_id(dataset), snapshot_cache(cache)
    snapshot, damage = _stored(folder, id) if folder else (None, "")
    if snapshot:
        return snapshot
    snapshot, cache_damage = _cached(keep, id)
    snapshot = snapshot or bundled(id)
    if not snapshot and offline:
        msg = (
            f"dataset {id} is neither in the database, nor in the cache {keep}, nor in the package,"
            f" and OpenML is not asked when offline; run 'lcdb fetch {id}' where there is a network"
            f" (LCDB_CACHE names the cache), or 'lcdb fetch {id} --from FILE'"
        )
        raise FetchError("; ".join(part for part in (msg, damage, cache_damage) if part))
    snapshot = snapshot or _download(id, keep, openml, refresh=False)
    _publish(snapshot, folder, damage)
    return snapshot


def fetch(
    dataset: int | str,
    *,
    cache: Folder | None = None,
    openml: OpenML | None = None,
    refresh: bool = False,
) -> Snapshot:
    """Return a snapshot from the user's cache, fetching it into the cache first.

    Parameters
    ----------
    dataset
        An OpenML id, or the name of one of the ten.
    cache, openml
        As for `obtain`.
    refresh
        Whether to ask OpenML even where the cache or the package has the dataset.
    """
    id, keep = openml_id(dataset), snapshot_cache(cache)
    snapshot = None if refresh else _cached(keep, id)[0] or bundled(id)
    return snapshot or _download(id, keep, openml, refresh=refresh)


def _download(id: str, keep: Path, openml: OpenML | None, *, refresh: bool) -> Snapshot:
    """Fetch a dataset from OpenML into the cache; of several processes, one does."""
    with locked(keep, id):
        # Another process may have fetched it while this one waited for the lock.
        cached = None if refresh else _cached(keep, id)[0]
        if cached is not None:
            return cached
        snapshot = (openml or OpenML.from_environment()).fetch(id)
        try:
            store.save(snapshot, keep, replace=True)
        except (StorageError, OSError) as error:
            log.warning("dataset %s is not kept in the cache %s: %s", id, keep, error)
        return snapshot


def _publish(snapshot: Snapshot, folder: Path | None, damage: str) -> None:
    """Put a snapshot in a database, in the place of a damaged one of the same data."""
    if folder is None:
        return
    promised = _promised(folder, snapshot.id) if damage else None
    if promised not in {None, snapshot.sha256}:
        msg = (
            f"{damage}; and what can be had now are other data (sha256 {snapshot.sha256[:12]}…, "
            f"expected {str(promised)[:12]}…), so bring back the original dataset"
        )
        raise DamagedError(msg)
    store.save(snapshot, folder, replace=bool(damage))


def _obtain_file(source: FileSource, folder: Path | None) -> Snapshot:
    """Return the snapshot of a file; once a database has it, the file may be elsewhere."""
    check_id(source.id)
    snapshot, damage = _stored(folder, source.id) if folder else (None, "")
    if snapshot:
        _unchanged(source, snapshot)
        return snapshot
    snapshot = source.snapshot()
    _publish(snapshot, folder, damage)
    return snapshot


def _unchanged(source: FileSource, snapshot: Snapshot) -> None:
    """Raise if the file, or the way to read it, is not what the database was built with."""
    reading = snapshot.origin.get("reading", {})
    changed = [key for key, value in source.reading.items() if reading.get(key) != value]
    if Path(source.path).is_file():
        md5 = hashlib.md5(source.content(), usedforsecurity=False).hexdigest()
        if md5 != snapshot.origin.get("file", {}).get("md5"):
            changed.insert(0, "the file's content")
    if changed:
        msg = (
            f"dataset {source.id!r}: {', '.join(changed)} changed since the database took its "
            "snapshot; give the dataset another id, or build in another directory"
        )
        raise DatasetError(msg)
