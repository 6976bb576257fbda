"""Regular files and nothing else: what could be waited for for ever is refused.

A named pipe or a device in the place of a file blocks whoever opens it. A disk that fails is told
as such, and never as damage: what it holds may be whole, and may be the only copy.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lcdb.errors import LCDBError, NotFoundError, ReadError

__all__ = [
    "FAILING",
    "check_regular",
    "failing_disk",
    "open_regular",
    "permitted",
    "read_error",
    "read_regular",
    "refused_error",
]

_NAMES = ("EIO", "ESTALE", "ENXIO", "ENODEV", "ETIMEDOUT", "EREMOTEIO")
#: What the system says when the disk or the network below a file fails, not the file.
FAILING = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_error(path: Path, error: OSError) -> ReadError:
    """Return the error for a file that the system cannot read, be it whole or not.

    Examples
    --------
    >>> str(read_error(Path("61.nc"), OSError(errno.EIO, "Input/output error")))[:47]
    '61.nc cannot be read now (Input/output error): '
    """
    reason = error.strerror or os.strerror(error.errno) if error.errno else str(error)
    msg = (
        f"{path} cannot be read now ({reason}): the disk or the connection to it fails, the file "
        "may be whole; leave it where it is, try again, and copy it to another disk if it reads"
    )
    return ReadError(msg)


def refused_error(error: PermissionError) -> ReadError:
    """Return the error for what this user may not read: whose it is, and what they can do.

    Examples
    --------
    >>> str(refused_error(PermissionError(errno.EACCES, "Permission denied", "/")))
    "/ is closed to you (Permission denied): it is root's, who can run 'chmod -R go+rX /'"
    """
    if error.filename is None:  # raised by a library, in its own words
        return ReadError(str(error))
    path = Path(os.fsdecode(error.filename))
    while not _is_seen(path):  # the folder above it is what is closed
        path = path.parent
    owner: object = path.stat().st_uid
    with suppress(ImportError, KeyError):  # a system without accounts, an owner without a name
        from pwd import getpwuid

        owner = getpwuid(path.stat().st_uid).pw_name
    msg = (
        f"{path} is closed to you ({error.strerror}): it is {owner}'s, "
        f"who can run 'chmod -R go+rX {path}'"
    )
    return ReadError(msg)


def _is_seen(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return path == path.parent
    return True


@contextmanager
def permitted() -> Iterator[None]:
    """Raise our error where the system does not let this user read."""
    try:
        yield
    except PermissionError as error:
        if isinstance(error, LCDBError):
            raise
        raise refused_error(error) from error


def check_regular(path: Path, expected: str = "a file") -> os.stat_result:
    """Return what the system knows of a regular file; raise for anything else.

    Raises
    ------
    NotFoundError
        There is nothing, or something that is no regular file.
    ReadError
        The disk fails.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise _told(path, error, expected) from error
    _refuse(path, found, expected)
    return found


def _refuse(path: Path, found: os.stat_result, expected: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "no regular file")
        msg = f"{path} is {kind}; expected {expected}: a regular file"
        raise NotFoundError(msg)


def _told(path: Path, error: OSError, expected: str) -> ReadError | NotFoundError:
    if error.errno in FAILING:
        return read_error(path, error)
    if isinstance(error, FileNotFoundError):
        msg = f"{path} does not exist; expected {expected}"
        return NotFoundError(msg)
    msg = f"{path} cannot be opened ({error.strerror or error}); expected {expected}"
    return NotFoundError(msg)


@contextmanager
def open_regular(path: Path, expected: str = "a file") -> Iterator[BinaryIO]:
    """Open a regular file for reading, without waiting for what is none.

    Parameters
    ----------
    path
        The file.
    expected
        What it should be, in words.

    Raises
    ------
    NotFoundError, ReadError
        As `check_regular`.
    """
    try:
        # Not to wait for a writer to come: a pipe opens at once, and is refused.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _told(path, error, expected) from error
    try:
        _refuse(path, os.fstat(handle), expected)
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as file:
        try:
            yield file
        except OSError as error:
            if error.errno in FAILING and not isinstance(error, ReadError):
                raise read_error(path, error) from error
            raise


def read_regular(path: Path, expected: str = "a file") -> bytes:
    """Return the content of a regular file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> path.write_bytes(b"text"), read_regular(path)
    (4, b'text')
    """
    with open_regular(path, expected) as file:
        return file.read()


def failing_disk(path: Path) -> ReadError | None:
    """Return the error of a disk that does not give a file; None if it can be read to its end.

    HDF5 does not tell a disk that fails from a file that is damaged: this does, by reading it.
    """
    try:
        with open_regular(path) as file:
            while file.read(1 << 20):
                pass
    except ReadError as error:
        return error
    except OSError:
        return None
    return None
