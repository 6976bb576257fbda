"""DT and RFOR in plain NumPy, every decision exact: what the kernels must equal bit for bit.

A split maximises the Gini gain, that is the sum over both sides of (sum of squared class counts) /
(number of rows). Gains are fractions of integers and are compared as such, so "equal gain" means
equal. Among equal thresholds of a feature the lowest wins, among equal features the one that the
node visits first, in an order drawn from the cell's stream.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from lcdb_builders.reference.base import ReferenceClassifier, require
from lcdb_builders.reference.randomness import (
    LEFT,
    RIGHT,
    CellStream,
    bootstrap_counts,
    descend,
    feature_order,
    features_at_node,
)

__all__ = ["DT", "RFOR", "RandomisedClassifier", "midpoint"]

# A float gain is within this of the exact one; only candidates so near the best are compared
# as fractions.
NEAR = 1e-9


def midpoint(low: float, high: float) -> float:
    """Return the threshold between two neighbouring values: at least `low`, less than `high`.

    Examples
    --------
    >>> midpoint(1.0, 2.0), midpoint(5.0, 5.000000000000001)
    (1.5, 5.0)
    """
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


@dataclass(frozen=True)
class Split:
    """A split of one feature, its gain as an exact fraction."""

    feature: int
    threshold: float
    numerator: int
    denominator: int

    def better_than(self, other: Split | None) -> bool:
        """Whether the gain is strictly larger."""
        if other is None:
            return True
        return self.numerator * other.denominator > other.numerator * self.denominator


def best_split(values: np.ndarray, y: np.ndarray, classes: int, leaf: int) -> tuple | None:
    """Return threshold, numerator and denominator of a feature's best split, or None.

    Parameters
    ----------
    values, y
        The feature and the class codes of a node's rows.
    classes
        Number of classes.
    leaf
        Fewest rows on a side.
    """
    order = np.argsort(values, kind="stable")
    v, n = values[order], len(values)
    ends = np.flatnonzero(v[:-1] < v[1:])
    ends = ends[(ends + 1 >= leaf) & (n - ends - 1 >= leaf)]
    if not len(ends):
        return None
    left = np.eye(classes, dtype=np.int64)[y[order]].cumsum(axis=0)
    right = left[-1] - left
    rows_left = ends + 1
    rows_right = n - rows_left
    squares_left = (left[ends] ** 2).sum(axis=1)
    squares_right = (right[ends] ** 2).sum(axis=1)
    numerator = squares_left * rows_right + squares_right * rows_left
    denominator = rows_left * rows_right
    gain = numerator / denominator
    best = None
    for i in np.flatnonzero(gain >= gain.max() * (1 - NEAR)):
        up, down = int(numerator[i]), int(denominator[i])
        if best is None or up * best[2] > best[1] * down:
            best = (midpoint(float(v[ends[i]]), float(v[ends[i] + 1])), up, down)
    return best


@dataclass
class Tree:
    """A grown tree; node 0 is the root, a leaf has feature -1."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)
    shares: list[np.ndarray] = field(default_factory=list)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class shares of each row's leaf."""
        result = np.empty((len(X), len(self.shares[0])))
        waiting = [(0, np.arange(len(X)))]
        while waiting:
            node, rows = waiting.pop()
            if self.feature[node] < 0:
                result[rows] = self.shares[node]
                continue
            goes_left = X[rows, self.feature[node]] <= self.threshold[node]
            left, right = self.children[node]
            waiting += [(left, rows[goes_left]), (right, rows[~goes_left])]
        return result


@dataclass(frozen=True)
class Grower:
    """Grows a tree on rows of X (one row per copy)."""

    X: np.ndarray
    y: np.ndarray
    classes: int
    leaf: int
    visits: int

    def choose(self, rows: np.ndarray, word: int) -> Split | None:
        """Return the split of a node; None makes it a leaf.

        At least `visits` features are looked at, and on until one is not constant.
        """
        best: Split | None = None
        visited = varying = 0
        for feature in feature_order(word, self.X.shape[1]):
            if visited >= self.visits and varying:
                break
            visited += 1
            values = self.X[rows, feature]
            if values.min() == values.max():
                continue
            varying += 1
            place = best_split(values, self.y[rows], self.classes, self.leaf)
            if place is not None:
                split = Split(feature, *place)
                best = split if split.better_than(best) else best
        return best

    def grow(self, word: int) -> Tree:
        """Return the tree whose root takes this word."""
        tree = Tree()
        self._node(tree, np.arange(len(self.y)), word)
        return tree

    def _node(self, tree: Tree, rows: np.ndarray, word: int) -> int:
        counts = np.bincount(self.y[rows], minlength=self.classes)
        node = len(tree.feature)
        tree.feature.append(-1)
        tree.threshold.append(0.0)
        tree.children.append((-1, -1))
        tree.shares.append(counts / len(rows))
        if counts.max() == len(rows) or len(rows) < 2 * self.leaf:
            return node
        split = self.choose(rows, word)
        if split is None:
            return node
        goes_left = self.X[rows, split.feature] <= split.threshold
        tree.feature[node], tree.threshold[node] = split.feature, split.threshold
        left = self._node(tree, rows[goes_left], descend(word, LEFT))
        right = self._node(tree, rows[~goes_left], descend(word, RIGHT))
        tree.children[node] = (left, right)
        return node


class RandomisedClassifier(ReferenceClassifier):
    """A classifier of repeated rows that draws from the cell's random stream."""

    stream: CellStream | tuple | None
    random_state: int | np.random.RandomState | None

    def _fit(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        counts = weight.astype(np.int64)
        if (counts != weight).any():
            name = type(self).__name__
            msg = f"{name}: sample_weight counts copies of rows; expected integers"
            raise ValueError(msg)
        # Equal rows are exchangeable, so in this order the model is a function of the multiset of
        # rows: whatever order they come in, repeated or weighted.
        order = np.lexsort((codes, *X.T[::-1]))
        order = np.repeat(order, counts[order])
        given = self.stream
        cell = CellStream.fallback(self.random_state) if given is None else CellStream(*given)
        self._fit_rows(X[order], codes[order], cell)

    @abstractmethod
    def _fit_rows(self, X: np.ndarray, codes: np.ndarray, cell: CellStream) -> None:
        """Fit to rows in ascending order, one per copy."""


class DT(RandomisedClassifier):
    """CART with Gini gain.

    Parameters
    ----------
    min_samples_leaf
        Fewest rows in a leaf, copies counted.
    stream
        Key, n and repetition of the cell's random stream; ties are broken with it.
    random_state
        Stands in for `stream` where there is none.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array(["a", "a", "b", "a"])
    >>> DT(min_samples_leaf=2, random_state=0).fit(X, y).predict_proba([[2.9], [3.1]])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    def __init__(
        self,
        min_samples_leaf: int = 10,
        stream: CellStream | tuple | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.stream = stream
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require(self, "min_samples_leaf", 1, integer=True)

    def _fit_rows(self, X: np.ndarray, codes: np.ndarray, cell: CellStream) -> None:
        grower = Grower(X, codes, len(self.classes_), self.min_samples_leaf, X.shape[1])
        self.tree_ = grower.grow(cell.words(1)[0])

    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.tree_.predict(X)


class RFOR(RandomisedClassifier):
    """Random forest: trees on bootstrap draws, each node looking at some features only.

    Parameters
    ----------
    trees
        Number of trees.
    min_samples_leaf
        Fewest rows in a leaf, copies counted.
    features
        Features that a node visits; 0 means floor(sqrt(d)).
    stream
        Key, n and repetition of the cell's random stream; tree t draws from its lane t.
    random_state
        Stands in for `stream` where there is none.

    Examples
    --------
    >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    >>> forest = RFOR(trees=4, random_state=1).fit(X, y)
    >>> forest.predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(
        self,
        trees: int = 20,
        min_samples_leaf: int = 1,
        features: int = 0,
        stream: CellStream | tuple | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.trees = trees
        self.min_samples_leaf = min_samples_leaf
        self.features = features
        self.stream = stream
        self.random_state = random_state

    def _check_parameters(self) -> None:
        require(self, "trees", 1, integer=True)
        require(self, "min_samples_leaf", 1, integer=True)
        require(self, "features", 0, integer=True)

    def _fit_rows(self, X: np.ndarray, codes: np.ndarray, cell: CellStream) -> None:
        n, d = X.shape
        visits = features_at_node(self.features, d)
        self.trees_ = []
        for lane in range(self.trees):
            root, *draws = cell.words(1 + (n + 1) // 2, lane)
            rows = np.repeat(np.arange(n), bootstrap_counts(draws, n))
            grower = Grower(X[rows], codes[rows], len(self.classes_), self.min_samples_leaf, visits)
            self.trees_.append(grower.grow(root))

    def _predict_proba(self, X: np.ndarray) -> np.ndarray:
        total = np.zeros((len(X), len(self.classes_)))
        for tree in self.trees_:
            total += tree.predict(X)
        return total / len(self.trees_)
