"""GSVC: C-SVC with a Gaussian kernel at the exact optimum of its dual.

libsvm keeps the kernel in single precision, which moves decision values by 1e-4 at C = 100 and by
more beyond. This solver works in double precision throughout: pair steps as libsvm takes them (the
most violating row, and the partner with the largest gain), and every so often Newton steps on all
coefficients that are not at a bound. Near the optimum one Newton step is enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lcdb_builders.reference.base import require
from lcdb_builders.reference.machine import dataset_gamma, kkt_tolerance
from lcdb_builders.reference.neighbours import squared_distances
from lcdb_builders.reference.onevsrest import OneVsRest

__all__ = ["GSVC", "dataset_gamma", "kkt_tolerance"]

MOST_STEPS = 1_000_000
# Added to the diagonal of the kernel of free rows, which is singular where rows are copies.
JITTER = 1e-13
SMALLEST_CURVATURE = 1e-12
# A coefficient this close to a bound, as a share of what is between the bounds, is at it: whether
# it is decides how far the intercept may be from its row's error.
SNAP = 1e-11


class _Dual:
    """One binary problem in β = sign · α; `error` is sign minus the decision without intercept.

    At the optimum every error of a row whose β may still rise is at most the intercept, and every
    error of a row whose β may still fall at least the intercept.
    """

    def __init__(self, kernel: np.ndarray, sign: np.ndarray, bound: np.ndarray) -> None:
        self.kernel, self.sign = kernel, sign
        self.diagonal = kernel.diagonal()
        self.low = np.where(sign > 0, 0.0, -bound)
        self.high = np.where(sign > 0, bound, 0.0)
        self.beta = np.zeros(len(sign))
        self.error = sign.copy()

    def solve(self, tolerance: float) -> tuple[np.ndarray, float]:
        """Return β and the intercept, the midpoint of what optimality allows."""
        period = max(10, len(self.beta) // 30)
        ended = False
        for count in range(1, MOST_STEPS):
            rising = np.where(self.beta < self.high, self.error, -np.inf)
            falling = np.where(self.beta > self.low, self.error, np.inf)
            top, bottom = rising.max(), falling.min()
            if top - bottom <= tolerance:
                if ended:
                    return self.beta, float(top + bottom) / 2
                ended = True  # but for the last digits of free rows, which are to tie
                self._newton_steps()
                continue
            self._pair_step(int(rising.argmax()), top - falling)
            if count % period == 0:
                self._newton_steps()
        msg = f"GSVC found no optimum in {MOST_STEPS} steps"
        raise ArithmeticError(msg)

    def _pair_step(self, i: int, violation: np.ndarray) -> None:
        """Raise β_i and lower the β_j that gains most, as far as their bounds allow."""
        curvature = self.diagonal[i] + self.diagonal - 2 * self.kernel[i]
        curvature = np.maximum(curvature, SMALLEST_CURVATURE)
        violation = np.maximum(violation, 0)  # -inf: cannot fall
        j = int((violation * violation / curvature).argmax())
        room_i, room_j = self.high[i] - self.beta[i], self.beta[j] - self.low[j]
        step = min(violation[j] / curvature[j], room_i, room_j)
        self.beta[i] = self._snapped(i, self.beta[i] + step)
        self.beta[j] = self._snapped(j, self.beta[j] - step)
        self.error -= step * (self.kernel[i] - self.kernel[j])

    def _snapped(self, rows: Any, beta: Any) -> Any:
        """Return coefficients of some rows, at the bounds that they differ from by rounding."""
        low, high = self.low[rows], self.high[rows]
        near = SNAP * (high - low)
        return np.where(high - beta <= near, high, np.where(beta - low <= near, low, beta))

    def _newton_steps(self) -> None:
        """Go to the optimum over the free coefficients, holding those that reach a bound."""
        free = np.flatnonzero((self.beta > self.low) & (self.beta < self.high))
        error = self.error.copy()
        while len(free) > 1:
            step = self._free_step(free, error[free])
            end = np.where(step > 0, self.high[free], self.low[free])
            moving = step != 0
            share = np.full(len(free), np.inf)
            share[moving] = (end - self.beta[free])[moving] / step[moving]
            first = int(share.argmin())
            part = min(1.0, float(share[first]))
            old = self.beta[free]
            new = self._snapped(free, old + part * step)
            if part < 1:
                new[first] = end[first]
            self.beta[free] = new
            error -= self.kernel[:, free] @ (new - old)
            if part == 1:
                break
            free = free[(new > self.low[free]) & (new < self.high[free])]
        self.error = self.sign - self.kernel @ self.beta

    def _free_step(self, free: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return the step that makes all errors of free rows equal and keeps the sum of β."""
        size = len(free)
        system = np.ones((size + 1, size + 1))
        system[:size, :size] = self.kernel[np.ix_(free, free)]
        system[np.arange(size), np.arange(size)] += JITTER
        system[size, size] = 0
        step = np.linalg.solve(system, np.append(error, 0.0))[:size]
        return step - step.mean()


class GSVC(OneVsRest):
    """Support vector classifier with kernel exp(-gamma ‖x - z‖²), one class against the rest.

    Parameters
    ----------
    C
        Price of a row's hinge loss.
    gamma
        Width of the kernel; None takes it from the training rows. The database has one constant
        per dataset: `dataset_gamma` of all rows.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> GSVC(C=10.0).fit(X, [0, 1, 1, 0]).predict(X)
    array([0, 1, 1, 0])
    """

    def __init__(self, C: float = 1.0, gamma: float | None = None) -> None:
        self.C = C
        self.gamma = gamma

    def _check_parameters(self) -> None:
        require(self, "C", 1e-12)
        if self.gamma is not None:
            require(self, "gamma", 0.0)

    def _fit_binary(self, X: np.ndarray, signs: list[np.ndarray], weight: np.ndarray) -> None:
        self.gamma_ = dataset_gamma(X, weight) if self.gamma is None else float(self.gamma)
        kernel = np.exp(-self.gamma_ * squared_distances(X, X))
        tolerance = kkt_tolerance(self.C)
        solutions = [_Dual(kernel, sign, self.C * weight).solve(tolerance) for sign in signs]
        beta = np.array([solution for solution, _ in solutions])
        support = beta.any(axis=0)
        self.support_vectors_ = X[support]
        self.dual_coef_ = beta[:, support]
        self.intercept_ = np.array([intercept for _, intercept in solutions])

    def _decide(self, X: np.ndarray) -> np.ndarray:
        kernel = np.exp(-self.gamma_ * squared_distances(X, self.support_vectors_))
        return np.stack([(kernel * beta).sum(axis=1) for beta in self.dual_coef_], axis=1) + (
            self.intercept_
        )
