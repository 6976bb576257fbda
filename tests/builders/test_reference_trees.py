"""The plain trees: equal to enumeration in fractions, alike to scikit-learn in distribution."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcdb_builders.domain.streams import stream_key
from lcdb_builders.learners import registry
from lcdb_builders.reference import boosting, trees
from lcdb_builders.reference.metrics import cell_scores
from lcdb_builders.reference.randomness import CellStream, bootstrap_counts, feature_order
from scipy import stats
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from tests.oracles import trees as oracle
from tests.support.counts import counts, spread

KEY = stream_key(3, "ab", "learner:test")
MODELS = {
    "DT": trees.DT(),
    "RFOR": trees.RFOR(trees=4),
    "ADAB": boosting.ADAB(stumps=12),
}


@st.composite
def problems(draw, largest=14):
    """Few-valued or continuous features, duplicated rows, every class of 0..K-1 present."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    classes, d = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    n = draw(st.integers(classes, largest))
    values = draw(st.sampled_from([1, 2, 3, 1000]))
    X = rng.integers(0, values, (n + 6, d)) / 8
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    X[: n // 3] = X[n // 3 : n // 3 + n // 3]
    return X[:n], y, X, classes


@settings(max_examples=counts(60, 1000), deadline=None)
@given(problems(), st.integers(1, 4), st.integers(0, 999))
def test_a_tree_is_the_one_found_by_enumeration(problem, leaf, repetition):
    X, y, X_test, classes = problem
    model = trees.DT(leaf, stream=CellStream(KEY, len(y), repetition)).fit(X, y)
    expected = oracle.one_tree(X, y, classes, leaf, KEY, len(y), repetition, X_test)
    assert (model.predict_proba(X_test) == expected).all()


@settings(max_examples=counts(40, 600), deadline=None)
@given(problems(), st.integers(1, 3), st.integers(0, 4), st.integers(0, 999))
def test_a_forest_is_the_one_found_by_enumeration(problem, leaf, visits, repetition):
    X, y, X_test, classes = problem
    cell = CellStream(KEY, len(y), repetition)
    model = trees.RFOR(3, min_samples_leaf=leaf, features=visits, stream=cell).fit(X, y)
    visits = min(visits, X.shape[1]) or int(np.sqrt(X.shape[1]))
    expected = oracle.forest(X, y, classes, 3, leaf, visits, KEY, len(y), repetition, X_test)
    np.testing.assert_allclose(model.predict_proba(X_test), expected, rtol=1e-15)


@settings(max_examples=counts(40, 600), deadline=None)
@given(problems(largest=10), st.integers(1, 12), st.integers(0, 999))
def test_boosting_is_the_one_found_by_enumeration(problem, stumps, repetition):
    X, y, X_test, classes = problem
    model = boosting.ADAB(stumps, stream=CellStream(KEY, len(y), repetition)).fit(X, y)
    expected = oracle.boosted(X, y, classes, stumps, KEY, len(y), repetition, X_test)
    np.testing.assert_allclose(model.predict_proba(X_test), expected, rtol=1e-14)


def test_long_boosting_rescales_its_weights():
    """At 60 rounds of a stubborn problem the weights have outgrown their bound several times."""
    X, y = np.arange(9.0)[:, None], np.array([0, 1, 2, 0, 2, 1, 1, 0, 2])
    model = boosting.ADAB(60, stream=CellStream(KEY, 9, 0)).fit(X, y)
    expected = oracle.boosted(X, y, 3, 60, KEY, 9, 0, X)
    assert len(model.stumps_) == 60
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-13)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=counts(15, 100), deadline=None)
@given(problem=problems(), seed=st.integers(0, 2**31))
def test_weights_equal_repeats_in_any_order(name, problem, seed):
    X, y, X_test, _ = problem
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, len(y))
    weights[0] = 1
    rows = rng.permutation(np.repeat(np.arange(len(y)), weights))
    model = MODELS[name].set_params(random_state=seed)
    weighted = model.fit(X, y, sample_weight=weights).predict_proba(X_test)
    assert (weighted == model.fit(X[rows], y[rows]).predict_proba(X_test)).all()


@pytest.mark.parametrize("name", MODELS)
def test_it_behaves_as_scikit_learn_expects(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks warn of what they skip
        found = check_estimator(MODELS[name].set_params(random_state=0), on_fail=None)
    assert [each["check_name"] for each in found if each["status"] == "failed"] == []


def test_weights_that_are_no_counts_are_refused():
    with pytest.raises(ValueError, match="expected integers"):
        trees.DT().fit(np.eye(3), [0, 1, 0], sample_weight=[0.5, 1, 1])


@pytest.mark.parametrize(
    "model",
    [
        trees.DT(0),
        trees.RFOR(0),
        trees.RFOR(min_samples_leaf=2.5),
        trees.RFOR(features=-1),
        boosting.ADAB(0),
    ],
)
def test_parameters_out_of_range_are_refused(model):
    with pytest.raises(ValueError, match="expected an integer of at least"):
        model.fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("name", MODELS)
class TestDegenerate:
    def test_one_class(self, name):
        X = np.arange(5.0)[:, None]
        model = MODELS[name].set_params(random_state=0).fit(X, np.full(5, 2))
        assert model.classes_.tolist() == [2]
        assert (model.predict_proba(X) == 1.0).all()

    def test_constant_features(self, name):
        model = MODELS[name].set_params(random_state=0).fit(np.ones((10, 3)), [0] * 7 + [1] * 3)
        p = model.predict_proba(np.ones((1, 3)))[0]
        assert p.sum() == pytest.approx(1, abs=1e-15)
        assert p[0] > p[1]
        if name == "DT":
            assert p.tolist() == [0.7, 0.3]

    def test_the_cell_alone_decides(self, name):
        rng = np.random.default_rng(1)
        X = np.tile(rng.integers(0, 9, (40, 1)), (1, 8))  # equal features, unlike in the test set
        y, X_test = rng.integers(0, 2, 40), rng.integers(0, 9, (60, 8))
        fits = {}
        for cell in (CellStream(KEY, 40, 1), CellStream(KEY, 40, 2), CellStream(KEY, 41, 1)):
            model = MODELS[name].set_params(stream=cell)
            fits[cell] = model.fit(X, y).predict_proba(X_test)
            assert (fits[cell] == model.fit(X, y).predict_proba(X_test)).all()
        MODELS[name].set_params(stream=None)
        assert len({p.tobytes() for p in fits.values()}) == 3


def test_adaboost_that_cannot_start_returns_the_prior():
    """XOR: every stump is wrong on half of the weight."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    model = boosting.ADAB(random_state=0).fit(X, [0, 1, 1, 0])
    assert model.stumps_ == []
    assert (model.predict_proba(X) == 0.5).all()


def test_adaboost_stops_at_a_perfect_stump():
    model = boosting.ADAB(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert len(model.stumps_) == 1
    expected = 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(model.predict_proba([[2.0]])[0, 1], expected, rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 4, 9])
def test_every_feature_is_visited_first_equally_often(d):
    words = np.random.Philox(5).random_raw(6000)
    orders = np.array([list(feature_order(int(word), d)) for word in words])
    assert (np.sort(orders, axis=1) == np.arange(d)).all()
    if d > 1:
        for place in range(d):
            assert stats.chisquare(np.bincount(orders[:, place], minlength=d)).pvalue > 1e-5
        for place in range(d - 1):
            joint = np.bincount(orders[:, place] * d + orders[:, place + 1], minlength=d * d)
            unequal = joint.reshape(d, d)[~np.eye(d, dtype=bool)]
            assert stats.chisquare(unequal).pvalue > 1e-5


def test_bootstrap_counts_are_multinomial():
    n, draws = 15, 4000
    words = np.random.Philox(6).random_raw(8 * draws).reshape(draws, 8)
    each = np.array([bootstrap_counts([int(w) for w in row], n) for row in words])
    assert (each.sum(axis=1) == n).all()
    assert stats.chisquare(each.sum(axis=0)).pvalue > 1e-5
    expected = stats.binom(n, 1 / n).pmf(np.arange(n + 1)) * draws * n
    seen = np.bincount(each.ravel(), minlength=n + 1)
    head = np.append(seen[:5], seen[5:].sum()), np.append(expected[:5], expected[5:].sum())
    assert stats.chisquare(*head).pvalue > 1e-5


THEIRS = {
    "DT": lambda seed: DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
    "RFOR": lambda seed: RandomForestClassifier(6, random_state=seed),
    "ADAB": lambda seed: AdaBoostClassifier(n_estimators=15, random_state=seed),
}
OURS = {
    "DT": lambda cell: trees.DT(stream=cell),
    "RFOR": lambda cell: trees.RFOR(6, stream=cell),
    "ADAB": lambda cell: boosting.ADAB(15, stream=cell),
}


def generated(name):
    """Data of each kind: continuous, few-valued with many equal gains, several classes."""
    rng = np.random.default_rng(9)
    if name == "continuous":
        X = rng.normal(size=(300, 5))
        y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=300) > 0).astype(int)
    elif name == "few-valued":
        X = rng.integers(0, 3, (300, 6)).astype(float)
        y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=300) > 2).astype(int)
    else:
        y = rng.integers(0, 4, 300)
        X = np.round(rng.normal(size=(300, 5)) + np.eye(4, 5)[y] * 1.5, 1)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "data", "n"),
    spread(THEIRS, ["continuous", "few-valued", "several"], [25, 60], every=3),
)
def test_scores_are_distributed_as_those_of_scikit_learn(name, data, n):
    """Paired z-tests of the four means, Kolmogorov-Smirnov on each metric."""
    X, y = generated(data)
    classes = int(y.max()) + 1
    rng = np.random.default_rng(n)
    scores = np.empty((2, counts(60, 400), 4))
    for r in range(scores.shape[1]):
        order = rng.permutation(len(y))
        train, test = order[:n], order[n : n + 100]
        while len(np.unique(y[train])) < classes:
            order = rng.permutation(len(y))
            train, test = order[:n], order[n : n + 100]
        pair = OURS[name](CellStream(KEY, n, r)), THEIRS[name](r)
        for side, model in enumerate(pair):
            p = model.fit(X[train], y[train]).predict_proba(X[test])
            cell = cell_scores(y[test], p=p)
            scores[side, r] = cell.accuracy, cell.auc, cell.brier, cell.cross_entropy
    difference = scores[0] - scores[1]
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert (np.abs(difference.mean(axis=0)) < 4.5 * error + 1e-12).all()
    for metric in range(4):
        assert (
            stats.ks_2samp(scores[0, :, metric], scores[1, :, metric], method="asymp").pvalue > 1e-4
        )


def test_learners_declare_what_the_estimators_take():
    for name in THEIRS:
        learner = registry.get(name)
        params = learner.complete({})
        model = learner.estimator(None, params, key=KEY, n=5, repetition=0)
        assert model.stream == CellStream(KEY, 5, 0)
        assert {key: model.get_params()[key] for key in params} == params
        assert learner.tuned_parameter in params
        assert learner.ranking == "probability"
