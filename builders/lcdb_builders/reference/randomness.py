"""How the randomised learners turn words of a keyed stream into decisions.

A forest and its kernel must take the same decisions, in whatever order the kernel grows its nodes.
So no decision depends on how many came before: every tree has a stream of its own (its lane), the
root of a tree takes a word of that stream, and every node hands words on to its children by
SplitMix64 (Steele, Lea & Flood 2014), a generator made for splitting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lcdb_builders.domain.streams import StreamKey, stream, stream_key

__all__ = ["CellStream", "bootstrap_counts", "descend", "feature_order", "features_at_node"]

WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
# A node's further words: 1 and 2 are its children's, 3 and up its own.
LEFT, RIGHT, OWN = 1, 2, 3
DRAWS_PER_WORD = 4


class CellStream(NamedTuple):
    """The random stream of one cell.

    Parameters
    ----------
    key
        Key of the learner's streams, from `lcdb_builders.domain.streams.stream_key`.
    n
        Size of the training set.
    repetition
        Which of the repetitions.

    Examples
    --------
    >>> cell = CellStream(stream_key(1, "ab", "learner:RFOR"), n=20, repetition=3)
    >>> cell.words(2, lane=1) == cell.words(3, lane=1)[:2]
    True
    """

    key: StreamKey
    n: int
    repetition: int

    def words(self, count: int, lane: int = 0) -> list[int]:
        """Return the first words of one lane."""
        raw = stream(self.key, self.n, self.repetition, lane).random_raw(count)
        return [int(word) for word in raw]

    @classmethod
    def fallback(cls, random_state: int | np.random.RandomState | None) -> CellStream:
        """Return a stream that depends on scikit-learn's `random_state` alone."""
        if random_state is None or isinstance(random_state, np.random.RandomState):
            random_state = int((random_state or np.random.RandomState()).randint(2**31))
        return cls(stream_key(int(random_state), "", "random_state"), 0, 0)


def mix(state: int) -> int:
    """Return SplitMix64's word of a state."""
    state &= WORD
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & WORD
    return state ^ (state >> 31)


def descend(word: int, child: int) -> int:
    """Return the word of a node's child (`LEFT` or `RIGHT`), or a further word of its own."""
    return mix(word + child * GOLDEN)


def feature_order(word: int, features: int) -> Iterator[int]:
    """Yield features in the random order in which a node visits them.

    A shuffle from the front. Four draws come out of each word: the product of a word with a count
    is a draw in its high half and a word for the next draw in its low half.

    Examples
    --------
    >>> sorted(feature_order(12345, 9)) == list(range(9))
    True
    """
    order = list(range(features))
    left = word
    for i in range(features):
        if i and i % DRAWS_PER_WORD == 0:
            left = descend(word, OWN + i // DRAWS_PER_WORD - 1)
        product = left * (features - i)
        j, left = i + (product >> 64), product & WORD
        order[i], order[j] = order[j], order[i]
        yield order[i]


def bootstrap_counts(words: list[int], n: int) -> np.ndarray:
    """Return how often each of n rows is drawn, n times with replacement: two draws a word.

    Examples
    --------
    >>> bootstrap_counts([2**63, 0], n=3).tolist()
    [1, 2, 0]
    """
    counts = np.zeros(n, np.int64)
    left = 0
    for i in range(n):
        product = (words[i // 2] if i % 2 == 0 else left) * n
        draw, left = product >> 64, product & WORD
        counts[draw] += 1
    return counts


def features_at_node(asked: int, features: int) -> int:
    """Return how many features a node of a forest visits; 0 asks for floor(sqrt(features)).

    Examples
    --------
    >>> features_at_node(0, 8), features_at_node(5, 8), features_at_node(9, 8)
    (2, 5, 8)
    """
    return min(asked, features) if asked else math.isqrt(features)
