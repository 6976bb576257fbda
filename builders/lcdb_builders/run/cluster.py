"""Where blocks are computed: dask workers on this machine, of a running scheduler, or of SLURM.

Every way gives a `Pool`: a dask client, and how to keep its workers alive and to end them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, Scheduler
from distributed.deploy.spec import SpecCluster

from lcdb.errors import LCDBError, MissingExtraError, PlanError
from lcdb_builders.planning.config import check, read_toml
from lcdb_builders.processes import child_environment, python
from lcdb_builders.run.machine import SINGLE_THREADED, usable_cpus
from lcdb_builders.run.remote import stop_work

__all__ = [
    "Pool",
    "check_pool",
    "local_pool",
    "open_pool",
    "read_slurm",
    "remote_pool",
    "slurm_pool",
]

# How long a scheduler may take to answer at all.
PATIENCE = 30
SETTINGS = {
    # Workers that may die with a task before it counts as failed.
    "distributed.scheduler.allowed-failures": 2,
    # Tasks go where there is room: data never move, since results are files.
    "distributed.scheduler.work-stealing": True,
    "distributed.comm.timeouts.connect": PATIENCE,
}
# Its server is started all the same; on a free port it is in nobody's way.
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


def _nothing() -> None:
    """Do nothing."""


@dataclass
class Pool:
    """Workers, wherever they are.

    Parameters
    ----------
    client
        What tasks are submitted to.
    place
        For people.
    tend
        Called now and then: starts workers anew that died.
    """

    client: Client
    place: str
    tend: Callable[[], None] = _nothing

    def threads(self) -> int:
        """Return how many tasks can run at the same time, at this moment."""
        return sum(self.client.nthreads().values())

    def halt(self, futures: Sequence[Future]) -> None:
        """End tasks, also those that are running."""
        self.client.cancel(futures, force=True)
        self.client.run(stop_work)


def check_pool(
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | os.PathLike[str] | None = None,
) -> None:
    """Raise if a build's arguments do not name workers, before anything is done."""
    given = {"workers": workers, "scheduler": scheduler, "slurm": slurm}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        msg = f"{' and '.join(named)} are given together; expected at most one of them"
        raise PlanError(msg)
    if workers is not None and workers < 1:
        msg = f"workers is {workers}; expected 1 or more"
        raise PlanError(msg)
    if slurm is not None:
        read_slurm(slurm)


@contextlib.contextmanager
def open_pool(
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | os.PathLike[str] | None = None,
) -> Iterator[Pool]:
    """Open the workers that the arguments of a build speak of, and end them."""
    check_pool(workers, scheduler, slurm)
    if scheduler is not None:
        opened = remote_pool(scheduler)
    elif slurm is not None:
        opened = slurm_pool(slurm)
    else:
        opened = local_pool(usable_cpus() if workers is None else workers)
    with dask.config.set(SETTINGS), opened as pool:
        yield pool


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep distributed from writing between our lines: what matters comes back as an outcome."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class _LocalWorkers:
    """Worker processes of this machine, restarted when they die.

    They are programs of their own, not forks or spawns of this process, so a script needs no main
    guard; they end when their input does, so also after a kill -9 of this process.
    """

    def __init__(self, scheduler: str, count: int) -> None:
        self.scheduler = scheduler
        self.started = 0
        self.processes = [self._start() for _ in range(count)]
        # A machine on which workers cannot even start would restart them for ever.
        self.limit = 20 * count + 100

    def _start(self) -> subprocess.Popen[bytes]:
        self.started += 1
        command = python("lcdb_builders.run.worker", self.scheduler, f"lcdb-{self.started}")
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=child_environment(**SINGLE_THREADED),
            # Ctrl-C at a terminal goes to its whole group of processes: it is ours to handle.
            start_new_session=True,
        )

    def tend(self) -> None:
        """Start a worker in the place of each that died."""
        for place, process in enumerate(self.processes):
            if process.poll() is not None:
                if self.started >= self.limit:
                    msg = f"workers died {self.started} times, the last with {process.returncode}"
                    raise LCDBError(msg)
                self.processes[place] = self._start()

    def close(self) -> None:
        """End all workers, and their children with them."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()


@contextlib.contextmanager
def local_pool(count: int) -> Iterator[Pool]:
    """Open workers on this machine, with a scheduler of their own."""
    options = {
        "host": "127.0.0.1",
        "port": 0,
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",
    }
    scheduler = {"cls": Scheduler, "options": options}
    with (
        _quiet(),
        SpecCluster(workers={}, scheduler=scheduler, silence_logs=False) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        workers = _LocalWorkers(cluster.scheduler_address, count)
        try:
            yield Pool(client, f"{count} workers on this machine", workers.tend)
        finally:
            workers.close()


@contextlib.contextmanager
def remote_pool(address: str) -> Iterator[Pool]:
    """Use the workers of a scheduler that somebody has started."""
    with _quiet():
        try:
            client = Client(address, set_as_default=False, timeout=PATIENCE)
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            msg = f"no dask scheduler answers at {address!r} ({reason}); expected tcp://host:port"
            raise LCDBError(msg) from error
        with client:
            yield Pool(client, f"the scheduler at {address}")


def read_slurm(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any]]:
    """Return the number of jobs and the options of dask-jobqueue from a TOML file."""
    content = read_toml(Path(path))
    check(content, "slurm", Path(path).name)
    options = dict(content)
    jobs = options.pop("jobs", 1)
    # One thread per process: kernels and BLAS are single-threaded.
    options["processes"] = options["cores"]
    options["scheduler_options"] = {**NO_DASHBOARD, **options.get("scheduler_options", {})}
    return jobs, options


@contextlib.contextmanager
def slurm_pool(path: str | os.PathLike[str]) -> Iterator[Pool]:
    """Submit jobs to SLURM whose workers come to a scheduler in this process."""
    jobs, options = read_slurm(path)
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        msg = "--slurm needs dask-jobqueue; install it with: pip install 'lcdb-plusplus[cluster]'"
        raise MissingExtraError(msg) from error
    with _quiet():
        try:
            cluster = SLURMCluster(silence_logs=False, **options)
            cluster.scale(jobs=jobs)
        except (OSError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())
            msg = f"SLURM jobs as in {path} could not be submitted: {reason}"
            raise LCDBError(msg) from error
        with cluster, Client(cluster, set_as_default=False) as client:
            yield Pool(client, f"{jobs} SLURM jobs of {options['cores']} workers")
