"""What is published of a database directory: its files, their digests, and what they hold."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lcdb.database import Database
from lcdb.errors import ArgumentError, DamagedError, NotFoundError, StaleError
from lcdb.manifest import read_records
from lcdb.regular import open_regular, read_regular
from lcdb.release import RELEASE_NAME, Release, read_release
from lcdb.remote.format import CUBE_INDEX, FOLDER_INDEX, INDEX_NAME, decode
from lcdb.schema import UNIT_DIMS
from lcdb.text import visible

__all__ = ["Contents", "Cube", "File", "describe_files", "read_contents"]

# Not the snapshots, which hold other people's data, nor what a build has not packed yet.
_PATTERNS = (
    INDEX_NAME,
    RELEASE_NAME,
    "cubes/*.nc",
    "cubes/*.json",
    "manifest/*.json",
    "summaries/*.nc",
    "summaries/*.json",
    "lifetimes/*.nc",
)
_FORMATS = {".nc": "application/x-netcdf", ".json": "application/json"}


@dataclass(frozen=True)
class File:
    """A file that is published: its path below the database, with slashes."""

    path: str
    bytes: int
    sha256: str

    @property
    def format(self) -> str:
        """The media type."""
        return _FORMATS[Path(self.path).suffix]


@dataclass(frozen=True)
class Cube:
    """What a cube of curves holds, in words and numbers that may be shown."""

    path: str
    id: str
    name: str
    openml_id: int | None
    sha256: str
    rows: int
    features: int
    classes: int
    first_size: int
    last_size: int
    sizes: int
    repetitions: int
    imputed_cells: int
    dropped_rows: int
    labels: dict[str, tuple[str, ...]]
    status: dict[str, int]


@dataclass(frozen=True)
class Contents:
    """What a database holds, as all that is published tells it."""

    files: tuple[File, ...]
    cubes: tuple[Cube, ...]
    experiments: dict[str, str]
    package_versions: tuple[str, ...]
    first_written: datetime
    last_written: datetime
    dated_by: str
    is_indexed: bool
    release: Release | None = None

    def labels(self, dim: str) -> list[str]:
        """Return the labels of a dim that any cube has, in order of first appearance."""
        return list(dict.fromkeys(label for cube in self.cubes for label in cube.labels[dim]))

    @property
    def status(self) -> dict[str, int]:
        """Curves by status, over all cubes; what no curve is has no key."""
        total: Counter[str] = Counter()
        for cube in self.cubes:
            total.update(cube.status)
        return {name: count for name, count in total.items() if count}


def describe_files(folder: Path) -> tuple[File, ...]:
    """Return path, size and digest of every file of a database that is to be published.

    Raises
    ------
    DamagedError
        A cube is another file than its manifest describes.
    """
    paths = [path for pattern in _PATTERNS for path in sorted(folder.glob(pattern))]
    return tuple(_describe(folder, path) for path in paths if not path.name.startswith("."))


def _describe(folder: Path, path: Path) -> File:
    name = path.relative_to(folder).as_posix()
    if not name.isprintable() or "\\" in name:
        msg = (
            f"{visible(name)!r} in {folder} cannot be published: a name on a host has no control "
            "characters and no backslash; rename the file"
        )
        raise ArgumentError(msg)
    digest = hashlib.sha256()
    with open_regular(path, "a file to publish") as file:
        while block := file.read(1 << 20):
            digest.update(block)
        size = file.tell()
    told = read_records(path) if name.startswith("cubes/") and path.suffix == ".nc" else None
    if told and digest.hexdigest() not in {record.sha256 for record in told}:
        msg = (
            f"{path} is not the file that its manifest describes: its bytes have another digest; "
            f"'lcdb verify {folder}' says what is damaged, and 'lcdb build' computes it again"
        )
        raise DamagedError(msg)
    return File(name, size, digest.hexdigest())


def read_contents(folder: str | os.PathLike[str]) -> Contents:
    """Return what a database directory holds; headers, attributes and digests are read.

    Raises
    ------
    NotFoundError, DamagedError, SchemaError, FormatVersionError, StaleError
        There is no database; a file is not what was written; it is no cube; the index is of others.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        msg = f"{place} is one file; expected a database directory, as 'lcdb build' makes it"
        raise NotFoundError(msg)
    with Database(place) as database:
        cubes = tuple(_cube(database, key, place) for key in database)
        versions = {str(database[key].attrs["package_version"]) for key in database}
        experiments = {
            name: visible(header) for name, header in sorted(database.experiments.items())
        }
    files = describe_files(place)
    times, dated_by = _times(place, files)
    return Contents(
        files=files,
        cubes=cubes,
        experiments=experiments,
        package_versions=tuple(sorted(map(visible, versions))),
        first_written=times[0],
        last_written=times[-1],
        dated_by=dated_by,
        is_indexed=_is_indexed(place, files),
        release=read_release(place),
    )


def _is_indexed(folder: Path, files: tuple[File, ...]) -> bool:
    """Return whether the database can be opened from a host; an index of other cubes is refused."""
    names = {file.path for file in files}
    if INDEX_NAME not in names:
        return False
    path = folder / INDEX_NAME
    record = _read_index(path, FOLDER_INDEX)
    told = {entry["file"]: entry["sha256"] for entry in record["cubes"]}
    there = {file.path: file.sha256 for file in files if file.path.startswith("cubes/")}
    there = {name: digest for name, digest in there.items() if name.endswith(".nc")}
    for entry in record["cubes"]:
        index = entry["index"]
        told[index] = entry["index_sha256"]
        if index in names:
            there[index] = _read_index(folder / index, CUBE_INDEX)["record_sha256"]
    for name in sorted(told.keys() | there.keys()):
        if told.get(name) != there.get(name):
            msg = (
                f"{path} is of another {name} than there is: nobody could read it at its address; "
                f"'lcdb index {folder}' writes the indexes again"
            )
            raise StaleError(msg)
    return bool(record["cubes"])


def _read_index(path: Path, kind: str) -> dict[str, Any]:
    return decode(read_regular(path, "an index"), kind, path)


def _cube(database: Database, key: int | str, folder: Path) -> Cube:
    header, attributes = database.headers[key], database[key].attrs

    def number(name: str) -> int:
        return int(attributes[name])

    return Cube(
        path=header.path.relative_to(folder).as_posix(),
        id=visible(key),
        name=visible(header.name),
        openml_id=number("openml_id") if "openml_id" in attributes else None,
        sha256=visible(attributes["dataset_sha256"]),
        rows=header.rows,
        features=header.features,
        classes=header.classes,
        first_size=header.runs[0][0],
        last_size=header.runs[-1][1],
        sizes=header.size_count,
        repetitions=header.repetitions,
        imputed_cells=number("imputed_cells"),
        dropped_rows=number("dropped_rows"),
        labels={dim: tuple(map(visible, header.labels[dim])) for dim in UNIT_DIMS},
        status=header.counts,
    )


def _times(folder: Path, files: tuple[File, ...]) -> tuple[list[datetime], str]:
    """Return when the cubes were written, ascending, and who says so."""
    written = sorted(_written(sorted((folder / "manifest").glob("*.json"))))
    if written:
        return written, "the manifests"
    cubes = [folder / file.path for file in files if file.path.endswith(".nc")]
    changed = sorted(datetime.fromtimestamp(int(cube.stat().st_mtime), UTC) for cube in cubes)
    return changed, "when the cubes' files were changed last"


def _written(manifests: Iterable[Path]) -> Iterable[datetime]:
    for path in manifests:
        try:
            content = json.loads(read_regular(path, "a manifest"))
            yield datetime.fromisoformat(content["current"]["written"]["at"]).astimezone(UTC)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # a manifest that cannot be read dates nothing; reading cubes copes as well
