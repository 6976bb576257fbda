"""Numbers of other code are taken over where computing some of them again gives the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.scaling import load_for
from lcdb_builders.domain.unit import Block
from lcdb_builders.experiments.protocol import trials_of
from lcdb_builders.learners import registry
from lcdb_builders.reference.block import draws_block
from lcdb_builders.run.code import code_digest
from lcdb_builders.storage import disk
from lcdb_builders.storage.blockfile import Scores, canonical_scores
from lcdb_builders.storage.cells import StoredUnit, cells_of
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.lease import locked
from lcdb_builders.storage.manifest import (
    Entry,
    Manifest,
    Slice,
    believed,
    manifest_path,
)

__all__ = ["Adopted", "adopt", "others"]


@dataclass(frozen=True)
class Adopted:
    """What became of a curve, or a part of an experiment, that other code computed.

    Parameters
    ----------
    unit
        Which.
    cells
        How many cells were computed again.
    different
        How many of them have other bits now: if any, the digest stays what it was.
    """

    unit: AnyUnit
    cells: int
    different: int


def others(root: str | os.PathLike[str]) -> list[AnyUnit]:
    """Return the units of a database that other code computed, or nobody knows what code."""
    journal = Journal(root)
    units = []
    for dataset in _datasets(journal.root):
        entry = believed(journal.root, dataset)
        for unit in journal.built(dataset, entry):
            if _recorded(journal, entry, unit) != {code_digest(unit)}:
                units.append(unit)
    return units


def _datasets(root: Path) -> list[str]:
    """Return the names of the cubes that there are, or will be."""
    names = {path.stem for path in (root / "cubes").glob("[!.]*.nc")}
    for folder in Journal(root).folders():
        names.update(name for name in _names_of(folder.name))
    return sorted(names)


def _names_of(folder: str) -> Iterator[str]:
    """Yield what may be the dataset in the name of a unit's folder: ids may have dashes in them."""
    parts = folder.split("-")
    yield from ("-".join(parts[:stop]) for stop in range(1, len(parts)))


def _recorded(journal: Journal, entry: Entry | None, unit: AnyUnit) -> set[str]:
    held = entry.by_unit.get(unit) if entry is not None else None
    in_cube = {held.source} if held is not None and held.coverage else set()
    return in_cube | journal.sources(unit)


def adopt(
    root: str | os.PathLike[str],
    count: int,
    seed: int = 0,
    *,
    allow_import: bool = False,
    tell: Callable[[AnyUnit], None] = lambda unit: None,
) -> Iterator[Adopted]:
    """Compute cells of every unit of other code again; take over those that have the same bits.

    Parameters
    ----------
    root
        The database directory.
    count
        Cells of a unit; all of them where there are fewer.
    seed
        Of their choice.
    allow_import
        Allow classes from elsewhere than scikit-learn; importing one runs its code.
    tell
        Called with each unit before it is computed.

    Yields
    ------
    Adopted
        Unit by unit.
    """
    journal = Journal(root)
    draw = np.random.default_rng(seed)
    for unit in others(root):
        tell(unit)
        cells = _chosen(journal, unit, count, draw)
        stored = StoredUnit(journal, unit)
        different = sum(
            not _same(journal.root, stored, *cell, allow_import=allow_import) for cell in cells
        )
        if cells and not different:
            _record(journal, unit)
        yield Adopted(unit, len(cells), different)


def _chosen(
    journal: Journal, unit: AnyUnit, count: int, draw: np.random.Generator
) -> list[tuple[int, int]]:
    """Return some of the cells that are there, as size and repetition."""
    there = cells_of(journal, unit)
    picked = draw.choice(len(there), min(count, len(there)), replace=False)
    return [(unit.sizes[i], int(r)) for i, r in there[np.sort(picked)]]


def _same(root: Path, stored: StoredUnit, n: int, repetition: int, *, allow_import: bool) -> bool:
    """Return whether a cell that is computed again has the bits that are stored."""
    block = Block(stored.unit, (n,), repetition, repetition + 1)
    now = canonical_scores(block, _computed(root, stored.unit, block, allow_import))
    there = stored.cell(n, repetition)
    return all(there[name].tobytes() == array.tobytes() for name, array in now.items())


def _computed(root: Path, unit: AnyUnit, block: Block, allow_import: bool) -> Scores:
    if isinstance(unit, Part):
        return trials_of(unit, block.repetitions, root)
    snapshot = load_for(root / "snapshots", unit)
    if unit.is_draws:
        return draws_block(snapshot, block, (unit.split,))[unit.split]
    learner = registry.for_unit(unit, allow_import=allow_import)
    return learner.block(snapshot, block, (unit.split,))[unit.split]


def _record(journal: Journal, unit: AnyUnit) -> None:
    """Write the digest of this code into the manifest and the blocks of a unit."""
    source = code_digest(unit)
    with locked(journal.root, unit.dataset):
        entry = believed(journal.root, unit.dataset)
        if entry is not None and unit in entry.by_unit:

            def renewed(s: Slice) -> Slice:
                return replace(s, source=source) if s.unit == unit and s.coverage else s

            current = replace(entry, slices=tuple(map(renewed, entry.slices)))
            manifest = Manifest(unit.dataset, current=current)
            disk.replace(manifest_path(journal.root, unit.dataset), manifest.encode())
        journal.adopt(unit, source)
