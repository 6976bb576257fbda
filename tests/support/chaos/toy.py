"""A builder that computes toy scores: the loop of any builder, small enough to be killed often."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path

from lcdb_builders.domain.unit import DRAWS, Unit
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.pack import pack

from tests.support.chaos.fork import Forked
from tests.support.cubes import block_scores, toy_snapshot, toy_units

__all__ = [
    "LEARNERS",
    "LENGTHS",
    "REPETITIONS",
    "SNAPSHOT",
    "UNITS",
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


def start(root: Path, learners: Sequence[str], draw: random.Random) -> Forked:
    """Start a toy builder that packs now and then."""
    every = draw.randint(5, 40)
    return Forked(lambda: build(root, of(learners), seconds=0.004, pack_every=every))
