# ruff: noqa: NPY002, RUF043
"""Classifiers from elsewhere: their own labels, their failures, pipelines, files, seeds."""

from __future__ import annotations

import io
import json
import os
import warnings
from dataclasses import replace
from pathlib import Path

import lcdb_builders
import numpy as np
import pytest
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.streams import stream_key
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.learners.registry import keep_files
from lcdb_builders.planning.cost import block_lengths, cell_seconds, unit_seconds
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.timing import Timing, time_cells, timing_key
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.reference.isolation import isolated
from lcdb_builders.reference.replay import replay
from lcdb_builders.run.status import overview
from lcdb_builders.run.timing import time_units
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.storage.layout import Lengths
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import lcdb
from lcdb.errors import FailedBlocksError, PartialCurveWarning, PlanError
from lcdb.schema import METRICS
from tests.oracles.sampling import cell

MINE = '''
import numpy as np

class Mine:
    """The nearest mean, and nothing but its label."""

    def __init__(self, power=2):
        self.power = power

    def fit(self, X, y):
        if set(y) != set(range(len(set(y)))):
            raise RuntimeError(f"labels are {set(y)}")
        self.means = [X[y == c].mean(axis=0) for c in np.unique(y)]
        open("written.txt", "w").close()
        return self

    def predict(self, X):
        return np.argmin([(abs(X - mean) ** self.power).sum(axis=1) for mean in self.means], axis=0)
'''


def plan_of(learners, **more):
    plan = {
        "datasets": [61],
        "learners": learners,
        "samplings": ["random"],
        "splits": ["varying"],
        "sizes": [2, 3, 9, 60],
        "repetitions": 6,
        "seed": 5,
    }
    return plan | more


def block_of(table, sizes=(9, 60), repetitions=6, folder=None, **more):
    """Learner, unit and scores of one block."""
    plan = load_plan(plan_of({"X": table}, sizes=sorted(sizes), **more))
    if folder is not None:
        plan = replace(plan, folder=folder)
    learners = plan_learners(plan, allow_import=True)
    unit = units(plan, bundled("61"), learners)[-1]
    block = Block(unit, tuple(n for n in unit.sizes if n in sizes), 0, repetitions)
    split = unit.split
    return learners["X"], unit, learners["X"].block(bundled("61"), block, (split,))[split]


def own_accuracies(model, sizes=(9, 60), repetitions=6):
    """Share of labels that a classifier of scikit-learn, used by itself, has right."""
    iris = bundled("61")
    shares = np.full((len(sizes), repetitions), np.nan)
    for i, n in enumerate(sizes):
        for r in range(repetitions):
            train, test = cell(150, 5, iris.sha256, "random", "varying", n, r)
            fitted = clone(model).fit(iris.X[train], iris.y[train])
            shares[i, r] = np.mean(fitted.predict(iris.X[test]) == iris.y[test])
    return shares


# -- labels are its own -----------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(
    ("table", "model"),
    [
        ({"estimator": "sklearn.neighbors.NearestCentroid"}, NearestCentroid()),
        (
            {"estimator": "sklearn.svm.SVC", "params": {"probability": True, "random_state": 3}},
            SVC(probability=True, random_state=3),
        ),
        (
            {"steps": [["sklearn.preprocessing.StandardScaler"], ["sklearn.svm.SVC", {"C": 9.0}]]},
            make_pipeline(StandardScaler(), SVC(C=9.0)),
        ),
        (
            {"estimator": "sklearn.discriminant_analysis.LinearDiscriminantAnalysis"},
            LinearDiscriminantAnalysis(),
        ),
    ],
)
def test_accuracy_is_that_of_the_own_labels(table, model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = own_accuracies(model, sizes=(60,))
    _, _, scores = block_of(table, sizes=(60,))
    assert (scores["accuracy"] == right.astype(np.float32)).all()
    assert all(np.isfinite(scores[name]).all() for name in METRICS)


def test_labels_differ_from_the_largest_probability_where_the_classifier_says_so():
    """What the rule is there for: the two disagree for Platt's probabilities on few rows."""
    learner, unit, _ = block_of({"estimator": "sklearn.svm.SVC", "params": {"probability": True}})
    iris = bundled("61")
    differing = 0
    for r in range(10):
        train, test = cell(150, 5, iris.sha256, "random", "varying", 9, r)
        where = {"key": stream_key(5, iris.sha256, "learner", "X"), "n": 9, "repetition": r}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = learner.estimator(iris, unit.parameters, **where).fit(
                iris.X[train], iris.y[train]
            )
            largest = model.classes_[model.predict_proba(iris.X[test]).argmax(axis=1)]
            differing += int((model.predict(iris.X[test]) != largest).sum())
    assert differing > 0


def test_classes_go_in_as_0_to_k_and_labels_come_back(tmp_path):
    """At n = 2 and 3 classes are missing; the class in the file insists on 0..k-1."""
    (tmp_path / "mine.py").write_text(MINE)
    table = {"estimator": "mine.py:Mine"}
    _, unit, scores = block_of(table, sizes=(2, 3, 9, 60), folder=tmp_path)
    assert np.isfinite(scores["accuracy"]).all()
    iris = bundled("61")
    draws = unit.draws(iris)
    for i, n in enumerate((2, 3, 9, 60)):
        for r in range(6):
            train, test = draws.train(n, r), draws.test(n, r)
            means = {c: iris.X[train][iris.y[train] == c].mean(0) for c in set(iris.y[train])}
            near = [min(means, key=lambda c: ((x - means[c]) ** 2).sum()) for x in iris.X[test]]
            assert scores["accuracy"][i, r] == np.float32(np.mean(near == iris.y[test]))
    for name in ("auc", "brier", "cross_entropy"):
        assert np.isnan(scores[name]).all()
    [lost] = scores.lost
    assert (lost.cells, lost.accuracy) == (24, True)
    assert "neither predict_proba nor decision_function" in lost.reason


def test_decision_values_rank_and_labels_are_predicted():
    _, _, scores = block_of({"estimator": "sklearn.linear_model.RidgeClassifier"})
    assert all(np.isfinite(scores[name]).all() for name in METRICS)
    assert scores["auc"][1].mean() > 0.9


# -- cells that fail --------------------------------------------------------------------------


@pytest.mark.process
def test_a_curve_with_failed_cells_is_partial_with_counts_by_reason(tmp_path):
    plan = plan_of(
        {
            "KNN": {"estimator": "sklearn.neighbors.KNeighborsClassifier"},
            "KNN5": {"estimator": "sklearn.neighbors.KNeighborsClassifier", "from_n": 9},
            "QDA": {
                "estimator": "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis",
                "rows_per_class": 8,
            },
        }
    )
    report = lcdb_builders.build(plan, tmp_path, workers=1)
    assert report.computed == 4 and not report.failures
    curves = {curve.unit.learner: curve for curve in overview(tmp_path).curves}
    statuses = {name: curve.status for name, curve in curves.items()}
    assert statuses == {"KNN": "partial", "KNN5": "complete", "QDA": "partial"}
    assert curves["KNN"].reason.startswith("12 cells at n = 2 to 3 have no value: ValueError: ")
    assert "asks for 8 rows of each class" in curves["QDA"].reason
    assert curves["KNN5"].unit.sizes == (9, 60)
    assert not list((tmp_path / "blocks").rglob("*.block"))  # all is in the cube
    with lcdb.open(tmp_path) as db:
        with pytest.warns(PartialCurveWarning, match="12 cells at n = 2 to 3"):
            curve = db.curve(61, "KNN", sampling="random", split="varying")
        there = np.isfinite(curve.sel(n=[2, 3, 9, 60])).all("repetition")
        assert there.to_numpy()[2:].all()
        lcdb.schema.validate(db[61], values=True)
    again = lcdb_builders.build(plan, tmp_path, workers=1)
    assert again.computed == 0 and not again.cubes["61"].written
    more = lcdb_builders.build(plan, tmp_path, workers=1, repetitions=8)
    assert more.cubes["61"].statuses["61-KNN-random-varying-default"] == "partial"
    [knn] = [c for c in overview(tmp_path).curves if c.unit.learner == "KNN"]
    draws, y = knn.unit.draws(bundled("61")), bundled("61").y  # one class needs no neighbours
    mixed = [(n, r) for n in (2, 3) for r in range(8) if len(set(y[draws.train(n, r)])) > 1]
    assert knn.reason.startswith(f"{len(mixed)} cells at n = 2 to 3")
    n, r = mixed[-1]
    lost = replay(tmp_path, "iris", "KNN", "random", "varying", n=n, repetition=r)
    assert lost.agrees and lost.same_bits and np.isnan(lost.stored["accuracy"])
    kept = replay(tmp_path, "iris", "KNN", "random", "varying", n=60, repetition=7)
    assert kept.agrees and kept.same_bits and kept.stored["accuracy"] > 0.5


@pytest.mark.full
@pytest.mark.process
def test_a_curve_without_any_value_has_failed(tmp_path):
    plan = plan_of({"X": {"estimator": "estimators.Raises"}}, sizes=[9, 60], repetitions=2)
    with pytest.raises(FailedBlocksError, match="1 curves have no value in any cell"):
        lcdb_builders.build(plan, tmp_path, workers=1, allow_import=True)
    [curve] = overview(tmp_path).curves
    assert curve.status == "failed"
    assert "three rows are too many" in curve.reason


def test_a_grid_value_that_fails_is_not_chosen():
    """With 9 rows 7 are fitted: 7 neighbours can be asked for, 20 cannot."""
    table = {
        "estimator": "sklearn.neighbors.KNeighborsClassifier",
        "tuning": {"parameter": "n_neighbors", "values": [1, 7, 20]},
        "params": {"n_neighbors": 20},
    }
    _, _, scores = block_of(table, sizes=(10,), tunings=["tuned"])
    for name in METRICS:
        assert set(scores[f"choice_{name}"].ravel().tolist()) <= {0, 1}
    assert not scores.lost


# -- parameters, seeds, threads ---------------------------------------------------------------

BOOSTING = '''
from sklearn.base import BaseEstimator, ClassifierMixin

class Listed(ClassifierMixin, BaseEstimator):
    def __init__(self, seed=0, nthread=None):
        self.seed, self.nthread = seed, nthread
    def fit(self, X, y):
        self.classes_ = sorted(set(y)); return self
    def predict(self, X):
        return [0] * len(X)

class Unlisted(Listed):
    """Takes what it does not list, as boosting packages do."""
    def __init__(self, trees=3, random_seed=None, **kwargs):
        if "deep" in kwargs:
            raise TypeError("deep is nothing that I know")
        self.kwargs = kwargs; self.trees = trees; self.random_seed = random_seed
    def get_params(self, deep=True):
        return dict(self.kwargs)

class Picky(Listed):
    def __init__(self, depth=None):
        if depth is None:
            raise RuntimeError("depth is needed")
'''


@pytest.fixture
def boosting(tmp_path):
    (tmp_path / "boosting.py").write_text(BOOSTING)

    def get(path):
        return registry.get("X", path, allow_import=True, files=lambda file: tmp_path / file)

    return get


def cell_of(learner, params, n=5, repetition=2):
    key = stream_key(1, "ab", "learner", "X")
    return learner.estimator(bundled("61"), params, key=key, n=n, repetition=repetition).estimator


def test_parameters_that_a_class_does_not_list_are_for_its_constructor_to_check(boosting):
    learner = boosting("boosting.py:Unlisted")
    full = learner.complete({"trees": 7, "depth": 2})
    assert full == {"trees": 7, "depth": 2}
    assert cell_of(learner, full).kwargs == {"depth": 2}
    with pytest.raises(PlanError, match="learners.X: deep is nothing that I know"):
        learner.complete({"deep": 1})
    with pytest.raises(PlanError, match=r"X: Picky cannot .* \(RuntimeError: depth is needed\)"):
        boosting("boosting.py:Picky").complete({"depth": 2})
    with pytest.raises(PlanError, match="X.sead is not a parameter .* Did you mean 'seed'"):
        boosting("boosting.py:Listed").complete({"sead": 1})


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("boosting.py:Listed", "seed"),
        ("boosting.py:Unlisted", "random_seed"),
        ("sklearn.ensemble.RandomForestClassifier", "random_state"),
    ],
)
def test_a_seed_is_set_by_whatever_name_it_has(boosting, path, name):
    learner = boosting(path)
    full = learner.complete({})
    assert name not in full
    seeds = {getattr(cell_of(learner, full, n, r), name) for n in (3, 4) for r in range(5)}
    assert len(seeds) == 10 and all(0 < seed < 2**31 for seed in seeds)
    assert getattr(cell_of(learner, learner.complete({name: 4})), name) == 4


def test_steps_of_pipelines_are_seeded_apart(boosting):
    learner = boosting("sklearn.decomposition.PCA | sklearn.linear_model.SGDClassifier")
    model = cell_of(learner, learner.complete({"pca__n_components": 2}))
    assert model["pca"].n_components == 2
    assert model["pca"].random_state != model["sgdclassifier"].random_state
    assert None not in (model["pca"].random_state, model["sgdclassifier"].random_state)


def test_classes_from_elsewhere_take_one_thread(boosting):
    assert cell_of(boosting("boosting.py:Listed"), {}).nthread == 1
    with pytest.raises(PlanError, match="nthread is 4; expected 1"):
        boosting("boosting.py:Listed").complete({"nthread": 4})


def test_global_generators_and_the_folder_are_as_before():
    here, state = os.getcwd(), np.random.get_state()[1].copy()
    with isolated(3):
        first = np.random.random()
        Path("left.txt").touch()
        place = os.getcwd()
    assert (np.random.get_state()[1] == state).all()
    assert os.getcwd() == here != place
    assert not os.path.exists(place)
    with isolated(3):
        assert np.random.random() == first


# -- the source is part of the key ------------------------------------------------------------


@pytest.mark.full
@pytest.mark.process
def test_an_edited_class_is_computed_anew(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'datasets = [61]\nsamplings = ["random"]\nsplits = ["varying"]\nsizes = [9, 60]\n'
        'repetitions = 4\n[learners.NMC]\n[learners.MINE]\nestimator = "mine.py:Mine"\n'
    )
    root = tmp_path / "database"
    options = {"workers": 1, "allow_import": True}
    assert lcdb_builders.build(plan, root, **options).computed == 3
    same = lcdb_builders.build(plan, root, **options)
    assert same.computed == 0 and not same.cubes["61"].written
    # The median of coordinates at 0.01 is nearly never the nearest mean.
    (tmp_path / "mine.py").write_text(MINE.replace("power=2", "power=0.01"))
    with lcdb.open(root) as db:
        with pytest.warns(PartialCurveWarning):
            before = (
                db.curve(61, "MINE", sampling="random", split="varying").sel(n=[9, 60]).to_numpy()
            )
        nearest = db.curve(61, "NMC", sampling="random", split="varying").sel(n=[9, 60]).to_numpy()
    assert (before == nearest).all()
    anew = lcdb_builders.build(plan, root, **options)
    assert anew.computed == 1
    with lcdb.open(root) as db, pytest.warns(PartialCurveWarning):
        after = db.curve(61, "MINE", sampling="random", split="varying").sel(n=[9, 60]).to_numpy()
    assert (before != after).any() and np.isfinite(after).all()
    # A replay needs neither plan nor file: the database keeps the source.
    (tmp_path / "mine.py").unlink()
    cell = replay(root, 61, "MINE", "random", "varying", n=60, repetition=1, allow_import=True)
    assert cell.same_bits and cell.agrees
    assert len(list((root / "estimators").glob("mine-*.py"))) == 2


def test_a_file_that_cannot_be_used_is_told(tmp_path):
    def get(text):
        (tmp_path / "bad.py").write_text(text)
        return registry.get(
            "X", "bad.py:Mine", allow_import=True, files=lambda file: tmp_path / file
        )

    with pytest.raises(PlanError, match="bad.py ends in ZeroDivisionError: .* what is installed"):
        get("1 / 0")
    with pytest.raises(PlanError, match="no 'Mine' in bad.py"):
        get("class Mien: fit = None")
    with pytest.raises(PlanError, match="expected a classifier"):
        get("class Mine:\n    def fit(self, X, y): return self").complete({})
    with pytest.raises(PlanError, match="gone.py cannot be read .*No such file"):
        registry.get("X", "gone.py:Mine", allow_import=True, files=lambda file: tmp_path / file)
    assert not list(tmp_path.rglob("__pycache__"))


# -- what it costs ----------------------------------------------------------------------------


def test_estimates_of_what_was_timed_follow_the_timing():
    table = {"estimator": "estimators.Slow", "params": {"seconds": 0.02}}
    learner, unit, _ = block_of(table, sizes=(10, 30, 90), repetitions=1)
    unit = replace(unit, sizes=(1, 10, 30, 90))
    timing = time_cells(learner, bundled("61"), unit)
    assert timing.sizes == (10, 30, 90)
    assert min(timing.seconds) >= 0.02  # it cannot be faster than it sleeps
    seconds = cell_seconds(unit, bundled("61"), timing)
    assert seconds[1:].tolist() == pytest.approx(list(timing.seconds))
    total = unit_seconds(unit, bundled("61"), 1000, timing)
    assert total == pytest.approx(1000 * seconds.sum())
    dear = Timing((90,), (50.0,))
    assert block_lengths(unit, bundled("61"), 1.0, dear) == Lengths(sizes=1, repetitions=1)
    cheap = Timing((90,), (0.01,))
    free = block_lengths(unit, bundled("61"), 1.0, cheap)
    short = block_lengths(unit, bundled("61"), 1.0, cheap, timeout=6.0)
    assert free.repetitions == 1000  # 40 ms a repetition, a minute a block
    assert short.repetitions * 0.04 <= 6.0 / 2  # a block is to end well before it may be ended


@pytest.mark.process
def test_a_plan_and_a_build_time_classifiers_from_elsewhere(tmp_path, capsys):
    from lcdb_builders.run.progress import Lines

    from lcdb.cli import main

    path = tmp_path / "plan.toml"
    path.write_text(
        'datasets = [61]\nsamplings = ["random"]\nsplits = ["varying"]\nsizes = [10, 90]\n'
        'repetitions = 1\n[learners.SLOW]\nestimator = "estimators.Slow"\n'
        "params = { seconds = 0.4 }\n"
    )
    assert main(["plan", str(path), "--allow-import", "--json"]) == 0
    hours = json.loads(capsys.readouterr().out)["total"]["core_hours"]
    assert hours == pytest.approx(0.8 / 3600, abs=1e-4)
    stream = io.StringIO()
    lcdb_builders.build(path, tmp_path / "db", workers=1, allow_import=True, progress=Lines(stream))
    timed = [line for line in stream.getvalue().splitlines() if "timed SLOW on 61" in line]
    assert len(timed) == 1 and "a cell at n = 90" in timed[0]


@pytest.mark.full
@pytest.mark.process
def test_a_classifier_that_dies_is_not_timed(tmp_path):
    _, unit, _ = block_of({"estimator": "estimators.Prior"}, sizes=(9,), repetitions=1)
    snapshots.save(bundled("61"), tmp_path / "snapshots")
    dying = replace(unit, learner="D", estimator="estimators.Dies", params='{"once":"","rows":3}')
    found = time_units([unit, dying], tmp_path, allow_import=True, workers=1)
    assert list(found) == [timing_key(unit)]


@pytest.mark.full
@pytest.mark.process
def test_a_timing_ends_when_a_block_would_and_imports_are_none_of_it(tmp_path):
    """A file that takes longer to import than a block may take, and a class that hangs."""
    waiting = "import sys, time\nif sys.argv[0].endswith('child.py'):\n    time.sleep(3)\n"
    (tmp_path / "lazy.py").write_text(waiting + MINE)
    table = {"estimator": "lazy.py:Mine"}
    learner, unit, _ = block_of(table, sizes=(60,), repetitions=1, folder=tmp_path)
    snapshots.save(bundled("61"), tmp_path / "snapshots")
    keep_files(learner, tmp_path)
    hanging = replace(unit, learner="H", estimator="estimators.Hangs", params='{"rows":3}')
    timed = time_units([unit, hanging], tmp_path, allow_import=True, workers=2, timeout=2)
    assert timed[timing_key(unit)].sizes == (60,)
    assert timed[timing_key(hanging)] == Timing((60,), (2,))


# -- steps for some columns ------------------------------------------------------------------------

STEPS = [
    ["sklearn.preprocessing.OneHotEncoder", {"handle_unknown": "ignore", "columns": ["colour"]}],
    ["sklearn.preprocessing.StandardScaler", {"columns": "numeric"}],
    ["sklearn.naive_bayes.GaussianNB"],
]


def mixed():
    """A dataset with numbers, categories and a further column of categories."""
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=40), rng.integers(0, 3, 40), rng.integers(0, 2, 40)])
    origin = {"categories": {"colour": ["r", "g", "b"], "shop": ["n", "s"]}}
    names = ("width", "colour", "shop")
    return snapshots.Snapshot("mixed", X, np.arange(40) % 2, names, ("no", "yes"), "m", origin)


def test_a_plan_names_the_columns_of_a_step():
    plan = load_plan({"datasets": [61], "learners": {"NB": {"steps": STEPS}}})
    assert load_plan(plan.content).content == plan.content
    learners, dataset = plan_learners(plan), mixed()
    unit = units(plan, dataset, learners)[-1]
    assert unit.parameters["onehotencoder__columns"] == ["colour"]
    key = stream_key(1, "ab", "learner", "NB")
    model = learners["NB"].estimator(dataset, unit.parameters, key=key, n=30, repetition=0)
    train, test = slice(0, 30), slice(30, 40)
    found = model.estimator.fit(dataset.X[train], dataset.y[train]).predict_proba(dataset.X[test])

    def by_hand(rows):
        width, colour, shop = dataset.X[rows].T
        known = np.unique(dataset.X[train, 1])
        scaled = (width - dataset.X[train, 0].mean()) / dataset.X[train, 0].std()
        return np.column_stack([colour[:, None] == known, scaled, shop])

    right = GaussianNB().fit(by_hand(train), dataset.y[train]).predict_proba(by_hand(test))
    np.testing.assert_allclose(found, right, rtol=1e-9)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([STEPS[2], STEPS[0]], "expected them first, and a classifier after them"),
        ([["sklearn.preprocessing.StandardScaler"], STEPS[0], STEPS[2]], "expected them first"),
        ([["sklearn.preprocessing.StandardScaler", {"columns": ["widht"]}], STEPS[2]],
         "learners.NB.standardscaler__columns: dataset mixed has no column 'widht'. Did you mean"),
        ([["sklearn.preprocessing.StandardScaler", {"columns": "all"}], STEPS[2]],
         "columns is 'all'; expected a list of names, 'nominal' or 'numeric'"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_meant_are_told(steps, words):
    plan = load_plan({"datasets": [61], "learners": {"NB": {"steps": steps}}})
    with pytest.raises(PlanError, match=words):
        units(plan, mixed(), plan_learners(plan))
