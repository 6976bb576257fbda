"""What can be known of cube files before HDF5 looks at them: by their manifests, or by a probe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lcdb.errors import DamagedError
from lcdb.manifest import Record, Stamp, believed, stamp_of
from lcdb.regular import open_regular

__all__ = ["Trust", "check_signature", "examine"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class Trust:
    """What was found out about one file.

    Parameters
    ----------
    stamp
        What the file was when it was looked at.
    record
        What its manifest says of it; None if there is nothing that tells of it.
    """

    stamp: Stamp
    record: Record | None


def check_signature(path: Path) -> None:
    """Raise what the system or the first bytes of a file say better than HDF5 does.

    Raises
    ------
    NotFoundError, ReadError, DamagedError
        There is no such file; the disk fails; it is none of HDF5's.
    """
    with open_regular(path, "a cube") as file:
        start = file.read(len(_SIGNATURE))
    if start != _SIGNATURE:
        msg = (
            f"{path} is not a netCDF-4 file: it was never a cube, or it is damaged "
            f"(then 'lcdb verify' on its database says what is lost)"
        )
        raise DamagedError(msg)


def examine(paths: Iterable[Path], check: bool | None = None) -> dict[Path, Trust]:
    """Return what is known of each file, after checking what can be checked in no time.

    Size and metadata are compared with the manifest. Of a file without one, a process of its own
    finds out whether HDF5 can read it, and whether its parts fit together.

    Parameters
    ----------
    paths
        Cube files.
    check
        False to look at the kind of file alone.

    Raises
    ------
    NotFoundError, ReadError, DamagedError
        There is no such file; the disk fails; the file is not what was written.
    """
    found = {}
    for path in paths:
        check_signature(path)
        record, stamp = (None, stamp_of(path.stat())) if check is False else believed(path)
        found[path] = Trust(stamp, record)
    unknown = {path: trust.stamp for path, trust in found.items() if trust.record is None}
    if unknown and check is not False:
        from lcdb.probe import probe

        probe(unknown)
    return found
