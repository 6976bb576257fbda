"""A cube is written whole, verified on disk, and published with its manifest.

The new file is announced in the manifest as the next one, renamed to its name, and announced as
the current one: dying in between costs the work at most. What goes into it, and why, is said by
`pack` (blocks that were computed) and `take` (curves of a host's cube).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py

from lcdb.errors import LCDBError, StorageError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import Block
from lcdb_builders.storage import disk
from lcdb_builders.storage.blockfile import Scores
from lcdb_builders.storage.contents import AnyContents
from lcdb_builders.storage.cube import (
    CubeWriter,
    read_values,
    same_chunks,
    slice_digest,
    unit_digest,
)
from lcdb_builders.storage.disk import Temporary
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.lease import Lease, TakenError
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

__all__ = ["TAKEN", "Writing"]

TAKEN = "another builder took the lock over, as if this one were dead"


class Writing:
    """One cube that is to be written, by the holder of its dataset's lock.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    origin
        Where the dataset came from, for the manifest.
    contents
        What the cube is to hold.
    slices
        One for each of its units; digests are not known yet.
    old
        What is known of the cube that is there; its slices are copied where nothing is new.
    blocks
        What is new of each unit.
    """

    root: Path
    dataset: str
    origin: Mapping[str, Any]
    contents: AnyContents
    slices: list[Slice]
    old: Entry | None
    blocks: Mapping[AnyUnit, Sequence[Block]]

    def values(
        self, unit: AnyUnit, old: h5py.File | None
    ) -> tuple[Scores, tuple[Environment, ...], str]:
        """Return a unit's values, what computed them, and the digest of the code.

        Values are arrays (sizes of the unit, repetitions).
        """
        raise NotImplementedError

    def held(self, unit: AnyUnit) -> Slice | None:
        """Return what the current cube has of a unit, if that is anything."""
        held = self.old.by_unit.get(unit) if self.old is not None else None
        return held if held is not None and held.coverage else None

    # -- writing -------------------------------------------------------------------------------

    def write(self, path: Path, lease: Lease) -> str:
        """Write, verify and publish the cube and its manifest; return the cube's digest."""
        announced = manifest_path(self.root, self.dataset)
        with disk.making(path, announced, announced) as (cube, before, after):
            if not lease.mine():
                raise TakenError(TAKEN)
            with self.old_file() as old:
                self._fill(cube, old)
                entry = self._entry(*self._verify(cube, old))
            manifest = Manifest(self.dataset, current=self.old, next=entry)
            before.write(manifest.encode())
            after.write(replace(manifest, current=entry, next=None).encode())
            for temporary in (before, cube, after):
                if not temporary.replace():
                    raise TakenError(TAKEN)
        return entry.sha256

    @contextmanager
    def old_file(self) -> Iterator[h5py.File | None]:
        """Yield the cube that is there, None if there is none."""
        if self.old is None:
            yield None
            return
        path = cube_path(self.root, self.dataset)
        try:
            # As a Python file: HDF5 then neither locks it nor minds who else has it open.
            with path.open("rb") as raw, h5py.File(raw) as file:
                yield file
        except LCDBError:
            raise
        except Exception:
            if believed(self.root, self.dataset, fresh=True) == self.old:
                raise
            msg = f"{path} was damaged or removed while it was read"
            raise TakenError(msg) from None

    def _copied(self, unit: AnyUnit) -> bool:
        """Return whether a unit's chunks can be copied as they are."""
        if self.old is None or self.old.repetitions != self.contents.repetitions:
            return False
        return self.held(unit) is not None and not self.blocks[unit]

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
        values, computed_on, source = self.values(s.unit, old)
        digests = {}
        for variable in s.unit.variables:
            array = values.pop(variable.name)
            writer.put(s.unit, variable, array)
            cube.check()
            digests[variable.name] = slice_digest(s.unit, variable, array)
        return replace(s, digests=digests, computed_on=computed_on, source=source)

    # -- verifying -----------------------------------------------------------------------------

    def _verify(self, cube: Temporary, old: h5py.File | None) -> tuple[str, int, Metadata]:
        """Compare what is on the disk with what was meant; return digest, length and metadata."""
        try:
            raw = cube.reread()
        except FileNotFoundError as error:
            raise TakenError(TAKEN) from error
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
            origin=self.origin,
            slices=tuple(self.slices),
            written=written_now(),
            metadata=metadata,
        )
