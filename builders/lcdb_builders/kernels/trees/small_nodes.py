"""The end of a tree: everything below a node of at most 32 rows.

The rows of such a node get a lane each. A node below it is 32 bits, so splitting it moves nothing;
every feature's codes are gathered once; and the weights of two classes are summed at once, in the
two halves of 16 bits.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import (
    LANES,
    as_integer,
    choose,
    largest,
    load,
    marks,
    spread,
    total,
    truth_of,
    weight_of,
    zeros,
)
from lcdb_builders.kernels.trees.node_streams import LEFT, RIGHT, descend, restore_order, visit
from lcdb_builders.kernels.trees.split import (
    CONSTANT,
    NONE,
    best_of,
    is_better,
    is_perfect,
    nothing,
)

__all__ = ["HEAVIEST", "Twig", "grow_twig", "twig"]

# Sums of weights must fit into half of 16 bits.
HEAVIEST = 255

#: Workspace: `codes` of rows by feature and lane, and whether a feature's are `held`; `packed`
#: weights, shifted by 8 bits for odd classes; `lanes`, bits of each class; waiting nodes: their
#: `bits`, `words`, runs of tests and class `weights`.
Twig = namedtuple("Twig", ["codes", "held", "packed", "lanes", "bits", "words", "runs", "weights"])


@kernel
def twig(features, classes):
    """Return the workspace."""
    return Twig(
        np.zeros(features * LANES, np.uint16),
        np.zeros(features, np.bool_),
        np.zeros(LANES, np.uint16),
        np.zeros(classes + 1, np.uint32),
        np.zeros(LANES + 1, np.uint32),
        np.zeros(LANES + 1, np.uint64),
        np.zeros((LANES + 1, 2), np.int64),
        np.zeros((LANES + 1, classes + 1), np.int64),
    )


@kernel(glue=True, borrow=True)
def _take(t, rows, segments, classes):
    """Give every row a lane."""
    first = segments[0]
    for i in range(LANES):
        t.packed[i] = 0
    for k in range(classes):
        begin, end = segments[k] - first, segments[k + 1] - first
        t.lanes[k] = (np.uint64(1) << np.uint64(end)) - (np.uint64(1) << np.uint64(begin))
        for i in range(np.uint64(begin), np.uint64(end)):
            weight = rows[np.uint64(first) + i] >> np.uint32(16)
            t.packed[i] = weight << np.uint32(8 * (k & 1))
    for f in range(len(t.held)):
        t.held[f] = False


@kernel(glue=True, borrow=True)
def _gather(t, f, codes, rows, first, m):
    """Put a feature's codes into its lanes; lanes without a row get the largest code."""
    base = np.uint64(f * LANES)
    for i in range(np.uint64(m)):
        t.codes[base + i] = codes[rows[np.uint64(first) + i] & np.uint32(0xFFFF)]
    for i in range(np.uint64(m), np.uint64(LANES)):
        t.codes[base + i] = 65535
    t.held[f] = True


@kernel(glue=True, borrow=True)
def _split(t, f, bits, weights, classes, weight, leaf, floor, w):
    """Return the best split of a node by one feature.

    Parameters
    ----------
    t, f
        Workspace, and the feature.
    bits
        Which lanes are the node's.
    weights, classes, weight
        Of the node by class, how many classes, and in all.
    leaf, floor
        Least weight of a leaf, and least gain.
    w
        Workspace of candidates.
    """
    limits = load(t.codes, f * LANES)
    left = zeros(np.uint16(0))
    left_squares = left
    right_squares = left
    byte, low_byte = spread(8, left), spread(255, left)
    for k in range(0, classes, 2):
        marked = bits & (t.lanes[k] | t.lanes[k + 1])
        if marked != 0:
            both = weight_of(t.codes, t.packed, f * LANES, marked, limits)
            even, odd = both & low_byte, both >> byte
            more_even = spread(weights[k], even) - even
            more_odd = spread(weights[k + 1], odd) - odd
            left = left + even + odd
            left_squares = left_squares + even * even + odd * odd
            right_squares = right_squares + more_even * more_even + more_odd * more_odd
    # Lanes of other nodes repeat the counts of a lower code of this node: they never win.
    best = nothing(CONSTANT)
    return best_of(left, left_squares, right_squares, limits, weight, leaf, floor, best, w)


@kernel(glue=True, borrow=True)
def _choose(t, bits, weights, classes, ranks, rows, first, m, weight, leaf, visits, word, g):
    """Return feature, code, and whether both children are pure; feature -1 if there is none.

    Parameters
    ----------
    t, bits
        Workspace, and which lanes are the node's.
    weights, classes, weight
        Of the node by class, how many classes, and in all.
    ranks, rows, first, m
        Of the features, and which m entries of `rows` have lanes.
    leaf, visits, word
        Least weight of a leaf, how many features are looked at, and the node's random word.
    g
        Workspace of the tree.
    """
    d = len(g.order)
    best_f, perfect, varying = -1, False, False
    best = nothing(NONE)
    visited = 0
    left = word
    while visited < d and (visited < visits or not varying):
        left = visit(visited, word, left, g.order, g.swaps)
        f = g.order[visited]
        visited += 1
        if not t.held[f]:
            _gather(t, f, ranks[f], rows, first, m)
        candidate = _split(t, f, bits, weights, classes, weight, leaf, best.gain, g.bench)
        varying = varying or candidate.code != CONSTANT
        if candidate.code >= 0 and is_better(candidate, best, weight):
            best_f = f
            best = candidate
            perfect = is_perfect(candidate, weight)
            if perfect:
                break
    restore_order(visited, g.order, g.swaps)
    return best_f, best.code, perfect


@kernel(inline=True, borrow=True)
def part_tests(tests, first, stop, codes, low, high, values, room):
    """Move the test rows that go left before the others; returns where the others begin.

    The threshold is the midpoint of the values of codes `low` and `high`.

    Parameters
    ----------
    tests, first, stop
        The test rows of the node are ``tests[first:stop]``.
    codes, values
        Codes of test rows, and values of codes.
    low, high
        Codes on either side of the threshold.
    room
        Workspace.
    """
    a, b = values[low], values[high]
    middle = a / 2 + b / 2
    if not (a <= middle and middle < b):
        middle = a
    x, z = np.uint64(first), np.uint64(0)
    lowest = np.uint64(low)
    gap = np.uint64(high) - lowest - np.uint64(1)
    for i in range(np.uint64(first), np.uint64(stop)):
        test = tests[i]
        above = np.uint64(codes[test]) - lowest - np.uint64(1)
        right = np.uint64(1) - (above >> np.uint64(63))
        if above < gap:
            right = np.uint64(values[codes[test]] > middle)
        tests[x] = test
        room[z] = test
        x += np.uint64(1) - right
        z += right
    for i in range(z):
        tests[x + i] = room[i]
    return np.int64(x)


@kernel(inline=True, borrow=True)
def add_leaf(leaves, place, first, stop, weights, classes):
    """Record a leaf, if any test row is in it; returns the number of leaves."""
    leaves.first[place], leaves.stop[place] = first, stop
    for k in range(classes):
        leaves.weights[place, k] = weights[k]
    return place + 1 if stop > first else place


@kernel(borrow=True)
def grow_twig(
    sample,
    rows,
    segments,
    node_weights,
    tests,
    first_test,
    stop_test,
    test_codes,
    values,
    g,
    leaf,
    visits,
    word,
    leaves,
):
    """Grow everything below a node; returns the number of leaves with those found before.

    Parameters
    ----------
    sample, rows, segments
        The training set, and where the rows of each class of the node begin and end.
    node_weights
        Of the node by class.
    tests, first_test, stop_test
        The test rows of the node are ``tests[first_test:stop_test]``.
    test_codes, values
        Codes of test rows, and values of codes.
    g
        Workspace of the tree.
    leaf, visits, word
        Least weight of a leaf, features that are looked at, and the node's random word.
    leaves
        How many leaves there are before.
    """
    t = g.twig
    classes = len(node_weights)
    first = segments[0]
    m = segments[classes] - first
    _take(t, rows, segments, classes)
    t.bits[0] = (np.uint64(1) << np.uint64(m)) - np.uint64(1)
    t.words[0] = word
    t.runs[0, 0], t.runs[0, 1] = first_test, stop_test
    for k in range(classes):
        t.weights[0, k] = node_weights[k]
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = waiting
        bits, word = t.bits[node], t.words[node]
        begin, end = t.runs[node, 0], t.runs[node, 1]
        weight, heaviest = 0, 0
        for k in range(classes):
            weight += t.weights[node, k]
            heaviest = max(heaviest, t.weights[node, k])
        f, low, perfect = -1, np.int64(0), False
        if heaviest < weight and weight >= 2 * leaf:
            f, low, perfect = _choose(
                t,
                bits,
                t.weights[node],
                classes,
                sample.ranks,
                rows,
                first,
                m,
                weight,
                leaf,
                visits,
                word,
                g,
            )
        if f < 0:
            leaves = add_leaf(g.leaves, leaves, begin, end, t.weights[node], classes)
            continue
        codes = as_integer(load(t.codes, f * LANES))
        limit = spread(low, codes)
        left_bits = marks(codes <= limit) & bits
        right_bits = bits & ~left_bits
        none = spread(-65536, codes)
        high = -np.int64(largest(choose(truth_of(right_bits), zeros(np.int32(0)) - codes, none)))
        code_of = sample.code_of[f]
        middle = part_tests(
            tests, begin, end, test_codes[f], code_of[low], code_of[high], values[f], g.test_room
        )
        packed = load(t.packed, 0)
        nothing_there = zeros(np.uint16(0))
        for k in range(0, classes, 2):
            marked = left_bits & (t.lanes[k] | t.lanes[k + 1])
            both = total(choose(truth_of(marked), packed, nothing_there))
            even, odd = np.int64(both & 255), np.int64(both >> 8)
            t.weights[node + 1, k] = t.weights[node, k] - even
            t.weights[node + 1, k + 1] = t.weights[node, k + 1] - odd
            t.weights[node, k], t.weights[node, k + 1] = even, odd
        if perfect:
            leaves = add_leaf(g.leaves, leaves, begin, middle, t.weights[node], classes)
            leaves = add_leaf(g.leaves, leaves, middle, end, t.weights[node + 1], classes)
            continue
        if middle > begin:
            t.bits[node] = left_bits
            t.words[node] = descend(word, LEFT)
            t.runs[node, 0], t.runs[node, 1] = begin, middle
            waiting += 1
        elif end > middle:
            for k in range(classes):
                t.weights[node, k] = t.weights[node + 1, k]
        if end > middle:
            t.bits[waiting] = right_bits
            t.words[waiting] = descend(word, RIGHT)
            t.runs[waiting, 0], t.runs[waiting, 1] = middle, end
            waiting += 1
    return leaves
