"""Chunks of one cube on a host: neighbours in one request, requests at the same time, all checked.

What was read is kept in memory, the least recently used is let go first; and in a folder, where
the user names one.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from lcdb.errors import DamagedError, StaleError
from lcdb.remote.address import Address
from lcdb.remote.diskcache import DiskCache
from lcdb.remote.transport import Policy, Transport

__all__ = ["Chunk", "Memory", "Reader", "Run", "coalesce"]


@dataclass(frozen=True)
class Chunk:
    """One chunk as it is stored: first byte, length, CRC-32 of its bytes."""

    first: int
    length: int
    crc32: int


@dataclass(frozen=True)
class Run:
    """Bytes that are asked for at once, and which of the wanted chunks are in them."""

    first: int
    length: int
    members: tuple[int, ...]


def coalesce(chunks: Sequence[tuple[int, int]], gap: int, most: int) -> list[Run]:
    """Return the requests that bring chunks: neighbours together, but not too many bytes at once.

    Parameters
    ----------
    chunks
        First byte and length of each.
    gap
        Bytes between two chunks that are rather read than asked around.
    most
        Bytes of a request, unless one chunk alone has more.

    Examples
    --------
    >>> coalesce([(100, 10), (0, 50), (50, 40), (5000, 10)], gap=20, most=1000)
    [Run(first=0, length=110, members=(1, 2, 0)), Run(first=5000, length=10, members=(3,))]
    """
    runs: list[Run] = []
    for i in sorted(range(len(chunks)), key=lambda i: chunks[i]):
        first, length = chunks[i]
        last = runs[-1] if runs else None
        if last is not None and first - (last.first + last.length) <= gap:
            longer = max(last.length, first + length - last.first)
            if longer <= most:
                runs[-1] = Run(last.first, longer, (*last.members, i))
                continue
        runs.append(Run(first, length, (i,)))
    return runs


class Memory:
    """Bytes that were read, up to a limit; the least recently used go first.

    Examples
    --------
    >>> memory = Memory(limit=10)
    >>> for name in "abc":
    ...     memory[name] = b"1234"
    >>> memory.get("a"), memory.get("c")
    (None, b'1234')
    """

    def __init__(self, limit: int = 128 << 20) -> None:
        self.limit = limit
        self._bytes = 0
        self._known: OrderedDict[Any, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, (self.limit,)  # a copy in another process starts empty

    def get(self, key: Any) -> bytes | None:
        """Return what is known, None if it is not."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def __setitem__(self, key: Any, value: bytes) -> None:
        with self._lock:
            self._bytes += len(value) - len(self._known.pop(key, b""))
            self._known[key] = value
            while self._bytes > self.limit:
                self._bytes -= len(self._known.popitem(last=False)[1])

    def pop(self, key: Any) -> None:
        """Forget one."""
        with self._lock:
            self._bytes -= len(self._known.pop(key, b""))


@dataclass(frozen=True)
class Reader:
    """What reads chunks of one cube.

    Parameters
    ----------
    address, sha256, size
        The cube, its digest and length as its index has them.
    transport, memory, disk
        How it is read, and where it is kept.
    stale
        Returns whether the host has another index of the cube by now.
    check
        Whether chunks are compared with their checksums.
    gap
        Bytes between two chunks that are read along; those of the transport's policy by default.
    """

    address: Address
    sha256: str
    size: int
    transport: Transport
    memory: Memory
    disk: DiskCache | None
    stale: Callable[[], bool]
    check: bool = True
    gap: int | None = None

    def read(self, chunks: Sequence[Chunk], use: Callable[[int, bytes], None]) -> None:
        """Call `use` with the position of every chunk and its bytes, in any order and thread."""
        policy: Policy = self.transport.policy
        wanted = []
        for i, chunk in enumerate(chunks):
            known = self._known(chunk)
            if known is None:
                wanted.append(i)
            else:
                use(i, known)
        places = [(chunks[i].first, chunks[i].length) for i in wanted]
        gap = policy.gap if self.gap is None else self.gap
        runs = coalesce(places, gap, policy.most)

        def fetch(run: Run) -> None:
            data = self.transport.part(self.address, run.first, run.length, self.size)
            for member in run.members:
                chunk = chunks[wanted[member]]
                offset = chunk.first - run.first
                raw = self._checked(chunk, data[offset : offset + chunk.length])
                self._keep(chunk, raw)
                use(wanted[member], raw)

        if len(runs) <= 1:
            for run in runs:
                fetch(run)
            return
        with ThreadPoolExecutor(min(policy.workers, len(runs))) as pool:
            futures = [pool.submit(fetch, run) for run in runs]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def _right(self, chunk: Chunk, raw: bytes) -> bool:
        return not self.check or (len(raw) == chunk.length and zlib.crc32(raw) == chunk.crc32)

    def _key(self, chunk: Chunk) -> str:
        return f"{self.sha256}-{chunk.first}"

    def _known(self, chunk: Chunk) -> bytes | None:
        key = self._key(chunk)
        known = self.memory.get(key)
        if known is None and self.disk is not None:
            known = self.disk.get(key)
            if known is not None and not self._right(chunk, known):  # it is damaged there
                return None
        return known

    def _keep(self, chunk: Chunk, raw: bytes) -> None:
        self.memory[self._key(chunk)] = raw
        if self.disk is not None:
            self.disk.put(self._key(chunk), raw)

    def _checked(self, chunk: Chunk, raw: bytes) -> bytes:
        """Return a chunk that is right; read it once more if it is not."""
        if self._right(chunk, raw):
            return raw
        first, length = chunk.first, chunk.length
        raw = self.transport.part(self.address, first, length, self.size, fresh=True)
        if self._right(chunk, raw):
            return raw
        if self.stale():
            msg = f"{self.address} was replaced since it was opened: open the database again"
            raise StaleError(msg)
        msg = (
            f"{self.address} is not what its index describes: bytes {first} to "
            f"{first + length - 1} have another checksum; the file on the host is damaged, or was "
            "replaced without its index ('lcdb index' writes that)"
        )
        raise DamagedError(msg)
