"""What all reference estimators have in common: weights, one class, scikit-learn's conventions."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from lcdb_builders.learners import registry
from lcdb_builders.reference.gaussian import LDC, NMC, QDC
from lcdb_builders.reference.linear import LREG, LSVC
from lcdb_builders.reference.neighbours import NNC
from lcdb_builders.reference.svm import GSVC
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from lcdb.errors import PlanError
from lcdb.schema import LEARNERS
from tests.support.counts import counts
from tests.support.problems import KINDS, problem

MODELS = [NMC(), NMC(shrinkage=0.5), LDC(), QDC(), NNC(), NNC(neighbors=5), LREG(), LSVC(), GSVC()]
# The optimum is known to a tolerance; everything else to rounding.
LIMITS = {"LREG": 1e-6, "LSVC": 1e-6, "GSVC": 1e-5}


@parametrize_with_checks([NMC(), LDC(), QDC(), NNC(), LREG(), LSVC(), GSVC()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weighted_rows_are_repeated_rows(model, kind):
    limit = LIMITS.get(type(model).__name__, 1e-9)
    for seed in range(counts(2, 20)):
        X, y, test = problem(kind, seed, 3)
        weight = np.random.default_rng(seed).integers(0, 4, len(y))
        weight[[int(np.flatnonzero(y == c)[0]) for c in range(3)]] = [1, 2, 3]
        weighted = clone(model).fit(X, y, sample_weight=weight).predict_proba(test)
        rows = np.repeat(np.arange(len(y)), weight)
        repeated = clone(model).fit(X[rows], y[rows]).predict_proba(test)
        np.testing.assert_allclose(weighted, repeated, rtol=limit, atol=limit)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_one_class_is_predicted_for_certain(model):
    X, test = np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(4, 2)
    for rows in (X, X[:1]):
        fitted = clone(model).fit(rows, np.full(len(rows), 2))
        assert fitted.classes_.tolist() == [2]
        assert fitted.predict(test).tolist() == [2] * 4
        assert fitted.predict_proba(test).tolist() == [[1.0]] * 4
    only = clone(model).fit(X, np.array([1, 2, 2]), sample_weight=[0, 1, 1])
    assert only.classes_.tolist() == [2]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_scores_do_not_depend_on_the_place_of_a_row(model):
    """Bit for bit, whatever stands before or after it."""
    X, y, test = problem("ordinary", 4, 3)
    fitted = clone(model).fit(X, y)
    score = getattr(fitted, "log_scores", fitted.predict_proba)
    whole = score(test)
    order = np.random.default_rng(0).permutation(len(test))
    assert (score(test[order]) == whole[order]).all()
    for i in range(len(test)):
        assert (score(test[i : i + 1]) == whole[i]).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_equal_classes_are_told_by_code(model):
    """Rows that say the same of two classes: the lowest code."""
    X = np.array([[-1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    fitted = clone(model).fit(X, np.array([3, 5, 3, 5]))
    assert fitted.predict(np.array([[0.0, 1.0], [9.0, 0.0]])).tolist() == [3, 3]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rows_of_no_weight_are_refused(model):
    with pytest.raises(ValueError, match=r"no row of positive weight|at least one non-zero"):
        clone(model).fit(np.ones((2, 1)), np.array([0, 1]), sample_weight=[0, 0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NMC(shrinkage=-1.0), "NMC.shrinkage is -1.0; expected a finite number of at least 0"),
        (LDC(ridge=0), "LDC.ridge is 0"),
        (QDC(ridge=float("nan")), "QDC.ridge is nan"),
        (NNC(neighbors=1.5), "NNC.neighbors is 1.5; expected an integer of at least 1"),
        (NNC(neighbors=True), "NNC.neighbors is True"),
        (LREG(ridge="1"), "LREG.ridge is '1'"),
        (LSVC(C=np.inf), "LSVC.C is inf"),
        (GSVC(gamma=-1.0), "GSVC.gamma is -1.0"),
    ],
)
def test_parameters_out_of_range_are_told(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.array([[0.0], [1.0]]), np.array([0, 1]))


@pytest.mark.parametrize("name", LEARNERS)
def test_declared_parameters_are_those_of_the_estimator(name):
    """Same names, same defaults, and every grid value is in the declared range."""
    from lcdb_builders.sources.bundled import bundled

    learner = registry.get(name)
    estimator = learner.estimator(bundled("61"), learner.complete({}))
    defaults = inspect.signature(type(estimator)).parameters
    for key, declared in learner.parameters.items():
        assert defaults[key].default == declared.default
        assert getattr(estimator, key) == declared.default
        assert declared.low <= declared.default <= declared.high
        assert declared.doc
    tuned = learner.parameters[learner.tuned_parameter]
    assert all(tuned.check(name, "grid", value) == value for value in learner.grid)
    assert len(learner.grid) == 20
    assert list(learner.grid) == sorted(set(learner.grid))
    clone(estimator)


def test_a_mistaken_parameter_is_told():
    with pytest.raises(PlanError, match=r"learners.LDC.rigde is not a parameter of LDC. Did you"):
        registry.get("LDC").complete({"rigde": 1})
    with pytest.raises(PlanError, match=r"learners.NNC.neighbors is 0; expected an integer from 1"):
        registry.get("NNC").complete({"neighbors": 0})
