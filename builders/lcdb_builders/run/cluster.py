"""Dask workers elsewhere: of a running scheduler, or of SLURM jobs.

Whoever reaches a dask scheduler can have it run code as its owner, and on a machine that others use
too everybody reaches its ports. So a scheduler that is started here takes only clients and workers
that have its key, which is made for one build.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, Security
from distributed.scheduler import KilledWorker

from lcdb.errors import InterruptedBuildError, LCDBError, PlanError
from lcdb_builders.run.remote import stop_work, work
from lcdb_builders.run.slurm import Jobs, check_slurm
from lcdb_builders.run.supervise import Outcome

__all__ = ["DaskPool", "check_slurm", "remote_pool", "security_of", "slurm_pool"]

# How long a scheduler may take to answer at all.
PATIENCE = 30
SETTINGS = {
    # Workers that may die with a task before it counts as failed.
    "distributed.scheduler.allowed-failures": 2,
    # Tasks go where there is room: data never move, since results are files.
    "distributed.scheduler.work-stealing": True,
    "distributed.comm.timeouts.connect": PATIENCE,
    # What becomes of SLURM jobs is seen in their queue: dask would cancel one that is requeued.
    "distributed.deploy.lost-worker-timeout": "365 days",
    # No pages: they need no key.
    "distributed.scheduler.http.routes": [],
    # As in workers: how a build is at work shows in its own progress.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
# What dask raises for an answer that does not come.
LOST = (OSError, asyncio.CancelledError, concurrent.futures.CancelledError)


def _nothing() -> Sequence[str]:
    """Have nothing to tell."""
    return ()


@dataclass
class DaskPool:
    """Workers of a dask scheduler.

    Parameters
    ----------
    client
        Whom tasks are submitted to.
    place, source
        For people: where workers are, and where they come from.
    tend
        Called now and then: submits jobs again, and returns messages.
    """

    client: Client
    place: str
    source: str
    tend: Callable[[], Sequence[str]] = _nothing

    def threads(self) -> int:
        """Return how many tasks can run at the same time, at this moment."""
        with self._connected():
            return sum(self.client.nthreads().values())

    def submit(
        self,
        task: str,
        arguments: Mapping[str, Any],
        timeout: float | None = None,
        *,
        first: bool = False,
    ) -> Future:
        """Have a task done, before others if it is to be first, and return its future."""
        options = {"pure": False, "retries": 2, "priority": int(first)}
        with self._connected():
            return self.client.submit(work, task, arguments, timeout, **options)

    def outcome(self, future: Future) -> Outcome | None:
        """Return what became of a task; None if its dask worker did not live to report it."""
        with self._connected():
            if future.status == "finished":
                return Outcome(**future.result())
            if future.status in {"cancelled", "lost"}:
                raise self._lost()
            error = future.exception()
        if isinstance(error, KilledWorker):
            return None
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        msg = f"workers cannot work ({reason}); expected the same lcdb-plusplus on all machines"
        raise LCDBError(msg)

    def halt(self, futures: Sequence[Future]) -> None:
        """End tasks, also those that are running; without a scheduler, nobody can."""
        if self.client.status == "running":
            self.client.cancel(futures, force=True)
            self.client.run(stop_work)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise in one line what dask raises when its scheduler cannot be reached any more."""
        try:
            yield
        except LCDBError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if self.client.status == "running" and not isinstance(error, LOST):
                raise
            raise self._lost() from error

    def _lost(self) -> InterruptedBuildError:
        msg = f"{self.place} cannot be reached any more; run the same command again to go on"
        return InterruptedBuildError(msg)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep distributed from writing between our lines: what matters comes back as an outcome."""
    # It gives several of its loggers a level of their own.
    loggers = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if name.partition(".")[0] == "distributed"
    ]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def remote_pool(
    address: str, certificates: str | os.PathLike[str] | None = None
) -> Iterator[DaskPool]:
    """Use the workers of a scheduler that somebody has started."""
    # Without files: whatever dask's own configuration says.
    security = None if certificates is None else security_of(certificates)
    with dask.config.set(SETTINGS), _quiet():
        try:
            client = Client(address, set_as_default=False, timeout=PATIENCE, security=security)
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            msg = f"no dask scheduler answers at {address!r} ({reason}); expected tls://host:port"
            raise LCDBError(msg) from error
        with client:
            place = f"the scheduler at {address}"
            yield DaskPool(client, place, f"workers to come to {place}")


def security_of(folder: str | os.PathLike[str]) -> Security:
    """Return who may connect: whoever has a certificate that the folder's ``ca.pem`` has signed.

    Parameters
    ----------
    folder
        Holds ``ca.pem``, ``cert.pem`` and ``key.pem``; nobody else may read the key.
    """
    files = {name: Path(folder).expanduser() / f"{name}.pem" for name in ("ca", "cert", "key")}
    missing = [path.name for path in files.values() if not path.is_file()]
    if missing:
        msg = f"{folder} has no {' and no '.join(missing)}; expected ca.pem, cert.pem and key.pem"
        raise PlanError(msg)
    if files["key"].stat().st_mode & 0o077:
        msg = f"others may read {files['key']}; run 'chmod go= {files['key']}'"
        raise PlanError(msg)
    return Security(
        require_encryption=True,
        tls_ca_file=str(files["ca"]),
        tls_client_cert=str(files["cert"]),
        tls_client_key=str(files["key"]),
    )


@contextlib.contextmanager
def slurm_pool(path: str | os.PathLike[str]) -> Iterator[DaskPool]:
    """Submit jobs to SLURM whose workers come to a scheduler in this process."""
    jobs = Jobs(path)
    with (
        dask.config.set(SETTINGS),
        _quiet(),
        contextlib.closing(jobs),
        jobs.submit() as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        place = f"{jobs.count} SLURM jobs of {jobs.options['cores']} workers"
        yield DaskPool(client, place, "SLURM to start jobs: squeue tells when", jobs.tend)
