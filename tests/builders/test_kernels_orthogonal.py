"""The solver by reflections: optima in extended precision, where others lose their digits too."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.kernels.linear.coordinates import hinge_root, logistic_root, penalty_of, scaled
from lcdb_builders.kernels.linear.newton import Problem
from lcdb_builders.kernels.linear.qr_fallback import HINGE, LOGISTIC, orthogonal_newton
from lcdb_builders.kernels.linear.steep_hinge import _length as _kernel_length
from lcdb_builders.learners.linear import LREG, LSVC
from lcdb_builders.reference.hinge import _length as _reference_length
from scipy import optimize

from tests.oracles import linear as oracle
from tests.support.counts import counts
from tests.support.onevsrest import block_of, cells, fitted
from tests.support.problems import KINDS, problem
from tests.support.snapshots import real


def fit(kind, X, sign, price):
    """Decision values of all rows, by the kernel in scaled coordinates."""
    Z, mean, scale = scaled(X)
    root = logistic_root(scale, price) if kind == LOGISTIC else hinge_root(mean, scale)
    theta = np.zeros(X.shape[1] + 1)
    XT = np.ascontiguousarray(Z.T)
    problem = Problem(XT, len(X), sign, np.ones(len(X)), penalty_of(root), root, price)
    assert orthogonal_newton(kind, problem, theta)
    return Z @ theta[:-1] + theta[-1]


def optimum(kind, X, sign, price):
    """The same from the oracle, in the features' own coordinates."""
    ones = np.ones(X.shape[1])
    if kind == LOGISTIC:
        loss, penalty = oracle.logistic, np.append(price * ones, 0)
    else:
        loss, penalty = oracle.squared_hinge(price), np.append(ones, 1)
    at = oracle.minimise(X, sign, loss, penalty)
    return np.asarray(X @ at[:-1] + at[-1], float)


def distance(found, right):
    return (np.abs(found - right) / (1 + np.abs(right))).max()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "price"), [(LOGISTIC, 1e-4), (LOGISTIC, 0.1), (HINGE, 1.0)])
@pytest.mark.parametrize("data", KINDS)
def test_finds_the_optimum(data, kind, price):
    for seed in range(counts(2, 20)):
        X, y, _ = problem(data, seed, 2)
        sign = np.where(y == 1, 1.0, -1.0)
        assert distance(fit(kind, X, sign, price), optimum(kind, X, sign, price)) < 1e-6


@pytest.mark.parametrize(("kind", "price"), [(LOGISTIC, 1e-4), (HINGE, 1.0)])
def test_finds_it_between_features_of_all_sizes(kind, price):
    """Counts, ratios and products of counts side by side, as in software metrics."""
    rng = np.random.default_rng(6)
    for _ in range(counts(2, 20)):
        counted = rng.lognormal(2, 1, size=(int(rng.integers(6, 60)), 1))
        powers = 10.0 ** rng.uniform(-3, 5, size=8)
        X = counted * powers * rng.lognormal(0, 0.3, size=(len(counted), 8))
        sign = np.where(rng.uniform(size=len(X)) < 0.3, 1.0, -1.0)
        sign[:2] = 1, -1
        assert distance(fit(kind, X, sign, price), optimum(kind, X, sign, price)) < 1e-5


@pytest.mark.parametrize("seed", range(20))
def test_a_step_ends_at_the_minimum_along_it(seed):
    """Of a sum of squared hinges, also where rows begin exactly on their margins."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, size=(7, 2)) / 4.0
    weight, share = rng.integers(1, 4, 7).astype(float), np.array([0.5, 1e-3])
    at = np.array([1.0, 0.5])
    rows[:3] = [[1.0, 0.0], [0.5, 1.0], [0.0, 2.0]]
    gap = 1 - rows @ at
    assert (gap[:3] == 0).all()
    within = rows[gap > 0] * np.sqrt(weight[gap > 0, None])
    gradient = share * at - (weight * np.maximum(gap, 0)) @ rows
    step = -np.linalg.solve(np.diag(share) + within.T @ within, gradient)
    move = rows @ step

    def slope(length):
        left = np.maximum(gap - length * move, 0)
        return share @ (step * (at + length * step)) - weight * left @ move

    right = optimize.brentq(slope, 0.0, 1e4, xtol=1e-12)
    args = share, step, -slope(0.0)
    problem = Problem(rows.T.copy(), 7, np.ones(7), weight, np.eye(3), np.eye(3), 1.0)
    assert _kernel_length(problem, *args, gap, np.empty(7)) == pytest.approx(right, rel=1e-9)
    assert _reference_length(rows, weight, *args, gap) == pytest.approx(right, rel=1e-9)


@pytest.mark.data
@pytest.mark.parametrize(
    ("learner", "sampling", "split", "n", "repetition"),
    [
        (LSVC, "additive", "varying", 22, 3),
        (LSVC, "random", "fixed", 23, 5),
        (LSVC, "random", "varying", 16, 2),
        (LSVC, "bootstrap", "fixed", 12, 9),
        (LSVC, "bootstrap", "varying", 6, 3),
        (LREG, "additive", "varying", 106, 0),
        (LREG, "bootstrap", "fixed", 171, 8),
        (LREG, "bootstrap", "varying", 171, 3),
    ],
)
def test_cells_that_carried_moments_give_up(learner, sampling, split, n, repetition):
    """Of software metrics: solvers of kernel or reference once found nothing in these."""
    snapshot, learner = real("1063"), learner()
    sizes = [n] if sampling != "additive" else range(1, n + 1)
    block = block_of(learner, snapshot, sampling, split, sizes, repetition, repetition + 1)
    *_, cell = cells(learner, snapshot, block)
    assert cell.n == n
    model = learner.estimator(snapshot, {}).fit(snapshot.X[cell.train], snapshot.y[cell.train])
    right = model.decision_function(snapshot.X[cell.test])
    assert np.isfinite(cell.values).all()
    assert distance(fitted(cell)[:, 0], right) < 1e-5
