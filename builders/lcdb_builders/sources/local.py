"""A local copy of one of the ten datasets, taken for OpenML's after it has been checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from lcdb.errors import DatasetError, NotFoundError
from lcdb_builders.domain import snapshot as store
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.cache import locked, snapshot_cache
from lcdb_builders.sources.catalog import Expected, expected, find
from lcdb_builders.sources.convert import with_origin
from lcdb_builders.sources.files import FORMATS, FileSource
from lcdb_builders.sources.table import about

__all__ = ["copy_in_folder", "take_copy"]

# Of several copies in a folder: ARFF is what OpenML has a checksum for.
_PREFERRED = ("ARFF", "parquet", "CSV")


def _candidates(folder: Path, entry: Expected) -> Iterable[Path]:
    """Yield files that may be a copy: ``61.arff``, ``61-iris.arff``, ``iris.arff``, ``61/…``."""
    stems = {entry.id, entry.name, f"dataset_{entry.id}"}
    starts = tuple(f"{start}{sign}" for start in (entry.id, f"dataset_{entry.id}") for sign in "-_")
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in FORMATS or not path.is_file():
            continue
        named = path.stem in stems or path.name.startswith(starts)
        # OpenML's client keeps its files as …/datasets/61/dataset.arff.
        if named or (path.parent.name == entry.id and path.stem == "dataset"):
            yield path


def copy_in_folder(folder: Path, entry: Expected) -> Path:
    """Return the one file of a folder that is named like a dataset."""
    candidates = list(_candidates(folder, entry))
    if not candidates:
        msg = (
            f"no file for dataset {entry.label} in {folder}; expected a name such as "
            f"{entry.id}.arff, {entry.id}-{entry.name}.csv or {entry.name}.parquet"
        )
        raise NotFoundError(msg)
    for kind in _PREFERRED:
        best = [path for path in candidates if FORMATS[path.suffix.lower()] == kind]
        if len(best) == 1:
            return best[0]
        if best:
            break
    names = ", ".join(str(path.relative_to(folder)) for path in candidates)
    msg = f"several files for dataset {entry.label} in {folder} ({names}); name one of them"
    raise DatasetError(msg)


def take_copy(
    dataset: int | str,
    path: str | os.PathLike[str],
    *,
    target: str = "",
    nominal: Sequence[str] = (),
    cache: str | os.PathLike[str] | None = None,
) -> Snapshot:
    """Put a local copy of a dataset in the user's cache, after checking it.

    Parameters
    ----------
    dataset
        Id or name of one of the ten.
    path
        The file, or a folder that holds one named like the dataset.
    target
        Column of the classes, where the file does not call it what OpenML does.
    nominal
        Columns of categories that the file does not declare.
    cache
        The user's cache; by default that of ``LCDB_CACHE``.

    Raises
    ------
    DatasetError
        It is not that dataset: N, d, K or, where it is known, the digest differs.
    """
    entry = find(dataset)
    if entry is None:
        known = ", ".join(expected())
        msg = (
            f"nothing is known of dataset {dataset} to check a copy against (known: {known}); "
            "list the file in a plan, under a name of its own"
        )
        raise DatasetError(msg)
    file = Path(path).expanduser()
    if file.is_dir():
        file = copy_in_folder(file, entry)
    snapshot = _checked(entry, file, target or entry.target, nominal)
    keep = snapshot_cache(cache)
    with locked(keep, entry.id):
        store.save(snapshot, keep, replace=True)
    return snapshot


def _checked(entry: Expected, file: Path, target: str, nominal: Sequence[str]) -> Snapshot:
    if not target:
        msg = f"dataset {entry.label}: which column of {file} holds the classes? use --target NAME"
        raise DatasetError(msg)
    source = FileSource(entry.id, file, target, nominal=tuple(nominal), name=entry.name)
    snapshot = source.snapshot()
    with about(f"{entry.label}, copy {file}"):
        entry.check(snapshot)
    return with_origin(snapshot, {"source": "local copy", **entry.facts(snapshot)})
