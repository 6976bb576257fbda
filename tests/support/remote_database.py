"""A database with indexes for tests that read it from a host: curves and an experiment."""

from __future__ import annotations

import shutil
from pathlib import Path

from lcdb_builders.storage.indexes import index_database

__all__ = ["SHIPPED", "make_database"]

SHIPPED = Path(__file__).parents[2] / "data"


def make_database(root: Path) -> Path:
    """Return a new directory with what a build would have put there."""
    for source in ("tutorial", "experiments"):
        for folder in ("cubes", "manifest"):
            for file in (SHIPPED / source / folder).iterdir():
                target = root / folder / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    index_database(root)
    return root
