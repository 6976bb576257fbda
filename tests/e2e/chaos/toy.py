"""A builder that computes toy scores: the loop of any builder, small enough to be killed often."""

from __future__ import annotations

import json
import os
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from cubes import block_scores, toy_snapshot, toy_units
from lcdb_builders import disk
from lcdb_builders.environment import environment
from lcdb_builders.journal import Journal, Lengths
from lcdb_builders.pack import pack
from lcdb_builders.unit import DRAWS, Unit

__all__ = [
    "LEARNERS",
    "LENGTHS",
    "REPETITIONS",
    "SNAPSHOT",
    "UNITS",
    "Forked",
    "build",
    "compute",
    "start",
]

SNAPSHOT = toy_snapshot()
LEARNERS = ("NMC", "LDC", "QDC")
UNITS = toy_units(SNAPSHOT, learners=LEARNERS, samplings=("additive", "random"))
REPETITIONS = 10
LENGTHS = Lengths(10, 4)


def compute(root: Path, units: Sequence[Unit] = UNITS, proposal: Lengths = LENGTHS) -> int:
    """Publish what is missing of some units and return the number of cells."""
    journal = Journal(root)
    journal.prepare(units)
    blocks = [b for u in units for b in journal.missing(u, REPETITIONS, proposal)]
    for block in blocks:
        journal.publish(block, block_scores(block), environment())
    return sum(block.cells for block in blocks)


def build(
    root: Path,
    units: Sequence[Unit] = UNITS,
    *,
    seconds: float = 0.0,
    pack_every: int = 1000,
) -> dict[str, int]:
    """Build units, with the cube of all, and return how many blocks were published and how.

    Parameters
    ----------
    root
        The database directory.
    units
        What this builder builds.
    seconds
        How long a block takes.
    pack_every
        Number of blocks after which the builder packs what there is.
    """
    journal = Journal(root)
    journal.prepare(UNITS)
    counts = {"new": 0, "duplicate": 0}
    while blocks := [b for u in units for b in journal.missing(u, REPETITIONS, LENGTHS)]:
        idle = True
        for block in journal.scattered(blocks):
            lease = journal.lease(block)
            if lease is None:
                continue
            with lease:
                time.sleep(seconds)
                counts[journal.publish(block, block_scores(block), environment())] += 1
            idle = False
            if sum(counts.values()) % pack_every == 0:
                pack(root, SNAPSHOT, UNITS, REPETITIONS)
        if idle:
            time.sleep(0.02)
    pack(root, SNAPSHOT, UNITS, REPETITIONS)
    return counts


def of(learners: Sequence[str]) -> list[Unit]:
    """Return the units of some learners, those of the draws included."""
    return [unit for unit in UNITS if unit.learner in (*learners, DRAWS)]


class Forked:
    """A function at work in a process of its own, which starts at once: it imports nothing anew."""

    def __init__(self, work: Callable[[], object]) -> None:
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of leases hold no lock
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
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writer)
        self._reader = reader
        self.code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def kill(self) -> None:
        """End it with SIGKILL, as a machine that runs out of memory does."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)

    def result(self) -> dict[str, int]:
        """Wait for the end and return what the work returned."""
        while self.poll() is None:
            time.sleep(0.01)
        with os.fdopen(self._reader, "rb") as pipe:
            text = pipe.read()
        assert self.code == 0, f"a builder ended with {self.code}"
        return json.loads(text)


def start(root: Path, learners: Sequence[str], draw: random.Random) -> Forked:
    """Start a toy builder that packs now and then."""
    every = draw.randint(5, 40)
    return Forked(lambda: build(root, of(learners), seconds=0.004, pack_every=every))
