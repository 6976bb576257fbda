"""The rows of a cell: a pure function of seed, dataset, sampling, split, n and repetition.

`fixed` and `pool` train on the same rows. A training set comes in drawn order (ties between
neighbours go to the row drawn first), a test set in file order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lcdb_builders.domain.streams import StreamKey, stream_key
from lcdb_builders.kernels.core.rng import bootstrap_into, permute_head

__all__ = ["Draws", "largest_size"]


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
        ``"additive"``, ``"random"`` or ``"bootstrap"``.
    split
        ``"fixed"``, ``"varying"`` or ``"pool"``.

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
        if self.sampling == "bootstrap":
            picks = np.empty(n, np.int64)
            bootstrap_into(*self.key, n, repetition, 0, len(self.pool), picks)
            return self.pool[picks]
        # Additive shares one permutation along n: its stream has 0 in the place of n.
        along = 0 if self.sampling == "additive" else n
        drawn = self.pool.copy()
        permute_head(*self.key, along, repetition, 0, drawn, n)
        return drawn[:n]

    def test(self, n: int, repetition: int) -> np.ndarray:
        """Return the test rows of a cell in file order."""
        if self.split != "varying":
            return self.fixed_test
        left = np.ones(self.rows, bool)
        left[self.train(n, repetition)] = False
        return np.flatnonzero(left)
