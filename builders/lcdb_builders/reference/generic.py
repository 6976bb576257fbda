"""A foreign classifier made to answer for any training set, with probabilities or log scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from lcdb_builders.reference.metrics import softmax
from lcdb_builders.reference.onevsrest import one_vs_rest_log_scores

__all__ = ["Generic"]


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _is_scored_by_decisions(model: Generic) -> bool:
    fitted = getattr(model, "estimator_", None)
    return fitted is not None and not hasattr(fitted, "predict_proba")


class Generic(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier with what every learner of the database must have.

    Trained on one class it predicts that class for certain. Without `predict_proba` its decision
    values become one-vs-rest log scores. Warnings of the classifier are not repeated for each of
    millions of fits.

    Parameters
    ----------
    estimator
        The classifier; it is cloned before it is fitted.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> Generic(LinearSVC()).fit(X, [0, 0, 1, 1]).predict_proba([[9.0]]).round(1)
    array([[0.2, 0.8]])
    """

    estimator_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Generic:
        """Fit to rows; a constant predictor if they are of one class."""
        self.classes_ = np.unique(y)
        self.estimator_ = None
        if len(self.classes_) > 1:
            with _quiet():
                self.estimator_ = clone(self.estimator)
                self.estimator_.fit(X, y)
        return self

    @available_if(_is_scored_by_decisions)
    def log_scores(self, X: Any) -> np.ndarray:
        """Return ln σ of the decision values, one column per class."""
        with _quiet():
            decision = np.asarray(self.estimator_.decision_function(X), np.float64)
        return one_vs_rest_log_scores(decision.reshape(len(decision), -1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return (rows, classes) probabilities in the order of `classes_`."""
        if self.estimator_ is None:
            return np.ones((len(X), 1))
        if _is_scored_by_decisions(self):
            return softmax(self.log_scores(X))
        with _quiet():
            return np.asarray(self.estimator_.predict_proba(X), np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score; ties go to the lowest class."""
        scores = self.log_scores(X) if _is_scored_by_decisions(self) else self.predict_proba(X)
        return self.classes_[scores.argmax(axis=1)]
