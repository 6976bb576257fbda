"""A block on disk: one line that names the format, one with a digest, a header, packed arrays.

The digest covers all that follows it, so every flipped bit and every truncation is found. Arrays
are shuffled and deflated one by one, so that packing a cube needs one variable of a block in
memory and not all. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lcdb.errors import DamagedError, FormatVersionError, SchemaError
from lcdb_builders.domain.lost import Lost, merge_lost
from lcdb_builders.domain.unit import Block, canonical_json
from lcdb_builders.storage.environment import Environment, same_kind

__all__ = [
    "BlockFile",
    "Scores",
    "agree",
    "canonical_scores",
    "encode_block",
    "scores_digest",
    "source_of",
]

Scores = dict[str, np.ndarray]

VERSION = 1
MAGIC = b"lcdb block %d\n" % VERSION
_NEWER = re.compile(rb"lcdb block (\d+)\n")
_DIGEST_END = len(MAGIC) + 65
_PIECE = 1 << 20
# Between types of CPU: how far a value may be off, and what share of the values may be farther
# (a row whose two best scores are that close gets another label).
_TOLERANCE = 1e-5
_FARTHER = 1e-3


def canonical_scores(block: Block, scores: Mapping[str, np.ndarray]) -> Scores:
    """Return a block's arrays in the order of the cube, every NaN with the same bits.

    Raises
    ------
    SchemaError
        An array is missing, is not of the block, or has another type or shape.
    """
    variables = {variable.name: variable for variable in block.unit.variables}
    if set(scores) != set(variables):
        wrong = ", ".join(sorted(set(scores) ^ set(variables)))
        msg = f"{block.unit.label}: wrong or missing arrays ({wrong}); expected {list(variables)}"
        raise SchemaError(msg)
    canonical: Scores = {}
    for name, variable in variables.items():
        array = np.asarray(scores[name])
        shape = (*block.shape, *block.unit.inner_shape(variable))
        if array.dtype != np.dtype(variable.dtype) or array.shape != shape:
            msg = (
                f"{block.unit.label}: {name} is {array.dtype} {array.shape}; "
                f"expected {variable.dtype} {shape}"
            )
            raise SchemaError(msg)
        if name in ("n_clipped", "n_test", "n_classes_train") and (array < 0).any():
            msg = f"{block.unit.label}: {name} has {array.min()}; expected 0 or more in every cell"
            raise SchemaError(msg)
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), array.dtype.type("nan"), array)
        canonical[name] = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    if not block.unit.computed(canonical).all():
        msg = (
            f"{block.unit.label}: {next(iter(canonical))} is missing in some cells; expected no gap"
        )
        raise SchemaError(msg)
    return canonical


def scores_digest(scores: Mapping[str, np.ndarray]) -> str:
    """Return the digest of canonical arrays: equal for equal bits, whatever the environment."""
    digest = hashlib.sha256()
    for name, array in scores.items():
        digest.update(canonical_json([name, array.dtype.str, list(array.shape)]).encode())
        digest.update(array.data)
    return digest.hexdigest()


def encode_block(
    block: Block,
    scores: Mapping[str, np.ndarray],
    environment: Environment,
    lost: Iterable[Lost] = (),
    source: str = "",
) -> bytes:
    """Return the bytes of a block file.

    Parameters
    ----------
    block, scores, environment
        What was computed where; the scores must be canonical.
    lost
        Why cells lack values.
    source
        Digest of the code that computed it.
    """
    packed = {name: _pack(array) for name, array in scores.items()}
    header = {
        "block": block.key,
        "unit": block.unit.key,
        "label": block.unit.label,
        "sizes": [block.sizes[0], block.sizes[-1], len(block.sizes)],
        "repetitions": [block.first, block.stop],
        "environment": environment,
        "source": source,
        "scores_sha256": scores_digest(scores),
        # Lengths of inner dims come last: scores of curves have none.
        "arrays": [
            [name, scores[name].dtype.str, len(data), *scores[name].shape[2:]]
            for name, data in packed.items()
        ],
    }
    if missing := _all_lost(block, scores, lost):
        header["lost"] = [one.as_json() for one in missing]
    body = [canonical_json(header).encode(), b"\n", *packed.values()]
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    return b"".join([MAGIC, digest.hexdigest().encode(), b"\n", *body])


def _all_lost(
    block: Block, scores: Mapping[str, np.ndarray], lost: Iterable[Lost]
) -> tuple[Lost, ...]:
    """Return why cells lack values, also those of which nobody said it (they were salvaged)."""
    if not getattr(block.unit, "estimator", ""):
        return ()
    missing = list(merge_lost(lost))
    labelled = ~np.isnan(scores["accuracy"])
    scored = ~np.isnan(scores["brier"])
    for accuracy, cells in ((False, ~labelled), (True, labelled & ~scored)):
        explained = sum(one.cells for one in missing if one.accuracy == accuracy)
        if unexplained := int(cells.sum()) - explained:
            sizes = [n for n, row in zip(block.sizes, cells, strict=True) if row.any()]
            why = "the reason was not kept"
            missing.append(Lost(why, unexplained, sizes[0], sizes[-1], accuracy))
    return tuple(missing)


def _pack(array: np.ndarray) -> bytes:
    """Deflate an array with its bytes grouped by significance: half the size for little time."""
    grouped = array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T
    return zlib.compress(grouped.tobytes(), level=1)


def _unpack(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = np.dtype(dtype)
    grouped = np.frombuffer(zlib.decompress(data), np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(grouped.T).view(kind).reshape(shape)


class BlockFile:
    """A block file that is open for reading and has the digest it was written with.

    Parameters
    ----------
    path
        The file.
    block
        The block that it must hold; None to accept any.

    Raises
    ------
    FileNotFoundError
        It is not there (any more).
    DamagedError
        Its bytes are not what was written, or it holds another block.
    FormatVersionError
        A newer version wrote it.
    """

    def __init__(self, path: Path, block: Block | None = None) -> None:
        self.path = path
        self._file = path.open("rb")
        try:
            self.header = self._verified()
        except BaseException:
            self._file.close()
            raise
        if block is not None and self.header["block"] != block.key:
            self._file.close()
            msg = f"{path} holds another block than its name says"
            raise DamagedError(msg)

    def _verified(self) -> dict[str, Any]:
        digest = hashlib.sha256()
        head = self._file.read(_DIGEST_END)
        while piece := self._file.read(_PIECE):
            digest.update(piece)
        if head[len(MAGIC) :] != digest.hexdigest().encode() + b"\n":
            newer = _NEWER.match(head)
            if newer is not None and int(newer[1]) > VERSION:
                msg = f"{self.path} has format version {int(newer[1])}: update lcdb-plusplus"
                raise FormatVersionError(msg)
        if head != MAGIC + digest.hexdigest().encode() + b"\n":
            msg = f"{self.path} is damaged: its content does not have the digest that stands in it"
            raise DamagedError(msg)
        self._file.seek(_DIGEST_END)
        header = json.loads(self._file.readline())
        self._start = self._file.tell()
        return header

    def belongs_to(self, path: Path) -> bool:
        """Return whether the block is the one that a path's folder and name stand for."""
        name = run_name(*self.header["sizes"][:2], *self.header["repetitions"])
        stem = f"{name}.{self.header['block'][:12]}"
        return path.stem == stem and path.parent.name.endswith(self.header["unit"][:12])

    @property
    def environment(self) -> Environment:
        """What computed the block."""
        return self.header["environment"]

    @property
    def lost(self) -> tuple[Lost, ...]:
        """Why cells of the block lack values."""
        return tuple(Lost.from_json(record) for record in self.header.get("lost", ()))

    @property
    def source(self) -> str:
        """Digest of the code that computed the block; empty where it was not recorded."""
        return self.header.get("source", "")

    @property
    def digest(self) -> str:
        """Digest of the arrays."""
        return self.header["scores_sha256"]

    def array(self, name: str) -> np.ndarray:
        """Return one array (sizes, repetitions)."""
        offset = self._start
        first, stop = self.header["repetitions"]
        for other, dtype, length, *inner in self.header["arrays"]:
            if other == name:
                data = os.pread(self._file.fileno(), length, offset)
                return _unpack(data, dtype, (self.header["sizes"][2], stop - first, *inner))
            offset += length
        msg = f"{self.path} has no {name}"
        raise KeyError(msg)

    def arrays(self) -> Scores:
        """Return all arrays."""
        return {name: self.array(name) for name, *_ in self.header["arrays"]}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> BlockFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def source_of(path: Path) -> str:
    """Return the digest of the code that a block says it is of; the block is not verified.

    Raises
    ------
    DamagedError
        It says nothing that can be read.
    """
    with path.open("rb") as file:
        file.seek(_DIGEST_END)
        try:
            return str(json.loads(file.readline()).get("source", ""))
        except (ValueError, AttributeError) as error:
            msg = f"{path} is damaged: it has no header"
            raise DamagedError(msg) from error


def run_name(first_n: int, last_n: int, first: int, stop: int) -> str:
    """Return the part of a block's name that says which cells it holds."""
    return f"n{first_n:05d}-{last_n:05d}.r{first:05d}-{stop:05d}"


def agree(
    one: np.ndarray, other: np.ndarray, first: Mapping[str, Any], second: Mapping[str, Any]
) -> bool:
    """Return whether two computations of the same cells say the same.

    On like machines they must be equal bit for bit. Between types of CPU or versions of wheels
    the last bits may differ, and so may the label of a row whose best scores are that close.

    Examples
    --------
    >>> a, b = np.float32([0.5, 0.25]), np.float32([0.5, 0.2500001])
    >>> agree(a, b, {"cpu": "x"}, {"cpu": "x"}), agree(a, b, {"cpu": "x"}, {"cpu": "y"})
    (False, True)
    """
    if np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
        return True
    if same_kind(first, second):
        return False
    close = np.isclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
    return int((~close).sum()) <= max(1, _FARTHER * close.size)
