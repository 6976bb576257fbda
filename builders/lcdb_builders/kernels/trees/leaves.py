"""Test rows on their way to the leaves of a tree, and the leaves that they reach."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel

__all__ = [
    "FIRST",
    "ROOT",
    "STOP",
    "Rules",
    "Tests",
    "Waiting",
    "add_leaf",
    "leaves_of",
    "midpoint",
    "part_tests",
    "wait",
]

# Entries of ``Waiting.runs``, and the place of the node that waits first.
FIRST, STOP = range(2)
ROOT = 0

#: What a tree is grown for: the `columns` of test rows, `codes` (d, all columns), and `values`
#: (d, levels) of codes.
Tests = namedtuple("Tests", "columns codes values")
#: How trees are grown: the `least` weight of a leaf, and how many features a node `visits`.
Rules = namedtuple("Rules", "least visits")
#: Leaves reached: runs of test rows from `first` to `stop`, and the class `weights` of each leaf.
Leaves = namedtuple("Leaves", "first stop weights")
#: Nodes that wait to be split, each at a place: `runs` (places, 2) of their test rows, from `FIRST`
#: to `STOP`; random `words`, class `weights`, and `rows`: which training rows they have.
Waiting = namedtuple("Waiting", "runs words weights rows")


@kernel
def leaves_of(tests, classes):
    """Return room for the leaves that so many test rows can reach."""
    return Leaves(
        first=np.zeros(tests + 1, np.int64),
        stop=np.zeros(tests + 1, np.int64),
        weights=np.zeros((tests + 1, classes), np.int64),
    )


@kernel(inline=True, borrow=True)
def wait(waiting, place, first, stop, word):
    """Let a node wait that test rows from `first` to `stop` reach; returns how many wait."""
    waiting.runs[place, FIRST], waiting.runs[place, STOP] = first, stop
    waiting.words[place] = word
    return place + 1


@kernel(inline=True, borrow=True)
def add_leaf(leaves, place, first, stop, weights):
    """Record a leaf, if any test row is in it; returns the number of leaves."""
    leaves.first[place], leaves.stop[place] = first, stop
    for k in range(leaves.weights.shape[1]):
        leaves.weights[place, k] = weights[k]
    return place + 1 if stop > first else place


@kernel(inline=True, borrow=True)
def midpoint(low, high):
    """Return the threshold between two values: at least the low one, and less than the high one."""
    middle = low / 2 + high / 2
    return middle if low <= middle and middle < high else low


@kernel(inline=True, borrow=True)
def part_tests(w, tests, f, first, stop, low, high):
    """Move the test rows that go left before the others; returns where the others begin.

    Parameters
    ----------
    w
        Workspace of the tree: the node's test rows are ``w.tests[first:stop]``.
    tests
        `Tests`.
    f
        The feature that parts them.
    first, stop
        Of the node.
    low, high
        Codes on either side of the threshold, which is the midpoint of their values.
    """
    codes, values = tests.codes[f], tests.values[f]
    middle = midpoint(values[low], values[high])
    x, z = np.uint64(first), np.uint64(0)
    lowest = np.uint64(low)
    gap = np.uint64(high) - lowest - np.uint64(1)
    for i in range(np.uint64(first), np.uint64(stop)):
        test = w.tests[i]
        above = np.uint64(codes[test]) - lowest - np.uint64(1)
        right = np.uint64(1) - (above >> np.uint64(63))
        if above < gap:
            right = np.uint64(values[codes[test]] > middle)
        w.tests[x] = test
        w.right_tests[z] = test
        x += np.uint64(1) - right
        z += right
    for i in range(z):
        w.tests[x + i] = w.right_tests[i]
    return np.int64(x)
