"""NNC: nearest neighbours, with ties broken by the order in which rows were drawn."""

from __future__ import annotations

import numpy as np

from lcdb_builders.domain.frame import exponent_of
from lcdb_builders.reference.base import ReferenceClassifier, require

__all__ = ["NNC", "squared_distances"]


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return (len(A), len(B)) squared distances, summed in feature order without rounding tricks.

    No fused multiply-add and no ‖a‖² + ‖b‖² - 2ab: distances that are equal stay equal.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 1.0]]))
    array([[25.,  2.]])
    """
    total = np.zeros((len(A), len(B)))
    for j in range(A.shape[1]):
        total += np.square(A[:, j, None] - B[:, j])
    return total


class NNC(ReferenceClassifier):
    """Nearest neighbour classifier: the class shares among the k nearest rows.

    A row of weight w is w neighbours at one distance. Of rows at equal distance the one that
    comes first in the training set counts first. With fewer than k rows all of them vote.

    Parameters
    ----------
    neighbors
        k.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [9.0]])
    >>> NNC().fit(X, [1, 0, 0]).predict([[1.0], [3.0]])
    array([1, 0])
    >>> NNC(neighbors=2).fit(X, [1, 0, 0]).predict_proba([[1.0], [8.0]])
    array([[0.5, 0.5],
           [1. , 0. ]])
    """

    def __init__(self, neighbors: int = 1) -> None:
        self.neighbors = neighbors

    def _check_parameters(self) -> None:
        require(self, "neighbors", 1, integer=True)

    def _fit(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        self.rows_, self.codes_, self.weight_ = X, codes, weight

    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        exponent = exponent_of(np.vstack([self.rows_, X]))
        if exponent is None:
            msg = (
                "squares of features do not fit into doubles: some are more than 1e280 times the "
                "least difference of others; rescale the features, or set scaling in the plan"
            )
            raise ValueError(msg)
        distance = squared_distances(np.ldexp(X, -exponent), np.ldexp(self.rows_, -exponent))
        if self.neighbors == 1:  # argmin takes the first of equals
            nearest, votes = distance.argmin(axis=1)[:, None], np.ones((len(X), 1))
        else:
            nearest = distance.argsort(axis=1, kind="stable")
            k = min(float(self.neighbors), float(self.weight_.sum()))
            weight = self.weight_[nearest]
            before = np.cumsum(weight, axis=1) - weight
            votes = np.clip(k - before, 0, weight)
        shares = np.zeros((len(X), len(self.classes_)))
        for c in range(len(self.classes_)):
            shares[:, c] = np.where(self.codes_[nearest] == c, votes, 0.0).sum(axis=1)
        return shares / shares.sum(axis=1, keepdims=True)
