"""Blocks on disk: published once, found by name, believed by digest.

``blocks/<unit folder>/`` holds the unit itself and the lengths of its blocks (``layout.json``), its
blocks, the records of those that failed, and leases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lcdb.errors import DamagedError, DeterminismError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import Block
from lcdb_builders.storage import asides, disk
from lcdb_builders.storage.blockfile import (
    BlockFile,
    Scores,
    agree,
    canonical_scores,
    encode_block,
    scores_digest,
    source_of,
)
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.layout import Lengths
from lcdb_builders.storage.naming import describe, described
from lcdb_builders.storage.records import encode_record, read_record

__all__ = [
    "BLOCK_SUFFIX",
    "FAILURE_SUFFIX",
    "LAYOUT_NAME",
    "LEASE_SUFFIX",
    "Blocks",
    "Failure",
    "Published",
    "block_of_name",
    "determinism_error",
]

#: What became of a published block: it is the first, or it was there already, with equal numbers.
Published = Literal["new", "duplicate"]

_NAME = re.compile(r"n(\d+)-(\d+)\.r(\d+)-(\d+)\.[0-9a-f]{12}")
BLOCK_SUFFIX, FAILURE_SUFFIX, LEASE_SUFFIX = ".block", ".failed.json", ".lease"
LAYOUT_NAME, LOST_NAME = "layout.json", "lost.json"


@dataclass(frozen=True)
class Failure:
    """A block that could not be computed."""

    block: Block
    status: Literal["failed", "timed_out"]
    reason: str
    environment: Environment


class Blocks:
    """The blocks of a database directory.

    Cheap to make and to pickle. It remembers which files it has verified, and in `notes` what it
    found damaged.

    Parameters
    ----------
    root
        The database directory.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.notes: list[str] = []
        self._verified: dict[Path, tuple[int, ...]] = {}

    def __reduce__(self) -> tuple[type, tuple[Path]]:
        return type(self), (self.root,)

    def folder(self, unit: AnyUnit) -> Path:
        """Return the folder of a unit."""
        return disk.under(self.root, "blocks", unit.folder)

    def path(self, block: Block, suffix: str = BLOCK_SUFFIX) -> Path:
        """Return the file of a block, or with another suffix one that belongs to it."""
        return self.folder(block.unit) / f"{block.name}{suffix}"

    # -- layouts -------------------------------------------------------------------------------

    def lengths(self, unit: AnyUnit, proposal: Lengths) -> Lengths:
        """Return the block lengths of a unit: the stored ones, or the proposal, now stored.

        The first builder's proposal wins, for good: also a later version keeps to it.
        """
        path = self.folder(unit) / LAYOUT_NAME
        while True:
            try:
                return Lengths(**read_record(path)["lengths"])
            except FileNotFoundError:
                disk.make_folder(path.parent)
                content = {"unit": describe(unit), "lengths": asdict(proposal)}
                disk.publish(path, encode_record(content))
            except DamagedError:
                disk.unlink(path)

    def units(self, dataset: str) -> list[AnyUnit]:
        """Return the units of a dataset that have blocks here, by what stands in their folders."""
        stored = []
        for folder in self.folders(dataset):
            with suppress(FileNotFoundError, DamagedError):
                unit = described(read_record(folder / LAYOUT_NAME)["unit"])
                if unit.dataset == dataset and self.find(unit):
                    # How many trials were asked for once does not bind who asks now.
                    stored.append(unit.unasked())
        return stored

    def folders(self, dataset: str | None = None) -> list[Path]:
        """Return the folders of all units, or of one dataset's."""
        base = self.root / "blocks"
        if not base.is_dir():
            return []
        entries = (entry for entry in os.scandir(base) if entry.is_dir(follow_symlinks=False))
        names = sorted(entry.name for entry in entries)
        start = "" if dataset is None else f"{dataset}-"
        return [base / name for name in names if name.startswith(start)]

    # -- blocks --------------------------------------------------------------------------------

    def find(self, unit: AnyUnit) -> list[Block]:
        """Return the blocks of a unit that have a file, by name; none of them is verified."""
        return self._named(unit, BLOCK_SUFFIX)

    def _named(self, unit: AnyUnit, suffix: str) -> list[Block]:
        try:
            entries = sorted(os.listdir(self.folder(unit)))
        except FileNotFoundError:
            return []
        names = (entry.removesuffix(suffix) for entry in entries if entry.endswith(suffix))
        return [block for name in names if (block := block_of_name(unit, name)) is not None]

    def verified(self, unit: AnyUnit) -> list[Block]:
        """Return the blocks of a unit whose bytes are what was written; set the others aside."""
        intact = []
        for block in self.find(unit):
            path = self.path(block)
            try:
                stamp = asides.identity(path)
                if self._verified.get(path) != stamp:
                    BlockFile(path, block).close()
                    self._verified[path] = stamp
            except FileNotFoundError:
                continue
            except DamagedError as error:
                self._set_aside(path, stamp, error)
                continue
            intact.append(block)
        return intact

    def _set_aside(self, path: Path, judged: tuple[int, ...], error: DamagedError) -> None:
        """Rename a damaged block until a cube holds its cells."""
        aside = asides.set_aside(path, judged)
        if aside is not None:
            self.notes.append(f"{error}; it is computed again, what is left is in {aside.name}")

    def open(self, block: Block) -> BlockFile:
        """Return the open file of a block, verified."""
        return BlockFile(self.path(block), block)

    def read(self, block: Block) -> Scores:
        """Return the scores of a block by variable: arrays (sizes, repetitions).

        Raises
        ------
        FileNotFoundError
            It was not computed, or a cube holds it by now.
        DamagedError
            Its bytes are not what was written; `missing` will remove it and ask for it again.
        """
        with self.open(block) as file:
            return file.arrays()

    def publish(
        self,
        block: Block,
        scores: Mapping[str, np.ndarray],
        environment: Environment,
        source: str = "",
    ) -> Published:
        """Make a block's scores part of the database; once this returns, no kill undoes it.

        Parameters
        ----------
        block
            What was computed.
        scores
            Arrays (sizes, repetitions) of every variable of the unit, in the type of the cube.
        environment
            What computed it, see `lcdb_builders.storage.environment.environment`.
        source
            Digest of the code that computed it, see `lcdb_builders.run.code.code_digest`.

        Returns
        -------
        Published
            ``"new"``, or ``"duplicate"`` if it was there with the same numbers.

        Raises
        ------
        DeterminismError
            It was there with other numbers.
        SchemaError
            The arrays are not those of the block.
        StorageError
            The file could not be written.
        """
        canonical = canonical_scores(block, scores)
        path = self.path(block)
        disk.make_folder(path.parent)
        data = None
        while True:
            try:
                stamp = asides.identity(path)
                with self.open(block) as theirs:
                    _compare(block, canonical, environment, theirs)
                outcome: Published = "duplicate"
            except DamagedError as error:
                self._set_aside(path, stamp, error)
                continue
            except FileNotFoundError:
                data = data or encode_block(
                    block, canonical, environment, getattr(scores, "lost", ()), source
                )
                if not disk.publish(path, data):
                    continue
                outcome = "new"
            disk.unlink(self.path(block, FAILURE_SUFFIX))
            return outcome

    def sources(self, unit: AnyUnit) -> set[str]:
        """Return the digests of the code that computed the blocks of a unit."""
        digests = set()
        for block in self.find(unit):
            with suppress(FileNotFoundError, DamagedError):
                digests.add(source_of(self.path(block)))
        return digests

    def adopt(self, unit: AnyUnit, source: str) -> None:
        """Record another digest of code in the blocks of a unit; for the holder of the lock."""
        for block in self.find(unit):
            with suppress(FileNotFoundError, DamagedError):
                with self.open(block) as file:
                    scores, environment, lost = file.arrays(), file.environment, file.lost
                data = encode_block(block, scores, environment, lost, source)
                disk.replace(self.path(block), data)

    def clear(self, unit: AnyUnit, blocks: Iterable[Block], repetitions: int) -> None:
        """Remove what belongs to a unit that a verified cube holds completely.

        Parameters
        ----------
        unit
            The unit; its block lengths stay.
        blocks
            Blocks that were packed; others may just have been published and not compared yet.
        repetitions
            R of the cube: what goes beyond stays.
        """
        for block in blocks:
            if block.stop <= repetitions:
                disk.unlink(self.path(block))
        for suffix in (FAILURE_SUFFIX, LEASE_SUFFIX):
            for block in self._named(unit, suffix):
                if block.stop <= repetitions:
                    disk.unlink(self.path(block, suffix))
        disk.unlink(self.folder(unit) / LOST_NAME)
        for path in self.folder(unit).glob(f"*{BLOCK_SUFFIX}.damaged-*"):
            disk.unlink(path)
        disk.sweep(self.folder(unit))

    # -- what was lost -------------------------------------------------------------------------

    def lose(self, unit: AnyUnit, reason: str) -> None:
        """Record that the numbers of a unit were lost: a plan that names it computes it again."""
        path = self.folder(unit) / LOST_NAME
        disk.make_folder(path.parent)
        disk.replace(path, encode_record({"unit": describe(unit), "reason": reason}))

    def lost(self, dataset: str) -> dict[AnyUnit, str]:
        """Return the units whose numbers were lost and are not there again, and what is known."""
        reasons = {}
        for folder in self.folders(dataset):
            with suppress(FileNotFoundError, DamagedError):
                record = read_record(folder / LOST_NAME)
                unit = described(record["unit"])
                if unit.dataset == dataset:
                    reasons[unit] = record["reason"]
        return reasons

    # -- failures ------------------------------------------------------------------------------

    def fail(
        self,
        block: Block,
        status: Literal["failed", "timed_out"],
        reason: str,
        environment: Environment,
    ) -> None:
        """Record that a block could not be computed; `missing` leaves it out until `retry`."""
        path = self.path(block, FAILURE_SUFFIX)
        disk.make_folder(path.parent)
        text = " ".join(reason.split())[:2000]
        content = {"status": status, "reason": text, "environment": environment}
        disk.replace(path, encode_record({**content, "block": block.key}))

    def failures(self, unit: AnyUnit) -> list[Failure]:
        """Return the recorded failures of a unit; damaged records are removed: a failure less."""
        recorded = []
        for block in self._named(unit, FAILURE_SUFFIX):
            path = self.path(block, FAILURE_SUFFIX)
            try:
                record = read_record(path)
            except FileNotFoundError:
                continue
            except DamagedError:
                disk.unlink(path)
                continue
            recorded.append(
                Failure(block, record["status"], record["reason"], record["environment"])
            )
        return recorded

    def retry(self, unit: AnyUnit) -> int:
        """Forget the failures of a unit, so that `missing` asks for their blocks again."""
        return sum(
            disk.unlink(self.path(b, FAILURE_SUFFIX)) for b in self._named(unit, FAILURE_SUFFIX)
        )


def block_of_name(unit: AnyUnit, name: str) -> Block | None:
    """Return the block of a file name's stem; None if the unit has no such block.

    Examples
    --------
    >>> from lcdb_builders.domain.unit import Unit
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> block = Block(unit, (2, 3), 0, 50)
    >>> block_of_name(unit, block.name) == block, block_of_name(unit, "n1-2.r0-50") is None
    (True, True)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    first_n, last_n, first, stop = map(int, match.groups())
    sizes = tuple(n for n in unit.sizes if first_n <= n <= last_n)
    if not sizes or first >= stop:
        return None
    block = Block(unit, sizes, first, stop)
    return block if block.name == name else None


def _compare(
    block: Block, scores: Scores, environment: Mapping[str, Any], theirs: BlockFile
) -> None:
    """Raise if two results for one block cannot both be right."""
    if theirs.digest == scores_digest(scores):
        return
    for name, array in scores.items():
        if not agree(array, theirs.array(name), environment, theirs.environment):
            raise determinism_error(block, name, environment, theirs.environment)


def determinism_error(
    block: Block, name: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> DeterminismError:
    """Return the error that says that a block was computed twice with different numbers."""
    msg = (
        f"{block.unit.label}, {block.unit.where(block)}: {name} was computed twice with "
        f"different numbers, on {second.get('host')} ({second.get('cpu')}) and on "
        f"{first.get('host')} ({first.get('cpu')}); "
        f"{block.unit.implementation} is not deterministic, none of its numbers can be trusted. "
        f"Report this; to compute the unit again, remove blocks/{block.unit.folder}"
    )
    return DeterminismError(msg)
