"""The two numbers that define a support vector machine's problem and when it is solved.

Apart from the estimator, since the kernel needs them and nothing else of scikit-learn's.
"""

from __future__ import annotations

import numpy as np

__all__ = ["check_kernel", "dataset_gamma", "kkt_tolerance"]

# Of gamma: squared distances of rows must be numbers of full precision.
_SMALLEST, _LARGEST = 1e-303, 1e303
# Below, the kernel has fewer than six digits of what tells rows apart.
_LEAST_SPREAD = 1e-10


def dataset_gamma(X: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return 1 / (d · variance of all entries of X), or 1 if they are all equal.

    Raises
    ------
    ArithmeticError
        Double precision cannot express it.

    Examples
    --------
    >>> dataset_gamma(np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    power = int(np.frexp(np.abs(X).max())[1])
    # In units that squares allow, and relative to an entry: large numbers' mean is rounded.
    gaps = np.ldexp(X, -power) - np.ldexp(X[0, 0], -power)
    mean = np.average(gaps.mean(axis=1), weights=weight)
    variance = float(np.average(np.square(gaps - mean).mean(axis=1), weights=weight))
    if variance == 0:
        return 1.0
    with np.errstate(over="ignore", under="ignore"):
        gamma = float(np.ldexp(1 / (X.shape[1] * variance), -2 * power))
    if not _SMALLEST <= gamma <= _LARGEST:
        size = np.ldexp(np.sqrt(variance), power)
        msg = (
            f"the standard deviation of all entries is {size:.3g}, whose square double precision "
            "cannot express; expected 1e-151 to 1e151: give the features another unit"
        )
        raise ArithmeticError(msg)
    return gamma


def check_kernel(X: np.ndarray, gamma: float) -> None:
    """Raise ArithmeticError if the kernel of different rows differs from 1 by rounding.

    Examples
    --------
    >>> check_kernel(np.array([[0.0, 1e9], [1.0, 1e9]]), 0.5)
    >>> try:
    ...     check_kernel(np.array([[0.0, 1e9], [1.0, 1e9]]), 1e-18)
    ... except ArithmeticError as error:
    ...     print(str(error)[:63])
    gamma is 1e-18, so that no two rows have a kernel below 1 - 1e-
    """
    spread = gamma * float(np.square(np.ptp(X, axis=0)).sum())
    if 0 < spread < _LEAST_SPREAD:
        msg = (
            f"gamma is {gamma:.3g}, so that no two rows have a kernel below 1 - {spread:.1g}, "
            f"which rounding hides; expected one below 1 - {_LEAST_SPREAD:g}: gamma is set by the "
            "variance of all entries, and features that are far apart leave none for their rows; "
            "take their means from them, or scale them"
        )
        raise ArithmeticError(msg)


def kkt_tolerance(C: float) -> float:
    """Return the largest violation of the optimality conditions that is left.

    On kc2, whose rows are nearly all alike to the kernel, a violation of 1e-7 leaves decision
    values 1e-5 from those at the optimum.
    """
    return max(1e-14, 1e-9 * min(1.0, C))
