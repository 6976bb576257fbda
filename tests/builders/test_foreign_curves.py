"""Whole curves of classifiers from elsewhere: all there, their own labels, costs as estimated."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import lcdb_builders
import numpy as np
import pytest
from lcdb_builders import sources
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.learners.registry import keep_files
from lcdb_builders.planning.cost import block_lengths, unit_seconds
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.timing import timing_of
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.reference.replay import replay
from lcdb_builders.run.build import TIMEOUT
from lcdb_builders.run.status import overview
from lcdb_builders.run.supervise import Child
from lcdb_builders.run.tasks import block_to_json
from lcdb_builders.run.timing import time_units
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.naming import describe
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import lcdb
from tests.oracles.sampling import cell
from tests.support.counts import FULL

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not FULL, reason="whole curves of thirteen classifiers"),
    pytest.mark.filterwarnings("ignore"),  # their own, of every kind
]
SEED = 5
WHERE = {"sampling": "additive", "split": "fixed"}
MINE = '''
import numpy as np


class Nearest:
    """The class of the nearest mean."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means = [X[y == c].mean(axis=0) for c in self.classes_]
        return self

    def predict(self, X):
        far = [((X - mean) ** 2).sum(axis=1) for mean in self.means]
        return self.classes_[np.argmin(far, axis=0)]
'''


@dataclass(frozen=True)
class Case:
    """A classifier: its table in a plan, and itself as whoever installed it makes it."""

    table: dict[str, Any]
    model: Callable[[Path], Any]


def case(path, alone=None, **params):
    """A class by its path; `alone` are parameters that only its own use needs."""
    module, _, name = path.rpartition(".")

    def model(folder):
        return getattr(import_module(module), name)(**params, **(alone or {}))

    return Case({"estimator": path, "params": params}, model)


def nearest(folder):
    there: dict[str, Any] = {}
    exec((folder / "mine.py").read_text("utf-8"), there)
    return there["Nearest"]()


STEPS = [
    ["sklearn.preprocessing.StandardScaler", {}],
    ["sklearn.svm.LinearSVC", {"random_state": 3}],
]
CASES = {
    "KNN": case("sklearn.neighbors.KNeighborsClassifier"),
    "LDA": case("sklearn.discriminant_analysis.LinearDiscriminantAnalysis"),
    "QDA": case("sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis"),
    "CENTROID": case("sklearn.neighbors.NearestCentroid"),
    "SVC": case("sklearn.svm.SVC"),
    "PLATT": case("sklearn.svm.SVC", probability=True, random_state=3),
    "RIDGE": case("sklearn.linear_model.RidgeClassifier"),
    "HGB": case("sklearn.ensemble.HistGradientBoostingClassifier", max_iter=10, random_state=3),
    "PIPE": Case(
        {"steps": STEPS}, lambda _: make_pipeline(StandardScaler(), LinearSVC(random_state=3))
    ),
    "MINE": Case({"estimator": "mine.py:Nearest"}, nearest),
    "XGB": case("xgboost.XGBClassifier", {"n_jobs": 1}, n_estimators=10, random_state=3),
    "LGBM": case(
        "lightgbm.LGBMClassifier", {"n_jobs": 1}, n_estimators=10, random_state=3, verbose=-1
    ),
    "CAT": case(
        "catboost.CatBoostClassifier",
        {"thread_count": 1, "allow_writing_files": False},
        iterations=10, random_seed=3, logging_level="Silent",
    ),
}  # fmt: skip
#: Every size of iris; of diabetes as many as an environment variable says, all of them by default.
EVERY = int(os.environ.get("LCDB_EVERY", "1"))


def plan_of(folder, dataset, step):
    content = {
        "datasets": [dataset],
        "learners": {name: one.table for name, one in CASES.items()},
        "samplings": [WHERE["sampling"]],
        "splits": [WHERE["split"]],
        "sizes": "all",
        "repetitions": 20,
        "seed": SEED,
    }
    plan = load_plan(content)
    snapshot = sources.obtain(plan.datasets[0].source(plan.folder), offline=True)
    if step > 1:
        largest = largest_size(snapshot.rows)
        few = {*range(1, 21), *range(20, largest, step), largest}
        plan = load_plan({**content, "sizes": sorted(few)})
    return replace(plan, folder=folder), snapshot


def own_accuracy(model, snapshot, n, repetition):
    """Share that the classifier's own labels have right; NaN where it cannot be fitted."""
    train, test = cell(
        snapshot.rows, SEED, snapshot.sha256, WHERE["sampling"], WHERE["split"], n, repetition
    )
    classes, codes = np.unique(snapshot.y[train], return_inverse=True)
    if len(classes) == 1:
        return np.mean(snapshot.y[test] == classes[0])
    try:
        label = np.asarray(model.fit(snapshot.X[train], codes).predict(snapshot.X[test]))
    except Exception:
        return np.nan
    return np.mean(classes[label.reshape(-1)] == snapshot.y[test])


@pytest.fixture(scope="module", params=["iris", "diabetes"])
def built(request, tmp_path_factory):
    """A database whose blocks were computed one after the other, and seconds by learner."""
    for name in ("xgboost", "lightgbm", "catboost"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "mine.py").write_text(MINE)
    dataset: Any = 61
    if request.param == "diabetes":
        file = request.getfixturevalue("data_folder") / "openml" / "37-diabetes.arff"
        dataset = {"id": "diabetes", "file": str(file), "target": "class"}
    plan, snapshot = plan_of(folder, dataset, 1 if request.param == "iris" else EVERY)
    learners = plan_learners(plan, allow_import=True)
    root = folder / "database"
    journal = Journal(root)
    every = [unit for unit in units(plan, snapshot, learners) if not unit.is_draws]
    journal.prepare(every)
    snapshots.save(snapshot, root / "snapshots")
    for learner in learners.values():
        keep_files(learner, root)
    timings = time_units(every, root, allow_import=True, workers=1)
    seconds = {}
    with Child() as child:
        for unit in every:
            timing = timing_of(timings, unit)
            lengths = block_lengths(unit, snapshot, timing=timing, timeout=TIMEOUT)
            again = {"root": str(root), "unit": describe(unit), "allow_import": True}
            child.run("time", again)  # imports are no part of what is measured
            estimated, measured = unit_seconds(unit, snapshot, plan.repetitions, timing), 0.0
            for block in journal.missing(unit, plan.repetitions, lengths):
                asked = {
                    "root": str(root),
                    "block": block_to_json(block),
                    "splits": [unit.split],
                    "allow_import": True,
                }
                outcome = child.run("compute", asked, TIMEOUT)
                assert outcome.status == "complete", outcome
                measured += outcome.seconds
            seconds[unit.learner] = (estimated, measured)
            print(
                f"{request.param} {unit.learner}: {len(unit.sizes)} sizes, estimated "
                f"{estimated:.1f} s, took {measured:.1f} s, {estimated / measured:.2f}"
            )
    report = lcdb_builders.build(plan, root, workers=1, allow_import=True)
    assert report.computed == 1  # the draws
    return folder, snapshot, report, every[0].sizes


def test_every_curve_is_there(built):
    folder, _, report, _ = built
    curves = {curve.unit.learner: curve for curve in overview(folder / "database").curves}
    assert set(curves) == set(CASES) and not report.failures
    for name, curve in curves.items():
        print(name, curve.status, curve.reason)
        assert curve.status in ("complete", "partial"), curve.reason


@pytest.mark.parametrize("name", CASES)
def test_accuracies_are_those_of_its_own_labels(built, name):
    folder, snapshot, _, sizes = built
    draw = random.Random(name)
    with (
        warnings.catch_warnings(),
        threadpool_limits(1),
        lcdb.open(folder / "database") as db,
    ):
        warnings.simplefilter("ignore")
        dataset = next(iter(db))
        curve = db.curve(dataset, name, **WHERE).load()
        computed = curve["n"].isin(sizes).values  # n may be a part of all there is
        has_value = curve.notnull().values
        there = np.argwhere(has_value).tolist()
        lost = np.argwhere(~has_value & computed[:, None]).tolist()
        for i, r in [*draw.sample(there, 100), *draw.sample(lost, min(len(lost), 10))]:
            where = {"n": int(curve["n"][i]), "repetition": r}
            again = replay(db, dataset, name, **WHERE, **where, allow_import=True)
            assert again.same_bits and again.agrees, again
            own = own_accuracy(CASES[name].model(folder), snapshot, **where)
            stored = float(curve[i, r])
            assert stored == own or (np.isnan(stored) and np.isnan(own)), where
