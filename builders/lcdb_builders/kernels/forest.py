"""Single trees and random forests on one training set."""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.branching import draw
from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.streams import philox
from lcdb_builders.kernels.trees import grow

__all__ = ["grow_forest", "grow_tree"]


@kernel(inline=True, borrow=True)
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
def grow_tree(sample, tests, n_tests, codes, values, g, rows, segments, leaf, features, word):
    """Grow a tree on all rows of a sample; returns the number of leaves.

    Parameters
    ----------
    sample
        The training set.
    tests, n_tests, codes, values, g
        As for `grow`.
    rows, segments
        Workspace.
    leaf, features
        Least weight of a leaf, and features that a node visits.
    word
        The root's random word.
    """
    _list_rows(sample, sample.packed, rows, segments)
    return grow(sample, rows, segments, tests, n_tests, codes, values, g, leaf, features, word)


@kernel(inline=True, borrow=True)
def _draw_bag(sample, n, key0, key1, repetition, lane, bag):
    """Draw n rows with replacement, two a word; returns the root's word, the first of the lane."""
    for i in range(np.uint64(sample.size[0])):
        bag[i] = 0
    words = philox(key0, key1, 0, n, repetition, lane)
    root = words[0]
    for q in range((n + 1) // 2):
        if (q + 1) % 4 == 0:
            words = philox(key0, key1, (q + 1) // 4, n, repetition, lane)
        position, left = draw(words[(q + 1) % 4], n)
        bag[sample.positions[position]] += np.uint32(1)
        if 2 * q + 1 < n:
            position, left = draw(left, n)
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
def grow_forest(
    sample,
    n,
    trees,
    key0,
    key1,
    repetition,
    columns,
    tests,
    codes,
    values,
    g,
    rows,
    segments,
    bag,
    leaf,
    features,
    votes,
):
    """Sum up the leaf shares of all trees for each test row.

    Parameters
    ----------
    sample, n
        The training set and its number of rows, copies counted.
    trees
        Number of trees.
    key0, key1, repetition
        Key and repetition of the cell's random stream.
    columns
        Test rows.
    tests, codes, values, g
        As for `grow`; ``tests`` is overwritten.
    rows, segments, bag
        Workspace.
    leaf, features
        Least weight of a leaf, and features that a node visits.
    votes
        (columns of `codes`, K) float64; rows of test rows are filled.
    """
    for i in range(np.uint64(len(columns))):
        for k in range(votes.shape[1]):
            votes[columns[i], k] = 0.0
    for lane in range(trees):
        root = _draw_bag(sample, n, key0, key1, repetition, lane, bag)
        _list_rows(sample, bag, rows, segments)
        for i in range(np.uint64(len(columns))):
            tests[i] = columns[i]
        count = grow(
            sample, rows, segments, tests, len(columns), codes, values, g, leaf, features, root
        )
        _vote(g.leaves, count, tests, votes)
