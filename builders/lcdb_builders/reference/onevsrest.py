"""One class against the rest: K binary problems, or a single one for two classes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from lcdb_builders.reference.base import ScoringClassifier
from lcdb_builders.reference.metrics import labels

__all__ = ["OneVsRest", "log_sigmoid", "one_vs_rest_log_scores"]


def log_sigmoid(f: np.ndarray) -> np.ndarray:
    """Return ln σ(f) without overflow.

    Examples
    --------
    >>> log_sigmoid(np.array([-800.0, 0.0])).round(4)
    array([-8.000e+02, -6.931e-01])
    """
    return np.minimum(f, 0) - np.log1p(np.exp(-np.abs(f)))


def one_vs_rest_log_scores(decision: np.ndarray) -> np.ndarray:
    """Return ln σ of decision values; a single column belongs to the second of two classes.

    Examples
    --------
    >>> one_vs_rest_log_scores(np.array([[0.0]])).round(4)
    array([[-0.6931, -0.6931]])
    """
    return log_sigmoid(_of_each_class(decision))


def _of_each_class(decision: np.ndarray) -> np.ndarray:
    return np.hstack([-decision, decision]) if decision.shape[1] == 1 else decision


class OneVsRest(ScoringClassifier):
    """A binary classifier repeated for each class; scores are ln σ of its decision values."""

    def _fit(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        classes = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(codes == c, 1.0, -1.0) for c in classes]
        self._fit_binary(X, signs, weight)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return decision values: (rows,) for two classes, else (rows, classes)."""
        X = self._check_rows(X)
        if len(self.classes_) == 1:
            return np.zeros(len(X))
        decision = self._decide(X)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def decisions(self, X: np.ndarray) -> np.ndarray:
        """Return (rows, classes) decision values; those of two classes are opposite numbers."""
        X = self._check_rows(X)
        if len(self.classes_) == 1:
            return np.zeros((len(X), 1))
        return _of_each_class(self._decide(X))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class with the largest decision value; ties go to the lowest class."""
        label = labels(self.decisions(X))
        return self.classes_[label]

    def _log_scores(self, X: np.ndarray) -> np.ndarray:
        return one_vs_rest_log_scores(self._decide(X))

    @abstractmethod
    def _fit_binary(self, X: np.ndarray, signs: list[np.ndarray], weight: np.ndarray) -> None:
        """Fit one binary problem per array of signs (+1 the class, -1 the rest)."""

    @abstractmethod
    def _decide(self, X: np.ndarray) -> np.ndarray:
        """Return (rows, problems) decision values."""
