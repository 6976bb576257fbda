"""What replays need of a database beside its cubes, wherever it is: datasets and manifests."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path

from lcdb.database import Database
from lcdb.errors import NotFoundError
from lcdb_builders.storage import disk

__all__ = ["Brought"]

# Larger files are refused before they fill the disk.
_LARGEST = 2**31


class Brought:
    """The directory of a database; of one on a host, a folder for what is brought from there.

    Parameters
    ----------
    database
        An open database.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    @cached_property
    def root(self) -> Path:
        """The directory (of a single cube: the folder above its own)."""
        path = self.database.path
        if isinstance(path, Path):
            return path if path.is_dir() else path.resolve().parent.parent
        folder = tempfile.mkdtemp(prefix="lcdb-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def bring(self, folder: str, *names: str) -> None:
        """See that files of a folder are there, if the database is on a host.

        Raises
        ------
        NotFoundError
            The host has no such file.
        """
        host = self.database.host
        if host is None:
            return
        base = host.path.parent.parent if host.path.name.endswith(".nc") else host.path
        for name in names:
            path = disk.under(self.root, folder, name)
            if path.exists():
                continue
            address = base / f"{folder}/{name}"
            try:
                data = host.transport.whole(address, _LARGEST)
            except NotFoundError as error:
                msg = (
                    f"{address} does not exist: cells are computed again from the datasets of a "
                    f"database; upload its folder {folder!r}, or 'lcdb pull' the cubes and 'lcdb "
                    "fetch' the dataset"
                )
                raise NotFoundError(msg) from error
            disk.make_folder(path.parent)
            disk.replace(path, data)
