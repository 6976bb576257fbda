"""`lcdb repair`: a directory that builds refuse is freed, and nothing is deleted for it."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import cube_path
from lcdb_builders.storage.pack import pack

from lcdb.cli import main
from lcdb.errors import PlanError
from tests.support.cubes import block_scores, toy_snapshot, toy_units

SNAPSHOT = toy_snapshot(rows=12)
ONE = toy_units(SNAPSHOT, learners=("NMC",))
OTHER = toy_units(SNAPSHOT, learners=("LDC",), samplings=("random",), seed=8)
R = 3


def publish(root: Path, units) -> None:
    """Put numbers into the journal without a look at what is there, as older versions did."""
    journal = Journal(root)
    for unit in units:
        for block in journal.missing(unit, R):
            super(Journal, journal).publish(block, block_scores(block), environment())


@pytest.fixture(params=["in the cube", "in the journal"])
def root(request, tmp_path) -> Path:
    """A directory with numbers of two seeds, which refuses every build."""
    publish(tmp_path, ONE)
    if request.param == "in the cube":
        pack(tmp_path, SNAPSHOT, ONE, R)
    publish(tmp_path, OTHER)
    for units in (ONE, OTHER):
        with pytest.raises(PlanError, match="two plans are mixed here: 'lcdb repair DIR'"):
            Journal(tmp_path).prepare(units)
        with pytest.raises(PlanError, match="lcdb repair"):
            pack(tmp_path, SNAPSHOT, units, R)
    return tmp_path


def contents(root: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_it_says_what_is_mixed_and_changes_nothing(root, capsys):
    before = contents(root)
    assert main(["repair", str(root)]) == 1
    out = capsys.readouterr().out
    assert "toy: 2 plans are mixed" in out and "master seed 7" in out and "master seed 8" in out
    assert f"lcdb repair {root} --keep toy=A" in out
    assert contents(root) == before


@pytest.mark.parametrize("seed", [7, 8])
def test_one_plan_is_kept_and_the_other_moved(root, capsys, seed):
    main(["repair", str(root)])
    line = next(s for s in capsys.readouterr().out.splitlines() if f"master seed {seed}" in s)
    before = contents(root)
    assert main(["repair", str(root), "--keep", f"toy={line.split()[0]}"]) == 0
    assert "builds can go on" in capsys.readouterr().out
    assert contents(root) == before and any((root / "aside").iterdir())
    units = ONE if seed == 7 else OTHER
    Journal(root).prepare(units)
    assert [b for unit in units for b in Journal(root).missing(unit, R)] == []
    packed = pack(root, SNAPSHOT, units, R)
    assert packed.complete and {s.unit.seed for s in packed.slices} == {seed}


def test_a_directory_with_a_builder_at_work_is_left_alone(tmp_path, capsys):
    publish(tmp_path, ONE)
    with Journal(tmp_path).claim(ONE):
        assert main(["repair", str(tmp_path), "--keep", "toy=A"]) == 1
        assert "a builder is at work on toy" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--keep", "toy"], "such as 61=A"),
        (["--keep", "toy=Q"], "no group 'Q'"),
        (["--aside", "other"], "does not exist"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, capsys, arguments, told):
    publish(tmp_path, ONE)
    assert main(["repair", str(tmp_path), *arguments]) != 0
    assert told in capsys.readouterr().err


@pytest.mark.process
def test_a_file_in_the_way_is_put_aside_and_its_good_curves_stay(tmp_path, capsys):
    publish(tmp_path, ONE)
    sha256 = pack(tmp_path, SNAPSHOT, ONE, R).sha256
    cube = cube_path(tmp_path, "toy")
    with h5py.File(cube, "r+") as file:
        file["my_notes"] = np.arange(5)
    theirs = cube.read_bytes()
    assert main(["repair", str(tmp_path)]) == 1
    assert "my_notes" in capsys.readouterr().out
    assert main(["repair", str(tmp_path), "--aside", "toy"]) == 0
    assert [p.read_bytes() for p in cube.parent.glob("toy.nc.damaged-*")] == [theirs]
    assert [b for unit in ONE for b in Journal(tmp_path).missing(unit, R)] == []
    assert pack(tmp_path, SNAPSHOT, ONE, R).sha256 == sha256


@pytest.mark.process
def test_a_foreign_file_is_put_aside(tmp_path):
    cube = cube_path(tmp_path, "toy")
    cube.parent.mkdir(parents=True)
    cube.write_text("my shopping list")
    assert main(["repair", str(tmp_path)]) == 1
    assert main(["repair", str(tmp_path), "--aside", "toy"]) == 0
    assert [p.read_text() for p in cube.parent.iterdir()] == ["my shopping list"]
