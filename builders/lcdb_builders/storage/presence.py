"""Builders at work, for people: each says in a file of its own where it is and how far.

No number depends on it, and nothing waits for it: a builder that cannot write it goes on.
"""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from lcdb.errors import DamagedError, StorageError
from lcdb_builders.storage import disk
from lcdb_builders.storage.environment import environment, user
from lcdb_builders.storage.process import is_dead, this_process
from lcdb_builders.storage.records import decode_record, encode_record

__all__ = ["Presence", "Sign", "present"]

SUFFIX = ".builder"
# Seconds between signs of life, and without one after which a builder is not shown any more.
INTERVAL, SILENCE = 10.0, 600.0


@dataclass(frozen=True)
class Sign:
    """What a builder said last.

    Parameters
    ----------
    host, user
        Where, and who runs it.
    place
        Its workers, in words.
    repetitions
        R of its plan.
    computed, wanted
        Cells that it has computed, and that there were to compute when it began.
    seconds
        How long it had been computing.
    age
        Seconds since.
    """

    host: str
    user: str
    place: str
    repetitions: int
    computed: int
    wanted: int
    seconds: float
    age: float = 0.0

    @property
    def rate(self) -> float:
        """Cells per second, since it began."""
        return self.computed / max(self.seconds, 1e-9)


class Presence:
    """The file of this process.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> disk.make_folder(root / "blocks")
    >>> presence = Presence(root, repetitions=5)
    >>> presence.begin("2 workers", cells=100)
    >>> [(sign.place, sign.wanted) for sign in present(root)]
    [('2 workers', 100)]
    >>> presence.end(), present(root)
    (None, [])
    """

    def __init__(self, root: Path, repetitions: int) -> None:
        self.path = disk.under(root, "blocks", f"{uuid.uuid4().hex[:12]}{SUFFIX}")
        self.repetitions = repetitions
        self._place, self._wanted, self._computed = "", 0, 0
        self._began = self._written = 0.0

    def begin(self, place: str, cells: int) -> None:
        """Say that so many cells are going to be computed, and where; forget who is gone."""
        for path in _paths(self.path.parent):
            if _is_gone(path):
                disk.unlink(path)
        self._place, self._wanted = place, cells
        self._began = time.monotonic()
        self._write()

    def advance(self, cells: int) -> None:
        """Count cells that were computed."""
        self._computed += cells

    def beat(self) -> None:
        """Say how far this is, if that was long enough ago."""
        if self._began and time.monotonic() - self._written > INTERVAL:
            self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        sign = Sign(
            host=environment()["host"],
            user=user(),
            place=self._place,
            repetitions=self.repetitions,
            computed=self._computed,
            wanted=self._wanted,
            seconds=round(self._written - self._began, 3),
        )
        data = f"{this_process()} \n".encode() + encode_record(asdict(sign))
        with suppress(StorageError):
            disk.replace(self.path, data)

    def end(self) -> None:
        """Say nothing any more."""
        with suppress(StorageError):
            disk.unlink(self.path)


def _paths(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"[!.]*{SUFFIX}"))


def present(root: Path) -> list[Sign]:
    """Return what builders that are not known to be gone said last."""
    signs = []
    for path in _paths(root / "blocks"):
        with suppress(OSError, DamagedError, TypeError):
            if not _is_gone(path):
                content = decode_record(path.read_bytes().partition(b"\n")[2], path)
                signs.append(Sign(**{**content, "age": round(_age(path), 1)}))
    return signs


def _is_gone(path: Path) -> bool:
    """Return whether the builder of a file is dead, or silent for long."""
    try:
        owner = path.read_bytes().split(b" ")[0].decode(errors="replace")
        return is_dead(owner) is True or _age(path) > SILENCE
    except OSError:  # it has ended at this moment
        return True


def _age(path: Path) -> float:
    return max(0.0, time.time() - path.stat().st_mtime)
