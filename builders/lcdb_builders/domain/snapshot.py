"""A dataset as it is computed on: immutable, checksummed, converted once.

On disk it is two files: ``<id>.npz`` holds X and y, ``<id>.json`` everything else and the digests
of both. The JSON file is published last: without it there is no snapshot.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lcdb.errors import DamagedError, DatasetError, FormatVersionError, NotFoundError
from lcdb.regular import read_regular
from lcdb.schema import FORMAT_VERSION
from lcdb_builders.storage import disk

__all__ = [
    "Snapshot",
    "canonical_sha256",
    "load",
    "manifest",
    "read_manifest",
    "save",
    "stored",
    "verify",
]

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?", re.ASCII)


def canonical_sha256(X: np.ndarray, y: np.ndarray) -> str:
    """Return the digest of the canonical bytes: shape, X as little-endian float64, y as int64."""
    digest = hashlib.sha256()
    digest.update(np.array([*X.shape, len(y)], "<i8").tobytes())
    digest.update(np.ascontiguousarray(X, "<f8").tobytes())
    digest.update(np.ascontiguousarray(y, "<i8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Features, classes and origin of one dataset.

    Parameters
    ----------
    id
        Name of the cube: an OpenML id such as ``"61"``, or a plan's own name for a file.
    X
        Features, float64 (N, d), C-contiguous, finite; nominal ones as codes.
    y
        Class codes, int64 (N,), 0..K-1, every class present.
    feature_names, class_names
        In column and code order.
    name
        Human name, such as ``"iris"``.
    origin
        JSON-able facts: where it came from (source, OpenML id, version, md5, path), categories of
        nominal features, imputed cells per feature, dropped rows, duplicate rows.
    scaling, drawn_with
        Of a scaled dataset, which is never stored: how, and the digest of the unscaled one. See
        `lcdb_builders.domain.scaling`.
    """

    id: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    name: str
    origin: dict[str, Any] = field(default_factory=dict)
    scaling: str = "none"
    drawn_with: str = ""

    @property
    def rows(self) -> int:
        """Number of rows, N."""
        return len(self.y)

    @property
    def features(self) -> int:
        """Number of columns, d."""
        return self.X.shape[1]

    @property
    def classes(self) -> int:
        """K."""
        return len(self.class_names)

    @cached_property
    def sha256(self) -> str:
        """Digest of the canonical bytes."""
        return canonical_sha256(self.X, self.y)

    @property
    def key(self) -> str:
        """Digest of the unscaled data: part of every stream and block key.

        Scaled features are drawn from as unscaled ones are, so that their curves are paired.
        """
        return self.drawn_with or self.sha256


def _path(folder: Path, id: str, suffix: str) -> Path:
    """Return where a file of a snapshot lies; an id that would leave the folder is refused."""
    if not _ID.fullmatch(id):
        msg = f"{id!r} cannot name a dataset; expected letters, digits, '-', '_' or '.'"
        raise DatasetError(msg)
    return Path(folder) / f"{id}{suffix}"


def _arrays(snapshot: Snapshot) -> bytes:
    """Return the bytes of the npz file: the same for the same arrays, without time stamps."""
    buffer = io.BytesIO()
    X = np.ascontiguousarray(snapshot.X, "<f8")
    y = np.ascontiguousarray(snapshot.y, "<i8")
    np.savez(buffer, allow_pickle=False, X=X, y=y)
    return buffer.getvalue()


def _rendered(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(snapshot: Snapshot) -> dict[str, Any]:
    """Return what the JSON file of a snapshot holds: see `schemas/dataset.schema.json`.

    Examples
    --------
    >>> X, y = np.zeros((10, 1)), np.arange(10) % 2
    >>> described = manifest(Snapshot("tiny", X, y, ("width",), ("a", "b"), "tiny"))
    >>> described["rows"], described["features"], described["classes"], described["sha256"][:8]
    (10, 1, 2, '96bce22e')
    """
    content = {
        "format_version": FORMAT_VERSION,
        "id": snapshot.id,
        "name": snapshot.name,
        "rows": snapshot.rows,
        "features": snapshot.features,
        "classes": snapshot.classes,
        "feature_names": list(snapshot.feature_names),
        "class_names": list(snapshot.class_names),
        "origin": snapshot.origin,
        "sha256": snapshot.sha256,
        "npz_sha256": _sha256(_arrays(snapshot)),
    }
    return {**content, "manifest_sha256": _sha256(_rendered(content))}


def save(snapshot: Snapshot, folder: Path, *, replace: bool = False) -> None:
    """Publish a snapshot in a folder; the same snapshot again changes nothing.

    Parameters
    ----------
    snapshot
        What to publish.
    folder
        ``DIR/snapshots`` of a database, or of the user's cache.
    replace
        Whether to put it in the place of a damaged or older one.

    Raises
    ------
    DatasetError
        The folder holds other data by this id.
    """
    arrays, text = _path(folder, snapshot.id, ".npz"), _path(folder, snapshot.id, ".json")
    data, described = _arrays(snapshot), _rendered(manifest(snapshot))
    disk.make_folder(Path(folder))
    if replace:
        disk.replace(arrays, data)
        disk.replace(text, described)
        return
    if not text.exists():
        # Arrays without a JSON file are what a process left that died in between.
        if not disk.publish(arrays, data) and arrays.read_bytes() != data and not text.exists():
            disk.replace(arrays, data)
        disk.publish(text, described)
    present = read_manifest(folder, snapshot.id)
    if present["sha256"] != snapshot.sha256:
        msg = (
            f"{text} describes other data (sha256 {present['sha256'][:12]}…) than the dataset "
            f"now (sha256 {snapshot.sha256[:12]}…); use another database directory or id"
        )
        raise DatasetError(msg)


def _damaged(path: Path, what: str) -> DamagedError:
    # Never "delete it": of a dataset that is nowhere else, it may be all that is left.
    msg = (
        f"{path} is damaged: {what}; put a copy of it back, or move it away and fetch or build "
        "again, which takes the dataset from where it came"
    )
    return DamagedError(msg)


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, "a file of a snapshot")
    except NotFoundError as error:
        if not os.path.lexists(path):
            raise _damaged(path, "the file is gone") from None
        raise _damaged(path, str(error)) from error


def read_manifest(folder: Path, id: str) -> dict[str, Any]:
    """Return the content of a snapshot's JSON file after checking every byte of it.

    Raises
    ------
    NotFoundError, DamagedError, FormatVersionError
        There is no such snapshot; its JSON file was changed; a newer lcdb wrote it.
    """
    path = _path(folder, id, ".json")
    if not path.exists():
        msg = f"no snapshot of dataset {id!r} in {folder}; 'lcdb fetch' or 'lcdb build' makes one"
        raise NotFoundError(msg)
    read = _read(path)
    try:
        content = json.loads(read)
        version = content["format_version"]
        signed = {key: value for key, value in content.items() if key != "manifest_sha256"}
        whole = _rendered(content) == read and content["manifest_sha256"] == _sha256(
            _rendered(signed)
        )
        named = content["id"] == id
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, "it is not the JSON text that was written") from error
    if not whole:
        raise _damaged(path, "its digest differs")
    if version > FORMAT_VERSION:
        msg = (
            f"{path} has format version {version}, this lcdb knows {FORMAT_VERSION}; "
            "upgrade lcdb-plusplus"
        )
        raise FormatVersionError(msg)
    if not named:
        raise _damaged(path, f"it describes dataset {content['id']!r}")
    return content


def load(folder: Path, id: str) -> Snapshot:
    """Return a snapshot from a folder after checking all its digests.

    Raises
    ------
    NotFoundError, DamagedError, FormatVersionError
        There is no such snapshot; a file of it was changed; a newer lcdb wrote it.
    """
    content = read_manifest(folder, id)
    path = _path(folder, id, ".npz")
    read = _read(path)
    if _sha256(read) != content["npz_sha256"]:
        raise _damaged(path, "its digest differs")
    try:
        with np.load(io.BytesIO(read), allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
        snapshot = Snapshot(
            id=id,
            X=np.ascontiguousarray(X, np.float64),
            y=np.ascontiguousarray(y, np.int64),
            feature_names=tuple(content["feature_names"]),
            class_names=tuple(content["class_names"]),
            name=content["name"],
            origin=content["origin"],
        )
    except (KeyError, ValueError, TypeError, OSError, zipfile.BadZipFile) as error:
        raise _damaged(path, "it does not hold the arrays of a snapshot") from error
    if snapshot.sha256 != content["sha256"]:
        raise _damaged(path, "the digest of its arrays differs")
    return snapshot


def verify(folder: Path, id: str) -> None:
    """Raise unless a snapshot is exactly what was published."""
    load(folder, id)


def stored(folder: Path) -> list[str]:
    """Return the ids of the snapshots in a folder, whole or damaged, in order."""
    ids = {path.stem for path in Path(folder).glob("*.json") if _ID.fullmatch(path.stem)}
    return sorted(ids, key=lambda id: (not id.isdigit(), int(id) if id.isdigit() else 0, id))
