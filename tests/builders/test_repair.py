"""Salvaging a damaged cube: what crashes, what hangs, and what is not damage at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from cubes import block_scores, toy_snapshot, toy_units, write_cube
from jsonschema import Draft202012Validator
from lcdb_builders.storage import manifest as manifests
from lcdb_builders.storage import salvage as salvaging
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import Manifest, believed, cube_path, manifest_path
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.records import encode_record
from lcdb_builders.storage.repair import restore, verify
from lcdb_builders.storage.salvage import salvage

from lcdb.errors import FormatVersionError, PlanError, StorageError

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
        begun = next(i for i, line in enumerate(lines) if json.loads(line) == ["begun", victim])
        for block in Journal(root).find(UNITS[2]):
            Journal(root).path(block).unlink()
        return subprocess.CompletedProcess(command, -11, b"".join(lines[: begun + 1]))

    monkeypatch.setattr(salvaging.subprocess, "run", crashing)
    found = salvage(root, "toy")
    assert found.lost == [victim] and set(found.kept) == {u.label for u in UNITS} - {victim}
    assert restore(root, "toy") is None and not cube_path(root, "toy").exists()
    assert compute(root) == 1
    assert pack(root, SNAPSHOT, UNITS, R).sha256 == sha256


def test_a_reader_that_hangs_is_ended(root, monkeypatch):
    forget_manifest(root)
    stalled = []
    run = subprocess.run

    def hanging(command, **options):
        if not stalled:
            stalled.append(options["timeout"])
            output = b'["started", "toy"]\n["begun", "%s"]\n' % UNITS[0].label.encode()
            raise subprocess.TimeoutExpired(command, options["timeout"], output)
        return run(command, **options)

    monkeypatch.setattr(salvaging.subprocess, "run", hanging)
    found = salvage(root, "toy", keep=False)
    assert 0 < stalled[0] < 3600
    assert found.lost == [UNITS[0].label] and len(found.kept) == len(UNITS) - 1


@pytest.mark.parametrize("output", [b"", b'["started", "toy"]\n["storage", "no space"]\n'])
def test_a_cube_does_not_suffer_for_a_reader_that_could_not_work(root, monkeypatch, output):
    forget_manifest(root)
    done = subprocess.CompletedProcess([], 1, output)
    monkeypatch.setattr(salvaging.subprocess, "run", lambda *args, **options: done)
    before = cube_path(root, "toy").read_bytes()
    with pytest.raises(StorageError, match=r"could not be started|no space"):
        restore(root, "toy")
    assert cube_path(root, "toy").read_bytes() == before


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


def test_a_cube_without_a_database_around_it_is_taken_in(tmp_path, sha256):
    """As from a download: no manifest, no journal, and a plan that names some of its units."""
    cube = cube_path(tmp_path, "toy")
    cube.parent.mkdir(parents=True)
    write_cube(cube, SNAPSHOT, UNITS, R)
    some = [unit for unit in UNITS if unit.learner != "LDC"]
    assert compute(tmp_path, some) == 0
    packed = pack(tmp_path, SNAPSHOT, some, R)
    assert packed.sha256 == sha256 and packed.complete


def test_a_foreign_cube_is_refused_and_nothing_of_it_is_lost(tmp_path):
    other = toy_units(SNAPSHOT, learners=("NMC",), seed=8)
    cube = cube_path(tmp_path, "toy")
    cube.parent.mkdir(parents=True)
    write_cube(cube, SNAPSHOT, other, R)
    with pytest.raises(PlanError, match="master_seed"):
        compute(tmp_path)
    assert pack(tmp_path, SNAPSHOT, other, R).complete


def test_damage_of_partial_units_costs_what_was_there(root, tmp_path):
    bigger = [*UNITS, *toy_units(SNAPSHOT, learners=("QDC",))[1:]]
    journal = Journal(root)
    block = journal.missing(bigger[-1], R)[0]
    half = type(block)(block.unit, block.sizes[:5], 1, 3)
    journal.publish(half, block_scores(half), environment())
    assert pack(root, SNAPSHOT, bigger, R).statuses[block.unit] == "partial"
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
