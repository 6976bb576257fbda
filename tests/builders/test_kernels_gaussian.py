"""Scores of Gaussian kernels, number by number, and the factors that they stand on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.kernels.core.sets import Task, weigh
from lcdb_builders.kernels.gaussian import model as gaussian
from lcdb_builders.kernels.gaussian import moments
from lcdb_builders.kernels.gaussian import qr as triangles
from lcdb_builders.learners import registry
from lcdb_builders.reference import gaussian as reference

from tests.support.counts import counts
from tests.support.snapshots import GENERATED, REAL, generated, real

KINDS = {"NMC": gaussian.NMC, "LDC": gaussian.LDC, "QDC": gaussian.QDC}


def tolerance(parameter):
    """As for the default ridge; below it the reference is 2e-8 off exact arithmetic."""
    return 1e-7 if 0 < parameter < 1e-6 else 1e-9


def task_of(snapshot, name):
    """All rows of a dataset, where and in which units the learner has them."""
    none = np.empty(0, np.int64)
    y = snapshot.y.astype(np.int64)
    X = np.array(registry.get(name).features(snapshot))
    return Task(
        0,
        np.uint64(0),
        np.uint64(0),
        0,
        1,
        none,
        np.arange(len(y)),
        X,
        y,
        snapshot.classes,
        np.zeros((2, 0), np.int64),
    )


def scores_by_rows(kind, parameter, task, rows):
    """Scores of all rows of a dataset, the model grown row by row."""
    model = gaussian.model_of(kind, task.classes, task.X.shape[1], len(rows), 1.0)
    for row in rows:
        moments.add_row(kind, model.moments, task.X[row], task.y[row])
    gaussian.fit(kind, parameter, True, len(rows), model)
    return scores_of(kind, model, task)


def scores_by_draw(kind, parameter, task, rows, rooted=False):
    """The same, the model fitted to weighted rows."""
    model = gaussian.model_of(kind, task.classes, task.X.shape[1], len(rows), 1.0)
    weight, distinct = np.zeros(len(task.y), np.int64), np.empty(len(task.y), np.int64)
    count = weigh(rows, weight, distinct)
    moments.add_draw(kind, task, weight, distinct[:count], model.moments)
    if rooted:
        gaussian.take_roots(kind, model)
    gaussian.fit(kind, parameter, rooted, len(rows), model)
    return scores_of(kind, model, task)


def scores_of(kind, model, task):
    XT = np.ascontiguousarray(task.X.T)
    scores = np.full((task.classes, len(task.y)), -np.inf)
    gaussian.score_columns(kind, model, XT, 0, len(task.y), scores)
    return scores.T


def relative(scores, right):
    """Largest error of a row's scores, relative to the largest of them."""
    return (np.abs(scores - right).max(axis=1) / (1 + np.abs(right).max(axis=1))).max()


def check(snapshot, name, parameter, sizes, seed):
    rng = np.random.default_rng(seed)
    task, kind, compared = task_of(snapshot, name), KINDS[name], 0
    for n in sizes:
        for copies in (False, True):
            rows = rng.choice(len(task.y), n, replace=copies)
            present = np.unique(task.y[rows])
            if len(present) == 1:
                continue
            model = getattr(reference, name)(parameter).fit(snapshot.X[rows], task.y[rows])
            right = model.log_scores(snapshot.X)
            for scores in (
                scores_by_rows(kind, parameter, task, rows),
                scores_by_draw(kind, parameter, task, rows, rooted=n % 2 == 0),
            ):
                off = relative(scores[:, present], right)
                assert off <= tolerance(parameter), (snapshot.name, name, n, copies, off)
                compared += 1
    assert compared > 0


def sizes_of(snapshot):
    d, N = snapshot.features, snapshot.rows
    return sorted({*range(2, min(2 * d, N) + 1, max(1, d // counts(3, 30))), N // 3, N // 2})


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dataset", GENERATED)
def test_scores_on_generated_data(name, dataset):
    for parameter in (0.0, 0.5, 3.0) if name == "NMC" else (1e-6, 1e-8, 0.1):
        check(generated(dataset), name, parameter, sizes_of(generated(dataset)), 1)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dataset", REAL)
def test_scores_on_real_data(name, dataset):
    snapshot = real(dataset)
    for parameter in (0.0, 0.5) if name == "NMC" else (1e-6, 1e-8, 0.1):
        check(snapshot, name, parameter, sizes_of(snapshot), 2)


def test_integer_data_has_the_same_bits_as_the_reference():
    """Ties between classes are then ties in both, and go to the lowest code in both."""
    snapshot = generated("integers")
    task = task_of(snapshot, "NMC")
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 8, 30):
        rows = rng.choice(len(task.y), n, replace=False)
        present = np.unique(task.y[rows])
        if len(present) > 1:
            right = reference.NMC().fit(task.X[rows], task.y[rows]).log_scores(task.X)
            ours = scores_by_rows(gaussian.NMC, 0.0, task, rows)[:, present]
            distances = np.sort(right, axis=1)
            tied = distances[:, -1] == distances[:, -2]
            np.testing.assert_array_equal(ours.argmax(axis=1), right.argmax(axis=1))
            assert (np.sort(ours[tied], axis=1)[:, -1] == np.sort(ours[tied], axis=1)[:, -2]).all()


@pytest.mark.parametrize("d", [1, 2, 4, 7, 8, 21])
def test_factors(d):
    """Of the same products, to a few roundings, however the rows came."""
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(3 * d, d)) * 10.0 ** rng.integers(-3, 4, d)
    R = np.zeros((d, d))
    for row in rows:
        triangles.insert_row(R, row.copy())
    products = rows.T @ rows
    scale = np.sqrt(np.outer(np.diag(products), np.diag(products)))
    np.testing.assert_allclose(R.T @ R / scale, products / scale, atol=1e-14)
    Z, L = np.empty((d, 4 * d)), np.zeros((d, d))
    units = 10.0 ** rng.uniform(-1, 1, d)
    for n, ridge in ((1.0, 0.3), (7.0, 1e-12)):
        Z[:, : 3 * d] = rows.T
        triangles.factor(Z, 0, 3 * d, n, ridge, units, L)
        wanted = products / n + ridge * np.diag(units**2)
        np.testing.assert_allclose(L @ L.T / scale, wanted / scale, atol=1e-14)
        Z[:, : len(R)] = R.T
        triangles.factor(Z, 0, d, n, ridge, units, L)
        np.testing.assert_allclose(L @ L.T / scale, wanted / scale, atol=1e-14)
        assert (np.tril(L) == L).all()
    b, x, inverse = rng.normal(size=d), np.empty(d), np.empty((d, d))
    triangles.solve(L, b, x)
    np.testing.assert_allclose(L @ x, b, rtol=1e-9)
    triangles.solve_transposed(L, b, x)
    np.testing.assert_allclose(L.T @ x, b, rtol=1e-9)
    triangles.invert(L, inverse)
    np.testing.assert_allclose(inverse @ L, np.eye(d), atol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_equal_rows_have_no_variance(name):
    snapshot, kind = generated("constant features"), KINDS[name]
    task = task_of(snapshot, name)
    task = task._replace(X=np.tile(snapshot.X[:1] / 3, (snapshot.rows, 1)))
    rows = np.arange(20)
    for scores in (scores_by_rows(kind, 1e-6, task, rows), scores_by_draw(kind, 1e-6, task, rows)):
        assert np.isfinite(scores).all()
        assert (scores == scores[0]).all()


@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize("name", ["LDC", "QDC"])
def test_a_feature_that_training_rows_do_not_tell_of_is_left_out(name, rooted):
    """Bit for bit, whatever it is of other rows; the next draw has it again."""
    rng, kind = np.random.default_rng(5), KINDS[name]
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 4)) + y[:, None]
    X[:20, 2] = 0.1
    snapshot = Snapshot("some", X, y, tuple("abcd"), ("0", "1"), "some")
    without = replace(snapshot, X=np.ascontiguousarray(X[:, [0, 1, 3]]), feature_names=tuple("abd"))
    few, task, less = np.arange(20), task_of(snapshot, name), task_of(without, name)
    found = scores_by_draw(kind, 1e-6, task, few, rooted=rooted)
    expected = scores_by_draw(kind, 1e-6, less, few, rooted=rooted)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    others = task._replace(X=task.X + 1e6 * (np.arange(40) >= 20)[:, None] * [0, 0, 1, 0])
    assert (found == scores_by_draw(kind, 1e-6, others, few, rooted=rooted)).all()
    model = gaussian.model_of(kind, 2, 4, 40, 1.0)
    for rows in (few, np.arange(40)):
        weight, distinct = np.zeros(40, np.int64), np.empty(40, np.int64)
        count = weigh(rows, weight, distinct)
        moments.add_draw(kind, task, weight, distinct[:count], model.moments)
        if rooted:
            gaussian.take_roots(kind, model)
        gaussian.fit(kind, 1e-6, rooted, len(rows), model)
    expected = scores_by_draw(kind, 1e-6, task, np.arange(40), rooted=rooted)
    assert (scores_of(kind, model, task) == expected).all()
