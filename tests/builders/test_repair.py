"""Salvaging a damaged cube: what crashes, what hangs, and what is not damage at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from lcdb_builders.storage import disk
from lcdb_builders.storage import lease as leases
from lcdb_builders.storage import manifest as manifests
from lcdb_builders.storage import salvage as salvaging
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import Manifest, believed, cube_path, manifest_path
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.records import encode_record
from lcdb_builders.storage.repair import verify
from lcdb_builders.storage.restore import restore
from lcdb_builders.storage.salvage import salvage

from lcdb.errors import FormatVersionError, PlanError, StorageError
from tests.support.chaos.fork import Forked
from tests.support.counts import counts
from tests.support.cubes import block_scores, toy_snapshot, toy_units, write_cube

SNAPSHOT = toy_snapshot()
UNITS = toy_units(SNAPSHOT, learners=("NMC", "LDC"), tunings=("default", "tuned"))
R = 4


def compute(root: Path, units=UNITS, repetitions: int = R) -> int:
    journal = Journal(root)
    journal.prepare(units)
    blocks = [b for u in units for b in journal.missing(u, repetitions)]
    for block in blocks:
        journal.publish(block, block_scores(block), environment())
    return len(blocks)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("repair") / "db"
    compute(root)
    pack(root, SNAPSHOT, UNITS, R)
    return root


@pytest.fixture
def root(built, tmp_path) -> Path:
    return shutil.copytree(built, tmp_path / "db")


@pytest.fixture
def sha256(built) -> str:
    return believed(built, "toy").sha256


def forget_manifest(root: Path) -> None:
    manifest_path(root, "toy").unlink()


@pytest.mark.process
def test_a_unit_that_crashes_the_reader_is_left_out_and_the_others_are_kept(
    root, sha256, monkeypatch
):
    forget_manifest(root)
    run = subprocess.run
    victim = UNITS[2].label

    def crashing(command, **options):
        done = run(command, **options)
        *_, seen = json.loads(command[-1])
        if victim in seen:
            return done
        lines = done.stdout.splitlines(keepends=True)
        told = [json.loads(line)[:2] for line in lines]
        begun = told.index(["begun", victim])
        for block in Journal(root).find(UNITS[2]):
            Journal(root).path(block).unlink()
        return subprocess.CompletedProcess(command, -11, b"".join(lines[: begun + 1]))

    monkeypatch.setattr(salvaging.subprocess, "run", crashing)
    found = salvage(root, "toy")
    assert found.lost == [victim] and set(found.kept) == {u.label for u in UNITS} - {victim}
    assert restore(root, "toy") is None and cube_path(root, "toy").exists()
    assert compute(root) == 1
    assert pack(root, SNAPSHOT, UNITS, R).sha256 == sha256
    assert not list(root.rglob("*damaged*"))  # the new cube has the bytes of the old one


@pytest.mark.process
def test_a_reader_that_hangs_is_ended(root, monkeypatch):
    """It has so much time to compute, whatever the clock on the wall says."""
    forget_manifest(root)
    ended = []
    run = subprocess.run

    def hanging(command, **options):
        if ended:
            return run(command, **options)
        ended.append(json.loads(command[-1])[4])
        output = b'["started", "toy"]\n["begun", "%s"]\n' % UNITS[0].label.encode()
        return subprocess.CompletedProcess(command, -signal.SIGXCPU, output)

    monkeypatch.setattr(salvaging.subprocess, "run", hanging)
    found = salvage(root, "toy", keep=False)
    assert 0 < ended[0] < 3600
    assert found.lost == [UNITS[0].label] and len(found.kept) == len(UNITS) - 1


# The reader's process, in which reading one unit never ends.
HANGING = """
import sys
from lcdb_builders.storage import salvage

read = salvage.read_values

def hang(file, contents, unit, variable):
    while unit.label == sys.argv[2]:
        pass
    return read(file, contents, unit, variable)

salvage.read_values = hang
salvage.main(sys.argv[1])
"""


@pytest.mark.process
def test_the_reader_of_a_cube_may_compute_for_a_limited_time(root, monkeypatch):
    forget_manifest(root)
    victim = UNITS[2].label
    ended = []
    run = subprocess.run

    def hanging(command, **options):
        done = run([command[0], "-P", "-c", HANGING, command[-1], victim], **options)
        ended.append(done.returncode)
        return done

    monkeypatch.setattr(salvaging, "_SECONDS", 3.0)  # of computing; starting takes below one
    monkeypatch.setattr(salvaging.subprocess, "run", hanging)
    found = salvage(root, "toy", keep=False)
    assert ended == [-signal.SIGXCPU, 0]
    assert found.lost == [victim] and set(found.kept) == {u.label for u in UNITS} - {victim}


BEGUN = b'["started", "toy"]\n["begun", "%s"]\n' % UNITS[0].label.encode()


@pytest.mark.parametrize(
    ("code", "output", "told"),
    [
        (1, b"", "ended from outside"),
        (1, b'["started", "toy"]\n["storage", "no space"]\n', "no space"),
        (1, b'["started", "toy"]\n["starved", "not enough memory"]\n', "not enough memory"),
        (-signal.SIGKILL, b"", "ended from outside"),
        (-signal.SIGKILL, b'["started", "toy"]\n', "ended from outside"),
        (-signal.SIGKILL, BEGUN, "ended from outside"),
        (-signal.SIGTERM, BEGUN, "ended from outside"),
        (None, BEGUN, "did not end"),
    ],
)
def test_a_cube_does_not_suffer_for_a_reader_that_could_not_work(
    root, monkeypatch, code, output, told
):
    """It was killed, had no memory or no time: a healthy cube is not thrown away for that."""
    forget_manifest(root)

    def run(command, **options):
        if code is None:
            raise subprocess.TimeoutExpired(command, options["timeout"], output)
        return subprocess.CompletedProcess(command, code, output, b"")

    monkeypatch.setattr(salvaging.subprocess, "run", run)
    before = files(root)
    for ask in (lambda: restore(root, "toy"), lambda: compute(root)):
        with pytest.raises(StorageError, match=told):
            ask()
        assert files(root) == before


def test_a_reader_without_memory_says_so(root, monkeypatch):
    forget_manifest(root)
    monkeypatch.setattr(salvaging, "_MEMORY", 8 << 30)

    def starve(*_):
        raise MemoryError

    monkeypatch.setattr(salvaging, "read_values", starve)
    told = []
    monkeypatch.setattr(salvaging, "_say", lambda state, text, *_: told.append(state))
    salvaging._examine(Blocks(root), "toy", False, set())  # a flipped length: memory is there
    assert told.count("lost") == len(UNITS) and "starved" not in told
    monkeypatch.setattr(salvaging, "bytearray", starve, raising=False)
    with pytest.raises(SystemExit):
        salvaging._examine(Blocks(root), "toy", False, set())
    assert told[-2:] == ["begun", "starved"]


# -- nothing that is not understood is lost --------------------------------------------------------


def files(root: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}


def hit(root: Path, variable: str, chunk: int) -> bytes:
    """Flip a bit in a chunk of the cube, and return the bytes of the damaged file."""
    cube = cube_path(root, "toy")
    with h5py.File(cube) as file:
        where = file[variable].id.get_chunk_info(chunk).byte_offset
    data = bytearray(cube.read_bytes())
    data[where + 20] ^= 8
    cube.write_bytes(data)
    return bytes(data)


def aside(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in (root / "cubes").glob("toy.nc.damaged-*")]


@pytest.mark.process
def test_damage_and_a_smaller_plan_lose_no_curve_without_a_trace(root, sha256, tmp_path):
    """What was lost stays known, its file stays beside the new one, a plan that names it has it."""
    lost = UNITS[-1]
    damaged = hit(root, "brier", 3)
    small = [unit for unit in UNITS if unit.learner != lost.learner]
    journal = Journal(root)
    journal.prepare(small)
    (note,) = journal.notes
    assert lost.label in note and f"{len(UNITS) - 1} of {len(UNITS)} curves are kept" in note
    assert aside(root) == [damaged] and cube_path(root, "toy").read_bytes() == damaged
    assert compute(root, small) == 0
    packed = pack(root, SNAPSHOT, small, R)
    slices = {s.unit: s for s in packed.slices}
    assert set(slices) == set(UNITS) and slices[lost].status == "not_built"
    assert "lost to damage" in slices[lost].reason and aside(root) == [damaged]
    assert not pack(root, SNAPSHOT, small, R).written
    assert compute(root) == 1
    assert pack(root, SNAPSHOT, UNITS, R).sha256 == sha256
    assert aside(root) == [damaged] and verify(root).intact


@pytest.mark.process
def test_the_damaged_cube_stays_until_another_is_verified(root, sha256, monkeypatch):
    damaged = hit(root, "brier", 0)
    assert compute(root) == 1 and cube_path(root, "toy").read_bytes() == damaged
    assert compute(root) == 0
    monkeypatch.setattr("lcdb_builders.storage.pack._Packing._written", lambda *_: False)
    with pytest.raises(StorageError, match="does not read as it was written"):
        pack(root, SNAPSHOT, UNITS, R)
    assert cube_path(root, "toy").read_bytes() == damaged
    monkeypatch.undo()
    assert pack(root, SNAPSHOT, UNITS, R).sha256 == sha256
    assert verify(root).intact and not (root / "blocks" / "toy.salvaged.json").exists()


@pytest.mark.process
def test_a_damaged_cube_is_salvaged_once(root, monkeypatch):
    hit(root, "brier", 0)
    compute(root)
    monkeypatch.setattr(salvaging.subprocess, "run", None)
    assert restore(root, "toy") is None and compute(root) == 0


@pytest.mark.process
@pytest.mark.parametrize("step", range(12)[:: counts(3, 1)])
def test_a_builder_that_slept_while_it_repaired_takes_nothing_from_others(
    root, sha256, monkeypatch, step
):
    """Others took the lock over, computed what was lost and packed; then it goes on."""
    hit(root, "brier", 0)
    left = [step]

    def sleep(when: str, change: str, path: Path) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # leases are renewed by a thread, whose sleep would stop nobody
        left[0] -= 1
        if left[0] == -1:
            monkeypatch.setattr(leases, "STALE", -1.0)
            assert Forked(lambda: finish(root)).result() == sha256
            monkeypatch.setattr(leases, "STALE", 300.0)

    monkeypatch.setattr(disk, "hook", sleep)
    restore(root, "toy")
    monkeypatch.setattr(disk, "hook", None)
    assert left[0] < 0
    assert believed(root, "toy", fresh=True).sha256 == sha256
    assert compute(root) == 0 and verify(root).intact
    assert pack(root, SNAPSHOT, UNITS, R).sha256 == sha256
    assert not list((root / "blocks").rglob("*.block"))


def finish(root: Path) -> str:
    compute(root)
    return pack(root, SNAPSHOT, UNITS, R).sha256


@pytest.mark.process
def test_a_refused_plan_changes_nothing_in_a_damaged_database(root):
    hit(root, "brier", 0)
    forget_manifest(root)
    before = files(root)
    with pytest.raises(PlanError, match="master_seed"):
        compute(root, toy_units(SNAPSHOT, samplings=("random",), seed=8))
    assert files(root) == before


@pytest.mark.process
@pytest.mark.parametrize(
    ("what", "manifest"), [("variable", True), ("variable", False), ("attribute", True)]
)
def test_what_a_user_put_into_a_cube_is_not_overwritten(root, sha256, what, manifest):
    with h5py.File(cube_path(root, "toy"), "r+") as file:
        if what == "variable":
            file["my_notes"] = np.arange(5)
        else:
            file.attrs["my_notes"] = "of Tuesday"
    if not manifest:
        forget_manifest(root)
    before = files(root)
    for ask in (compute, lambda root: restore(root, "toy"), lambda root: finish(root)):
        with pytest.raises(StorageError, match=r"did not write: my_notes.*lcdb repair"):
            ask(root)
        assert files(root) == before
    (damage,) = verify(root).damage
    assert "my_notes" in damage.what and not damage.repairable


@pytest.mark.process
@pytest.mark.parametrize("kind", ["HDF5", "text"])
def test_a_foreign_file_in_the_way_is_not_overwritten(tmp_path, root, kind):
    for there in (tmp_path / "new", root):
        cube = cube_path(there, "toy")
        cube.parent.mkdir(parents=True, exist_ok=True)
        if kind == "HDF5":
            with h5py.File(cube, "w") as file:
                file["temperature"] = np.arange(9.0)
        else:
            cube.write_text("my shopping list")
        if there == root and kind == "text":
            continue  # where there was a cube, this is damage: it is kept aside
        before = files(there)
        with pytest.raises(StorageError, match=r"in the way: it is no cube.*nothing was changed"):
            compute(there)
        assert files(there) == before
    if kind == "text":
        compute(root)
        assert aside(root) == [b"my shopping list"]


def test_a_damaged_block_is_kept_until_a_cube_holds_its_cells(tmp_path):
    journal = Journal(tmp_path)
    compute(tmp_path)
    path = journal.path(journal.find(UNITS[1])[0])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert len(journal.missing(UNITS[1], R)) == 1 and "computed again" in journal.notes[0]
    (kept,) = path.parent.glob("*.damaged-*")
    assert kept.read_bytes() == data and not path.exists()
    assert compute(tmp_path) == 1
    assert pack(tmp_path, SNAPSHOT, UNITS, R).complete and not kept.exists()


def test_a_block_of_a_newer_version_is_refused_and_left_alone(tmp_path):
    journal = Journal(tmp_path)
    compute(tmp_path)
    path = journal.path(journal.find(UNITS[1])[0])
    path.write_bytes(b"lcdb block 2\nof another kind")
    with pytest.raises(FormatVersionError, match="format version 2"):
        journal.missing(UNITS[1], R)
    assert path.read_bytes() == b"lcdb block 2\nof another kind"


def test_a_manifest_with_keys_of_another_version_is_not_damaged(root):
    path = manifest_path(root, "toy")
    content = json.loads(path.read_text())
    del content["record_sha256"]
    path.write_bytes(encode_record({**content, "weather": "fine"}))
    before = files(root)
    with pytest.raises(FormatVersionError, match="another version wrote it"):
        compute(root)
    assert files(root) == before


@pytest.mark.process
def test_a_cube_of_a_newer_version_is_refused_and_left_alone(root):
    forget_manifest(root)
    with h5py.File(cube_path(root, "toy"), "r+") as file:
        file.attrs["format_version"] = np.int64(99)
    before = cube_path(root, "toy").read_bytes()
    for look in (verify, lambda root: restore(root, "toy"), compute):
        with pytest.raises(FormatVersionError, match="99"):
            look(root)
    assert cube_path(root, "toy").read_bytes() == before


def test_a_manifest_of_a_newer_version_is_refused_and_left_alone(root):
    path = manifest_path(root, "toy")
    path.write_bytes(encode_record({"format_version": 99}))
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    for look in (verify, lambda root: restore(root, "toy"), compute):
        with pytest.raises(FormatVersionError, match="99"):
            look(root)
    assert before == {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.process
def test_a_cube_without_a_database_around_it_is_taken_in(tmp_path, sha256):
    """As from a download: no manifest, no journal, and a plan that names some of its units."""
    cube = cube_path(tmp_path, "toy")
    cube.parent.mkdir(parents=True)
    write_cube(cube, SNAPSHOT, UNITS, R)
    some = [unit for unit in UNITS if unit.learner != "LDC"]
    assert compute(tmp_path, some) == 0
    packed = pack(tmp_path, SNAPSHOT, some, R)
    assert packed.sha256 == sha256 and packed.complete


@pytest.mark.process
def test_a_foreign_cube_is_refused_and_nothing_of_it_is_lost(tmp_path):
    other = toy_units(SNAPSHOT, learners=("NMC",), seed=8)
    cube = cube_path(tmp_path, "toy")
    cube.parent.mkdir(parents=True)
    write_cube(cube, SNAPSHOT, other, R)
    with pytest.raises(PlanError, match="master_seed"):
        compute(tmp_path)
    assert pack(tmp_path, SNAPSHOT, other, R).complete


@pytest.mark.process
def test_damage_of_partial_units_costs_what_was_there(root, tmp_path):
    bigger = [*UNITS, *toy_units(SNAPSHOT, learners=("QDC",))[1:]]
    journal = Journal(root)
    block = journal.missing(bigger[-1], R)[0]
    half = type(block)(block.unit, block.sizes[:5], 1, 3)
    journal.publish(half, block_scores(half), environment())
    assert pack(root, SNAPSHOT, bigger, R).statuses[block.unit.label] == "partial"
    journal.path(half).unlink()
    forget_manifest(root)
    missing = Journal(root).missing(block.unit, R)
    assert sum(b.cells for b in missing) == block.cells - half.cells
    compute(root, bigger)
    compute(tmp_path / "once", bigger)
    assert (
        pack(root, SNAPSHOT, bigger, R).sha256
        == pack(tmp_path / "once", SNAPSHOT, bigger, R).sha256
    )


def test_a_manifest_follows_its_schema_and_says_who_when_and_what(root):
    content = json.loads(manifest_path(root, "toy").read_text())
    digest = content.pop("record_sha256")
    assert len(digest) == 64
    schema = manifests._validator().schema
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(content)
    entry = content["current"]
    assert entry["cube"]["bytes"] == cube_path(root, "toy").stat().st_size
    assert {"by", "at", "host", "packages", "cpu"} <= set(entry["written"])
    assert entry["units"][1]["coverage"] == [[1, 28, 0, R]]
    read = Manifest.read(root, "toy", fresh=True).current
    assert read is not None and read.contents.units == tuple(s.unit for s in read.slices)


def test_what_was_believed_is_looked_at_again_when_it_changes(root):
    assert believed(root, "toy") is not None
    cube = cube_path(root, "toy")
    data = bytearray(cube.read_bytes())
    data[-1] ^= 1
    cube.write_bytes(data)
    assert believed(root, "toy") is None


@pytest.mark.process
def test_a_read_only_database_can_be_verified(root):
    for path in (root, *root.rglob("*")):
        os.chmod(path, 0o555 if path.is_dir() else 0o444)
    assert verify(root).intact
    cube = cube_path(root, "toy")
    os.chmod(cube, 0o644)
    data = bytearray(cube.read_bytes())
    data[len(data) // 2] ^= 1
    cube.write_bytes(data)
    assert [damage.path for damage in verify(root).damage] == [cube]
    for path in (root, *root.rglob("*")):
        os.chmod(path, 0o755)
