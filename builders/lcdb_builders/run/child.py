"""The process that computes: reads tasks from its input, a line of JSON each, and answers."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Any

from lcdb.errors import (
    DamagedError,
    DeterminismError,
    ImportRefusedError,
    LCDBError,
    NotFoundError,
    StaleError,
    StorageError,
)
from lcdb_builders.compiling.folders import CacheRefusedError
from lcdb_builders.run.tasks import PREPARE, TASKS

__all__ = ["answer", "main"]

PR_SET_PDEATHSIG = 1
# What no other block would escape either: the build ends, and the block has not failed.
SURROUNDINGS = (
    StorageError,
    DeterminismError,
    ImportRefusedError,
    NotFoundError,
    DamagedError,
    StaleError,
)
# A disk that is full is nobody's fault, wherever it shows: in a folder of compiled code, say.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, even if the GIL is held."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Do a task; return its result, or why there is none, as an `Outcome` has it."""
    try:
        return {"status": "complete", "result": TASKS[request["task"]](**request["arguments"])}
    except SURROUNDINGS as error:
        return {"status": "error", "error": type(error).__name__, "reason": _line(error)}
    except CacheRefusedError as error:
        return {"status": "error", "error": "StorageError", "reason": _line(error)}
    except LCDBError as error:
        return {"status": "failed", "reason": _line(error)}
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            reason = f"{_line(error)}; free some space and run the same command again"
            return {"status": "error", "error": "StorageError", "reason": reason}
        reason = f"{type(error).__name__}: {_line(error)}"
        return {"status": "failed", "reason": reason, "details": traceback.format_exc()}


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _watch_input(lines: list[str], arrived: threading.Condition) -> None:
    """Hand over what comes in; the end of it means that nobody waits for an answer any more."""
    for line in sys.stdin:
        with arrived:
            lines.append(line)
            arrived.notify()
    os._exit(0)


def main(parent: int) -> None:
    """Do tasks until the input ends."""
    _die_with(parent)
    # Answers go where the parent reads; what an estimator prints must not.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    lines: list[str] = []
    arrived = threading.Condition()
    threading.Thread(target=_watch_input, args=(lines, arrived), daemon=True).start()
    while True:
        with arrived:
            while not lines:
                arrived.wait()
            request = json.loads(lines.pop(0))
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)
        # What is imported or compiled for the first time is not the task's fault.
        if request["task"] in PREPARE:
            with contextlib.suppress(Exception):  # the task will meet it again
                PREPARE[request["task"]](**request["arguments"])
        answers.write("{}\n")
        answers.flush()
        if request["timeout"] is not None:
            # A thread in C: it needs no GIL, says where the task hangs, and ends the process.
            faulthandler.dump_traceback_later(request["timeout"], exit=True)
        reply = answer(request)
        faulthandler.cancel_dump_traceback_later()
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
