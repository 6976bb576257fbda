"""ADAB in plain NumPy: SAMME with Gini stumps, in arithmetic that has no order.

Row weights are integers and so are the votes of stumps, in fixed point: their sums are exact in
whatever order a kernel takes them. What is left of floating point is done once per stump, one
operation at a time.

Gains that differ by less than their rounding errors count as equal, and so do leaf weights; among
equal thresholds of a feature the lowest wins, among equal features the first in an order drawn from
the cell's stream, among equal classes of a leaf the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lcdb_builders.reference.base import require
from lcdb_builders.reference.randomness import CellStream, feature_order
from lcdb_builders.reference.trees import RandomisedClassifier, midpoint

__all__ = ["ADAB", "Stump", "exp_boost"]

# Weights sum to at most 2**START at first, and to at most 2**TOTAL at the start of any round.
START, TOTAL, SHIFT = 48, 52, 4
# A vote of 1 is 2**VOTE.
VOTE = 40
RELATIVE = 1e-9
ABSOLUTE = 1e-15
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14, -1, -1))


def exp_boost(x: np.ndarray) -> np.ndarray:
    """Return exp(x) for x in [-2, 0] in products and sums alone, so that every machine agrees.

    Examples
    --------
    >>> x = np.linspace(-2, 0, 101)
    >>> bool(np.allclose(exp_boost(x), np.exp(x), rtol=2e-15, atol=0)), float(exp_boost(0.0))
    (True, 1.0)
    """
    quarter = np.asarray(x) * 0.25
    result = np.zeros_like(quarter)
    for coefficient in TAYLOR:
        result = result * quarter + coefficient
    result = result * result
    return result * result


@dataclass(frozen=True)
class Stump:
    """A split and the classes on both sides; without a feature, all rows go left."""

    feature: int
    threshold: float
    left: int
    right: int

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class code of each row."""
        if self.feature < 0:
            return np.full(len(X), self.left)
        return np.where(X[:, self.feature] <= self.threshold, self.left, self.right)


class Sorted:
    """A feature of the training set in ascending order."""

    def __init__(self, values: np.ndarray, y: np.ndarray, classes: int) -> None:
        self.order = np.argsort(values, kind="stable")
        self.values = values[self.order]
        self.ends = np.flatnonzero(self.values[:-1] < self.values[1:])
        self.of_class = np.eye(classes, dtype=np.int64)[y[self.order]]

    def left(self, weights: np.ndarray) -> np.ndarray:
        """Return class weights left of each split, (splits, classes)."""
        running = (self.of_class * weights[self.order, None]).cumsum(axis=0)
        return running[self.ends]

    def threshold(self, split: int) -> float:
        """Return the threshold of a split."""
        end = self.ends[split]
        return midpoint(float(self.values[end]), float(self.values[end + 1]))


def gains(left: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the Gini gain of each split, for class weights `left` of it.

    With shares p_c left of the split and t_c in all: sum of (p_c - t_c l)^2 / (l (1 - l)), in this
    order of operations.
    """
    weight = int(total.sum())
    one = 1.0 / weight
    each_left = left.sum(axis=1)
    l, r = each_left * one, (weight - each_left) * one
    squares = np.zeros(len(left))
    for c, whole in enumerate(total):
        difference = left[:, c] * one - (whole * one) * l
        squares += difference * difference
    return squares / (l * r)


def majority(weights: np.ndarray) -> int:
    """Return the first class whose weight equals the largest."""
    return int(np.flatnonzero(weights >= weights.max() * (1 - RELATIVE))[0])


class ADAB(RandomisedClassifier):
    """AdaBoost (SAMME) of stumps.

    Parameters
    ----------
    stumps
        Largest number of stumps.
    stream
        Key, n and repetition of the cell's random stream; stump t breaks ties with word t.
    random_state
        Stands in for `stream` where there is none.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 1, 0])
    >>> ADAB(stumps=3, random_state=0).fit(X, y).predict(X).tolist()
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        stumps: int = 100,
        stream: CellStream | tuple | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.stumps = stumps
        self.stream = stream
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require(self, "stumps", 1, integer=True)

    def _fit_rows(self, X: np.ndarray, codes: np.ndarray, cell: CellStream) -> None:
        classes = len(self.classes_)
        self.stumps_: list[Stump] = []
        self.votes_: list[int] = []
        self.prior_ = np.bincount(codes, minlength=classes) / len(codes)
        features = [Sorted(column, codes, classes) for column in X.T]
        words = cell.words(self.stumps)
        weights = np.full(len(codes), 1 << max(START - len(codes).bit_length(), 0), np.int64)
        for word in words:
            total = np.bincount(codes, weights, minlength=classes).astype(np.int64)
            stump, error = self._stump(features, weights, total, word)
            whole = int(total.sum())
            if error == 0:
                self._keep(stump, 1.0)
                return
            if error >= whole * (1 - 1 / classes) * (1 - RELATIVE):
                return
            odds = (whole - error) / error
            self._keep(stump, math.log(odds) + math.log(classes - 1))
            missed = stump.predict(X) != codes
            weights[missed] = np.rint(weights[missed] * (odds * (classes - 1))).astype(np.int64)
            while int(weights.sum()) > 2**TOTAL:
                weights = (weights + (2**SHIFT - 1)) >> SHIFT

    def _keep(self, stump: Stump, vote: float) -> None:
        self.stumps_.append(stump)
        self.votes_.append(round(vote * 2**VOTE))

    def _stump(
        self, features: list[Sorted], weights: np.ndarray, total: np.ndarray, word: int
    ) -> tuple[Stump, int]:
        """Return the best stump and the weight of the rows that it gets wrong."""
        left = [feature.left(weights) for feature in features]
        gain = [gains(each, total) for each in left]
        best = max((each.max() for each in gain if len(each)), default=None)
        if best is None:
            label = majority(total)
            return Stump(-1, 0.0, label, label), int(total.sum() - total[label])
        equal = best * (1 - RELATIVE) - ABSOLUTE
        for f in feature_order(word, len(features)):
            splits = np.flatnonzero(gain[f] >= equal)
            if len(splits):
                break
        below = left[f][splits[0]]
        above = total - below
        stump = Stump(f, features[f].threshold(splits[0]), majority(below), majority(above))
        return stump, int(total.sum() - below[stump.left] - above[stump.right])

    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        if not self.stumps_:
            return np.tile(self.prior_, (len(X), 1))
        classes = len(self.classes_)
        votes = np.zeros((len(X), classes), np.int64)
        for stump, vote in zip(self.stumps_, self.votes_, strict=True):
            votes[np.arange(len(X)), stump.predict(X)] += vote
        behind = (votes.max(axis=1, keepdims=True) - votes).astype(np.float64)
        scale = float(sum(self.votes_)) * float((classes - 1) ** 2)
        powers = exp_boost(-((behind * classes) / scale))
        total = powers[:, 0].copy()
        for c in range(1, classes):
            total += powers[:, c]
        return powers / total[:, None]
