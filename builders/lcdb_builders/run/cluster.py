"""Where blocks are computed: dask workers on this machine, of a running scheduler, or of SLURM.

Whoever reaches a dask scheduler can have it run code as its owner, and on a machine that others use
too everybody reaches its ports. So a scheduler that is started here takes only who has the key: it
is made for one build, and goes to the workers through their inputs.

Every way gives a `Pool`: a dask client, and how to keep its workers alive and to end them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dask
from distributed import Client, Future, Scheduler, Security
from distributed.deploy.spec import SpecCluster

from lcdb.errors import LCDBError, PlanError
from lcdb_builders.processes import child_environment, python
from lcdb_builders.run.machine import SINGLE_THREADED, usable_cpus
from lcdb_builders.run.remote import stop_work
from lcdb_builders.run.slurm import Jobs, check_slurm

__all__ = [
    "Pool",
    "check_pool",
    "local_pool",
    "open_pool",
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
    # No pages: they need no key.
    "distributed.scheduler.http.routes": [],
    # As in workers: how a build is at work shows in its own progress.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


def _nothing() -> Sequence[str]:
    """Have nothing to tell."""
    return ()


@dataclass
class Pool:
    """Workers, wherever they are.

    Parameters
    ----------
    client
        What tasks are submitted to.
    place
        For people.
    source
        Where workers come from, if they are not this build's own: what it waits for without any.
    tend
        Called now and then: starts workers anew that died, and returns what there is to tell.
    """

    client: Client
    place: str
    source: str = ""
    tend: Callable[[], Sequence[str]] = _nothing

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
    certificates: str | os.PathLike[str] | None = None,
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
        check_slurm(slurm)
    if certificates is not None:
        if scheduler is None or not scheduler.startswith("tls://"):
            msg = f"certificates are given for {scheduler or 'no scheduler'}; expected tls://host:port"
            raise PlanError(msg)
        security_of(certificates)


@contextlib.contextmanager
def open_pool(
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | os.PathLike[str] | None = None,
    certificates: str | os.PathLike[str] | None = None,
) -> Iterator[Pool]:
    """Open the workers that the arguments of a build speak of, and end them."""
    check_pool(workers, scheduler, slurm, certificates)
    if scheduler is not None:
        opened = remote_pool(scheduler, certificates)
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

    def __init__(self, scheduler: str, security: Security, count: int) -> None:
        self.scheduler = scheduler
        self.key = json.dumps(security.get_tls_config_for_role("worker")).encode() + b"\n"
        self.started = 0
        self.processes = [self._start() for _ in range(count)]
        # A machine on which workers cannot even start would restart them for ever.
        self.limit = 20 * count + 100

    def _start(self) -> subprocess.Popen[bytes]:
        self.started += 1
        command = python("lcdb_builders.run.worker", self.scheduler, f"lcdb-{self.started}")
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=child_environment(**SINGLE_THREADED),
            # Ctrl-C at a terminal goes to its whole group of processes: it is ours to handle.
            start_new_session=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it is dead already, and will be started again
            process.stdin.write(self.key)
            process.stdin.flush()
        return process

    def tend(self) -> Sequence[str]:
        """Start a worker in the place of each that died, and tell."""
        dead = {i: code for i, p in enumerate(self.processes) if (code := p.poll()) is not None}
        if not dead:
            return ()
        if self.started >= self.limit:
            msg = f"workers died {self.started} times, the last {_ended(list(dead.values())[-1])}"
            raise LCDBError(msg)
        for place in dead:
            self.processes[place] = self._start()
        how = ", ".join(dict.fromkeys(map(_ended, dead.values())))
        many, anew = f"{len(dead)} workers", "in their places others are started"
        if len(dead) == 1:
            many, anew = "a worker", "in its place another is started"
        count = len(self.processes)
        return [f"{many} {how}, {count - len(dead)} of {count} left; {anew}"]

    def close(self) -> None:
        """End all workers, and their children with them."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()


def _ended(code: int) -> str:
    """Return how a process ended.

    Examples
    --------
    >>> _ended(-9), _ended(1)
    ('killed by SIGKILL', 'ended with exit code 1')
    """
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


@contextlib.contextmanager
def local_pool(count: int) -> Iterator[Pool]:
    """Open workers on this machine, with a scheduler of their own."""
    security = Security.temporary()
    options = {
        "protocol": "tls://",
        "security": security,
        "host": "127.0.0.1",
        "port": 0,
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",
    }
    scheduler = {"cls": Scheduler, "options": options}
    with (
        _quiet(),
        SpecCluster(
            workers={}, scheduler=scheduler, security=security, silence_logs=False
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        workers = _LocalWorkers(cluster.scheduler_address, security, count)
        try:
            yield Pool(client, f"{count} workers on this machine", tend=workers.tend)
        finally:
            workers.close()


@contextlib.contextmanager
def remote_pool(address: str, certificates: str | os.PathLike[str] | None = None) -> Iterator[Pool]:
    """Use the workers of a scheduler that somebody has started."""
    # Without files: whatever dask's own configuration says.
    security = None if certificates is None else security_of(certificates)
    with _quiet():
        try:
            client = Client(address, set_as_default=False, timeout=PATIENCE, security=security)
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            msg = f"no dask scheduler answers at {address!r} ({reason}); expected tls://host:port"
            raise LCDBError(msg) from error
        with client:
            place = f"the scheduler at {address}"
            yield Pool(client, place, f"workers to come to {place}")


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
def slurm_pool(path: str | os.PathLike[str]) -> Iterator[Pool]:
    """Submit jobs to SLURM whose workers come to a scheduler in this process."""
    jobs = Jobs(path)
    with _quiet(), jobs.submit() as cluster, Client(cluster, set_as_default=False) as client:
        place = f"{jobs.count} SLURM jobs of {jobs.options['cores']} workers"
        yield Pool(client, place, "SLURM to start jobs: squeue tells when", jobs.tend)
