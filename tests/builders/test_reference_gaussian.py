"""NMC, LDC, QDC and NNC: equal to exact arithmetic, ties and degenerate cases included."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcdb_builders.reference.gaussian import LDC, NMC, QDC
from lcdb_builders.reference.neighbours import NNC
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from tests.oracles import gaussian as oracle
from tests.oracles.neighbours import shares
from tests.support.counts import counts
from tests.support.problems import KINDS, problem

SEEDS = range(counts(2, 30))


def relative(scores):
    """Scores up to what all classes have in common, and how large their terms are."""
    scores = np.asarray(scores, float)
    return scores - scores[:, :1], np.abs(scores).max(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_equal_exact_arithmetic(kind, classes, seed):
    X, y, test = problem(kind, seed, classes)
    for model, exact in (
        (NMC(), oracle.nmc(X, y, test)),
        (LDC(), oracle.ldc(X, y, test, 1e-6)),
        (LDC(ridge=0.3), oracle.ldc(X, y, test, 0.3)),
        (QDC(), oracle.qdc(X, y, test, 1e-6)),
        (QDC(ridge=0.3), oracle.qdc(X, y, test, 0.3)),
    ):
        found, _ = relative(model.fit(X, y).log_scores(test))
        right, size = relative(exact)
        # Data far from zero lose the digits in which they are alike.
        limit = 1e-9 if kind == "far from zero" else 1e-11
        assert (np.abs(found - right) <= limit * (1 + size)).all(), (model, kind)


def test_classes_of_equal_rows_have_no_variance():
    """Three copies of 0.1 have a mean that is not 0.1; their variance must still be 0."""
    X = np.repeat([[0.1, 0.7], [0.3, 0.9]], 3, axis=0)
    y = np.repeat([0, 1], 3)
    assert NMC().fit(X, y).variance_ == 1.0
    assert NMC().fit(X, y).means_.tolist() == [[0.1, 0.7], [0.3, 0.9]]
    white = QDC().fit(X, y).whitening_
    assert all((each == np.eye(2)).all() for each in white)


@pytest.mark.parametrize("model", [NMC(), LDC(), QDC()], ids=str)
@pytest.mark.parametrize("row", [[0.0, 3.0, 1.0], [0.0, 0.0, 0.0], [1e-200, 0.0, 0.0], [1e5] * 3])
def test_training_rows_that_are_all_equal_say_nothing_of_others(model, row):
    """Variances are 1 then; the row of two classes is tied, and so are all others."""
    X, scale = np.array([row, row]), max(row) or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = model.fit(X, [0, 1]).log_scores(X[0] + scale * np.eye(3))
    assert np.isfinite(scores).all() and (scores[:, 0] == scores[:, 1]).all()
    if isinstance(model, NMC):
        np.testing.assert_allclose(scores, -0.5 * scale**2, rtol=1e-12)


def test_shrinkage_equals_nearest_shrunken_centroids():
    for seed in range(counts(10, 200)):
        X, y, _ = problem("ordinary", seed, 3)
        for threshold in (1e-8, 0.1, 0.7, 3.0):
            theirs = NearestCentroid(shrink_threshold=threshold).fit(X, y)
            mine = NMC(shrinkage=threshold).fit(X, y)
            np.testing.assert_allclose(mine.means_, theirs.centroids_, rtol=1e-12, atol=1e-13)
            assert mine.variance_ == NMC().fit(X, y).variance_


def test_full_shrinkage_leaves_one_mean_and_none_without_a_spread():
    X, y, test = problem("ordinary", 1, 3)
    p = NMC(shrinkage=1e6).fit(X, y).predict_proba(test)
    np.testing.assert_allclose(p, 1 / 3, rtol=1e-12)
    X, y, _ = problem("one row each", 1, 3)
    assert (NMC(shrinkage=1.0).fit(X, y).means_[y] == X).all()


def test_linear_discriminant_equals_scikit_learn_on_ordinary_data():
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + y[:, None]
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(LDC(ridge=1e-12).fit(X, y).predict_proba(X), theirs, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_equal_plain_loops(kind, seed):
    X, y, test = problem(kind, seed, 3)
    for k in (1, 2, 3, 7, 100):
        found = NNC(neighbors=k).fit(X, y).predict_proba(test)
        assert found.tolist() == shares(X, y, test, k)


@settings(max_examples=counts(40, 400), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_weighted_neighbours_equal_repeated_ones(seed, k):
    """Bit for bit, ties included: a row's copies stand where it was first drawn."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    X, y = rng.integers(0, 3, (n, 2)).astype(float), np.arange(n) % 3
    weight = rng.integers(1, 4, n)
    test = rng.integers(0, 3, (9, 2)).astype(float)
    weighted = NNC(neighbors=k).fit(X, y, sample_weight=weight).predict_proba(test)
    repeated = NNC(neighbors=k).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert (weighted == repeated.predict_proba(test)).all()


def test_ties_go_to_the_row_drawn_first():
    X = np.array([[0.0], [2.0], [2.0], [0.0]])
    assert NNC().fit(X, np.array([0, 1, 0, 1])).predict([[1.0], [2.0]]).tolist() == [0, 1]
    assert NNC().fit(X[::-1], np.array([1, 0, 1, 0])).predict([[1.0], [2.0]]).tolist() == [1, 0]


def test_neighbours_equal_scikit_learn_without_ties():
    rng = np.random.default_rng(5)
    X, y, test = rng.normal(size=(80, 3)), np.arange(80) % 4, rng.normal(size=(50, 3))
    for k in (1, 5, 20):
        theirs = KNeighborsClassifier(k, algorithm="brute").fit(X, y).predict_proba(test)
        np.testing.assert_allclose(
            NNC(neighbors=k).fit(X, y).predict_proba(test), theirs, atol=1e-15
        )
