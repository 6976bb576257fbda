"""SLURM jobs whose workers come to a scheduler in this process, and what becomes of the jobs.

dask-jobqueue submits in the background, writes a refusal into its log, and never looks at a job
again, so that a build would wait for ever. Here a refused submission is kept, and told or raised
when the build looks; and SLURM is asked which jobs have ended::

    every INTERVAL seconds: squeue, in a thread
    for each job that has ended:   submit another one, while `max_jobs` allows
    none is left:                  end the build with "run it again"
    job after job ends, and no worker came of them:   end the build with an error

A job that SLURM requeues keeps its id, and is no new one.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Scheduler, Security, Worker
from distributed.deploy.spec import ProcessInterface, SpecCluster

from lcdb.errors import InterruptedBuildError, LCDBError, MissingExtraError, PlanError
from lcdb_builders.planning.config import check, read_toml

__all__ = ["Jobs", "SlurmOptions", "check_slurm", "read_slurm"]

SUBMIT = "sbatch"
# Seconds between two looks at the queue, and how long SLURM may take to answer one.
INTERVAL, PATIENCE = 15.0, 60.0
# States of squeue(1) in which a job is over; one that squeue does not list any more is so too.
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
}
# Jobs that may be submitted in all, for each that is to run at the same time.
SUBMISSIONS = 10
# Jobs in a row that end without a worker until the build gives up.
BARREN = 3


class _NoPages:
    """A dask server without its HTTP server, which would ask nobody for a key."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Listen nowhere."""


class SlurmScheduler(_NoPages, Scheduler):
    """The scheduler in the process of the build."""


class SlurmWorker(_NoPages, Worker):
    """A worker of a job; the job's command names this class."""


WORKER = ["--no-dashboard", "--worker-class", f"{SlurmWorker.__module__}.{SlurmWorker.__name__}"]


class SlurmOptions(NamedTuple):
    """What the TOML file of a build on SLURM says.

    Parameters
    ----------
    jobs
        How many jobs run at the same time.
    max_jobs
        How many may be submitted in all.
    options
        Of dask-jobqueue's ``SLURMCluster``.
    """

    jobs: int
    max_jobs: int
    options: dict[str, Any]


def read_slurm(path: str | os.PathLike[str]) -> SlurmOptions:
    """Read the options of a build on SLURM from a TOML file."""
    content = read_toml(Path(path))
    check(content, "slurm", Path(path).name)
    options = dict(content)
    jobs = options.pop("jobs", 1)
    max_jobs = options.pop("max_jobs", SUBMISSIONS * jobs)
    if max_jobs < jobs:
        msg = f"{path}: max_jobs is {max_jobs}; expected at least jobs, which is {jobs}"
        raise PlanError(msg)
    # One thread per process: kernels and BLAS are single-threaded.
    options["processes"] = options["cores"]
    options["worker_extra_args"] = [*WORKER, *options.get("worker_extra_args", [])]
    # What dask-jobqueue starts with `python -m` would import from the folder it happens to be in.
    prologue = options.get("job_script_prologue", [])
    options["job_script_prologue"] = ["export PYTHONSAFEPATH=1", *prologue]
    # Workers read the key from a file that only this user may read, in a folder that all nodes see.
    options.setdefault("shared_temp_directory", os.getcwd())
    options["scheduler_options"] = {"dashboard": False, **options.get("scheduler_options", {})}
    return SlurmOptions(jobs, max_jobs, options)


def check_slurm(path: str | os.PathLike[str]) -> None:
    """Raise if jobs cannot be submitted from here, or the file says nothing that can be used."""
    read_slurm(path)
    if shutil.which(SUBMIT) is None:
        msg = (
            f"there is no {SUBMIT} on this machine's PATH, which --slurm submits jobs with; "
            "run this where SLURM is, such as on a login node, or take --workers"
        )
        raise LCDBError(msg)


class Jobs:
    """The jobs of one build.

    Parameters
    ----------
    path
        The TOML file with their options.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.count, self.most, self.options = read_slurm(path)
        self.refusals: list[str] = []
        # Ids by the names of jobs that are not known to have ended.
        self.live: dict[str, str] = {}
        self.submitted = 0
        # A SLURMCluster, which is an extra's.
        self._cluster: Any = None
        self._refusals_told = 0
        self._arrived: set[str] = set()
        self._barren = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lcdb squeue")
        self._question: tuple[set[str], Future[dict[str, str] | None]] | None = None
        self._asked_at = time.monotonic()
        self._is_silent = False

    def submit(self) -> SpecCluster:
        """Return a scheduler to which the workers of the jobs will come."""
        try:
            from dask_jobqueue import SLURMCluster
            from dask_jobqueue.slurm import SLURMJob
        except ImportError as error:
            msg = (
                "--slurm needs dask-jobqueue; install it with: pip install 'lcdb-plusplus[cluster]'"
            )
            raise MissingExtraError(msg) from error
        jobs = self
        numbers = itertools.count()

        class Job(SLURMJob):
            """A job that keeps what SLURM answers where it is refused."""

            async def start(self) -> None:
                try:
                    await super().start()
                    jobs.live[str(self.name)] = str(self.job_id)
                except (OSError, RuntimeError, ValueError) as error:
                    jobs.refusals.append(_answer(error))
                    await ProcessInterface.start(self)

            async def close(self) -> None:
                if self.job_id:
                    await super().close()

        class Cluster(SLURMCluster):
            """Jobs whose names are never given twice: the next one is not the one that ended."""

            def _new_worker_name(self, worker_number: int) -> str:
                return f"{self._name}-{next(numbers)}"

        job: Any = Job
        try:
            self._cluster = Cluster(
                silence_logs=False,
                job_cls=job,
                scheduler_cls=SlurmScheduler,
                security=Security.temporary(),
                protocol="tls://",
                **self.options,
            )
            self._submit(self.count)
        except (OSError, RuntimeError, ValueError) as error:
            msg = f"SLURM jobs as in {self.path} could not be submitted: {_answer(error)}"
            raise LCDBError(msg) from error
        return self._cluster

    def _submit(self, count: int) -> None:
        self.submitted += count
        self._cluster.scale(jobs=len(self._cluster.worker_spec) + count)

    def tend(self) -> Sequence[str]:
        """Submit jobs in the place of those that ended; return what there is to tell."""
        self._note_arrivals()
        lines = self._tell_of_refusals()
        if self._question is None:
            if time.monotonic() - self._asked_at > INTERVAL:
                self._question = set(self.live), self._thread.submit(_squeue)
        elif self._question[1].done():
            known, answer = self._question[0], self._question[1].result()
            self._question, self._asked_at = None, time.monotonic()
            if answer is not None:
                lines += self._replace({name: answer.get(self.live[name], "") for name in known})
            elif not self._is_silent:
                lines.append("squeue does not answer; jobs that end are not replaced meanwhile")
            self._is_silent = answer is None
        return lines

    def _note_arrivals(self) -> None:
        """Note which jobs have had a worker: its name begins with that of its job."""
        states = list(self._cluster.scheduler.workers.values())
        names = {str(state.name) for state in states}
        self._arrived |= names | {name.rpartition("-")[0] for name in names}

    def _tell_of_refusals(self) -> list[str]:
        refused = len(self.refusals)
        if refused == self._refusals_told:
            return []
        if refused >= self.submitted:
            msg = (
                f"SLURM refused all {refused} jobs as in {self.path}: {self.refusals[-1]}; "
                "nothing was computed"
            )
            raise LCDBError(msg)
        self._refusals_told = refused
        return [f"SLURM refused {refused} of {self.submitted} jobs: {self.refusals[-1]}"]

    def _replace(self, states: Mapping[str, str]) -> list[str]:
        """Submit a job for each that ended, or raise where none may be submitted any more.

        Parameters
        ----------
        states
            By name of a job; empty of one that SLURM does not know any more.
        """
        ended = {name: state for name, state in states.items() if not state or state in ENDED}
        for name, state in ended.items():
            del self.live[name]
            del self._cluster.worker_spec[name]
            if name in self._arrived:
                self._barren = 0
            elif state != "CANCELLED":  # by somebody, who need not have waited for its workers
                self._barren += 1
        how = ", ".join(f"{count} {state or 'unknown'}" for state, count in
                        Counter(ended.values()).items())  # fmt: skip
        if self._barren >= BARREN:
            msg = (
                f"the last {self._barren} SLURM jobs ended before a worker came ({how}); "
                "their output says why: log_directory names its folder, slurm-JOBID.out is its "
                f"name unless {self.path} says otherwise"
            )
            raise LCDBError(msg)
        pending = len(self._cluster.worker_spec) - len(self.refusals)
        more = min(len(ended), self.most - self.submitted)
        if more:
            self._submit(more)
        elif pending <= 0:
            reason = f": {how}" if how else ""
            refused = f", the last refused: {self.refusals[-1]}" if self.refusals else ""
            msg = (
                f"no SLURM job is left{reason} ({self.submitted} of max_jobs = {self.most} were "
                f"submitted{refused}); what is built stays, and the same command goes on from there"
            )
            raise InterruptedBuildError(msg)
        if not ended:
            return []
        others = "another is submitted" if more == 1 else f"{more} others are submitted"
        what = others if more else f"no other is submitted, since max_jobs is {self.most}"
        jobs = "a SLURM job" if len(ended) == 1 else f"{len(ended)} SLURM jobs"
        return [f"{jobs} ended ({how}); {what}"]

    def close(self) -> None:
        """Wait for nothing that SLURM is still to answer."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _squeue() -> dict[str, str] | None:
    """Return the states of this user's jobs by id; None if SLURM does not answer."""
    command = ["squeue", "--noheader", "--states=all", f"--user={os.getuid()}", "--format=%i %T"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def _answer(error: Exception) -> str:
    """Return what SLURM said, without what dask-jobqueue puts around it."""
    text = str(error)
    reason = text.rpartition("stderr:")[2] if "stderr:" in text else text
    return " ".join(reason.split()) or type(error).__name__
