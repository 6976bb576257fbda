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
    zeros,
)
from lcdb_builders.kernels.trees.leaves import FIRST, STOP, Waiting, add_leaf, part_tests, wait
from lcdb_builders.kernels.trees.node_streams import LEFT, RIGHT, descend
from lcdb_builders.kernels.trees.split import (
    CONSTANT,
    NONE,
    Lot,
    best_of,
    choose_feature,
    is_perfect,
    nothing,
)
from lcdb_builders.kernels.trees.weights import weight_of

__all__ = ["HEAVIEST", "grow_small", "small_nodes"]

# Sums of weights must fit into half of 16 bits.
HEAVIEST = 255

#: Workspace: `codes` of rows by feature and lane, and whether a feature's are `gathered`; `packed`
#: weights, shifted by 8 bits for odd classes; `lanes`, bits of each class; `waiting` nodes, whose
#: rows are bits.
SmallNodes = namedtuple("SmallNodes", "codes gathered packed lanes waiting")
#: A node in hand, as `lcdb_builders.kernels.trees.split.Node`, but its rows are the set `bits`, and
#: `ancestor` is the node that `rows` with lanes are of.
SmallNode = namedtuple("SmallNode", "bits ancestor weights total least")


@kernel
def small_nodes(features, classes):
    """Return the workspace."""
    return SmallNodes(
        codes=np.zeros(features * LANES, np.uint16),
        gathered=np.zeros(features, np.bool_),
        packed=np.zeros(LANES, np.uint16),
        lanes=np.zeros(classes + 1, np.uint32),
        waiting=Waiting(
            runs=np.zeros((LANES + 1, 2), np.int64),
            words=np.zeros(LANES + 1, np.uint64),
            weights=np.zeros((LANES + 1, classes + 1), np.int64),
            rows=np.zeros(LANES + 1, np.uint32),
        ),
    )


@kernel(glue=True, borrow=True)
def _take(t, node):
    """Give every row of a node a lane."""
    for i in range(LANES):
        t.packed[i] = 0
    for k in range(len(node.weights)):
        begin, end = node.segments[k] - node.first, node.segments[k + 1] - node.first
        t.lanes[k] = (np.uint64(1) << np.uint64(end)) - (np.uint64(1) << np.uint64(begin))
        for i in range(np.uint64(begin), np.uint64(end)):
            weight = node.rows[np.uint64(node.first) + i] >> np.uint32(16)
            t.packed[i] = weight << np.uint32(8 * (k & 1))
    for f in range(len(t.gathered)):
        t.gathered[f] = False


@kernel(glue=True, borrow=True)
def _gather(t, f, codes, node):
    """Put a feature's codes into its lanes; lanes without a row get the largest code."""
    base, m = np.uint64(f * LANES), node.stop - node.first
    for i in range(np.uint64(m)):
        t.codes[base + i] = codes[node.rows[np.uint64(node.first) + i] & np.uint32(0xFFFF)]
    for i in range(np.uint64(m), np.uint64(LANES)):
        t.codes[base + i] = 65535
    t.gathered[f] = True


@kernel(glue=True, borrow=True)
def _split(f, sample, node, floor, w):
    """Return the best split of a small node by one feature; see `choose_feature`."""
    t = w.small
    if not t.gathered[f]:
        _gather(t, f, sample.ranks[f], node.ancestor)
    limits = load(t.codes, f * LANES)
    left = zeros(np.uint16(0))
    left_squares = left
    right_squares = left
    byte, low_byte = spread(8, left), spread(255, left)
    for k in range(0, len(t.lanes) - 1, 2):
        marked = node.bits & (t.lanes[k] | t.lanes[k + 1])
        if marked != 0:
            both = weight_of(t.codes, t.packed, f * LANES, marked, limits)
            even, odd = both & low_byte, both >> byte
            more_even = spread(node.weights[k], even) - even
            more_odd = spread(node.weights[k + 1], odd) - odd
            left = left + even + odd
            left_squares = left_squares + even * even + odd * odd
            right_squares = right_squares + more_even * more_even + more_odd * more_odd
    # Lanes of other nodes repeat the counts of a lower code of this node: they never win.
    lot = Lot(left=left, left_squares=left_squares, right_squares=right_squares, limits=limits)
    return best_of(lot, node, floor, nothing(CONSTANT), w.candidates)


@kernel(inline=True, borrow=True)
def _part(t, node, place, f, low):
    """Part a node's rows into two waiting nodes.

    Returns
    -------
    left, right
        The bits of both.
    high
        The least rank on the right.
    """
    codes = as_integer(load(t.codes, f * LANES))
    left = marks(codes <= spread(low, codes)) & node.bits
    right = node.bits & ~left
    none = spread(-65536, codes)
    high = -np.int64(largest(choose(truth_of(right), zeros(np.int32(0)) - codes, none)))
    packed = load(t.packed, 0)
    no_weight = zeros(np.uint16(0))
    weights = t.waiting.weights
    for k in range(0, len(t.lanes) - 1, 2):
        both = total(choose(truth_of(left & (t.lanes[k] | t.lanes[k + 1])), packed, no_weight))
        even, odd = np.int64(both & 255), np.int64(both >> 8)
        weights[place + 1, k] = weights[place, k] - even
        weights[place + 1, k + 1] = weights[place, k + 1] - odd
        weights[place, k], weights[place, k + 1] = even, odd
    return left, right, high


@kernel(borrow=True)
def grow_small(sample, ancestor, tests, begin, end, rules, word, w, leaves):
    """Grow everything below a node; returns the number of leaves with those before.

    Parameters
    ----------
    sample, ancestor
        The training set, and the node.
    tests, begin, end
        `Tests`; those of the node are ``w.tests[begin:end]``.
    rules, word
        How to grow, and the node's random word.
    w
        Workspace of the tree.
    leaves
        How many leaves there are before.
    """
    t = w.small
    waiting, weights = t.waiting, t.waiting.weights
    classes = len(ancestor.weights)
    _take(t, ancestor)
    m = ancestor.stop - ancestor.first
    waiting.rows[0] = (np.uint64(1) << np.uint64(m)) - np.uint64(1)
    for k in range(classes):
        weights[0, k] = ancestor.weights[k]
    count = wait(waiting, 0, begin, end, word)
    while count > 0:
        place = count = count - 1
        bits, word = waiting.rows[place], waiting.words[place]
        begin, end = waiting.runs[place, FIRST], waiting.runs[place, STOP]
        weight, heaviest = 0, 0
        for k in range(classes):
            weight += weights[place, k]
            heaviest = max(heaviest, weights[place, k])
        node = SmallNode(
            bits=bits, ancestor=ancestor, weights=weights[place], total=weight, least=rules.least
        )
        f, best = -1, nothing(NONE)
        if heaviest < weight and weight >= 2 * rules.least:
            f, best = choose_feature(_split, sample, node, rules.visits, word, w)
        if f < 0:
            leaves = add_leaf(w.leaves, leaves, begin, end, weights[place])
            continue
        left, right, high = _part(t, node, place, f, best.code)
        code_of = sample.code_of[f]
        middle = part_tests(w, tests, f, begin, end, code_of[best.code], code_of[high])
        if is_perfect(best, weight):
            leaves = add_leaf(w.leaves, leaves, begin, middle, weights[place])
            leaves = add_leaf(w.leaves, leaves, middle, end, weights[place + 1])
            continue
        if middle > begin:
            waiting.rows[place] = left
            count = wait(waiting, place, begin, middle, descend(word, LEFT))
        elif end > middle:
            for k in range(classes):
                weights[place, k] = weights[place + 1, k]
        if end > middle:
            waiting.rows[count] = right
            count = wait(waiting, count, middle, end, descend(word, RIGHT))
    return leaves
