"""Learning curves of one's own data: the database's bits, scikit-learn's scores, in any company."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import Future
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.predict import cells as computing
from lcdb_builders.predict import curve as own
from lcdb_builders.predict import spending
from lcdb_builders.predict.cells import Computed
from lcdb_builders.predict.own_data import own_data
from lcdb_builders.predict.spending import Pieces
from lcdb_builders.run import compiling
from lcdb_builders.sources.bundled import bundled
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.model_selection import learning_curve as sklearns
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import lcdb
from lcdb.errors import (
    ArgumentError,
    DatasetError,
    DatasetWarning,
    ImportRefusedError,
    LabelError,
    PartialCurveWarning,
)
from lcdb.schema import METRICS, SAMPLINGS
from tests.support.counts import counts, first

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def table_of(rows=60):
    rng = np.random.default_rng(5)
    colour = rng.choice(["red", "green", "blue"], rows)
    width = rng.normal(size=rows) + (colour == "red")
    width[3] = np.nan
    frame = pd.DataFrame({
        "width": width,
        "colour": pd.Categorical(colour),
        "heavy": rng.random(rows) < 0.5,
        "shop": rng.choice(["north", "south"], rows),
    })  # fmt: skip
    return frame, np.where(colour == "red", "yes", "no")


# The cube may be of another machine: what is no count differs in its last bits.
SAME = {"accuracy": 0, "auc": 1e-6, "brier": 1e-6, "cross_entropy": 1e-6}

# -- the same numbers as elsewhere -----------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["random", "additive", "bootstrap"])
@pytest.mark.parametrize("split", ["varying", "fixed"])
def test_the_same_data_and_seed_give_the_bits_of_a_database(sampling, split):
    with lcdb.tutorial() as db:
        seed = int(db["iris"].attrs["master_seed"])
        snapshot = bundled("61")
        options = {"sizes": [20, 105], "repetitions": 40, "sampling": sampling, "split": split}
        curve = lcdb.learning_curve("LDC", snapshot.X, snapshot.y, seed=seed, **options)
        for metric in METRICS:
            stored = db.curve("iris", "LDC", sampling=sampling, split=split, metric=metric)
            stored = stored.sel(n=[20, 105], repetition=range(40))
            np.testing.assert_allclose(curve[metric], stored, rtol=SAME[metric])
            assert curve[metric].attrs["direction"] == stored.attrs["direction"]


SPLITTER = ShuffleSplit(counts(3, 10), test_size=0.3, random_state=2)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(C=0.01),
        GaussianNB(),
        DecisionTreeClassifier(random_state=4),
        KNeighborsClassifier(3),
        make_pipeline(StandardScaler(), SVC(random_state=0)),
        LogisticRegression(C=0.01, class_weight=dict.fromkeys(NAMES[:1], 5)),
        LinearDiscriminantAnalysis(),
    ],
    ids=lambda e: type(e).__name__,
)  # fmt: skip
@pytest.mark.parametrize("scoring", ["f1_macro", "accuracy", "balanced_accuracy"][: counts(1, 3)])
def test_given_splits_give_the_scores_of_scikit_learn(estimator, scoring):
    sizes = [30, 105]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n, train, test = sklearns(
            estimator, X, NAMES, train_sizes=sizes, cv=SPLITTER, scoring=scoring
        )
    found = lcdb.learning_curve(
        estimator, X, NAMES, sizes=sizes, split=SPLITTER, metrics=scoring, rows=["test", "train"]
    )
    assert found.n.values.tolist() == n.tolist()
    np.testing.assert_allclose(found[scoring], test, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[f"train_{scoring}"], train, rtol=0, atol=1e-12)
    assert (found.fit_time > 0).all() and (found.score_time > 0).all()


def test_a_class_absent_from_training_scores_as_in_scikit_learn():
    cv = [(np.r_[100:150, 0:50], np.r_[50:100]), (np.r_[0:100], np.r_[0:150])]
    _, _, test = sklearns(GaussianNB(), X, NAMES, train_sizes=[60, 100], cv=cv)
    found = lcdb.learning_curve(GaussianNB(), X, NAMES, sizes=[60, 100], split=cv)
    np.testing.assert_allclose(found.accuracy, test, rtol=0, atol=1e-12)
    assert np.isnan(found.auc[:, 0]).all()  # one class to test on
    assert np.isfinite(found.auc[:, 1]).all()


def test_names_take_given_splits_too():
    found = lcdb.learning_curve("LDC", X, Y, sizes=[50], split=StratifiedKFold(3), repetitions=2)
    assert found.accuracy.shape == (1, 2) and float(found.accuracy.min()) >= 0
    assert found.split == "StratifiedKFold" and found.sampling == "given"


@pytest.mark.parametrize("given", list(product((False, True), repeat=2)))
def test_rows_of_a_split_are_numbers_or_a_mask_each(given):
    train, test = np.r_[0:40, 60:140], np.r_[40:60, 140:150]
    masks = [np.isin(np.arange(150), rows) for rows in (train, test)]
    parts = [mask if is_mask else np.flatnonzero(mask)
             for mask, is_mask in zip(masks, given, strict=True)]  # fmt: skip
    options = {"sizes": [120], "workers": 1}
    expected = lcdb.learning_curve("LDC", X, Y, split=[(train, test)], **options)
    found = lcdb.learning_curve("LDC", X, Y, split=[tuple(parts)], **options)
    assert found.identical(expected)


def test_more_metrics_of_a_name_agree_with_its_kernel():
    options = {"sizes": [5, 40], "repetitions": counts(6, 100), "sampling": "bootstrap"}
    kernel = lcdb.learning_curve("QDC", X, Y, **options)
    metrics = [*METRICS, "mcc", "recall_1"]
    reference = lcdb.learning_curve("QDC", X, Y, metrics=metrics, rows=["test", "train"], **options)
    for metric in METRICS:
        np.testing.assert_allclose(reference[metric], kernel[metric], rtol=1e-5, atol=1e-6)
    assert float(reference.train_accuracy.mean()) > float(reference.accuracy.mean())
    assert "fit_time" not in reference


def test_training_rows_weigh_as_often_as_they_were_drawn():
    seen = []

    def rows(y, label, probability, weight):
        seen.append((len(y), weight.sum()))
        return np.average(y == label, weights=weight)

    found = lcdb.learning_curve(
        GaussianNB(), X, Y, sizes=[40], repetitions=3, sampling="bootstrap", rows="train",
        metrics=["accuracy", rows], workers=1,
    )  # fmt: skip
    assert all(distinct < total == 40 for distinct, total in seen)
    np.testing.assert_allclose(found.train_accuracy, found.train_rows, rtol=0, atol=1e-12)
    assert set(found.data_vars) == {"train_accuracy", "train_rows", "fit_time", "score_time"}


def test_kernels_answer_every_metric_and_training_rows(monkeypatch):
    def named(y, label, probability, weight):
        assert set(label) <= set(NAMES) and probability.shape == (len(y), 3)
        return float(np.average(y == label, weights=weight))

    options = {
        "sizes": [3, 40], "repetitions": counts(4, 40), "sampling": "bootstrap", "workers": 1,
        "rows": ["test", "train"], "metrics": [*METRICS, "mcc", "ece", named],
    }  # fmt: skip
    for learner in ("DT", "NNC", "LREG"):
        for split in ("varying", "fixed"):
            curve = lcdb.learning_curve(learner, X, NAMES, split=split, **options)
            with monkeypatch.context() as without:
                without.setattr(computing, "answers_of", lambda *_, **__: None)
                right = lcdb.learning_curve(learner, X, NAMES, split=split, **options)
            assert list(curve.data_vars) == list(right.data_vars) and len(right.data_vars) == 14
            near = 1e-5 if learner == "LREG" else 1e-12
            xr.testing.assert_allclose(curve, right, rtol=near, atol=near)
            xr.testing.assert_allclose(curve.train_named, curve.train_accuracy, rtol=1e-12)
            alone = lcdb.learning_curve(learner, X, NAMES, split=split, **{
                **options, "rows": "test", "metrics": ["brier"],
            })  # fmt: skip
            assert np.array_equal(alone.brier.astype("f4"), curve.brier.astype("f4"))


# -- memory ----------------------------------------------------------------------------------------

#: What NNC and GSVC take at so many rows, beyond what they take at few.
MEMORY = """
from pathlib import Path
import numpy as np
import lcdb

def resident(which):
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(which))
    return int(line.split()[1]) / 1000

def curve(learner, rows):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 2))
    y = (X[:, 0] + rng.normal(size=rows) > 0).astype(int)
    lcdb.learning_curve(learner, X, y, sizes=[4, 9], repetitions=1, workers=1)

for learner in ("GSVC", "NNC"):
    curve(learner, 40)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    curve(learner, 5400)
    print(learner, resident("VmHWM") - before)
"""


@pytest.mark.full
@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux says so there")
def test_a_worker_takes_at_most_200_megabytes():
    """Tables of all pairs of these rows have 233 MB and more."""
    command = [sys.executable, "-P", "-c", MEMORY]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    grown = {name: float(size) for name, size in map(str.split, told.splitlines())}
    print(grown)
    assert set(grown) == {"GSVC", "NNC"} and all(0 < size < 200 for size in grown.values())


@pytest.mark.parametrize("learner", ["NNC", "GSVC"])
@pytest.mark.parametrize("most", [0, 90_000])
def test_numbers_do_not_depend_on_room_for_tables(learner, most, monkeypatch):
    """None at all, and lists without distances or half of a kernel."""
    for sampling, rows in product(SAMPLINGS, (["test"], ["test", "train"])):
        options = {"sizes": [4, 20, 90], "repetitions": 3, "sampling": sampling, "rows": rows}
        right = lcdb.learning_curve(learner, X, Y, workers=1, **options)
        with monkeypatch.context() as tight:
            tight.setattr(computing, "TABLES", most)
            curve = lcdb.learning_curve(learner, X, Y, workers=1, **options)
        xr.testing.assert_identical(curve, right)


# -- data and learners of every kind ---------------------------------------------------------------


def test_a_pipeline_is_given_the_frame_and_a_name_its_numbers():
    frame, y = table_of()
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour", "shop"]), remainder="drop"
    )
    options = {"sizes": [20, 42], "repetitions": 5, "workers": 1}
    tree = make_pipeline(columns, DecisionTreeClassifier())
    found = lcdb.learning_curve(tree, frame, y, **options)
    assert found.learner == "ColumnTransformer+DecisionTreeClassifier"
    assert float(found.accuracy.sel(n=42).mean()) == 1.0
    filled = r"^own data: 1 missing cells were filled .*\(width: 1 by its median\)"
    with pytest.warns(DatasetWarning, match=filled):
        coded = lcdb.learning_curve("NNC", frame, y, **options)
    assert coded.attrs["dataset_sha256"] == found.attrs["dataset_sha256"]  # the same rows
    assert own_data(frame, y).numbers.origin["imputed"]["width"]["cells"] == 1
    assert own_data(frame, y).numbers.origin["categories"]["heavy"] == ["False", "True"]
    objects = own_data(frame.to_numpy(dtype=object), y).numbers
    assert objects.X.shape == (60, 4)


def test_a_pipeline_fills_missing_cells_by_each_training_set():
    """Nobody fills them before; a column without values is its own to handle."""
    rng = np.random.default_rng(3)
    holed = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    options = {"sizes": [30], "repetitions": 2, "workers": 1, "metrics": "accuracy"}
    fills = make_pipeline(SimpleImputer(strategy="mean"), GaussianNB())
    found = lcdb.learning_curve(fills, holed, Y, **options)
    draws = Draws(150, own_data(holed, Y).key, 0, "random", "varying")
    for repetition in range(2):
        train, test = draws.train(30, repetition), draws.test(30, repetition)
        means = np.nanmean(holed[train], axis=0)
        model = GaussianNB().fit(np.where(np.isnan(holed[train]), means, holed[train]), Y[train])
        right = model.score(np.where(np.isnan(holed[test]), means, holed[test]), Y[test])
        assert found.accuracy[0, repetition] == pytest.approx(right, abs=1e-12)


def test_a_column_without_values_is_left_out_and_told():
    empty = np.column_stack([X, np.full(150, np.nan)])
    options = {"sizes": [30], "repetitions": 2, "workers": 1}
    with pytest.warns(DatasetWarning, match="^own data: no row has a value in 'x4'; left out"):
        found = lcdb.learning_curve("LDC", empty, Y, **options)
    assert found.identical(lcdb.learning_curve("LDC", X, Y, **options))


def test_words_of_the_field_are_taken_where_they_mean_one_thing():
    options = {"sizes": [30], "repetitions": 2, "workers": 1, "metrics": ["accuracy", "roc_auc"]}
    found = lcdb.learning_curve("lda", X[:100], NAMES[:100], **options)
    assert found.learner == "LDC" and found.roc_auc.attrs["direction"] == "maximize"
    right = lcdb.learning_curve("LDC", X[:100], NAMES[:100], **{**options, "metrics": "auc"})
    xr.testing.assert_allclose(found.roc_auc, right.auc, rtol=1e-6)


def test_what_cannot_be_put_in_numbers_is_for_estimators_alone():
    when = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=30), "x": range(30)})
    y = np.arange(30) % 2
    picks = make_pipeline(make_column_transformer(("passthrough", ["x"])), GaussianNB())
    assert lcdb.learning_curve(picks, when, y, sizes=[10], repetitions=2).accuracy.shape == (1, 2)
    with pytest.raises(DatasetError, match="column 'day' holds dates"):
        lcdb.learning_curve("LDC", when, y, sizes=[10], repetitions=2)
    matrix = sparse.csr_array(X)
    found = lcdb.learning_curve(LogisticRegression(C=0.01), matrix, Y, sizes=[1, 50],
                                repetitions=2)  # fmt: skip
    assert float(found.accuracy.sel(n=50).min()) > 0.5
    with pytest.raises(DatasetError, match="it is a csr_array"):
        lcdb.learning_curve("LDC", matrix, Y)


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
def test_scaled_features_have_the_constants_of_the_fixed_pool(scaling):
    wide = np.column_stack([X * 1000, np.ones(150)])
    own = own_data(wide, Y)
    pool = wide[Draws(150, own.key, 3, "random", "fixed").pool]
    if scaling == "standard":
        by_hand = (wide[:, :4] - pool[:, :4].mean(0)) / pool[:, :4].std(0)
    else:
        by_hand = (wide[:, :4] - pool[:, :4].min(0)) / np.ptp(pool[:, :4], axis=0)
    options = {"sizes": [30], "repetitions": 4, "seed": 3}
    found = lcdb.learning_curve(KNeighborsClassifier(), wide, Y, scaling=scaling, **options)
    splits = [
        (Draws(150, own.key, 3, "random", "varying").train(30, r),
         Draws(150, own.key, 3, "random", "varying").test(30, r)) for r in range(4)
    ]  # fmt: skip
    expected = lcdb.learning_curve(KNeighborsClassifier(), by_hand, Y, sizes=[30], split=splits)
    assert np.array_equal(found.accuracy, expected.accuracy)
    named = lcdb.learning_curve("NNC", wide, Y, scaling=scaling, **options)
    assert named.attrs["scaling"] == scaling and named.accuracy.shape == (1, 4)


def test_unset_seeds_are_those_of_the_cell_and_set_ones_stay():
    forest = RandomForestClassifier(3, max_features=1)
    options = {"sizes": [10], "repetitions": 6, "metrics": "accuracy"}
    one = lcdb.learning_curve(forest, X, Y, **options)
    assert one.accuracy.equals(lcdb.learning_curve(forest, X, Y, **options).accuracy)
    assert not one.accuracy.equals(lcdb.learning_curve(forest, X, Y, seed=1, **options).accuracy)
    assert forest.random_state is None and one.attrs["implementation"] == repr(forest)
    fixed = lcdb.learning_curve(forest.set_params(random_state=8), X, Y, **options)
    again = lcdb.learning_curve(make_pipeline(forest), X, Y, **options)
    assert fixed.accuracy.equals(again.accuracy)


def test_an_import_path_of_scikit_learn_is_a_classifier():
    path = "sklearn.preprocessing.StandardScaler | sklearn.naive_bayes.GaussianNB"
    named = lcdb.learning_curve(path, X, Y, sizes=[20], repetitions=2)
    made = lcdb.learning_curve(
        make_pipeline(StandardScaler(), GaussianNB()), X, Y, sizes=[20], repetitions=2
    )
    assert named.accuracy.equals(made.accuracy) and named.learner == "StandardScaler+GaussianNB"


class Fussy(ClassifierMixin, BaseEstimator):
    """Knows labels alone, and refuses small training sets."""

    def fit(self, X, y):
        if len(y) < 10:
            raise ValueError("too few rows")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def test_failed_cells_are_nan_and_told_of():
    words = r"6 cells at n = 5 .*too few rows; 6 cells at n = 20 have nothing but the accuracy"
    with pytest.warns(PartialCurveWarning, match=words):
        found = lcdb.learning_curve(Fussy(), X, NAMES, sizes=[5, 20], repetitions=6)
    assert np.isnan(found.accuracy.sel(n=5)).any()
    assert np.isfinite(found.accuracy.sel(n=20)).all() and np.isnan(found.auc.sel(n=20)).all()
    assert "too few rows" in found.attrs["lost"]


# -- sizes, and how long ---------------------------------------------------------------------------


def test_sizes_are_log_spaced_unless_listed():
    found = lcdb.learning_curve("NMC", X, Y, repetitions=2)
    n = found.n.values
    assert n[0] == 1 and n[-1] == 105 and 15 < len(n) <= 30
    assert found.fraction[-1] == 1.0
    assert lcdb.learning_curve("NMC", X, Y, sizes=1, repetitions=1).n.values.tolist() == [105]
    listed = lcdb.learning_curve("NMC", X, Y, sizes=np.array([9, 3, 9]), repetitions=1)
    assert listed.n.values.tolist() == [3, 9]


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("learner", first(["LDC", GaussianNB()], 1))
def test_workers_do_not_change_a_number(learner, monkeypatch):
    monkeypatch.setattr(spending, "_ALONE", 0.0)  # other processes from the second piece on
    monkeypatch.setattr(spending, "_WORTH", 0.0)
    monkeypatch.setattr(spending, "_PIECE", 0.01)
    options = {"sizes": [3, 30, 60], "repetitions": 30, "metrics": list(METRICS)}
    alone = lcdb.learning_curve(learner, X, Y, workers=1, **options)
    shared = lcdb.learning_curve(learner, X, Y, workers=2, **options)
    for metric in METRICS:
        assert np.array_equal(alone[metric], shared[metric], equal_nan=True)


class Slow:
    """Takes a hundredth of a second per cell, by a clock of its own, and computes at once."""

    def __init__(self, first=0.0):
        self.now, self.first, self.counts = 0.0, first, np.zeros((3, 1000), int)
        self.stopped = False

    def monotonic(self):
        return self.now

    def compute(self, piece):
        self.now += self.first + 0.01 * piece.cells
        self.first = 0.0
        self.counts[piece.first_size : piece.stop_size, piece.first : piece.stop] += 1
        return Computed({})

    def submit(self, compute, piece):
        done = Future()
        done.set_result(spending._timed(self)(piece))
        return done

    def shutdown(self, **how):
        self.stopped = True


def spent_by(slow, monkeypatch, seconds):
    """Spend a budget of so many seconds, by the clock of `slow`, in the place of processes."""
    monkeypatch.setattr(spending, "time", slow)
    monkeypatch.setattr(spending, "_processes", lambda *_: slow)
    monkeypatch.setattr(spending, "_works", [slow])
    told = Told()
    ended = spending.spend(
        slow, Pieces(3, 1000), lambda *_: None, workers=1, deadline=seconds, progress=told,
        processes=False,
    )  # fmt: skip
    assert told.ended
    return ended, told


def test_a_budget_is_spent_on_all_sizes_alike(monkeypatch):
    slow = Slow()
    ended, told = spent_by(slow, monkeypatch, seconds=2.0)
    done = np.flatnonzero(slow.counts.any(axis=0)).max()
    assert ended == "budget" and 60 <= done <= 80  # 200 cells, and a piece that was under way
    assert (slow.counts[:, :done] == 1).all() and slow.stopped
    assert told.cells == slow.counts.sum()


def test_a_budget_that_is_over_before_the_first_cell_starts_nothing(monkeypatch):
    slow = Slow()
    slow.now = 3.0
    ended, told = spent_by(slow, monkeypatch, seconds=2.0)
    assert ended == "budget" and told.cells == 0 and not slow.counts.any()


class Hangs(ClassifierMixin, BaseEstimator):
    """Its first fit of more than so many rows takes an hour; a file says that it has begun."""

    def __init__(self, rows=0, begun=""):
        self.rows, self.begun = rows, begun

    def fit(self, X, y):
        if len(y) > self.rows:
            Path(self.begun).touch()
            time.sleep(3600)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


class Until:
    """A clock on which a budget is over as soon as a condition holds."""

    sleep = staticmethod(time.sleep)

    def __init__(self, condition):
        self.is_over = condition

    def monotonic(self):
        return 1e9 if self.is_over() else 0.0


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("rows", "words"), [
    (0, "before the first of 2000 cells was computed"),
    (5, "before 1 of 2 sizes had a cell: n = 10$"),
])  # fmt: skip
def test_a_cell_that_takes_longer_than_the_budget_is_given_up(rows, words, tmp_path, monkeypatch):
    """The process that computes it is ended; what was finished is kept."""
    begun = tmp_path / "begun"
    monkeypatch.setattr(spending, "time", Until(begun.exists))
    with pytest.warns(PartialCurveWarning, match=f"Hangs: the budget was over {words}"):
        found = lcdb.learning_curve(
            Hangs(rows, str(begun)), X, Y, sizes=[5, 10], repetitions=1000, metrics="accuracy",
            workers=1, budget=600,
        )  # fmt: skip
    assert found.attrs["ended"] == "budget" and found.status == "partial"
    assert found.accuracy.shape == (2, 1)
    assert np.isfinite(found.accuracy).values.tolist() == [[rows == 5], [False]]


def test_compiling_is_told_once_and_ends_with_the_budget(monkeypatch, capsys):
    def compile_kernels(kinds, workers, *, tell, look):
        assert [kind.unit.learner for kind in kinds] == ["LDC"]
        tell("compiling kernels")
        look()
        tell("compiled")

    monkeypatch.setattr(compiling, "compile_kernels", compile_kernels)
    options = {"sizes": [5], "repetitions": 1}
    lcdb.learning_curve("LDC", X, Y, **options)
    assert capsys.readouterr().err == "lcdb: compiling kernels\nlcdb: compiled\n"
    lcdb.learning_curve("LDC", X, Y, progress=False, **options)
    lcdb.learning_curve(GaussianNB(), X, Y, **options)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(spending, "deadline_of", lambda _: 0.0)
    monkeypatch.setattr(own, "deadline_of", lambda _: 0.0)
    with pytest.warns(PartialCurveWarning, match="there is no value at all"):
        found = lcdb.learning_curve("LDC", X, Y, budget="1min", **options)
    assert capsys.readouterr().err == "lcdb: compiling kernels\n"
    assert list(found.data_vars) == list(METRICS) and np.isnan(found.auc).all()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("learner", first(["LDC", GaussianNB()], 1))
def test_a_budget_ends_a_curve(learner, monkeypatch):
    told = Told()
    options = {"sizes": [5, 10, 20], "workers": 2, "progress": told}
    with monkeypatch.context() as soon:
        soon.setattr(spending, "time", Until(lambda: told.cells > 20))
        found = lcdb.learning_curve(learner, X, Y, repetitions=1_000_000, budget="5min", **options)
    assert found.attrs["ended"] == "budget" and 5 <= found.sizes["repetition"] < 1_000_000
    whole = lcdb.learning_curve(learner, X, Y, repetitions=2, budget="2h", **options)
    assert whole.attrs["ended"] == "complete" and whole.status == "complete"
    finished = found.accuracy[:, :2].notnull()  # pieces that the end came before have no value
    assert finished.any()
    assert np.array_equal(whole.accuracy.where(finished), found.accuracy[:, :2], equal_nan=True)


def interrupt_when(condition):
    """Send this process Ctrl-C as soon as a condition holds."""

    def watch():
        while not condition():
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


class Told:
    def __init__(self):
        self.cells, self.lines, self.ended = 0, [], False

    def begin(self, cost, cells):
        self.all = cells

    def advance(self, cost, cells):
        self.cells += cells

    def tell(self, text):
        self.lines.append(text)

    def end(self):
        self.ended = True


def test_an_executor_is_ended_whose_thread_has_not_begun():
    """As where Ctrl-C comes while it is being started."""

    class Starting:
        def __init__(self, left):
            self.left = left

        def shutdown(self, **how):
            self.left -= 1
            if self.left:
                raise RuntimeError("cannot join thread before it is started")

    executor = Starting(3)
    spending._stop(executor, processes=True, running=[])
    assert executor.left == 0
    with pytest.raises(RuntimeError, match="cannot join"):  # what does not pass is told
        spending._stop(Starting(1000), processes=True, running=[])


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("learner", first(["LDC", GaussianNB()], 1))
def test_ctrl_c_returns_what_is_there(learner, monkeypatch):
    monkeypatch.setattr(spending, "_ALONE", 0.1)
    told = Told()
    interrupt_when(lambda: told.cells > 20)
    found = lcdb.learning_curve(
        learner, X, Y, sizes=[5, 50], repetitions=2_000_000, workers=2, progress=told
    )
    assert found.attrs["ended"] == "interrupted" and told.ended
    assert "interrupted" in told.lines[0]
    done = np.isfinite(found.accuracy.values).sum()
    assert 10 < done <= told.cells < told.all


def test_progress_is_told(capsys):
    lcdb.learning_curve("NMC", X, Y, sizes=[5], repetitions=10, progress=True)
    assert "lcdb: 10 cells to compute" in capsys.readouterr().err
    lcdb.learning_curve("NMC", X, Y, sizes=[5], repetitions=10, progress=False)
    assert capsys.readouterr().err == ""


def test_pieces_are_every_cell_once():
    pieces, seen = Pieces(5, 7), np.zeros((5, 7), int)
    for cells in [1, 3, 2, 9, 100, 1, 1, 100]:
        if not pieces.left:
            break
        one = pieces.take(cells)
        seen[one.first_size : one.stop_size, one.first : one.stop] += 1
    while pieces.left:
        one = pieces.take(4)
        seen[one.first_size : one.stop_size, one.first : one.stop] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize(
    ("once", "each", "low", "high"),
    [(0.0, 0.001, 150, 250), (0.15, 0.002, 100, 400), (0.0, 3.0, 1, 1), (5.0, 0.01, 1, 20)],
)
def test_pieces_are_long_enough_for_what_is_done_once_per_piece(once, each, low, high):
    made = spending._Spending(Pieces(30, 10_000), lambda *_: None)
    made.take_in(made.next(), Computed({}), 20.0 + once + each)  # the first compiles
    lengths = []
    for _ in range(200):
        piece = made.next()
        lengths.append(piece.cells)
        assert piece.cells <= 4 * max(lengths[-2:-1], default=1) and piece.cells >= 1
        made.take_in(piece, Computed({}), once + each * piece.cells)
    # The last piece of a row of sizes may be a short one.
    assert low <= max(lengths[100:]) <= high


# -- the result is a curve like any other ----------------------------------------------------------


def test_the_result_goes_where_curves_go(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    X, y = load_breast_cancer(return_X_y=True)
    curve = lcdb.learning_curve("LDC", X, y, sizes=8, repetitions=40)
    summary = lcdb.analysis.summary(curve)
    assert summary.sizes["metric"] == 4
    mean = summary["mean"].sel(metric="accuracy").values
    np.testing.assert_allclose(mean, curve.accuracy.mean("repetition"))
    assert "own data" in lcdb.plot.quantile_curves(curve.accuracy).get_title(loc="left")
    path = tmp_path / "curve.nc"
    curve.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as back:
        assert back.accuracy.equals(curve.accuracy)
        assert json.loads(json.dumps(back.attrs["ended"])) == "complete"


def test_own_labels_reach_functions():
    def f1_of_setosa(y, label, probability, weight):
        return f1_score(y, label, labels=["setosa"], average="macro")

    found = lcdb.learning_curve(GaussianNB(), X, NAMES, sizes=[60], repetitions=2,
                                metrics=f1_of_setosa)  # fmt: skip
    assert float(found.f1_of_setosa.min()) > 0.9


# -- wrong use -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"learner": "LCD"}, LabelError, "Did you mean 'LDC'"),
        ({"learner": "SVM"}, LabelError, "'GSVC' has a Gaussian kernel, 'LSVC' none"),
        ({"learner": "kNN"}, LabelError, r"of k give KNeighborsClassifier\(k\)"),
        (
            {"learner": "lightgbm.LGBMClassifier"},
            ImportRefusedError,
            r"import it yourself and give .*: lcdb.learning_curve\(LGBMClassifier\(\), X, y\)$",
        ),
        ({"learner": SVC}, ArgumentError, r"expected a classifier: SVC\(\)"),
        ({"learner": Ridge()}, ArgumentError, "the learner is a Ridge.*classification only"),
        ({"y": Y[::2]}, ArgumentError, "150 rows and y 75 labels"),
        ({"y": np.zeros(150)}, DatasetError, "y has 1 class"),
        ({"y": X[:, 0]}, DatasetError, "classification only.* not a regression target"),
        ({"y": [None, *NAMES[1:]]}, DatasetError, "1 missing labels"),
        ({"y": np.array(["a", *Y[1:].tolist()], object)}, ArgumentError, "cannot be sorted"),
        ({"y": X}, ArgumentError, r"shape \(150, 4\)"),
        ({"X": X[:5], "y": [0, 1, 0, 1, 0]}, DatasetError, "at least 10"),
        ({"X": np.full((150, 1), np.inf)}, DatasetError, "infinite"),
        ({"sizes": [200]}, ArgumentError, "expected sizes from 1 to 105"),
        ({"sizes": []}, ArgumentError, "sizes is empty"),
        ({"repetitions": 0}, ArgumentError, "repetitions is 0"),
        ({"sampling": "randon"}, LabelError, "Did you mean 'random'"),
        ({"split": "fixd"}, LabelError, "Did you mean 'fixed'"),
        ({"split": 5}, ArgumentError, "split is 5"),
        ({"split": []}, ArgumentError, "at least one"),
        ({"split": [([], [1])]}, ArgumentError, "0 training and 1 test"),
        ({"split": SPLITTER, "scaling": "minmax"}, ArgumentError, "scale in a pipeline"),
        ({"scaling": "z"}, LabelError, "scaling 'z'"),
        ({"rows": "trian"}, LabelError, "Did you mean 'train'"),
        ({"rows": []}, ArgumentError, "rows is empty"),
        ({"budget": "soon"}, ArgumentError, "budget is 'soon'"),
        ({"workers": -1}, ArgumentError, "workers is -1"),
        ({"workers": 0}, ArgumentError, "workers is 0; expected a whole number of at least 1"),
        ({"split": SPLITTER, "repetitions": -1}, ArgumentError, "repetitions is -1"),
        ({"split": SPLITTER, "repetitions": 2.0}, ArgumentError, "repetitions is 2.0"),
        ({"metrics": "recall_4"}, LabelError, "recall_4"),
    ],
)
def test_wrong_arguments_are_told(change, error, words):
    arguments = {"learner": "LDC", "X": X, "y": Y, "repetitions": 2, **change}
    with pytest.raises(error, match=words):
        lcdb.learning_curve(**arguments)


@pytest.mark.parametrize("learner", ["LDC", GaussianNB()])
def test_predictions_are_kept_and_taken_apart(learner):
    """Scores of what was said are the scores of the curve, and bias and variance add up to them."""
    X, y = load_iris(return_X_y=True)
    options = {"sizes": [10, 40], "repetitions": 8, "seed": 3, "workers": 1}
    curve = lcdb.learning_curve(learner, X, y, predictions=True, **options)
    plain = lcdb.learning_curve(learner, X, y, **options)
    xr.testing.assert_allclose(curve[["accuracy", "brier"]],
                               plain[["accuracy", "brier"]], atol=1e-7)  # fmt: skip
    assert curve.probability.dims == ("n", "repetition", "row", "class")
    tested = curve.label >= 0
    assert (tested.sum("row") == 150 - curve.n).all()
    right = (curve.label == curve.y).where(tested).mean("row")
    np.testing.assert_allclose(right, curve.accuracy, atol=1e-12)
    one_hot = np.eye(3)[y]
    brier = ((curve.probability - one_hot) ** 2).sum("class").where(tested).mean("row")
    np.testing.assert_allclose(brier, curve.brier, atol=1e-6)
    parts = lcdb.analysis.bias_variance(curve)
    np.testing.assert_allclose(parts.brier, brier.mean("repetition"), atol=1e-12)
    np.testing.assert_allclose(parts.brier_bias + parts.brier_variance, parts.brier, atol=1e-12)
    np.testing.assert_allclose(parts.error, 1 - right.mean("repetition"), atol=1e-12)
    assert str(parts.learner.values) == str(curve.learner.values)
    alone = lcdb.analysis.bias_variance(curve, n=40)
    assert float(alone.brier[0]) == float(parts.brier[1])
    hard = lcdb.analysis.hardness(curve, n=[40])
    wrong = (curve.label != curve.y).where(tested).sel(n=40).mean("repetition")
    np.testing.assert_allclose(hard.sel(n=40), wrong)
    with pytest.raises(LabelError, match="no predictions; make it with"):
        lcdb.analysis.bias_variance(plain)
    with pytest.raises(LabelError, match="no n = 41; its sizes are"):
        lcdb.analysis.hardness(curve, n=41)
    with pytest.raises(ArgumentError, match="a learning curve takes n alone"):
        lcdb.analysis.bias_variance(curve, "iris")
    with lcdb.tutorial() as db, pytest.raises(ArgumentError, match="give all three"):
        lcdb.analysis.bias_variance(db, "iris", "LDC")


def test_draws_name_the_data_and_what_rows_are_drawn_by():
    X, y = load_iris(return_X_y=True)

    def drawn(X=X, **options):
        options = {"sizes": [10], "repetitions": 2, "workers": 1, **options}
        return str(lcdb.learning_curve(GaussianNB(), X, y, **options).draws.values)

    assert drawn() == drawn(sampling="bootstrap") == drawn(scaling="standard")
    assert drawn().endswith("/0") and drawn(seed=4) == drawn()[:-1] + "4"
    assert drawn(X + 1.0).partition("/")[0] != drawn().partition("/")[0]
    one, other = (ShuffleSplit(2, random_state=seed) for seed in (0, 1))
    assert drawn(split=one) == drawn(split=list(one.split(X))) != drawn(split=other)
