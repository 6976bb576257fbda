"""`lcdb verify` and `lcdb status`, as they are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.experiments.dse import maker
from lcdb_builders.experiments.dse.build import build_dse
from lcdb_builders.run.build import check_directory
from lcdb_builders.storage import disk
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.indexes import indexes, read_index
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.pack import pack

from lcdb.cli import main
from lcdb.errors import DamagedError, FormatVersionError, SchemaError
from lcdb.shipped import named
from tests.support.cubes import block_scores, toy_snapshot, toy_units

SNAPSHOT = toy_snapshot()
UNITS = toy_units(SNAPSHOT)
R = 4


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("verify") / "db"
    snapshots.save(SNAPSHOT, root / "snapshots")
    journal = Journal(root)
    journal.prepare(UNITS)
    for unit in UNITS:
        for block in journal.missing(unit, R):
            journal.publish(block, block_scores(block), environment())
    pack(root, SNAPSHOT, UNITS[:2], R)
    return root


@pytest.fixture
def copy(database, tmp_path) -> Path:
    return shutil.copytree(database, tmp_path / "db")


def test_an_intact_database(database, capsys):
    before = {p: p.read_bytes() for p in database.rglob("*") if p.is_file()}
    assert main(["verify", str(database)]) == 0
    told = capsys.readouterr().out
    assert "1 cubes, 2 indexes, 1 manifests, 3 records, 1 snapshots read" in told
    assert "every file is what was written" in told
    assert before == {p: p.read_bytes() for p in database.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("command", "told"),
    [("verify", "2 cubes, 2 manifests read"), ("status", "NMC     11      default")],
)
def test_what_ships_has_a_name(command, told, capsys):
    assert main([command, "tutorial"]) == 0
    assert told in capsys.readouterr().out


def test_how_far_it_is_goes_elsewhere_than_what_was_found(database, capsys):
    assert main(["verify", str(database)]) == 0
    told = capsys.readouterr()
    assert told.err.splitlines()[0] == "lcdb: 8 files to read"
    assert told.err.splitlines()[-1].startswith("lcdb: 100 % (8 of 8 files)")
    assert "files to read" not in told.out
    assert main(["verify", str(database), "--quiet"]) == 0
    assert capsys.readouterr() == (told.out, "")


@pytest.mark.process
def test_damage_is_told_by_file_and_unit(copy, capsys):
    cube = copy / "cubes" / "toy.nc"
    data = bytearray(cube.read_bytes())
    with h5py.File(cube) as file:
        chunk = file["auc"].id.get_chunk_info(0)
    data[chunk.byte_offset + chunk.size // 2] ^= 1
    cube.write_bytes(data)
    assert main(["verify", str(copy), "--recompute", "3"]) == 1
    told = capsys.readouterr().out
    assert f"DAMAGED {cube}" in told and "1 of 3 units" in told
    assert UNITS[1].label in told.splitlines()[2]
    assert "3 cells were not recomputed" in told
    assert main(["verify", str(copy), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["intact"]
    assert found["damage"][0]["units"] == [UNITS[1].label]


#: What may become of the bytes of an index: the last says the same, as JSON reads it.
DAMAGES = {
    "a bit": lambda data: bytes([*data[:40], data[40] ^ 1, *data[41:]]),
    "cut": lambda data: data[: len(data) // 2],
    "its end": lambda data: data[:-1],
    "nothing left": lambda data: b"",
    "spelled otherwise": lambda data: data.replace(b'"kind"', b'"\\u006bind"'),
}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["cubes/toy.nc.index.json", "index.json"])
def test_a_damaged_index_is_told_and_written_anew(copy, name, how, capsys):
    path = copy / name
    data = path.read_bytes()
    path.write_bytes(DAMAGES[how](data))
    assert path.read_bytes() != data
    assert main(["verify", str(copy)]) == 1
    told = [line for line in capsys.readouterr().out.splitlines() if "DAMAGED" in line]
    assert len(told) == 1 and told[0].startswith(f"DAMAGED {path}: ") and "lcdb index" in told[0]
    pack(copy, SNAPSHOT, UNITS[:2], R)
    assert path.read_bytes() == data
    assert main(["verify", str(copy)]) == 0


@pytest.mark.slow
def test_every_bit_of_an_index_counts(copy):
    for path in indexes(copy):
        data = path.read_bytes()
        assert read_index(path)["record_sha256"]
        for where in {*range(0, len(data), 7), len(data) - 1}:
            for bit in range(8):
                path.write_bytes(bytes([*data[:where], data[where] ^ 1 << bit, *data[where + 1 :]]))
                with pytest.raises((DamagedError, SchemaError, FormatVersionError)):
                    read_index(path)


@pytest.mark.process
def test_the_index_of_a_summary_is_made_again_by_hand(tmp_path, capsys):
    root = tmp_path / "small"
    options = ["--dataset", "61", "--sizes", "log:3"]
    assert main(["summarize", "tutorial", "--out", str(root), *options]) == 0
    assert main(["index", str(root)]) == 0
    assert main(["verify", str(root)]) == 0
    assert "2 indexes, 1 summaries read" in capsys.readouterr().out
    path = root / "summaries" / "61.nc.index.json"
    path.write_bytes(path.read_bytes()[:100])
    assert main(["verify", str(root)]) == 1
    assert f"NOT RIGHT {path}: " in capsys.readouterr().out
    assert main(["index", str(root)]) == 0 and main(["verify", str(root)]) == 0


def test_files_that_lcdb_did_not_write_are_left_alone(copy, capsys):
    (copy / "notes.txt").write_text("mine")
    (copy / "blocks" / "readme").write_text("mine")
    assert main(["verify", str(copy)]) == 0


@pytest.mark.parametrize("where", ["nowhere", "."])
def test_what_is_no_database_is_told_in_one_line(tmp_path, capsys, where):
    assert main(["verify", str(tmp_path / where)]) == 1
    told = capsys.readouterr().err
    assert "not a database directory" in told and len(told.splitlines()) == 1


def test_a_negative_number_of_cells_is_wrong_use(database, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(database), "--recompute", "-1"])
    assert stopped.value.code == 2


def test_recomputed_cells_are_held_against_what_is_stored(tmp_path, capsys):
    """A real unit, computed by the reference: right as it is, wrong once its numbers are others."""
    from lcdb_builders.planning.plan import load_plan
    from lcdb_builders.planning.units import plan_learners, units
    from lcdb_builders.reference.block import draws_block

    draw = np.random.default_rng(0)
    X = draw.normal(size=(30, 2))
    snapshot = snapshots.Snapshot(
        "real", X, np.arange(30) % 2, ("a", "b"), ("no", "yes"), "real", SNAPSHOT.origin
    )
    plan = load_plan(
        {
            "datasets": [{"id": "real", "file": "real.csv", "target": "y"}],
            "learners": ["NMC"],
            "samplings": ["random"],
            "splits": ["fixed"],
            "sizes": [3, 10],
            "repetitions": 3,
        }
    )
    learners = plan_learners(plan)
    for name, change in (("right", 0.0), ("wrong", 0.25)):
        root = tmp_path / name
        snapshots.save(snapshot, root / "snapshots")
        journal = Journal(root)
        wanted = units(plan, snapshot, learners)
        journal.prepare(wanted)
        for unit in wanted:
            (block,) = journal.missing(unit, 3)
            if unit.learner == "draws":
                scores = draws_block(snapshot, block, [unit.split])[unit.split]
            else:
                scores = learners["NMC"].block(snapshot, block, [unit.split])[unit.split]
                scores["brier"] = (scores["brier"] * (1 - change)).astype(np.float32)
            journal.publish(block, scores, environment())
        pack(root, snapshot, wanted, 3)
        assert main(["verify", str(root), "--recompute", "4"]) == (change > 0)
        told = capsys.readouterr().out
        assert f"{0 if change else 4} of 4 recomputed cells are as stored" in told
        assert ("WRONG real/NMC/random/fixed/default" in told) == (change > 0)


@pytest.mark.process
def test_recomputed_trials_are_held_against_what_is_stored(tmp_path, capsys, monkeypatch):
    """Of an experiment: right as it is, wrong once trials are others, unchecked on other CPUs."""
    root = str(tmp_path)
    build_dse(root, tasks=["moons"], learners=["kNN"], modes=["random"], trials=5,
              offline=True, workers=1)  # fmt: skip
    capsys.readouterr()
    assert main(["verify", root, "--recompute", "4", "--seed", "1"]) == 0
    assert "4 of 4 recomputed cells are as stored" in capsys.readouterr().out
    assert main(["verify", root, "--recompute", "2", "--json", "--quiet"]) == 0
    for cell in json.loads(capsys.readouterr().out)["recomputed"]:
        assert cell["part"].startswith("dse-kNN-moons-") and cell["trial"] in range(5)
        assert cell["agrees"] and not cell["different"] and cell["expects_same_bits"]

    def others(part, run, data):
        values = trials(part, run, data)
        return values | {"accuracy": values["accuracy"] / 2}

    trials = maker.trials
    monkeypatch.setattr(maker, "trials", others)
    assert main(["verify", root, "--recompute", "3", "--quiet"]) == 1
    told = capsys.readouterr().out
    assert "0 of 3 recomputed cells are as stored" in told
    assert "WRONG dse-kNN-moons-" in told and ": NOT bit-equal in accuracy" in told
    for where, other in (
        ("lcdb_builders.experiments.replay.same_kind", lambda *machines: False),
        ("lcdb_builders.experiments.dse.maker.IMPLEMENTATION", "scikit-learn-2"),
    ):
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(where, other)
            assert main(["verify", root, "--recompute", "3", "--quiet"]) == 0
        told = capsys.readouterr().out
        assert "UNCHECKED dse-kNN-moons-" in told and "3 could not be checked on both sides" in told


@pytest.mark.process
def test_trials_that_ship_are_computed_again(capsys):
    assert main(["verify", "experiments", "--recompute", "4", "--seed", "3", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "4 of 4 recomputed cells are as stored" in told or "could not be checked" in told


@pytest.mark.process
@pytest.mark.parametrize("release", [[], ["--release", "1.0"]])
def test_summaries_are_read_too(tmp_path, capsys, release):
    """Against the digests of their release, or against the sums of their own chunks."""
    tutorial = named("tutorial")
    assert main(["summarize", tutorial, "--out", str(tmp_path), "--sizes", "log:4", *release]) == 0
    assert main(["verify", str(tmp_path), "--quiet"]) == 0
    assert "2 summaries read\nevery file is what was written" in capsys.readouterr().out
    path = tmp_path / "summaries" / "61.nc"
    right = path.read_bytes()
    with h5py.File(path) as file:
        chunk = file["mean"].id.get_chunk_info(0)
    middle = chunk.byte_offset + chunk.size // 2
    for wrong in (
        right[:middle] + bytes([right[middle] ^ 1]) + right[middle + 1 :], right[: len(right) // 2]
    ):  # fmt: skip
        path.write_bytes(wrong)
        assert main(["verify", str(tmp_path), "--quiet"]) == 1
        told = capsys.readouterr().out
        assert f"NOT RIGHT {path}: " in told and "'lcdb summarize'" in told
        assert ("the release has" in told) == bool(release)
        assert "repairs what is damaged" not in told
    path.unlink()
    assert main(["verify", str(tmp_path), "--quiet"]) == bool(release)
    assert ("it is missing, and the release has it" in capsys.readouterr().out) == bool(release)


def test_summaries_have_no_status(capsys):
    assert main(["status", "reference"]) == 1
    assert "has summaries alone" in capsys.readouterr().err


def test_status_writes_nothing(copy, monkeypatch, capsys):
    """Not even what another command would take for its own: the directory may be read-only."""

    def refuse(when, what, path):
        raise AssertionError(f"{what} {path}")

    before = {p: (p.stat().st_mtime_ns, p.is_file() and p.read_bytes()) for p in copy.rglob("*")}
    monkeypatch.setattr(disk, "hook", refuse)
    assert main(["status", str(copy)]) == 0
    assert "toy" in capsys.readouterr().out
    after = {p: (p.stat().st_mtime_ns, p.is_file() and p.read_bytes()) for p in copy.rglob("*")}
    assert after == before


def test_a_copy_beside_a_cube_is_no_damage_that_a_build_repairs(copy, capsys, caplog):
    stray = copy / "cubes" / "toy (copy).nc"
    shutil.copy(copy / "cubes" / "toy.nc", stray)
    before = stray.read_bytes()
    assert main(["verify", "--quiet", str(copy)]) == 1
    told = capsys.readouterr().out
    assert f"NOT RIGHT {stray}: {stray} and {copy / 'cubes' / 'toy.nc'} both hold" in told
    assert "no build puts right" in told and "repairs what is damaged" not in told
    check_directory(copy)
    assert f"{stray} and" in caplog.text and "builds leave it alone" in caplog.text
    assert stray.read_bytes() == before
    stray.unlink()
    assert main(["verify", "--quiet", str(copy)]) == 0


@pytest.mark.parametrize("where", ["cubes/61.nc", "snapshots/toy.json"])
def test_a_disk_that_fails_is_no_damage_that_a_build_repairs(copy, capsys, where):
    path = copy / where
    path.unlink(missing_ok=True)
    path.symlink_to("/proc/self/mem")  # reads as EIO
    assert main(["verify", "--quiet", str(copy)]) == 1
    told = capsys.readouterr().out
    told_of = path.with_suffix(".npz") if "snapshots" in where else path
    assert f"NOT RIGHT {told_of}: {path} cannot be read now (Input/output error)" in told
    assert "delete" not in told and "repairs what is damaged" not in told
