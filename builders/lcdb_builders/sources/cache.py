"""The user's cache of snapshots, and a lock so that two processes do not fetch the same dataset."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcdb.errors import StorageError
from lcdb_builders.kernels.core.jit import user_cache
from lcdb_builders.storage.disk import make_folder

__all__ = ["locked", "snapshot_cache"]


def snapshot_cache(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of cached snapshots: of the given cache, else of ``LCDB_CACHE``'s."""
    return (Path(cache).expanduser() if cache else user_cache()) / "snapshots"


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
            make_folder(path.parent)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(handle, fcntl.LOCK_EX)
        except (OSError, StorageError):
            if handle >= 0:
                os.close(handle)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)
