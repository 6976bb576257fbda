"""The same linear model in better coordinates: features centred and scaled by dataset constants.

Features in units of their own (1e-3 here, 1e5 there, years around 2000) make Hessians that double
precision cannot factor. Scores are ``w'x + b = (s w)'((x - m) / s) + (b + w'm)``, so the model that
a penalty on ``(w, b)`` defines is the one that another penalty defines in scaled coordinates. All
rows of the dataset set the constants; they change the arithmetic, not the model.

A penalty on the intercept ties it to the weights of features that are far from 0, by numbers that
double precision cannot add up where features are timestamps or ids. There ``(x, 1)`` is rotated, so
that its mean has one coordinate alone: rotations leave ``|(w, b)|`` what it is, and the rotated
features are as small as their spread.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "as_they_are",
    "far",
    "hinge_root",
    "logistic_root",
    "penalty_of",
    "rotated",
    "scaled",
    "turned",
]

# From so many standard deviations on, features are far from 0.
FAR = 1e3
# A share of features that is rounding.
ALIGNED = 1e-13
# Root of the penalty that pins an intercept at 0, beside features of which one stands for it.
PINNED = 1e15


def _exponents(X: np.ndarray) -> np.ndarray:
    """Return by feature the power of two that its largest value is below."""
    return np.frexp(np.abs(X).max(axis=0))[1]


def scaled(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of mean 0 and standard deviation 1, and the constants that made them.

    Constant features become exactly 0. Values are first brought near 1 by powers of two, which
    changes no digit, so that no square is too large or too small.

    Examples
    --------
    >>> Z, mean, scale = scaled(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> Z.tolist(), mean.tolist(), scale.tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [2.0, 7.0], [1.0, 1.0])
    >>> scaled(np.array([[1e300], [3e300]]))[0].tolist()
    [[-1.0], [1.0]]
    """
    power = _exponents(X)
    # Relative to the first row: a mean of large equal numbers need not equal them.
    first = np.ldexp(X[0], -power)
    shifted = np.ldexp(X, -power) - first
    spread = _exponents(shifted)
    shifted = np.ldexp(shifted, -spread)
    offset = shifted.mean(axis=0)
    scale = shifted.std(axis=0)
    constant = np.ptp(X, axis=0) == 0
    scale[constant | (scale == 0)] = 1.0
    offset[constant] = 0.0
    Z = np.ascontiguousarray((shifted - offset) / scale)
    mean = np.ldexp(first + np.ldexp(offset, spread), power)
    return Z, mean, np.where(constant, 1.0, np.ldexp(scale, spread + power))


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


def as_they_are(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(x, 1)``, columns divided by powers of two, as features, and the penalty's root.

    No digit changes. The intercept is one of the features; that of the solver is pinned at 0.

    Examples
    --------
    >>> features, root = as_they_are(np.array([[3e8], [1e8]]))
    >>> features.round(3).tolist()
    [[0.559, 1.0], [0.186, 1.0]]
    >>> (1 / root.diagonal()).tolist()
    [536870912.0, 1.0, 1e-15]
    """
    power = _exponents(X)
    features = np.hstack([np.ldexp(X, -power), np.ones((len(X), 1))])
    root = np.diag(np.concatenate([np.ldexp(1.0, -power), [1.0, PINNED]]))
    return np.ascontiguousarray(features), root


def far(mean: np.ndarray, scale: np.ndarray) -> bool:
    """Return whether a feature that varies is far from 0, in its standard deviations.

    Examples
    --------
    >>> far(np.array([1e8, 0.0]), np.array([1.0, 1.0])), far(np.array([5.0]), np.array([2.0]))
    (True, False)
    """
    return bool((np.abs(mean) > FAR * scale).any())


def rotated(Z: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(x, 1)``, rotated and scaled, as features, and the root of the penalty on them.

    The rotation is the reflection that takes the mean of ``(x, 1)`` to the last axis. There the
    features are their mean plus what is rotated of ``(x - m, 0)``; in the others, that alone.

    Examples
    --------
    >>> X = np.array([[1e8 - 1.0], [1e8 + 1.0]])
    >>> features, root = rotated(*scaled(X))
    >>> features.round(3).tolist()
    [[-1.0, 1.0], [1.0, 1.0]]
    >>> bool(abs(root[0, 0] * 1e-8 - 1) < 1e-6), bool(abs(root[1, 1] * 1e8 - 1) < 1e-6)
    (True, True)
    """
    unit = max(1.0, float(np.abs(mean).max()))
    length = unit * float(np.sqrt(np.square(mean / unit).sum() + (1 / unit) ** 2))
    towards = np.append(mean / length, 1 / length)  # the mean of (x, 1), of length 1
    mirror = towards.copy()
    mirror[-1] += 1.0  # 1 / length is positive: nothing cancels
    centred = np.hstack([Z * (scale / unit), np.zeros((len(Z), 1))])  # in units that squares allow
    mirrored = centred - np.outer(centred @ (mirror / (1 + towards[-1])), mirror)
    # What is left of columns along the mean is rounding, or as little to weigh as the 1.
    whole = np.abs(centred).max(axis=0) + np.abs(mirrored[:, -1:] * mirror).max(axis=0)
    mirrored[:, :-1][:, (np.abs(mirrored).max(axis=0) <= ALIGNED * whole)[:-1]] = 0.0
    sizes = np.append(_sizes(mirrored[:, :-1]) * unit, length)
    features = np.hstack(
        [mirrored[:, :-1] * unit / sizes[:-1], 1.0 - mirrored[:, -1:] * (unit / length)]
    )
    root = np.diag(np.append(1 / sizes, PINNED))
    return np.ascontiguousarray(features), root


def turned(X: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what `rotated` does, by two rotations that keep all digits of small features.

    The first takes the mean of x, where it is largest, to an axis; the other takes the mean of
    (x, 1) there, in the plane of both axes. Columns with nothing of the mean are as exact as their
    features, and the second axis has what is left of the 1.

    Examples
    --------
    >>> X = np.array([[1e12 - 1e4, 3.0], [1e12 + 1e4, 5.0]])
    >>> features, root = turned(X, X.mean(axis=0))
    >>> features.round(3).tolist()
    [[1.0, -1.0, 1.0], [1.0, 1.0, -1.0]]
    >>> [f"{size:.3g}" for size in 1 / root.diagonal()]
    ['1e+12', '1', '1e-08', '1e-15']
    """
    unit = float(np.abs(mean).max())
    norm = float(np.sqrt(np.square(mean / unit).sum()))
    towards = mean / unit / norm
    k = int(np.abs(towards).argmax())
    sign = 1.0 if towards[k] > 0 else -1.0
    mirror = towards.copy()
    mirror[k] += sign
    centred = (X - mean) / unit  # exact where features are far from 0
    along = centred @ towards
    columns = centred - np.outer(centred @ mirror / (1 + abs(towards[k])), mirror)
    length = float(np.hypot(unit * norm, 1.0))
    columns[:, k] = 1 + along * (unit / length) * (unit * norm / length)
    left = np.where(along == 0, 0.0, -along)
    others = np.arange(X.shape[1]) != k
    sizes = np.append(_sizes(columns), _sizes(left[:, None]))
    features = np.column_stack([columns, left]) / np.where(np.append(others, True), sizes, 1.0)
    sizes[:-1][others] *= unit
    sizes[k] = length
    sizes[-1] *= unit / length
    return np.ascontiguousarray(features), np.diag(np.append(1 / sizes, PINNED))


def _sizes(columns: np.ndarray) -> np.ndarray:
    """Return the root mean square of columns, 1 for those of zeros."""
    power = _exponents(columns)
    sizes = np.sqrt(np.square(np.ldexp(columns, -power)).mean(axis=0))
    return np.where(sizes > 0, np.ldexp(sizes, power), 1.0)


def penalty_of(root: np.ndarray) -> np.ndarray:
    """Return the penalty matrix P = R'R.

    Examples
    --------
    >>> penalty_of(np.array([[0.5, 0.0], [-2.0, 1.0]])).tolist()
    [[4.25, -2.0], [-2.0, 1.0]]
    """
    return np.ascontiguousarray(np.einsum("ki,kj->ij", root, root))
