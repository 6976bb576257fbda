"""Leases: who is at work on what, as files whose time is a heartbeat.

A lease keeps builders from doing the same work twice; no number depends on it. A lease is taken
over when its process is dead, where that can be seen, or when it has had no heartbeat for `STALE`
seconds. Its old owner may be alive all the same, only slow: `Lease.mine` tells it.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcdb.errors import StorageError
from lcdb_builders.storage import disk
from lcdb_builders.storage.process import is_dead, this_process

__all__ = ["STALE", "Lease", "locked"]

#: Seconds without a heartbeat after which a lease may be taken over.
STALE = 300.0


class Lease:
    """A lease that this process holds; its heart beats until it is released.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "work.lease"
    >>> lease = Lease.take(path)
    >>> lease.mine(), Lease.take(path) is None
    (True, True)
    >>> lease.release()
    >>> path.exists()
    False
    """

    def __init__(self, path: Path, token: bytes) -> None:
        self.path = path
        self._token = token
        _heart.add(self)

    @classmethod
    def take(cls, path: Path, stale: float | None = None) -> Lease | None:
        """Return the lease, or None if somebody else is at work.

        Parameters
        ----------
        path
            The file of the lease; its folder exists.
        stale
            Seconds without a heartbeat after which the holder counts as dead.
        """
        token = f"{this_process()} {uuid.uuid4().hex}\n".encode()
        if disk.create(path, token):
            return cls(path, token)
        if not _abandoned(path, STALE if stale is None else stale):
            return None
        # Of several that take over at once the last one has it, and the others see so.
        temporary = disk.Temporary(path)
        temporary.write(token)
        if not temporary.replace() or not _holds(path, token):
            return None
        return cls(path, token)

    def mine(self) -> bool:
        """Return whether nobody has taken the lease over."""
        return _holds(self.path, self._token)

    def beat(self) -> None:
        """Show that the holder is alive; the heart does this every quarter of `STALE` seconds."""
        if self.mine():
            with suppress(StorageError):
                disk.touch(self.path)

    def release(self) -> None:
        """Give the lease back."""
        _heart.remove(self)
        if self.mine():
            disk.unlink(self.path)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _holds(path: Path, token: bytes) -> bool:
    try:
        return path.read_bytes() == token
    except OSError:
        return False


def _abandoned(path: Path, stale: float) -> bool:
    try:
        owner = path.read_bytes().split(b" ")[0].decode(errors="replace")
        age = _now(path.parent) - path.stat().st_mtime
    except OSError:  # released at this moment: the next one to ask gets it
        return False
    return age > stale or is_dead(owner) is True


def _now(folder: Path) -> float:
    """Return the time as the file system has it, which may be another machine's."""
    if folder not in _offsets:
        probe = disk.Temporary(folder / "clock")
        _offsets[folder] = probe.path.stat().st_mtime - time.time()
        probe.discard()
    return time.time() + _offsets[folder]


_offsets: dict[Path, float] = {}


@contextmanager
def locked(root: Path, dataset: str) -> Iterator[Lease]:
    """Hold the lock on a dataset's cube and manifest; waits for whoever has it.

    Who has the lock removes all unpublished files of that cube and manifest first. If their owner
    is alive after all, it cannot publish them any more: see `disk.Temporary.replace`. So a builder
    that slept through its lease never puts an older view over a newer one.
    """
    path = disk.under(root, "blocks", f"{dataset}.lock")
    for folder in ("blocks", "cubes", "manifest"):
        disk.make_folder(root / folder)
    while (lease := Lease.take(path)) is None:
        time.sleep(0.1)
    with lease:
        for folder, name in (("cubes", f"{dataset}.nc"), ("manifest", f"{dataset}.json")):
            for temporary, _ in disk.temporaries(root / folder, name):
                disk.unlink(temporary)
        yield lease


class _Heart:
    """One thread that beats for all leases of this process."""

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._lock = threading.Lock()
        self._owner: int | None = None

    def add(self, lease: Lease) -> None:
        with self._lock:
            if self._owner != os.getpid():  # a fork has the leases of its parent, but no threads
                self._owner = os.getpid()
                self._leases = set()
                threading.Thread(target=self._run, name="lcdb leases", daemon=True).start()
            self._leases.add(lease)

    def remove(self, lease: Lease) -> None:
        with self._lock:
            self._leases.discard(lease)

    def _run(self) -> None:
        while True:
            time.sleep(STALE / 4)
            with self._lock:
                leases = list(self._leases)
            for lease in leases:
                lease.beat()


_heart = _Heart()
