"""A folder for tests that write files by the hundred and have no power to lose."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["in_memory"]


@contextmanager
def in_memory() -> Iterator[Path]:
    """Yield a folder that is in memory where there is such a file system."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
