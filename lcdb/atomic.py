"""Whole files or none: a new file takes its place only when all of it is on the disk.

What the core package writes is small and can be made again, so there are no leases and no sweeps
as the builder has: a process that dies leaves a temporary file whose name starts with a dot.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from lcdb.errors import StorageError

__all__ = ["replace_file"]


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, over one that is there; its folder is made if need be.

    Raises
    ------
    StorageError
        It could not be written; what was there is as it was.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> replace_file(folder / "new" / "a.txt", b"content")
    >>> (folder / "new" / "a.txt").read_bytes(), len(list((folder / "new").iterdir()))
    (b'content', 1)
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        msg = f"{path} could not be written: {reason}; put that right and run the command again"
        raise StorageError(msg) from error


def _sync_folder(folder: Path) -> None:
    """Make a name survive a power cut, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
