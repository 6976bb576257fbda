"""Blocks of LREG and LSVC: the optimum of every cell, and the metrics that follow from it."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.kernels.core.sets import draw
from lcdb_builders.learners.batch import task_of
from lcdb_builders.learners.linear import LREG, LSVC
from lcdb_builders.learners.svm import GSVC

from tests.oracles import linear as oracle
from tests.support.counts import counts
from tests.support.onevsrest import (
    SAMPLINGS,
    block_of,
    cells,
    check_metrics,
    fitted,
    log_scores,
    snapshot_of,
    spread_of,
)
from tests.support.problems import KINDS, problem
from tests.support.snapshots import REAL, real

CASES = [
    pytest.param(learner, {name: value}, id=f"{learner.name}-{name}={value}")
    for learner, name, value in (
        (LREG(), "ridge", 1e-4),
        (LREG(), "ridge", 1e-1),
        (LSVC(), "C", 1.0),
        (LSVC(), "C", 1e-3),
    )
]
BOTH = [pytest.param(learner, id=learner.name) for learner in (LREG(), LSVC())]
SPLITS = ("fixed", "varying")


def signs(y):
    """The binary problems of a multi-class one; a single one for two classes."""
    classes = np.unique(y)[1:] if len(np.unique(y)) == 2 else np.unique(y)
    return [np.where(y == c, 1.0, -1.0) for c in classes]


def optimum(learner, params, X, y, test):
    """Decision values at the optimum, in extended precision."""
    ones = np.ones(X.shape[1])
    if learner.name == "LREG":
        loss, penalty = oracle.logistic, np.append(params["ridge"] * ones, 0)
    else:
        loss, penalty = oracle.squared_hinge(params["C"]), np.append(ones, 1)
    found = [oracle.minimise(X, sign, loss, penalty) for sign in signs(y)]
    return np.array([test @ at[:-1] + at[-1] for at in found], float).T


def distance(found, right):
    """Largest |Δf| / (1 + |f|)."""
    return (np.abs(found - right) / (1 + np.abs(right))).max() if right.size else 0.0


def tolerance_of(id, params):
    """How far decision values may be from the reference's.

    Features of software metrics are nearly dependent and range over eight decades. With so little
    penalty, a cell in some thousands is off by 1e-5 to 4e-5: Hessians that are formed, or carried,
    have lost that many digits. The contract has 1e-2 there.
    """
    return 1e-4 if id == "1063" and params in ({"ridge": 1e-4}, {"C": 1.0}) else 1e-5


def close_calls(scores, tolerance):
    """Rows whose two best scores are closer than the tolerance."""
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] <= tolerance * (1 + np.abs(best[:, -1]))


@pytest.mark.parametrize(("learner", "params"), CASES)
@pytest.mark.parametrize("id", REAL)
def test_real_data(id, learner, params):
    """Every cell is the reference's."""
    snapshot = real(id)
    tolerance = tolerance_of(id, params)
    sizes = spread_of(snapshot.X, snapshot.rows)[:: counts(4, 1)]
    for sampling in SAMPLINGS:
        for split in SPLITS:
            block = block_of(learner, snapshot, sampling, split, sizes, 0, counts(1, 5), **params)
            for cell in cells(learner, snapshot, block):
                X, y, test = snapshot.X[cell.train], snapshot.y[cell.train], snapshot.X[cell.test]
                check_metrics(cell, snapshot)
                if len(cell.classes) == 1:
                    continue
                model = learner.estimator(snapshot, params).fit(X, y)
                right = model.decision_function(test).reshape(len(test), -1)
                assert distance(fitted(cell), right) <= tolerance, (sampling, split, cell.n)
                scores = log_scores(fitted(cell), cell.classes, snapshot.classes)
                same = scores.argmax(axis=1) == model.predict(test)
                assert (same | close_calls(scores, 2 * tolerance)).all()


@pytest.mark.parametrize(("learner", "params"), CASES)
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_generated_data(kind, classes, learner, params):
    """Every cell is the optimum in extended precision, whatever is wrong with the data."""
    for seed in range(counts(1, 8)):
        X, y, _ = problem(kind, seed, classes)
        if len(y) < 5:
            X, y = np.tile(X, (3, 1)), np.tile(y, 3)
        snapshot = snapshot_of(X, y)
        m = len(y) * 7 // 10
        for sampling in SAMPLINGS:
            block = block_of(
                learner, snapshot, sampling, SPLITS[seed % 2], range(1, m + 1, 2), 0, 1, **params
            )
            for cell in cells(learner, snapshot, block):
                check_metrics(cell, snapshot)
                if len(cell.classes) > 1:
                    right = optimum(learner, params, X[cell.train], y[cell.train], X[cell.test])
                    assert distance(fitted(cell), right) <= 1e-6, (sampling, cell.n)


@pytest.mark.parametrize("learner", [*BOTH, pytest.param(GSVC(), id="GSVC")])
def test_classes_without_a_fit_have_no_decisions(learner):
    """The first of two classes, and whatever a cell lacks."""
    rng = np.random.default_rng(1)
    snapshot = snapshot_of(rng.normal(size=(60, 2)), np.repeat([0, 1, 2], [30, 28, 2]))
    for sampling in SAMPLINGS:
        block = block_of(learner, snapshot, sampling, "fixed", [1, 4, 9], 0, 3)
        for cell in cells(learner, snapshot, block):
            has_fit = set(cell.classes[len(cell.classes) < 3 :]) if len(cell.classes) > 1 else set()
            for c in range(3):
                assert np.isnan(cell.decisions[:, c]).all() == (c not in has_fit)


@pytest.mark.parametrize("learner", BOTH)
def test_long_steps_of_n(learner):
    """A list of sizes with gaps: rows that join at once, classes that come and stay away."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 3))
    y = np.where(rng.uniform(size=90) < 0.1, rng.integers(1, 4, 90), 0)
    y[:4] = range(4)
    snapshot = snapshot_of(X, y)
    for sizes in ([1, 3, 4, 5, 6, 11, 30, 31, 60, 63], [50], [2, 63]):
        block = block_of(learner, snapshot, "additive", "fixed", sizes, 0, counts(4, 40))
        for cell in cells(learner, snapshot, block):
            check_metrics(cell, snapshot)
            if len(cell.classes) > 1:
                model = learner.estimator(snapshot, {}).fit(X[cell.train], y[cell.train])
                right = model.decision_function(X[cell.test]).reshape(len(cell.test), -1)
                assert distance(fitted(cell), right) <= 1e-6


def test_additive_order_is_that_of_the_draws():
    """What the tests above take for granted about the columns of additive blocks."""
    X, y, _ = problem("ordinary", 1, 2)
    snapshot = snapshot_of(X, y)
    block = block_of(LREG(), snapshot, "additive", "varying", [5])
    order = np.empty(len(y), np.int64)
    draw(task_of(snapshot, block), 0, 0, order)
    assert (order[:5] == block.unit.draws(snapshot).train(5, 0)).all()
    assert (np.sort(order) == np.arange(len(y))).all()
