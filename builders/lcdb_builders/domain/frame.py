"""Where features are measured from, and in which unit, so that squares stay numbers.

Doubles end at 1e308, but squares of features do so at 1e154, and at 1e-154 they begin to lose bits;
features such as N(0, 1) + 1e8 leave eight digits of their own. Models that do not depend on origin
and unit are computed in a frame instead: values less a constant, times a power of two. Both are
exact, so that whatever needs no frame keeps its bits, and ties stay ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Frame", "exponent_of", "frame_of"]

# Largest value, and smallest difference, in a frame: squares of such numbers, their sums and a
# ridge of 1e-12 times their mean are normal numbers.
LARGEST, SMALLEST = 500, -440
# Exponent of a difference where there is none; its negative, of a value where all are 0.
NONE = 5000
# A feature whose median is so many median absolute deviations from 0 is centred.
FAR = 1000.0


class Frame(NamedTuple):
    """An origin, and the powers of two that values are divided by.

    Parameters
    ----------
    origin
        (d,) taken from every row.
    exponent
        Of the power of two: one, or (d,), one for each feature.
    """

    origin: np.ndarray
    exponent: int | np.ndarray

    def place(self, X: np.ndarray) -> np.ndarray:
        """Return rows in this frame; infinite where they are out of reach.

        Examples
        --------
        >>> Frame(np.array([3.0]), 1).place(np.array([[5.0], [3.0]])).tolist()
        [[1.0], [0.0]]
        """
        shift = np.negative(self.exponent)
        with np.errstate(over="ignore", under="ignore"):
            # Values first: differences of the largest might not be numbers.
            return np.ldexp(X, shift) - np.ldexp(self.origin, shift)

    @property
    def unit(self) -> float:
        """What a variance of 1 is in a frame of one power of two, as far as squares go."""
        return 2.0 ** max(min(-2 * int(self.exponent), 900), -1074)


def frame_of(X: np.ndarray, *, by_feature: bool = False) -> Frame | None:
    """Return the frame of a dataset's rows, or None if its squares do not fit into doubles.

    Parameters
    ----------
    X
        (rows, d) features.
    by_feature
        Whether each feature may have a unit of its own.

    Examples
    --------
    >>> frame_of(np.array([[1.0], [2.0]]))
    Frame(origin=array([0.]), exponent=0)
    >>> frame_of(np.array([[1e9 + 1], [1e9 + 2], [1e9 + 4]])).origin.tolist()
    [1000000002.0]
    >>> frame_of(np.array([[1e200], [2e200]])).exponent
    166
    >>> X = np.array([[1e200, 1e-200], [2e200, 2e-200]])
    >>> frame_of(X) is None, frame_of(X, by_feature=True).exponent.tolist()
    (True, [166, -225])
    """
    origin = _origin(X)
    centred = Frame(origin, 0).place(X)
    # Rows that are all equal say nothing of how far others are from them, but what they are does.
    if by_feature:
        says = np.isfinite(centred).all(axis=0) & centred.any(axis=0)
        exponents = _exponents(*_span(np.where(says, centred, X)))
        return None if exponents is None else Frame(origin, exponents)
    finite = np.isfinite(centred).all() and centred.any()
    exponent = exponent_of(centred if finite else X)
    return None if exponent is None else Frame(origin, exponent)


def exponent_of(X: np.ndarray) -> int | None:
    """Return the exponent of the frame of rows that need no origin, or None.

    0 unless squares of their differences overflow or underflow, and where all values are 0.

    Examples
    --------
    >>> exponent_of(np.array([[1.0], [2.0]])), exponent_of(np.array([[5e-324], [0.0]]))
    (0, -634)
    """
    top, bottom = _span(X)
    exponents = _exponents(top.max(keepdims=True), bottom.min(keepdims=True))
    return None if exponents is None else int(exponents[0])


def _span(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the exponents of each feature's largest value and of its least difference."""
    largest = np.abs(X).max(axis=0)
    with np.errstate(over="ignore"):
        apart = np.diff(np.sort(X, axis=0), axis=0)
    smallest = np.min(apart, axis=0, where=apart > 0, initial=np.inf)
    top = np.where(largest > 0, np.frexp(largest)[1], -NONE)
    return top, np.where(smallest < np.inf, np.frexp(smallest)[1] - 1, NONE)


def _exponents(top: np.ndarray, bottom: np.ndarray) -> np.ndarray | None:
    """Return the exponents of units for values and differences of such exponents, or None."""
    bottom = np.where(bottom == NONE, top, bottom)
    if (top - LARGEST > bottom - SMALLEST).any():
        return None
    exponents = np.maximum(top - LARGEST, np.minimum(bottom - SMALLEST, 0))
    return np.where(top == -NONE, 0, exponents).astype(np.intc)


def _origin(X: np.ndarray) -> np.ndarray:
    """Return the medians of features that are far from 0, where taking them rounds no value."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.sort(X, axis=0)[len(X) // 2]
        apart = X - middle
        spread = np.sort(np.abs(apart), axis=0)[len(X) // 2]
        # What rounding took from the difference (Knuth's two-sum).
        taken = apart - X
        lost = (X - (apart - taken)) + (-middle - taken)
        chosen = (np.abs(middle) >= FAR * spread) & (lost == 0).all(axis=0)
    return np.where(chosen, middle, 0.0)
