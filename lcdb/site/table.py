"""A few arrays in one small file that a browser reads without a library.

Compressed by zlib as a whole: four bytes with the length of a header, the header in JSON (names,
types and shapes of the columns), and the columns one after the other. The bytes of a column are
shuffled as those of cubes are (all first bytes, then all second ones, …), which compresses better.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping

import numpy as np

__all__ = ["as_table", "from_table"]


def as_table(columns: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of a table.

    Examples
    --------
    >>> data = as_table({"n": np.arange(3, dtype=np.int32), "mean": np.full((2, 3), 0.5)})
    >>> {name: column.shape for name, column in from_table(data).items()}
    {'n': (3,), 'mean': (2, 3)}
    """
    described, parts = [], []
    for name, column in columns.items():
        stored = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
        described.append({"name": name, "dtype": stored.dtype.str, "shape": list(stored.shape)})
        parts.append(stored.reshape(-1).view(np.uint8).reshape(-1, stored.itemsize).T.tobytes())
    header = json.dumps(described, separators=(",", ":")).encode()
    return zlib.compress(b"".join([len(header).to_bytes(4, "little"), header, *parts]), 9)


def from_table(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a table.

    Examples
    --------
    >>> from_table(as_table({"n": np.array([1, 300], np.int32)}))["n"].tolist()
    [1, 300]
    """
    raw = zlib.decompress(data)
    place = 4 + int.from_bytes(raw[:4], "little")
    columns = {}
    for described in json.loads(raw[4:place]):
        dtype, shape = np.dtype(described["dtype"]), described["shape"]
        size = math.prod(shape) * dtype.itemsize
        bytes_of = np.frombuffer(raw[place : place + size], np.uint8).reshape(dtype.itemsize, -1)
        columns[described["name"]] = np.ascontiguousarray(bytes_of.T).view(dtype).reshape(shape)
        place += size
    return columns
