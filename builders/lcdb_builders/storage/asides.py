"""Files that are in the way are renamed, or get a second name: nothing is removed.

As all changes below a database directory these are made under the hook of `storage/disk.py`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lcdb.errors import StorageError
from lcdb_builders.storage import disk

__all__ = ["identity", "link", "move", "set_aside"]


def link(source: Path, name: Path) -> bool:
    """Give a file a second name, or copy it where there are no links; False if that is taken."""
    try:
        with disk._change("link", source, name):
            os.link(source, name)
    except FileExistsError:
        return False
    except StorageError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.errno not in disk._NO_LINKS:
            raise
        temporary = disk.Temporary(name)
        with source.open("rb") as file:
            while piece := file.read(1 << 20):
                temporary.write(piece)
        return temporary.link()
    disk._sync_folder(name.parent)
    return True


def set_aside(path: Path, judged: tuple[int, ...]) -> Path | None:
    """Rename a file that was found damaged; None if it is gone, or is another one by now.

    Parameters
    ----------
    path
        The file.
    judged
        What `identity` said when it was looked at.
    """
    aside = path.with_name(f"{path.name}.damaged-{judged[1]:x}")
    with suppress(FileNotFoundError):
        if identity(path) != judged:
            return None
        with disk._change("rename", path, aside):
            os.rename(path, aside)
        if identity(aside) == judged:
            return aside
        # Somebody put a good one there at this very moment: it gets its name back.
        link(aside, path)
        disk.unlink(aside)
    return None


def move(source: Path, folder: Path) -> Path:
    """Move a file or a folder into another folder, under a name that is free; return where to."""
    disk.make_folder(folder)
    target, count = folder / source.name, 1
    while target.exists():
        count += 1
        target = folder / f"{source.name}.{count}"
    with disk._change("rename", source, target):
        os.rename(source, target)
    disk._sync_folder(folder)
    return target


def identity(path: Path) -> tuple[int, ...]:
    """Return what tells a file from any other that has, or had, its name."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
