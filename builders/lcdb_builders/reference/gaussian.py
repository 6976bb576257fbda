"""NMC, LDC and QDC: a Gaussian per class; the score is its log density plus the log prior.

NMC has one variance s̄: the mean over features of the pooled within-class variance (divisor n), and
1 if that is 0. LDC and QDC measure each feature in units of its own: the root of v, its pooled
within-class variance (divisor n); where the values within each class are equal, its variance over
the training set. A feature that is constant over the training set is left out. Their scores do not
depend on origin and unit of any feature.

Means are taken relative to a row of their class, so that rows that are all equal have variance
exactly 0. Rows that are far from 0, or whose squares would not be numbers, are fitted and scored in
a frame of the training set (`lcdb_builders.domain.frame`).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from lcdb_builders.domain.frame import frame_of
from lcdb_builders.reference.base import ScoringClassifier, require, weighted_sum_of_features

__all__ = ["LDC", "NMC", "QDC"]


class _Moments:
    """Counts, means and deviations of weighted rows by class."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        self.X = X
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
    def variances(self) -> np.ndarray:
        """The variance v of each feature, 0 where it is constant over all rows."""
        offsets = self.X - self.X[0]
        around = offsets - self.weight @ offsets / self.total
        overall = self.weight @ (around * around)
        # Values are compared, and not their sums: those of equal values may be rounded.
        differs = self.deviations.any(axis=0)
        return np.where(differs, self.within, overall) / self.total


def _whitening(deviations: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray:
    """Return A, upper triangular, with A Aᵀ the inverse of covariance + ridge · I.

    The covariance is factorised through its rows: forming it would square the condition number.
    """
    scaled = deviations * np.sqrt(weight / weight.sum())[:, None]
    stacked = np.vstack([scaled, np.sqrt(ridge) * np.eye(deviations.shape[1])])
    return np.linalg.inv(np.linalg.qr(stacked, mode="r"))


class _Gaussian(ScoringClassifier):
    """What the three share: rows are fitted and scored in the frame of the training set."""

    #: Whether features may be measured in units of their own.
    _by_feature = True

    def _fit(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        frame = frame_of(X, by_feature=self._by_feature)
        if frame is None:
            others = "its own" if self._by_feature else "their"
            msg = (
                "squares of features do not fit into doubles: a value is more than 1e280 times "
                f"{others} least difference; rescale the features, or set scaling in the plan"
            )
            raise ValueError(msg)
        self.frame_ = frame
        rows = frame.place(X)
        self._fit_moments(codes, _Moments(rows, codes, weight))

    def _log_scores(self, X: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # what is no number is no score
            return self._score(self.frame_.place(X))

    @abstractmethod
    def _fit_moments(self, codes: np.ndarray, moments: _Moments) -> None:
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

    _by_feature = False

    def __init__(self, shrinkage: float = 0.0) -> None:
        self.shrinkage = shrinkage

    def _check_parameters(self) -> None:
        require(self, "shrinkage", 0.0)

    def _fit_moments(self, codes: np.ndarray, moments: _Moments) -> None:
        self.means_ = moments.means if self.shrinkage == 0 else self._shrunken(moments)
        self.variance_ = float(moments.within.mean()) / moments.total or self.frame_.unit

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


class _Discriminant(_Gaussian):
    """What LDC and QDC share: features that vary, in units of their own, and a ridge."""

    def __init__(self, ridge: float = 1e-6) -> None:
        self.ridge = ridge

    def _check_parameters(self) -> None:
        require(self, "ridge", 1e-12)

    def _fit_moments(self, codes: np.ndarray, moments: _Moments) -> None:
        variances = moments.variances
        self.varies_ = variances > 0
        self.units_ = np.sqrt(variances[self.varies_])
        deviations = moments.deviations[:, self.varies_] / self.units_
        self._fit_covariances(codes, moments, deviations)

    def _apart(self, X: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return the features of rows that vary, from an origin and in their units."""
        return (X - origin)[:, self.varies_] / self.units_

    @abstractmethod
    def _fit_covariances(
        self, codes: np.ndarray, moments: _Moments, deviations: np.ndarray
    ) -> None:
        """Fit to deviations from class means in units of features."""


class LDC(_Discriminant):
    """Linear discriminant classifier: one covariance for all classes, priors n_c/n.

    Parameters
    ----------
    ridge
        λ of the covariance S + λ diag(v), with S the pooled within-class covariance (divisor n).

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [9.0], [11.0]])
    >>> LDC().fit(X, [0, 0, 1, 1]).predict([[5.0], [6.0]])
    array([0, 1])
    """

    def _fit_covariances(
        self, codes: np.ndarray, moments: _Moments, deviations: np.ndarray
    ) -> None:
        whitening = _whitening(deviations, moments.weight, self.ridge)
        self.centre_ = moments.counts @ moments.means / moments.total
        means = self._apart(moments.means, self.centre_) @ whitening
        self.coef_ = whitening @ means.T
        self.intercept_ = moments.log_priors - (means * means).sum(axis=1) / 2

    def _score(self, X: np.ndarray) -> np.ndarray:
        # What is quadratic in x is the same for all classes, and left out.
        return weighted_sum_of_features(self._apart(X, self.centre_), self.coef_) + self.intercept_


class QDC(_Discriminant):
    """Quadratic discriminant classifier: a covariance per class, priors n_c/n.

    Parameters
    ----------
    ridge
        λ of the covariance S_c + λ diag(v) (divisor n_c); it is diag(v) for a class with fewer
        than two distinct rows.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [-9.0], [11.0]])
    >>> QDC().fit(X, [0, 0, 1, 1]).predict([[1.5], [7.0], [-7.0]])
    array([0, 1, 1])
    """

    def _fit_covariances(
        self, codes: np.ndarray, moments: _Moments, deviations: np.ndarray
    ) -> None:
        self.means_ = moments.means
        self.whitening_ = []
        for c in range(len(moments.counts)):
            member = codes == c
            if deviations[member].any():
                whitening = _whitening(deviations[member], moments.weight[member], self.ridge)
            else:
                whitening = np.eye(deviations.shape[1])
            self.whitening_.append(whitening)
        # The determinant is one in units of features too: a change of units changes no score.
        half_log_det = [-np.log(np.abs(np.diag(w))).sum() for w in self.whitening_]
        self.intercept_ = moments.log_priors - np.array(half_log_det)

    def _score(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty((len(X), len(self.means_)))
        for c, whitening in enumerate(self.whitening_):
            white = weighted_sum_of_features(self._apart(X, self.means_[c]), whitening)
            squared = np.zeros(len(X))
            for coordinate in white.T:
                squared += np.square(coordinate)
            scores[:, c] = self.intercept_[c] - squared / 2
        return scores
