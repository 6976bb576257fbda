"""What became of every curve of a database: done, failed, timed out, partial or missing."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lcdb.errors import DamagedError, NotFoundError
from lcdb.schema import STATUSES
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.storage.blocks import LAYOUT_NAME, LEASE_SUFFIX
from lcdb_builders.storage.claims import claimed
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.lease import STALE
from lcdb_builders.storage.manifest import Entry, Manifest, Slice
from lcdb_builders.storage.naming import described
from lcdb_builders.storage.presence import Sign, present
from lcdb_builders.storage.process import is_dead
from lcdb_builders.storage.records import read_record

__all__ = ["Curve", "Overview", "PartStatus", "overview"]


@dataclass(frozen=True)
class Curve:
    """One curve of a database.

    Parameters
    ----------
    unit
        Which.
    status
        As in a cube; of a curve that is not packed yet, what its blocks amount to.
    reason
        Why it is not complete, where that is known.
    cells, wanted
        How many cells there are, in the cube or in blocks, and how many it is to have.
    in_flight
        Blocks that builders are at work on.
    """

    unit: Unit
    status: str
    reason: str = ""
    cells: int = 0
    wanted: int = 0
    in_flight: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the curve as a JSON-able dict."""
        unit = self.unit
        return {
            "dataset": unit.dataset,
            "learner": unit.learner,
            "sampling": unit.sampling,
            "split": unit.split,
            "tuning": unit.tuning,
            "status": self.status,
            "reason": self.reason,
            "cells": self.cells,
            "wanted": self.wanted,
            "in_flight": self.in_flight,
        }


@dataclass(frozen=True)
class PartStatus:
    """One part of an experiment.

    Parameters
    ----------
    part
        Which.
    status, reason
        As of a curve.
    trials
        How many there are, packed or not.
    """

    part: Part
    status: str
    trials: int
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the part as a JSON-able dict."""
        return {
            "experiment": self.part.dataset,
            **dict(zip(self.part.experiment.dims, self.part.labels, strict=True)),
            "status": self.status,
            "trials": self.trials,
            "wanted": self.part.trials,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Overview:
    """All curves of a database, ordered by dataset, learner, tuning, sampling and split.

    And the parts of its experiments in the order of their cubes, and the builders at work.
    """

    curves: tuple[Curve, ...]
    parts: tuple[PartStatus, ...] = ()
    builders: tuple[Sign, ...] = ()

    @property
    def cells(self) -> tuple[int, int]:
        """How many cells there are, and how many there are to be."""
        return sum(c.cells for c in self.curves), sum(c.wanted for c in self.curves)

    @property
    def in_flight(self) -> int:
        """Number of blocks of curves that builders are at work on."""
        return sum(curve.in_flight for curve in self.curves)

    def counts(self) -> list[dict[str, Any]]:
        """Return how many curves have which status, and cells, by learner, dataset and tuning."""
        rows: dict[tuple[str, str, str], Counter[str]] = {}
        for curve in self.curves:
            unit = curve.unit
            key = (unit.learner, unit.dataset, unit.tuning)
            more = {"cells": curve.cells, "wanted": curve.wanted, "in_flight": curve.in_flight}
            rows.setdefault(key, Counter()).update({curve.status: 1, **more})
        return [
            {"learner": learner, "dataset": dataset, "tuning": tuning}
            | {name: count[name] for name in (*STATUSES, "cells", "wanted", "in_flight")}
            for (learner, dataset, tuning), count in rows.items()
        ]

    def totals(self) -> dict[str, int]:
        """Return how many curves have which status."""
        count = Counter(curve.status for curve in self.curves)
        return {status: count[status] for status in STATUSES}

    def reasons(self) -> list[tuple[str, str, str]]:
        """Return label, status and reason of what failed, timed out or lacks values."""
        every = [
            *((curve.unit.label, curve.status, curve.reason) for curve in self.curves),
            *((one.part.label, one.status, one.reason) for one in self.parts),
        ]
        untold = {"complete", "not_built"}
        return [entry for entry in every if entry[2] and entry[1] not in untold]


def overview(root: str | os.PathLike[str]) -> Overview:
    """Return what became of every curve that a database holds, or was asked for.

    Parameters
    ----------
    root
        The database directory; nothing in it is changed.
    """
    path = Path(root)
    if not (path / "blocks").is_dir() and not (path / "cubes").is_dir():
        msg = f"{path} is not a database directory: it has neither blocks nor cubes"
        if (path / "summaries").is_dir():
            msg = f"{path} has summaries alone, of which nothing is to be built: try 'lcdb info'"
        raise NotFoundError(msg)
    journal = Journal(path)
    entries = [entry for dataset in _datasets(path) if (entry := _entry(path, dataset))]
    held = {unit: (entry, s) for entry in entries for unit, s in entry.by_unit.items()}
    builders = present(path)
    asked = dict.fromkeys([*held, *_asked_for(journal), *_claimed(path)])
    blocks = {unit: journal.find(unit) for unit in asked}
    repetitions = _repetitions(entries, blocks, builders)
    curves, parts = [], []
    for unit in asked:
        _, packed = held.get(unit, (None, None))
        if isinstance(unit, Part):
            parts.append(_part(journal, unit, packed))
        elif not unit.is_draws:
            curves.append(_curve(journal, unit, packed, blocks[unit], repetitions[unit.dataset]))
    parts.sort(key=lambda status: (status.part.dataset, status.part.place))
    return Overview(tuple(sorted(curves, key=_place)), tuple(parts), tuple(builders))


def _claimed(root: Path) -> list[AnyUnit]:
    """Return the units that builders at work are going to build."""
    datasets = {path.name.rsplit(".", 2)[0] for path in (root / "blocks").glob("[!.]*.claim")}
    claims = [units for dataset in sorted(datasets) for *_, units in claimed(root, dataset)]
    return [unit for units in claims for unit in units]


def _repetitions(
    entries: list[Entry], blocks: dict[AnyUnit, list[Block]], builders: list[Sign]
) -> dict[str, int]:
    """Return R by dataset: of the cube, of a builder at work, or as far as blocks reach."""
    at_work = max((sign.repetitions for sign in builders), default=0)
    most = {unit.dataset: at_work for unit in blocks}
    for entry in entries:
        for held in entry.slices[:1]:
            dataset = held.unit.dataset
            most[dataset] = max(most[dataset], entry.repetitions)
    for unit, several in blocks.items():
        most[unit.dataset] = max([most[unit.dataset], *(block.stop for block in several)])
    return most


def _id_order(dataset: str) -> tuple[bool, int, str]:
    """Return a sort key: OpenML's numbers first, as numbers."""
    return (not dataset.isdigit(), int(dataset) if dataset.isdigit() else 0, dataset)


def _datasets(root: Path) -> list[str]:
    """Return the ids of datasets that have a manifest."""
    return sorted((path.stem for path in (root / "manifest").glob("[!.]*.json")), key=_id_order)


def _asked_for(journal: Journal) -> list[AnyUnit]:
    """Return the units that builds have been asked for, by their folders."""
    units = []
    for folder in journal.folders():
        with suppress(FileNotFoundError, DamagedError):
            units.append(described(read_record(folder / LAYOUT_NAME)["unit"]))
    return units


def _entry(root: Path, dataset: str) -> Entry | None:
    """Return what the manifest tells of the cube; damage is for `lcdb verify` to report."""
    try:
        return Manifest.read(root, dataset).current
    except DamagedError:
        return None


def _curve(
    journal: Journal, unit: Unit, held: Slice | None, blocks: list[Block], repetitions: int
) -> Curve:
    """Return the status of a unit from the cube, its blocks and its failures."""
    coverage = Coverage(unit, repetitions, held.coverage if held else ())
    for block in blocks:
        coverage.add_block(block)
    curve = Curve(
        unit,
        *_state(journal, unit, held, blocks, coverage),
        cells=coverage.cells,
        wanted=coverage.wanted,
    )
    return replace(curve, in_flight=_in_flight(journal, unit))


def _in_flight(journal: Journal, unit: Unit) -> int:
    """Return how many blocks of a unit somebody holds who is not known to be dead."""
    count = 0
    for path in journal.folder(unit).glob(f"[!.]*{LEASE_SUFFIX}"):
        with suppress(OSError):
            owner = path.read_bytes().split(b" ")[0].decode(errors="replace")
            count += is_dead(owner) is not True and time.time() - path.stat().st_mtime < 2 * STALE
    return count


def _state(
    journal: Journal, unit: Unit, held: Slice | None, blocks: list[Block], coverage: Coverage
) -> tuple[str, str]:
    """Return status and reason of a unit."""
    if held is not None and (held.status == "complete" or held.is_whole(coverage.there.shape[1])):
        return held.status, held.reason
    failures = journal.failures(unit)
    if failures:
        worst = next((f for f in failures if f.status == "failed"), failures[0])
        more = f" (and {len(failures) - 1} more blocks)" if len(failures) > 1 else ""
        return worst.status, worst.reason + more
    if held is not None and held.status in {"failed", "timed_out"}:
        return "partial" if held.coverage else "not_built", "to be tried again"
    if not blocks:
        return (held.status, held.reason) if held else ("not_built", "")
    return "partial", f"{coverage.cells} cells in {len(blocks)} blocks, not packed yet"


def _part(journal: Journal, part: Part, held: Slice | None) -> PartStatus:
    """Return the status of a part, from the cube, its blocks and its failures."""
    blocks = journal.find(part)
    stops = [block.stop for block in blocks]
    most = max([part.trials, *stops, *(stop for *_, stop in (held.coverage if held else ()))])
    coverage = Coverage(part, most, held.coverage if held else ())
    for block in blocks:
        coverage.add_block(block)
    if held is not None and held.status == "complete":
        return PartStatus(part, held.status, coverage.cells)
    failures = journal.failures(part)
    if failures:
        return PartStatus(part, failures[0].status, coverage.cells, failures[0].reason)
    return PartStatus(part, "partial" if coverage.cells else "not_built", coverage.cells)


def _place(curve: Curve) -> tuple[Any, ...]:
    unit = curve.unit
    rank, name, sampling, split, tuning = unit.place
    return (rank, name, *_id_order(unit.dataset), tuning, sampling, split)
