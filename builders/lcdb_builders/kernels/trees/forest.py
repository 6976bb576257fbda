"""Single trees and random forests on one training set.

Tree t of a forest has random words of its own, so a forest is the head of every larger one: trees
can be added to the votes of those before.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import philox
from lcdb_builders.kernels.trees.codes import GROUPS, ROWS
from lcdb_builders.kernels.trees.grow import grow
from lcdb_builders.kernels.trees.leaves import ROOT
from lcdb_builders.kernels.trees.node_streams import draw

__all__ = ["Stream", "add_trees", "grow_tree"]

#: The random stream of a cell: its key, and the cell's n and repetition.
Stream = namedtuple("Stream", "key0 key1 n repetition")


@kernel(glue=True, borrow=True)
def _list_root(sample, counts, tests, w):
    """List the numbers that count at least once, by class, with their counts, and the test rows."""
    classes = len(w.weights)
    segments = w.waiting.rows[ROOT]
    x = np.uint64(0)
    for k in range(classes):
        segments[k] = x
        for i in range(np.uint64(sample.starts[k]), np.uint64(sample.starts[k + 1])):
            count = np.uint64(counts[i] & np.uint32(0xFFFF))
            w.rows[x] = i | (count << np.uint64(16))
            x += np.uint64(count != 0)
    segments[classes] = x
    for i in range(np.uint64(len(tests.columns))):
        w.tests[i] = tests.columns[i]


@kernel(borrow=True)
def grow_tree(sample, stream, tests, rules, w):
    """Grow a tree on all rows of a sample; returns the number of leaves, ``w.leaves``.

    Parameters
    ----------
    sample, stream
        The training set, for which `w` is prepared, and its random stream.
    tests, rules
        `Tests` and `Rules`.
    w
        Workspace; the leaves are runs of its `tests`.
    """
    word = philox(stream.key0, stream.key1, 0, stream.n, stream.repetition, 0)[0]
    _list_root(sample, sample.packed, tests, w)
    return grow(sample, tests, rules, word, w)


@kernel(inline=True, borrow=True)
def _draw_bag(sample, stream, lane, bag):
    """Draw rows with replacement, two a word; returns the root's word, the first of the lane."""
    bag[: sample.size[GROUPS]] = 0
    size = sample.size[ROWS]
    words = philox(stream.key0, stream.key1, 0, stream.n, stream.repetition, lane)
    root = words[0]
    for q in range((size + 1) // 2):
        if (q + 1) % 4 == 0:
            words = philox(
                stream.key0, stream.key1, (q + 1) // 4, stream.n, stream.repetition, lane
            )
        position, rest = draw(words[(q + 1) % 4], size)
        bag[sample.positions[position]] += np.uint32(1)
        if 2 * q + 1 < size:
            position, rest = draw(rest, size)
            bag[sample.positions[position]] += np.uint32(1)
    return root


@kernel(inline=True, borrow=True)
def _vote(leaves, count, tests, votes):
    """Add the class shares of its leaf to the votes of each test row."""
    classes = votes.shape[1]
    for leaf in range(count):
        total = 0
        for k in range(classes):
            total += leaves.weights[leaf, k]
        for k in range(classes):
            weight = leaves.weights[leaf, k]
            if weight > 0:
                share = weight / total
                for i in range(np.uint64(leaves.first[leaf]), np.uint64(leaves.stop[leaf])):
                    votes[tests[i], k] += share


@kernel(borrow=True)
def add_trees(sample, stream, first, stop, tests, rules, w, votes):
    """Add the leaf shares of the trees first..stop-1 to the votes of each test row.

    Parameters
    ----------
    sample, stream
        As for `grow_tree`.
    first, stop
        Which trees; with 0 the votes begin.
    tests, rules, w
        As for `grow_tree`.
    votes
        (columns of the codes, K) float64, of which those of test rows are used.
    """
    if first == 0:
        for column in tests.columns:
            for k in range(votes.shape[1]):
                votes[column, k] = 0.0
    for lane in range(first, stop):
        root = _draw_bag(sample, stream, lane, w.bag)
        _list_root(sample, w.bag, tests, w)
        leaves = grow(sample, tests, rules, root, w)
        _vote(w.leaves, leaves, w.tests, votes)
