"""How far a build or a verification is: nothing, a bar on a terminal, or lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import IO, NamedTuple, Protocol

from lcdb.text import as_rich, visible

__all__ = ["BUILDING", "Bar", "Counted", "Lines", "Progress", "Silent", "Words", "choose"]

# Seconds between lines.
INTERVAL = 15.0


class Words(NamedTuple):
    """What is told of.

    Parameters
    ----------
    doing
        Beside the bar.
    unit
        What is counted.
    todo
        What is to be done with it.
    """

    doing: str
    unit: str
    todo: str


BUILDING = Words("building", "cells", "to compute")


class Progress(Protocol):
    """What a build tells; `cost` is in seconds of one core, as estimated beforehand."""

    def begin(self, cost: float, cells: int) -> None:
        """Tell how much there is to do."""

    def advance(self, cost: float, cells: int) -> None:
        """Tell that so much of it is done; without a cost, that preparations are over."""

    def tell(self, text: str) -> None:
        """Tell something else in a line."""

    def end(self) -> None:
        """Tell that nothing more follows."""


class Silent:
    """Tells nothing."""

    def begin(self, cost: float, cells: int) -> None:
        """Do nothing."""

    def advance(self, cost: float, cells: int) -> None:
        """Do nothing."""

    def tell(self, text: str) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


class Counted:
    """Tells somebody else, and calls a function with each number of cells.

    Examples
    --------
    >>> counts = []
    >>> Counted(Silent(), counts.append).advance(cost=2.0, cells=30)
    >>> counts
    [30]
    """

    def __init__(self, display: Progress, count: Callable[[int], None]) -> None:
        self.begin, self.tell, self.end = display.begin, display.tell, display.end
        self._display, self._count = display, count

    def advance(self, cost: float, cells: int) -> None:
        """Tell that so much is done, and count it."""
        self._display.advance(cost, cells)
        self._count(cells)


def duration(seconds: float) -> str:
    """Return a duration in words of one or two units.

    Examples
    --------
    >>> duration(42), duration(150), duration(8000), duration(3e5)
    ('42 s', '2 min 30 s', '2 h 13 min', '3 d 11 h')
    """
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    left = round(seconds)
    for (name, length), (smaller, part) in pairwise(units):
        if left >= length:
            rest = left % length // part
            return f"{left // length} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{left} s"


class _Meter:
    """Rate and time left from what is done, of all that there is to do.

    Parameters
    ----------
    cost, cells
        All there is to do.
    until
        When it ends whatever is left, in seconds of the monotonic clock; None for never.
    """

    def __init__(self, cost: float, cells: int, until: float | None = None) -> None:
        self.cost, self.cells = max(cost, 1e-9), cells
        self.until = until
        self.done_cost, self.done_cells = 0.0, 0
        self.started = self.prepared = time.monotonic()

    def advance(self, cost: float, cells: int) -> None:
        self.done_cost += cost
        self.done_cells += cells
        if not self.done_cost:
            # The start of workers, or first cells, say nothing of how long the others take.
            self.prepared = time.monotonic()

    @property
    def share(self) -> float:
        return min(1.0, self.done_cost / self.cost)

    @property
    def percent(self) -> int:
        """Of the cells, in the unit that is printed beside it; 100 only of all of them."""
        return 100 * self.done_cells // self.cells if self.cells else round(100 * self.share)

    @property
    def rate(self) -> float:
        """Cells per second."""
        return self.done_cells / max(1e-9, time.monotonic() - self.started)

    @property
    def left(self) -> float | None:
        """Seconds; None while that cannot be known, and when all cells are done.

        Costs differ, so not from cells.
        """
        now = time.monotonic()
        if self.cells and self.done_cells >= self.cells:
            return None
        ends = [] if self.until is None else [max(0.0, self.until - now)]
        if self.done_cost:
            ends.append((now - self.prepared) * (1 / max(self.share, 1e-9) - 1))
        return min(ends, default=None)


class Lines:
    """A line now and then: for logs.

    Examples
    --------
    >>> lines = Lines(sys.stdout, interval=0)
    >>> lines.begin(cost=10.0, cells=100)
    lcdb: 100 cells to compute
    >>> lines.end()
    """

    def __init__(
        self,
        stream: IO[str],
        interval: float = INTERVAL,
        words: Words = BUILDING,
        until: float | None = None,
    ) -> None:
        self.stream = stream
        self.interval = interval
        self.words = words
        self.until = until
        self._meter = _Meter(0.0, 0)
        self._last = 0.0

    def begin(self, cost: float, cells: int) -> None:
        """Tell how much there is to do."""
        self._meter = _Meter(cost, cells, self.until)
        self._last = time.monotonic()
        self.tell(f"{cells:,} {self.words.unit} {self.words.todo}")

    def advance(self, cost: float, cells: int) -> None:
        """Tell that so much of it is done, if the last line was long enough ago."""
        meter = self._meter
        meter.advance(cost, cells)
        if time.monotonic() - self._last < self.interval and meter.done_cells < meter.cells:
            return
        self._last = time.monotonic()
        left = "" if meter.left is None else f", {duration(meter.left)} left"
        unit = self.words.unit
        of = f"{meter.done_cells:,} of {meter.cells:,} {unit}"
        self.tell(f"{meter.percent} % ({of}), {meter.rate:,.0f} {unit}/s{left}")

    def tell(self, text: str) -> None:
        """Tell something else in a line."""
        print(f"lcdb: {visible(text)}", file=self.stream, flush=True)

    def end(self) -> None:
        """Do nothing: every line is complete."""


class Bar:
    """A bar with rate and time left: for terminals and notebooks."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        words: Words = BUILDING,
        until: float | None = None,
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[left]}"),
            console=Console(file=stream or sys.stderr),
        )
        self._words = words
        self.until = until
        self._meter = _Meter(0.0, 0)
        self._task = self._bar.add_task(words.doing, total=None, rate="", left="", visible=False)

    def begin(self, cost: float, cells: int) -> None:
        """Show the bar."""
        self._meter = _Meter(cost, cells, self.until)
        self._bar.start()
        self._bar.update(self._task, total=100, completed=0, visible=True)

    def advance(self, cost: float, cells: int) -> None:
        """Move the bar."""
        meter = self._meter
        meter.advance(cost, cells)
        left = "" if meter.left is None else f"{duration(meter.left)} left"
        rate = f"{meter.rate:,.0f} {self._words.unit}/s"
        self._bar.update(self._task, completed=meter.percent, rate=rate, left=left)

    def tell(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(as_rich(f"lcdb: {text}"), highlight=False)

    def end(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()


def choose(
    progress: bool | Progress,
    stream: IO[str] | None = None,
    words: Words = BUILDING,
    until: float | None = None,
) -> Progress:
    """Return who tells: the given one, nobody, or what suits the stream.

    Parameters
    ----------
    progress
        The given one; or whether there is one.
    stream
        Standard error unless given.
    words
        What is told of.
    until
        When a budget ends, in seconds of the monotonic clock: the time left is no more than that.

    Examples
    --------
    >>> type(choose(False)).__name__, type(choose(True, sys.__stdin__)).__name__ in {"Bar", "Lines"}
    ('Silent', True)
    """
    if not isinstance(progress, bool):
        return progress
    if not progress:
        return Silent()
    stream = stream or sys.stderr
    return (Bar if _moves(stream) else Lines)(stream, words=words, until=until)


def _moves(stream: IO[str]) -> bool:
    """Whether what is written can be written over: a notebook needs ipywidgets for that."""
    if "ipykernel" in sys.modules:
        return find_spec("ipywidgets") is not None
    return stream.isatty()
