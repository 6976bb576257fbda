"""LDC and QDC know no origin and no unit of a feature: other ones, the same labels but for ties."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.learners.kept import keep
from lcdb_builders.reference import gaussian as reference
from lcdb_builders.reference.cell import fit_cell, training_rows
from lcdb_builders.reference.tuning import TuningRule
from lcdb_builders.sources.arff import read_arff
from lcdb_builders.sources.convert import to_snapshot
from sklearn.datasets import load_digits

from lcdb.schema import METRICS, SAMPLINGS
from tests.support.counts import counts
from tests.support.snapshots import COPIES, GENERATED, SHIPPED, data_folder, generated, real
from tests.support.tied import unit_of
from tests.support.tuned import validated

#: Copies of OpenML's files beside those of `COPIES`, with their targets: 20 datasets in all.
FILES = {"40-sonar": "Class", "54-vehicle": "Class", "59-ionosphere": "class"}
#: How far scores may move, relative to 1 + |score|: values 1,000 standard deviations from 0 keep
#: 13 digits, and a ridge of 1e-8 makes 1e-9 of that.
MOVES = 1e-8


def digits(rows: int = 300) -> Snapshot:
    """Some of its 64 features are constant in all training sets, others in some."""
    X, y = load_digits(return_X_y=True)
    X, y = np.ascontiguousarray(X[:rows]), y[:rows].astype(np.int64)
    return Snapshot("digits", X, y, tuple(map(str, range(64))), tuple("0123456789"), "digits")


def copy(name: str) -> Snapshot:
    table = read_arff((data_folder() / "openml" / f"{name}.arff").read_text("latin-1"))
    return to_snapshot(table, id=name, name=name, target=FILES[name])


def moved(snapshot: Snapshot, seed: int) -> Snapshot:
    """Features times 10^U(-6, 6), after at most 1,000 of their standard deviations were added."""
    rng = np.random.default_rng(seed)
    d = snapshot.features
    X = snapshot.X + rng.uniform(-1000, 1000, d) * snapshot.X.std(axis=0)
    return replace(snapshot, X=np.ascontiguousarray(X * 10.0 ** rng.uniform(-6, 6, d)))


def is_tied(scores: np.ndarray) -> np.ndarray:
    """Whether the label of a row is none that rounding could not change."""
    best = np.sort(scores, axis=1)[:, ::-1]
    size = 1 + np.abs(best[:, 0])
    # Scores within 1e-9 are tied, so that what is near that may be either.
    return best[:, 0] - best[:, 1] <= (1e-9 + MOVES) * size


def same_choice(learner, snapshot, unit, n, r, metric, one, other) -> bool:
    """Whether two values of the grid are as good as each other on the rows that are held out."""
    scores = validated(learner, snapshot, unit, TuningRule.of(unit), n, r)
    (first, slack), (second, more) = scores[one], scores[other]
    return abs(first[metric] - second[metric]) <= 10 * (slack[metric] + more[metric]) + 1e-12


def check(snapshot: Snapshot, name: str, tuning: str, sampling: str) -> None:
    learner, N = registry.get(name), snapshot.rows
    sizes = tuple(sorted({10, min(2 * snapshot.features + 3, N // 2), N // 2}))
    unit = unit_of(name, snapshot, sampling, "varying", tuning, sizes)
    block = Block(unit, sizes, 0, counts(3, 20))
    before, after = (
        keep(learner, each, block, np.arange(N), "accuracy")
        for each in (snapshot, moved(snapshot, 5))
    )
    others = 0
    for (i, n), r in product(enumerate(sizes), block.repetitions):
        rows, params = training_rows(unit.draws(snapshot), n, r), dict(unit.parameters)
        if tuning == "tuned":
            for m, metric in enumerate(METRICS):
                one, other = before.choices[i, r, m], after.choices[i, r, m]
                if one != other:
                    assert same_choice(learner, snapshot, unit, n, r, metric, one, other)
            if before.choices[i, r, 0] != after.choices[i, r, 0]:
                others += 1
                continue
            params["ridge"] = TuningRule.of(unit).grid[before.choices[i, r, 0]]
        differ = np.flatnonzero(before.label[i, r] != after.label[i, r])
        if len(differ):
            model = fit_cell(learner, snapshot, unit, rows, n, r, params)
            where = (snapshot.name, name, tuning, n, r, differ)
            assert is_tied(model.log_scores(snapshot.X[differ])).all(), where
    assert others <= 1


SNAPSHOTS = {
    **{kind: partial(generated, kind) for kind in GENERATED},
    **{id: partial(real, id) for id in (*SHIPPED, *COPIES)},
    **{name: partial(copy, name) for name in FILES},
    "digits": digits,
}
CASES = [
    pytest.param(name, marks=pytest.mark.data) if name in {*COPIES, *FILES} else name
    for name in SNAPSHOTS
]


@pytest.mark.parametrize("tuning", ["default", "tuned"])
@pytest.mark.parametrize("learner", ["LDC", "QDC"])
@pytest.mark.parametrize("name", CASES)
def test_no_unit_and_no_origin_changes_a_label(name, learner, tuning):
    assert len(SNAPSHOTS) >= 20
    sampling = SAMPLINGS[list(SNAPSHOTS).index(name) % len(SAMPLINGS)]
    check(SNAPSHOTS[name](), learner, tuning, sampling)


@pytest.mark.parametrize("name", ["LDC", "QDC"])
@pytest.mark.parametrize("kind", GENERATED)
def test_the_reference_scores_are_the_same_in_all_units(kind, name):
    """The scores themselves: with determinants in units of features there is no constant apart."""
    snapshot = generated(kind)
    other, rows = moved(snapshot, 6), np.random.default_rng(1).permutation(snapshot.rows)[:40]
    model = getattr(reference, name)()
    right = model.fit(snapshot.X[rows], snapshot.y[rows]).log_scores(snapshot.X)
    found = model.fit(other.X[rows], other.y[rows]).log_scores(other.X)
    size = 1 + np.abs(right).max(axis=1, keepdims=True)
    assert (np.abs(found - right) <= MOVES * size).all()


def test_one_feature_of_large_variance_hides_nothing():
    """Beside others of variance 1: LDC had nothing else left to see."""
    rng = np.random.default_rng(2)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 6)) + 1.5 * np.outer(y, [0, 1, 0, 1, 0, 1])
    X = X @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    X = np.column_stack([X, X[:, 0] + 1e-2 * rng.normal(size=400)])
    for name in ("LDC", "QDC"):
        model = getattr(reference, name)()
        plain = model.fit(X[:80], y[:80]).predict(X[80:])
        scaled = X * [1, 1, 1e4, 1, 1, 1, 1e4]
        assert (model.fit(scaled[:80], y[:80]).predict(scaled[80:]) == plain).all()
        assert (plain == y[80:]).mean() > 0.8
