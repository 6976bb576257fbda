"""Indexes in a database directory: one beside each cube, one of all; see `lcdb.remote`.

Who reads a database from a host reads these first. They are made of the cubes alone: an index that
is lost is written again, and one of another cube than is there is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lcdb.errors import DamagedError, LCDBError, StorageError
from lcdb.folder import cube_files
from lcdb.manifest import Stamp, stamp_of
from lcdb.regular import read_regular
from lcdb.remote.format import CUBE_INDEX, FOLDER_INDEX, INDEX_NAME, decode, encode, index_name
from lcdb.remote.making import cube_index, folder_index
from lcdb.remote.references import references
from lcdb_builders.storage import disk

__all__ = [
    "index_cube",
    "index_database",
    "index_folder",
    "index_packed",
    "indexes",
    "known_index",
    "read_index",
    "refer",
]

_ATTEMPTS = 20
_FOLDERS = ("cubes", "summaries")


def indexes(root: Path) -> list[Path]:
    """Return the indexes that are there: those of cubes and summaries, and that of all."""
    beside = [p for name in _FOLDERS for p in sorted((root / name).glob("[!.]*.nc.index.json"))]
    return [*beside, *([root / INDEX_NAME] if (root / INDEX_NAME).exists() else [])]


def read_index(path: Path) -> dict[str, Any]:
    """Return an index that is what was written, to the last byte.

    Raises
    ------
    DamagedError, FormatVersionError, SchemaError
        It is not what was written; a newer lcdb wrote it; it is of something else.
    """
    data = read_regular(path, "an index")
    record = decode(data, FOLDER_INDEX if path.name == INDEX_NAME else CUBE_INDEX, path)
    # Numbers and letters may be spelled in two ways, which the digest of what they say is blind to.
    if encode({key: value for key, value in record.items() if key != "record_sha256"}) != data:
        msg = f"{path} is damaged: it says what was written, in other bytes; run 'lcdb index' again"
        raise DamagedError(msg)
    return record


# What indexes say of themselves, by path, with the stamp of the file that it was read from: builds
# ask for those of all cubes again whenever one changes.
_known: dict[Path, tuple[Stamp, dict[str, Any]]] = {}


def _read_once(path: Path, part: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return a part of an index that is what was written; nothing if it cannot be read."""
    try:
        stamp = stamp_of(path.stat())
        if path not in _known or _known[path][0] != stamp:
            _known[path] = stamp, part(read_index(path))
        return _known[path][1]
    except (LCDBError, OSError):
        return {}


def known_index(cube: Path) -> dict[str, Any] | None:
    """Return header and digest of the index beside a cube, None if none can be read."""
    names = ("header", "record_sha256")
    path = cube.with_name(index_name(cube.name))
    return _read_once(path, lambda record: {name: record[name] for name in names}) or None


def _is_listed(root: Path, cube: Path, known: dict[str, Any]) -> bool:
    """Return whether the index of a directory lists this cube, and no other than there are."""
    listed = _read_once(
        root / INDEX_NAME, lambda record: {c["file"]: c["index_sha256"] for c in record["cubes"]}
    )
    names = {f"{one.parent.name}/{one.name}" for one in _cubes(root)}
    own = f"{cube.parent.name}/{cube.name}"
    return names == listed.keys() and listed[own] == known["record_sha256"]


def index_packed(root: Path, cube: Path, sha256: str) -> None:
    """Write the indexes of a cube that was packed, and of all, unless they tell of it already.

    Parameters
    ----------
    root, cube, sha256
        Database directory; the cube in it, and its digest.
    """
    known = known_index(cube)
    if known is None or known["header"]["sha256"] != sha256:
        index_cube(cube)
    elif _is_listed(root, cube, known):
        return
    index_folder(root)


def index_cube(cube: Path) -> Path:
    """Write the index beside a cube; return where it is."""
    path = cube.with_name(index_name(cube.name))
    _write(path, cube_index(cube))
    return path


def _write(path: Path, data: bytes) -> None:
    try:
        same = path.read_bytes() == data
    except OSError:
        same = False
    if not same:
        disk.replace(path, data)


def refer(cube: Path, url: str) -> Path:
    """Write references to a cube that has an index, for readers without lcdb; return where.

    Parameters
    ----------
    cube
        The file.
    url
        Of the database directory, or of the folder in which the file is going to be.
    """
    record = decode(index_cube(cube).read_bytes(), CUBE_INDEX, cube)
    folder = f"{cube.parent.name}/" if cube.parent.name in _FOLDERS else ""
    path = cube.with_name(f"{cube.name}.kerchunk.json")
    _write(path, references(record, f"{url.rstrip('/')}/{folder}{cube.name}"))
    return path


def index_folder(root: Path) -> Path:
    """Write the index of a database directory from those of its cubes; return where it is.

    Builders may pack several datasets at the same time. Each looks again at what there is after it
    has written, so that the last one to write has seen all.
    """
    path = root / INDEX_NAME
    for _ in range(_ATTEMPTS):
        data = _folder(root)
        _write(path, data)
        if _folder(root) == data == path.read_bytes():
            return path
    msg = f"{path} could not be written: cubes of {root} change all the time; try again later"
    raise StorageError(msg)


def _folder(root: Path) -> bytes:
    known = ((f"{cube.parent.name}/", known_index(cube)) for cube in _cubes(root))
    return folder_index((folder, record) for folder, record in known if record is not None)


def _cubes(root: Path) -> list[Path]:
    """Return every cube of a directory, and every summary."""
    return [cube for name in _FOLDERS for cube in sorted((root / name).glob("[!.]*.nc"))]


def index_database(path: Path) -> list[Path]:
    """Write the index of every cube of a directory, and that of all; or that of one cube file.

    Returns
    -------
    list
        The indexes, that of all last.

    Raises
    ------
    NotFoundError, DamagedError, SchemaError
        There is no cube; one is not what was written, so that no index may vouch for it.
    """
    cube_files(path, None)  # tells what is no database
    if not path.is_dir():
        return [index_cube(path)]
    return [*map(index_cube, _cubes(path)), index_folder(path)]
