"""Ctrl-C and SIGTERM during a build: what is published stays, and the same command goes on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lcdb.errors import InterruptedBuildError

__all__ = ["Stop", "stop_on_signals"]

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Stop:
    """Whether a build was asked to stop.

    Outside of `deferred` a signal ends the build where it is; inside, the build looks at
    `requested` and puts things in order first. A second Ctrl-C does not wait for that.
    """

    def __init__(self) -> None:
        self.requested = ""
        self._deferring = False

    def __call__(self) -> bool:
        """Return whether the build was asked to stop."""
        return bool(self.requested)

    def error(self) -> InterruptedBuildError:
        """Return what the build is to raise."""
        msg = (
            f"stopped by {self.requested}; what is built stays, "
            "and the same command goes on from there"
        )
        return InterruptedBuildError(msg)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Have signals wait until the caller looks at `requested`."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        again, self.requested = bool(self.requested), signal.Signals(number).name
        if again and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self._deferring:
            raise self.error()


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Handle signals while a build runs; in another thread than the main one, leave them alone."""
    stop = Stop()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            # A build under nohup is not to end with its terminal.
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, stop.handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
