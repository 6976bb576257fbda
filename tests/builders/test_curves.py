"""Blocks of the reference path: paired rows, shared fits, and cells that stand alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lcdb_builders.domain.unit import DRAWS, Block, Unit, canonical_json
from lcdb_builders.learners import registry
from lcdb_builders.reference.block import draws_block, reference_block
from lcdb_builders.reference.cell import fit_cell, score_cell, training_rows, weighted_rows
from lcdb_builders.sources.bundled import bundled
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from threadpoolctl import threadpool_info, threadpool_limits

from lcdb.schema import LEARNERS, METRICS, SAMPLINGS, VARIABLES
from tests.oracles import sampling as oracle
from tests.oracles import tuning as tuning_oracle
from tests.support.counts import counts

SEED = 11
SIZES = (1, 2, 3, 5, 10, 40, 105)
FAST = {"RFOR": {"trees": 3}, "ADAB": {"stumps": 5}}


def unit_of(learner, snapshot, sampling="random", split="fixed", params=None, rule=""):
    return Unit(
        dataset=snapshot.id,
        dataset_sha256=snapshot.sha256,
        seed=SEED,
        learner=learner.name,
        estimator="",
        params=canonical_json(learner.complete(params or FAST.get(learner.name, {}))),
        implementation=learner.implementation,
        sampling=sampling,
        split=split,
        tuning="tuned" if rule else "default",
        tuning_rule=rule,
        sizes=SIZES,
    )


class Spy:
    """A learner whose estimator remembers the rows that it was fitted to and asked about."""

    foreign = False

    def __init__(self, learner):
        self.name, self.ranking = learner.name, learner.ranking
        self.learner = learner
        self.fits, self.queries = [], []

    def estimator(self, snapshot, params, **cell):
        inner, spy = self.learner.estimator(snapshot, params, **cell), self

        class Estimator:
            def fit(self, X, y):
                spy.fits.append(X.tolist())
                self.classes_ = inner.fit(X, y).classes_
                return self

            def predict_proba(self, X):
                spy.queries.append(X.tolist())
                return inner.predict_proba(X)

        return Estimator()


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("splits", [("fixed", "pool"), ("varying",)])
def test_all_learners_see_the_rows_of_the_oracle(sampling, splits):
    """The same rows for every learner, one fit for `fixed` and `pool`; copies stay together."""
    snapshot = bundled("61")
    sizes, stop = (2, 40), 3
    trained, tested = [], []
    for n in sizes:
        for r in range(stop):
            for split in splits:
                where = (150, SEED, snapshot.sha256, sampling, split, n, r, snapshot.y.tolist())
                train, test = oracle.cell(*where)
                tested.append(snapshot.X[test].tolist())
            together = [row for row in dict.fromkeys(train) for _ in range(train.count(row))]
            trained.append(snapshot.X[together].tolist())
    for name in ("NMC", "NNC", "DT"):
        spy = Spy(registry.get(name))
        unit = unit_of(spy.learner, snapshot, sampling, splits[0])
        reference_block(spy, snapshot, Block(unit, sizes, 0, stop), splits)
        assert spy.fits == trained
        assert spy.queries == tested


@pytest.mark.parametrize("name", LEARNERS)
def test_a_block_is_the_union_of_its_cells(name):
    """Bit for bit, in every variable, whatever else is in the block."""
    snapshot, learner = bundled("61"), registry.get(name)
    for sampling, splits in (("additive", ("varying",)), ("bootstrap", ("fixed", "pool"))):
        unit = unit_of(learner, snapshot, sampling, splits[0])
        whole = reference_block(learner, snapshot, Block(unit, (1, 5, 40), 3, 6), splits)
        for split in splits:
            for i, n in enumerate((1, 5, 40)):
                for j, r in enumerate((3, 4, 5)):
                    alone = Block(unit.with_split(split), (n,), r, r + 1)
                    cell = reference_block(learner, snapshot, alone, (split,))[split]
                    for variable, values in cell.items():
                        both = whole[split][variable][i, j], values[0, 0]
                        assert np.array_equal(*both, equal_nan=True), (split, n, r, variable)


@pytest.mark.parametrize("name", LEARNERS)
def test_dtypes_and_no_missing_scores(name):
    snapshot, learner = bundled("61"), registry.get(name)
    unit = unit_of(learner, snapshot, "bootstrap", "varying")
    scores = reference_block(learner, snapshot, Block(unit, SIZES, 0, 2), ("varying",))["varying"]
    assert set(scores) == {*METRICS, "n_clipped"}
    for variable, values in scores.items():
        assert values.dtype == VARIABLES[variable].dtype
        assert values.shape == (len(SIZES), 2)
        assert np.isfinite(values).all()
    one_class = scores["auc"][0]
    assert (one_class == 0.5).all()  # trained on one row: every class ties all rows


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_test_rows_does_not_matter(name):
    snapshot, learner = bundled("11"), registry.get(name)
    unit = unit_of(learner, snapshot)
    draws = unit.draws(snapshot)
    for n in (3, 40):
        estimator = fit_cell(learner, snapshot, unit, training_rows(draws, n, 0), n, 0)
        test = draws.test(n, 0)
        shuffled = np.random.default_rng(n).permutation(test)
        assert score_cell(learner, estimator, snapshot, test) == score_cell(
            learner, estimator, snapshot, shuffled
        )


def test_equal_to_a_plain_loop_over_scikit_learn():
    """LDA from scikit-learn on the oracle's rows, scored by scikit-learn's metric functions."""
    snapshot = bundled("61")
    learner = registry.get("LDC")
    unit = unit_of(learner, snapshot, "random", "varying", {"ridge": 1e-12})
    block = Block(unit, (40, 105), 0, counts(5, 100))
    found = reference_block(learner, snapshot, block, ("varying",))["varying"]
    for i, n in enumerate(block.sizes):
        for r in block.repetitions:
            where = (150, SEED, snapshot.sha256, "random", "varying", n, r)
            train, test = oracle.cell(*where)
            model = LinearDiscriminantAnalysis(solver="lsqr")
            model.fit(snapshot.X[train], snapshot.y[train])
            p, y = model.predict_proba(snapshot.X[test]), snapshot.y[test]
            assert found["accuracy"][i, r] == np.float32((p.argmax(axis=1) == y).mean())
            assert found["auc"][i, r] == pytest.approx(
                roc_auc_score(y, p, multi_class="ovr"),
                abs=2e-4,  # theirs ranks rounded p
            )
            assert found["brier"][i, r] == pytest.approx(brier_score_loss(y, p), rel=1e-5)
            assert found["cross_entropy"][i, r] == pytest.approx(log_loss(y, p), rel=1e-5)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("splits", [("fixed", "pool"), ("varying",)])
def test_draws_are_counted(sampling, splits):
    snapshot = bundled("61")
    unit = replace(unit_of(registry.get("NMC"), snapshot, sampling, splits[0]), learner=DRAWS)
    found = draws_block(snapshot, Block(unit, SIZES, 4, 7), splits)
    for split in splits:
        assert {k: v.dtype.name for k, v in found[split].items()} == {
            "n_test": "int32",
            "n_classes_train": "int8",
        }
        for i, n in enumerate(SIZES):
            for j, r in enumerate((4, 5, 6)):
                where = (150, SEED, snapshot.sha256, sampling, split, n, r, snapshot.y.tolist())
                train, test = oracle.cell(*where)
                assert found[split]["n_test"][i, j] == len(test)
                assert found[split]["n_classes_train"][i, j] == len(set(snapshot.y[train].tolist()))


@pytest.mark.parametrize("splits", [("fixed", "varying"), ("varying", "pool")])
def test_splits_with_other_training_sets_are_refused(splits):
    snapshot, learner = bundled("61"), registry.get("NMC")
    block = Block(unit_of(learner, snapshot), (5,), 0, 1)
    for compute in (draws_block, lambda *a: reference_block(learner, *a)):
        with pytest.raises(ValueError, match="share every fit"):
            compute(snapshot, block, splits)


def test_a_block_is_computed_with_one_thread(monkeypatch):
    """More threads of BLAS sum in another order: the bits would depend on the machine's cores."""
    snapshot, spy = bundled("61"), Spy(registry.get("NMC"))
    threads = []
    inner = spy.estimator

    def estimator(*args, **kwargs):
        threads.append({pool["num_threads"] for pool in threadpool_info()})
        return inner(*args, **kwargs)

    monkeypatch.setattr(spy, "estimator", estimator)
    with threadpool_limits(2):
        reference_block(
            spy, snapshot, Block(unit_of(spy.learner, snapshot), (5,), 0, 1), ("fixed",)
        )
        after = {pool["num_threads"] for pool in threadpool_info()}
    assert threads == [{1}]
    assert after == {2}


def test_weighted_rows_keep_the_order_of_the_first_draw():
    drawn = np.random.default_rng(0).integers(0, 9, 30)
    rows, times = weighted_rows(drawn)
    assert rows.tolist() == list(dict.fromkeys(drawn.tolist()))
    assert times.tolist() == [drawn.tolist().count(row) for row in rows]


# -- tuned ------------------------------------------------------------------------------------

PLACES = {"NMC": 0, "LDC": 5, "NNC": 0, "GSVC": 19, "DT": 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES)
def test_tuned_cells_equal_a_plain_loop(name):
    """Held-out rows from the oracle; every value fitted, scored, chosen and refitted here."""
    snapshot, learner = bundled("61"), registry.get(name)
    grid = {"parameter": learner.tuned_parameter, "grid": list(learner.grid)}
    rule = canonical_json({**grid, "tie": "nearest_default"})
    for sampling, splits in (("bootstrap", ("fixed", "pool")), ("random", ("varying",))):
        unit = unit_of(learner, snapshot, sampling, splits[0], rule=rule)
        block = Block(unit, (10, 40), 0, counts(3, 40))
        found = reference_block(learner, snapshot, block, splits)
        for i, n in enumerate(block.sizes):
            for r in block.repetitions:
                where = (150, SEED, snapshot.sha256, sampling, splits[0], n, r)
                fit, held = (np.array(rows) for rows in tuning_oracle.held_out(*where))
                assert len(fit) + len(held) == n
                for metric in METRICS:
                    _check_choice(learner, snapshot, unit, found, (i, n, r), metric, fit, held)


def _check_choice(learner, snapshot, unit, found, cell, metric, fit, held):
    i, n, r = cell
    scores = []
    for value in learner.grid:
        params = {**unit.parameters, learner.tuned_parameter: value}
        model = fit_cell(learner, snapshot, unit, fit, n, r, params)
        scores.append(getattr(score_cell(learner, model, snapshot, held), metric))
    best, tied = tuning_oracle.winner(
        scores, METRICS[metric].direction == "maximize", PLACES[learner.name]
    )
    flag = int(tied)
    if len(set(snapshot.y[held])) == 1:
        flag = 2
    if len(set(snapshot.y[fit])) == 1:
        flag = 3
    params = {**unit.parameters, learner.tuned_parameter: learner.grid[best]}
    for split, values in found.items():
        draws = unit.with_split(split).draws(snapshot)
        model = fit_cell(learner, snapshot, unit, training_rows(draws, n, r), n, r, params)
        right = score_cell(learner, model, snapshot, draws.test(n, r))
        assert values[f"choice_{metric}"][i, r] == best
        assert values[f"choice_flag_{metric}"][i, r] == flag
        assert values[metric][i, r] == np.float32(getattr(right, metric))
        if metric == "cross_entropy":
            assert values["n_clipped"][i, r] == right.n_clipped


def test_one_class_to_fit_on_takes_the_default():
    snapshot, learner = bundled("61"), registry.get("NNC")
    lonely = replace(snapshot, y=np.where(np.arange(150) == 0, 1, 0))
    grid = {"parameter": "neighbors", "grid": list(learner.grid), "tie": "nearest_default"}
    unit = unit_of(learner, lonely, "additive", "varying", {"neighbors": 7}, canonical_json(grid))
    unit = replace(unit, dataset_sha256=lonely.sha256)
    found = reference_block(learner, lonely, Block(unit, (10,), 0, 4), ("varying",))["varying"]
    assert (found["choice_flag_accuracy"] == 3).all()
    assert (found["choice_auc"] == 1).all()
    assert found["choice_brier"].dtype == np.int8


def test_ties_can_go_to_the_first():
    snapshot, learner = bundled("61"), registry.get("RFOR")
    chosen = {}
    for tie in ("first", "nearest_default"):
        rule = canonical_json({"parameter": "trees", "grid": [1, 2, 3, 4], "tie": tie})
        unit = unit_of(learner, snapshot, rule=rule)
        block = Block(unit, (10,), 0, 6)
        found = reference_block(learner, snapshot, block, ("fixed",))["fixed"]
        tied = found["choice_flag_accuracy"] == 1
        assert tied.any()
        chosen[tie] = found["choice_accuracy"][tied]
    assert (chosen["first"] < chosen["nearest_default"]).any()
    assert (chosen["first"] <= chosen["nearest_default"]).all()
