"""Where cubes come from: a folder of this machine, or a host on a network.

Both give headers at once and lazy datasets when they are asked for; who has the one need not know
of the other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lcdb.errors import ArgumentError
from lcdb.folder import Folder
from lcdb.remote.address import is_url

if TYPE_CHECKING:
    from lcdb.remote.host import Host

__all__ = ["source_of"]


def source_of(
    path: str | os.PathLike[str],
    chunks: Any,
    check: bool | None,
    cache: str | os.PathLike[str] | None,
    storage_options: Mapping[str, Any] | None,
) -> Folder | Host:
    """Return what gives the cubes: a folder of this machine, or a host.

    Parameters
    ----------
    path, chunks, check, cache, storage_options
        As `lcdb.open` takes them.
    """
    if is_url(path):
        from lcdb.remote.host import Host

        return Host(str(path), chunks=chunks, check=check, cache=cache, options=storage_options)
    if cache is not None or storage_options is not None:
        name = "cache" if cache is not None else "storage_options"
        msg = f"{name} is for a URL; {os.fspath(path)!r} is a path of this machine"
        raise ArgumentError(msg)
    return Folder(path, chunks=chunks, check=check)
