"""Jobs are handed to workers, and what comes back is counted, recorded or tried again."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Literal

from lcdb import errors
from lcdb.errors import LCDBError
from lcdb_builders.run.alongside import Compilation
from lcdb_builders.run.compiling import Compiled, compile_seconds
from lcdb_builders.run.jobs import Job
from lcdb_builders.run.pool import Pool
from lcdb_builders.run.progress import Progress
from lcdb_builders.run.signals import Stop
from lcdb_builders.run.supervise import Outcome
from lcdb_builders.run.tasks import block_to_json
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.lease import Lease

__all__ = ["Engine", "Settings", "Tally"]

# Tasks that are queued at workers or running, per thread: none waits for this process.
IN_FLIGHT = 2
# Seconds between looks at what other builders do, growing from the first to the second.
LOOKS = (0.5, 10.0)
# Seconds without any worker until that is told.
PATIENCE = 15.0
# How often a task comes back whose dask workers died; each time several of them did.
WORKER_DEATHS = 3
# Failures that are told one by one.
FAILURES_TOLD = 5


@dataclass(frozen=True)
class Settings:
    """How blocks are computed.

    Parameters
    ----------
    timeout
        Seconds that a job may take; None for ever.
    allow_import
        Allow estimators from elsewhere than scikit-learn.
    """

    timeout: float | None
    allow_import: bool


@dataclass
class Tally:
    """Blocks by what became of them in this build."""

    computed: int = 0
    duplicates: int = 0
    elsewhere: int = 0
    failed: int = 0


@dataclass
class _Run:
    """A job in flight."""

    job: Job
    leases: list[Lease]

    def release(self) -> None:
        for lease in self.leases:
            lease.release()


@dataclass
class Engine:
    """One builder at work.

    Parameters
    ----------
    pool
        The workers.
    journal
        Where blocks, leases and failures are.
    settings
        How blocks are computed.
    costs
        Estimated seconds of a job.
    stop
        Whether to stop.
    progress
        Who is told.
    finished
        Called with each dataset of which nothing is left to do.
    watch
        Called now and then; may raise to end the build.
    tally
        What became of blocks.
    compilation
        What these workers are to compile.
    """

    pool: Pool
    journal: Journal
    settings: Settings
    costs: Callable[[Job], float]
    stop: Stop
    progress: Progress
    finished: Callable[[str], None]
    watch: Callable[[], None]
    tally: Tally = field(default_factory=Tally)
    compilation: Compilation = field(default_factory=lambda: Compilation({}))

    def __post_init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._taken: list[Job] = []
        self._running: dict[Any, _Run] = {}
        self._compiling: dict[Any, str] = {}
        self._deaths: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._look_at, self._pause = 0.0, LOOKS[0]
        self._threads, self._counted_at = 0, 0.0
        self._idle_since, self._told_of_none = 0.0, False

    def run(self, jobs: Sequence[Job], look: Callable[[Iterable[Job]], list[Job]]) -> None:
        """Do jobs until none is left, here or at other builders.

        Parameters
        ----------
        jobs
            What is missing, in the order of work.
        look
            Returns what is left of jobs that other builders have had, in the order of work.
        """
        self._waiting.extend(self.compilation.hold(jobs))
        self._left.update(job.dataset for job in jobs)
        if self.compilation.announcement:
            self.progress.tell(self.compilation.announcement)
        try:
            while self._waiting or self._running or self._taken or not self.compilation.is_over:
                if self.stop():
                    raise self.stop.error()
                self.watch()
                for line in self.pool.tend():
                    self.progress.tell(line)
                self._submit()
                self._receive()
                self._look(look)
        finally:
            self._abandon()

    # -- handing out ---------------------------------------------------------------------------

    def _room(self) -> int:
        """Return how many tasks more may be in flight."""
        now = time.monotonic()
        if now - self._counted_at > (1.0 if self._threads else 0.1):
            if not self._counted_at:
                self.progress.tell(f"computing on {self.pool.place}")
            self._tell_of_workers(self.pool.threads(), now)
            self._counted_at = now
        return IN_FLIGHT * self._threads - len(self._running) - len(self._compiling)

    def _tell_of_workers(self, threads: int, now: float) -> None:
        """Tell when there are fewer workers than before, and when there is none."""
        before, self._threads = self._threads, threads
        waiting = f"waiting for {self.pool.source or 'workers to start'}"
        if threads:
            if not before:
                self.progress.advance(0.0, 0)
            self._idle_since = 0.0
            if threads < before and self.pool.source:
                gone = before - threads
                self.progress.tell(f"{gone} of {before} workers went away, {threads} left")
            elif self._told_of_none:
                self.progress.tell(f"{threads} workers are there")
            self._told_of_none = False
        elif before and self.pool.source:
            self.progress.tell(f"all {before} workers went away; {waiting}")
            self._told_of_none = True
        elif not self._told_of_none:
            self._idle_since = self._idle_since or now
            if now - self._idle_since > PATIENCE:
                self.progress.tell(f"no worker is there yet; {waiting}")
                self._told_of_none = True

    def _submit(self) -> None:
        room = self._room()
        while room > 0 and (family := self.compilation.next()):
            arguments = self.compilation.arguments(family)
            future = self.pool.submit("compile", arguments, first=True)
            self._compiling[future] = family
            future.add_done_callback(self._done.put)
            room -= 1
        while room > 0 and self._waiting:
            job = self._waiting.popleft()
            leases = self._lease(job)
            if leases is None:
                self._taken.append(job)
                continue
            arguments = {
                "root": str(self.journal.root),
                "block": block_to_json(job.block),
                "splits": list(job.splits),
                "allow_import": self.settings.allow_import,
            }
            future = self.pool.submit("compute", arguments, self.settings.timeout)
            self._running[future] = _Run(job, leases)
            future.add_done_callback(self._done.put)
            room -= 1

    def _lease(self, job: Job) -> list[Lease] | None:
        """Return leases on all blocks of a job, or None if one is taken or there by now."""
        leases: list[Lease] = []
        for block in job.blocks:
            lease = self.journal.lease(block)
            if lease is None:
                for held in leases:
                    held.release()
                return None
            leases.append(lease)
        return leases

    # -- taking in -----------------------------------------------------------------------------

    def _receive(self) -> None:
        """Take in what came back; wait a moment for the first."""
        wait = 0.2 if self._running else 0.05
        with suppress(Empty):
            future = self._done.get(timeout=wait)
            while True:
                self._take_in(future)
                future = self._done.get_nowait()

    def _take_in(self, future: Any) -> None:
        if future in self._compiling:
            self._take_in_family(self._compiling.pop(future), future)
            return
        run = self._running.pop(future, None)
        if run is None:  # abandoned
            return
        try:
            outcome = self._outcome(future, run.job)
            self._note(run.job, outcome)
        finally:
            run.release()

    def _take_in_family(self, family: str, future: Any) -> None:
        """Let the jobs of a family go ahead, whatever became of compiling it."""
        learners = self.compilation.learners(family)
        outcome = self.pool.outcome(future)
        # Another build that shares the workers may have stopped it.
        if outcome is not None and outcome.status != "stopped":
            self.progress.tell(Compiled(learners, outcome.seconds, outcome.reason).line)
        self.progress.advance(compile_seconds(family), 0)
        self._waiting = deque(self.compilation.finish(family, self._waiting))

    def _outcome(self, future: Any, job: Job) -> Outcome:
        """Return what became of a task, also if its worker did not live to report it."""
        outcome = self.pool.outcome(future)
        if outcome is not None:
            return outcome
        self._deaths[job.block.key] += 1
        if self._deaths[job.block.key] < WORKER_DEATHS:
            return Outcome("stopped")
        return Outcome("failed", "the workers that computed it died, again and again")

    def _note(self, job: Job, outcome: Outcome) -> None:
        if outcome.status == "stopped":  # by somebody who shares the workers
            self._waiting.append(job)
            return
        if outcome.status == "error":
            kind = getattr(errors, outcome.error, LCDBError)
            raise kind(outcome.reason)
        if outcome.status == "complete":
            self.tally.computed += outcome.result["new"]
            self.tally.duplicates += outcome.result["duplicate"]
        else:
            self._fail(job, outcome.status, outcome.reason)
        self._advance(job)

    def _fail(self, job: Job, status: Literal["failed", "timed_out"], reason: str) -> None:
        for block in job.blocks:
            self.journal.fail(block, status, reason, environment())
        self.tally.failed += len(job.blocks)
        if self.tally.failed <= FAILURES_TOLD:
            where = job.block.unit.where(job.block)
            self.progress.tell(
                f"{status.replace('_', ' ')}: {job.block.unit.label}, {where}: {reason}"
            )
        elif self.tally.failed - len(job.blocks) <= FAILURES_TOLD:
            self.progress.tell("more blocks fail; 'lcdb status' names them all")

    def _advance(self, job: Job) -> None:
        self.progress.advance(self.costs(job), job.cells)
        self._count_off(job.dataset)

    def _count_off(self, dataset: str) -> None:
        self._left[dataset] -= 1
        if not self._left[dataset]:
            self.finished(dataset)

    # -- other builders ------------------------------------------------------------------------

    def _look(self, look: Callable[[Iterable[Job]], list[Job]]) -> None:
        """See what has become of jobs that other builders had, when there is nothing else to do."""
        busy = len(self._running) >= IN_FLIGHT * max(1, self._threads)
        if not self._taken or self._waiting or busy:
            return
        if time.monotonic() < self._look_at:
            time.sleep(0.05)
            return
        before, self._taken = self._taken, []
        after = look(before)
        self._pause = LOOKS[0] if len(after) < len(before) else min(2 * self._pause, LOOKS[1])
        self._look_at = time.monotonic() + self._pause
        self._waiting.extend(self.compilation.hold(after))
        self._left.update(job.dataset for job in after)
        left = {block.key for job in after for block in job.blocks}
        for job in before:
            if job.block.key not in left:
                self.tally.elsewhere += len(job.blocks)
                self.progress.advance(self.costs(job), job.cells)
            self._count_off(job.dataset)

    # -- the end -------------------------------------------------------------------------------

    def _abandon(self) -> None:
        """Leave nothing behind: no task at work for nobody, and no lease."""
        runs, futures = list(self._running.values()), [*self._running, *self._compiling]
        self._running.clear()
        self._compiling.clear()
        if futures:
            with suppress(Exception):  # the workers may be gone already
                self.pool.halt(futures)
        for run in runs:
            run.release()


def raise_outcome(outcome: Outcome, what: str) -> Any:
    """Return the result of a complete outcome, or raise what it tells of."""
    if outcome.status == "complete":
        return outcome.result
    kind = getattr(errors, outcome.error or "LCDBError", LCDBError)
    msg = outcome.reason if outcome.status == "error" else f"{what} failed: {outcome.reason}"
    raise kind(msg)
