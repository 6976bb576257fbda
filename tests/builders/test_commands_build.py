"""`lcdb build`, `plan`, `compile` and `status` as they are typed: each option on good input."""

from __future__ import annotations

import pytest

import lcdb
from lcdb.cli import main

PLAN = """
datasets = [61, 11]
learners = ["NMC", "LDC"]
samplings = ["random"]
splits = ["fixed"]
sizes = [5, 20]
repetitions = 8
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def run(capsys, *arguments, code=0):
    """Run a command and return what it prints."""
    found = main(list(map(str, arguments)))
    output = capsys.readouterr()
    assert found == code, output.err
    return output.out, output.err


# -- build -----------------------------------------------------------------------------------------


def test_build_a_part_of_a_plan(capsys, plan, tmp_path):
    """A dataset by id, by name and by both is one dataset."""
    root = tmp_path / "database"
    part = ["--dataset", "61", "--dataset", "iris", "--learner", "LDC", "--repetitions", 3]
    _, err = run(capsys, "build", plan, "--out", root, *part, "--workers", 1, "--offline")
    assert "2 blocks computed" in err and "cubes/61.nc written" in err
    with lcdb.open(root) as db:
        assert len(db) == 1
        assert db.curve("iris", "LDC", sampling="random").sizes == {"n": 2, "repetition": 3}
