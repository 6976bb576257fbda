"""The user's cache of snapshots, and a lock so that two processes do not fetch the same dataset."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcdb_builders.kernels.jit import user_cache

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
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / f".{id}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
