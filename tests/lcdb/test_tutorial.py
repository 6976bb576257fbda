"""The database that ships: small, whole, built from the plan of its name, and right."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders.domain.unit import DRAWS
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.storage.contents import Contents
from lcdb_builders.storage.repair import verify

import lcdb
from lcdb.shipped import crossing
from tests.oracles.sampling import cell
from tests.support.counts import counts

SPLITS = ("fixed", "varying")


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


def test_it_is_small(shipped):
    assert sum(file.stat().st_size for file in shipped.path.rglob("*") if file.is_file()) < 1.5e6
    assert [header.name for header in shipped.headers.values()] == ["balance-scale", "iris"]


def test_it_is_whole(shipped):
    for key in shipped:
        lcdb.schema.validate(shipped[key])
    assert (shipped.status()["status"] == "complete").all()
    report = verify(Path(shipped.path))
    assert report.intact, report.damage
    assert report.checked["cubes"] == 2


def test_it_is_what_the_plan_of_its_name_describes(shipped):
    plan = load_plan("tutorial")
    learners = plan_learners(plan)
    for key in shipped:
        snapshot = bundled(str(key))
        assert snapshot is not None
        planned = Contents.of(snapshot, units(plan, snapshot, learners), plan.repetitions)
        there = Contents.from_attributes(shipped[key].attrs)
        assert there.labels == planned.labels and there.shape == planned.shape
        for mine, theirs in zip(there.units, planned.units, strict=True):
            assert mine.label == theirs.label
            assert mine.sizes == theirs.sizes
            if mine.learner != DRAWS:
                assert mine.params == theirs.params


def nearest(train_X, train_y, test_X):
    """Class of the nearest training row; of equally near ones, of that which was drawn first."""
    found = []
    for row in test_X:
        distances = [
            sum((a - b) ** 2 for a, b in zip(row, other, strict=True)) for other in train_X
        ]
        found.append(train_y[int(np.argmin(distances))])
    return np.array(found)


def linear(train_X, train_y, test_X):
    """Linear discriminant with a ridge of 1e-6 of each feature's within-class variance."""
    classes, index, sizes = np.unique(train_y, return_inverse=True, return_counts=True)
    means = np.array([train_X[train_y == c].mean(axis=0) for c in classes])
    rest = train_X - means[index]
    pooled = rest.T @ rest / len(train_X)
    differs = np.any([np.ptp(train_X[train_y == c], axis=0) > 0 for c in classes], axis=0)
    variances = np.where(differs, np.diag(pooled), train_X.var(axis=0))
    inverse = np.linalg.inv(pooled + 1e-6 * np.diag(variances))
    priors = np.log(sizes / len(train_y))
    away = test_X[:, None, :] - means
    scores = priors - 0.5 * np.einsum("tcd,de,tce->tc", away, inverse, away)
    return classes[scores.argmax(axis=1)]


@pytest.mark.parametrize(("learner", "predict"), [("NNC", nearest), ("LDC", linear)])
def test_its_accuracies_are_those_of_plain_models_on_plain_draws(shipped, learner, predict):
    """From the master seed to the score, through nothing that built the cube."""
    draw = np.random.default_rng(61)
    snapshot = bundled("61")
    assert snapshot is not None
    sizes = [10, 14, 20, 28, 40, 50, 63, 80, 100, 105]
    for sampling, split in product(("additive", "random", "bootstrap"), SPLITS):
        curve = shipped.curve("iris", learner, sampling=sampling, split=split).load()
        tests = shipped["iris"].n_test.sel(sampling=sampling, split=split).load()
        for _ in range(counts(4, 100)):
            n, repetition = int(draw.choice(sizes)), int(draw.integers(200))
            seed = int(shipped["iris"].attrs["master_seed"])
            train, test = cell(150, seed, snapshot.sha256, sampling, split, n, repetition)
            predicted = predict(snapshot.X[train], snapshot.y[train], snapshot.X[test])
            where = {"n": n, "repetition": repetition}
            hits = np.count_nonzero(predicted == snapshot.y[test])
            assert tests.sel(where) == len(test)
            assert curve.sel(where) == hits / len(test), where


def test_sizes_that_were_not_built_can_be_left_out(shipped):
    curve = shipped.curve("iris", "QDC", sampling="bootstrap").dropna("n")
    assert list(curve.n.values) == [2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 50, 63, 80, 100, 105]
    # More rows are better rows: the first and the last point of a learning curve.
    mean = curve.mean("repetition")
    assert mean[-1] > mean[0] + 0.2


# -- where curves cross ----------------------------------------------------------------------------


def test_two_learners_on_three_datasets_ship():
    plan = load_plan("crossing")
    with crossing(chunks={}) as db:
        assert sum(f.stat().st_size for f in db.path.rglob("*") if f.is_file()) < 1.6e6
        assert (db.status()["status"] == "complete").all()
        assert verify(Path(db.path)).intact
        assert {str(key) for key in db} == {spec.id for spec in plan.datasets}
        for key in db:
            cube = db[key]
            assert cube.learner.values.tolist() == [spec.name for spec in plan.learners]
            built = cube["accuracy"].squeeze().compute().dropna("n", how="all")
            assert built.notnull().all() and built.sizes["repetition"] == plan.repetitions
            wanted = [n for n in plan.sizes[0]["list"] if n <= cube["n"][-1]]
            assert built.n.values.tolist() == wanted


def test_qdc_overtakes_ldc_on_two_of_them_and_is_overtaken_again_on_one():
    turns = {11: [35, 46], 61: [np.nan, np.nan], 1063: [35, 63]}
    with crossing() as db:
        curves = db.select(sampling="additive")
        for key, scores in curves.items():
            one, other = (scores.sel(learner=name).squeeze() for name in ("QDC", "LDC"))
            found = lcdb.analysis.crossing(one, other)
            np.testing.assert_array_equal([found["open_low"], found["open_high"]], turns[key])
            assert found["winner"] == (1 if key == 11 else -1)
