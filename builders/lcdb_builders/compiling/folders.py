"""Folders of caches: the user's own, which nobody else may have written to.

Whoever can write to a cache can run code as its reader, or hand out wrong data. So folders are made
for their owner alone, and one that belongs to somebody else than the reader or root, or that others
may write to, is refused.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

__all__ = [
    "CacheRefusedError",
    "check_folder",
    "make_folder",
    "own_cache",
    "suspicious",
    "user_cache",
]


class CacheRefusedError(PermissionError):
    """A cache that others may have written to."""


def user_cache() -> Path:
    """Return the folder that ``LCDB_CACHE`` names, else ``lcdb`` in the user's cache folder.

    Raises
    ------
    CacheRefusedError
        It is there, and others may have written to it.
    """
    named = os.environ.get("LCDB_CACHE")
    folder = Path(named).expanduser() if named else own_cache()
    check_folder(folder)
    return folder


def own_cache() -> Path:
    """Return the user's own cache, whatever ``LCDB_CACHE`` says."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lcdb"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lcdb"


def check_folder(folder: Path) -> None:
    """Raise if a folder is there and others than its reader and root may have written to it."""
    try:
        status = folder.stat()
    except OSError:
        return
    reason = suspicious(status)
    if reason:
        msg = (
            f"the cache {folder} {reason}, so others could have put code there that would run as "
            f"you; run 'chmod go-w {folder}' if it is yours alone, or let LCDB_CACHE name a folder "
            "of your own"
        )
        raise CacheRefusedError(msg)


def suspicious(status: os.stat_result) -> str:
    """Return why what is there may be others' work; empty if it is not."""
    if not hasattr(os, "geteuid"):  # pragma: no cover - Windows
        return ""
    if status.st_uid not in {0, os.geteuid()}:
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written to by others (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone, and those above it where they are missing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
