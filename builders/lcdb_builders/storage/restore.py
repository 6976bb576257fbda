"""A damaged cube is put aside, and its good slices back into the journal, before it is replaced.

The cube stays where it is until packing renames a verified one over it, which a builder that was
stopped for long cannot do. Its bytes stay for good under a name such as
``cubes/61.nc.damaged-0123456789ab``, the first digits of their SHA-256, unless the new cube has the
same. ``blocks/<id>.salvaged.json`` says that all of this was done for a file of that digest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from lcdb.errors import DamagedError, StorageError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.storage import asides, disk
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.lease import Lease, TakenError, locked
from lcdb_builders.storage.manifest import (
    Entry,
    Manifest,
    believed,
    cube_path,
    file_sha256,
    manifest_path,
)
from lcdb_builders.storage.records import encode_record, read_record
from lcdb_builders.storage.salvage import Salvaged, salvage

__all__ = [
    "DAMAGED",
    "check_strangers",
    "needs_salvage",
    "put_aside",
    "restore",
    "restore_locked",
    "settle",
    "standing",
    "was_salvaged",
]

#: What stands between the name of a cube that was put aside and its digest.
DAMAGED = ".damaged-"
_DIGITS = 12
Tell = Callable[[str], None]


def _quietly(note: str) -> None:
    """Tell nobody."""


def restore(root: Path, dataset: str, tell: Tell = _quietly) -> Entry | None:
    """Return what is known of a dataset's cube, after salvaging it if it is damaged.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    tell
        Called with what was found, in words.

    Returns
    -------
    Entry or None
        The manifest's entry for the cube; None if there is none, or a damaged one whose good
        slices are in the journal.

    Raises
    ------
    StorageError
        The file is not ours, or somebody has added something to it, or it could not be judged.
    """
    while True:
        entry = believed(root, dataset)
        if entry is not None or not needs_salvage(root, dataset):
            return entry
        with suppress(TakenError), locked(root, dataset) as lease:
            return restore_locked(root, dataset, lease, tell)


def restore_locked(root: Path, dataset: str, lease: Lease, tell: Tell = _quietly) -> Entry | None:
    """Do what `restore` does, for somebody who holds the lock; TakenError if it is lost."""
    entry = believed(root, dataset)
    if entry is not None or not needs_salvage(root, dataset):
        return entry
    path = cube_path(root, dataset)
    judged = asides.identity(path)
    salvaged = salvage(root, dataset)
    _refuse_strangers(root, dataset, salvaged)
    aside = put_aside(path, judged)
    if not lease.mine() or asides.identity(path) != judged:
        msg = f"{path} was replaced by another builder while it was looked at"
        raise TakenError(msg)
    blocks = Blocks(root)
    for label in salvaged.lost:
        blocks.lose(salvaged.units[label], f"lost to damage; what is left is in {aside.name}")
    record = {"sha256": file_sha256(path), "kept": salvaged.kept, "lost": salvaged.lost}
    disk.replace(_record_path(root, dataset), encode_record(record))
    tell(_told(path, aside, salvaged))
    return None


def needs_salvage(root: Path, dataset: str) -> bool:
    """Return whether there is a cube that nobody has looked at since it was damaged."""
    try:
        record = read_record(_record_path(root, dataset))
        return file_sha256(cube_path(root, dataset)) != record["sha256"]
    except (FileNotFoundError, DamagedError):
        return cube_path(root, dataset).exists()


def was_salvaged(root: Path, dataset: str) -> bool:
    """Return whether damage of a cube was found that is not made good yet."""
    return _record_path(root, dataset).exists()


def standing(root: Path, dataset: str) -> Iterator[tuple[AnyUnit, str]]:
    """Yield what a cube holds, or held before it was damaged; nothing is changed.

    Units, with the digests of the code that computed them.

    Raises
    ------
    StorageError
        As for `restore`.
    """
    entry = believed(root, dataset)
    if not cube_path(root, dataset).exists():
        return
    entries: tuple[Entry, ...] = () if entry is None else (entry,)
    if entry is None:
        with suppress(DamagedError):
            entries = Manifest.read(root, dataset).entries
    for known in entries:
        yield from ((s.unit, s.source) for s in known.slices if s.coverage)
    if not entries and needs_salvage(root, dataset):
        salvaged = salvage(root, dataset, keep=False)
        _refuse_strangers(root, dataset, salvaged)
        yield from ((unit, "") for unit in salvaged.units.values())


def check_strangers(root: Path, dataset: str) -> None:
    """Raise StorageError where a file that is not all ours is in the way; nothing is changed."""
    if believed(root, dataset) is None and needs_salvage(root, dataset):
        _refuse_strangers(root, dataset, salvage(root, dataset, keep=False))


def settle(root: Path, dataset: str, sha256: str) -> None:
    """Forget damage that the cube of this digest has made good; for the holder of the lock."""
    disk.unlink(_record_path(root, dataset))
    path = cube_path(root, dataset)
    disk.unlink(path.with_name(f"{path.name}{DAMAGED}{sha256[:_DIGITS]}"))


def put_aside(path: Path, judged: tuple[int, ...]) -> Path:
    """Give a file a second name that tells its digest, and return that; the first one stays.

    Parameters
    ----------
    path
        The file.
    judged
        What `asides.identity` said of it; TakenError if it is another one by now.
    """
    aside = path.with_name(f"{path.name}{DAMAGED}{file_sha256(path)[:_DIGITS]}")
    if not asides.link(path, aside):
        return aside
    if asides.identity(aside) != judged and not _is_copy(aside, path):
        disk.unlink(aside)  # one more name of a file that is not the one that was judged
        msg = f"{path} was replaced by another builder while it was looked at"
        raise TakenError(msg)
    return aside


def _is_copy(aside: Path, path: Path) -> bool:
    """Return whether a file system without links made a copy."""
    return not os.path.samefile(aside, path) and file_sha256(aside) == file_sha256(path)


def _record_path(root: Path, dataset: str) -> Path:
    return disk.under(root, "blocks", f"{dataset}.salvaged.json")


def _refuse_strangers(root: Path, dataset: str, salvaged: Salvaged) -> None:
    """Raise where replacing a file would take something from its owner that is not ours."""
    path = cube_path(root, dataset)
    ours = manifest_path(root, dataset).exists() or any(Blocks(root).folders(dataset))
    advice = (
        f"nothing was changed: move it elsewhere, or 'lcdb repair {root} --aside {dataset}' "
        f"keeps it as {path.name}{DAMAGED}…"
    )
    if salvaged.foreign or not (salvaged.units or ours):
        msg = f"{path} is in the way: it is no cube and was not written by lcdb; {advice}"
        raise StorageError(msg)
    if salvaged.extras:
        msg = (
            f"{path} holds what lcdb did not write: {', '.join(salvaged.extras)}; writing the cube "
            f"anew would lose it. {advice[0].upper()}{advice[1:]}"
        )
        raise StorageError(msg)


def _told(path: Path, aside: Path, salvaged: Salvaged) -> str:
    every = len(salvaged.units)
    if every and not salvaged.lost:
        return f"{path} is not the file that its manifest tells of: all {every} curves are kept"
    if not every:
        return f"{path} is damaged and cannot be read: what is left is kept as {aside.name}"
    lost = ", ".join(salvaged.lost[:5]) + (", …" if len(salvaged.lost) > 5 else "")
    return (
        f"{path} is damaged: {len(salvaged.kept)} of {every} curves are kept, lost are {lost}; "
        f"those of the plan are computed again, what is left of all is kept as {aside.name}"
    )
