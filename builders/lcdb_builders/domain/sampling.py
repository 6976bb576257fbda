"""The rows of a cell: a pure function of seed, dataset, sampling, split, n and repetition.

`fixed` and `pool` train on the same rows. A training set comes in drawn order (ties between
neighbours go to the row drawn first), a test set in file order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lcdb.schema import SAMPLINGS, SPLITS
from lcdb_builders.domain.streams import StreamKey, stream_key
from lcdb_builders.kernels.core.rng import bootstrap_into, permute_head

__all__ = ["Draws", "class_counts", "largest_size"]


def largest_size(rows: int) -> int:
    """Return m, the largest training size and the number of rows in the pool: floor(0.7 N).

    Examples
    --------
    >>> largest_size(150), largest_size(10)
    (105, 7)
    """
    return rows * 7 // 10


@dataclass(frozen=True)
class Draws:
    """All training and test sets of one dataset, sampling and split.

    Parameters
    ----------
    rows
        N, the number of rows of the snapshot.
    dataset_sha256
        The snapshot's digest.
    seed
        The plan's master seed.
    sampling
        One of `lcdb.schema.SAMPLINGS`.
    split
        One of `lcdb.schema.SPLITS`.
    y
        (N,) classes of the rows, which ``"stratified"`` needs.

    Examples
    --------
    >>> draws = Draws(rows=150, dataset_sha256="ab", seed=1, sampling="random", split="varying")
    >>> train, test = draws.train(20, 0), draws.test(20, 0)
    >>> len(train), len(test), set(train) & set(test)
    (20, 130, set())
    """

    rows: int
    dataset_sha256: str
    seed: int
    sampling: str
    split: str
    y: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.sampling not in _TRAIN or self.split not in _TEST:
            where = f"sampling {self.sampling!r}, split {self.split!r}"
            msg = f"{where}; expected one of {SAMPLINGS} and one of {SPLITS}"
            raise ValueError(msg)
        if self.sampling == "stratified" and (self.y is None or len(self.y) != self.rows):
            msg = f"stratified draws need the classes of all {self.rows} rows"
            raise ValueError(msg)

    @property
    def training_split(self) -> str:
        """The split whose streams training sets are drawn with (`pool` uses those of `fixed`)."""
        return "fixed" if self.split == "pool" else self.split

    @cached_property
    def key(self) -> StreamKey:
        """Key of the streams that training rows are drawn with."""
        where = (self.sampling, self.training_split)
        return stream_key(self.seed, self.dataset_sha256, "rows", *where)

    @cached_property
    def pool(self) -> np.ndarray:
        """Rows that training sets are drawn from, in file order."""
        every = np.arange(self.rows, dtype=np.int64)
        if self.training_split == "varying":
            return every
        head = largest_size(self.rows)
        permute_head(*stream_key(self.seed, self.dataset_sha256, "pool"), 0, 0, 0, every, head)
        return np.sort(every[:head])

    @cached_property
    def fixed_test(self) -> np.ndarray:
        """Test rows of `fixed` (what is not in the pool) and of `pool` (the pool itself)."""
        if self.split == "pool":
            return self.pool
        return np.setdiff1d(np.arange(self.rows, dtype=np.int64), self.pool)

    def train(self, n: int, repetition: int) -> np.ndarray:
        """Return the n training rows of a cell in drawn order; a bootstrap repeats rows."""
        if not 1 <= n <= largest_size(self.rows):
            msg = f"n is {n}; expected 1 to {largest_size(self.rows)} (0.7 of {self.rows} rows)"
            raise ValueError(msg)
        return _TRAIN[self.sampling](self, n, repetition)

    def test(self, n: int, repetition: int) -> np.ndarray:
        """Return the test rows of a cell in file order."""
        return _TEST[self.split](self, n, repetition)


def class_counts(n: int, available: np.ndarray) -> np.ndarray:
    """Divide n rows among classes in proportion to the rows that there are of each.

    Each class gets the whole part of its share; rows that are left go to the largest remainders,
    ties to the lowest class.

    Examples
    --------
    >>> class_counts(7, np.array([50, 50, 50])), class_counts(3, np.array([1, 98, 1]))
    (array([3, 2, 2]), array([0, 3, 0]))
    """
    shares = n * np.asarray(available, np.int64)
    counts, remainders = np.divmod(shares, int(np.sum(available)))
    first = np.argsort(-remainders, kind="stable")[: n - counts.sum()]
    counts[first] += 1
    return counts


def _additive(draws: Draws, n: int, repetition: int) -> np.ndarray:
    """Return the head of one permutation: its stream has 0 in the place of n."""
    return _shuffled_head(draws, draws.pool, n, (0, repetition, 0))


def _random(draws: Draws, n: int, repetition: int) -> np.ndarray:
    return _shuffled_head(draws, draws.pool, n, (n, repetition, 0))


def _bootstrap(draws: Draws, n: int, repetition: int) -> np.ndarray:
    picks = np.empty(n, np.int64)
    bootstrap_into(*draws.key, n, repetition, 0, len(draws.pool), picks)
    return draws.pool[picks]


def _stratified(draws: Draws, n: int, repetition: int) -> np.ndarray:
    """Take the first rows of each class in one order of all rows, then shuffle what was taken."""
    assert draws.y is not None
    order = _shuffled_head(draws, draws.pool, len(draws.pool), (n, repetition, 0))
    classes = draws.y[order]
    wanted = class_counts(n, np.bincount(classes))
    rows = [order[classes == c][:count] for c, count in enumerate(wanted)]
    taken = np.isin(order, np.concatenate(rows))
    return _shuffled_head(draws, order[taken], n, (n, repetition, 1))


def _shuffled_head(
    draws: Draws, rows: np.ndarray, head: int, stream: tuple[int, int, int]
) -> np.ndarray:
    """Return the head of rows in the random order of a stream (n, repetition, lane)."""
    values = rows.copy()
    permute_head(*draws.key, *stream, values, head)
    return values[:head]


def _rows_left(draws: Draws, n: int, repetition: int) -> np.ndarray:
    left = np.ones(draws.rows, bool)
    left[draws.train(n, repetition)] = False
    return np.flatnonzero(left)


def _constant(draws: Draws, n: int, repetition: int) -> np.ndarray:
    return draws.fixed_test


#: How each sampling draws the n rows of a cell, in drawn order.
_TRAIN: dict[str, Callable[[Draws, int, int], np.ndarray]] = {
    "additive": _additive,
    "random": _random,
    "bootstrap": _bootstrap,
    "stratified": _stratified,
}
#: What the rows of a test set are, by split.
_TEST: dict[str, Callable[[Draws, int, int], np.ndarray]] = {
    "fixed": _constant,
    "varying": _rows_left,
    "pool": _constant,
}
if tuple(_TRAIN) != SAMPLINGS or tuple(_TEST) != SPLITS:
    msg = (
        f"lcdb.schema has samplings {SAMPLINGS} and splits {SPLITS}; "
        f"{__name__} draws {tuple(_TRAIN)} and {tuple(_TEST)}"
    )
    raise AssertionError(msg)
