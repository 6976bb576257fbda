"""Cells computed again: bit-equal by the unit's own path, to tolerance by the reference."""

from __future__ import annotations

import json
import sys
from dataclasses import replace as changed
from pathlib import Path

import h5py
import numpy as np
import pytest
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.unit import DRAWS, Block
from lcdb_builders.learners import registry
from lcdb_builders.learners.gaussian import LDC, QDC
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.reference import linear as reference_linear
from lcdb_builders.reference.agreement import allowed
from lcdb_builders.reference.block import draws_block
from lcdb_builders.reference.cell import Answers
from lcdb_builders.reference.replay import recompute_cells, redefined_curves, replay
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.layout import Lengths
from lcdb_builders.storage.pack import pack

import lcdb
from lcdb.cli import main
from lcdb.errors import (
    DatasetError,
    FetchError,
    ImportRefusedError,
    LabelError,
    NotBuiltError,
    NotFoundError,
    RedefinedError,
)
from lcdb.schema import LEARNERS, METRICS
from lcdb.shipped import crossing
from tests.support.counts import counts
from tests.support.problems_tied import tied

PLAN = {
    "datasets": [61],
    "learners": {name: {} for name in LEARNERS}
    | {"RFOR": {"trees": 3}, "ADAB": {"stumps": 5}}
    | {"PRIOR": {"estimator": "estimators.Prior"}}
    | {"TREE": {"estimator": "sklearn.tree.DecisionTreeClassifier"}},
    "samplings": ["additive", "random", "bootstrap"],
    "splits": ["fixed", "varying"],
    "sizes": [1, 10, 40],
    "repetitions": 4,
    "seed": 5,
}
TUNED = {
    "datasets": [61],
    "learners": ["NMC", "NNC", "LDC"],
    "samplings": ["bootstrap"],
    "splits": ["fixed"],
    "tunings": ["tuned"],
    "sizes": [10, 40],
    "repetitions": 3,
    "seed": 5,
}


def build(root, content, snapshot=None, skip=()):
    """Build a database in this process."""
    plan, snapshot = load_plan(content), snapshot or bundled("61")
    learners = plan_learners(plan, allow_import=True)
    every = units(plan, snapshot, learners)
    blocks = Blocks(root)
    for unit in every:
        if unit.learner in skip:
            continue
        block = Block(unit, unit.sizes, 0, plan.repetitions)
        blocks.lengths(unit, Lengths(len(unit.sizes), plan.repetitions))
        if unit.learner == DRAWS:
            found = draws_block(snapshot, block, (unit.split,))
        else:
            found = learners[unit.learner].block(snapshot, block, (unit.split,))
        blocks.publish(block, found[unit.split], environment())
    pack(root, snapshot, every, plan.repetitions)
    snapshots.save(snapshot, root / "snapshots")
    return root


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return build(tmp_path_factory.mktemp("replay"), PLAN, skip=("QDC",))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    return build(tmp_path_factory.mktemp("tuned"), TUNED)


@pytest.mark.slow
def test_random_cells_are_bit_equal(database):
    seen = set()
    for cell in recompute_cells(database, counts(40, 1000), seed=1, allow_import=True):
        assert cell.expects_same_bits
        assert cell.same_bits, cell
        assert not cell.beyond_tolerance, cell
        assert cell.agrees
        seen.add(cell.unit.learner)
    assert len(seen) >= 9


def test_the_choice_of_cells_is_the_seeds(database):
    def places(seed):
        cells = recompute_cells(database, 5, seed, allow_import=True)
        return [cell.where for cell in cells]

    assert places(3) == places(3)
    assert places(3) != places(4)


def test_a_replay_holds_rows_model_and_scores(database):
    with lcdb.open(database) as db:
        cell = lcdb.replay(db, "iris", "LDC", "bootstrap", "varying", 40, 2)
        stored = float(db.curve(61, "LDC", sampling="bootstrap", split="varying").sel(n=40)[2])
    draws = cell.unit.draws(cell.snapshot)
    assert sorted(cell.train_rows) == sorted(draws.train(40, 2))
    assert (cell.test_rows == draws.test(40, 2)).all()
    y = cell.snapshot.y[cell.test_rows]
    labels = cell.estimator.predict(cell.snapshot.X[cell.test_rows])
    assert stored == np.float32((labels == y).mean()) == cell.stored["accuracy"]
    assert set(cell.estimators) == set(METRICS)
    text = repr(cell)
    assert "61/LDC/bootstrap/varying/default at n = 40, repetition 2" in text
    assert "bit-equal; the reference estimator: within tolerance" in text
    assert f"{stored:.7g}" in text


def test_a_changed_number_is_seen(database, tmp_path):
    """Of a cube that was tampered with, only what `verify` says of its digests would tell more."""
    broken = build(tmp_path / "db", {**PLAN, "learners": ["LDC"], "splits": ["fixed"]})
    with h5py.File(broken / "cubes" / "61.nc", "r+") as file:
        values = file["brier"][...]
        values[0, PLAN["samplings"].index("random"), 0, 0, 39, 1] += 1e-5
        file["brier"][...] = values
    cell = replay(broken, 61, "LDC", "random", "fixed", 40, 1)
    assert not cell.same_bits
    assert cell.beyond_tolerance == ("brier",)
    assert not cell.agrees
    assert "NOT bit-equal; the reference estimator: NOT within tolerance in brier" in repr(cell)
    assert (
        main(["replay", str(broken), "iris", "LDC", "--sampling", "random", "-n", "40", "-r", "1"])
        == 1
    )
    assert replay(broken, 61, "LDC", "random", "fixed", 40, 0).agrees


def test_another_implementation_need_not_have_the_same_bits(database, monkeypatch):
    class Other(LDC):
        implementation = "other-9"

    monkeypatch.setattr(registry, "for_unit", lambda unit, allow_import, root: Other())
    cell = replay(database, 61, "LDC", "random", "fixed", 40, 1)
    assert not cell.expects_same_bits
    assert cell.agrees


def test_another_machine_need_not_have_the_same_bits(database, monkeypatch):
    from lcdb_builders.reference import replay as module

    monkeypatch.setattr(module, "environment", lambda: {**environment(), "cpu": "another"})
    assert not replay(database, 61, "LDC", "random", "fixed", 40, 1).expects_same_bits


@pytest.mark.process
def test_a_single_cube_file_is_enough_for_a_bundled_dataset(database, tmp_path):
    (tmp_path / "61.nc").write_bytes((database / "cubes" / "61.nc").read_bytes())
    cell = replay(tmp_path / "61.nc", 61, "NMC", "random", "fixed", 10, 0)
    assert cell.same_bits
    assert not cell.expects_same_bits  # no manifest says which machine computed it


def test_tuned_cells_replay(tuned):
    for cell in recompute_cells(tuned, counts(12, 200), seed=2):
        assert cell.agrees, cell
        assert {f"choice_{name}" for name in METRICS} < set(cell.stored)
        parameter = json.loads(cell.unit.tuning_rule)["parameter"]
        grid = json.loads(cell.unit.tuning_rule)["grid"]
        for name, model in cell.estimators.items():
            assert getattr(model, parameter) == grid[cell.stored[f"choice_{name}"]]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"dataset": "irsi"}, LabelError, "Did you mean 'iris'"),
        ({"learner": "LCD"}, LabelError, "Did you mean 'LDC'"),
        ({"sampling": "additve"}, LabelError, "Did you mean 'additive'"),
        ({"tuning": "tuned"}, LabelError, "It holds: default"),
        ({"n": 11}, LabelError, "n = 11 is not a size of .*3 sizes from 1 to 40"),
        ({"repetition": 4}, LabelError, "expected 0 to 3"),
        ({"repetition": -1}, LabelError, "expected 0 to 3"),
        ({"learner": "QDC"}, NotBuiltError, "its status is 'not_built'"),
    ],
)
def test_cells_that_are_not_there(database, change, error, message):
    where = {
        "dataset": 61, "learner": "LDC", "sampling": "random", "split": "fixed",
        "n": 10, "repetition": 0,
    }  # fmt: skip
    with pytest.raises(error, match=message):
        replay(database, **(where | change))


def test_a_database_from_elsewhere_imports_nothing(database, monkeypatch):
    """The cube names a class of ours; replaying it must not import the module."""
    monkeypatch.delitem(sys.modules, "estimators")
    with pytest.raises(ImportRefusedError, match=r"'estimators\.Prior'.*--allow-import"):
        replay(database, 61, "PRIOR", "random", "fixed", 10, 0)
    with pytest.raises(ImportRefusedError):
        list(recompute_cells(database, 300))
    assert "estimators" not in sys.modules
    assert replay(database, 61, "PRIOR", "random", "fixed", 10, 0, allow_import=True).agrees
    assert replay(database, 61, "TREE", "random", "fixed", 10, 0).agrees


def test_other_data_are_refused(tmp_path):
    iris = bundled("61")
    root = build(tmp_path / "db", {**PLAN, "learners": ["NMC"]}, iris)
    for file in (root / "snapshots").iterdir():
        file.unlink()
    other = changed(iris, X=iris.X + 1.0)
    snapshots.save(other, root / "snapshots")
    with pytest.raises(DatasetError, match="these are other data"):
        replay(root, 61, "NMC", "random", "fixed", 10, 0)


def test_a_dataset_that_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "cache"))
    for id, error in (("999", FetchError), ("mine", NotFoundError)):
        own = changed(bundled("61"), id=id)
        root = build(tmp_path / id, {**PLAN, "learners": ["NMC"]}, own)
        for file in (root / "snapshots").iterdir():
            file.unlink()
        with pytest.raises(error, match=id):
            replay(root, id, "NMC", "random", "fixed", 10, 0)


def test_nothing_complete_to_recompute(tmp_path):
    root = build(tmp_path / "db", {**PLAN, "learners": ["NMC"]}, skip=("NMC",))
    with pytest.raises(NotFoundError, match="no complete curve"):
        list(recompute_cells(root, 1))


def test_the_command(database, capsys):
    command = ["replay", str(database), "iris", "NNC", "--sampling", "random"]
    assert main([*command, "-n", "10", "-r", "2"]) == 0
    assert "Replay of 61/NNC/random/varying/default at n = 10" in capsys.readouterr().out
    assert main([*command, "-n", "10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agrees"]
    assert len(found["train_rows"]) == 10
    assert found["stored"]["accuracy"] == found["recomputed"]["accuracy"]
    assert main([*command, "-n", "500"]) == 1
    assert "is not a size of" in capsys.readouterr().err


def test_the_command_knows_what_ships_by_name(capsys):
    assert main(["replay", "tutorial", "iris", "LDC", "-n", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["agrees"] and len(found["train_rows"]) == 20


def test_the_command_replays_other_splits_tunings_and_classes(database, tuned, capsys):
    where = ["iris", "PRIOR", "--split", "varying", "-n", "10"]
    assert main(["replay", str(database), *where, "--allow-import", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["test_rows"]) == 140  # all that were not drawn
    with lcdb.open(database) as db:
        stored = db.curve("iris", "PRIOR", split="varying").sel(n=10)[0]
    assert found["stored"]["accuracy"] == pytest.approx(float(stored))
    where = ["iris", "NNC", "--sampling", "bootstrap", "--split", "fixed", "-n", "40"]
    assert main(["replay", str(tuned), *where, "--tuning", "tuned", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    with lcdb.open(tuned) as db:
        cell = lcdb.replay(db, "iris", "NNC", "bootstrap", "fixed", 40, 0, tuning="tuned")
        assert cell.agrees and cell.unit.tuning == "tuned"
        choice = db["iris"]["choice_auc"].sel(learner="NNC", n=40, repetition=0).item()
    assert found["stored"]["choice_auc"] == found["recomputed"]["choice_auc"] == choice >= 0


# -- what may differ --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(counts(40, 1000)))
def test_moved_scores_move_metrics_by_no_more_than_allowed(seed):
    """Scores are moved at random within the tolerance, also where rows nearly tie."""
    rng = np.random.default_rng(seed)
    classes, rows, tolerance = int(rng.integers(2, 5)), 40, 10.0 ** rng.integers(-9, -1)
    scores = rng.normal(scale=10 ** rng.uniform(-1, 2), size=(rows, classes))
    near = rng.integers(0, rows, rows // 2)
    scores[near, 0] = scores[near, 1] + rng.normal(scale=tolerance, size=len(near))
    scores[rng.integers(0, rows, 10)] = scores[0] + rng.normal(scale=tolerance, size=classes)
    if rng.random() < 0.3:
        scores[:, -1] = -np.inf
    y = rng.integers(0, classes, rows)
    size = np.where(np.isfinite(scores), np.abs(scores), 0).max(axis=1, keepdims=True)
    moved = scores + rng.uniform(-1, 1, scores.shape) * tolerance * (1 + size)
    limits = allowed(Answers(y, scores, None, "log_odds"), tolerance)
    before = vars(Answers(y, scores, None, "log_odds").metrics)
    after = vars(Answers(y, moved, None, "log_odds").metrics)
    for name, limit in limits.items():
        same = np.isnan(before[name]) and np.isnan(after[name])
        assert same or abs(after[name] - before[name]) <= 1.1 * limit + 1e-12, name


def test_without_near_ties_labels_and_order_must_agree():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    limits = allowed(Answers(y, scores, None, "log_odds"), 1e-9)
    exact = allowed(Answers(y, scores, None, "log_odds"), 0.0)
    assert limits["accuracy"] == exact["accuracy"] <= 2.0**-23
    assert limits["auc"] == exact["auc"] <= 2.0**-23
    assert limits["n_clipped"] == 0
    assert limits["cross_entropy"] < 1e-6


# -- cells that cannot be computed again ----------------------------------------------------------


def no_optimum(*arguments):
    raise ArithmeticError("no optimum here")


@pytest.mark.slow
def test_a_reference_that_fails_is_told_and_the_next_cell_is_computed(
    database, monkeypatch, capsys
):
    monkeypatch.setattr(reference_linear.LREG, "_minimise", no_optimum)
    cell = replay(database, 61, "LREG", "additive", "fixed", 40, 1)
    assert cell.same_bits and cell.agrees and cell.unchecked
    assert cell.estimator is None
    assert "no optimum here" in cell.verdict and "no optimum here" in repr(cell)
    assert json.loads(json.dumps(cell.as_json()))["unchecked"]
    recomputed = list(recompute_cells(database, 40, seed=1, allow_import=True))
    failed = sum(cell.unchecked for cell in recomputed)
    assert 0 < failed < 40 and all(cell.agrees for cell in recomputed)
    verify = ["verify", str(database), "--recompute", "40", "--seed", "1", "--allow-import"]
    assert main([*verify, "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "WRONG" not in told and told.count("UNCHECKED 61/LREG/") == failed
    assert f"{40 - failed} of 40 recomputed cells are as stored" in told
    assert f"{failed} could not be checked on both sides" in told
    place = ["61", "LREG", "-n", "40", "--split", "fixed"]
    assert main(["replay", str(database), *place]) == 1


def test_a_path_that_fails_is_told(database, monkeypatch):
    monkeypatch.setattr(LDC, "block", no_optimum)
    cell = replay(database, 61, "LDC", "random", "fixed", 40, 1)
    assert not cell.same_bits and cell.agrees and cell.unchecked
    assert "own path: failed (no optimum here); the reference estimator: within" in cell.verdict
    assert "brier" in repr(cell)


def test_wrong_numbers_are_wrong_whatever_the_reference_says(tmp_path, monkeypatch):
    broken = build(tmp_path / "db", {**PLAN, "learners": ["LREG"], "splits": ["fixed"]})
    with h5py.File(broken / "cubes" / "61.nc", "r+") as file:
        values = file["brier"][...]
        values[0, :, 0, 0, 39, 1] += 1e-5
        file["brier"][...] = values
    monkeypatch.setattr(reference_linear.LREG, "_minimise", no_optimum)
    cell = replay(broken, 61, "LREG", "random", "fixed", 40, 1)
    assert cell.expects_same_bits and not cell.agrees


@pytest.mark.slow
def test_additive_cells_of_few_distinct_rows_replay_alone(tmp_path):
    """A block holds all sizes; a replay computes one."""
    X, y = tied("few rows", 1, 120)
    names = tuple("abcdef"[: X.shape[1]])
    own = changed(bundled("61"), id="mine", X=X, y=y, feature_names=names)
    content = {
        "datasets": [{"id": "mine", "file": "mine.csv", "target": "y"}],
        "learners": ["LREG", "LSVC", "GSVC"],
        "samplings": ["additive"],
        "splits": ["fixed", "varying"],
        "sizes": "all",
        "repetitions": 4,
    }
    root = build(tmp_path / "db", content, own)
    for cell in recompute_cells(root, counts(30, 1000), seed=2):
        assert cell.expects_same_bits
        assert cell.agrees, cell


VERSION_1 = Path(__file__).parents[1] / "databases" / "version-1"


def test_cells_of_an_earlier_definition_are_refused_by_name(capsys):
    """Those of LDC in a database of version 1: its ridge was of another kind."""
    refused = (
        "varying-default was computed by an earlier definition of LDC .kernel-2; its ridge was"
    )
    labels = {"sampling": "random", "split": "varying"}
    with lcdb.open(VERSION_1) as db:
        calls = (
            lambda: lcdb.replay(db, "iris", "LDC", "random", "varying", n=20, repetition=1),
            lambda: db.predictions("iris", "LDC", n=20, **labels),
            lambda: db.derive("iris", "LDC", "kappa", n=20, **labels),
        )
        for call in calls:
            with pytest.raises(RedefinedError, match=refused):
                call()
        assert replay(db, "iris", "NMC", "random", "varying", n=20, repetition=1).agrees
        assert np.isfinite(db.curve("iris", "LDC", **labels).sel(n=20)).all()
    asked = ["replay", str(VERSION_1), "iris", "LDC", "--sampling", "random", "-n", "20", "-r", "1"]
    assert main(asked) == 1
    assert "earlier definition of LDC" in capsys.readouterr().err


def test_verify_names_the_curves_that_it_cannot_recompute(capsys):
    assert {cell.unit.learner for cell in recompute_cells(VERSION_1, 8)} == {"NMC"}
    assert main(["verify", str(VERSION_1), "--recompute", "2", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "no cell of 4 curves of LDC was recomputed: kernel-2 is an earlier definition" in told
    assert "2 of 2 recomputed cells are as stored" in told
    assert main(["verify", str(VERSION_1), "--recompute", "2", "--quiet", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    expected = {"learner": "LDC", "implementation": "kernel-2", "curves": 4}
    assert content["redefined"] == [expected]


def test_a_database_of_earlier_definitions_alone_is_refused(monkeypatch):
    for learner in (LDC, QDC):
        monkeypatch.setattr(learner, "former", {"kernel-3": "it was another"})
    root = crossing().path
    assert redefined_curves(root) == {("LDC", "kernel-3"): 3, ("QDC", "kernel-3"): 3}
    with pytest.raises(RedefinedError, match="kernel-3; it was another"):
        list(recompute_cells(root, 1))
