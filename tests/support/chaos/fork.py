"""Work in a process of its own that starts at once: a copy of this one, which imports nothing."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from lcdb_builders.storage import disk

__all__ = ["Forked", "outcome"]


class Forked:
    """A function at work in a process of its own.

    Parameters
    ----------
    work
        The function; what it returns must be JSON-able.
    quiet
        Print no traceback if it raises.
    """

    def __init__(self, work: Callable[[], Any], quiet: bool = False) -> None:
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # Leases have a thread, which holds no lock that a copy of this process would miss.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(reader)
                disk.hook = None
                result = work()
                os.write(writer, json.dumps(result).encode())
                code = 0
            except BaseException:
                if not quiet:
                    traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writer)
        self._pipe = os.fdopen(reader, "rb")
        self.code: int | None = None

    def _reap(self, options: int) -> None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self._answer = self._pipe.read()
                self._pipe.close()

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        self._reap(os.WNOHANG)
        return self.code

    def kill(self) -> None:
        """End it with SIGKILL, as a machine that runs out of memory does."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap(0)

    def wait(self, seconds: float = 120.0) -> int:
        """Wait for the end, or bring it about, and return the exit code."""
        deadline = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        self.kill()
        assert self.code is not None
        return self.code

    def result(self) -> Any:
        """Wait for the end and return what the work returned."""
        code = self.wait()
        assert code == 0, f"a process of this test ended with {code}"
        return json.loads(self._answer)


def outcome(work: Callable[[], object]) -> str:
    """Return the name of the error that work raises in a process of its own, or ``"done"``."""

    def told() -> str:
        try:
            work()
        except BaseException as error:
            return type(error).__name__
        return "done"

    return Forked(told).result()
