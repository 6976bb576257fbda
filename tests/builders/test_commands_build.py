"""`lcdb build`, `plan`, `compile` and `status` as they are typed: each option on good input."""

from __future__ import annotations

import json
import re
import socket

import pytest
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.run import compiling
from lcdb_builders.run.tasks import block_to_json, compute
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.storage import presence as presence_module
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.presence import Presence, present

import lcdb
from lcdb.cli import main
from lcdb.errors import LabelError, PlanError

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


@pytest.mark.process
def test_build_a_part_of_a_plan(capsys, plan, tmp_path):
    """A dataset by id, by name and by both is one dataset."""
    root = tmp_path / "database"
    how = ["--timeout", 600, "--retry-failed", "--allow-import"]
    part = [*how, "--dataset", "61", "--dataset", "iris", "--learner", "LDC", "--repetitions", 3]
    _, err = run(capsys, "build", plan, "--out", root, *part, "--workers", 1, "--offline")
    assert "2 blocks computed" in err and "cubes/61.nc written" in err
    with lcdb.open(root) as db:
        assert len(db) == 1
        assert int(db.curve("iris", "LDC", split="fixed").notnull().sum()) == 2 * 3


# -- status ----------------------------------------------------------------------------------------


@pytest.mark.process
def test_status_tells_how_many_cells_there_are(capsys, plan, tmp_path):
    root = tmp_path / "database"
    run(capsys, "build", plan, "--out", root, "--dataset", 61, "--learner", "LDC", "--quiet")
    found = json.loads(run(capsys, "status", root, "--json")[0])
    by_learner = {row["learner"]: row for row in found["counts"]}
    assert by_learner["LDC"]["cells"] == by_learner["LDC"]["wanted"] == 2 * 8
    assert (by_learner["NMC"]["cells"], by_learner["NMC"]["wanted"]) == (0, 2 * 8)
    assert found["cells"] == {"computed": 16, "wanted": 32}
    assert (found["in_flight"], found["builders"]) == (0, [])
    out, _ = run(capsys, "status", root)
    assert re.search(r"LDC +61 +default +1 +16 +100 %", out)
    assert re.search(r"NMC +61 +default +1 +0 +0 %", out)
    assert re.search(r"total .* 16 +50 %", out)


def test_status_of_a_build_at_work(capsys, plan, tmp_path):
    """Half of a curve in the journal is half of it, whoever waits for the cube."""
    root = tmp_path / "database"
    built = load_plan(plan)
    (unit,) = (
        unit for unit in units(built, bundled("61"), plan_learners(built)) if unit.learner == "LDC"
    )
    journal = Journal(root)
    journal.prepare([unit])
    snapshots.save(bundled("61"), root / "snapshots")
    first, second = journal.missing(unit, 8, Lengths(2, 4))
    compute(str(root), block_to_json(first), ["fixed"], allow_import=False)
    presence = Presence(root, 8)
    presence.begin("2 workers on this machine", 32)
    presence.advance(8)
    presence.beat()
    with journal.lease(second):
        found = json.loads(run(capsys, "status", root, "--json")[0])
        out, _ = run(capsys, "status", root)
    (curve,) = found["curves"]
    assert (curve["status"], curve["cells"], curve["wanted"]) == ("partial", 8, 16)
    assert found["in_flight"] == curve["in_flight"] == 1
    (sign,) = found["builders"]
    assert (sign["host"], sign["repetitions"], sign["wanted"]) == (socket.gethostname(), 8, 32)
    assert re.search(r"LDC +61 +default +1 +8 +50 %", out)
    assert "blocks in flight: 1" in out
    assert re.search(r"at work: \S+ on \S+ with 2 workers on this machine, 0 of 32 cells", out)
    assert "last sign of life 0 s ago" in out
    presence.end()
    assert json.loads(run(capsys, "status", root, "--json")[0])["builders"] == []


def test_builders_at_work_say_so_and_the_dead_are_forgotten(tmp_path, monkeypatch):
    """The rate is of what was computed since it began; a killed builder's file goes."""
    (tmp_path / "blocks").mkdir()
    clock = [50.0]
    monkeypatch.setattr(presence_module.time, "monotonic", lambda: clock[0])
    first = Presence(tmp_path, 8)
    first.begin("one", 100)
    first.advance(40)
    clock[0] += 20
    first.beat()
    (sign,) = present(tmp_path)
    assert (sign.computed, sign.seconds, sign.rate) == (40, 20.0, 2.0)
    text = first.path.read_bytes()
    owner, _, rest = text.partition(b" ")
    place, pid, _ = owner.split(b"-")
    first.path.write_bytes(b"-".join([place, pid, b"1"]) + b" " + rest)
    assert present(tmp_path) == []
    second = Presence(tmp_path, 8)
    second.begin("two", 1)
    assert [path.name for path in (tmp_path / "blocks").iterdir()] == [second.path.name]
    second.end()


# -- plan and compile ------------------------------------------------------------------------------


@pytest.mark.process
def test_plan_and_build_count_the_same_cells(capsys, plan, tmp_path):
    options = ["--dataset", "iris", "--learner", "LDC", "--repetitions", 3]
    found = json.loads(run(capsys, "plan", plan, *options, "--json")[0])
    assert found["total"]["cells"] == 6
    assert [line["label"] for line in found["learners"]] == ["draws", "LDC"]
    assert 0 < found["total"]["core_hours"] < 0.01
    root = tmp_path / "database"
    _, err = run(capsys, "build", plan, "--out", root, *options, "--workers", 1)
    assert "lcdb: 6 cells to compute" in err
    assert "lcdb: 100 % (6 of 6 cells)" in err
    assert json.loads(run(capsys, "status", root, "--json")[0])["cells"]["computed"] == 6


def test_plan_prints_times_that_people_can_read(capsys, plan):
    out, _ = run(capsys, "plan", plan, "--allow-import")
    assert "< 0.01" in out and not re.search(r"\de-\d", out)


def test_plan_tells_of_compiling(capsys, plan, monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "_is_marked", lambda kind: False)
    out, _ = run(capsys, "plan", plan)
    assert "kernels of NMC, LDC are compiled on the way, once per machine" in out
    assert json.loads(run(capsys, "plan", plan, "--json")[0])["compiling_core_hours"] > 0
    monkeypatch.setattr(compiling, "_is_marked", lambda kind: True)
    assert "compiled on the way" not in run(capsys, "plan", plan)[0]


def test_plan_estimates_the_experiments(capsys):
    names = ["--task", "moons", "--task", "circles", "--learner", "kNN", "--mode", "tuned"]
    found = json.loads(run(capsys, "plan", "dse", *names, "--trials", 40, "--json")[0])
    assert [p["part"] for p in found["parts"]] == ["dse-kNN-moons-tuned", "dse-kNN-circles-tuned"]
    assert [p["trials"] for p in found["parts"]] == [40, 40]
    twice = json.loads(run(capsys, "plan", "dse", *names, "--trials", 80, "--json")[0])
    assert twice["core_hours"] == pytest.approx(2 * found["core_hours"], abs=2e-4)
    ppo = ["--algorithm", "ppo", "--trials", 900, "--episodes", 100, "--partial-minibatch", "use"]
    reruns = ["--appendix-c", "--reruns", 30]
    lines = json.loads(run(capsys, "plan", "pendulum", *ppo, *reruns, "--json")[0])["parts"]
    assert [p["trials"] for p in lines] == [900, 30, 30, 30, 30]
    whole = run(capsys, "plan", "pendulum")[0]
    assert "pendulum-actor_critic" in whole and "pendulum-ppo" in whole and "4,000" in whole
    _, err = run(capsys, "plan", "dse", "--episodes", 10, code=1)
    assert "--episodes means nothing for 'dse'" in err
    assert "expected 1 or more" in run(capsys, "plan", "dse", "--trials", -1, code=1)[1]


def test_a_plan_takes_names_of_datasets():
    named = load_plan({"datasets": ["iris", 11], "learners": ["LDC"]})
    assert named.content == load_plan({"datasets": [61, 11], "learners": ["LDC"]}).content
    with pytest.raises(PlanError, match=r"'irsi'.* Did you mean 'iris'\?"):
        load_plan({"datasets": ["irsi"], "learners": ["LDC"]})
    with pytest.raises(PlanError, match="61 twice"):
        load_plan({"datasets": ["iris", 61], "learners": ["LDC"]})


@pytest.mark.parametrize("fault", [{"samplings": ["randm"]}, {"repetitions": 0}, {"sede": 1}])
def test_a_misspelt_learner_keeps_its_suggestion_beside_other_faults(fault):
    with pytest.raises(PlanError, match=r"Also: no learner 'LCD'\. Did you mean 'LDC'\?"):
        load_plan({"datasets": [61], "learners": ["LCD", "NMC"], **fault})


def test_a_misspelt_learner_comes_before_faults_of_parameters():
    plan = load_plan({"datasets": [61], "learners": {"LCD": {}, "RFOR": {"trees": "a"}}})
    with pytest.raises(LabelError, match=r"Did you mean 'LDC'\?"):
        plan_learners(plan)


def test_compile_takes_a_plan_and_learners(capsys, plan):
    _, err = run(capsys, "compile", plan, "--learner", "NMC", "--workers", 1)
    assert ("lcdb: " in err and "compiled" in err) or "kept in" in err
    out, err = run(capsys, "compile", plan, "--learner", "NMC", "--quiet")
    assert (out, err) == ("", "")
