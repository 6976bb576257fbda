"""A process of its own for computing, which its owner outlives whatever happens to it.

Estimators crash, hang, hold the GIL, and eat memory. So whoever is to compute a block (a dask
worker, say) has it done by a child process, and stays able to answer, to keep the time and to say
what became of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from lcdb_builders.processes import child_environment, python
from lcdb_builders.run.machine import SINGLE_THREADED

__all__ = ["Child", "Outcome"]

Status = Literal["complete", "failed", "timed_out", "stopped", "error"]

# Deaths of a child that are tried again before a task counts as failed.
ATTEMPTS = 3
# The child ends itself at the time limit and says where it was; this much later it is killed.
GRACE = 10.0
# Compiling takes a minute or two, once on every machine; much more of it is a hang.
PREPARATION = 1800.0


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    Parameters
    ----------
    status
        ``complete``, ``failed`` or ``timed_out``, as in a cube; ``stopped`` if it was asked to
        end; ``error`` if not the task but its surroundings are at fault (a full disk, say).
    reason
        One line, empty if complete.
    error
        Name of the class in `lcdb.errors`, for ``error``.
    details
        A traceback, where there is one.
    seconds
        How long it took.
    result
        What the task returned.
    """

    status: Status
    reason: str = ""
    error: str = ""
    details: str = ""
    seconds: float = 0.0
    result: Any = None

    def as_json(self) -> dict[str, Any]:
        """Return a JSON-able dict: only this travels, never an object to unpickle."""
        return asdict(self)


class Child:
    """One process that does one task at a time; started when first needed, and again if it dies.

    Examples
    --------
    >>> with Child() as child:
    ...     child.run("ready", {}).status
    'complete'
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: Any = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def run(self, task: str, arguments: Mapping[str, Any], timeout: float | None = None) -> Outcome:
        """Have a task done and return what became of it.

        Parameters
        ----------
        task
            Name in `lcdb_builders.run.tasks.TASKS`.
        arguments
            JSON-able.
        timeout
            Seconds after which the child is killed; None for ever.
        """
        request = json.dumps({"task": task, "arguments": arguments, "timeout": timeout}) + "\n"
        started = time.monotonic()
        died: list[str] = []
        while len(died) < ATTEMPTS:
            stopped = self._stopped.is_set()
            answer = None if stopped else self._ask(request.encode(), timeout)
            seconds = time.monotonic() - started
            if self._stopped.is_set():
                self._kill()
                return Outcome("stopped", seconds=seconds)
            if answer is not None:
                return Outcome(**{**json.loads(answer), "seconds": seconds})
            code, printed = self._bury()
            if code is None or _ended_itself(code, printed):
                reason = _timed_out(timeout, printed)
                return Outcome("timed_out", reason, details=printed, seconds=seconds)
            died.append(_death(code, printed))
        reason = f"its process died {len(died)} times: {died[-1]}"
        return Outcome("failed", reason, seconds=time.monotonic() - started)

    def _ask(self, request: bytes, timeout: float | None) -> bytes | None:
        """Return the child's answer, or None if it died or its time is over."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        lines = _Lines(process.stdout.fileno())
        try:
            process.stdin.write(request)
            process.stdin.flush()
            # First it says that it has everything imported and compiled: no time of the task's.
            if lines.next(time.monotonic() + PREPARATION) is None:
                return None
            return lines.next(None if timeout is None else time.monotonic() + timeout + GRACE)
        except OSError:
            return None

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                # Unlinked: what the child prints can be read here, and nothing is left behind.
                self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
                self._process = subprocess.Popen(
                    python("lcdb_builders.run.child", str(os.getpid())),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=child_environment(**SINGLE_THREADED),
                    start_new_session=True,
                )
            return self._process

    def _bury(self) -> tuple[int | None, str]:
        """Return exit code (None if it had to be killed) and last words; leave no child."""
        process = self._process
        assert process is not None
        code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(timeout=1.0)
        self._kill()
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 20_000))
        printed = self._stderr.read().decode(errors="replace").strip()
        self._stderr.close()
        return code, printed

    def _kill(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def stop(self) -> None:
        """End the task that is running, from another thread; it comes back as ``stopped``."""
        self._stopped.set()
        with self._lock:
            if self._process is not None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()

    def close(self) -> None:
        """End the child."""
        self._kill()
        if self._stderr is not None:
            self._stderr.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Lines:
    """Lines from a pipe, with a deadline each."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._received = b""

    def next(self, deadline: float | None) -> bytes | None:
        """Return the next line; None if the pipe ends first, or the time."""
        while b"\n" not in self._received:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._fd], [], [], left)
            received = os.read(self._fd, 65536) if ready else b""
            if not received:
                return None
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        return line


def _ended_itself(code: int, printed: str) -> bool:
    return code == 1 and any(line.startswith("Timeout (") for line in printed.splitlines())


def _timed_out(timeout: float | None, printed: str) -> str:
    """Say where the time went: faulthandler prints every thread, its innermost call first."""
    place = ""
    for thread in printed.split("hread 0x"):
        calls = [line.strip() for line in thread.splitlines() if line.startswith("  File ")]
        if any(call.endswith(" in answer") for call in calls):
            place = f"; it was in {calls[0]}"
    return f"no result within {timeout:g} s{place}"


def _death(code: int, printed: str) -> str:
    if code >= 0:
        last = printed.splitlines()[-1] if printed else "nothing printed"
        return f"it exited with code {code} ({last})"
    hint = " (out of memory?)" if -code == signal.SIGKILL else ""
    return f"it was killed by {signal.Signals(-code).name}{hint}"
