"""The journal as a builder uses it: what is missing, leases on it, results and failures.

A builder's loop is: `missing` → `lease` a block → compute it → `publish` (or `fail`) → and when
nothing is missing any more, `lcdb_builders.storage.pack.pack`. Any number of builders may do so at
once on one directory, on any number of machines; each may be killed at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from lcdb.errors import DamagedError, PlanError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import Block, digest
from lcdb_builders.storage import disk
from lcdb_builders.storage.blockfile import Scores, agree, canonical_scores
from lcdb_builders.storage.blocks import LEASE_SUFFIX, Blocks, Failure, Published, determinism_error
from lcdb_builders.storage.claims import Claim, claimed, clear_claims, wait_for_claims
from lcdb_builders.storage.cube import read_values, slice_digest
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.growth import contradiction, merge_units, outdated
from lcdb_builders.storage.layout import Coverage, Lengths
from lcdb_builders.storage.lease import Lease, locked
from lcdb_builders.storage.manifest import Entry, Manifest, believed, cube_path
from lcdb_builders.storage.process import this_process
from lcdb_builders.storage.restore import needs_salvage, restore, standing, was_salvaged

__all__ = ["Claims", "Failure", "Journal", "Lengths", "Published", "Sources"]


Sources = Mapping[AnyUnit, str]


class Journal(Blocks):
    """What a builder does with a database directory, besides packing.

    Cheap to make and to pickle; a worker may make its own.

    Parameters
    ----------
    root
        The database directory.

    Examples
    --------
    >>> import tempfile
    >>> from lcdb_builders.storage.environment import environment
    >>> from lcdb_builders.domain.unit import DRAWS, Unit
    >>> unit = Unit("61", "ab", 1, DRAWS, "", "{}", "draws-1", "random", "fixed", "default", "",
    ...             (1, 2, 3))
    >>> journal = Journal(tempfile.mkdtemp())
    >>> journal.prepare([unit])
    >>> first, second = journal.missing(unit, repetitions=8, proposal=Lengths(3, 5))
    >>> with journal.lease(first) as lease:
    ...     counts = np.full(first.shape, 2)
    ...     scores = {"n_test": counts.astype("int32"), "n_classes_train": counts.astype("int8")}
    ...     journal.publish(first, scores, environment())
    'new'
    >>> journal.missing(unit, repetitions=8) == [second]
    True
    """

    def prepare(self, units: Iterable[AnyUnit] = (), sources: Sources | None = None) -> None:
        """Make the folders, sweep what dead builders left, and see whether the units may be built.

        Parameters
        ----------
        units
            What is going to be built: all of it, so that a plan that cannot go into this
            directory is refused before anything is computed, and before anything is changed.
        sources
            Digests of the code that will compute the units, where it has one.

        Raises
        ------
        PlanError
            Numbers are there, or another builder is at work on some, that were computed with
            another seed, parameter, size list, dataset or implementation; the message names the
            key. Or numbers of one of the units were computed by other code.
        """
        by_dataset = _by_dataset(units)
        for dataset, wanted in by_dataset.items():
            self._check(dataset, wanted, sources)
        for name in ("blocks", "cubes", "manifest", "snapshots"):
            disk.make_folder(self.root / name)
            disk.sweep(self.root / name)
        for folder in (self.root, *self.folders()):
            disk.sweep(folder)
        for dataset, wanted in by_dataset.items():
            built = self.built(dataset, self._restored(dataset))
            merge_units(wanted, built)
            for unit in outdated(wanted, built):
                for block in self.find(unit):
                    disk.unlink(self.path(block))

    def outdated(self, units: Iterable[AnyUnit]) -> list[AnyUnit]:
        """Return what was built with another source of a class than the units now have.

        `prepare` removes its blocks, and the next cube does without it.
        """
        replaced: list[AnyUnit] = []
        for dataset, wanted in _by_dataset(units).items():
            built = self.built(dataset, believed(self.root, dataset))
            replaced += outdated(wanted, built)
        return replaced

    def claim(self, units: Iterable[AnyUnit], sources: Sources | None = None) -> Claims:
        """Prepare for units, and let no builder of contradicting ones begin until this one ends.

        Parameters
        ----------
        units
            As for `prepare`, which is done first.
        sources
            Digests of what computes the units, where they have one.

        Returns
        -------
        Claims
            To be released when the build ends: it is a context manager.
        """
        every = list(units)
        self.prepare(every, sources)
        return Claims(self, every, sources or {})

    def _check(
        self,
        dataset: str,
        wanted: Sequence[AnyUnit],
        sources: Sources | None = None,
        own: Iterable[Path] = (),
    ) -> None:
        """Raise where units contradict what is there, or what others are at work on."""
        sources = sources or {}
        path = str(cube_path(self.root, dataset))
        cube = dict(standing(self.root, dataset))
        journal = self.built(dataset)
        merge_units(wanted, {**journal, **dict.fromkeys(cube, path)})
        for unit in wanted:
            there = {cube[unit]} if unit in cube else set()
            if unit in journal and unit in sources:
                there |= self.sources(unit)
            _check_source(unit, sources.get(unit, ""), there)
        for _, host, others in claimed(self.root, dataset, own):
            for unit in wanted:
                _check_source(unit, sources.get(unit, ""), {others.get(unit, "")})
            reason = contradiction(wanted, others)
            if reason is not None:
                msg = (
                    f"{dataset}: {reason} in the plan of another builder, which is at work in "
                    f"{self.root} on {host}; expected the same in all of a database: wait for its "
                    "end, or build into another directory"
                )
                raise PlanError(msg)

    def _restored(self, dataset: str) -> Entry | None:
        return restore(self.root, dataset, self.notes.append)

    def built(self, dataset: str, entry: Entry | None = None) -> dict[AnyUnit, str]:
        """Return the units of a dataset that have numbers in the journal, or in a cube; and where.

        Parameters
        ----------
        dataset
            Id.
        entry
            The manifest's entry for the cube.
        """
        held = entry.slices if entry is not None else ()
        where = {s.unit: str(cube_path(self.root, dataset)) for s in held if s.coverage}
        for unit in self.units(dataset):
            where.setdefault(unit, str(self.folder(unit)))
        return where

    # -- what is to be done --------------------------------------------------------------------

    def missing(
        self, unit: AnyUnit, repetitions: int, proposal: Lengths | None = None
    ) -> list[Block]:
        """Return the blocks of a unit that are still to be computed.

        Counted as done is what a cube with the right digest holds, what blocks with the right
        digest hold (others are removed), and what has failed (see `retry`). What is left is cut
        along a grid of the unit's stored block lengths.

        Parameters
        ----------
        unit
            The unit.
        repetitions
            R of the plan.
        proposal
            Block lengths to store if none are stored yet; by default the whole unit is one block.
        """
        blocks, entry = self._there_is(unit)
        failed = [failure.block for failure in self.failures(unit)]
        coverage = Coverage(unit, repetitions, _held(entry, unit))
        for block in (*blocks, *failed):
            coverage.add_block(block)
        lengths = self.lengths(unit, proposal or Lengths(len(unit.sizes), repetitions))
        return coverage.missing(lengths)

    def _there_is(self, unit: AnyUnit) -> tuple[list[Block], Entry | None]:
        """Return the blocks of a unit and the entry of its dataset's cube; all numbers are in one.

        Salvaging turns slices into blocks, packing turns blocks into slices, and either may happen
        at this moment: so blocks are looked for between two looks at the cube.
        """
        while True:
            before = self._restored(unit.dataset)
            blocks = self.verified(unit)
            after = believed(self.root, unit.dataset)
            if after is not None or (before is None and not needs_salvage(self.root, unit.dataset)):
                return blocks, after

    def scattered(self, blocks: list[Block]) -> list[Block]:
        """Return blocks in an order that starts elsewhere in every process.

        Builders that start together then meet at the end, and not at every block.
        """
        if not blocks:
            return []
        start = int(digest(this_process()), 16) % len(blocks)
        return [*blocks[start:], *blocks[:start]]

    def lease(self, block: Block, stale: float | None = None) -> Lease | None:
        """Return a lease on a block that is still to be computed, else None.

        Parameters
        ----------
        block
            One of those that `missing` returned.
        stale
            Seconds without a heartbeat after which another builder's lease is taken over.

        Returns
        -------
        Lease or None
            To be released after `publish` or `fail`: it is a context manager. None if somebody
            else is at work on the block, or the block is there by now.
        """
        if self._there(block):
            return None
        path = self.path(block, LEASE_SUFFIX)
        disk.make_folder(path.parent)
        lease = Lease.take(path, stale)
        if lease is not None and self._there(block):  # published between the two looks
            lease.release()
            return None
        return lease

    def _there(self, block: Block) -> bool:
        return self.path(block).exists() or self._in_cube(block) is not None

    # -- what was done -------------------------------------------------------------------------

    def publish(
        self,
        block: Block,
        scores: Mapping[str, np.ndarray],
        environment: Environment,
        source: str = "",
    ) -> Published:
        """Make a block's scores part of the database; see `Blocks.publish`.

        Where a cube holds the block by now, the scores are compared with the cube's.
        """
        entry = self._in_cube(block)
        if entry is not None and self._as_in_cube(block, scores, environment, entry):
            return "duplicate"
        outcome = super().publish(block, scores, environment, source)
        if outcome == "new" and self.find(block.unit) == [block]:
            self._check_first(block)
        return outcome

    def _check_first(self, block: Block) -> None:
        """Take the first block of a unit back if others have the directory by now.

        Who was stopped for long may have lost its claim. Others look at numbers after they have
        made their claim, and this looks at claims after the numbers are there, so that one of the
        two sees the other.
        """
        try:
            self._check(block.unit.dataset, [block.unit])
        except PlanError:
            disk.unlink(self.path(block))
            raise

    def _in_cube(self, block: Block) -> Entry | None:
        """Return the entry of the newest cube if, by its manifest, it holds the block."""
        entry = self._newest(block.unit.dataset)
        if entry is None:
            return None
        held = Coverage(block.unit, entry.repetitions, _held(entry, block.unit))
        return entry if held.holds(block) else None

    def _newest(self, dataset: str) -> Entry | None:
        """Return what the manifest says of the current cube, if there is one.

        Only of a cube that was damaged it is looked up whether it is what the manifest tells of.
        """
        if not cube_path(self.root, dataset).exists():
            return None
        if was_salvaged(self.root, dataset):
            return believed(self.root, dataset)
        with suppress(DamagedError):
            return Manifest.read(self.root, dataset).current
        return None

    def _as_in_cube(
        self,
        block: Block,
        scores: Mapping[str, np.ndarray],
        environment: Environment,
        entry: Entry,
    ) -> bool:
        """Compare a block with the cube; False if the cube's slice is not what it should be."""
        canonical = canonical_scores(block, scores)
        theirs = self._cube_values(block, entry)
        if theirs is None:
            return False
        computed_on = entry.by_unit[block.unit].computed_on
        there = computed_on[0] if len(computed_on) == 1 else {}
        for name, array in canonical.items():
            if not agree(array, theirs[name], environment, there):
                raise determinism_error(block, name, environment, there)
        return True

    def _cube_values(self, block: Block, entry: Entry) -> Scores | None:
        """Return a block's values in the cube; None if they are not what the manifest says."""
        held = entry.by_unit[block.unit]
        rectangle = (block.sizes[0], block.sizes[-1], block.first, block.stop)
        where = Coverage(block.unit, entry.repetitions).where(rectangle)
        stored: Scores = {}
        try:
            with cube_path(self.root, block.unit.dataset).open("rb") as raw, h5py.File(raw) as file:
                for variable in block.unit.variables:
                    values = read_values(file, entry.contents, block.unit, variable)
                    if slice_digest(block.unit, variable, values) != held.digests[variable.name]:
                        return None
                    stored[variable.name] = values[where]
        except (OSError, KeyError, RuntimeError, ValueError):
            return None
        return stored


def _check_source(unit: AnyUnit, source: str, there: set[str]) -> None:
    """Raise where other code than this computed numbers of a unit; what is not known passes."""
    others = there - {source, ""}
    if source and others:
        msg = (
            f"{unit.label}: its numbers were computed by other code (sources {min(others)[:12]}…) "
            f"than this lcdb runs ({source[:12]}…); expected the same for all of a curve. "
            "'lcdb verify DIR --adopt 20' computes 20 cells of every such curve again and goes on "
            "with it if they are the same bit for bit; else build into another directory"
        )
        raise PlanError(msg)


def _by_dataset(units: Iterable[AnyUnit]) -> dict[str, list[AnyUnit]]:
    by_dataset: dict[str, list[AnyUnit]] = {}
    for unit in units:
        by_dataset.setdefault(unit.dataset, []).append(unit)
    return by_dataset


class Claims:
    """What a builder has claimed, dataset by dataset; see `Journal.claim`.

    Parameters
    ----------
    journal
        Where.
    units
        All that the plan has.
    sources
        Digests of what computes them.

    Raises
    ------
    PlanError
        Another builder was first.
    """

    #: Seconds between looks at whether the claims are still there.
    LOOK = 5.0

    def __init__(self, journal: Journal, units: Sequence[AnyUnit], sources: Sources) -> None:
        self._journal = journal
        self._sources = sources
        self._held: dict[str, Claim] = {}
        self._looked_at = time.monotonic()
        try:
            for dataset, wanted in _by_dataset(units).items():
                self._take(dataset, wanted)
        except BaseException:
            self.release()
            raise

    def _take(self, dataset: str, wanted: Sequence[AnyUnit]) -> None:
        journal = self._journal
        wait_for_claims(journal.root, dataset, wanted)
        with locked(journal.root, dataset):
            clear_claims(journal.root, dataset)
            claim = Claim(journal.root, dataset, wanted, self._sources)
            self._held[dataset] = claim
            journal._check(dataset, wanted, self._sources, own=[claim.path])

    def check(self) -> None:
        """Claim again what others took this builder to be dead for; PlanError if that cannot be."""
        if time.monotonic() - self._looked_at < self.LOOK:
            return
        self._looked_at = time.monotonic()
        for dataset, claim in tuple(self._held.items()):
            if not claim.lease.mine():
                claim.lease.release()
                self._take(dataset, claim.units)

    def release(self) -> None:
        """End the claims: from here on the numbers themselves say what may join them."""
        for claim in self._held.values():
            claim.lease.release()

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _held(entry: Entry | None, unit: AnyUnit) -> tuple:
    """Return the cells of a unit that a cube holds, as rectangles."""
    if entry is None or unit not in entry.by_unit:
        return ()
    return entry.by_unit[unit].coverage
