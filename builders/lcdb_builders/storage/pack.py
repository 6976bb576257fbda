"""Blocks become a cube.

Under the dataset's lock the current cube is read again, and the union of cube and journal is
written whole, in one canonical order, verified and published (see `writing`). Only then blocks are
removed, and only those of complete units. Dying in between costs at most the work of packing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

from lcdb.errors import DamagedError, StorageError
from lcdb_builders.domain.lost import Lost, merge_lost, told_lost
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.storage import disk
from lcdb_builders.storage.blockfile import BlockFile, Scores, agree
from lcdb_builders.storage.blocks import determinism_error
from lcdb_builders.storage.contents import AnyContents, contents_of, facts_of
from lcdb_builders.storage.cube import (
    read_values,
)
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.growth import merge_units, one_source
from lcdb_builders.storage.indexes import index_packed
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.lease import Lease, TakenError, locked
from lcdb_builders.storage.manifest import (
    Entry,
    Manifest,
    Metadata,
    Slice,
    cube_path,
    manifest_path,
)
from lcdb_builders.storage.packed import Cube
from lcdb_builders.storage.parts import Target
from lcdb_builders.storage.restore import restore_locked, settle
from lcdb_builders.storage.writing import Writing

__all__ = ["pack"]


# Attempts to pack before what keeps on failing is told, and seconds of rest after the first. They
# double each time, or else two builders that take each other for dead take the lock in turns.
_ATTEMPTS = 10
_PAUSE = 0.02


def pack(
    root: str | Path, snapshot: Snapshot | Target, units: Iterable[AnyUnit], repetitions: int
) -> Cube:
    """Write the union of a dataset's cube and its blocks as the new cube.

    Parameters
    ----------
    root
        The database directory.
    snapshot
        The dataset; of an experiment's parts, the experiment.
    units
        All units that the plan has for it, also those that were not built. What the cube or the
        journal hold besides them stays.
    repetitions
        R of the plan; a cube that has more keeps them.

    Returns
    -------
    Cube
        The cube that is there now. Units with missing cells are ``partial``, or ``failed`` or
        ``timed_out`` where that was recorded; their blocks stay in the journal. Units of which
        every cell was computed, but some without a value, are ``partial``, without any ``failed``.

    Raises
    ------
    PlanError
        A unit is there with another seed, parameter, size list, dataset or implementation.
    DeterminismError
        The same cells were computed twice with different numbers.
    StorageError
        The cube could not be written; nothing is lost.
    """
    root, units = Path(root), tuple(units)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * 2 ** (attempt - 1))
        try:
            with locked(root, snapshot.id) as lease:
                return _Packing(root, snapshot, units, repetitions, lease).run(lease)
        except TakenError as error:
            reason = str(error)
    msg = f"{cube_path(root, snapshot.id)} could not be packed in {_ATTEMPTS} attempts: {reason}"
    raise StorageError(msg)


class _Packing(Writing):
    """One attempt to pack, by the holder of the lock."""

    def __init__(
        self,
        root: Path,
        snapshot: Snapshot | Target,
        units: Iterable[AnyUnit],
        repetitions: int,
        lease: Lease,
    ) -> None:
        self.root = root
        self.snapshot = snapshot
        self.dataset, self.origin = snapshot.id, snapshot.origin
        self.journal = Journal(root)
        self.old = restore_locked(root, snapshot.id, lease, self.journal.notes.append)
        if self.old is not None:
            repetitions = max(repetitions, self.old.repetitions)
        built = self.journal.built(snapshot.id, self.old)
        self.lost = self.journal.lost(snapshot.id)
        known = self.old.by_unit if self.old is not None else ()
        merged = merge_units(units, built, [*known, *self.lost])
        self.contents = self._contents(merged, repetitions)
        repetitions = self.contents.repetitions
        self.blocks = {
            unit: [block for block in self.journal.verified(unit) if block.first < repetitions]
            for unit in self.contents.units
        }
        self.slices = [self._slice(unit) for unit in self.contents.units]

    def run(self, lease: Lease) -> Cube:
        """Write and publish the cube if it is not there already; clean up behind it."""
        path = cube_path(self.root, self.dataset)
        written = not self._unchanged()
        if written:
            sha256 = self.write(path, lease)
        else:
            assert self.old is not None
            sha256 = self.old.sha256
            self._settle(self.old)
        settle(self.root, self.dataset, sha256)
        index_packed(self.root, path, sha256)
        for s in self.slices:
            if s.is_whole(self.contents.repetitions):
                self.journal.clear(s.unit, self.blocks[s.unit], self.contents.repetitions)
        return Cube(
            dataset=self.dataset,
            path=path,
            sha256=sha256,
            written=written,
            statuses={s.unit.label: s.status for s in self.slices},
            notes=tuple(self.journal.notes),
            slices=tuple(self.slices),
        )

    # -- what there is -------------------------------------------------------------------------

    def _contents(self, merged: list[AnyUnit], repetitions: int) -> AnyContents:
        """Return what the new cube is to hold."""
        units = []
        for unit in merged:
            if isinstance(unit, Part) and not unit.trials:  # nobody asks for it: what there is
                stops = (block.stop for block in self.journal.find(unit))
                unit = unit.with_trials(max(stops, default=0))
            units.append(unit)
        most = max((unit.trials for unit in units if isinstance(unit, Part)), default=repetitions)
        return contents_of(facts_of(self.snapshot), units, max(most, repetitions))

    def _slice(self, unit: AnyUnit) -> Slice:
        """Return what the new cube will have of a unit; digests are not known yet."""
        held = self.held(unit)
        coverage = Coverage(unit, self.contents.repetitions, held.coverage if held else ())
        lost = list(held.lost) if held else []
        for block in self.blocks[unit]:
            if getattr(unit, "estimator", "") and not coverage.holds(block):
                with self._opened(block) as file:
                    lost += file.lost
            coverage.add_block(block)
        missing = merge_lost(lost)
        status, reason = self._status(unit, coverage, missing)
        return Slice(
            unit=unit,
            status=status,
            reason=reason,
            coverage=tuple(coverage.rectangles()),
            digests=held.digests if held else {},
            computed_on=held.computed_on if held else (),
            lost=missing,
            source=held.source if held else "",
        )

    def _status(self, unit: AnyUnit, coverage: Coverage, lost: tuple[Lost, ...]) -> tuple[str, str]:
        if coverage.complete and not lost:
            return "complete", ""
        if coverage.complete:
            nothing = sum(one.cells for one in lost if not one.accuracy)
            return ("failed" if nothing >= coverage.cells else "partial"), told_lost(lost)
        failures = [
            failure for failure in self.journal.failures(unit) if not coverage.holds(failure.block)
        ]
        share = f"{coverage.cells} of {coverage.wanted} cells"
        if failures:
            first = next((f for f in failures if f.status == "failed"), failures[0])
            where = unit.where(first.block)
            return first.status, f"{first.reason} (first at {where}; {share} are there)"
        if coverage.cells:
            return "partial", f"{share} are there"
        return "not_built", self.lost.get(unit, "")

    def _unchanged(self) -> bool:
        if self.old is None or self.old.contents != self.contents:
            return False
        now = [(s.unit, s.status, s.reason, s.coverage) for s in self.slices]
        return now == [(s.unit, s.status, s.reason, s.coverage) for s in self.old.slices]

    # -- values of cube and blocks -----------------------------------------------------------------

    def values(
        self, unit: AnyUnit, old: h5py.File | None
    ) -> tuple[Scores, tuple[Environment, ...], str]:
        """Return the union of cube and blocks, what computed it, and the digest of the code.

        Values are arrays (sizes of the unit, repetitions).
        """
        there = Coverage(unit, self.contents.repetitions)
        values = {
            v.name: np.full((*there.there.shape, *unit.inner_shape(v)), v.empty, v.dtype)
            for v in unit.variables
        }
        held = self.held(unit)
        sources = {held.source} if held is not None else set()
        computed_on = list(held.computed_on) if held is not None else []
        if held is not None and self.old is not None:
            for v in unit.variables:
                part = read_values(old, self.old.contents, unit, v)
                values[v.name][:, : self.old.repetitions] = part
            for rectangle in held.coverage:
                there.add(rectangle)
        for block in self.blocks[unit]:
            sources.add(self._overlay(values, there, block, computed_on))
        return values, tuple(computed_on), one_source(unit, sources)

    def _overlay(
        self, values: Scores, there: Coverage, block: Block, computed_on: list[Environment]
    ) -> str:
        """Put a block's scores where nothing is yet; what is there must be the same.

        Returns the digest of the code that computed the block.
        """
        where = there.where((block.sizes[0], block.sizes[-1], block.first, block.stop))
        known = there.there[where]
        with self._opened(block) as file:
            before = computed_on[0] if len(computed_on) == 1 else {}
            for name, array in values.items():
                part = array[where]
                new = file.array(name)[:, : part.shape[1]]  # a bigger plan may go beyond
                if known.any() and not agree(new[known], part[known], file.environment, before):
                    raise determinism_error(block, name, file.environment, before)
                part[~known] = new[~known]
            if file.environment not in computed_on:
                computed_on.append(file.environment)
            source = file.source
        there.add_block(block)
        return source

    def _opened(self, block: Block) -> BlockFile:
        try:
            return self.journal.open(block)
        except (FileNotFoundError, DamagedError) as error:
            raise TakenError(str(error)) from error

    def _settle(self, old: Entry) -> None:
        """Do what is left to do when the cube is right: somebody may have died before doing it."""
        with self.old_file() as file:
            for s in self.slices:
                if s.is_whole(self.contents.repetitions) and self.blocks[s.unit]:
                    self.values(s.unit, file)  # raises where a late block says something else
            if old.metadata is None and file is not None:  # of a version that recorded none
                with cube_path(self.root, self.dataset).open("rb") as raw:
                    old = replace(old, metadata=Metadata.of(raw, file))
        settled = Manifest(self.dataset, current=old)
        if Manifest.read(self.root, self.dataset) != settled:
            disk.replace(manifest_path(self.root, self.dataset), settled.encode())
