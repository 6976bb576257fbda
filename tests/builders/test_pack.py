"""Packing: one cube, one sequence of bytes, whatever the way to it."""

from __future__ import annotations

import json
import random
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from lcdb_builders.domain.unit import DRAWS, Block
from lcdb_builders.storage import indexes
from lcdb_builders.storage.cube import read_contents, read_values
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.manifest import Manifest
from lcdb_builders.storage.pack import pack

from lcdb.errors import DeterminismError, PlanError
from tests.support.chaos.fork import Forked, outcome
from tests.support.chaos.memory import in_memory
from tests.support.counts import counts
from tests.support.cubes import block_scores, toy_scores, toy_snapshot, toy_units, write_cube


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder


SNAPSHOT = toy_snapshot()  # m = 28
R = 10
HERE = environment()
LENGTHS = Lengths(10, 4)


def compute(root, units, repetitions, order=None, proposal=LENGTHS) -> int:
    """Do what is missing, in an order of choice; return how many cells were computed."""
    journal = Journal(root)
    journal.prepare(units)
    blocks = [b for u in units for b in journal.missing(u, repetitions, proposal)]
    if order is not None:
        random.Random(order).shuffle(blocks)
    for block in blocks:
        assert journal.publish(block, block_scores(block), HERE) == "new"
    return sum(block.cells for block in blocks)


def build(root, units, repetitions=R, order=None, proposal=LENGTHS) -> tuple[str, int]:
    cells = compute(root, units, repetitions, order, proposal)
    packed = pack(root, SNAPSHOT, units, repetitions)
    assert packed.complete
    assert not list(Path(root).rglob("*.block")) and not list(Path(root).rglob(".*"))
    return packed.sha256, cells


def cells(units, repetitions=R) -> int:
    return sum(len(unit.sizes) for unit in units) * repetitions


EVERY = {
    "learners": ("NMC", "MLP"),
    "samplings": ("additive", "bootstrap"),
    "splits": ("fixed", "varying"),
    "tunings": ("default", "tuned"),
}


def test_the_packed_cube_is_the_cube_written_at_once(tmp_path):
    units = toy_units(SNAPSHOT, **EVERY)
    sha256, computed = build(tmp_path, units)
    assert computed == cells(units)
    write_cube(tmp_path / "direct.nc", SNAPSHOT, units, R)
    assert (tmp_path / "direct.nc").read_bytes() == (tmp_path / "cubes" / "toy.nc").read_bytes()
    manifest = Manifest.read(tmp_path, "toy")
    assert manifest.next is None and manifest.current.sha256 == sha256
    assert manifest.current.origin == SNAPSHOT.origin
    assert all(s.computed_on == (HERE,) for s in manifest.current.slices)


@pytest.mark.parametrize("order", range(3))
def test_order_and_length_of_blocks_leave_no_trace(tmp_path, order):
    units = toy_units(SNAPSHOT, tunings=("default", "tuned"))
    draw = random.Random(order)
    lengths = Lengths(draw.randint(1, 28), draw.randint(1, R))
    assert (
        build(tmp_path / "a", units, order=order, proposal=lengths)[0]
        == build(tmp_path / "b", units)[0]
    )


def test_packing_twice_changes_nothing(tmp_path):
    units = toy_units(SNAPSHOT)
    build(tmp_path, units)
    before = stamp(tmp_path / "cubes" / "toy.nc")
    packed = pack(tmp_path, SNAPSHOT, units, R)
    assert not packed.written
    assert stamp(tmp_path / "cubes" / "toy.nc") == before


def stamp(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


GROWTH = {
    "learner": {"learners": ("NMC",)},
    "sampling": {"samplings": ("bootstrap",)},
    "split": {"splits": ("varying",)},
    "tuning": {"tunings": ("default",)},
    "everything": {
        "learners": ("NMC",),
        "samplings": ("additive",),
        "splits": ("varying",),
        "tunings": ("tuned",),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(("way", "fewer"), [*((way, 0) for way in GROWTH), ("everything", 3)])
def test_a_grown_cube_equals_one_built_at_once(tmp_path, way, fewer):
    small = toy_units(SNAPSHOT, **{**EVERY, **GROWTH[way]})
    units = toy_units(SNAPSHOT, **EVERY)
    _, first = build(tmp_path / "grown", small, R - fewer)
    assert first == cells(small, R - fewer)
    sha256, second = build(tmp_path / "grown", units)
    assert first + second == cells(units)  # only what is new was computed
    assert sha256 == build(tmp_path / "once", units)[0]


@pytest.mark.slow
def test_growing_more_than_once_in_repetitions(tmp_path):
    units = toy_units(SNAPSHOT)
    total = 0
    for repetitions in (1, 3, 4, 9, R):
        sha256, computed = build(tmp_path / "grown", units, repetitions)
        total += computed
    assert total == cells(units)
    assert sha256 == build(tmp_path / "once", units)[0]


def test_old_slices_stay_bit_for_bit(tmp_path):
    small, units = toy_units(SNAPSHOT, learners=("NMC",)), toy_units(SNAPSHOT, **EVERY)
    build(tmp_path, small, 6)
    build(tmp_path, units, R)
    with h5py.File(tmp_path / "cubes" / "toy.nc") as file:
        contents = read_contents(file)
        for unit in small:
            expected = toy_scores(unit, unit.sizes, range(6))
            for variable in unit.variables:
                found = read_values(file, contents, unit, variable)[:, :6]
                assert found.tobytes() == expected[variable.name].tobytes()


def test_a_smaller_plan_loses_nothing(tmp_path):
    units = toy_units(SNAPSHOT, **EVERY)
    sha256, _ = build(tmp_path, units)
    assert build(tmp_path, toy_units(SNAPSHOT, learners=("MLP",)), 5) == (sha256, 0)


@pytest.mark.slow
def test_filtered_builds_in_any_order_end_in_one_cube(tmp_path):
    units = toy_units(SNAPSHOT, **EVERY)
    digests = set()
    for order in range(2):
        root = tmp_path / str(order)
        learners = [*EVERY["learners"], DRAWS]
        random.Random(order).shuffle(learners)
        for learner in learners:
            compute(root, [u for u in units if u.learner == learner], R)
            packed = pack(root, SNAPSHOT, units, R)
            built = learners[: learners.index(learner) + 1]
            for kept in packed.slices:
                assert kept.status == ("complete" if kept.unit.learner in built else "not_built")
        digests.add(packed.sha256)
    assert len(digests) == 1


def test_a_partial_unit_is_seen_and_its_blocks_stay(tmp_path):
    units = toy_units(SNAPSHOT, learners=("NMC", "LDC", "QDC"))
    journal = Journal(tmp_path)
    done = compute(tmp_path, [u for u in units if u.learner in (DRAWS, "NMC")], R)
    assert done == 2 * 28 * R
    lame, slow = (u for u in units if u.learner in ("LDC", "QDC"))
    blocks = journal.missing(lame, R, LENGTHS)
    for block in blocks[1:]:
        journal.publish(block, block_scores(block), HERE)
    journal.fail(blocks[0], "failed", "ValueError: no\n luck", HERE)
    journal.fail(journal.missing(slow, R, LENGTHS)[3], "timed_out", "more than 60 s", HERE)
    packed = pack(tmp_path, SNAPSHOT, units, R)
    found = {s.unit: s for s in packed.slices}
    assert found[lame].status == "failed" and "ValueError: no luck" in found[lame].reason
    assert found[slow].status == "timed_out" and found[slow].coverage == ()
    assert not packed.complete
    assert len(list(tmp_path.rglob("*.block"))) == len(blocks) - 1
    assert not pack(tmp_path, SNAPSHOT, units, R).written
    # What has failed is not asked for again, unless one says so.
    assert journal.missing(lame, R) == [] and len(journal.missing(slow, R)) == 8
    assert journal.retry(lame) == 1 and journal.missing(lame, R) == blocks[:1]
    assert pack(tmp_path, SNAPSHOT, units, R).statuses[lame.label] == "partial"
    journal.retry(slow)
    sha256, computed = build(tmp_path, units)
    assert computed == blocks[0].cells + cells([slow])
    assert sha256 == build(tmp_path / "once", units)[0]


def test_blocks_of_a_bigger_plan_survive_packing_a_smaller_one(tmp_path):
    units = toy_units(SNAPSHOT)
    compute(tmp_path, units, R)  # another builder, with more repetitions
    packed = pack(tmp_path, SNAPSHOT, units, 5)
    assert packed.complete
    assert {b.stop for b in Journal(tmp_path).find(units[0])} == {
        8,
        R,
    }
    assert compute(tmp_path, units, R) == 0
    assert pack(tmp_path, SNAPSHOT, units, R).sha256 == build(tmp_path / "once", units)[0]


@pytest.mark.parametrize("packed", [True, False], ids=["in the cube", "in the journal"])
@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"seed": 8}, "master_seed"),
        ({"params": '{"ridge":1.0}'}, "params.ridge"),
        ({"sizes": (1, 5, 20)}, "sizes"),
    ],
)
def test_what_is_built_cannot_be_changed(tmp_path, changes, key, packed):
    units = toy_units(SNAPSHOT)
    compute(tmp_path, units, R)
    if packed:
        pack(tmp_path, SNAPSHOT, units, R)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    other = toy_units(SNAPSHOT, **changes)
    with pytest.raises(PlanError, match=key):
        Journal(tmp_path).prepare(other)
    with pytest.raises(PlanError, match=key):
        pack(tmp_path, SNAPSHOT, other, R)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def test_another_dataset_by_the_same_id_is_refused(tmp_path):
    build(tmp_path, toy_units(SNAPSHOT))
    other = toy_snapshot(seed=1)
    with pytest.raises(PlanError, match="dataset_sha256"):
        pack(tmp_path, other, toy_units(other), R)


def test_a_plan_may_change_its_mind_about_what_was_not_built(tmp_path):
    units = toy_units(SNAPSHOT, learners=("NMC", "LDC"))
    compute(tmp_path, [u for u in units if u.learner != "LDC"], R)
    pack(tmp_path, SNAPSHOT, units, R)
    changed = toy_units(SNAPSHOT, learners=("LDC",), params='{"ridge":1.0}')
    sha256, _ = build(tmp_path, changed)
    draws = [u for u in units if u.learner in ("NMC", DRAWS)]
    both = [*draws, *[u for u in changed if u.learner == "LDC"]]
    assert sha256 == build(tmp_path / "once", both)[0]


def test_cells_computed_twice_with_other_numbers_are_told(tmp_path):
    units = toy_units(SNAPSHOT)
    unit = units[1]
    compute(tmp_path, units, R)
    wrong = Block(unit, unit.sizes[:2], 0, 6)  # lies across the others
    scores = block_scores(wrong)
    scores["brier"] = scores["brier"] + np.float32(0.5)
    Journal(tmp_path).publish(wrong, scores, HERE)
    with pytest.raises(DeterminismError, match="brier"):
        pack(tmp_path, SNAPSHOT, units, R)


def test_a_late_block_is_compared_with_the_cube(tmp_path):
    units = toy_units(SNAPSHOT)
    journal = Journal(tmp_path)
    compute(tmp_path, units, R)
    block = journal.find(units[1])[0]
    pack(tmp_path, SNAPSHOT, units, R)
    assert journal.lease(block) is None
    assert journal.publish(block, block_scores(block), HERE) == "duplicate"
    assert not journal.path(block).exists()
    scores = block_scores(block)
    scores["brier"] = scores["brier"] + np.float32(0.5)
    with pytest.raises(DeterminismError, match="brier"):
        journal.publish(block, scores, HERE)
    # The same if it gets into the journal all the same: published just when the cube was.
    super(Journal, journal).publish(block, scores, HERE)
    with pytest.raises(DeterminismError, match="brier"):
        pack(tmp_path, SNAPSHOT, units, R)
    journal.path(block).unlink()
    super(Journal, journal).publish(block, block_scores(block), HERE)
    assert not pack(tmp_path, SNAPSHOT, units, R).written
    assert not journal.path(block).exists()


# -- a full disk -----------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("state", ["first", "grown"])
def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path, state):
    """A limit on the length of files stands in for a disk that is full at any point of writing."""
    units = toy_units(SNAPSHOT)
    root = tmp_path / "db"
    if state == "grown":
        build(root, toy_units(SNAPSHOT, learners=("NMC",)), 4)
    compute(root, units, R)
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    size = tmp_path / "once"
    expected = build(size, units)[0]
    length = (size / "cubes" / "toy.nc").stat().st_size
    # Where there are checks, and at any point of writing between them.
    for limit in range(0, length, length // counts(12, 400)):
        assert pack_with_limit(root, units, limit) == "StorageError"
        assert before == {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    assert pack(root, SNAPSHOT, units, R).sha256 == expected


def pack_with_limit(root, units, limit) -> str:
    """Return the name of the error with which packing ends where files cannot be longer."""

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        pack(root, SNAPSHOT, units, R)

    return outcome(work)


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.process
def test_memory_does_not_grow_with_the_cube(tmp_path):
    """At N = 4970 and R = 1000 under 500 MB, whatever the number of units."""
    snapshot = toy_snapshot(rows=counts(1500, 4970))
    repetitions = counts(300, 1000)
    units = toy_units(snapshot, learners=("NMC", "LDC", "QDC"), tunings=("default", "tuned"))
    peaks = []
    for some in (units[:3], units):
        in_process(lambda some=some: compute_for(tmp_path, some, repetitions))
        peaks.append(in_process(lambda some=some: pack(tmp_path, snapshot, some, repetitions)))
    assert peaks[1] < 500
    one_unit = len(units[1].sizes) * repetitions * 28 / 1e6
    assert peaks[1] - peaks[0] < max(20.0, one_unit / 2)


def compute_for(root, units, repetitions) -> None:
    journal = Journal(root)
    for unit in units:
        for block in journal.missing(unit, repetitions, Lengths(len(unit.sizes), 250)):
            journal.publish(block, block_scores(block), HERE)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_process(work) -> float:
    """Do work in a process of its own and return by how much its memory grew at most, in MB."""

    def measured() -> float:
        before = _peak()  # a fork begins with what the tests before it left
        work()
        return _peak() - before

    return Forked(measured).result()


def test_packing_what_is_packed_reads_each_index_once(tmp_path, monkeypatch):
    """Packs of a catalogue are linear: each one read the indexes of all cubes, twice."""
    snapshots = [toy_snapshot(rows=12, id=f"toy{i}") for i in range(5)]
    every = [(one, toy_units(one, learners=("NMC",))) for one in snapshots]

    def pack_all():
        for snapshot, units in every:
            compute(tmp_path, units, 2)
            pack(tmp_path, snapshot, units, 2)

    pack_all()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert len(json.loads(before[tmp_path / "index.json"])["cubes"]) == len(every)
    reads: list[Path] = []
    read = indexes.read_index
    monkeypatch.setattr(indexes, "read_index", lambda path: [reads.append(path), read(path)][1])
    monkeypatch.setattr(indexes, "_known", {})  # as in a new process
    pack_all()
    assert len(reads) == len(set(reads)) == len(every) + 1
    assert {path: path.read_bytes() for path in before} == before
    # A cube that is gone is left out by the next pack, whatever it packs.
    (tmp_path / "cubes" / "toy4.nc").unlink()
    pack(tmp_path, *every[0], 2)
    listed = json.loads((tmp_path / "index.json").read_bytes())["cubes"]
    assert [cube["id"] for cube in listed] == ["toy0", "toy1", "toy2", "toy3"]
