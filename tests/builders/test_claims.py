"""Plans that cannot stand in one directory: the second is refused before anything is computed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from lcdb_builders.domain.unit import DRAWS
from lcdb_builders.storage import lease as leases
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Claims, Journal
from lcdb_builders.storage.pack import pack

from lcdb.errors import PlanError
from tests.support.chaos.fork import Forked
from tests.support.cubes import block_scores, toy_snapshot, toy_units

SNAPSHOT = toy_snapshot(rows=12)
R = 3
HERE = environment()
TOY = {"learners": ("NMC", "LDC"), "tunings": ("default",)}


def compute(root: Path, units, repetitions: int = R) -> None:
    journal = Journal(root)
    for unit in units:
        for block in journal.missing(unit, repetitions):
            journal.publish(block, block_scores(block), HERE)


def files(root: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}


# What each differs in from TOY at places that no curve of TOY has.
ELSEWHERE = {
    "master_seed": {"samplings": ("random",), "seed": 8},
    "params.ridge": {"samplings": ("random",), "params": '{"ridge":1.0}'},
    "sizes": {"samplings": ("random",), "sizes": (1, 2, 5)},
}


@pytest.mark.parametrize("packed", [True, False], ids=["in the cube", "in the journal"])
@pytest.mark.parametrize("key", ELSEWHERE)
def test_a_plan_is_compared_with_all_that_is_there(tmp_path, key, packed):
    units = toy_units(SNAPSHOT, **TOY)
    compute(tmp_path, units)
    if packed:
        pack(tmp_path, SNAPSHOT, units, R)
    before = files(tmp_path)
    other = toy_units(SNAPSHOT, **{**TOY, **ELSEWHERE[key]})
    for ask in (Journal(tmp_path).prepare, Journal(tmp_path).claim):
        with pytest.raises(PlanError, match=f"{key} is .* in the plan and .* of toy-"):
            ask(other)
    assert files(tmp_path) == before
    assert pack(tmp_path, SNAPSHOT, units, R).complete  # the first plan goes on


def test_an_implementation_is_one_for_all_curves_of_a_learner(tmp_path):
    compute(tmp_path, toy_units(SNAPSHOT, **TOY))
    other = [
        unit if unit.learner == DRAWS else replace(unit, implementation="toy-2")
        for unit in toy_units(SNAPSHOT, samplings=("random",))
    ]
    with pytest.raises(PlanError, match="implementation is 'toy-2' in the plan"):
        Journal(tmp_path).prepare(other)
    new = [replace(unit, learner="QDC") for unit in other if unit.learner == "LDC"]
    Journal(tmp_path).prepare(new)


def test_what_an_earlier_plan_only_wanted_is_in_nobodys_way(tmp_path):
    """Parameters of a curve that was never built do not bind the learner's other curves."""
    units = toy_units(SNAPSHOT, **TOY)
    compute(tmp_path, [unit for unit in units if unit.learner != "LDC"])
    pack(tmp_path, SNAPSHOT, units, R)
    other = toy_units(SNAPSHOT, learners=("LDC",), samplings=("random",), params='{"ridge":1.0}')
    Journal(tmp_path).prepare(other)
    compute(tmp_path, other)
    statuses = pack(tmp_path, SNAPSHOT, other, R).statuses
    assert statuses[other[-1].label] == "complete"


# -- claims ----------------------------------------------------------------------------------------


def test_of_two_builders_with_different_seeds_one_wins_at_once(tmp_path):
    one, other = toy_units(SNAPSHOT), toy_units(SNAPSHOT, seed=8)
    with Journal(tmp_path).claim(one):
        before = files(tmp_path)
        with pytest.raises(PlanError, match=r"master_seed is 8, not 7 in the plan of another"):
            Journal(tmp_path).claim(other)
        assert files(tmp_path) == before
        Journal(tmp_path).claim(one).release()  # the same plan again is welcome
        Journal(tmp_path).claim(toy_units(SNAPSHOT, learners=("QDC",))).release()
    Journal(tmp_path).claim(other).release()
    assert files(tmp_path) == {}


@pytest.mark.process
def test_builders_that_begin_together_are_told_apart(tmp_path):
    """However they race, exactly one plan goes on: others hear of it before they publish."""

    def begin(seed: int) -> str:
        try:
            claims = Journal(tmp_path).claim(toy_units(SNAPSHOT, seed=seed))
            compute(tmp_path, toy_units(SNAPSHOT, seed=seed))
        except PlanError:
            return "refused"
        claims.release()
        return "won"

    forks = [Forked(lambda seed=seed: begin(seed)) for seed in range(5)]
    assert sorted(fork.result() for fork in forks) == ["refused"] * 4 + ["won"]


@pytest.mark.process
def test_the_claim_of_a_killed_builder_counts_for_nothing(tmp_path):
    def die() -> None:
        Journal(tmp_path).claim(toy_units(SNAPSHOT))
        os._exit(9)

    assert Forked(die).wait() == 9
    assert len(list((tmp_path / "blocks").glob("toy.*.claim"))) == 1
    Journal(tmp_path).claim(toy_units(SNAPSHOT, seed=8)).release()
    assert files(tmp_path) == {}


@pytest.mark.process
def test_a_builder_that_lost_its_claim_publishes_nothing(tmp_path, monkeypatch):
    """It was stopped for longer than the lease; meanwhile another plan has the directory."""
    one, other = toy_units(SNAPSHOT), toy_units(SNAPSHOT, seed=8)
    monkeypatch.setattr(Claims, "LOOK", 0.0)
    claims = Journal(tmp_path).claim(one)
    monkeypatch.setattr(leases, "STALE", -1.0)
    Forked(lambda: compute_claimed(tmp_path, other)).result()
    monkeypatch.setattr(leases, "STALE", 300.0)
    before = files(tmp_path)
    with pytest.raises(PlanError, match="master_seed"):
        compute(tmp_path, one)
    with pytest.raises(PlanError, match="master_seed"):
        claims.check()
    claims.release()
    layouts = {p for p in files(tmp_path) if p.name == "layout.json"}
    assert files(tmp_path).keys() - layouts == before.keys() - layouts
    assert pack(tmp_path, SNAPSHOT, other, R).complete


def compute_claimed(root: Path, units) -> None:
    with Journal(root).claim(units):
        compute(root, units)


def test_a_lost_claim_is_made_again_where_nobody_minds(tmp_path, monkeypatch):
    monkeypatch.setattr(Claims, "LOOK", 0.0)
    with Journal(tmp_path).claim(toy_units(SNAPSHOT)) as claims:
        next((tmp_path / "blocks").glob("toy.*.claim")).unlink()
        claims.check()
        with pytest.raises(PlanError, match="master_seed"):
            Journal(tmp_path).claim(toy_units(SNAPSHOT, seed=8))


def test_a_refused_plan_gives_up_what_it_claimed_of_other_datasets(tmp_path):
    twin = toy_snapshot(rows=12, id="twin")
    compute(tmp_path, toy_units(twin, seed=8))
    before = files(tmp_path)
    with pytest.raises(PlanError, match="master_seed"):
        Journal(tmp_path).claim([*toy_units(SNAPSHOT), *toy_units(twin)])
    assert files(tmp_path) == before
