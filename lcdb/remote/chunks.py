"""Chunks become arrays: which of them an index touches, and how their filters are undone."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcdb.errors import DamagedError, ReadError
from lcdb.remote.format import from_plain, numbers
from lcdb.remote.ranges import Chunk, Reader

__all__ = ["Table", "undo"]

# zlib cannot make more of a byte than that, so that what is stored bounds what it becomes.
_MOST_OF_A_BYTE = 1032


def undo(raw: bytes, filters: Sequence[str], mask: int, dtype: np.dtype, count: int) -> np.ndarray:
    """Return the values of a chunk.

    Parameters
    ----------
    raw
        As it is stored.
    filters
        Their names, in the order in which they were applied.
    mask
        A bit for each of them that was left out for this chunk.
    dtype, count
        Of its values.

    Examples
    --------
    >>> stored = zlib.compress(bytes([1, 2, 0, 0])) + b"sums"
    >>> undo(stored, ["shuffle", "deflate", "fletcher32"], 0, np.dtype("<u2"), 2)
    array([1, 2], dtype=uint16)
    """
    size = count * dtype.itemsize
    for i in reversed(range(len(filters))):
        if mask >> i & 1:
            continue
        if filters[i] == "fletcher32":
            raw = raw[:-4]  # the index has a checksum of all of it
        elif filters[i] == "deflate":
            reader = zlib.decompressobj()
            raw = reader.decompress(raw, size + 1)
            if not reader.eof:
                msg = "a chunk does not end where it should"
                raise ValueError(msg)
        elif filters[i] == "shuffle":
            shuffled = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1)
            raw = np.ascontiguousarray(shuffled.T).tobytes()
        else:
            msg = f"the filter {filters[i]!r} is unknown"
            raise ValueError(msg)
    if len(raw) != size:
        msg = f"a chunk has {len(raw)} bytes, expected {size}"
        raise ValueError(msg)
    return np.frombuffer(raw, dtype)


@dataclass(frozen=True)
class Table:
    """Where the chunks of one variable are.

    Parameters
    ----------
    name, shape, dtype
        Of the variable.
    chunk
        Shape of a chunk.
    fill
        Value of chunks that were never written.
    filters
        Their names, in the order in which they were applied.
    offsets, lengths, checksums, masks
        Of every chunk, in the order of their places in the array.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    chunk: tuple[int, ...]
    fill: Any
    filters: tuple[str, ...]
    offsets: np.ndarray
    lengths: np.ndarray
    checksums: np.ndarray
    masks: np.ndarray

    @classmethod
    def of(cls, variable: Mapping[str, Any], size: int) -> Table:
        """Return the table of a variable of an index; `size` is the length of the cube.

        Raises
        ------
        ValueError
            Chunks lie beyond the end of the cube, or are said to hold more than they can.
        """
        stored, shape, name = variable["chunks"], tuple(variable["shape"]), variable["name"]
        chunk, dtype = tuple(stored["shape"]), np.dtype(variable["dtype"])
        grid = [-(-n // c) for n, c in zip(shape, chunk, strict=True)]
        count = math.prod(grid)
        lengths = numbers(stored["lengths"], "<u4", count).astype(np.int64)
        starts = numbers(stored["gaps"], "<i8", count)
        offsets = np.cumsum(starts) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
        if (offsets < 0).any() or (offsets > size).any() or (lengths > size - offsets).any():
            msg = f"{name} has chunks beyond the end of its file"
            raise ValueError(msg)
        if "masks" in stored:
            masks = numbers(stored["masks"], "<u4", count)
        else:
            masks = np.zeros(count, np.uint32)
        filters = tuple(one["name"] for one in stored["filters"])
        written = lengths[lengths > 0]
        most = _MOST_OF_A_BYTE if "deflate" in filters else 1
        if written.size and math.prod(chunk) * dtype.itemsize > int(written.min()) * most:
            msg = f"{name} has chunks that cannot hold {math.prod(chunk):,} values"
            raise ValueError(msg)
        return cls(
            name=name,
            shape=shape,
            dtype=dtype,
            chunk=chunk,
            fill=dtype.type(from_plain(variable["fill"])),
            filters=filters,
            offsets=offsets,
            lengths=lengths,
            checksums=numbers(stored["crc32"], "<u4", count),
            masks=masks,
        )

    def read(self, key: tuple[Any, ...], reader: Reader) -> np.ndarray:
        """Return what an outer index takes: numbers, slices and lists of positions by dim."""
        positions = self._positions(key)
        shape = [len(one) for one in positions]
        try:
            values = np.empty(shape, self.dtype)
        except (MemoryError, ValueError) as error:
            size = math.prod(shape) * self.dtype.itemsize
            msg = f"{reader.address}: {self.name} takes {size:,} bytes: select less of it"
            raise ReadError(msg) from error
        places = list(self._touched(positions))
        rows = [row for row, _, _ in places]
        there = [i for i, row in enumerate(rows) if self.lengths[row]]
        for i in set(range(len(rows))) - set(there):
            values[places[i][1]] = self.fill

        def use(i: int, raw: bytes) -> None:
            row, target, source = places[there[i]]
            values[target] = self._decoded(row, raw, reader)[source]

        reader.read([self._chunk(rows[i]) for i in there], use)
        kept = tuple(0 if isinstance(one, int | np.integer) else slice(None) for one in key)
        return values[kept]

    def chunks(self, key: tuple[Any, ...]) -> list[Chunk]:
        """Return the chunks that `read` reads for an index: those that were ever written."""
        rows = [row for row, _, _ in self._touched(self._positions(key))]
        return [self._chunk(row) for row in rows if self.lengths[row]]

    def _positions(self, key: tuple[Any, ...]) -> list[np.ndarray]:
        return [
            np.atleast_1d(np.arange(length)[one])
            for length, one in zip(self.shape, key, strict=True)
        ]

    def _chunk(self, row: int) -> Chunk:
        return Chunk(int(self.offsets[row]), int(self.lengths[row]), int(self.checksums[row]))

    def _decoded(self, row: int, raw: bytes, reader: Reader) -> np.ndarray:
        try:
            count = math.prod(self.chunk)
            values = undo(raw, self.filters, int(self.masks[row]), self.dtype, count)
        except (ValueError, zlib.error) as error:
            msg = f"{reader.address}: a chunk of {self.name} cannot be decoded ({error})"
            raise DamagedError(msg) from error
        return values.reshape(self.chunk)

    def _touched(
        self, positions: Sequence[np.ndarray]
    ) -> Iterator[tuple[int, tuple[Any, ...], tuple[Any, ...]]]:
        """Yield chunks of which something is wanted: their row, where it goes, what of it."""
        grid = [-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True)]
        by_dim = [_split(one, c) for one, c in zip(positions, self.chunk, strict=True)]
        for parts in itertools.product(*by_dim):
            row = int(np.ravel_multi_index([part[0] for part in parts], grid)) if grid else 0
            yield row, np.ix_(*(p[1] for p in parts)), np.ix_(*(p[2] for p in parts))


def _split(positions: np.ndarray, length: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Return the chunks along one dim: number, places among the positions, places in the chunk.

    Examples
    --------
    >>> [(i, to.tolist(), of.tolist()) for i, to, of in _split(np.array([5, 1, 4]), 4)]
    [(0, [1], [1]), (1, [0, 2], [1, 0])]
    """
    numbers_of = positions // length
    return [
        (int(one), np.flatnonzero(numbers_of == one), positions[numbers_of == one] % length)
        for one in np.unique(numbers_of)
    ]
