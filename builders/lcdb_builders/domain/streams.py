"""Keys of random streams: what a stream is for becomes 128 bits, once per unit.

The counter of the stream then holds the size n, the repetition and a lane (the tree of a forest,
say), so that no state is carried from cell to cell: see `lcdb_builders.kernels.core.rng`.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

__all__ = ["StreamKey", "stream", "stream_key"]

StreamKey = tuple[np.uint64, np.uint64]
VERSION = "lcdb-stream-1"


def stream_key(seed: int, dataset_sha256: str, purpose: str, *where: str) -> StreamKey:
    """Return the Philox key of one purpose: the first 128 bits of a SHA-256 of its coordinates.

    Parameters
    ----------
    seed
        The plan's master seed.
    dataset_sha256
        The digest of the snapshot's canonical bytes.
    purpose
        What the stream decides: ``"pool"``, ``"rows"``, ``"validation"`` or a learner's name.
    *where
        Further coordinates, such as sampling and split.

    Examples
    --------
    >>> stream_key(1, "ab", "rows", "random", "fixed") == stream_key(1, "ab", "rows", "random", "x")
    False
    """
    text = json.dumps([VERSION, int(seed), dataset_sha256, purpose, *where])
    words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], "<u8")
    return np.uint64(words[0]), np.uint64(words[1])


def stream(key: StreamKey, n: int, repetition: int, lane: int = 0) -> np.random.Philox:
    """Return NumPy's generator of the very words that the kernels draw.

    Examples
    --------
    >>> words = stream(stream_key(1, "ab", "rows"), n=10, repetition=3).random_raw(2)
    >>> words.dtype
    dtype('uint64')
    """
    counter = np.array([0, n, repetition, lane], np.uint64)
    return np.random.Philox(key=np.array(key, np.uint64), counter=counter)
