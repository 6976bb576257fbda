"""What became of every curve of a database: done, failed, timed out, partial or missing."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcdb.errors import DamagedError, NotFoundError
from lcdb.schema import STATUSES
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.unit import Unit
from lcdb_builders.storage.blocks import LAYOUT_NAME
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.manifest import Entry, Manifest, Slice
from lcdb_builders.storage.naming import described, unit_place
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
    """

    unit: Unit
    status: str
    reason: str = ""

    def as_json(self) -> dict[str, str]:
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

    And the parts of its experiments in the order of their cubes.
    """

    curves: tuple[Curve, ...]
    parts: tuple[PartStatus, ...] = ()

    def counts(self) -> list[dict[str, Any]]:
        """Return how many curves have which status, by learner, dataset and tuning."""
        rows: dict[tuple[str, str, str], Counter[str]] = {}
        for curve in self.curves:
            unit = curve.unit
            key = (unit.learner, unit.dataset, unit.tuning)
            rows.setdefault(key, Counter())[curve.status] += 1
        return [
            {"learner": learner, "dataset": dataset, "tuning": tuning}
            | {status: count[status] for status in STATUSES}
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
            *((found.part.label, found.status, found.reason) for found in self.parts),
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
        raise NotFoundError(msg)
    journal = Journal(path)
    entries = [entry for dataset in _datasets(path) if (entry := _entry(path, dataset))]
    held = {unit: (entry, s) for entry in entries for unit, s in entry.by_unit.items()}
    curves, parts = [], []
    for unit in dict.fromkeys([*held, *_asked_for(journal)]):
        entry, packed = held.get(unit, (None, None))
        if isinstance(unit, Part):
            parts.append(_part(journal, unit, packed))
        elif not unit.is_draws:
            curves.append(_curve(journal, unit, packed, entry.repetitions if entry else 0))
    parts.sort(key=lambda found: (found.part.dataset, unit_place(found.part)))
    return Overview(tuple(sorted(curves, key=_place)), tuple(parts))


def _id_order(dataset: str) -> tuple[bool, int, str]:
    """Return a sort key: OpenML's numbers first, as numbers."""
    return (not dataset.isdigit(), int(dataset) if dataset.isdigit() else 0, dataset)


def _datasets(root: Path) -> list[str]:
    """Return the ids of datasets that have a manifest."""
    return sorted((path.stem for path in (root / "manifest").glob("[!.]*.json")), key=_id_order)


def _asked_for(journal: Journal) -> list[AnyUnit]:
    """Return the units that builds have been asked for, by their folders."""
    found = []
    for folder in journal.folders():
        with suppress(FileNotFoundError, DamagedError):
            found.append(described(read_record(folder / LAYOUT_NAME)["unit"]))
    return found


def _entry(root: Path, dataset: str) -> Entry | None:
    """Return what the manifest tells of the cube; damage is for `lcdb verify` to report."""
    try:
        return Manifest.read(root, dataset).current
    except DamagedError:
        return None


def _curve(journal: Journal, unit: Unit, held: Slice | None, repetitions: int) -> Curve:
    """Return the status of a unit from the cube, its blocks and its failures."""
    if held is not None and held.is_whole(repetitions):
        return Curve(unit, held.status, held.reason)
    failures = journal.failures(unit)
    if failures:
        worst = next((f for f in failures if f.status == "failed"), failures[0])
        more = f" (and {len(failures) - 1} more blocks)" if len(failures) > 1 else ""
        return Curve(unit, worst.status, worst.reason + more)
    if held is not None and held.status in {"failed", "timed_out"}:
        return Curve(unit, "partial" if held.coverage else "not_built", "to be tried again")
    blocks = journal.find(unit)
    if not blocks:
        return Curve(unit, held.status if held else "not_built", held.reason if held else "")
    repetitions = max([repetitions, *(block.stop for block in blocks)])
    coverage = Coverage(unit, repetitions, held.coverage if held else ())
    for block in blocks:
        coverage.add_block(block)
    share = f"{coverage.cells} cells in {len(blocks)} blocks, not packed yet"
    return Curve(unit, "partial", share)


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
    rank, name, sampling, split, tuning = unit_place(unit)
    return (rank, name, *_id_order(unit.dataset), tuning, sampling, split)
