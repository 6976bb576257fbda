"""A folder in which chunks and indexes are kept that were read from a host."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lcdb.errors import StorageError

__all__ = ["DiskCache"]


class DiskCache:
    """Bytes by name, in files that are whole or not there; several processes may share it.

    Parameters
    ----------
    folder
        Made if it is not there. It grows with what is read, and may be deleted at any moment.

    Examples
    --------
    >>> cache = DiskCache(Path(tempfile.mkdtemp()) / "cache")
    >>> cache.put("one", b"bytes")
    >>> cache.get("one"), cache.get("two")
    (b'bytes', None)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._told(lambda: self.folder.mkdir(parents=True, exist_ok=True))

    def _told(self, change: Callable[[], object]) -> None:
        try:
            change()
        except OSError as error:
            msg = (
                f"the cache {self.folder} could not be written ({error.strerror or error}): free "
                "some space there, or open the database with another folder, or without"
            )
            raise StorageError(msg) from error

    def _path(self, key: str) -> Path:
        # Folders of some hundred files each: a big cube has thousands of chunks.
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / name[:2] / name[2:40]

    def get(self, key: str) -> bytes | None:
        """Return what is kept under a name, None if nothing is."""
        try:
            return self._path(key).read_bytes()
        except OSError:
            return None

    def put(self, key: str, value: bytes) -> None:
        """Keep bytes under a name."""
        self._told(lambda: self._write(self._path(key), value))

    def _write(self, path: Path, value: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(value)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
