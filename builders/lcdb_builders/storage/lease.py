"""Leases: who is at work on what, as files whose time is a heartbeat.

A lease keeps builders from doing the same work twice; no number depends on it. A lease is taken
over when its process is dead, where that can be seen, or when it has had no heartbeat for `STALE`
seconds. Its old owner may be alive all the same, only slow: `Lease.mine` tells it.

Clocks of machines may differ by hours, so the age of another machine's lease is never computed from
its time stamp: who wants it watches it for `STALE` seconds and takes it if nothing has changed.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lcdb.errors import LCDBError, StorageError
from lcdb_builders.storage import disk
from lcdb_builders.storage.process import is_dead, this_process

__all__ = ["STALE", "Lease", "TakenError", "abandoned", "locked"]

#: Seconds without a heartbeat after which a lease may be taken over.
STALE = 300.0
#: For tests, which replace it: seconds that go on whatever is done to the clock of the machine.
clock: Callable[[], float] = time.monotonic


class TakenError(LCDBError):
    """Somebody else took the lock, or a file changed meanwhile: begin again."""


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
    def take(cls, path: Path, stale: float | None = None, content: bytes = b"") -> Lease | None:
        """Return the lease, or None if somebody else is at work.

        Parameters
        ----------
        path
            The file of the lease; its folder exists.
        stale
            Seconds without a heartbeat after which the holder counts as dead.
        content
            What the file says besides whose it is, from its second line on.
        """
        token = f"{this_process()} {uuid.uuid4().hex}\n".encode() + content
        if disk.create(path, token):
            return cls(path, token)
        if not abandoned(path, stale):
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


def abandoned(path: Path, stale: float | None = None) -> bool:
    """Return whether the holder of a lease counts as dead; ask again to go on watching it.

    Parameters
    ----------
    path
        The file of the lease.
    stale
        Seconds without a heartbeat after which the holder counts as dead.
    """
    stale = STALE if stale is None else stale
    try:
        token = path.read_bytes()
        beaten = path.stat().st_mtime_ns
    except OSError:  # released at this moment: the next one to ask gets it
        return False
    dead = is_dead(token.split(b" ")[0].decode(errors="replace"))
    if dead is not None:  # of this machine: it has our clock
        return dead or _now(path.parent) - beaten / 1e9 > stale
    seen, since = _watched.get(path, (None, 0.0))
    if seen != (token, beaten):
        _watched[path] = ((token, beaten), clock())
        return False
    return clock() - since > stale


# Leases of other machines: what they were when they last changed, and when that was seen.
_watched: dict[Path, tuple[tuple[bytes, int], float]] = {}


def _now(folder: Path) -> float:
    """Return the time as the file system stamps it on files of this machine."""
    if folder not in _offsets:
        probe = disk.Temporary(folder / "clock")
        _offsets[folder] = probe.path.stat().st_mtime - clock()
        probe.discard()
    return clock() + _offsets[folder]


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
            time.sleep(max(STALE / 4, 0.01))
            with self._lock:
                leases = list(self._leases)
            for lease in leases:
                lease.beat()


_heart = _Heart()
