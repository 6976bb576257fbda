"""What is submitted to dask workers: hand a task to the child process of the thread it came to."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from lcdb_builders.run.supervise import Child

__all__ = ["stop_work", "work"]

_children: dict[int, Child] = {}
_lock = threading.Lock()


def work(task: str, arguments: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
    """Have a task done in a child process; only what became of it travels back."""
    thread = threading.get_ident()
    with _lock:
        child = _children.setdefault(thread, Child())
    outcome = child.run(task, arguments, timeout)
    if task == "compile":  # what compiles takes hundreds of megabytes, and gives none back
        child.close()
    return outcome.as_json()


def stop_work() -> None:
    """End whatever this worker's children do, since the build that asked for it ends."""
    with _lock:
        children = list(_children.values())
        _children.clear()
    for child in children:
        child.stop()
