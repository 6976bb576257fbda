"""A folder is written that any static host can serve: the page, what it reads, and the cubes."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcdb.cubefile import Header
from lcdb.database import Database, Key
from lcdb.database import open as open_database
from lcdb.errors import ArgumentError, StorageError
from lcdb.naming import cube_key
from lcdb.publishing.publish import checked_url
from lcdb.remote.address import is_url
from lcdb.remote.format import CUBE_INDEX, INDEX_NAME, decode, encode, index_name
from lcdb.remote.making import cube_index, folder_index
from lcdb.site.content import Content, page_files

__all__ = ["place_of", "write_site"]

_WAYS = ("copy", "none")


@dataclass(frozen=True)
class _Copy:
    """A cube that is to be beside the page: where it is, where it goes, its index."""

    source: Path
    place: str
    index: bytes
    record: Mapping[str, Any]


def write_site(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    cubes: str = "copy",
    sizes: str = "log:100",
    progress: Callable[[int, int, str], object] | None = None,
) -> Iterator[Path]:
    """Write a site that shows a database, and yield its files.

    Parameters
    ----------
    directory
        A database directory, or one cube or summary.
    out
        A folder, made if it is missing; it may not be inside `directory`. Files of the same names
        are replaced, others are left.
    cubes
        ``"copy"``: cubes are put beside the page with their indexes (as hard links where that is
        possible), so that the folder is a database that `lcdb.open` opens by its address. The
        address of a host that has the database: cubes are read there. ``"none"``: nothing is shown
        that takes repetitions.
    sizes
        Training sizes to show: ``"log:100"``, ``"all"`` or a list, ``"10,20,50"``. Distributions
        are opened at these.
    progress
        Called with the number of steps that are done, how many there are, and what the last one
        was: of each dataset its index, if cubes are not left out, and its files.

    Raises
    ------
    ArgumentError, NotFoundError, DamagedError, StorageError
        `out` is inside the database or `cubes` is no address; there is no database; a cube is not
        what was written; the folder could not be written.

    Examples
    --------
    >>> import lcdb, tempfile
    >>> with lcdb.tutorial() as db, tempfile.TemporaryDirectory() as folder:
    ...     made = list(write_site(db.path, folder, sizes="log:5"))
    ...     sorted(path.name for path in Path(folder).iterdir())[:3]
    ['app.js', 'cells.js', 'chart.js']
    """
    source, folder = Path(directory), Path(out)
    if folder.resolve().is_relative_to(source.resolve()):
        msg = f"{folder} is inside {source}, which holds nothing but the database; name another"
        raise ArgumentError(msg)
    if cubes not in _WAYS and not is_url(cubes):
        msg = f"cubes is {cubes!r}; expected 'copy', 'none', or the address of a host that has them"
        raise ArgumentError(msg)
    with open_database(directory) as db:
        indexed = {} if cubes == "none" else db.headers
        steps = _Steps(progress, len(indexed) + len(db.headers))
        copies = {}
        for key, header in indexed.items():
            copies[key] = _indexed(header)
            steps.done(f"index of {header.name} ({header.key})")
        where = "" if cubes == "copy" else f"{checked_url(cubes)}/" if copies else ""
        opens = "." if cubes == "copy" else checked_url(cubes) if copies else source.name
        content = Content(db, sizes, opens, _places(db, copies, where))
        if cubes == "copy":
            yield from _put(folder, copies)
        for name, data in page_files().items():
            yield _write(folder / name, data)
        for dataset, names in content.by_dataset():
            for name in names:
                yield _write(folder / name, content.read(name))
            if dataset is not None:
                header = db.headers[dataset]
                steps.done(f"{len(names)} files of {header.name} ({header.key})")


class _Steps:
    """Counts what is done, and says so."""

    def __init__(self, progress: Callable[[int, int, str], object] | None, total: int) -> None:
        self._progress, self._total, self._count = progress, total, 0

    def done(self, what: str) -> None:
        self._count += 1
        if self._progress is not None:
            self._progress(self._count, self._total, what)


def place_of(header: Header) -> str:
    """Return where a cube is in a database directory."""
    folder = "summaries" if header.is_summary else "cubes"
    return f"{folder}/{cube_key(header.id, header.scaling)}.nc"


def _indexed(header: Header) -> _Copy:
    """Return a cube with its index, under the name that it has in a database directory."""
    place = place_of(header)
    made = decode(cube_index(header.path), CUBE_INDEX, header.path)
    described = {**made["header"], "file": place.rpartition("/")[2]}
    record = {name: value for name, value in made.items() if name != "record_sha256"}
    index = encode({**record, "header": described})
    return _Copy(header.path, place, index, decode(index, CUBE_INDEX, header.path))


def _places(db: Database, copies: Mapping[Key, _Copy], where: str) -> dict[Key, dict[str, str]]:
    """Return where the page finds each full cube."""
    return {
        key: {
            "url": f"{where}{copy.place}",
            "index": f"{where}{index_name(copy.place)}",
            "sha256": copy.record["header"]["sha256"],
        }
        for key, copy in copies.items()
        if not db.headers[key].is_summary
    }


def _put(folder: Path, copies: Mapping[Key, _Copy]) -> Iterator[Path]:
    """Put cubes, their indexes and that of all into the folder."""
    for copy in copies.values():
        _link(copy.source, folder / copy.place)
        yield folder / copy.place
        yield _write(folder / index_name(copy.place), copy.index)
    records = [(f"{copy.place.partition('/')[0]}/", copy.record) for copy in copies.values()]
    yield _write(folder / INDEX_NAME, folder_index(records))


def _link(source: Path, target: Path) -> None:
    """Put a file under another name as well: as a link if the disk can, else as a copy."""

    def make(temporary: Path) -> None:
        try:
            os.link(source.resolve(), temporary)
        except OSError:
            shutil.copyfile(source, temporary)

    _replace(target, make)


def _write(path: Path, data: bytes) -> Path:
    _replace(path, lambda temporary: temporary.write_bytes(data))
    return path


def _replace(target: Path, make: Callable[[Path], object]) -> None:
    """Put a file in its place when it is whole; nobody waits for the disk, as it can be remade."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            make(temporary)
            os.replace(temporary, target)
        finally:
            with suppress(OSError):
                temporary.unlink()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        msg = f"{target} could not be written: {reason}; put that right and run the command again"
        raise StorageError(msg) from error
