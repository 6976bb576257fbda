"""The two numbers that define a support vector machine's problem and when it is solved.

Apart from the estimator, since the kernel needs them and nothing else of scikit-learn's.
"""

from __future__ import annotations

import numpy as np

__all__ = ["dataset_gamma", "kkt_tolerance"]


def dataset_gamma(X: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return 1 / (d · variance of all entries of X), or 1 if they are all equal.

    Examples
    --------
    >>> dataset_gamma(np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    mean = np.average(X.mean(axis=1), weights=weight)
    variance = float(np.average(np.square(X - mean).mean(axis=1), weights=weight))
    return 1 / (X.shape[1] * variance) if variance > 0 else 1.0


def kkt_tolerance(C: float) -> float:
    """Return the largest violation of the optimality conditions that is left.

    On kc2, whose rows are nearly all alike to the kernel, a violation of 1e-7 leaves decision
    values 1e-5 from those at the optimum.
    """
    return max(1e-14, 1e-9 * min(1.0, C))
