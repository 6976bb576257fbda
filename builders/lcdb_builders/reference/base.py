"""What the reference estimators share: scikit-learn's interface, weights, one-class training.

They are plain rather than fast, yet a database may be built with them, so arrays as the builder
passes them take a short way past scikit-learn's checks, which would cost more than most fits.

Sums over features run in feature order, one feature at a time, never through a matrix product:
the scores of a test row are then the same bits wherever the row stands, and ties stay ties.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lcdb_builders.reference.metrics import labels, softmax

__all__ = ["ReferenceClassifier", "ScoringClassifier", "require", "weighted_sum_of_features"]


def require(owner: object, name: str, low: float, *, integer: bool = False) -> None:
    """Raise ValueError unless a parameter is a number (or integer) of at least `low`."""
    value = getattr(owner, name)
    kind = int | np.integer if integer else int | float | np.integer | np.floating
    if not isinstance(value, kind) or isinstance(value, bool) or not low <= value < np.inf:
        what = "an integer" if integer else "a finite number"
        msg = f"{type(owner).__name__}.{name} is {value!r}; expected {what} of at least {low:g}"
        raise ValueError(msg)


def weighted_sum_of_features(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``X @ weights`` with every sum taken in feature order.

    Examples
    --------
    >>> weighted_sum_of_features(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [0.5, 1.0]]))
    array([[2., 2.]])
    """
    total = np.zeros((len(X), weights.shape[1]))
    for j in range(X.shape[1]):
        total += X[:, j, None] * weights[j]
    return total


def _is_ready(X: Any, y: Any) -> bool:
    """Whether X and y are what the builder passes: finite float64 rows and int64 codes."""
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype == np.float64
        and y.dtype == np.int64
        and X.ndim == 2
        and y.shape == X.shape[:1]
        and X.size > 0
        and bool(np.isfinite(X).all())
    )


class ReferenceClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of weighted rows; with one class it predicts that class for certain.

    Attributes
    ----------
    classes_
        Classes of the training rows, ascending.
    """

    classes_: np.ndarray
    n_features_in_: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows; a row of weight k counts as k rows, one of weight 0 as none.

        Parameters
        ----------
        X
            (n, d) features. Where ties are broken by order, earlier rows come first.
        y
            (n,) classes.
        sample_weight
            (n,) non-negative weights, such as bootstrap multiplicities; 1 each if None.
        """
        self._check_parameters()
        if _is_ready(X, y):
            self.n_features_in_ = X.shape[1]
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(y)
        if sample_weight is None:
            weight = np.ones(len(y))
        else:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not weight.all():
                kept = weight > 0
                X, y, weight = X[kept], y[kept], weight[kept]
            if not len(y):
                msg = f"{type(self).__name__} was given no row of positive weight"
                raise ValueError(msg)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 1:
            self._fit(X, codes, weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return (rows, classes) probabilities in the order of `classes_`."""
        X = self._check_rows(X)
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        return self._predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest probability; ties go to the lowest class."""
        label = labels(self.predict_proba(X))
        return self.classes_[label]

    def _check_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "classes_")
        ready = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2
        if ready and X.shape[1] == self.n_features_in_ and len(X) and np.isfinite(X).all():
            return X
        return validate_data(self, X, dtype=np.float64, reset=False)

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is out of its range."""

    @abstractmethod
    def _fit(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        """Fit to at least two classes with codes 0, 1, ... and positive weights."""

    @abstractmethod
    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return probabilities of checked rows, fitted to at least two classes."""


class ScoringClassifier(ReferenceClassifier):
    """A classifier with log scores: probabilities are their softmax."""

    def log_scores(self, X: Any) -> np.ndarray:
        """Return (rows, classes) scores s_c; the label is the class of the largest."""
        X = self._check_rows(X)
        if len(self.classes_) == 1:
            return np.zeros((len(X), 1))
        return self._log_scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score; ties go to the lowest class."""
        label = labels(self.log_scores(X))
        return self.classes_[label]

    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        return softmax(self._log_scores(X))

    @abstractmethod
    def _log_scores(self, X: np.ndarray) -> np.ndarray:
        """Return log scores of checked rows, fitted to at least two classes."""
