"""The journal: what is missing, what is believed, who is at work."""

from __future__ import annotations

import os
import pickle
import random
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block
from lcdb_builders.storage import lease as leases
from lcdb_builders.storage.blockfile import BlockFile
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.layout import Coverage
from lcdb_builders.storage.lease import Lease, locked
from lcdb_builders.storage.records import decode_record, encode_record

from lcdb.errors import DamagedError, DeterminismError, PlanError, SchemaError
from tests.support.chaos import toy
from tests.support.chaos.fork import Forked
from tests.support.cubes import block_scores, toy_snapshot, toy_units

SNAPSHOT = toy_snapshot()
DRAWS_UNIT, UNIT, TUNED = toy_units(SNAPSHOT, learners=("LDC",), tunings=("default", "tuned"))
R = 10
HERE = environment()
ELSEWHERE = {**HERE, "cpu": "another type"}


@pytest.fixture
def journal(tmp_path) -> Journal:
    journal = Journal(tmp_path)
    journal.prepare([DRAWS_UNIT, UNIT, TUNED])
    return journal


# -- layouts ---------------------------------------------------------------------------------------


def as_cells(blocks) -> np.ndarray:
    """Return how often each cell of a unit is in one of the blocks."""
    count = np.zeros((len(UNIT.sizes), R), int)
    for block in blocks:
        for n in block.sizes:
            count[UNIT.sizes.index(n), block.first : block.stop] += 1
    return count


@pytest.mark.parametrize("seed", range(40))
def test_missing_blocks_are_what_is_not_there_once_each(seed):
    draw = random.Random(seed)
    coverage = Coverage(UNIT, R)
    there = np.zeros((len(UNIT.sizes), R), bool)
    for _ in range(draw.randint(0, 4)):
        low, high = sorted(draw.sample(range(len(UNIT.sizes) + 1), 2))
        first, stop = sorted(draw.sample(range(R + 1), 2))
        there[low:high, first:stop] = True
        coverage.add((UNIT.sizes[low], UNIT.sizes[high - 1], first, stop))
    lengths = Lengths(draw.randint(1, 30), draw.randint(1, 12))
    blocks = coverage.missing(lengths)
    assert np.array_equal(as_cells(blocks), ~there)
    assert all(len(block.sizes) <= lengths.sizes for block in blocks)
    assert all(len(block.repetitions) <= lengths.repetitions for block in blocks)
    again = Coverage(UNIT, R, coverage.rectangles())
    assert np.array_equal(again.there, there)
    assert sum(coverage.holds(block) for block in blocks) == 0


def test_block_lengths_are_those_of_the_first_proposal(journal):
    assert journal.missing(UNIT, R, Lengths(5, 3))[0].shape == (5, 3)
    assert journal.missing(UNIT, R, Lengths(28, 10))[0].shape == (5, 3)
    assert Journal(journal.root).lengths(UNIT, Lengths(1, 1)) == Lengths(5, 3)


def test_growing_keeps_to_the_grid(journal):
    lengths = Lengths(28, 4)
    for block in journal.missing(UNIT, 6, lengths):
        journal.publish(block, block_scores(block), HERE)
    assert [b.repetitions for b in journal.missing(UNIT, R)] == [range(6, 8), range(8, 10)]
    assert journal.missing(UNIT, 3) == []


# -- blocks ----------------------------------------------------------------------------------------


def test_scores_come_back_bit_for_bit(journal):
    for unit in (DRAWS_UNIT, UNIT, TUNED):
        for block in journal.missing(unit, R, Lengths(7, 4)):
            scores = block_scores(block)
            assert journal.publish(block, scores, HERE) == "new"
            found = journal.read(block)
            assert {k: (v.dtype, v.tobytes()) for k, v in found.items()} == {
                k: (v.dtype, v.tobytes()) for k, v in scores.items()
            }
        assert journal.missing(unit, R) == []


def test_the_same_again_is_a_duplicate_and_others_a_bug(journal):
    block = journal.missing(UNIT, R)[0]
    scores = block_scores(block)
    assert journal.publish(block, scores, HERE) == "new"
    assert journal.publish(block, scores, ELSEWHERE) == "duplicate"
    nudged = {**scores, "brier": np.nextafter(scores["brier"], np.float32(1))}
    with pytest.raises(DeterminismError, match=r"LDC.*brier was computed twice"):
        journal.publish(block, nudged, HERE)
    # Another type of CPU may differ in the last bits, and in a label here and there, not in more.
    assert journal.publish(block, nudged, ELSEWHERE) == "duplicate"
    one = {**scores, "n_clipped": scores["n_clipped"].copy()}
    one["n_clipped"][0, 0] += 1
    assert journal.publish(block, one, ELSEWHERE) == "duplicate"
    wrong = {**scores, "brier": scores["brier"] + np.float32(0.01)}
    with pytest.raises(DeterminismError):
        journal.publish(block, wrong, ELSEWHERE)
    assert journal.read(block)["brier"].tobytes() == scores["brier"].tobytes()


def test_every_nan_is_stored_with_the_same_bits(journal):
    block = journal.missing(UNIT, R)[0]
    scores = block_scores(block)
    assert np.isnan(scores["auc"]).any()
    other = np.array(0x7FC00001, np.uint32).view(np.float32)
    changed = {**scores, "auc": np.where(np.isnan(scores["auc"]), other, scores["auc"])}
    assert changed["auc"].tobytes() != scores["auc"].tobytes()
    journal.publish(block, changed, HERE)
    assert journal.publish(block, scores, HERE) == "duplicate"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: s.pop("auc"), "auc"),
        (lambda s: s.update(extra=s["auc"]), "extra"),
        (lambda s: s.update(auc=s["auc"].astype(float)), r"auc is float64.*expected float32"),
        (lambda s: s.update(auc=s["auc"][:-1]), r"auc is float32 \(27, 10\).*\(28, 10\)"),
        (lambda s: s["n_clipped"].__setitem__((0, 0), -1), "n_clipped has -1"),
    ],
)
def test_arrays_that_are_not_those_of_the_block_are_refused(journal, change, told):
    block = journal.missing(UNIT, R)[0]
    scores = block_scores(block)
    change(scores)
    with pytest.raises(SchemaError, match=told):
        journal.publish(block, scores, HERE)
    assert journal.find(UNIT) == []


@pytest.mark.parametrize("seed", range(30))
def test_no_flip_or_cut_of_a_block_is_believed(journal, seed):
    draw = random.Random(seed)
    block = journal.missing(UNIT, R, Lengths(5, 5))[3]
    journal.publish(block, block_scores(block), HERE)
    path = journal.path(block)
    data = bytearray(path.read_bytes())
    if draw.random() < 0.5:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    else:
        del data[draw.randrange(len(data)) :]
    path.write_bytes(data)
    with pytest.raises(DamagedError):
        journal.read(block)
    assert block in journal.missing(UNIT, R) and not path.exists()
    assert journal.publish(block, block_scores(block), HERE) == "new"


def test_publishing_over_a_damaged_block_replaces_it(journal):
    block = journal.missing(UNIT, R)[0]
    path = journal.path(block)
    journal.publish(block, block_scores(block), HERE)
    path.write_bytes(path.read_bytes()[:100])
    assert journal.publish(block, block_scores(block), HERE) == "new"
    assert journal.missing(UNIT, R) == []


def test_a_block_under_a_foreign_name_is_not_believed(journal):
    one, other = journal.missing(UNIT, R, Lengths(28, 5))
    journal.publish(one, block_scores(one), HERE)
    journal.path(other).write_bytes(journal.path(one).read_bytes())
    with BlockFile(journal.path(other)) as file:
        assert file.header["block"] == one.key and not file.belongs_to(journal.path(other))
    assert journal.missing(UNIT, R) == [other]
    strange = [journal.folder(UNIT) / name for name in ("x.block", "n00001-00002.r0-1.block")]
    for path in strange:
        path.write_bytes(b"?")
    assert journal.missing(UNIT, R) == [other] and all(path.exists() for path in strange)


def test_what_was_verified_is_not_read_again_but_what_changed_is(journal, monkeypatch):
    block = journal.missing(UNIT, R)[0]
    journal.publish(block, block_scores(block), HERE)
    assert journal.missing(UNIT, R) == []
    copy = pickle.loads(pickle.dumps(journal))
    assert copy.root == journal.root and copy.missing(UNIT, R) == []
    path = journal.path(block)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert journal.missing(UNIT, R) == [block]


def test_nothing_in_the_journal_is_unpickled(journal, monkeypatch):
    block = journal.missing(UNIT, R)[0]
    journal.publish(block, block_scores(block), HERE)

    def refuse(*args, **kwargs):
        raise AssertionError

    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    assert journal.missing(UNIT, R) == [] and journal.read(block)


def test_a_dataset_cannot_name_a_file_elsewhere(tmp_path):
    snapshot = toy_snapshot(id="../outside")
    (unit, *_) = toy_units(snapshot)
    journal = Journal(tmp_path / "db")
    with pytest.raises(PlanError, match="cannot name a file"):
        journal.publish(Block(unit, unit.sizes, 0, 1), {}, HERE)
    with pytest.raises(PlanError, match="cannot name a file"):
        journal.prepare([unit])
    assert not any("outside" in p.name for p in tmp_path.rglob("*"))


# -- failures --------------------------------------------------------------------------------------


def test_failures_are_kept_until_they_are_retried_or_made_good(journal):
    first, second = journal.missing(UNIT, R, Lengths(28, 5))
    journal.fail(first, "failed", "ValueError: a\n  b", HERE)
    journal.fail(second, "timed_out", "more than 5 s", HERE)
    found = {f.block: (f.status, f.reason) for f in journal.failures(UNIT)}
    assert found == {first: ("failed", "ValueError: a b"), second: ("timed_out", "more than 5 s")}
    assert journal.missing(UNIT, R) == []
    journal.publish(first, block_scores(first), HERE)
    assert [f.block for f in journal.failures(UNIT)] == [second]
    path = journal.path(second, ".failed.json")
    path.write_bytes(path.read_bytes().replace(b"5 s", b"6 s"))
    assert journal.missing(UNIT, R) == [second] and not path.exists()


def test_records_notice_every_change_of_a_byte():
    data = encode_record({"a": [1, 2.5, None], "b": {"c": "text"}})
    assert decode_record(data, "here") == {"a": [1, 2.5, None], "b": {"c": "text"}}
    for i in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[i] ^= 1 << bit
            with pytest.raises(DamagedError):
                decode_record(bytes(changed), "here")
        with pytest.raises(DamagedError):
            decode_record(data[:i], "here")


# -- leases ----------------------------------------------------------------------------------------


def test_one_lease_at_a_time_and_none_on_what_is_there(journal):
    block = journal.missing(UNIT, R)[0]
    lease = journal.lease(block)
    assert lease is not None and Journal(journal.root).lease(block) is None
    lease.release()
    with journal.lease(block):
        journal.publish(block, block_scores(block), HERE)
    assert journal.lease(block) is None


def test_a_stale_lease_is_taken_over_and_its_owner_can_tell(tmp_path):
    path = tmp_path / "a.lease"
    old = Lease.take(path)
    assert old is not None and Lease.take(path, stale=60.0) is None
    os.utime(path, (0, 0))
    new = Lease.take(path, stale=60.0)
    assert new is not None and new.mine() and not old.mine()
    os.utime(path, (0, 0))
    old.beat()  # does not keep the other's alive
    assert path.stat().st_mtime == 0
    new.beat()
    assert path.stat().st_mtime > 0
    old.release()
    assert path.exists()
    new.release()
    assert not path.exists()


@pytest.mark.process
def test_the_lease_of_a_dead_process_is_taken_at_once(tmp_path):
    path = tmp_path / "a.lease"
    assert Forked(lambda: Lease.take(path) and None).wait() == 0
    assert path.exists() and Lease.take(path) is not None


def test_hearts_beat(tmp_path, monkeypatch):
    path = tmp_path / "a.lease"
    beaten = threading.Event()
    monkeypatch.setattr(leases.disk, "touch", lambda path: beaten.set() or True)
    monkeypatch.setattr(leases, "STALE", 0.05)
    monkeypatch.setattr(leases, "_heart", leases._Heart())
    with Lease.take(path):
        assert beaten.wait(20)


@pytest.mark.parametrize("hours", [-26, -2, 2, 26])
def test_clocks_of_machines_may_differ_by_hours(tmp_path, monkeypatch, hours):
    """A lease of another machine is taken only if nothing changes while it is watched."""
    path = tmp_path / "a.lease"
    seconds = [0.0]
    monkeypatch.setattr(leases, "clock", lambda: seconds[0])
    path.write_bytes(b"0123abcd-77-88 their token\n")
    theirs = time.time() + 3600 * hours
    for beat in range(6):  # by their own clock, every 75 s
        os.utime(path, (theirs + 75 * beat, theirs + 75 * beat))
        assert Lease.take(path) is None
        seconds[0] += 75.0
    seconds[0] += 200.0
    assert Lease.take(path) is None  # 275 s without a beat
    seconds[0] += 50.0
    lease = Lease.take(path)
    assert lease is not None and lease.mine()
    lease.release()


def test_work_of_a_dead_host_is_taken_over_after_five_minutes(tmp_path, monkeypatch):
    """A builder of another machine had blocks, and the lock on the cube, when it lost its power."""
    toy.build(tmp_path / "undisturbed")
    root = tmp_path / "db"
    journal = Journal(root)
    journal.prepare(toy.UNITS)
    theirs = journal.missing(toy.UNITS[1], toy.REPETITIONS, toy.LENGTHS)
    for path in [*(journal.lease(block).path for block in theirs), root / "blocks" / "toy.lock"]:
        path.write_bytes(b"0123abcd-77-88 their token\n")
    seconds, published = [0.0], {}
    publish = Journal.publish

    def noted(self, block, *arguments):
        published[block.key] = seconds[0]
        return publish(self, block, *arguments)

    def sleep(length):
        if threading.current_thread() is not threading.main_thread():
            time.sleep(length)  # the heart's
        elif length:
            seconds[0] += 10.0

    slept = SimpleNamespace(sleep=sleep)
    monkeypatch.setattr(toy, "time", slept)
    monkeypatch.setattr(leases, "time", slept)
    monkeypatch.setattr(leases, "clock", lambda: seconds[0])
    monkeypatch.setattr(Journal, "publish", noted)
    toy.build(root)
    keys = {block.key for block in theirs}
    assert {published[key] > 300.0 for key in keys} == {True}
    assert {when for key, when in published.items() if key not in keys} == {0.0}
    assert 600.0 < seconds[0] < 700.0  # the lock is watched from when it is wanted
    assert (root / "cubes" / "toy.nc").read_bytes() == (
        tmp_path / "undisturbed" / "cubes" / "toy.nc"
    ).read_bytes()
    assert not [path for path in root.rglob("*") if path.suffix in (".lease", ".lock", ".tmp")]


def test_a_clock_that_is_set_takes_nobodys_lease_over(tmp_path, monkeypatch):
    path = tmp_path / "a.lease"
    assert Lease.take(path) is not None
    now = leases.time.time
    monkeypatch.setattr(leases.time, "time", lambda: now() + 3600)
    assert Lease.take(path, stale=60.0) is None


def test_whoever_holds_the_lock_clears_the_others_files(tmp_path):
    from lcdb_builders.storage import disk

    with locked(tmp_path, "61") as first:
        mine = disk.Temporary(tmp_path / "cubes" / "61.nc")
        other = disk.Temporary(tmp_path / "cubes" / "610.nc")
        os.utime(first.path, (0, 0))
        with locked(tmp_path, "61") as second:
            assert second.mine() and not first.mine()
            assert not mine.path.exists() and other.path.exists()
            assert not mine.replace()
