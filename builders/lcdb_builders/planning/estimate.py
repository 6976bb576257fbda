"""What a plan will take, before anything of it is fetched or computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lcdb.errors import FetchError
from lcdb_builders import sources
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.planning.cost import (
    BYTES_PER_CELL,
    NO_TIMINGS,
    block_lengths,
    count_blocks,
    stretch,
    unit_seconds,
)
from lcdb_builders.planning.memory import worker_bytes
from lcdb_builders.planning.plan import DatasetSpec, Plan
from lcdb_builders.planning.timing import Timings, timing_of
from lcdb_builders.planning.units import Subject, subjects, units

__all__ = ["Estimate", "Line", "estimate", "known_here"]


@dataclass(frozen=True)
class Line:
    """What one part of a plan takes.

    Parameters
    ----------
    label
        Of a dataset, or of a learner and tuning.
    units, blocks, cells
        How many there are; a cell here is one fit: one size in one repetition.
    size
        Bytes on disk.
    hours
        Of one core.
    """

    label: str
    units: int
    blocks: int
    cells: int
    size: float
    hours: float

    def as_json(self) -> dict[str, Any]:
        """Return the line as a JSON-able dict."""
        return {
            "label": self.label,
            "units": self.units,
            "blocks": self.blocks,
            "cells": self.cells,
            "bytes": round(self.size),
            "core_hours": float(f"{self.hours:.4g}"),
        }


@dataclass(frozen=True)
class Estimate:
    """What a plan takes.

    Parameters
    ----------
    datasets, learners
        The same, by dataset and by learner and tuning.
    total
        All of it.
    unknown
        Ids of datasets whose N, d and K are not known, so that nothing can be said of them.
    memory
        Bytes that each worker needs besides what any process takes.
    """

    datasets: tuple[Line, ...]
    learners: tuple[Line, ...]
    total: Line
    unknown: tuple[str, ...]
    memory: int = 0


def _subject(plan: Plan, spec: DatasetSpec) -> Subject | None:
    """Return what is known of a dataset without asking anybody for it."""
    known = sources.expected().get(spec.id)
    if known is not None:
        return known
    try:
        return sources.obtain(spec.source(plan.folder), offline=True)
    except FetchError:
        return None


def known_here(plan: Plan, datasets: Iterable[DatasetSpec] | None = None) -> dict[str, Snapshot]:
    """Return the snapshots of datasets that can be had without asking anybody for them."""
    snapshots = {}
    for spec in plan.datasets if datasets is None else datasets:
        with suppress(FetchError):
            snapshots[spec.id] = sources.obtain(spec.source(plan.folder), offline=True)
    return snapshots


def _line(
    label: str,
    parts: list[tuple[Unit, Subject]],
    repetitions: int,
    factor: float,
    timings: Timings,
) -> Line:
    blocks = cells = 0
    size = seconds = 0.0
    for unit, subject in parts:
        count = len(unit.sizes) * repetitions
        kind = DRAWS if unit.learner == DRAWS else unit.tuning
        timing = timing_of(timings, unit)
        blocks += count_blocks(unit, block_lengths(unit, subject, factor, timing), repetitions)
        cells += count if unit.learner != DRAWS else 0
        size += count * BYTES_PER_CELL[kind]
        seconds += unit_seconds(unit, subject, repetitions, timing)
    return Line(label, len(parts), blocks, cells, size, seconds / 3600)


def estimate(
    plan: Plan,
    learners: Mapping[str, Learner],
    datasets: Iterable[DatasetSpec] | None = None,
    timings: Timings = NO_TIMINGS,
) -> Estimate:
    """Return what a plan takes, with nothing there yet.

    Parameters
    ----------
    plan
        The plan.
    learners
        Those to count, see `lcdb_builders.planning.units.plan_learners`.
    datasets
        Those to count; all by default.
    timings
        What cells of classifiers from elsewhere took, see `lcdb_builders.run.timing`.

    Examples
    --------
    >>> from lcdb_builders.planning.plan import load_plan
    >>> from lcdb_builders.planning.units import plan_learners
    >>> plan = load_plan({"datasets": [61], "learners": ["LDC"], "repetitions": 10})
    >>> needed = estimate(plan, plan_learners(plan))
    >>> needed.total.units, needed.total.cells
    (12, 6300)
    """
    chosen = plan.datasets if datasets is None else tuple(datasets)
    datasets_known = {spec.id: _subject(plan, spec) for spec in chosen}
    known = {
        subject.id: subject
        for dataset in datasets_known.values()
        if dataset is not None
        for subject in subjects(plan, dataset)
    }
    parts = [
        (unit, subject) for subject in known.values() for unit in units(plan, subject, learners)
    ]
    factor = stretch(parts, plan.repetitions, timings)

    def lines(labels: list[tuple[str, list[tuple[Unit, Subject]]]]) -> tuple[Line, ...]:
        return tuple(
            _line(label, chosen, plan.repetitions, factor, timings) for label, chosen in labels
        )

    by_dataset: dict[str, list[tuple[Unit, Subject]]] = {id: [] for id in known}
    by_learner: dict[str, list[tuple[Unit, Subject]]] = {}
    for part in parts:
        unit = part[0]
        by_dataset[unit.dataset].append(part)
        label = unit.learner if unit.tuning == "default" else f"{unit.learner}, tuned"
        by_learner.setdefault(label, []).append(part)
    return Estimate(
        datasets=lines(list(by_dataset.items())),
        learners=lines(list(by_learner.items())),
        total=_line("total", parts, plan.repetitions, factor, timings),
        unknown=tuple(id for id, subject in datasets_known.items() if subject is None),
        memory=max((worker_bytes(*part) for part in parts), default=0),
    )
