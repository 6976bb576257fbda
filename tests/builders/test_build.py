"""A plan becomes cubes: the same bytes however it is built, and nothing is computed twice."""

import random

import h5py
import lcdb_builders
import pytest
from lcdb_builders.planning import cost
from lcdb_builders.run import build as module
from lcdb_builders.run.status import overview
from lcdb_builders.storage.repair import verify

import lcdb
from lcdb.errors import FailedBlocksError, PlanError
from tests.support.counts import first

pytestmark = pytest.mark.process

PLAN = {
    "datasets": [61],
    "learners": ["NMC", "DT"],
    "samplings": ["additive", "bootstrap"],
    "splits": ["fixed", "varying"],
    "sizes": [1, 7, 40, 105],
    "repetitions": 12,
    "seed": 5,
}
UNITS = 2 * 2 * (2 + 1)  # with the draws


@pytest.fixture
def short_blocks(monkeypatch):
    """Blocks of a few repetitions, so that a unit has several."""
    monkeypatch.setattr(cost, "BLOCK_SECONDS", 5e-5)
    cost._repetition_seconds.cache_clear()


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """The plan built in one go by one worker, one block per unit."""
    root = tmp_path_factory.mktemp("at_once")
    report = lcdb_builders.build(PLAN, root, workers=1)
    assert (report.computed, report.duplicates, report.elsewhere) == (UNITS, 0, 0)
    return report.cubes["61"].sha256


def leases(root):
    return [path for path in root.rglob("*") if path.suffix in {".lease", ".lock", ".tmp"}]


@pytest.mark.parametrize("workers", first([2, 4], 1))
def test_the_same_bytes_whatever_the_workers_and_the_order(
    tmp_path, at_once, short_blocks, monkeypatch, workers
):
    def shuffled(jobs, costs, start=0):
        jobs = sorted(jobs, key=lambda job: job.block.key)
        random.Random(workers).shuffle(jobs)
        return jobs

    monkeypatch.setattr(module, "order", shuffled)
    report = lcdb_builders.build(PLAN, tmp_path, workers=workers)
    assert report.computed > 2 * UNITS
    assert report.cubes["61"].sha256 == at_once
    assert leases(tmp_path) == []
    assert verify(tmp_path).intact


@pytest.mark.full
def test_learners_one_after_the_other(tmp_path, at_once):
    first = lcdb_builders.build(PLAN, tmp_path, workers=1, learners=["DT"])
    assert first.computed == 2 * 2 * 2
    with lcdb.open(tmp_path) as database:
        assert list(database["iris"]["learner"].values) == ["NMC", "DT"]
    status = {curve.unit.learner: curve.status for curve in overview(tmp_path).curves}
    assert status == {"NMC": "not_built", "DT": "complete"}
    second = lcdb_builders.build(PLAN, tmp_path, workers=1)
    assert second.computed == 2 * 2
    assert second.cubes["61"].sha256 == at_once
    third = lcdb_builders.build(PLAN, tmp_path, workers=1)
    assert third.computed == 0
    assert not third.cubes["61"].written


def test_a_plan_grows(tmp_path):
    """By a learner, a split, repetitions and a dataset: only what is new is computed."""
    grown = dict(PLAN, learners=["NMC"], splits=["fixed"], repetitions=5)
    steps = [
        ({}, 2 * (1 + 1)),
        ({"learners": ["NMC", "DT"]}, 2),
        ({"splits": ["fixed", "pool"]}, 2 * (2 + 1)),
        ({"repetitions": 12}, 2 * 2 * (2 + 1)),
        ({"datasets": [61, 11]}, 2 * 2 * (2 + 1)),
    ]
    for change, new in steps:
        grown |= change
        report = lcdb_builders.build(grown, tmp_path, workers=1)
        assert report.computed == new, change
    whole = lcdb_builders.build(grown, tmp_path / "whole", workers=1)
    assert whole.computed == 2 * 2 * 2 * (2 + 1)
    for dataset, cube in whole.cubes.items():
        assert report.cubes[dataset].sha256 == cube.sha256


def test_a_changed_plan_is_refused(tmp_path):
    small = dict(PLAN, learners=["NMC"], samplings=["random"], splits=["fixed"])
    lcdb_builders.build(small, tmp_path, workers=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for change, key in [
        ({"seed": 6}, "master_seed"),
        ({"sizes": [1, 7]}, "sizes"),
        ({"learners": {"NMC": {"shrinkage": 0.5}}}, "params.shrinkage"),
    ]:
        with pytest.raises(PlanError, match=key):
            lcdb_builders.build(dict(small, **change), tmp_path, workers=1)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def strange(learner, **params):
    return {
        "datasets": [61],
        "learners": {learner: {"estimator": f"estimators.{learner}", "params": params}, "NMC": {}},
        "samplings": ["random"],
        "splits": ["fixed"],
        "sizes": [2, 5],
        "repetitions": 3,
    }


def test_blocks_fail_and_time_out_and_all_others_are_built(tmp_path):
    """One repetition: of the class that runs out of time, the cell at n = 5 is a block."""
    plan = strange("RunsOut") | {"repetitions": 1}
    plan["learners"]["LosesItsDisk"] = {"estimator": "estimators.LosesItsDisk"}
    with pytest.raises(FailedBlocksError) as caught:
        lcdb_builders.build(plan, tmp_path, workers=1, timeout=600, allow_import=True)
    assert caught.value.exit_code == 3
    many = str(caught.value).split(" of the blocks")[0]
    assert sorted(many.split(" and ")) == ["1 failed", "1 timed out"]
    curves = {curve.unit.learner: curve for curve in overview(tmp_path).curves}
    assert {name: c.status for name, c in curves.items()} == {
        "NMC": "complete",
        "RunsOut": "timed_out",
        "LosesItsDisk": "failed",
    }
    assert "no result within 600 s" in curves["RunsOut"].reason
    assert "three rows are too many" in curves["LosesItsDisk"].reason
    with h5py.File(tmp_path / "cubes" / "61.nc") as cube:
        assert sorted(cube["status"][:].reshape(-1).tolist()) == [1, 2, 3]
    assert leases(tmp_path) == []


@pytest.mark.full
def test_what_failed_is_tried_again_only_when_asked(tmp_path):
    plan = strange("NeedsFile", path=str(tmp_path / "file"))
    root = tmp_path / "database"
    with pytest.raises(FailedBlocksError, match="no such file yet"):
        lcdb_builders.build(plan, root, workers=1, allow_import=True)
    (tmp_path / "file").touch()
    with pytest.raises(FailedBlocksError):
        lcdb_builders.build(plan, root, workers=1, allow_import=True)
    for_ever = {"retry_failed": True, "timeout": None}
    report = lcdb_builders.build(plan, root, workers=1, allow_import=True, **for_ever)
    assert report.computed == 1
    assert set(report.cubes["61"].statuses.values()) == {"complete"}


@pytest.mark.full
def test_a_mixed_file_is_a_dataset(tmp_path):
    """Strings, missing cells, a boolean column, a constant column and seven classes."""
    draw = random.Random(7)
    lines = ["colour,weight,wet,same,class"]
    for i in range(84):
        colour = draw.choice(["red", "green", "blue"]) if i % 10 else ""
        weight = f"{draw.random():.3f}" if i % 7 else ""
        lines.append(f"{colour},{weight},{draw.choice(['true', 'false'])},1,c{i % 7}")
    (tmp_path / "mixed.csv").write_text("\n".join(lines) + "\n")
    plan = tmp_path / "mine.toml"
    plan.write_text(
        'datasets = [{ id = "mixed", file = "mixed.csv", target = "class" }]\n'
        'learners = ["NMC", "QDC", "NNC"]\nsamplings = ["bootstrap"]\n'
        "sizes = { log = 4 }\nrepetitions = 5\n"
    )
    root = tmp_path / "database"
    report = lcdb_builders.build(plan, root, workers=1)
    assert set(report.cubes["mixed"].statuses.values()) == {"complete"}
    with lcdb.open(root) as database:
        cube = database["mixed"]
        assert cube.attrs["n_classes"] == 7
        assert cube.attrs["imputed_cells"] == 9 + 12
    (tmp_path / "mixed.csv").unlink()
    again = lcdb_builders.build(plan, root, workers=1)
    assert again.computed == 0
