"""Cells do not depend on those they are computed with; optima are exact to the last digits.

On data of few distinct rows both decide what ties: free support vectors all have decision values of
exactly 1 or -1, and an error in the last bits orders them.
"""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.learners import registry
from lcdb_builders.learners.linear import LREG, LSVC
from lcdb_builders.learners.svm import GSVC

from lcdb.schema import LEARNERS
from tests.oracles import linear as oracle
from tests.support.counts import FULL, counts
from tests.support.onevsrest import SAMPLINGS, block_of, cells, fitted, snapshot_of
from tests.support.problems_tied import KINDS, tied
from tests.support.snapshots import REAL, real

CHEAP = {"RFOR": {"trees": 3}, "ADAB": {"stumps": 5}}


def scores_of(learner, snapshot, split, sizes, repetitions):
    params = {} if FULL else CHEAP.get(learner.name, {})
    block = block_of(learner, snapshot, "additive", split, sizes, 0, repetitions, **params)
    return learner.block(snapshot, block, (split,))[split]


def compare_lists(name, snapshot, split, sizes, short, repetitions):
    """Whether cells in a list of sizes are those of a short list, bit for bit."""
    learner = registry.get(name)
    every = scores_of(learner, snapshot, split, sizes, repetitions)
    some = scores_of(learner, snapshot, split, short, repetitions)
    place = [list(sizes).index(n) for n in short]
    for score, values in some.items():
        np.testing.assert_array_equal(values, every[score][place], err_msg=f"{name} {score}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_cell_is_the_same_in_every_list_of_sizes(name, kind):
    """At full counts 100,000 cells along additive curves, with all sizes and with a short list."""
    rows, count, repetitions = counts(150, 2000), counts(15, 120), counts(2, 7)
    for seed in range(counts(1, 4)):
        snapshot = snapshot_of(*tied(kind, seed, rows))
        m = rows * 7 // 10
        draw = np.random.default_rng(seed)
        short = sorted((1 + draw.choice(m, count, replace=False)).tolist())
        split = ("fixed", "varying")[(seed + KINDS.index(kind)) % 2]
        compare_lists(name, snapshot, split, range(1, m + 1), short, repetitions)


@pytest.mark.parametrize("learner", [LREG(), LSVC(), GSVC()], ids=lambda learner: learner.name)
@pytest.mark.parametrize("id", REAL)
def test_real_cells_are_the_same_in_every_list_of_sizes(id, learner):
    """Also where rows are nearly dependent, or nearly alike to the kernel."""
    snapshot = real(id)
    m = min(snapshot.rows * 7 // 10, counts(80, 10**6))
    short = [2, 7, 31, 32, 33, 64, m]
    for split in ("fixed", "varying"):
        compare_lists(learner.name, snapshot, split, range(1, m + 1), short, counts(1, 10))


@pytest.mark.parametrize("C", [1.0, 0.05])
@pytest.mark.parametrize("kind", KINDS)
def test_free_support_vectors_decide_one(kind, C):
    """Rows of few kinds, as test rows too: free ones are at 1 or -1, nearer than float32 sees.

    Others may be near by chance, but then are so in the reference.
    """
    learner, seen = GSVC(), 0
    for seed in range(counts(2, 10)):
        X, y = tied(kind, seed, 300)
        snapshot = snapshot_of(X, y)
        for sampling in SAMPLINGS:
            sizes = [12, 40, 41, 90, 210]
            block = block_of(learner, snapshot, sampling, "varying", sizes, 0, 2, C=C)
            for cell in cells(learner, snapshot, block):
                found = fitted(cell)
                distance = np.abs(np.abs(found) - 1)
                beside = (distance < 1e-7) & (distance > 1e-12)
                if beside.any():
                    model = learner.estimator(snapshot, {"C": C}).fit(X[cell.train], y[cell.train])
                    right = model.decision_function(X[cell.test]).reshape(found.shape)
                    off = np.abs(found - right)[beside].max()
                    assert off <= 1e-12, (sampling, cell.n, distance[beside].max(), off)
                seen += (distance <= 1e-12).sum()
    assert seen > 100


@pytest.mark.parametrize("rows", [6, 9, 13, 20])
def test_free_support_vectors_of_small_pools_decide_one(rows):
    """Also where nearly all rows are free."""
    rng, learner, seen = np.random.default_rng(rows), GSVC(), 0
    for sampling in SAMPLINGS:
        snapshot = snapshot_of(rng.normal(size=(rows, 3)), np.arange(rows) % 2)
        block = block_of(learner, snapshot, sampling, "varying", [rows * 7 // 10], 0, 9, C=100.0)
        decisions = np.full((1, 9, 2, rows), np.nan)
        learner.values(snapshot, block, ("varying",), decisions)
        distance = np.abs(np.abs(decisions[0, :, 1]) - 1)
        assert not ((distance < 1e-7) & (distance > 1e-12)).any(), sampling
        seen += (distance <= 1e-12).sum()
    assert seen > 50


@pytest.mark.parametrize("learner", [LREG(), LSVC()], ids=lambda learner: learner.name)
@pytest.mark.parametrize("kind", KINDS)
def test_linear_models_are_the_optimum_to_twelve_digits(kind, learner):
    """Against Newton steps in extended precision."""
    for seed in range(counts(1, 6)):
        X, y = tied(kind, seed, 120)
        snapshot = snapshot_of(X, y)
        for sampling in SAMPLINGS:
            block = block_of(learner, snapshot, sampling, "varying", [9, 30, 84], 0, 1)
            for cell in cells(learner, snapshot, block):
                if len(cell.classes) < 2:
                    continue
                train, test = X[cell.train], X[cell.test]
                for k, right in enumerate(oracle_decisions(learner, train, y[cell.train], test)):
                    found = fitted(cell)[:, k]
                    scale = 1 + np.abs(right).max()
                    assert np.abs(found - right).max() <= 1e-12 * scale, (sampling, cell.n)


def oracle_decisions(learner, X, y, test):
    classes = np.unique(y)[1:] if len(np.unique(y)) == 2 else np.unique(y)
    ones = np.ones(X.shape[1])
    if learner.name == "LREG":
        loss, penalty = oracle.logistic, np.append(1e-4 * ones, 0)
    else:
        loss, penalty = oracle.squared_hinge(1.0), np.append(ones, 1)
    for c in classes:
        at = oracle.minimise(X, np.where(y == c, 1.0, -1.0), loss, penalty)
        yield np.asarray(test @ at[:-1] + at[-1], float)
