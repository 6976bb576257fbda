"""A directory that no build can go on with is freed: nothing is deleted, all is moved aside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lcdb.errors import NotFoundError, PlanError, did_you_mean
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.storage import asides, disk
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.claims import claimed
from lcdb_builders.storage.growth import groups
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.lease import locked
from lcdb_builders.storage.manifest import cube_path, manifest_path
from lcdb_builders.storage.restore import put_aside, standing
from lcdb_builders.storage.salvage import salvage

__all__ = ["ASIDE", "Group", "aside", "datasets", "keep", "mixed"]

#: The folder of a database in which things lie that were moved out of the way.
ASIDE = "aside"


@dataclass(frozen=True)
class Group:
    """Curves of one dataset that can stand in one cube.

    Parameters
    ----------
    letter
        Its name.
    units
        Of the cube, and of the journal.
    in_cube
        Whether the cube is of this group.
    blocks
        How many there are in the journal.
    reason
        In what it differs from the first group; empty for the first.
    """

    letter: str
    units: tuple[AnyUnit, ...]
    in_cube: bool
    blocks: int
    reason: str


def datasets(root: Path) -> list[str]:
    """Return the names of the datasets that have a cube or blocks."""
    names = {path.stem for path in (root / "cubes").glob("[!.]*.nc")}
    for folder in Blocks(root).folders():
        parts = folder.name.split("-")
        names.update("-".join(parts[:stop]) for stop in range(1, len(parts)))
    return sorted(name for name in names if cube_path(root, name).exists() or _units(root, name))


def _units(root: Path, dataset: str) -> list[AnyUnit]:
    return Blocks(root).units(dataset)


def mixed(root: Path, dataset: str) -> list[Group]:
    """Return the groups of what there is of a dataset, the cube's first; one if all is well.

    Parameters
    ----------
    root, dataset
        Database directory and dataset; nothing is changed.
    """
    cube = [unit for unit, _ in standing(root, dataset)]
    blocks = Blocks(root)
    every = list(dict.fromkeys([*cube, *_units(root, dataset)]))
    return [
        Group(
            letter=chr(ord("A") + i),
            units=tuple(members),
            in_cube=any(unit in cube for unit in members),
            blocks=sum(len(blocks.find(unit)) for unit in members),
            reason=reason,
        )
        for i, (reason, members) in enumerate(groups(every))
    ]


def keep(root: Path, dataset: str, letter: str) -> list[Path]:
    """Keep one group of a dataset, and move what is of the others into the folder `ASIDE`.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    letter
        Name of the group.

    Returns
    -------
    list of Path
        Where things are now.

    Raises
    ------
    PlanError
        There is no such group, or a builder is at work on the dataset.
    """
    with locked(root, dataset):
        _check_idle(root, dataset)
        every = mixed(root, dataset)
        names = [group.letter for group in every]
        if letter not in names:
            msg = f"{dataset} has no group {letter!r}.{did_you_mean(letter, names)}"
            raise PlanError(msg)
        moved = []
        blocks = Blocks(root)
        for group in every:
            if group.letter == letter:
                continue
            folders = [blocks.folder(unit) for unit in group.units]
            if group.in_cube:
                folders += [cube_path(root, dataset), manifest_path(root, dataset)]
            moved += [asides.move(path, root / ASIDE) for path in folders if path.exists()]
        return moved


def aside(root: Path, dataset: str) -> Path:
    """Put a cube, or what is in its place, aside; its good slices go back into the journal first.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.

    Returns
    -------
    Path
        Where the file is now.

    Raises
    ------
    NotFoundError
        There is no file.
    PlanError
        A builder is at work on the dataset.
    """
    path = cube_path(root, dataset)
    if not path.exists():
        msg = f"{path} does not exist; expected the cube of {dataset}, or a file in its place"
        raise NotFoundError(msg)
    with locked(root, dataset):
        _check_idle(root, dataset)
        judged = asides.identity(path)
        salvaged = salvage(root, dataset, strangers=True)
        kept = put_aside(path, judged)
        for label in salvaged.lost:
            reason = f"lost to damage; what is left is in {kept.name}"
            Journal(root).lose(salvaged.units[label], reason)
        disk.unlink(path)
        return kept


def _check_idle(root: Path, dataset: str) -> None:
    for _, host, _ in claimed(root, dataset):
        msg = f"a builder is at work on {dataset} on {host}; expected none: wait, or stop it"
        raise PlanError(msg)
