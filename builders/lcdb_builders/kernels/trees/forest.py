"""Single trees and random forests on one training set.

Tree t of a forest has random words of its own, so a forest is the head of every larger one: trees
can be added to the votes of those before.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import philox
from lcdb_builders.kernels.trees.grow import grove, grow
from lcdb_builders.kernels.trees.node_streams import draw

__all__ = ["Cell", "Stand", "add_trees", "grow_tree", "stand"]

#: The random stream of a cell: its key, and the cell's n and repetition.
Cell = namedtuple("Cell", ["key0", "key1", "n", "repetition"])

#: Workspace: that of one tree, `grove`; its `rows` and where each class begins in them, `segments`;
#: how often a forest's tree counts each number, `bag`; `tests` (columns,), test rows, which
#: growing brings into the order of the leaves.
Stand = namedtuple("Stand", ["grove", "rows", "segments", "bag", "tests"])


@kernel
def stand(rows, tests, features, classes):
    """Return the workspace for training sets and test sets of at most these sizes."""
    return Stand(
        grove(rows, tests, features, classes),
        np.empty(rows + 1, np.uint32),
        np.empty(classes + 1, np.int64),
        np.empty(rows + 1, np.uint32),
        np.empty(tests, np.uint16),
    )


@kernel(glue=True, borrow=True)
def _list_rows(sample, counts, rows, segments):
    """List the numbers that count at least once, by class, with their counts."""
    classes = len(segments) - 1
    x = np.uint64(0)
    for k in range(classes):
        segments[k] = x
        for i in range(np.uint64(sample.starts[k]), np.uint64(sample.starts[k + 1])):
            count = np.uint64(counts[i] & np.uint32(0xFFFF))
            rows[x] = i | (count << np.uint64(16))
            x += np.uint64(count != 0)
    segments[classes] = x


@kernel(borrow=True)
def grow_tree(sample, cell, columns, codes, values, s, leaf):
    """Grow a tree on all rows of a sample; returns the number of leaves, ``s.grove.leaves``.

    Parameters
    ----------
    sample, cell
        The training set, for which `s.grove` is prepared, and its random stream.
    columns
        Test rows.
    codes, values
        (d, all columns) codes, and (d, levels) values of codes.
    s
        Workspace; the leaves are runs of its `tests`.
    leaf
        Least weight of a leaf.
    """
    for i in range(np.uint64(len(columns))):
        s.tests[i] = columns[i]
    word = philox(cell.key0, cell.key1, 0, cell.n, cell.repetition, 0)[0]
    _list_rows(sample, sample.packed, s.rows, s.segments)
    count, visits = len(columns), len(codes)
    return grow(
        sample, s.rows, s.segments, s.tests, count, codes, values, s.grove, leaf, visits, word
    )


@kernel(inline=True, borrow=True)
def _draw_bag(sample, size, cell, lane, bag):
    """Draw rows with replacement, two a word; returns the root's word, the first of the lane."""
    for i in range(np.uint64(sample.size[0])):
        bag[i] = 0
    words = philox(cell.key0, cell.key1, 0, cell.n, cell.repetition, lane)
    root = words[0]
    for q in range((size + 1) // 2):
        if (q + 1) % 4 == 0:
            words = philox(cell.key0, cell.key1, (q + 1) // 4, cell.n, cell.repetition, lane)
        position, left = draw(words[(q + 1) % 4], size)
        bag[sample.positions[position]] += np.uint32(1)
        if 2 * q + 1 < size:
            position, left = draw(left, size)
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
def add_trees(sample, size, cell, first, stop, columns, codes, values, s, leaf, visits, votes):
    """Add the leaf shares of the trees first..stop-1 to the votes of each test row.

    Parameters
    ----------
    sample, cell, columns, codes, values, s, leaf
        As for `grow_tree`.
    size
        Number of rows of the training set, copies counted.
    first, stop
        Which trees; with 0 the votes begin.
    visits
        Features that a node visits.
    votes
        (columns of `codes`, K) float64, of which those of test rows are used.
    """
    if first == 0:
        for i in range(np.uint64(len(columns))):
            for k in range(votes.shape[1]):
                votes[columns[i], k] = 0.0
    for lane in range(first, stop):
        root = _draw_bag(sample, size, cell, lane, s.bag)
        _list_rows(sample, s.bag, s.rows, s.segments)
        for i in range(np.uint64(len(columns))):
            s.tests[i] = columns[i]
        count = len(columns)
        leaves = grow(
            sample, s.rows, s.segments, s.tests, count, codes, values, s.grove, leaf, visits, root
        )
        _vote(s.grove.leaves, leaves, s.tests, votes)
