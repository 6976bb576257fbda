"""The same linear model in better coordinates: features centred and scaled by dataset constants.

Features in units of their own (1e-3 here, 1e5 there, years around 2000) make Hessians that double
precision cannot factor. Scores are ``w'x + b = (s w)'((x - m) / s) + (b + w'm)``, so the model that
a penalty on ``(w, b)`` defines is the one that another penalty defines in scaled coordinates. All
rows of the dataset set the constants; they change the arithmetic, not the model.
"""

from __future__ import annotations

import numpy as np

__all__ = ["hinge_root", "logistic_root", "penalty_of", "scaled"]


def scaled(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of mean 0 and standard deviation 1, and the constants that made them.

    Constant features become exactly 0.

    Examples
    --------
    >>> Z, mean, scale = scaled(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> Z.tolist(), mean.tolist(), scale.tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [2.0, 7.0], [1.0, 1.0])
    """
    # Relative to the first row: a mean of large equal numbers need not equal them.
    gap = X - X[0]
    offset = gap.mean(axis=0)
    scale = gap.std(axis=0)
    constant = np.ptp(X, axis=0) == 0
    scale[constant | (scale == 0)] = 1.0
    offset[constant] = 0.0
    return np.ascontiguousarray((gap - offset) / scale), X[0] + offset, scale


def logistic_root(scale: np.ndarray, ridge: float) -> np.ndarray:
    """Return the square root R of ``ridge * |w|²``, which is ``|R theta|²``: the intercept is free.

    Examples
    --------
    >>> logistic_root(np.array([2.0]), 4.0).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return np.diag(np.append(np.sqrt(ridge) / scale, 0.0))


def hinge_root(mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the square root R of ``|w|² + b²``, where b is the intercept of unscaled features.

    Examples
    --------
    >>> hinge_root(np.array([4.0]), np.array([2.0])).tolist()
    [[0.5, 0.0], [-2.0, 1.0]]
    """
    root = np.diag(np.append(1 / scale, 1.0))
    root[-1, :-1] = -mean / scale
    return root


def penalty_of(root: np.ndarray) -> np.ndarray:
    """Return the penalty matrix P = R'R.

    Examples
    --------
    >>> penalty_of(np.array([[0.5, 0.0], [-2.0, 1.0]])).tolist()
    [[4.25, -2.0], [-2.0, 1.0]]
    """
    return np.ascontiguousarray(np.einsum("ki,kj->ij", root, root))
