"""`build`: a plan becomes cubes in a database directory, or goes on to become them."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from lcdb.errors import PlanError
from lcdb_builders import sources
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.registry import keep_files
from lcdb_builders.planning.cost import block_lengths, stretch
from lcdb_builders.planning.memory import check_memory
from lcdb_builders.planning.piece import Piece
from lcdb_builders.planning.plan import Plan, load_plan
from lcdb_builders.planning.timing import timing_of
from lcdb_builders.planning.units import Subject, plan_learners, subjects, units
from lcdb_builders.run.alongside import Compilation
from lcdb_builders.run.builder import Builder, Report, start
from lcdb_builders.run.code import code_digest
from lcdb_builders.run.engine import Settings
from lcdb_builders.run.jobs import Costs, Job, order, pair
from lcdb_builders.run.machine import usable_cpus
from lcdb_builders.run.pool import check_pool, open_pool
from lcdb_builders.run.progress import Progress, choose
from lcdb_builders.run.signals import stop_on_signals
from lcdb_builders.run.timing import time_left
from lcdb_builders.run.work import Work
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.repair import stray_cubes

__all__ = ["TIMEOUT", "build", "check_directory"]

log = logging.getLogger("lcdb")

# Seconds that a block may take: blocks aim at a minute, so this is no slow machine but a hang.
TIMEOUT = 3600.0
PLACES = ("snapshots", "blocks", "cubes", "manifest")


@dataclass
class _Asked:
    """What is asked for, after everything that can be checked beforehand was checked."""

    plan: Plan
    root: Path
    learners: Mapping[str, Learner]
    part: Piece
    settings: Settings
    # By id; what cubes are of, and their units, by name of the cube.
    unscaled: dict[str, Snapshot] = field(default_factory=dict)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    units: dict[str, list[Unit]] = field(default_factory=dict)

    @property
    def chosen(self) -> dict[str, list[Unit]]:
        """The units to build, by dataset: those of the filters, and the draws."""
        return {cube: list(filter(self.part.has, every)) for cube, every in self.units.items()}

    @property
    def work(self) -> Work:
        """The same for a `Builder`."""
        repetitions = self.plan.repetitions
        return Work(self.root, self.settings, repetitions, self.snapshots, self.units, self.chosen)


def build(
    plan: str | Path | Mapping[str, Any] | Plan,
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | os.PathLike[str] | None = None,
    certificates: str | os.PathLike[str] | None = None,
    datasets: Iterable[int | str] | None = None,
    learners: Iterable[str] | None = None,
    scalings: Iterable[str] | None = None,
    tunings: Iterable[str] | None = None,
    repetitions: int | None = None,
    timeout: float | None = TIMEOUT,
    retry_failed: bool = False,
    allow_import: bool = False,
    offline: bool = False,
    progress: bool | Progress = False,
) -> Report:
    """Build the cubes of a plan, or go on building them.

    What is there already is not computed again, so a build that was stopped, or a plan that has
    grown, is simply built again. Any number of builds may run on one directory.

    Parameters
    ----------
    plan
        Path of a TOML file, name of a shipped plan (``"demo"``), or the content as a mapping.
    out
        The database directory; cubes land in ``out/cubes/<id>.nc``.
    workers
        Number of processes on this machine; by default the CPUs that this process may use.
    scheduler
        Address of a running dask scheduler, such as ``"tls://node1:8786"``, to use its workers.
    slurm
        TOML file with options of dask-jobqueue, to submit workers as SLURM jobs.
    certificates
        Folder of ``ca.pem``, ``cert.pem`` and ``key.pem``, for a scheduler at ``tls://``.
    datasets, scalings
        Build only these of the plan's cubes.
    learners, tunings
        Build only this part of each cube; the rest stays ``not_built``.
    repetitions
        R, in the place of the plan's.
    timeout
        Seconds that a block may take before its process is killed; None for ever.
    retry_failed
        Try blocks again that failed or timed out before.
    allow_import
        Allow estimators from elsewhere than scikit-learn; importing one runs its code.
    offline
        Leave OpenML alone: only the database, the cache and the package are looked at.
    progress
        True for a bar on a terminal or in a notebook, and lines elsewhere.

    Returns
    -------
    Report
        What was computed.

    Raises
    ------
    PlanError, LabelError, DatasetError, FetchError
        Something is wrong with the plan, the filters or a dataset; nothing was written.
    FailedBlocksError
        Everything is built but some blocks, whose curves have a status and a reason.
    InterruptedBuildError, StorageError
        The build was stopped, or the disk is full; what was published stays, and the same call
        goes on.

    Examples
    --------
    >>> import lcdb_builders, tempfile
    >>> plan = {"datasets": [61], "learners": ["NMC"], "sizes": [10, 50], "repetitions": 20}
    >>> report = lcdb_builders.build(plan, tempfile.mkdtemp(), workers=1)
    >>> report.computed, report.cubes["61"].path.name
    (12, '61.nc')
    """
    check_pool(workers, scheduler, slurm, certificates)
    plan = load_plan(plan)
    part = Piece.of(plan, datasets, learners, scalings, tunings)
    asked = _checked(plan, out, part, repetitions, timeout, allow_import)
    display = choose(progress)
    with stop_on_signals() as stop:
        _get_snapshots(asked, offline)
        if scheduler is None and slurm is None:
            pairs = (
                (u, asked.snapshots[id]) for id, several in asked.chosen.items() for u in several
            )
            check_memory(pairs, workers or usable_cpus(), psutil.virtual_memory().available)
        with stop.deferred():
            journal = Journal(asked.root)
            every = [unit for several in asked.units.values() for unit in several]
            for name, curves in Counter(map(_learner_of, journal.outdated(every))).items():
                display.tell(f"the source of {name} has changed: its {curves} curves are made anew")
            with journal.claim(every, {unit: code_digest(unit) for unit in every}) as claims:
                for snapshot in asked.unscaled.values():
                    snapshots.save(snapshot, asked.root / "snapshots")
                for learner in asked.learners.values():
                    keep_files(learner, asked.root)
                jobs, costs = _prepare(
                    asked, journal, retry_failed, display, workers or usable_cpus()
                )
                builder = Builder(asked.work, journal, costs, stop, display, claims)
                with builder.packer:
                    if jobs:
                        # Workers elsewhere compile when they are given the first job.
                        is_local = scheduler is None and slurm is None
                        compilation = Compilation.of(jobs if is_local else ())
                        with open_pool(workers, scheduler, slurm, certificates) as pool:
                            builder.compute(jobs, pool, compilation)
                    return builder.pack()


def _learner_of(unit: AnyUnit) -> str:
    return unit.at("learner")


def _checked(
    plan: Plan,
    out: str | os.PathLike[str],
    part: Piece,
    repetitions: int | None,
    timeout: float | None,
    allow_import: bool,
) -> _Asked:
    """Return what is asked for, or raise before anything is written.

    Parameters
    ----------
    plan, part
        What to build: a plan, or a piece of it.
    out
        The database directory.
    repetitions, timeout, allow_import
        As of `build`.
    """
    if repetitions is not None:
        plan = plan.with_repetitions(repetitions)
    if timeout is not None and not timeout > 0:
        msg = f"timeout is {timeout}; expected seconds, more than 0, or None"
        raise PlanError(msg)
    table = plan_learners(plan, allow_import=allow_import)
    root = Path(out).expanduser().resolve()
    check_directory(root)
    return _Asked(plan, root, table, part, Settings(timeout, allow_import))


def check_directory(root: Path) -> None:
    """Raise unless a directory is a database, is empty, or is not there yet.

    Files among its cubes that no build writes are warned about: readers refuse them.
    """
    if not root.exists():
        return
    if not root.is_dir():
        msg = f"{root} is a file; expected a directory"
        raise PlanError(msg)
    entries = {entry.name for entry in root.iterdir()}
    if entries and not entries & set(PLACES):
        msg = f"{root} holds other things than a database; name an empty or a new directory"
        raise PlanError(msg)
    for wrong in stray_cubes(root):
        log.warning("%s; builds leave it alone, and the database cannot be opened with it", wrong)


def _get_snapshots(asked: _Asked, offline: bool) -> None:
    """Get all datasets; none is written before it is known that the plan fits."""
    root = asked.root if (asked.root / "snapshots").is_dir() else None
    for spec in asked.part.datasets:
        source = spec.source(asked.plan.folder)
        asked.unscaled[spec.id] = sources.obtain(source, root, offline=offline)
        for subject in subjects(asked.plan, asked.unscaled[spec.id]):
            assert isinstance(subject, Snapshot)
            if subject.scaling in asked.part.scalings:
                asked.snapshots[subject.id] = subject
                asked.units[subject.id] = units(asked.plan, subject, asked.learners)


def _prepare(
    asked: _Asked, journal: Journal, retry_failed: bool, display: Progress, workers: int
) -> tuple[list[Job], Costs]:
    """Return what is missing in the order of work."""
    known: list[Subject | None] = [
        asked.unscaled.get(spec.id) or sources.expected().get(spec.id)
        for spec in asked.plan.datasets
    ]
    repetitions = asked.plan.repetitions
    every = [
        (unit, subject)
        for dataset in known
        if dataset is not None
        for subject in subjects(asked.plan, dataset)
        for unit in units(asked.plan, subject, asked.learners)
    ]
    timings = time_left(
        asked.chosen, asked.root, repetitions, asked.settings, workers=workers, tell=display.tell
    )
    factor = stretch(every, repetitions, timings)
    jobs = []
    for dataset, chosen in asked.chosen.items():
        blocks = []
        for unit in chosen:
            if retry_failed:
                journal.retry(unit)
            timing = timing_of(timings, unit)
            lengths = block_lengths(
                unit, asked.snapshots[dataset], factor, timing, asked.settings.timeout
            )
            blocks += journal.missing(unit, repetitions, lengths)
        jobs += pair(blocks)
    costs = Costs(asked.snapshots, timings)
    return order(jobs, costs, start()), costs
