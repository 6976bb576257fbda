"""NMC, LDC and QDC: a Gaussian per class; the score is its log density plus the log prior.

The mean within-class variance s̄ is the mean over features of the pooled within-class variance
(divisor n), and 1 if that is 0. Means are taken relative to a row of their class, so that rows
that are all equal have variance exactly 0. Rows that are far from 0, or whose squares would not be
numbers, are fitted and scored in a frame of the training set (`lcdb_builders.domain.frame`).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from lcdb_builders.domain.frame import frame_of
from lcdb_builders.reference.base import ScoringClassifier, require, weighted_sum_of_features

__all__ = ["LDC", "NMC", "QDC"]


class _Moments:
    """Counts, means and deviations of weighted rows by class."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, unit: float) -> None:
        self.unit = unit
        classes = int(codes.max()) + 1
        self.weight = weight
        self.counts = np.bincount(codes, weight)
        self.total = float(self.counts.sum())
        self.means = np.empty((classes, X.shape[1]))
        self.deviations = np.empty_like(X)
        for c in range(classes):
            member = codes == c
            rows = X[member]
            offsets = rows - rows[0]
            mean = weight[member] @ offsets / self.counts[c]
            self.means[c] = rows[0] + mean
            self.deviations[member] = offsets - mean

    @property
    def log_priors(self) -> np.ndarray:
        """Log share of each class among the rows."""
        return np.log(self.counts / self.total)

    @property
    def within(self) -> np.ndarray:
        """Sum of squared deviations from the class means, per feature."""
        return self.weight @ (self.deviations * self.deviations)

    @property
    def mean_variance(self) -> float:
        """The mean within-class variance s̄."""
        return float(self.within.mean()) / self.total or self.unit


def _whitening(deviations: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray:
    """Return A, upper triangular, with A Aᵀ the inverse of covariance + ridge · I.

    The covariance is factorised through its rows: forming it would square the condition number.
    """
    scaled = deviations * np.sqrt(weight / weight.sum())[:, None]
    stacked = np.vstack([scaled, np.sqrt(ridge) * np.eye(deviations.shape[1])])
    return np.linalg.inv(np.linalg.qr(stacked, mode="r"))


class _Gaussian(ScoringClassifier):
    """What the three share: rows are fitted and scored in the frame of the training set."""

    def _fit(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        frame = frame_of(X)
        if frame is None:
            msg = (
                "squares of features do not fit into doubles: some are more than 1e280 times the "
                "least difference of others; rescale the features, or set scaling in the plan"
            )
            raise ValueError(msg)
        self.frame_ = frame
        rows = frame.place(X)
        self._fit_moments(rows, codes, _Moments(rows, codes, weight, frame.unit))

    def _log_scores(self, X: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # what is no number is no score
            return self._score(self.frame_.place(X))

    @abstractmethod
    def _fit_moments(self, X: np.ndarray, codes: np.ndarray, moments: _Moments) -> None:
        """Fit to rows in the frame."""

    @abstractmethod
    def _score(self, X: np.ndarray) -> np.ndarray:
        """Return log scores of rows in the frame."""


class NMC(_Gaussian):
    """Nearest mean classifier: Gaussians of covariance s̄ I around class means, equal priors.

    Parameters
    ----------
    shrinkage
        Threshold Δ of the nearest shrunken centroids of Tibshirani et al. (2002), with the
        overall mean x̄_j, class mean x̄_cj, n_c of n rows in class c, C classes, and the pooled
        within-class standard deviation s_j = √(Σ_c Σ_{i in c} (x_ij - x̄_cj)² / (n - C))::

            m_c   = √(1/n_c - 1/n)
            t_cj  = Δ m_c (s_j + median over features of s)
            x̄'_cj = x̄_j + sign(x̄_cj - x̄_j) · max(|x̄_cj - x̄_j| - t_cj, 0)

        Where n = C nothing is known of s and means are not shrunk. s̄ is that of the unshrunk
        means. scikit-learn's `NearestCentroid(shrink_threshold=...)` shrinks alike.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [9.0], [11.0]])
    >>> model = NMC().fit(X, [0, 0, 1, 1])
    >>> model.predict([[5.0], [6.0]])
    array([0, 1])
    >>> model.log_scores([[5.0]])  # s̄ = 1
    array([[ -8. , -12.5]])
    """

    def __init__(self, shrinkage: float = 0.0) -> None:
        self.shrinkage = shrinkage

    def _check_parameters(self) -> None:
        require(self, "shrinkage", 0.0)

    def _fit_moments(self, X: np.ndarray, codes: np.ndarray, moments: _Moments) -> None:
        self.means_ = moments.means if self.shrinkage == 0 else self._shrunken(moments)
        self.variance_ = moments.mean_variance

    def _shrunken(self, moments: _Moments) -> np.ndarray:
        n, freedom = moments.total, moments.total - len(moments.counts)
        if freedom <= 0:
            return moments.means
        deviation = np.sqrt(moments.within / freedom)
        spread = deviation + np.median(deviation)
        threshold = self.shrinkage * np.sqrt(1 / moments.counts - 1 / n)[:, None] * spread
        overall = moments.counts @ moments.means / n
        offset = moments.means - overall
        return overall + np.sign(offset) * np.maximum(np.abs(offset) - threshold, 0)

    def _score(self, X: np.ndarray) -> np.ndarray:
        distance = np.zeros((len(X), len(self.means_)))
        for j in range(X.shape[1]):
            distance += np.square(X[:, j, None] - self.means_[:, j])
        return distance / (-2 * self.variance_)


class LDC(_Gaussian):
    """Linear discriminant classifier: one covariance for all classes, priors n_c/n.

    Parameters
    ----------
    ridge
        λ of the covariance S + λ s̄ I, with S the pooled within-class covariance (divisor n).

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [9.0], [11.0]])
    >>> LDC().fit(X, [0, 0, 1, 1]).predict([[5.0], [6.0]])
    array([0, 1])
    """

    def __init__(self, ridge: float = 1e-6) -> None:
        self.ridge = ridge

    def _check_parameters(self) -> None:
        require(self, "ridge", 1e-12)

    def _fit_moments(self, X: np.ndarray, codes: np.ndarray, moments: _Moments) -> None:
        whitening = _whitening(
            moments.deviations, moments.weight, self.ridge * moments.mean_variance
        )
        self.centre_ = moments.counts @ moments.means / moments.total
        means = (moments.means - self.centre_) @ whitening
        self.coef_ = whitening @ means.T
        self.intercept_ = moments.log_priors - (means * means).sum(axis=1) / 2

    def _score(self, X: np.ndarray) -> np.ndarray:
        # What is quadratic in x is the same for all classes, and left out.
        return weighted_sum_of_features(X - self.centre_, self.coef_) + self.intercept_


class QDC(_Gaussian):
    """Quadratic discriminant classifier: a covariance per class, priors n_c/n.

    Parameters
    ----------
    ridge
        λ of the covariance S_c + λ s̄ I (divisor n_c); it is s̄ I for a class with fewer than two
        distinct rows.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [-9.0], [11.0]])
    >>> QDC().fit(X, [0, 0, 1, 1]).predict([[1.5], [7.0], [-7.0]])
    array([0, 1, 1])
    """

    def __init__(self, ridge: float = 1e-6) -> None:
        self.ridge = ridge

    def _check_parameters(self) -> None:
        require(self, "ridge", 1e-12)

    def _fit_moments(self, X: np.ndarray, codes: np.ndarray, moments: _Moments) -> None:
        spread = moments.mean_variance
        self.means_ = moments.means
        self.whitening_ = []
        for c in range(len(moments.counts)):
            member = codes == c
            deviations = moments.deviations[member]
            if deviations.any():
                whitening = _whitening(deviations, moments.weight[member], self.ridge * spread)
            else:
                whitening = np.eye(X.shape[1]) / np.sqrt(spread)
            self.whitening_.append(whitening)
        half_log_det = [-np.log(np.abs(np.diag(w))).sum() for w in self.whitening_]
        self.intercept_ = moments.log_priors - np.array(half_log_det)

    def _score(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty((len(X), len(self.means_)))
        for c, whitening in enumerate(self.whitening_):
            white = weighted_sum_of_features(X - self.means_[c], whitening)
            squared = np.zeros(len(X))
            for j in range(X.shape[1]):
                squared += np.square(white[:, j])
            scores[:, c] = self.intercept_[c] - squared / 2
        return scores
