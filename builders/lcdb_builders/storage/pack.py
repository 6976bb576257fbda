"""Blocks become a cube: the only module that writes cubes.

Under the dataset's lock the current cube is read again, and the union of cube and journal is
written whole, in one canonical order. The new file is verified on disk, announced in the manifest
as the next one, renamed to its name, and announced as the current one. Only then blocks are
removed, and only those of complete units. Dying in between costs at most the work of packing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

from lcdb.errors import DamagedError, LCDBError, StorageError
from lcdb_builders.domain.lost import Lost, merge_lost, told_lost
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.storage import disk
from lcdb_builders.storage.blockfile import BlockFile, Scores, agree
from lcdb_builders.storage.blocks import determinism_error
from lcdb_builders.storage.contents import AnyContents, contents_of, facts_of
from lcdb_builders.storage.cube import (
    CubeWriter,
    read_values,
    same_chunks,
    slice_digest,
    unit_digest,
)
from lcdb_builders.storage.disk import Temporary
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.growth import merge_units, one_source
from lcdb_builders.storage.indexes import index_cube, index_folder, known_index
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.lease import Lease, TakenError, locked
from lcdb_builders.storage.manifest import (
    Entry,
    Manifest,
    Metadata,
    Slice,
    believed,
    cube_path,
    manifest_path,
    written_now,
)
from lcdb_builders.storage.packed import Cube
from lcdb_builders.storage.parts import Target
from lcdb_builders.storage.restore import restore_locked, settle

__all__ = ["pack"]


# Attempts to pack before what keeps on failing is told.
_ATTEMPTS = 10


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
    for _ in range(_ATTEMPTS):
        try:
            with locked(root, snapshot.id) as lease:
                return _Packing(root, snapshot, units, repetitions, lease).run(lease)
        except TakenError as error:
            reason = str(error)
    msg = f"{cube_path(root, snapshot.id)} could not be packed in {_ATTEMPTS} attempts: {reason}"
    raise StorageError(msg)


_TAKEN = "another builder took the lock over, as if this one were dead"


class _Packing:
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
        path = cube_path(self.root, self.snapshot.id)
        written = not self._unchanged()
        if written:
            sha256 = self._write(path, lease)
        else:
            assert self.old is not None
            sha256 = self.old.sha256
            self._settle(self.old)
        settle(self.root, self.snapshot.id, sha256)
        self._index(path, sha256)
        for s in self.slices:
            if s.is_whole(self.contents.repetitions):
                self.journal.clear(s.unit, self.blocks[s.unit], self.contents.repetitions)
        return Cube(
            dataset=self.snapshot.id,
            path=path,
            sha256=sha256,
            written=written,
            statuses={s.unit.label: s.status for s in self.slices},
            notes=tuple(self.journal.notes),
            slices=tuple(self.slices),
        )

    def _index(self, path: Path, sha256: str) -> None:
        """Write the indexes unless they tell of this very cube; who packed it may have died."""
        known = known_index(path)
        if known is None or known["header"]["sha256"] != sha256:
            index_cube(path)
        index_folder(self.root)

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

    def _held(self, unit: AnyUnit) -> Slice | None:
        """Return what the current cube has of a unit, if that is anything."""
        held = self.old.by_unit.get(unit) if self.old is not None else None
        return held if held is not None and held.coverage else None

    def _slice(self, unit: AnyUnit) -> Slice:
        """Return what the new cube will have of a unit; digests are not known yet."""
        held = self._held(unit)
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

    # -- writing -------------------------------------------------------------------------------

    def _write(self, path: Path, lease: Lease) -> str:
        """Write, verify and publish the cube and its manifest; return the cube's digest."""
        announced = manifest_path(self.root, self.snapshot.id)
        with disk.making(path, announced, announced) as (cube, before, after):
            if not lease.mine():
                raise TakenError(_TAKEN)
            with self._old_file() as old:
                self._fill(cube, old)
                entry = self._entry(*self._verify(cube, old))
            manifest = Manifest(self.snapshot.id, current=self.old, next=entry)
            before.write(manifest.encode())
            after.write(replace(manifest, current=entry, next=None).encode())
            for temporary in (before, cube, after):
                if not temporary.replace():
                    raise TakenError(_TAKEN)
        return entry.sha256

    @contextmanager
    def _old_file(self) -> Iterator[h5py.File | None]:
        if self.old is None:
            yield None
            return
        path = cube_path(self.root, self.snapshot.id)
        try:
            # As a Python file: HDF5 then neither locks it nor minds who else has it open.
            with path.open("rb") as raw, h5py.File(raw) as file:
                yield file
        except LCDBError:
            raise
        except Exception:
            if believed(self.root, self.snapshot.id, fresh=True) == self.old:
                raise
            msg = f"{path} was damaged or removed while it was read"
            raise TakenError(msg) from None

    def _copied(self, unit: AnyUnit) -> bool:
        """Return whether a unit's chunks can be copied as they are."""
        if self.old is None or self.old.repetitions != self.contents.repetitions:
            return False
        return self._held(unit) is not None and not self.blocks[unit]

    def _fill(self, cube: Temporary, old: h5py.File | None) -> None:
        with CubeWriter(cube, self.contents) as writer:
            cube.check()
            self.slices = [self._put(writer, s, old, cube) for s in self.slices]
            digests = {s.unit: unit_digest(s.digests) for s in self.slices if s.coverage}
            statuses = {s.unit: s.status for s in self.slices if not s.unit.is_draws}
            writer.finish(statuses, digests)
        cube.check()

    def _put(self, writer: CubeWriter, s: Slice, old: h5py.File | None, cube: Temporary) -> Slice:
        """Write a unit's slice and return what is then known of it."""
        if not s.coverage:
            return s
        if old is not None and self.old is not None and self._copied(s.unit):
            for variable in s.unit.variables:
                writer.copy(s.unit, variable, old, self.old.contents)
                cube.check()
            return s
        values, computed_on, source = self._values(s.unit, old)
        digests = {}
        for variable in s.unit.variables:
            array = values.pop(variable.name)
            writer.put(s.unit, variable, array)
            cube.check()
            digests[variable.name] = slice_digest(s.unit, variable, array)
        return replace(s, digests=digests, computed_on=computed_on, source=source)

    def _values(
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
        held = self._held(unit)
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
        with self._old_file() as file:
            for s in self.slices:
                if s.is_whole(self.contents.repetitions) and self.blocks[s.unit]:
                    self._values(s.unit, file)  # raises where a late block says something else
            if old.metadata is None and file is not None:  # of a version that recorded none
                with cube_path(self.root, self.snapshot.id).open("rb") as raw:
                    old = replace(old, metadata=Metadata.of(raw, file))
        settled = Manifest(self.snapshot.id, current=old)
        if Manifest.read(self.root, self.snapshot.id) != settled:
            disk.replace(manifest_path(self.root, self.snapshot.id), settled.encode())

    # -- verifying -----------------------------------------------------------------------------

    def _verify(self, cube: Temporary, old: h5py.File | None) -> tuple[str, int, Metadata]:
        """Compare what is on the disk with what was meant; return digest, length and metadata."""
        try:
            raw = cube.reread()
        except FileNotFoundError as error:
            raise TakenError(_TAKEN) from error
        with raw:
            sha256 = hashlib.file_digest(raw, "sha256").hexdigest()
            with h5py.File(raw) as file:
                for s in self.slices:
                    if s.coverage and not self._written(s, file, old):
                        msg = (
                            f"{cube.final}: {s.unit.label} does not read as it was written; the "
                            "disk may be failing. Nothing was published"
                        )
                        raise StorageError(msg)
                metadata = Metadata.of(raw, file)
            return sha256, raw.seek(0, 2), metadata

    def _written(self, s: Slice, file: h5py.File, old: h5py.File | None) -> bool:
        """Return whether a slice is what was meant.

        One that was written is decoded; one that was copied is compared chunk by chunk with the
        old cube, whose digest was verified.
        """
        for variable in s.unit.variables:
            if self._copied(s.unit) and old is not None and self.old is not None:
                one, other = (file, self.contents), (old, self.old.contents)
                same = same_chunks(one, other, s.unit, variable)
            else:
                values = read_values(file, self.contents, s.unit, variable)
                same = s.digests[variable.name] == slice_digest(s.unit, variable, values)
            if not same:
                return False
        return True

    def _entry(self, sha256: str, length: int, metadata: Metadata) -> Entry:
        return Entry(
            sha256=sha256,
            length=length,
            facts=self.contents.facts,
            repetitions=self.contents.repetitions,
            origin=self.snapshot.origin,
            slices=tuple(self.slices),
            written=written_now(),
            metadata=metadata,
        )
