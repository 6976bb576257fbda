"""LREG, LSVC and GSVC where double precision ends: right, or an error that says why.

Features such as timestamps and ids are far from 0, and some units are tiny or huge. Exact fractions
and decimals of sixty digits say what is right.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from lcdb_builders.learners.linear import LREG, LSVC
from lcdb_builders.learners.svm import GSVC
from lcdb_builders.reference.machine import check_kernel, dataset_gamma

from tests.oracles import edge
from tests.support.counts import counts
from tests.support.onevsrest import SAMPLINGS, block_of, cells, check_metrics, fitted, snapshot_of

ALL = [pytest.param(learner, id=learner.name) for learner in (LREG(), LSVC(), GSVC())]
UNITS = [(1.0, 1e3), (1.0, 1e8), (1.0, 1e12), (1.0, 1e15), (1e-80, 1e8), (1e-150, 0.0)]
CASES = [
    pytest.param(learner, *unit, id=f"{learner.name}-{unit[0]:g}-{unit[1]:g}")
    for learner, units in ((LREG(), UNITS), (LSVC(), UNITS))
    for unit in units
]


def data(seed, scale, offset, rows=24, features=3):
    """Two classes that overlap; features are as far apart as from 0."""
    rng = np.random.default_rng([seed, int(np.log10(scale)) + 400])
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, features)) + 0.8 * y[:, None]
    return (X + offset * rng.choice([1.0, 0.5, 0.0, -1.0], features)) * scale, y


def right_decisions(learner, X, y, test):
    sign = np.where(y == y.max(), 1, -1)
    if learner.name == "LREG":
        return np.array(edge.logistic(X, sign, 1e-4, test))
    return np.array(edge.squared_hinge(X, sign, 1.0, test))


@pytest.mark.parametrize(("learner", "scale", "offset"), CASES)
def test_linear_models_far_from_zero_and_in_any_unit(learner, scale, offset):
    """Kernel and reference, against exact arithmetic on the features as they are."""
    for seed in range(counts(1, 8)):
        X, y = data(seed, scale, offset)
        snapshot = snapshot_of(X, y)
        for sampling in SAMPLINGS[:: counts(2, 1)]:
            block = block_of(learner, snapshot, sampling, "varying", [8, 16], 0, 1)
            for cell in cells(learner, snapshot, block):
                check_metrics(cell, snapshot)
                if len(cell.classes) < 2:
                    continue
                train, test = X[cell.train], X[cell.test]
                right = right_decisions(learner, train, y[cell.train], test)
                off = 1e-8 * (1 + np.abs(right))
                assert (np.abs(fitted(cell)[:, 0] - right) <= off).all(), (sampling, cell.n)
                model = learner.estimator(snapshot, {}).fit(train, y[cell.train])
                assert (np.abs(model.decision_function(test) - right) <= off).all()


def values_of(learner, X, y, sampling="additive", sizes=(3, 8, 20, 40)):
    """Scores of a block, whose rows are drawn alike whatever the features."""
    snapshot = snapshot_of(X, y)
    block = block_of(learner, snapshot, sampling, "varying", sizes, 0, 3)
    block = replace(block, unit=replace(block.unit, dataset_sha256="ab" * 32))
    return learner.block(snapshot, block, ("varying",))["varying"]


@pytest.mark.parametrize("power", [-490, -300, 300, 490])
def test_machines_are_the_same_in_every_unit(power):
    """A power of two changes no digit of a feature, and gamma goes with it."""
    X, y = data(1, 1.0, 3.0, rows=60)
    right = values_of(GSVC(), X, y)
    for name, values in values_of(GSVC(), np.ldexp(X, power), y).items():
        np.testing.assert_array_equal(values, right[name])


@pytest.mark.parametrize("offset", [1e8, 1e12])
@pytest.mark.parametrize("learner", [LREG(), GSVC()], ids=lambda learner: learner.name)
def test_shifts_change_nothing(learner, offset):
    """Features of twelve bits, so that they are shifted without rounding."""
    X, y = data(2, 1.0, 0.0, rows=60)
    X = np.round(X * 64) / 64
    assert ((X + offset) - offset == X).all()
    right = values_of(learner, X, y)
    for name, values in values_of(learner, X + offset, y).items():
        np.testing.assert_allclose(values, right[name], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("learner", ALL)
def test_units_that_double_precision_cannot_square_are_told(learner, scale):
    X, y = data(3, 1.0, 0.0, rows=60)
    with pytest.raises(ArithmeticError, match=r"standard deviation .* expected 1e-151 to 1e\+?151"):
        values_of(learner, X * scale, y)


def mixed(seed):
    """Features each of its own unit and as far from 0 as it likes, and a price."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 20)
    y[:2] = [0, 1]
    X = rng.normal(size=(20, 3)) + rng.choice([0.8, 3.0]) * y[:, None]
    X += 10.0 ** rng.uniform(0, 8) * rng.choice([1.0, 0.5, 0.0, -1.0], 3)
    return X * 10.0 ** rng.uniform(0, rng.choice([8, 20, 60]), 3), y, rng.choice([1.0, 1e-8, 1e3])


@pytest.mark.parametrize("kind", ["one unit", "many units"])
def test_large_features_leave_a_penalty(kind):
    """Kernel and reference against fractions, where the penalty is 1e-10 to 1e-300 of the loss."""
    learner, told = LSVC(), 0
    for seed in range(counts(4, 150)):
        X, y, C = mixed(seed)
        if kind == "one unit":
            rng = np.random.default_rng(seed)
            scale, offset = 10.0 ** rng.uniform(4, 150), rng.choice([0.0, 10.0, 1e3, 1e8])
            X, y = data(seed, scale, offset, rows=20)
        snapshot = snapshot_of(X, y)
        sampling = SAMPLINGS[seed % 3]
        block = block_of(learner, snapshot, sampling, "varying", [4, 9, 14], 0, 1, C=C)
        try:
            of_block = list(cells(learner, snapshot, block))
        except ArithmeticError as error:
            assert "found no optimum" in str(error)
            told += 1
            continue
        for cell in of_block:
            if len(cell.classes) < 2:
                continue
            train, test = X[cell.train], X[cell.test]
            sign = np.where(y[cell.train] == 1, 1, -1)
            right = np.array(edge.squared_hinge(train, sign, C, test))
            off = 1e-7 * (1 + np.abs(right))
            assert (np.abs(fitted(cell)[:, 0] - right) <= off).all(), (seed, cell.n)
            model = learner.estimator(snapshot, {"C": C}).fit(train, y[cell.train])
            assert (np.abs(model.decision_function(test) - right) <= off).all(), (seed, cell.n)
    assert told <= counts(0, 3)


def test_features_that_leave_no_kernel_are_told():
    X, y = data(4, 1.0, 0.0, rows=60)
    X[:, 0] += 1e9
    with pytest.raises(ArithmeticError, match="features that are far apart"):
        values_of(GSVC(), X, y)
    check_kernel(np.ones((4, 2)), 1.0)


def test_gamma_of_large_numbers_is_that_of_their_differences():
    X, _ = data(5, 1.0, 0.0, rows=60)
    X = np.round(X * 4) / 4
    assert dataset_gamma(X + 1e15) == pytest.approx(dataset_gamma(X), rel=1e-12)


def tuned_values(learner, X, y, sampling):
    snapshot = snapshot_of(X, y)
    block = block_of(learner, snapshot, sampling, "varying", [10, 30], 0, 2)
    rule = json.dumps(
        {"parameter": learner.tuned_parameter, "grid": list(learner.grid), "tie": "nearest_default"}
    )
    block = replace(block, unit=replace(block.unit, tuning="tuned", tuning_rule=rule))
    return learner.block(snapshot, block, ("varying",))["varying"]


def strange(seed):
    """Features of any unit, far from 0 or not, with integers up to 2**53 and subnormal numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 2, 50)
    y[:3] = range(3) if seed % 2 else [0, 1, 0]
    X = rng.normal(size=(50, 3)) + 0.7 * y[:, None]
    X += 10.0 ** rng.uniform(0, 15) * rng.choice([0.0, 1.0], 3)
    kind = seed % 5
    if kind == 0:
        X *= 10.0 ** rng.uniform(-300, 290)
    elif kind == 1:
        X = X * 10.0 ** rng.uniform(-150, 140, 3)
    elif kind == 2:
        X = np.floor(rng.uniform(0, 2.0**53, (50, 3)))
    elif kind == 3:
        X[:, 0] = rng.integers(1, 50, 50) * 5e-324
    return X, y


def reference_decisions(learner, snapshot, cell):
    """Decisions of the reference; of LREG in decimals, where its first step is lost in rounding."""
    X, y = snapshot.X[cell.train], snapshot.y[cell.train]
    test, model = snapshot.X[cell.test], learner.estimator(snapshot, {})
    try:
        return model.fit(X, y).decision_function(test).reshape(len(test), -1)
    except ArithmeticError:
        assert learner.name == "LREG"
    classes = cell.classes[1:] if len(cell.classes) == 2 else cell.classes
    signs = [np.where(y == c, 1, -1) for c in classes]
    return np.column_stack([edge.logistic(X, sign, 1e-4, test) for sign in signs])


@pytest.mark.parametrize("learner", ALL)
def test_strange_features_give_numbers_or_a_reason(learner):
    """Never a number that the reference does not have, and never a wait."""
    told = 0
    for seed in range(counts(10, 150)):
        X, y = strange(seed)
        snapshot = snapshot_of(X, y)
        try:
            values = values_of(learner, X, y, SAMPLINGS[seed % 3], (2, 9, 30))
            tuned_values(learner, X, y, SAMPLINGS[seed % 3])
        except ArithmeticError as error:
            assert "expected" in str(error)
            told += 1
            continue
        assert all(np.isfinite(values[name]).all() for name in ("accuracy", "brier"))
        block = block_of(learner, snapshot, SAMPLINGS[seed % 3], "varying", [2, 9, 30], 0, 1)
        for cell in cells(learner, snapshot, block):
            if len(cell.classes) < 2:
                continue
            right = reference_decisions(learner, snapshot, cell)
            off = np.abs(fitted(cell) - right) / (1 + np.abs(right))
            assert off.max() <= 1e-5, (seed, cell.n, off.max())
    assert told < counts(10, 150)
