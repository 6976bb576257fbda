"""Blocks of GSVC: the optimum of every cell, and the metrics that follow from it."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.kernels.svm.gram import gram_of, place_of
from lcdb_builders.learners.svm import GSVC
from lcdb_builders.reference.metrics import TIED, labels
from lcdb_builders.reference.svm import dataset_gamma
from scipy import stats
from sklearn.svm import SVC

from tests.oracles import linear as oracle
from tests.support.counts import counts
from tests.support.onevsrest import (
    SAMPLINGS,
    block_of,
    cells,
    check_metrics,
    fitted,
    log_scores,
    numbers,
    snapshot_of,
    spread_of,
)
from tests.support.problems import KINDS, problem
from tests.support.snapshots import REAL, real

LEARNER = GSVC()
SPLITS = ("fixed", "varying")


def check(cell, snapshot, C):
    """Compare with the reference: decisions, labels, metrics."""
    check_metrics(cell, snapshot)
    if len(cell.classes) == 1:
        return
    X, y, test = snapshot.X[cell.train], snapshot.y[cell.train], snapshot.X[cell.test]
    model = LEARNER.estimator(snapshot, {"C": C}).fit(X, y)
    right = model.decision_function(test).reshape(len(test), -1)
    found, limit = fitted(cell), 1e-5 * max(C, 1e-8)
    assert np.abs(found - right).max() <= limit, (C, cell.n, cell.repetition)
    both = np.hstack([-found, found]) if len(cell.classes) == 2 else found
    same = cell.classes[labels(both)] == model.predict(test)
    gaps = both.max(axis=1, keepdims=True) - np.sort(both, axis=1)[:, :-1]
    tied = TIED * (1 + np.abs(both).max(axis=1, keepdims=True))
    assert (same | (np.abs(gaps - tied) <= 2 * limit + 1e-15).any(axis=1)).all()


@pytest.mark.parametrize("C", [1.0, 0.02])
@pytest.mark.parametrize("id", REAL)
def test_real_data(id, C):
    """Every cell is the reference's, to the tolerance of the contract."""
    snapshot = real(id)
    sizes = spread_of(snapshot.X, snapshot.rows)[:: counts(4, 1)]
    for sampling in SAMPLINGS:
        for split in SPLITS:
            block = block_of(LEARNER, snapshot, sampling, split, sizes, 0, counts(1, 5), C=C)
            for cell in cells(LEARNER, snapshot, block):
                check(cell, snapshot, C)


@pytest.mark.parametrize("C", [1e-7, 1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_generated_data(kind, classes, C):
    """Whatever is wrong with the data, and whatever the price of an error."""
    for seed in range(counts(1, 8)):
        X, y, _ = problem(kind, seed, classes)
        if len(y) < 5:
            X, y = np.tile(X, (3, 1)), np.tile(y, 3)
        snapshot = snapshot_of(X, y)
        m = len(y) * 7 // 10
        for sampling in SAMPLINGS:
            sizes = range(1, m + 1, 2)
            block = block_of(LEARNER, snapshot, sampling, SPLITS[seed % 2], sizes, 0, 1, C=C)
            for cell in cells(LEARNER, snapshot, block):
                check(cell, snapshot, C)


def test_rows_that_are_all_alike():
    """No row can be told from another: the larger class wins, and equal ones tie."""
    snapshot = snapshot_of(np.full((20, 2), 3.0), np.arange(20) % 2)
    for sampling in SAMPLINGS:
        block = block_of(LEARNER, snapshot, sampling, "varying", range(1, 15), 0, 3)
        for cell in cells(LEARNER, snapshot, block):
            ones = snapshot.y[cell.train].sum()
            if len(cell.classes) == 2:
                right = np.sign(2 * ones - cell.n)
                np.testing.assert_allclose(fitted(cell), right, atol=1e-9)


def test_long_steps_of_n():
    """A list of sizes with gaps: rows that join at once, classes that come and stay away."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 3))
    y = np.where(rng.uniform(size=90) < 0.1, rng.integers(1, 4, 90), 0)
    y[:4] = range(4)
    snapshot = snapshot_of(X, y)
    for sizes in ([1, 3, 4, 5, 6, 11, 30, 31, 60, 63], [50], [2, 63]):
        block = block_of(LEARNER, snapshot, "additive", "fixed", sizes, 0, counts(4, 40))
        for cell in cells(LEARNER, snapshot, block):
            check(cell, snapshot, 1.0)


def test_more_rows_near_the_margin_than_move_at_once():
    """Classes that cannot be told apart: nearly every row is near the margin."""
    rng = np.random.default_rng(1)
    snapshot = snapshot_of(np.round(rng.normal(size=(1700, 2)), 1), rng.integers(0, 2, 1700))
    for sampling in ("additive", "random"):
        block = block_of(LEARNER, snapshot, sampling, "fixed", [1150], 0, 1)
        for cell in cells(LEARNER, snapshot, block):
            check(cell, snapshot, 1.0)


@pytest.mark.parametrize("kept", [0, 5, 1000])
def test_gram(kept):
    """Whether its rows are kept or computed again, four at a time."""
    X, _, _ = problem("mixed scales", 3, 3)
    gamma = dataset_gamma(X)
    kernel = gram_of(X, gamma, kept * 8 * len(X))
    assert len(kernel.table) == min(kept, len(X)) + 4
    gram = np.empty((len(X), len(X)))
    for first in [*range(0, len(X), 4)] * 2:
        rows = list(range(first, min(first + 4, len(X))))
        places = [place_of(kernel, row, k) for k, row in enumerate(rows)]
        gram[rows] = kernel.table[places]
    np.testing.assert_allclose(gram, oracle.kernel(X, X, gamma).astype(float), rtol=1e-13)
    np.testing.assert_array_equal(gram, gram.T)
    assert (gram.diagonal() == 1).all()


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_alike_to_libsvm_in_distribution(sampling):
    """Means and distributions of all metrics, from other draws than the block's."""
    rng = np.random.default_rng(30)
    repetitions, sizes = counts(60, 600), (5, 10, 20, 40, 80, 105)
    y = np.arange(150) % 2
    snapshot = snapshot_of(rng.normal(size=(150, 2)) + 1.2 * y[:, None], y)
    gamma = dataset_gamma(snapshot.X)
    block = block_of(LEARNER, snapshot, sampling, "varying", sizes, 0, repetitions)
    found = LEARNER.values(snapshot, block, ("varying",), np.empty((0, 0, 0, 0)))[:, :, 0]
    for i, n in enumerate(sizes):
        theirs = np.empty((repetitions, 4))
        for r in range(repetitions):
            train = rng.choice(150, n, replace=sampling == "bootstrap")
            test = np.setdiff1d(np.arange(150), train)
            scores = np.zeros((len(test), 2))
            classes = np.unique(y[train])
            if len(classes) == 1:
                scores = log_scores(scores[:, :0], classes, 2)
            else:
                model = SVC(gamma=gamma, tol=1e-6, max_iter=10**6)
                model.fit(snapshot.X[train], y[train])
                scores = log_scores(model.decision_function(snapshot.X[test])[:, None], classes, 2)
            theirs[r] = numbers(y[test], scores)[:4]
        for metric in range(4):
            ours, right = found[i, :, metric], theirs[:, metric]
            spread = np.sqrt((ours.var(ddof=1) + right.var(ddof=1)) / repetitions)
            assert abs(ours.mean() - right.mean()) <= 4.5 * spread + 1e-12, (n, metric)
            assert stats.ks_2samp(ours, right, method="asymp").pvalue > 1e-5, (n, metric)
