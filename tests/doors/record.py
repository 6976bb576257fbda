"""What was tried: kept by each process, written into one folder, merged by whoever judges."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

#: The folder, in the environment of every process that takes part.
FOLDER = "LCDB_DOORS"

_tried: set[str] = set()


def tried(door: str) -> None:
    """Note that a door was tried."""
    _tried.add(door)


def write() -> None:
    """Write what this process has tried."""
    folder = os.environ.get(FOLDER)
    if folder and _tried and Path(folder).is_dir():
        name = Path(folder) / f"{uuid.uuid4().hex}.json"
        name.write_text(json.dumps(sorted(_tried)), encoding="utf-8")


def merged() -> set[str]:
    """Return what all processes have tried."""
    files = Path(os.environ[FOLDER]).glob("*.json")
    return {door for file in files for door in json.loads(file.read_text("utf-8"))}
