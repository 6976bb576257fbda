"""`build_trials`: parts of an experiment become its cube, or go on to become it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from lcdb.errors import PlanError
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.experiments.protocol import maker_of
from lcdb_builders.run.build import TIMEOUT, check_directory
from lcdb_builders.run.builder import Builder, Report, start
from lcdb_builders.run.code import code_digest
from lcdb_builders.run.engine import Settings
from lcdb_builders.run.jobs import Job, order, pair
from lcdb_builders.run.pool import check_pool, open_pool
from lcdb_builders.run.progress import Progress, choose
from lcdb_builders.run.signals import stop_on_signals
from lcdb_builders.run.work import Work
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.parts import Target

__all__ = ["block_length", "build_trials"]

# A block aims at so many seconds; a part has some, so that workers share even a short one.
_SECONDS, _BLOCKS = 30.0, 8


def block_length(part: Part) -> int:
    """Return how many trials of a part a block is to hold, where none is stored yet."""
    long_enough = round(_SECONDS / maker_of(part).seconds(part))
    return max(1, min(long_enough, -(-part.trials // _BLOCKS)))


def build_trials(
    parts: Iterable[Part],
    out: str | os.PathLike[str],
    *,
    data: Iterable[Snapshot] = (),
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | os.PathLike[str] | None = None,
    certificates: str | os.PathLike[str] | None = None,
    timeout: float | None = TIMEOUT,
    retry_failed: bool = False,
    progress: bool | Progress = False,
) -> Report:
    """Build parts of an experiment, or go on building them.

    Trials that are there already are not computed again; asking for more trials later adds them.

    Parameters
    ----------
    parts
        Of one experiment, each with the trials that it is to have.
    out
        The database directory; the cube lands in ``out/cubes/<experiment>.nc``.
    data
        Snapshots of stored rows that parts name by digest.
    workers, scheduler, slurm, certificates, timeout, retry_failed, progress
        As `lcdb_builders.build` takes them.

    Raises
    ------
    PlanError
        Nothing is asked for, or other numbers are there already; nothing was written.
    FailedBlocksError, InterruptedBuildError, StorageError
        As for `lcdb_builders.build`.
    """
    every = tuple(parts)
    if not every or min(part.trials for part in every) < 1:
        msg = "nothing is asked for; expected one part or more, of 1 trial or more each"
        raise PlanError(msg)
    if timeout is not None and not timeout > 0:
        msg = f"timeout is {timeout}; expected seconds, more than 0, or None"
        raise PlanError(msg)
    check_pool(workers, scheduler, slurm, certificates)
    root = Path(out).expanduser().resolve()
    check_directory(root)
    name, most = every[0].dataset, max(part.trials for part in every)
    units = {name: every}  # a filter leaves the other parts out of the cube
    settings = Settings(timeout, allow_import=False)
    work = Work(root, settings, most, {name: Target(name)}, units, units)
    display = choose(progress)
    journal = Journal(root)
    sources: dict[AnyUnit, str] = {part: code_digest(part) for part in every}
    with stop_on_signals() as stop, stop.deferred(), journal.claim(every, sources) as claims:
        for snapshot in data:
            snapshots.save(snapshot, root / "snapshots")
        blocks = []
        for part in every:
            if retry_failed:
                journal.retry(part)
            blocks += journal.missing(part, part.trials, Lengths(1, block_length(part)))
        jobs = order(pair(blocks), _seconds, start())
        builder = Builder(work, journal, _seconds, stop, display, claims)
        with builder.packer:
            if jobs:
                with open_pool(workers, scheduler, slurm, certificates) as pool:
                    builder.compute(jobs, pool)
            return builder.pack()


def _seconds(job: Job) -> float:
    """Return about how long a job takes on one core."""
    part = job.block.unit
    assert isinstance(part, Part)
    return maker_of(part).seconds(part) * job.block.cells
