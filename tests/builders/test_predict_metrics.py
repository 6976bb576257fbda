"""Metrics after the fact are scikit-learn's functions of the same names, undefined cases too."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from lcdb_builders.predict.metrics import evaluate, measures_of, named_metrics
from lcdb_builders.reference.cell import Answers
from sklearn import metrics as sk

from lcdb.errors import ArgumentError, LabelError
from tests.support.counts import counts

NAMES = ("a", "b", "c", "d")
SAME = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}


def sklearns(y, label, weight):
    codes = np.arange(len(NAMES))
    options = {"sample_weight": weight, "zero_division": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "accuracy": sk.accuracy_score(y, label, sample_weight=weight),
            "balanced_accuracy": sk.balanced_accuracy_score(y, label, sample_weight=weight),
            "f1_macro": sk.f1_score(y, label, average="macro", **options),
            "mcc": sk.matthews_corrcoef(y, label, sample_weight=weight),
            "kappa": sk.cohen_kappa_score(y, label, sample_weight=weight),
        }
        by_class = {
            "precision": sk.precision_score(y, label, average=None, labels=codes, **options),
            "recall": sk.recall_score(y, label, average=None, labels=codes, **options),
        }
    for what, values in by_class.items():
        found |= {f"{what}_{NAMES[c]}": values[c] for c in codes}
    return found


def cases(count):
    rng = np.random.default_rng(7)
    for i in range(count):
        rows = int(rng.integers(1, 30))
        classes = rng.choice(4, rng.integers(1, 5), replace=False)
        said = rng.choice(4, rng.integers(1, 5), replace=False)
        weight = rng.integers(1, 4, rows) if i % 2 else np.ones(rows, int)
        yield rng.choice(classes, rows), rng.choice(said, rows), weight
    yield np.zeros(5, int), np.zeros(5, int), np.ones(5, int)  # one class, all right
    yield np.zeros(5, int), np.ones(5, int), np.ones(5, int)  # nobody predicted it


@pytest.mark.slow
def test_labels_are_scored_as_scikit_learn_scores_them():
    of_p = {"auc", "brier", "cross_entropy", "ece"}
    measures = measures_of([name for name in named_metrics(NAMES) if name not in of_p], NAMES)
    undefined = 0
    for y, label, weight in cases(counts(150, 2000)):
        answers = Answers(y, None, None, "log_odds", label=label)
        found = evaluate(measures, answers, weight, len(NAMES))
        expected = sklearns(y, label, weight)
        undefined += np.isnan(expected["kappa"])
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, **SAME), name
    assert undefined


def calibration_error(y, label, p, weight):
    """Walk over bins, written for reading."""
    total = 0.0
    for k in range(15):
        low, high = k / 15, (k + 1) / 15
        inside = (p.max(axis=1) > low) & (p.max(axis=1) <= high)
        if inside.any():
            w = weight[inside]
            right = np.average((y == label)[inside], weights=w)
            total += w.sum() * abs(right - np.average(p.max(axis=1)[inside], weights=w))
    return total / weight.sum()


def test_probabilities_are_scored_by_their_definitions():
    rng = np.random.default_rng(3)
    measures = measures_of(["ece", "brier", "cross_entropy", "auc", "accuracy"], NAMES)
    for _ in range(counts(40, 400)):
        y, p = rng.integers(0, 4, 25), rng.dirichlet(np.ones(4), 25)
        weight = rng.integers(1, 4, 25)
        found = evaluate(measures, Answers(y, None, p, "log_odds"), weight, 4)
        label = p.argmax(axis=1)
        assert found["ece"] == pytest.approx(calibration_error(y, label, p, weight), **SAME)
        onehot = np.eye(4)[y]
        brier = np.average(((p - onehot) ** 2).sum(axis=1), weights=weight)
        assert found["brier"] == pytest.approx(brier, **SAME)
        loss = sk.log_loss(y, p, labels=range(4), sample_weight=weight)
        assert found["cross_entropy"] == pytest.approx(loss, **SAME)
        if len(set(y)) == 4:
            each = [sk.roc_auc_score(y == c, p[:, c], sample_weight=weight) for c in range(4)]
            ranked = np.mean(each)
            assert found["auc"] == pytest.approx(ranked, rel=1e-6)


def test_a_function_sees_labels_probabilities_and_weights():
    seen = {}

    def share_of_b(y, label, probability, weight):
        seen.update(y=y.tolist(), label=label.tolist(), p=probability, weight=weight.tolist())
        return np.mean(label == "b")

    p = np.array([[0.9, 0.1], [0.2, 0.8]])
    answers = Answers(np.array([0, 0]), None, p, "log_odds")
    (measure,) = measures_of(share_of_b, ["a", "b"])
    found = evaluate([measure], answers, np.array([1, 2]), 2, np.array(["a", "b"]))
    assert found == {"share_of_b": 0.5}
    assert seen["y"] == ["a", "a"] and seen["label"] == ["a", "b"] and seen["weight"] == [1, 2]
    assert (seen["p"] == p).all()
    codes = evaluate([measure], answers, np.array([1, 1]), 2)
    assert codes == {"share_of_b": 0.0} and seen["label"] == [0, 1]


def test_what_cannot_be_measured_is_told():
    with pytest.raises(LabelError, match="Did you mean 'f1_macro'"):
        measures_of(["f1_marco"], NAMES)
    with pytest.raises(ArgumentError, match="two metrics are called 'mcc'"):
        measures_of(["mcc", "mcc"], NAMES)
    with pytest.raises(ArgumentError, match="no metric"):
        measures_of([], NAMES)
    with pytest.raises(ArgumentError, match="metrics is 3"):
        measures_of(3, NAMES)

    def broken(y, label, probability, weight):
        raise ZeroDivisionError("oh")

    answers = Answers(np.array([0]), None, None, "log_odds", label=np.array([0]))
    with pytest.raises(ArgumentError, match="'broken' failed: ZeroDivisionError: oh"):
        evaluate(measures_of(broken, NAMES), answers, np.ones(1, int), 4)


# -- scorers of scikit-learn -----------------------------------------------------------------------

#: Scorers by name, and the functions that define them, of true labels, labels and probabilities.
DEFINED = {
    "roc_auc": lambda y, label, p, w: sk.roc_auc_score(y, p[:, 1], sample_weight=w),
    "average_precision": lambda y, label, p, w: sk.average_precision_score(
        y, p[:, 1], sample_weight=w
    ),
    "neg_log_loss": lambda y, label, p, w: -sk.log_loss(y, p, sample_weight=w),
    "neg_brier_score": lambda y, label, p, w: -sk.brier_score_loss(y, p[:, 1], sample_weight=w),
    "f1": lambda y, label, p, w: sk.f1_score(y, label, sample_weight=w),
    "precision": lambda y, label, p, w: sk.precision_score(y, label, sample_weight=w),
    "matthews_corrcoef": lambda y, label, p, w: sk.matthews_corrcoef(y, label, sample_weight=w),
}


@pytest.mark.parametrize("name", DEFINED)
@pytest.mark.parametrize("repeated", [False, True])
def test_names_of_scorers_are_those_of_scikit_learn(name, repeated):
    rng = np.random.default_rng(4)
    p = rng.dirichlet([1, 1], size=60)
    y = (rng.random(60) < p[:, 1]).astype(int)
    weight = rng.integers(1, 4, 60) if repeated else np.ones(60, int)
    (measure,) = measures_of(name, ("no", "yes"))
    found = evaluate([measure], Answers(y, None, p, "probability"), weight, 2)
    expected = DEFINED[name](y, p.argmax(1), p, weight)
    assert found[name] == pytest.approx(expected, rel=1e-12)
    assert measure.attrs["direction"] == "maximize" and measure.needs_probability
    # Text has no 1: the second of two classes is the positive one.
    text = evaluate([measure], Answers(y, None, p, "probability"), weight, 2, np.array(["a", "b"]))
    assert text == found


def test_scorers_are_given_ones_own_labels():
    scorer = sk.make_scorer(sk.fbeta_score, beta=2, pos_label="a")
    y, p = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]])
    (measure,) = measures_of(scorer, ("a", "b"))
    assert measure.name == "fbeta_score"
    answers, ones = Answers(y, None, p, "probability"), np.ones(4, int)
    found = evaluate([measure], answers, ones, 2, np.array(["a", "b"]))
    assert found["fbeta_score"] == sk.fbeta_score(y, p.argmax(1), beta=2, pos_label=0)


def test_what_a_scorer_cannot_score_is_nan_or_told():
    p = np.full((4, 3), 1 / 3)
    (log_loss,) = measures_of("neg_log_loss", NAMES[:3])
    one = Answers(np.array([0, 0, 1, 1]), None, p, "probability")  # no row of the third class
    assert np.isnan(evaluate([log_loss], one, np.ones(4, int), 3)["neg_log_loss"])
    (roc_auc,) = measures_of("roc_auc", NAMES[:3])
    every = Answers(np.array([0, 2, 1, 1]), None, p, "probability")
    with pytest.raises(ArgumentError, match="'roc_auc' failed: ValueError: multi_class must be in"):
        evaluate([roc_auc], every, np.ones(4, int), 3)
    with pytest.raises(LabelError, match="metric 'r2' does not exist"):
        measures_of("r2", NAMES)
