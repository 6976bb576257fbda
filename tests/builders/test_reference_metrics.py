"""The four metrics: against exact arithmetic, against scikit-learn, and their edge cases."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcdb_builders.reference import metrics
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from tests.oracles import exact_metrics as oracle
from tests.support.counts import counts

REPEATS = counts(150, 3000)


def random_scores(rng, rows, classes, absent):
    """Log scores with ties: equal rows, and small integers where two classes are present."""
    if classes - absent <= 2:
        scores = rng.integers(-3, 4, (rows, classes)).astype(float)
    else:
        scores = rng.normal(scale=10 ** rng.uniform(-2, 2.5), size=(rows, classes))
    scores[rng.integers(0, rows, rows // 3)] = scores[0]
    scores[:, rng.permutation(classes)[:absent]] = -np.inf
    return scores


@pytest.mark.parametrize("seed", range(REPEATS))
def test_equal_to_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 6))
    scores = random_scores(rng, int(rng.integers(2, 25)), classes, int(rng.integers(classes)))
    y = rng.integers(0, classes, len(scores))
    found = metrics.cell_scores(y, scores=scores)
    p = metrics.softmax(scores)
    np.testing.assert_allclose(p, oracle.softmax(scores.tolist()), rtol=1e-12, atol=1e-300)
    assert found.accuracy == float(oracle.accuracy(scores.tolist(), y.tolist()))
    exact = oracle.auc(oracle.class_log_odds(scores.tolist()), y.tolist())
    assert (
        math.isnan(found.auc)
        if exact is None
        else found.auc == pytest.approx(float(exact), rel=1e-12)
    )
    assert found.brier == pytest.approx(float(oracle.brier(p.tolist(), y.tolist())), rel=1e-12)
    loss, clipped = oracle.cross_entropy(p.tolist(), y.tolist())
    assert found.cross_entropy == pytest.approx(loss, rel=1e-12, abs=1e-14)
    assert found.n_clipped == clipped
    by_p = metrics.cell_scores(y, p=p)
    exact = oracle.auc(p.tolist(), y.tolist())
    assert (
        math.isnan(by_p.auc)
        if exact is None
        else by_p.auc == pytest.approx(float(exact), rel=1e-12)
    )
    assert by_p.accuracy == float(oracle.accuracy(p.tolist(), y.tolist()))


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_equal_to_scikit_learn_where_definitions_coincide(classes):
    """Every class in the test set, no probability at its end, ranking by p."""
    rng = np.random.default_rng(classes)
    for _ in range(20):
        y = np.concatenate([np.arange(classes), rng.integers(0, classes, 40)])
        p = rng.dirichlet(np.ones(classes), len(y)).round(2) + 0.01
        p /= p.sum(axis=1, keepdims=True)
        found = metrics.cell_scores(y, p=p)
        ranked = np.round(p[:, 1] if classes == 2 else p, 12)  # ties have rounding errors there
        assert found.auc == pytest.approx(roc_auc_score(y, ranked, multi_class="ovr"), abs=1e-12)
        assert found.cross_entropy == pytest.approx(log_loss(y, p), rel=1e-12)
        assert found.brier == pytest.approx(
            brier_score_loss(y, p if classes > 2 else p[:, 1]), rel=1e-12
        )
        assert found.accuracy == (p.argmax(axis=1) == y).mean()


@settings(max_examples=counts(60, 600), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_test_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    classes, rows = int(rng.integers(2, 8)), int(rng.integers(1, 200))
    scores = random_scores(rng, rows, classes, int(rng.integers(classes)))
    y = rng.integers(0, classes, rows)
    order = rng.permutation(rows)
    plain = metrics.cell_scores(y, scores=scores)
    shuffled = metrics.cell_scores(y[order], scores=np.ascontiguousarray(scores[order]))
    assert np.array_equal(astuple(plain), astuple(shuffled), equal_nan=True)


def test_log_odds_rank_where_probabilities_saturate():
    scores = np.array([[0.0, -900.0], [0.0, -800.0], [0.0, -1000.0]])
    y = np.array([0, 1, 0])
    assert metrics.cell_scores(y, scores=scores).auc == 1.0
    assert metrics.cell_scores(y, scores=scores, ranking="probability").auc == 0.5


def test_a_class_absent_from_training_ties_all_rows():
    scores = np.array([[0.0, 3.0, -np.inf], [4.0, 1.0, -np.inf], [0.0, 1.0, -np.inf]])
    found = metrics.cell_scores(np.array([1, 0, 2]), scores=scores)
    assert metrics.softmax(scores)[:, 2].tolist() == [0, 0, 0]
    assert found.auc == pytest.approx((1 + 1 + 0.5) / 3)
    assert found.n_clipped == 1
    assert found.cross_entropy > -math.log(metrics.EPSILON) / 3


def test_only_one_class_in_training():
    scores = np.array([[-np.inf, 0.0, -np.inf]] * 4)
    found = metrics.cell_scores(np.array([1, 1, 0, 2]), scores=scores)
    loss = -math.log(metrics.EPSILON) / 2
    assert (found.accuracy, found.auc, found.brier) == (0.5, 0.5, 1.0)
    assert found.cross_entropy == pytest.approx(loss, rel=1e-12)
    assert found.n_clipped == 2


def test_a_test_set_of_one_class_has_no_auc():
    found = metrics.cell_scores(np.array([1, 1]), scores=np.array([[0.0, 1.0], [0.0, 2.0]]))
    assert math.isnan(found.auc)
    assert found.accuracy == 1.0


def test_ties_between_labels_go_to_the_lowest_code():
    p = np.array([[0.25, 0.25, 0.5], [0.4, 0.4, 0.2], [1 / 3, 1 / 3, 1 / 3]])
    assert metrics.accuracy(p, np.array([2, 0, 0])) == 1.0
    assert metrics.accuracy(p, np.array([2, 1, 1])) == pytest.approx(1 / 3)


def test_two_classes_have_half_the_brier_score():
    p, y = np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0])
    assert metrics.brier(p, y) == pytest.approx((0.2**2 + 0.6**2) / 2)
    wide = np.hstack([p, np.zeros((2, 1))])
    assert metrics.brier(wide, y) == pytest.approx(2 * metrics.brier(p, y))


def test_nearest_neighbours_lose_on_a_lattice():
    """With k = 1 both losses are multiples of the error."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 50)
    p = np.eye(3)[rng.integers(0, 3, 50)]
    found = metrics.cell_scores(y, p=p)
    assert found.brier == pytest.approx(2 * (1 - found.accuracy))
    assert found.cross_entropy == pytest.approx((1 - found.accuracy) * 52 * math.log(2))


def test_scores_or_probabilities_are_needed():
    with pytest.raises(TypeError, match="scores, p or label"):
        metrics.cell_scores(np.array([0]))
