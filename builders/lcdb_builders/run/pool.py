"""Where blocks are computed: child processes of this machine, or dask workers elsewhere.

A pool takes tasks (names in `lcdb_builders.run.tasks`, with arguments in JSON) and gives futures.
On this machine each of its threads has a child process, which may crash or hang. Whatever leaves
the machine goes through dask: `lcdb_builders.run.cluster`, imported only then.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from queue import PriorityQueue
from typing import Any, Protocol

from lcdb.errors import MissingExtraError, PlanError
from lcdb_builders.run.machine import usable_cpus
from lcdb_builders.run.supervise import Child, Outcome

__all__ = ["LocalPool", "Pool", "check_pool", "open_pool"]


class Pool(Protocol):
    """Workers, wherever they are."""

    @property
    def place(self) -> str:
        """Where they are, for people."""

    @property
    def source(self) -> str:
        """Where workers come from if this build does not start them; else empty."""

    def threads(self) -> int:
        """Return how many tasks can run at the same time, at this moment."""

    def submit(
        self,
        task: str,
        arguments: Mapping[str, Any],
        timeout: float | None = None,
        *,
        first: bool = False,
    ) -> Any:
        """Have a task done, before others if it is to be first, and return its future."""

    def outcome(self, future: Any) -> Outcome | None:
        """Return what became of a task that is over; None if its worker died."""

    def tend(self) -> Sequence[str]:
        """Start workers anew that died, and return messages about that."""

    def halt(self, futures: Sequence[Any]) -> None:
        """End tasks, also those that are running."""


class LocalPool:
    """Child processes of this machine, one for each thread.

    Parameters
    ----------
    count
        How many.

    Examples
    --------
    >>> with LocalPool(1) as pool:
    ...     pool.outcome(pool.submit("ready", {})).status
    'complete'
    """

    source = ""

    def __init__(self, count: int) -> None:
        self.place = f"{count} worker{'s' * (count != 1)} on this machine"
        self._children = [Child() for _ in range(count)]
        self._order = itertools.count()
        self._tasks: PriorityQueue[tuple[int, int, Future[Outcome], Any]] = PriorityQueue()
        self._servers = [
            threading.Thread(target=self._serve, args=(child,), name="lcdb work", daemon=True)
            for child in self._children
        ]
        for server in self._servers:
            server.start()

    def threads(self) -> int:
        """Return how many tasks can run at the same time."""
        return len(self._children)

    def submit(
        self,
        task: str,
        arguments: Mapping[str, Any],
        timeout: float | None = None,
        *,
        first: bool = False,
    ) -> Future[Outcome]:
        """Have a task done, before others if it is to be first, and return its future."""
        future: Future[Outcome] = Future()
        self._tasks.put((0 if first else 1, next(self._order), future, (task, arguments, timeout)))
        return future

    def outcome(self, future: Future[Outcome]) -> Outcome | None:
        """Return what became of a task; a child that dies is started again by its owner."""
        return future.result()

    def tend(self) -> Sequence[str]:
        """Return nothing: children are started again when they are needed."""
        return ()

    def halt(self, futures: Sequence[Future[Outcome]]) -> None:
        """End tasks, also those that are running; the pool takes no others afterwards."""
        for future in futures:
            future.cancel()
        for child in self._children:
            child.stop()

    def _serve(self, child: Child) -> None:
        while True:
            _, _, future, request = self._tasks.get()
            if request is None:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                outcome = child.run(*request)
            except BaseException as error:
                future.set_exception(error)
                continue
            if request[0] == "compile":  # compiling takes hundreds of megabytes and keeps them
                child.close()
            future.set_result(outcome)

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *exception: object) -> None:
        for child in self._children:
            child.stop()
        for _ in self._servers:
            self._tasks.put((-1, next(self._order), Future(), None))
        for thread in self._servers:
            thread.join()
        for child in self._children:
            child.close()


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
    if certificates is not None and (scheduler is None or not scheduler.startswith("tls://")):
        msg = f"certificates are given for {scheduler or 'no scheduler'}; expected tls://host:port"
        raise PlanError(msg)
    if slurm is not None:
        _cluster().check_slurm(slurm)
    if certificates is not None:
        _cluster().security_of(certificates)


def _cluster() -> Any:
    """Import what reaches other machines."""
    try:
        from lcdb_builders.run import cluster
    except ImportError as error:
        msg = "other machines need dask; install it with: pip install 'lcdb-plusplus[cluster]'"
        raise MissingExtraError(msg) from error
    return cluster


@contextlib.contextmanager
def open_pool(
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | os.PathLike[str] | None = None,
    certificates: str | os.PathLike[str] | None = None,
) -> Iterator[Pool]:
    """Open the workers that the arguments of a build speak of, and end them."""
    check_pool(workers, scheduler, slurm, certificates)
    opened: contextlib.AbstractContextManager[Pool]
    if scheduler is not None:
        opened = _cluster().remote_pool(scheduler, certificates)
    elif slurm is not None:
        opened = _cluster().slurm_pool(slurm)
    else:
        opened = LocalPool(usable_cpus() if workers is None else workers)
    with opened as pool:
        yield pool
