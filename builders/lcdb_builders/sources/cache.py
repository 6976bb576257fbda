"""The user's cache of snapshots, and a lock so that two processes do not fetch the same dataset."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcdb.errors import StorageError
from lcdb_builders.compiling.folders import (
    CacheRefusedError,
    check_folder,
    make_folder,
    user_cache,
)

__all__ = ["locked", "snapshot_cache"]


def snapshot_cache(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of cached snapshots: of the given cache, else of ``LCDB_CACHE``'s.

    Raises
    ------
    StorageError
        It is there, and others may write to it: they could choose what is computed on.
    """
    try:
        folder = (Path(cache).expanduser() if cache else user_cache()) / "snapshots"
        check_folder(folder.parent)
        check_folder(folder)
    except CacheRefusedError as error:
        raise StorageError(str(error)) from error
    return folder


@contextmanager
def locked(folder: Path, id: str) -> Iterator[None]:
    """Hold the lock of a dataset in a cache.

    It saves work and keeps servers from being asked twice. Nothing breaks without it, so where it
    cannot be had (a read-only cache, a file system without locks) there is none.
    """
    path = folder / f".{id}.lock"
    handle = _lock(path)
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                path.unlink()
            os.close(handle)


def _lock(path: Path) -> int | None:
    """Wait for the lock; who has it removes its file, so one that was removed is no lock."""
    while True:
        handle = -1
        try:
            make_folder(path.parent.parent)
            make_folder(path.parent)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            if handle >= 0:
                os.close(handle)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)
