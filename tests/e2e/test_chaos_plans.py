"""Three builders with different plans on one directory, killed, and stopped beyond their leases."""

from __future__ import annotations

import mmap
import os
import random
import signal
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from lcdb_builders.domain.unit import Unit
from lcdb_builders.storage import lease as leases
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Claims, Journal
from lcdb_builders.storage.manifest import believed
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.repair import verify

from tests.support.chaos.fork import Forked
from tests.support.chaos.memory import in_memory
from tests.support.chaos.toy import LEARNERS, LENGTHS, REPETITIONS, SNAPSHOT, UNITS, of
from tests.support.counts import counts
from tests.support.cubes import block_scores

pytestmark = pytest.mark.process

KILLS, STOPS = counts(8, 1000), counts(4, 200)
PER_DIRECTORY = 18
#: By how many seconds the clock of all builders is ahead while one of them is stopped.
AHEAD = mmap.mmap(-1, 8)


def clock() -> float:
    return time.monotonic() + struct.unpack("d", AHEAD[:8])[0]


def build(root: Path, units: Sequence[Unit], pack_every: int = 1000) -> None:
    """Build a plan of its own, as a builder does: claim, compute, pack now and then."""
    journal, done = Journal(root), 0
    with journal.claim(units) as claims:
        while blocks := [b for u in units for b in journal.missing(u, REPETITIONS, LENGTHS)]:
            claims.check()
            idle = True
            for block in journal.scattered(blocks):
                lease = journal.lease(block)
                if lease is None:
                    continue
                with lease:
                    journal.publish(block, block_scores(block), environment())
                idle, done = False, done + 1
                if done % pack_every == 0:
                    pack(root, SNAPSHOT, units, REPETITIONS)
            if idle:
                time.sleep(0.01)
        pack(root, SNAPSHOT, units, REPETITIONS)


@pytest.fixture(scope="module")
def undisturbed() -> str:
    with in_memory() as root:
        build(root, UNITS)
        return believed(root, SNAPSHOT.id).sha256


def stop(builder: Forked, draw: random.Random) -> None:
    """Stop a builder; for the others more time goes by than a lease is good for."""
    os.kill(builder.pid, signal.SIGSTOP)
    AHEAD[:8] = struct.pack("d", leases.STALE * (1.0 + draw.expovariate(0.3)))
    time.sleep(draw.expovariate(1 / 0.03))
    AHEAD[:8] = struct.pack("d", 0.0)
    os.kill(builder.pid, signal.SIGCONT)


def disturb(root: Path, draw: random.Random, events: list[str]) -> list[str]:
    """Start a builder for each learner and disturb them; return what was done of the events."""
    plans = [of([learner]) for learner in LEARNERS]

    def launch(i: int) -> Forked:
        every = draw.randint(3, 20)
        return Forked(lambda: build(root, plans[i], every))

    running = [launch(i) for i in range(len(plans))]
    done = []
    for event in events:
        time.sleep(draw.expovariate(1 / 0.05))
        alive = [i for i, builder in enumerate(running) if builder.poll() is None]
        if not alive:
            break
        i = draw.choice(alive)
        if event == "stop":
            stop(running[i], draw)
        else:
            running[i].kill()
            running[i] = launch(i)
        done.append(event)
    codes = [builder.wait(300) for builder in running]
    assert codes == [0] * len(codes), f"builders ended with {codes}"
    return done


def test_kills_and_stops_lose_nothing_and_leave_nothing(undisturbed, monkeypatch):
    monkeypatch.setattr(leases, "clock", clock)
    monkeypatch.setattr(leases, "_offsets", {})
    monkeypatch.setattr(Claims, "LOOK", 0.05)
    draw = random.Random(12)
    left = ["kill"] * KILLS + ["stop"] * STOPS
    draw.shuffle(left)
    directories = 0
    while left:
        with in_memory() as root:
            done = disturb(root, draw, left[:PER_DIRECTORY])
            for event in done:
                left.remove(event)
            # What the last one packed may be of before another's last block: packing is enough.
            packed = pack(root, SNAPSHOT, UNITS, REPETITIONS)
            assert packed.complete and packed.sha256 == undisturbed
            assert {s.unit for s in packed.slices} == set(UNITS)
            build(root, UNITS)
            assert believed(root, SNAPSHOT.id, fresh=True).sha256 == undisturbed
            assert verify(root).intact
            names = {path.name for path in root.rglob("*") if path.is_file()}
            assert names == {
                *("index.json", "layout.json", "toy.json", "toy.nc", "toy.nc.index.json")
            }
            directories += 1
            print(f"{directories} directories, {len(left)} events left", flush=True)
    assert directories >= 1


def test_builders_that_take_each_other_for_dead_all_end(undisturbed, monkeypatch):
    """Nobody's heart is believed: each takes any lock that it sees, and the others lose theirs."""
    monkeypatch.setattr(leases, "abandoned", lambda path, stale=None: True)
    plans = [of([learner]) for learner in LEARNERS]
    with in_memory() as root:
        builders = [Forked(lambda i=i: build(root, plans[i])) for i in range(len(plans))]
        assert [builder.wait(300) for builder in builders] == [0] * len(builders)
        packed = pack(root, SNAPSHOT, UNITS, REPETITIONS)
        assert packed.complete and packed.sha256 == undisturbed and verify(root).intact
