"""A classifier from elsewhere made to answer for any training set, in codes of the dataset."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from lcdb_builders.reference.isolation import isolated
from lcdb_builders.reference.metrics import softmax
from lcdb_builders.reference.onevsrest import one_vs_rest_log_scores

__all__ = ["Generic"]

# How far from [0, 1] a probability may be: single precision rounds to this.
_ROUNDING = 1e-6


def _length(X: Any) -> int:
    """Return how many rows there are, also of a sparse matrix."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _answering(model: Generic) -> Any:
    """Return who answers: the fitted classifier, or where there was one class, the unfitted."""
    fitted = getattr(model, "estimator_", None)
    return model.estimator if fitted is None else fitted


def _is_scored_by_decisions(model: Generic) -> bool:
    fitted = getattr(model, "estimator_", None)
    if fitted is None or hasattr(fitted, "predict_proba"):
        return False
    return hasattr(fitted, "decision_function")


def _has_scores(model: Generic) -> bool:
    answering = _answering(model)
    return hasattr(answering, "predict_proba") or hasattr(answering, "decision_function")


class Generic(ClassifierMixin, BaseEstimator):
    """A classifier with what every learner of the database must have.

    It is fitted to classes 0 to k-1, those that were drawn, and its labels are its own `predict`,
    mapped back. Trained on one class it predicts that class for certain. Without `predict_proba`
    its decision values become one-vs-rest log scores; without either there are only labels.

    Parameters
    ----------
    estimator
        The classifier; it is cloned before it is fitted.
    seed
        Of the global random generators while it is at work.
    labels
        What it is fitted to in the place of classes 0 to k-1: the label of each class code,
        ascending. Parameters of the classifier may name labels, such as ``class_weight``.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> model = Generic(LinearSVC()).fit(X, [3, 3, 5, 5])
    >>> model.predict_proba([[9.0]]).round(1), model.predict([[9.0]])
    (array([[0.2, 0.8]]), array([5]))
    """

    estimator_: Any

    def __init__(self, estimator: Any, seed: int = 0, labels: np.ndarray | None = None) -> None:
        self.estimator = estimator
        self.seed = seed
        self.labels = labels

    def fit(self, X: Any, y: Any) -> Generic:
        """Fit to rows; a constant predictor if they are of one class."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = None
        if len(self.classes_) > 1:
            with isolated(self.seed):
                again = clone if hasattr(self.estimator, "get_params") else copy.deepcopy
                fitted = again(self.estimator)
                fitted.fit(X, codes if self.labels is None else self.labels[y])
            self.estimator_ = fitted
        return self

    @available_if(_is_scored_by_decisions)
    def log_scores(self, X: Any) -> np.ndarray:
        """Return ln σ of the decision values, one column per class."""
        with isolated(self.seed):
            decision = np.asarray(self.estimator_.decision_function(X), np.float64)
        decision = decision.reshape(len(decision), -1)
        if not np.isfinite(decision).all():
            msg = "decision_function returned values that are not finite"
            raise ValueError(msg)
        return one_vs_rest_log_scores(decision)

    @available_if(_has_scores)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return (rows, classes) probabilities in the order of `classes_`."""
        if self.estimator_ is None:
            return np.ones((_length(X), 1))
        if _is_scored_by_decisions(self):
            return softmax(self.log_scores(X))
        with isolated(self.seed):
            p = np.asarray(self.estimator_.predict_proba(X), np.float64)
        if not np.isfinite(p).all() or p.min() < -_ROUNDING or p.max() > 1 + _ROUNDING:
            msg = "predict_proba returned values that are no probabilities"
            raise ValueError(msg)
        return np.clip(p, 0.0, 1.0)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels that the classifier itself predicts."""
        if self.estimator_ is None:
            return np.repeat(self.classes_, _length(X))
        with isolated(self.seed):
            label = np.asarray(self.estimator_.predict(X)).reshape(-1)
        codes, known = self._codes_of(label)
        if len(label) != _length(X) or not known.all():
            msg = f"predict returned {label[:3]!r}...; expected labels that it was fitted to"
            raise ValueError(msg)
        return self.classes_[codes]

    def _codes_of(self, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of each label among those it was fitted to, and whether it is there."""
        if self.labels is None:
            codes = label.astype(np.int64)
            return codes, (codes >= 0) & (codes < len(self.classes_)) & (codes == label)
        fitted = self.labels[self.classes_]
        codes = np.minimum(np.searchsorted(fitted, label), len(fitted) - 1)
        return codes, fitted[codes] == label
