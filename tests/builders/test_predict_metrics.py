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
        measures_of(["f1_micro"], NAMES)
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
