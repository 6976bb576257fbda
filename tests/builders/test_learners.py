"""Learners by name: built-in, installed, or a classifier named by its import path."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.streams import stream_key
from lcdb_builders.domain.unit import Block, Unit, canonical_json
from lcdb_builders.learners import registry
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.generic import GenericLearner
from lcdb_builders.reference.block import reference_block
from lcdb_builders.sources.bundled import bundled

from lcdb.errors import ImportRefusedError, LabelError, PlanError
from lcdb.schema import LEARNERS, METRICS

KEY = stream_key(1, "ab", "learner", "X")


def unit_of(learner, path="", params=None, **where):
    snapshot = bundled("61")
    place = {"sampling": "random", "split": "fixed", "tuning": "default"} | where
    return Unit(
        dataset="61",
        dataset_sha256=snapshot.sha256,
        seed=5,
        learner=learner.name,
        estimator=path,
        params=canonical_json(learner.complete(params or {})),
        implementation=learner.implementation,
        tuning_rule="",
        sizes=(1, 2, 10, 40),
        **place,
    )


def scores_of(name, path, params=None, sizes=(40,), stop=2, **where):
    learner = registry.get(name, path, allow_import=True)
    unit = unit_of(learner, path, params, **where)
    block = Block(unit, sizes, 0, stop)
    return learner.block(bundled("61"), block, (unit.split,))[unit.split]


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_built_in_learners_have_their_name(name):
    learner = registry.get(name)
    assert isinstance(learner, Learner)
    assert learner.name == name
    assert registry.get(name) is learner


def test_unknown_names_are_answered_with_the_closest():
    with pytest.raises(LabelError, match=r"^no learner 'lreg'. Did you mean 'LREG'\?$"):
        registry.get("lreg")


def test_a_built_in_name_is_not_given_away():
    with pytest.raises(PlanError, match="LDC is a registered learner"):
        registry.get("LDC", "sklearn.svm.SVC")


@pytest.mark.parametrize("label", ["", "a/b", "../x", "a b", "x-y"])
def test_labels_that_cannot_name_a_folder_are_refused(label):
    with pytest.raises(LabelError, match="may hold letters"):
        GenericLearner(label, "sklearn.svm.SVC")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a package that registers learners, by name of the entry point."""

    def install(**points):
        (tmp_path / "thirdparty.py").write_text(
            dedent(
                '''
                from lcdb_builders.learners.builtin import BuiltinLearner
                from lcdb_builders.reference.gaussian import NMC

                class Mean(BuiltinLearner):
                    """A learner of somebody else."""
                    name = "MEAN"
                    implementation = "mean-1"
                    parameters = {}
                    def estimator(self, snapshot, params, **cell):
                        return NMC()

                instance, number = Mean(), 3
                '''
            )
        )
        info = tmp_path / "thirdparty-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
        lines = "\n".join(f"{name} = {value}" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[lcdb.learners]\n{lines}\n")
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    sys.modules.pop("thirdparty", None)


def test_learners_of_other_packages_are_found(installed):
    installed(MEAN="thirdparty:Mean", LDC="thirdparty:Mean")
    assert registry.names() == (*LEARNERS, "MEAN")
    learner = registry.get("MEAN")
    assert learner.implementation == "mean-1"
    assert type(registry.get("LDC")).__module__ == "lcdb_builders.learners.gaussian"
    block = Block(unit_of(learner), (40,), 0, 3)
    found = learner.block(bundled("61"), block, ("fixed",))["fixed"]
    assert (found["accuracy"] == scores_of_builtin("NMC", 3)["accuracy"]).all()


def scores_of_builtin(name, stop):
    learner = registry.get(name)
    return reference_block(
        learner, bundled("61"), Block(unit_of(learner), (40,), 0, stop), ("fixed",)
    )["fixed"]


def test_an_instance_may_be_registered(installed):
    installed(MEAN="thirdparty:instance")
    assert registry.get("MEAN").name == "MEAN"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MEAN", "thirdparty:number", "expected a subclass of"),
        ("MEDIAN", "thirdparty:Mean", "whose name is 'MEDIAN'"),
        ("MEAN", "thirdparty:Gone", "cannot be loaded: .*Gone"),
        ("MEAN", "thirdparty_gone:Mean", "cannot be loaded: No module named 'thirdparty_gone'"),
    ],
)
def test_what_is_wrongly_registered_is_told(installed, name, value, message):
    installed(**{name: value})
    with pytest.raises(PlanError, match=message):
        registry.get(name)


# -- import paths -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "os.system",
        "evil.Classifier",
        "sklearn.externals.six.X",
        "sklearn.utils._testing.X",
        "sklearn.conftest.X",
        "sklearn.tests.test_base.X",
        "sklearn",
        "sklearn.SVC",
        "sklearn_evil.a.B",
        "sklearn.._x.B",
        "",
        ".",
        "numpy.ndarray",
    ],
)
def test_other_code_than_scikit_learn_is_not_imported(path, tmp_path, monkeypatch):
    for name in ("evil", "sklearn_evil"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    for allow in ({}, {"allow_import": False}):
        if path:
            with pytest.raises(ImportRefusedError, match="--allow-import"):
                registry.get("X", path, **allow)
        with pytest.raises(ImportRefusedError, match="--allow-import"):
            GenericLearner("X", path, **allow)
    assert set(sys.modules) == before


def test_a_unit_from_elsewhere_cannot_import_code():
    learner = registry.get("MLP", "sklearn.neural_network.MLPClassifier")
    forged = unit_of(learner, "evil.Classifier")
    with pytest.raises(ImportRefusedError):
        registry.for_unit(forged)
    with pytest.raises(ImportRefusedError):
        registry.for_unit(forged, allow_import=False)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("sklearn.svm.LinearSvc", "Did you mean 'LinearSVC'"),
        ("sklearn.smv.SVC", "cannot be imported: No module named 'sklearn.smv'"),
        ("sklearn.svm.l1_min_c", "is not a scikit-learn classifier class"),
        ("sklearn.base.np", "is not a scikit-learn classifier class"),
        ("sklearn.utils.Bunch", "is not a scikit-learn classifier class"),
    ],
)
def test_what_is_no_classifier_is_told(path, message):
    with pytest.raises(PlanError, match=message):
        registry.get("X", path)


@pytest.mark.parametrize(
    ("path", "params", "message"),
    [
        ("sklearn.svm.SVR", {}, "expected a classifier"),
        ("sklearn.ensemble.VotingClassifier", {}, "cannot be made without arguments"),
        ("sklearn.svm.SVC", {"kernal": "rbf"}, "X.kernal is not a parameter .* 'kernel'"),
        ("sklearn.svm.SVC", {"C": -1.0}, "learners.X: .*'C'"),
        ("sklearn.svm.SVC", {"decision_function_shape": "ovo"}, "expected 'ovr'"),
        ("sklearn.ensemble.RandomForestClassifier", {"n_jobs": 4}, "expected 1"),
    ],
)
def test_parameters_of_classifiers_are_checked(path, params, message):
    with pytest.raises(PlanError, match=message):
        registry.get("X", path).complete(params)


def test_the_implementation_names_the_versions():
    import sklearn

    assert registry.get("X", "sklearn.svm.SVC").implementation.endswith(
        f"scikit-learn-{sklearn.__version__}"
    )
    foreign = registry.get("X", "estimators.Prior", allow_import=True)
    source = Path(__file__).parents[1] / "elsewhere" / "estimators.py"
    digest = hashlib.sha256(b"estimators.py\0" + source.read_bytes()).hexdigest()
    assert f"estimators-{digest[:16]}" in foreign.implementation.split(",")


# -- what generic learners compute ------------------------------------------------------------


def test_probabilities_of_scikit_learn_get_the_same_metrics():
    """A k-nearest-neighbours of scikit-learn on data without ties is NNC."""
    from dataclasses import replace

    rng = np.random.default_rng(0)
    snapshot = replace(bundled("61"), X=rng.normal(size=(150, 4)))
    found = []
    for name, path, params in (
        ("NNC", "", {"neighbors": 4}),
        ("KNN", "sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": 4}),
    ):
        learner = registry.get(name, path)
        unit = replace(unit_of(learner, path, params, sampling="bootstrap"), sizes=(4, 30))
        block = Block(unit, (4, 30), 0, 10)
        found.append(learner.block(snapshot, block, ("fixed", "pool")))
    for split in ("fixed", "pool"):
        for name in (*METRICS, "n_clipped"):
            np.testing.assert_allclose(
                found[0][split][name], found[1][split][name], rtol=1e-6, atol=1e-7
            )


def test_decision_values_become_one_vs_rest_probabilities():
    """LinearSVC at a tight tolerance is LSVC."""
    params = {"dual": False, "tol": 1e-12, "max_iter": 1_000_000}
    found = scores_of("LIN", "sklearn.svm.LinearSVC", params, sizes=(1, 2, 10, 40), stop=5)
    learner = registry.get("LSVC")
    block = Block(unit_of(learner), (1, 2, 10, 40), 0, 5)
    right = learner.block(bundled("61"), block, ("fixed",))["fixed"]
    for name in METRICS:
        np.testing.assert_allclose(found[name], right[name], rtol=2e-5)


@pytest.mark.parametrize(
    "path",
    [
        "sklearn.svm.SVC",
        "sklearn.linear_model.RidgeClassifier",
        "sklearn.linear_model.Perceptron",
        "sklearn.naive_bayes.GaussianNB",
        "sklearn.tree.ExtraTreeClassifier",
        "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis",
    ],
)
def test_any_classifier_gets_all_metrics_at_every_size(path):
    found = scores_of("X", path, sizes=(1, 2, 40))
    if "Quadratic" in path:  # a classifier may refuse a training set: that cell is lost, by name
        [lost] = found.lost
        assert (lost.first_n, lost.last_n, lost.accuracy) == (2, 2, False)
        assert "1 sample in class" in lost.reason or "full rank" in lost.reason
        assert np.isnan(found["accuracy"][1]).any()
        found = {name: values[[0, 2]] for name, values in found.items()}
        assert all(np.isfinite(found[name]).all() for name in METRICS)
        return
    assert not found.lost
    assert all(np.isfinite(found[name]).all() for name in METRICS)
    assert (found["n_clipped"] >= 0).all()
    assert found["accuracy"][2].mean() > 0.5


@pytest.mark.slow
def test_random_state_comes_from_the_cell():
    learner = registry.get("T", "sklearn.tree.DecisionTreeClassifier")
    params = learner.complete({"splitter": "random"})

    def state(n, repetition, given=params):
        cell = {"key": KEY, "n": n, "repetition": repetition}
        return learner.estimator(bundled("61"), given, **cell).estimator.random_state

    states = {state(n, r) for n in range(1, 20) for r in range(20)}
    assert len(states) == 19 * 20
    assert all(0 <= one < 2**32 for one in states)
    assert state(5, 3) == state(5, 3)
    assert state(5, 3, learner.complete({"random_state": 7})) == 7
    first, again = (scores_of("T", learner.path, params, stop=8) for _ in range(2))
    assert (first["accuracy"] == again["accuracy"]).all()
    assert len(set(first["brier"].ravel())) > 2


def test_a_classifier_that_fails_loses_its_cells_alone():
    found = scores_of("X", "estimators.Raises", sizes=(1, 2, 10, 40))
    assert np.isfinite(found["accuracy"][:2]).all()
    for name in METRICS:
        assert np.isnan(found[name][2:]).all()
    assert (found["n_clipped"] >= 0).all()  # they were computed
    [lost] = found.lost
    assert lost == Lost("ValueError: three rows are too many", 4, 10, 40)


def test_answers_that_are_no_numbers_leave_the_accuracy():
    found = scores_of("X", "estimators.NotANumber")
    assert np.isfinite(found["accuracy"]).all()
    assert np.isnan(found["auc"]).all() and np.isnan(found["brier"]).all()
    [lost] = found.lost
    assert (lost.cells, lost.accuracy) == (2, True)
    assert "no probabilities" in lost.reason
