"""The file system below a database directory: every change to it goes through here.

A file that is read has never been written in place: it is written under a temporary name in the
same folder, synced, and then linked (first wins) or renamed (last wins) to its own name, and the
folder is synced. A process may die at any moment; what it leaves is a temporary file whose name
says whose it was, so that the next one sweeps it away.

`hook` is called before and after each change, so that a test can die at all of them.
"""

from __future__ import annotations

import errno
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG
from typing import Any

from lcdb.errors import PlanError, StorageError
from lcdb_builders.storage.process import is_dead, this_process

__all__ = [
    "ORPHAN_AGE",
    "Temporary",
    "create",
    "make_folder",
    "making",
    "publish",
    "remove_folder",
    "replace",
    "sweep",
    "temporaries",
    "touch",
    "under",
    "unlink",
]

#: For tests: called as ``hook(when, what, path)`` with when ``"before"`` or ``"after"``. The path
#: of a link or rename is that of the temporary file.
hook: Callable[[str, str, Path], None] | None = None

#: Seconds after which a temporary file of another machine counts as left behind: longer than clocks
#: of machines differ, even where one of them takes its local time for the world's.
ORPHAN_AGE = 2 * 86400.0
_SUFFIX = ".tmp"
# A dot, the final name, `this_process` of the owner, eight random digits.
_TEMPORARY = re.compile(r"\.(.+)\.([0-9a-f]{8}-\d+-\w+)\.[0-9a-f]{8}\.tmp")
# What `os.link` raises where a file system has no hard links.
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


def under(root: Path, *parts: str) -> Path:
    """Return a path below a root; a part that could lead elsewhere is refused.

    Examples
    --------
    >>> under(Path("db"), "cubes", "61.nc").as_posix()
    'db/cubes/61.nc'
    >>> under(Path("db"), "cubes", "../61.nc")
    Traceback (most recent call last):
    ...
    lcdb.errors.PlanError: '../61.nc' cannot name a file; expected a name without / and leading dot
    """
    for part in parts:
        if not part or part.startswith(".") or "/" in part or os.sep in part or "\0" in part:
            msg = f"{part!r} cannot name a file; expected a name without / and leading dot"
            raise PlanError(msg)
    return root.joinpath(*parts)


@contextmanager
def _change(what: str, path: Path, final: Path | None = None) -> Iterator[None]:
    """Wrap one change to the file system: call the hook, tell failures as ours.

    A link or rename has two paths: where from, and where to.
    """
    if hook is not None:
        hook("before", what, path)
    try:
        yield
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError as error:
        raise _storage_error(final or path, error) from error
    if hook is not None:
        hook("after", what, path)


def _storage_error(path: Path, error: OSError) -> StorageError:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    advice = "free some space" if full else "put that right"
    reason = error.strerror or type(error).__name__
    msg = (
        f"{path} could not be written: {reason}; {advice} and run the same command again: "
        "what was published stays whole"
    )
    return StorageError(msg)


class Temporary:
    """A file in the making beside its final name; a binary file object that HDF5 can write to.

    HDF5 does not survive a write that fails: it crashes when it closes the file. So a failure is
    kept, later writes go to memory, and `check` (or publishing) raises it.

    Parameters
    ----------
    final
        Where the file is going to be published.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> temporary = Temporary(folder / "a.txt")
    >>> temporary.write(b"content")
    7
    >>> temporary.link(), (folder / "a.txt").read_bytes(), len(list(folder.iterdir()))
    (True, b'content', 1)
    """

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(
            f".{final.name}.{this_process()}.{uuid.uuid4().hex[:8]}{_SUFFIX}"
        )
        self.failure: OSError | None = None
        self._position = 0
        self._lost: list[tuple[int, bytes]] = []
        with _change("create", self.path, self.final):
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self.path, flags, 0o666)

    # -- a file object -------------------------------------------------------------------------

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length()}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def write(self, data: Any) -> int:
        """Write at the position; a failure is kept for `check`."""
        view = memoryview(data).cast("B")
        if self.failure is None:
            try:
                with _change("write", self.path, self.final):
                    self._write_all(view)
            except StorageError as error:
                self.failure = error
        if self.failure is not None:
            self._lost.append((self._position, bytes(view)))
        self._position += len(view)
        return len(view)

    def _write_all(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            done += os.pwrite(self._descriptor, view[done:], self._position + done)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the position."""
        view = memoryview(buffer).cast("B")
        data = bytearray(os.pread(self._descriptor, len(view), self._position))
        data.extend(bytes(max(0, min(len(view), self._length() - self._position) - len(data))))
        for start, lost in self._lost:
            first, last = (
                max(start, self._position),
                min(start + len(lost), self._position + len(data)),
            )
            if first < last:
                data[first - self._position : last - self._position] = lost[
                    first - start : last - start
                ]
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the position."""
        buffer = bytearray(self._length() - self._position if size < 0 else size)
        return bytes(buffer[: self.readinto(buffer)])

    def truncate(self, size: int | None = None) -> int:
        """Set the length; HDF5 does so when it closes a file."""
        size = self._position if size is None else size
        if self.failure is None and size != self._length():
            try:
                with _change("write", self.path, self.final):
                    os.ftruncate(self._descriptor, size)
            except StorageError as error:
                self.failure = error
        return size

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def _length(self) -> int:
        return max([os.fstat(self._descriptor).st_size, *(s + len(d) for s, d in self._lost)])

    # -- publishing ----------------------------------------------------------------------------

    def check(self) -> None:
        """Raise the first write that failed; the file stays open for HDF5 to close."""
        if self.failure is not None:
            raise self.failure

    def _check_or_discard(self) -> None:
        try:
            self.check()
        except StorageError:
            self.discard()
            raise

    def sync(self) -> None:
        """Make the content survive a power cut, and close the file."""
        self._check_or_discard()
        if self._descriptor < 0:
            return
        try:
            with _change("fsync", self.path, self.final):
                os.fsync(self._descriptor)
        except StorageError:
            self.discard()
            raise
        self._close()

    def reread(self) -> BufferedReader:
        """Sync, and open what is on the disk, not what is left of it in memory."""
        self.sync()
        file = self.path.open("rb")
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file

    def link(self, durable: bool = True) -> bool:
        """Publish unless the name is taken; return whether this file was published.

        What need not survive a power cut is not synced: that takes a tenth of the time.
        """
        if durable:
            self.sync()
        else:
            self._check_or_discard()
            self._close()
        try:
            won = self._link()
        except FileNotFoundError as error:
            raise _storage_error(self.final, error) from error
        finally:
            unlink(self.path)
        if durable:
            _sync_folder(self.final.parent)
        return won

    def _link(self) -> bool:
        try:
            with _change("link", self.path, self.final):
                try:
                    os.link(self.path, self.final)
                except FileExistsError:
                    # A network file system may have done it, and lost its own answer.
                    return os.path.samefile(self.path, self.final)
        except StorageError as error:
            cause = error.__cause__
            if not isinstance(cause, OSError) or cause.errno not in _NO_LINKS:
                raise
            if self.final.exists():
                return False
            with _change("rename", self.path, self.final):
                os.rename(self.path, self.final)
        return True

    def replace(self) -> bool:
        """Publish over what is there; False if somebody has removed this file meanwhile.

        Who takes over the lock of a builder that seems dead removes its temporary files first: a
        builder that was only slow then cannot put an older view over a newer one.
        """
        self.sync()
        try:
            with _change("rename", self.path, self.final):
                os.rename(self.path, self.final)
        except FileNotFoundError:
            return False
        except StorageError:
            self.discard()
            raise
        _sync_folder(self.final.parent)
        return True

    def discard(self) -> None:
        """Close and remove the file."""
        self._close()
        unlink(self.path)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            self._close()


@contextmanager
def making(*finals: Path) -> Iterator[list[Temporary]]:
    """Yield files in the making; remove them if something goes wrong."""
    made: list[Temporary] = []
    try:
        made.extend(Temporary(final) for final in finals)
        yield made
    except BaseException:
        for temporary in made:
            temporary.discard()
        raise


def publish(final: Path, data: bytes) -> bool:
    """Write a file unless its name is taken; return whether it was this one that was published."""
    temporary = Temporary(final)
    temporary.write(data)
    return temporary.link()


def replace(final: Path, data: bytes) -> None:
    """Write a file in the place of what is there."""
    temporary = Temporary(final)
    temporary.write(data)
    if not temporary.replace():
        error = FileNotFoundError(errno.ENOENT, "its temporary file was removed meanwhile")
        raise _storage_error(final, error)


def create(path: Path, data: bytes) -> bool:
    """Write a small file that need not survive a power cut; False if its name is taken."""
    if path.exists():
        return False
    temporary = Temporary(path)
    temporary.write(data)
    return temporary.link(durable=False)


def touch(path: Path) -> bool:
    """Set a file's time to now; False if it is gone."""
    try:
        with _change("touch", path):
            os.utime(path)
    except FileNotFoundError:
        return False
    return True


def unlink(path: Path) -> bool:
    """Remove a file; False if it was gone already."""
    try:
        with _change("unlink", path):
            os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def make_folder(path: Path) -> None:
    """Make a folder and those above it."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError), _change("mkdir", path):
        os.mkdir(path)
    _sync_folder(path.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder if it is empty."""
    with suppress(FileNotFoundError, StorageError), _change("rmdir", path):
        os.rmdir(path)


def temporaries(folder: Path, name: str = "") -> list[tuple[Path, str]]:
    """Return temporary files in a folder and their owners: all, or those of one final name."""
    files = []
    with suppress(FileNotFoundError):
        for entry in sorted(os.listdir(folder)):
            match = _TEMPORARY.fullmatch(entry)
            if match is not None and name in ("", match[1]):
                files.append((folder / entry, match[2]))
    return files


def sweep(folder: Path) -> int:
    """Remove the temporary files that dead processes left in a folder; return how many.

    Links are not followed: what a link leads to is not ours.
    """
    count = 0
    for path, owner in () if folder.is_symlink() else temporaries(folder):
        dead = is_dead(owner)
        with suppress(FileNotFoundError):
            stat = path.lstat()
            if dead is None:
                dead = time.time() - stat.st_mtime > ORPHAN_AGE
            if dead and S_ISREG(stat.st_mode):
                count += unlink(path)
    return count


def _sync_folder(folder: Path) -> None:
    """Make names in a folder survive a power cut, where the file system can."""
    with _change("fsync", folder):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
                raise
        finally:
            os.close(descriptor)
