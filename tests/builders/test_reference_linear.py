"""LREG, LSVC and GSVC: the exact optimum, by other solvers and by optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.reference.linear import LREG, LSVC
from lcdb_builders.reference.onevsrest import log_sigmoid
from lcdb_builders.reference.svm import GSVC, dataset_gamma, kkt_tolerance
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from tests.oracles import linear as oracle
from tests.support.counts import counts
from tests.support.problems import KINDS, problem

SEEDS = range(counts(2, 25))


def signs(y):
    """The binary problems of a multi-class one; a single one for two classes."""
    classes = np.unique(y)[1:] if len(np.unique(y)) == 2 else np.unique(y)
    return [np.where(y == c, 1.0, -1.0) for c in classes]


def decisions(model, X):
    found = model.decision_function(X)
    return found[:, None] if found.ndim == 1 else found


def agreement(found, right):
    """Largest |Δf| / (1 + |f|)."""
    right = np.asarray(right, float)
    return (np.abs(found - right) / (1 + np.abs(right))).max()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_linear_models_equal_extended_precision(kind, classes, seed):
    X, y, test = problem(kind, seed, classes)
    ones = np.ones(X.shape[1])
    cases = [(LREG(ridge=r), oracle.logistic, np.append(r * ones, 0)) for r in (1e-4, 1.0)] + [
        (LSVC(C=C), oracle.squared_hinge(C), np.append(ones, 1)) for C in (1.0, 1e-3)
    ]
    for model, loss, penalty in cases:
        found = decisions(model.fit(X, y), test)
        for column, sign in zip(found.T, signs(y), strict=True):
            optimum = oracle.minimise(X, sign, loss, penalty)
            assert agreement(column, test @ optimum[:-1] + optimum[-1]) < 1e-6, (model, kind)


@pytest.mark.parametrize("ridge", [1e-8, 1e-6])
def test_logistic_regression_with_hardly_a_floor(ridge):
    for kind in ("separable", "mixed scales", "wide"):
        X, y, test = problem(kind, 3, 2)
        found = LREG(ridge=ridge).fit(X, y).decision_function(test)
        penalty = np.append(np.full(X.shape[1], ridge), 0)
        optimum = oracle.minimise(X, signs(y)[0], oracle.logistic, penalty)
        assert agreement(found, test @ optimum[:-1] + optimum[-1]) < 1e-5, kind


def test_linear_models_equal_scikit_learn_at_tight_tolerance():
    X, y, test = problem("ordinary", 7, 2)
    theirs = LogisticRegression(C=2.0, tol=1e-12, solver="newton-cholesky").fit(X, y)
    assert (
        agreement(LREG(ridge=0.5).fit(X, y).decision_function(test), theirs.decision_function(test))
        < 1e-7
    )
    for C in (1e-4, 1.0, 30.0):
        theirs = LinearSVC(dual=False, C=C, tol=1e-12, max_iter=10**6).fit(X, y)
        assert (
            agreement(LSVC(C=C).fit(X, y).decision_function(test), theirs.decision_function(test))
            < 1e-6
        )
    X, y, test = problem("ordinary", 8, 4)
    theirs = LinearSVC(dual=False, tol=1e-12, max_iter=10**6).fit(X, y)
    assert (
        agreement(LSVC().fit(X, y).decision_function(test), theirs.decision_function(test)) < 1e-6
    )


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("kind", KINDS)
def test_kernel_machine_meets_the_optimality_conditions(kind, C):
    """They hold at the optimum and nowhere else: bounds, balance, and an interval for b."""
    for seed in SEEDS:
        X, y, test = problem(kind, seed, 3)
        weight = np.random.default_rng(seed).integers(1, 4, len(y))
        model = GSVC(C=C, gamma=0.5).fit(X, y, sample_weight=weight)
        support = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.support_vectors_]
        gram = oracle.kernel(X, X, 0.5)
        found = decisions(model, test)
        for k, sign in enumerate(signs(y)):
            if len(set(support)) < len(support):
                break  # copies: rows cannot be told from one another here
            beta = np.zeros(len(y))
            beta[support] = model.dual_coef_[k]
            assert abs(beta.sum()) <= 1e-12 * C * weight.sum()
            assert ((beta * sign >= 0) & (beta * sign <= C * weight)).all()
            low, high = oracle.intercepts(gram, sign, beta, C * weight)
            rounding = 1e-13 * (1 + np.abs(beta).sum())
            assert low - high <= kkt_tolerance(C) + rounding
            assert abs(model.intercept_[k] - (low + high) / 2) <= rounding
            right = oracle.kernel(test, X, 0.5) @ beta + (low + high) / 2
            assert agreement(found[:, k], right) <= 1e-11 * (1 + C)


@pytest.mark.parametrize("classes", [2, 3])
def test_kernel_machine_equals_libsvm(classes):
    """As far as libsvm's single-precision kernel goes."""
    for seed in range(counts(5, 60)):
        X, y, test = problem("ordinary", seed, classes)
        gamma = dataset_gamma(X)
        for C in (1e-3, 0.1, 1.0):
            found = decisions(GSVC(C=C).fit(X, y), test)
            for column, sign in zip(found.T, signs(y), strict=True):
                theirs = SVC(C=C, gamma=gamma, tol=1e-9, max_iter=10**6).fit(X, sign)
                assert np.abs(column - theirs.decision_function(test)).max() < 1e-5 * C


def test_gamma_is_that_of_scikit_learn():
    X, y, _ = problem("mixed scales", 2, 2)
    theirs = SVC(gamma="scale").fit(X, y)
    assert dataset_gamma(X) == pytest.approx(theirs._gamma, rel=1e-15)
    assert dataset_gamma(np.full((4, 2), 3.0)) == 1.0


MODELS = [LREG(), LREG(ridge=1.0), LSVC(), LSVC(C=1e-3), GSVC(), GSVC(C=1e-3), GSVC(C=50.0)]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_labels_and_probabilities_follow_from_the_decisions(model):
    for classes in (2, 4):
        X, y, test = problem("ordinary", 5, classes)
        model.fit(X, y)
        f = decisions(model, test)
        f = np.hstack([-f, f]) if classes == 2 else f
        sigmoid = 1 / (1 + np.exp(-f))
        share = sigmoid / sigmoid.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(test), share, rtol=1e-11)
        np.testing.assert_allclose(model.log_scores(test), np.log(sigmoid), rtol=1e-11, atol=1e-15)
        assert (model.predict(test) == f.argmax(axis=1)).all()


def test_log_sigmoid_at_both_ends():
    assert log_sigmoid(np.array([-1e4, -40.0, 40.0, 1e4])).tolist() == [
        -1e4,
        pytest.approx(-40.0, rel=1e-15),
        pytest.approx(-np.exp(-40.0), rel=1e-12),
        0.0,
    ]
