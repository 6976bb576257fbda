"""LREG and LSVC: linear classifiers at the exact optimum, by a damped Newton method.

Default tolerances change the labels of many test rows, so these models are the optimum itself: the
last steps are taken where the Newton decrement says that nothing is left to gain.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.linalg.lapack import dgeqrf, dtrtrs

from lcdb_builders.reference.base import require, weighted_sum_of_features
from lcdb_builders.reference.hinge import minimise
from lcdb_builders.reference.onevsrest import OneVsRest

__all__ = ["LREG", "LSVC"]

MOST_STEPS = 1000
# The squared Newton decrement, as a share of the objective, below which one step more is taken, and
# one from there with the same Hessian.
GAIN_LEFT = 1e-13
SUFFICIENT_DECREASE = 1e-4
# Below the first share of the objective a full step is good, though the objective is too coarse to
# tell: it may differ by the second.
NEAR, SAME = 1e-8, 1e-11
# So little of a column that the others do not explain is rounding.
LEAST_REST = 1e-14
# Features so many standard deviations from 0 are far from it.
FAR = 1e3


def _newton_step(
    design: np.ndarray, curvature: np.ndarray, penalty: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the Newton step and its squared decrement.

    The Hessian is designᵀ curvature design + penalty. Its triangular factor comes from the rows
    themselves, since forming the Hessian would square its condition number; columns are scaled to
    length 1, which puts ones on the diagonal of the Hessian.
    """
    stacked = np.vstack([np.sqrt(curvature)[:, None] * design, np.diag(np.sqrt(penalty))])
    scale = np.sqrt((stacked * stacked).sum(axis=0))
    scale[scale == 0] = 1.0
    # LAPACK itself: its wrappers check and copy for longer than it takes to solve.
    factor = dgeqrf(stacked / scale)[0][: len(scale)]  # in its upper triangle
    half, _ = dtrtrs(factor, gradient / scale, trans=1)
    if not np.abs(factor.diagonal()).min() > LEAST_REST:
        msg = "the curvature vanishes in a direction; expected a larger penalty, or other units"
        raise ArithmeticError(msg)
    step, _ = dtrtrs(factor, half)
    return -step / scale, float(half @ half)


class _Linear(OneVsRest):
    """Minimises the sum of weighted losses of the margins plus half a weighted squared norm."""

    @abstractmethod
    def _penalty(self, features: int) -> np.ndarray:
        """Return the penalty of each weight, and of the intercept in the last place."""

    def _centre(self, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Return what is to be taken from features of this mean and standard deviation."""
        return mean

    def _design(self, gaps: np.ndarray) -> np.ndarray:
        """Return the columns that are weighted, from features less their centre."""
        return np.hstack([gaps, np.ones((len(gaps), 1))])

    def _weights(self, solutions: np.ndarray) -> np.ndarray:
        """Return weights of features less their centre, the intercept last, from those of columns.

        One row for each binary problem.
        """
        return solutions

    def _fit_binary(self, X: np.ndarray, signs: list[np.ndarray], weight: np.ndarray) -> None:
        # Relative to the first row: a mean of large numbers is rounded.
        gaps = X - X[0]
        self.centre_ = self._centre(X[0] + gaps.mean(axis=0), gaps.std(axis=0))
        design = self._design(X - self.centre_)
        # In units of their own, features of 1e-3 and of 1e5 leave no digits for the optimum.
        unit = np.ldexp(1.0, np.frexp(np.abs(design).max(axis=0))[1])  # so that squares are numbers
        spread = unit * np.sqrt(np.square(design / unit).mean(axis=0))
        scale = np.where(spread > 0, spread, 1.0)
        root = np.sqrt(self._penalty(X.shape[1])) / scale
        solutions = np.array([self._minimise(design / scale, sign, weight, root) for sign in signs])
        weights = self._weights(solutions / scale)
        self.coef_, self.intercept_ = weights[:, :-1], weights[:, -1]

    def _decide(self, X: np.ndarray) -> np.ndarray:
        return weighted_sum_of_features(X - self.centre_, self.coef_.T) + self.intercept_

    @abstractmethod
    def _minimise(
        self, design: np.ndarray, sign: np.ndarray, weight: np.ndarray, root: np.ndarray
    ) -> np.ndarray:
        """Return weights of columns of one binary problem, from square roots of their penalties."""


class LREG(_Linear):
    """Logistic regression, one class against the rest.

    Minimises Σ log loss + ½ λ ‖w‖²; the intercept is free to take up any shift of the features.
    The floor λ makes the optimum unique on separable data.

    Parameters
    ----------
    ridge
        λ.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LREG(ridge=1.0).fit(X, [0, 1, 0, 1])
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.5, 0.5]])
    """

    def __init__(self, ridge: float = 1e-4) -> None:
        self.ridge = ridge

    def _check_parameters(self) -> None:
        require(self, "ridge", 1e-12)

    def _penalty(self, features: int) -> np.ndarray:
        return np.append(np.full(features, float(self.ridge)), 0.0)

    def _loss(self, margin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the loss of each margin, its derivative and its curvature."""
        power = np.exp(-np.abs(margin))
        loss = np.log1p(power) - np.minimum(margin, 0)
        wrong = np.where(margin > 0, power, 1.0) / (1 + power)
        return loss, -wrong, power / np.square(1 + power)

    def _minimise(
        self, design: np.ndarray, sign: np.ndarray, weight: np.ndarray, root: np.ndarray
    ) -> np.ndarray:
        """Return weights and intercept of one binary problem by damped Newton steps.

        Near the optimum of rows that are nearly dependent, rounding of the gradient is most of what
        is left of it: there it comes from the rows in extended precision.
        """
        signed, penalty = sign[:, None] * design, np.square(root)
        rows, solution = signed, np.zeros(design.shape[1])

        def objective_at(solution: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            loss, slope, curvature = self._loss(rows @ solution)
            value = weight @ loss + penalty @ (solution * solution) / 2
            return float(value), weight * slope, np.asarray(weight * curvature, float)

        objective, slope, curvature = objective_at(solution)
        last = np.inf
        for _ in range(MOST_STEPS):
            gradient = np.asarray(rows.T @ slope + penalty * solution, float)
            step, decrement = _newton_step(signed, curvature, penalty, gradient)
            extended = rows is not signed
            # Steps this near square what is left of the gradient, unless there are no more digits.
            exhausted = extended and last / 2 < decrement <= SAME * objective
            if decrement <= GAIN_LEFT * objective or exhausted:
                solution = solution + step
                _, slope, _ = objective_at(solution)
                gradient = np.asarray(rows.T @ slope + penalty * solution, float)
                step, _ = _newton_step(signed, curvature, penalty, gradient)
                return np.asarray(solution + step, float)
            if decrement <= NEAR * objective and not extended:
                rows, solution = signed.astype(np.longdouble), solution.astype(np.longdouble)
                objective, slope, curvature = objective_at(solution)
                last = np.inf
                continue
            last = decrement
            size = 1.0
            while True:
                candidate = solution + size * step
                value, slope, curvature = objective_at(candidate)
                near = decrement <= NEAR * objective and value <= (1 + SAME) * objective
                enough = value <= objective - SUFFICIENT_DECREASE * size * decrement
                if near or enough or size < 1e-12:
                    break
                size /= 2
            solution, objective = candidate, value
        msg = f"LREG found no optimum in {MOST_STEPS} Newton steps"
        raise ArithmeticError(msg)


class LSVC(_Linear):
    """Linear support vector classifier with squared hinge loss, one class against the rest.

    Minimises ½ ‖(w, b)‖² + C Σ max(0, 1 - margin)², as scikit-learn's `LinearSVC(dual=False)`.
    The intercept is penalised as well, so features cannot simply be centred. But where they are far
    from 0, (x, 1) can be turned so that its mean is along an axis: (w, b), turned alike, is as long
    as before, and the other columns are of the size of deviations from the mean. First x is
    mirrored, so that its own mean comes to lie along an axis; then the plane of that axis and of
    the 1 is turned.

    Parameters
    ----------
    C
        Price of a row's loss.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> LSVC().fit(X, [0, 0, 1, 1]).decision_function([[0.0], [9.0]]).round(3)
    array([-0.867,  1.167])
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def _check_parameters(self) -> None:
        require(self, "C", 1e-12)

    def _centre(self, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
        self._turns = bool((np.abs(mean) > FAR * np.where(spread > 0, spread, 1.0)).any())
        return mean if self._turns else np.zeros(len(mean))

    def _design(self, gaps: np.ndarray) -> np.ndarray:
        if not self._turns:
            return super()._design(gaps)
        unit = np.abs(self.centre_).max()
        self._size = unit * np.sqrt(np.square(self.centre_ / unit).sum())
        self._length = np.hypot(self._size, 1.0)
        towards = self.centre_ / self._size
        self._axis = int(np.abs(towards).argmax())
        self._sign = 1.0 if towards[self._axis] > 0 else -1.0
        self._mirror = towards.copy()
        self._mirror[self._axis] += self._sign
        along = gaps @ towards
        columns = self._mirrored(gaps)
        columns[:, self._axis] = self._length + along * (self._size / self._length)
        return np.column_stack([columns, -along / self._length])

    def _mirrored(self, rows: np.ndarray) -> np.ndarray:
        """Return rows mirrored so that the mean of x comes to lie along an axis, or back."""
        along = rows @ self._mirror / np.abs(self._mirror[self._axis])
        return np.asarray(rows - along[:, None] * self._mirror)

    def _weights(self, solutions: np.ndarray) -> np.ndarray:
        if not self._turns:
            return solutions
        at_mean, left = solutions[:, self._axis].copy(), solutions[:, -1]
        back = solutions[:, :-1].copy()
        back[:, self._axis] = at_mean * (self._size / self._length) - left / self._length
        back[:, self._axis] *= -self._sign
        return np.column_stack([self._mirrored(back), at_mean * self._length])

    def _minimise(
        self, design: np.ndarray, sign: np.ndarray, weight: np.ndarray, root: np.ndarray
    ) -> np.ndarray:
        return minimise(sign[:, None] * design, weight, root, self.C)

    def _penalty(self, features: int) -> np.ndarray:
        return np.ones(features + 1)
