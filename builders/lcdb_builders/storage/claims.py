"""Claims: what the builders that are at work will build, before there is any number of it.

Two builders whose plans cannot stand in one cube would otherwise find out only when they pack. A
claim is a lease with units in it, taken under the dataset's lock: the first builder has the
directory, the second is refused. It ends with its builder; from then on numbers alone count.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lcdb.errors import DamagedError
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.storage import disk
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.growth import contradiction
from lcdb_builders.storage.lease import STALE, Lease, abandoned
from lcdb_builders.storage.naming import describe, described
from lcdb_builders.storage.process import is_dead
from lcdb_builders.storage.records import decode_record, encode_record

__all__ = ["Claim", "claimed", "clear_claims", "wait_for_claims"]

_NAME = re.compile(r"(.+)\.[0-9a-f]{12}\.claim")


class Claim:
    """What one builder will build of one dataset.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    units
        All that the plan has for the dataset.
    sources
        Digests of what computes them, where they have one; see `lcdb_builders.run.sources`.
    """

    def __init__(self, root: Path, dataset: str, units: Sequence[AnyUnit], sources: Any) -> None:
        name = f"{dataset}.{uuid.uuid4().hex[:12]}.claim"
        entries = [{"unit": describe(unit), "source": sources.get(unit, "")} for unit in units]
        content = encode_record({"host": environment()["host"], "units": entries})
        lease = Lease.take(disk.under(root, "blocks", name), content=content)
        assert lease is not None  # the name is nobody else's
        self.lease = lease
        self.dataset = dataset
        self.units = tuple(units)

    @property
    def path(self) -> Path:
        """The file of the claim."""
        return self.lease.path


def _paths(root: Path, dataset: str) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        for path in sorted((root / "blocks").iterdir()):
            match = _NAME.fullmatch(path.name)
            if match is not None and match[1] == dataset:
                yield path


def _read(path: Path) -> tuple[str, dict[AnyUnit, str]]:
    """Return where a claim was made, and its units with the digests of their sources."""
    data = path.read_bytes().partition(b"\n")[2]
    record = decode_record(data, path)
    return record["host"], {described(e["unit"]): e["source"] for e in record["units"]}


def claimed(
    root: Path, dataset: str, own: Iterable[Path] = ()
) -> Iterator[tuple[Path, str, dict[AnyUnit, str]]]:
    """Yield path, host and units of the claims of others that are not known to be dead.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    own
        Claims of whoever asks.
    """
    for path in _paths(root, dataset):
        if path in own or abandoned(path):
            continue
        with suppress(FileNotFoundError, DamagedError):
            yield path, *_read(path)


def clear_claims(root: Path, dataset: str) -> None:
    """Remove the claims of the dead; for the holder of the dataset's lock."""
    for path in _paths(root, dataset):
        if abandoned(path):
            disk.unlink(path)


def wait_for_claims(root: Path, dataset: str, units: Sequence[AnyUnit]) -> None:
    """Watch claims of other machines that are in the way and look dead, until that is sure.

    Clocks differ, so a claim without a heartbeat for long may be that of a live builder whose
    machine is behind. Watching it tells.
    """
    for path, _, others in claimed(root, dataset):
        if contradiction(units, others) is None:
            continue
        with suppress(FileNotFoundError):
            owner = path.read_bytes().split(b" ")[0].decode(errors="replace")
            beaten = path.stat().st_mtime_ns
            if is_dead(owner) is not None or time.time() - beaten / 1e9 < STALE:
                continue
            while path.stat().st_mtime_ns == beaten and not abandoned(path):
                time.sleep(0.5)
