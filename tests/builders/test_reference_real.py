"""Reference models on real data, unscaled as they are: where conditioning is what it is."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.domain.sampling import Draws, largest_size
from lcdb_builders.reference.gaussian import LDC, QDC
from lcdb_builders.reference.linear import LREG, LSVC
from lcdb_builders.reference.svm import GSVC, dataset_gamma, kkt_tolerance

from tests.oracles import gaussian as exact
from tests.oracles import linear as oracle
from tests.support.counts import counts
from tests.support.snapshots import COPIES, real

SIZES = (12, 40, 150)


IDS = ("wine", "breast-cancer", *(pytest.param(id, marks=pytest.mark.data) for id in COPIES))


@pytest.fixture(params=IDS)
def drawn(request):
    """A dataset, and training and test rows of several sizes."""
    data = real(request.param)
    draws = Draws(data.rows, data.sha256, 1, "bootstrap", "fixed")
    cells = [
        (draws.train(n, r), draws.test(n, r)[:40])
        for n in SIZES
        if n <= largest_size(data.rows)
        for r in range(counts(1, 10))
        if len(np.unique(data.y[draws.train(n, r)])) > 1
    ]
    return data, cells


def decisions(model, X):
    found = model.decision_function(X)
    return found[:, None] if found.ndim == 1 else found


def signs(y):
    classes = np.unique(y)
    return [np.where(y == c, 1.0, -1.0) for c in (classes[1:] if len(classes) == 2 else classes)]


def relative(found, right):
    right = np.asarray(right, float)
    return (np.abs(found - right) / (1 + np.abs(right))).max()


def test_linear_models_are_the_optimum(drawn):
    data, cells = drawn
    d = data.features
    for train, test in cells:
        X, y = data.X[train], data.y[train]
        for model, loss, penalty in (
            (LREG(), oracle.logistic, np.append(np.full(d, 1e-4), 0)),
            (LSVC(), oracle.squared_hinge(1.0), np.ones(d + 1)),
        ):
            found = decisions(model.fit(X, y), data.X[test])
            for column, sign in zip(found.T, signs(y), strict=True):
                optimum = oracle.minimise(X, sign, loss, penalty)
                right = data.X[test] @ optimum[:-1] + optimum[-1]
                assert relative(column, right) < 1e-6, (data.name, model, len(train))


@pytest.mark.parametrize(
    "drawn", ["breast-cancer", pytest.param("1063", marks=pytest.mark.data)], indirect=True
)
def test_a_tiny_ridge_on_nearly_dependent_features(drawn):
    """What is left of the gradient is mostly rounding, unless it is summed with more digits."""
    data, _ = drawn
    penalty = np.append(np.full(data.features, 1e-7), 0)
    for seed in range(8, 8 + counts(4, 10)):
        rows = np.random.default_rng(seed).integers(0, data.rows, 113)
        X, y = data.X[rows], data.y[rows]
        optimum = oracle.minimise(X, np.where(y == 1, 1.0, -1.0), oracle.logistic, penalty)
        right = X @ optimum[:-1] + optimum[-1]
        assert relative(decisions(LREG(ridge=1e-7).fit(X, y), X)[:, 0], right) < 1e-5, seed


@pytest.mark.parametrize("C", [1e-8, 1.0, 1e4])
def test_kernel_machines_meet_the_optimality_conditions(drawn, C):
    data, cells = drawn
    gamma = dataset_gamma(data.X)
    for train, test in cells:
        rows, weight = np.unique(train, return_counts=True)
        X, y = data.X[rows], data.y[rows]
        X, first = np.unique(X, axis=0, return_index=True)  # rows that can be told apart
        y, bound = y[first], C * weight[first]
        if len(np.unique(y)) < 2:
            continue
        model = GSVC(C=C, gamma=gamma).fit(X, y, sample_weight=weight[first])
        support = (X[:, None] == model.support_vectors_[None]).all(axis=2).argmax(axis=0)
        gram, cross = oracle.kernel(X, X, gamma), oracle.kernel(data.X[test], X, gamma)
        for k, sign in enumerate(signs(y)):
            beta = np.zeros(len(y))
            beta[support] = model.dual_coef_[k]
            low, high = oracle.intercepts(gram, sign, beta, bound)
            rounding = 1e-13 * (1 + np.abs(beta).sum())
            assert low - high <= kkt_tolerance(C) + rounding
            right = cross @ beta + (low + high) / 2
            assert relative(decisions(model, data.X[test])[:, k], right) <= 1e-10 * (1 + C)


@pytest.mark.slow
def test_gaussian_models_equal_exact_arithmetic(drawn):
    data, cells = drawn
    train, test = cells[data.features < 20]  # rational numbers grow with features
    X, y, rows = data.X[train], data.y[train], data.X[test[:2]]
    for model, right in (
        (LDC(), exact.ldc(X.tolist(), y.tolist(), rows.tolist(), 1e-6)),
        (QDC(), exact.qdc(X.tolist(), y.tolist(), rows.tolist(), 1e-6)),
    ):
        found, right = model.fit(X, y).log_scores(rows), np.asarray(right)
        size = 1 + np.abs(right).max(axis=1)
        difference = (found - found[:, :1]) - (right - right[:, :1])
        assert (np.abs(difference).max(axis=1) / size).max() < 1e-9, (data.name, model)
