"""Builders side by side on one directory, killed at any moment, end in the same cube."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from lcdb_builders.domain.unit import DRAWS
from lcdb_builders.storage import disk, lease
from lcdb_builders.storage.lease import locked
from lcdb_builders.storage.manifest import believed
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.repair import verify

from tests.support.chaos.fork import Forked
from tests.support.chaos.kills import kill_and_restart
from tests.support.chaos.toy import LEARNERS, REPETITIONS, SNAPSHOT, UNITS, build, compute, start
from tests.support.counts import counts

pytestmark = pytest.mark.process

KILLS = counts(8, 200)
KILLS_PER_BUILD = counts(4, 8)  # there are builds of both kinds


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> str:
    root = tmp_path_factory.mktemp("undisturbed")
    build(root)
    return believed(root, SNAPSHOT.id).sha256


def assert_whole(root: Path, sha256: str) -> None:
    """The cube is the undisturbed one, and nothing is left that somebody would have to remove."""
    assert believed(root, SNAPSHOT.id, fresh=True).sha256 == sha256
    assert verify(root).intact
    # The next build, if there is one, has nothing to do but to sweep.
    assert build(root) == {"new": 0, "duplicate": 0}
    left = [p.name for p in root.rglob("*") if p.is_file()]
    assert sorted(set(left)) == [
        "index.json",
        "layout.json",
        "toy.json",
        "toy.nc",
        "toy.nc.index.json",
    ]


def test_killed_builders_end_in_the_undisturbed_cube(tmp_path, undisturbed):
    draw = random.Random(20)
    done = builds = 0
    while done < KILLS:
        root = tmp_path / str(builds)
        # Every other time all three build everything; else each has learners of its own.
        filters = [LEARNERS] * 3 if builds % 2 else [[learner] for learner in LEARNERS]
        launch = [lambda root=root, mine=mine: start(root, mine, draw) for mine in filters]
        kills = min(KILLS_PER_BUILD, KILLS - done)
        done += kill_and_restart(launch, kills, seconds=0.1, draw=draw)
        assert pack(root, SNAPSHOT, UNITS, REPETITIONS).complete
        assert_whole(root, undisturbed)
        builds += 1
    assert builds >= 2


def test_undisturbed_builders_share_the_work(tmp_path, undisturbed):
    builders = [Forked(lambda: build(tmp_path, seconds=0.01)) for _ in range(3)]
    results = [builder.result() for builder in builders]
    new, twice = (sum(r[key] for r in results) for key in ("new", "duplicate"))
    assert twice <= 0.05 * new
    assert all(r["new"] > 0 for r in results)
    assert_whole(tmp_path, undisturbed)


@pytest.mark.parametrize("what", ["create", "fsync", "rename"])
@pytest.mark.parametrize("which", range(3))
def test_a_builder_that_slept_through_its_lease_overwrites_nothing(
    tmp_path, undisturbed, monkeypatch, what, which
):
    """It wakes up, finds its file gone, and packs again: on top of what others have published."""
    compute(tmp_path, [unit for unit in UNITS if unit.learner == DRAWS])
    seen = []

    def sleep(when: str, change: str, path: Path) -> None:
        ours = path.name.startswith((".toy.nc", ".toy.json"))
        if ours and (when, change) == ("before", what):
            seen.append(path)
            if len(seen) == which + 1:
                # Meanwhile another builder takes the lock over, builds everything and packs it.
                monkeypatch.setattr(lease, "STALE", -1.0)
                other = Forked(lambda: build(tmp_path))
                assert other.result()["new"] > 0
                monkeypatch.setattr(lease, "STALE", 300.0)
                assert believed(tmp_path, SNAPSHOT.id, fresh=True).sha256 == undisturbed

    monkeypatch.setattr(disk, "hook", sleep)
    packed = pack(tmp_path, SNAPSHOT, UNITS, REPETITIONS)
    monkeypatch.setattr(disk, "hook", None)
    assert len(seen) > which
    assert packed.sha256 == undisturbed and packed.complete
    assert_whole(tmp_path, undisturbed)


def test_waiting_for_the_lock_of_a_live_builder(tmp_path):
    with locked(tmp_path, SNAPSHOT.id):
        waiting = Forked(lambda: build(tmp_path))
        time.sleep(0.3)
        assert waiting.poll() is None and not list((tmp_path / "cubes").iterdir())
    assert waiting.result()["duplicate"] == 0
