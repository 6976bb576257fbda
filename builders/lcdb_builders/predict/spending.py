"""Time is spent breadth first: all sizes of a few repetitions, then of more.

The first cells are computed by this process, which shows how long cells take; what is left is
shared out in pieces of a fraction of a second, so that Ctrl-C is obeyed soon. Under a budget other
processes compute from the first cell on: they can be ended, whatever a single cell takes.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from numbers import Integral
from typing import Any, Protocol

from lcdb.errors import ArgumentError
from lcdb_builders.domain.unit import Unit
from lcdb_builders.predict.cells import Computed, Piece
from lcdb_builders.run.machine import usable_cpus
from lcdb_builders.run.progress import Progress

__all__ = [
    "Pieces",
    "compile_first",
    "deadline_of",
    "seconds_of",
    "spend",
    "whole",
    "workers_of",
]

# Seconds that a piece should take: at least, and at most where much is done once per piece.
_PIECE, _LONGEST = 0.2, 1.0
# A piece takes so many times as long as the shortest: what is done once is then a small part of it.
_TIMES_ONCE = 4
# After so long alone, and with so much left, other processes are worth their start.
_ALONE, _WORTH = 1.0, 2.0
# Seconds that pieces which are under way have after the end of a budget; and how often in them an
# executor is told to end whose thread has not begun.
_GRACE, _TRIES = 1.0, 20
# Seconds between looks at the time while a budget lasts.
_TICK = 0.1
_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


class Work(Protocol):
    """What computes pieces."""

    def compute(self, piece: Piece) -> Computed:
        """Return the values of a piece."""


def seconds_of(budget: str | float | None) -> float | None:
    """Return a budget in seconds.

    Examples
    --------
    >>> seconds_of("60s"), seconds_of("1.5 min"), seconds_of(10), seconds_of(None)
    (60.0, 90.0, 10.0, None)
    """
    if budget is None:
        return None
    text = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|min|m|h|)\s*", str(budget))
    if not text or float(text[1]) <= 0:
        msg = f"budget is {budget!r}; expected seconds, or a text such as '60s', '5min' or '2h'"
        raise ArgumentError(msg)
    return float(text[1]) * _UNITS[text[2]]


def deadline_of(budget: str | float | None) -> float | None:
    """Return when a budget that begins now is over, in seconds of the monotonic clock.

    Examples
    --------
    >>> deadline_of(None) is None, deadline_of("60s") > time.monotonic() + 50
    (True, True)
    """
    seconds = seconds_of(budget)
    return None if seconds is None else time.monotonic() + seconds


def whole(what: str, value: Any, low: int) -> int:
    """Return a whole number of at least `low`; anything else is an error that says `what` it is.

    Examples
    --------
    >>> whole("workers", 0, 1)
    Traceback (most recent call last):
        ...
    lcdb.errors.ArgumentError: workers is 0; expected a whole number of at least 1
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        msg = f"{what} is {value!r}; expected a whole number of at least {low}"
        raise ArgumentError(msg)
    return int(value)


def workers_of(workers: int | None) -> int:
    """Return how many workers are asked for: one for each usable core unless given.

    Examples
    --------
    >>> workers_of(3), workers_of(None) >= 1
    (3, True)
    """
    return usable_cpus() if workers is None else whole("workers", workers, 1)


class Pieces:
    """Cells that are still to be given out, breadth first over sizes.

    Examples
    --------
    >>> pieces = Pieces(sizes=3, repetitions=10)
    >>> [tuple(pieces.take(cells)) for cells in (2, 9, 9)]
    [(0, 2, 0, 1), (2, 3, 0, 1), (0, 3, 1, 4)]
    """

    def __init__(self, sizes: int, repetitions: int) -> None:
        self.sizes, self.repetitions = sizes, repetitions
        self._size, self._repetition = 0, 0

    @property
    def left(self) -> int:
        """How many cells there still are."""
        return (self.repetitions - self._repetition) * self.sizes - self._size

    def take(self, cells: int) -> Piece:
        """Return the next piece, of about so many cells; there must be some left."""
        first = self._repetition
        if self._size or cells < self.sizes:
            stop = min(self.sizes, self._size + max(cells, 1))
            piece = Piece(self._size, stop, first, first + 1)
            self._size = stop % self.sizes
            self._repetition += self._size == 0
            return piece
        self._repetition = min(self.repetitions, first + cells // self.sizes)
        return Piece(0, self.sizes, first, self._repetition)


class _Spending:
    """What is done of a work, and how fast."""

    def __init__(self, pieces: Pieces, keep: Callable[[Piece, Computed], None]) -> None:
        self.pieces = pieces
        self.keep = keep
        self.rate = 0.0  # cells per second, of one worker
        self.shortest = float("inf")  # seconds of a piece
        self.most = 1

    @property
    def cells(self) -> int:
        """How many cells the next piece should have."""
        aim = min(max(_PIECE, _TIMES_ONCE * self.shortest), _LONGEST)
        return max(1, min(self.most, int(self.rate * aim)))

    def next(self) -> Piece:
        """Return the next piece."""
        return self.pieces.take(self.cells)

    def take_in(self, piece: Piece, computed: Computed, took: float) -> None:
        """Keep a result; the rate follows, but no piece is more than four times the last."""
        self.keep(piece, computed)
        self.rate = piece.cells / max(took, 1e-6)
        self.shortest = min(self.shortest, took)
        self.most = 4 * piece.cells


def spend(
    work: Work,
    pieces: Pieces,
    keep: Callable[[Piece, Computed], None],
    *,
    workers: int,
    deadline: float | None,
    progress: Progress,
    processes: bool,
) -> str:
    """Compute pieces until all are done, the time is up, or Ctrl-C; return why it ended.

    Parameters
    ----------
    work
        What computes pieces.
    pieces
        What there is.
    keep
        Called with each piece and its values, here.
    workers
        How many pieces at once.
    deadline
        When the budget is over, in seconds of the monotonic clock; None for never. What has not
        ended a second later is given up.
    progress
        Is told of what is done. The first repetition has no cost: its small training sets, and what
        is loaded for the first cell, do not say how long the others take.
    processes
        Whether pieces go to other processes, or to threads of this one; under a budget they always
        go to processes.

    Returns
    -------
    str
        ``"complete"``, ``"budget"`` or ``"interrupted"``.
    """
    sizes = pieces.sizes

    def kept(piece: Piece, computed: Computed) -> None:
        keep(piece, computed)
        first = piece.stop_size - piece.first_size if piece.first == 0 else 0
        progress.advance(piece.cells - first, piece.cells)

    progress.begin(pieces.left - sizes, pieces.left)
    spending = _Spending(pieces, kept)
    started = time.monotonic()
    try:
        if deadline is None:
            _alone(work, spending, workers, processes)
            if not pieces.left:
                return "complete"
        return _shared(work, spending, workers, deadline, processes or deadline is not None)
    except KeyboardInterrupt:
        if not spending.rate:
            raise
        progress.tell(f"interrupted after {time.monotonic() - started:.0f} s: what is there stays")
        return "interrupted"
    finally:
        progress.end()


def _is_over(deadline: float | None, grace: float = 0.0) -> bool:
    return deadline is not None and time.monotonic() >= deadline + grace


def _alone(work: Work, spending: _Spending, workers: int, processes: bool) -> None:
    """Compute pieces in this process, until others are worth their start.

    Parameters
    ----------
    work, workers, processes
        As `spend` takes them.
    spending
        What is done.
    """
    started = time.monotonic()
    first = True
    while spending.pieces.left:
        before = time.monotonic()
        piece = spending.next()
        spending.take_in(piece, work.compute(piece), time.monotonic() - before)
        if workers > 1 and not first:
            alone = time.monotonic() - started
            left = spending.pieces.left / spending.rate
            if not processes or (alone > _ALONE and left > _WORTH):
                return
        first = False


def _shared(
    work: Work, spending: _Spending, workers: int, deadline: float | None, processes: bool
) -> str:
    """Compute what is left with several workers; return why it ended.

    Parameters
    ----------
    work, spending, workers, processes
        As `_alone` takes them.
    deadline
        As `spend` takes it.
    """
    if _is_over(deadline):
        return "budget"
    executor = _processes(work, workers) if processes else ThreadPoolExecutor(workers)
    compute = _compute if processes else _timed(work)
    running: dict[Future, Piece] = {}
    ended = "complete"
    try:
        while True:
            while spending.pieces.left and len(running) < workers + 1 and not _is_over(deadline):
                piece = spending.next()
                running[executor.submit(compute, piece)] = piece
            if not running:
                break
            done, _ = wait(running, None if deadline is None else _TICK, FIRST_COMPLETED)
            for future in done:
                computed, took = future.result()
                spending.take_in(running.pop(future), computed, took)
            if not done and _is_over(deadline, _GRACE):
                break
        if spending.pieces.left or running:
            ended = "budget"
    except BaseException:
        _stop(executor, processes, running)
        raise
    if running:
        _stop(executor, processes, running, 0.0)
    else:
        executor.shutdown()
    return ended


def _stop(executor: Any, processes: bool, running: Iterable[Future], grace: float = _GRACE) -> None:
    """End workers after the pieces that they have begun; processes that take longer are killed.

    Parameters
    ----------
    executor, processes, running
        What computes, whether in processes, and what is under way.
    grace
        Seconds that processes have.
    """
    if not processes:
        executor.shutdown(wait=True, cancel_futures=True)
        return
    # Killed while a result is on its way, their executor would complain of it from a thread.
    begun = [future for future in running if not future.cancel()]
    unfinished = wait(begun, grace).not_done
    for left in reversed(range(_TRIES)):
        try:
            executor.shutdown(wait=True, kill_workers=bool(unfinished))
            return
        except RuntimeError:  # Ctrl-C came while its thread was being started
            if not left:
                raise
            time.sleep(_GRACE / _TRIES)


def _timed(work: Work) -> Callable[[Piece], tuple[Computed, float]]:
    def compute(piece: Piece) -> tuple[Computed, float]:
        started = time.monotonic()
        computed = work.compute(piece)
        return computed, time.monotonic() - started

    return compute


# -- in other processes ----------------------------------------------------------------------------

_works: list[Work] = []


def _processes(work: Work, workers: int) -> Executor:
    """Return processes that have the work; classes of a notebook travel with it."""
    from joblib.externals.loky import ProcessPoolExecutor

    # joblib starts Python with -m, which would import from the current folder; what the user's own
    # process may import is handed on to the workers.
    safe = {"PYTHONSAFEPATH": "1"}
    return ProcessPoolExecutor(workers, initializer=_begin, initargs=(work,), env=safe)


def _begin(work: Work) -> None:
    """Prepare a process: Ctrl-C is for the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _works[:] = [work]


def _compute(piece: Piece) -> tuple[Computed, float]:
    return _timed(_works[0])(piece)


# -- before the first cell -------------------------------------------------------------------------


class _OverError(Exception):
    """The budget is over."""


def compile_first(unit: Unit, tell: Callable[[str], None], deadline: float | None) -> None:
    """Compile the kernels of a unit if that is still to be done, and tell so.

    Parameters
    ----------
    unit
        Who learns how.
    tell
        Called with a line for people; never where everything is compiled.
    deadline
        When to give up, in seconds of the monotonic clock; None for never.
    """
    from lcdb_builders.run import compiling

    def look() -> None:
        if _is_over(deadline):
            raise _OverError

    kinds = compiling.kinds_of([(unit, (unit.split,))])
    with suppress(_OverError):
        compiling.compile_kernels(kinds, 1, tell=tell, look=look)
