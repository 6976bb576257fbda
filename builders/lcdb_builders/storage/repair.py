"""Damage: found in every file of a database. `verify` changes nothing.

The next build undoes it: `lcdb_builders.storage.restore` turns what is good of a damaged cube into
blocks; what is lost then counts as missing like anything else that was not computed yet, and
packing writes the cube anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lcdb.errors import (
    DamagedError,
    FormatVersionError,
    LCDBError,
    NotFoundError,
    ReadError,
    SchemaError,
)
from lcdb.naming import cube_key, is_id, misplaced
from lcdb.regular import FAILING, check_regular, read_error
from lcdb.release import read_release
from lcdb.schema import EXPERIMENTS
from lcdb_builders.domain import snapshot
from lcdb_builders.storage.blockfile import BlockFile
from lcdb_builders.storage.blocks import BLOCK_SUFFIX, Blocks
from lcdb_builders.storage.indexes import indexes, read_index
from lcdb_builders.storage.manifest import Entry, Manifest, believed, cube_path, manifest_path
from lcdb_builders.storage.records import read_record
from lcdb_builders.storage.salvage import salvage

__all__ = [
    "Damage",
    "Report",
    "files",
    "stray",
    "stray_cubes",
    "verify",
]


@dataclass(frozen=True)
class Damage:
    """One file that is not what was written.

    Parameters
    ----------
    path
        The file.
    what
        What is wrong with it, in words.
    units
        Labels of the units of a cube whose numbers are affected.
    repairable
        Whether the next build puts it right; if not, `what` says what does.
    """

    path: Path
    what: str
    units: tuple[str, ...] = ()
    repairable: bool = True


@dataclass
class Report:
    """What `verify` has looked at, and what it found."""

    checked: dict[str, int] = field(default_factory=dict)
    damage: list[Damage] = field(default_factory=list)

    @property
    def intact(self) -> bool:
        """Whether every file is what was written."""
        return not self.damage


_SUMMARIES = ("summaries", "lifetimes")
#: Folders of which a database has one at least.
_FOLDERS = ("cubes", "blocks", "snapshots", "manifest", *_SUMMARIES)


def files(root: str | Path) -> list[Path]:
    """Return what `verify` reads, if nothing changes meanwhile."""
    return [path for _, path, _ in _checks(_database(root))]


def _database(root: str | Path) -> Path:
    root = Path(root)
    if not any((root / name).is_dir() for name in _FOLDERS):
        msg = f"{root} is not a database directory: it has none of {', '.join(_FOLDERS)}"
        raise NotFoundError(msg)
    return root


def verify(root: str | Path, progress: Callable[[Path], None] | None = None) -> Report:
    """Read every file of a database and report each that is not what was written.

    Parameters
    ----------
    root
        The database directory; nothing in it is changed.
    progress
        Called with each file before it is read.

    Raises
    ------
    NotFoundError
        There is no database.
    """
    root = _database(root)
    report = Report()
    for kind, path, check in _checks(root):
        if progress is not None:
            progress(path)
        report.checked[kind] = report.checked.get(kind, 0) + 1
        try:
            report.damage.extend(check())
        except FormatVersionError:
            raise
        except FileNotFoundError:  # packed or replaced at this moment
            continue
        except (LCDBError, OSError) as error:
            reason: Exception = error
            if isinstance(error, OSError) and error.errno in FAILING:
                reason = read_error(path, error)
            failing = isinstance(reason, ReadError)
            what = " ".join(str(reason).split())
            report.damage.append(Damage(path, what, repairable=not failing))
    return report


_Check = Callable[[], "list[Damage]"]


def _checks(root: Path) -> Iterator[tuple[str, Path, _Check]]:
    folder = root / "snapshots"
    for dataset in snapshot.stored(folder) if folder.is_dir() else ():
        yield "snapshots", folder / f"{dataset}.npz", partial(_check_snapshot, folder, dataset)
    for path in _names(root / "manifest", ".json"):
        yield "manifests", path, partial(_check_manifest, root, path.stem)
    for path in _names(root / "cubes", ".nc"):
        yield "cubes", path, partial(_check_cube, root, path)
    for path in indexes(root):
        yield "indexes", path, partial(_check_index, root, path)
    blocks = Blocks(root)
    for folder in blocks.folders():
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") or path.suffix not in (".json", BLOCK_SUFFIX):
                continue
            kind = "blocks" if path.suffix == BLOCK_SUFFIX else "records"
            yield kind, path, partial(_check_journal, path)
    release = read_release(root)
    known = {} if release is None else release.files
    there = [path for name in _SUMMARIES for path in _names(root / name, ".nc")]
    lost = sorted(set(known) - {path.name for path in there})
    for path in [*there, *(root / "summaries" / name for name in lost)]:
        yield "summaries", path, partial(_check_summary, path, known.get(path.name))


def _names(folder: Path, suffix: str) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.glob(f"*{suffix}") if not p.name.startswith("."))


def _check_snapshot(folder: Path, dataset: str) -> list[Damage]:
    snapshot.verify(folder, dataset)
    return []


def _check_manifest(root: Path, dataset: str) -> list[Damage]:
    manifest = Manifest.read(root, dataset, fresh=True)
    if manifest.current is not None and not cube_path(root, dataset).exists():
        return [Damage(cube_path(root, dataset), "the cube is missing", _labels(manifest.current))]
    return []


def _check_index(root: Path, path: Path) -> list[Damage]:
    """Hold an index against its digest; one of another cube is whole, and is replaced some time."""
    try:
        read_index(path)
    except (DamagedError, SchemaError) as error:
        what = " ".join(str(error).split())
        return [Damage(path, what, repairable=any((root / "cubes").glob("[!.]*.nc")))]
    return []


_AWAY = ": move it elsewhere, or have 'lcdb repair DIR --aside ID' keep it under another name"


def _check_cube(root: Path, path: Path) -> list[Damage]:
    dataset = path.stem
    check_regular(path, "a cube")
    if believed(root, dataset, fresh=True) is not None:
        return []
    if wrong := stray(root, path):
        return [Damage(path, wrong, repairable=False)]
    described = _manifest_is_readable(root, dataset)
    salvaged = salvage(root, dataset, keep=False)
    units = len(salvaged.units)
    if salvaged.foreign:
        return [Damage(path, f"it is no cube and was not written by lcdb{_AWAY}", repairable=False)]
    if salvaged.extras:
        what = f"it holds what lcdb did not write, {', '.join(salvaged.extras)}{_AWAY}"
        return [Damage(path, what, repairable=False)]
    if not described and units and not salvaged.lost:
        # The values are right by the cube's own account; the manifest is what is damaged.
        if manifest_path(root, dataset).exists():
            return []
        return [Damage(manifest_path(root, dataset), "the manifest is missing")]
    what = f"{len(salvaged.lost)} of {units} units are damaged" if units else "it cannot be read"
    return [Damage(path, f"it is not the file that was written: {what}", tuple(salvaged.lost))]


def stray(root: Path, path: Path) -> str:
    """Return what is wrong with the name of a file among cubes; nothing if it is right or unclear.

    Builds write and repair ``<id>.nc`` alone. Another file of that id is nobody's, and whoever
    opens the database is told that there are two.
    """
    if is_id(path.stem) and manifest_path(root, path.stem).exists():
        return ""  # it is called what it was written as; what it says now may be damage
    from lcdb.cubefile import cube_kind, read_header  # xarray, which builders do without

    try:
        kind = cube_kind(path)
        if kind in EXPERIMENTS:
            return misplaced(path, kind)
        header = read_header(path)
    except (LCDBError, OSError):  # damaged: then it cannot tell what it was
        return ""
    return misplaced(path, cube_key(header.id, header.scaling))


def stray_cubes(root: Path) -> Iterator[str]:
    """Yield what is wrong with names in the folder of cubes, file by file."""
    for path in _names(root / "cubes", ".nc"):
        if path.is_file() and (wrong := stray(root, path)):
            yield wrong


def _manifest_is_readable(root: Path, dataset: str) -> bool:
    try:
        return bool(Manifest.read(root, dataset).entries)
    except DamagedError:
        return False


_AGAIN = "take it from where it came from, or make it again of its cube: 'lcdb summarize'"


def _check_summary(path: Path, sha256: str | None) -> list[Damage]:
    """Hold a summary against its release; one of no release against the sums of its chunks."""
    if sha256 is None:
        from lcdb.database import Database  # xarray, which builders do without

        try:
            with Database(path) as db:
                for key in (*db, *db.experiments):
                    db[key].load()
        except (DamagedError, NotFoundError) as error:
            return [Damage(path, f"{' '.join(str(error).split())}; {_AGAIN}", repairable=False)]
        return []
    if not path.exists():
        return [Damage(path, f"it is missing, and the release has it: {_AGAIN}", repairable=False)]
    actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual == sha256:
        return []
    what = f"its digest is {actual[:12]}…, and the release has {sha256[:12]}…: {_AGAIN}"
    return [Damage(path, what, repairable=False)]


def _labels(entry: Entry) -> tuple[str, ...]:
    return tuple(s.unit.label for s in entry.slices if s.coverage)


def _check_journal(path: Path) -> list[Damage]:
    if path.suffix == ".json":
        read_record(path)
        return []
    with BlockFile(path) as file:
        if not file.belongs_to(path):
            msg = f"{path} holds another block than its name says"
            raise DamagedError(msg)
    return []
