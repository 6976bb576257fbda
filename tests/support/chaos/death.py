"""A process that dies at a chosen change to the file system."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lcdb_builders.storage import disk

from tests.support.chaos.fork import Forked

__all__ = ["DIED", "changes", "run_until"]

DIED = 91


def changes(work: Callable[[], object]) -> list[tuple[str, str, Path]]:
    """Run work in this process and return the changes to the file system that it makes."""
    seen: list[tuple[str, str, Path]] = []

    def note(when: str, what: str, path: Path) -> None:
        seen.append((when, what, path))

    disk.hook = note
    try:
        work()
    finally:
        disk.hook = None
    return seen


def run_until(work: Callable[[], object], step: int) -> int:
    """Run work in a process that dies at the given change, with no chance to clean up.

    Returns
    -------
    int
        `DIED`, 0 if it came to its end before, 1 if it raised.
    """

    def mortal() -> None:
        left = step

        def die(when: str, what: str, path: Path) -> None:
            nonlocal left
            if left == 0:
                os._exit(DIED)
            left -= 1

        disk.hook = die
        work()

    return Forked(mortal).wait()
