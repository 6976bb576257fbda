"""Growing one tree as far as its test rows reach.

A node is a run of `rows` (each entry a row's number in the sample and its weight, grouped by class)
and a run of `tests`. Nodes that no test row reaches are never grown. Growing leaves `tests` in the
order of the leaves.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import LANES
from lcdb_builders.kernels.trees.codes import GROUPS, sort
from lcdb_builders.kernels.trees.leaves import (
    FIRST,
    ROOT,
    STOP,
    Waiting,
    add_leaf,
    leaves_of,
    part_tests,
    wait,
)
from lcdb_builders.kernels.trees.node_streams import LEFT, RIGHT, descend
from lcdb_builders.kernels.trees.small_nodes import HEAVIEST, grow_small, small_nodes
from lcdb_builders.kernels.trees.split import (
    NONE,
    Node,
    candidates,
    choose_feature,
    nothing,
    split_at,
    split_in_order,
)

__all__ = ["Workspace", "grow", "prepare", "workspace"]

# Up to so many limits are tried in lots of 32; beyond, a node is sorted.
MOST_LIMITS = 128

#: Workspace of a tree. `candidates` and `small` nodes; `limits`, all codes; `places` (d, rows) of
#: numbers in the order of features with many values; `waiting` nodes, whose rows are where each
#: class begins among `rows`; the same of the node in hand, `segments`, and its class `weights`;
#: `rows`, entries ``number | weight << 16``, and `tests`, which growing brings into the order of
#: the leaves; `right_rows` and `right_tests`, for those that go right; `scratch` to sort; `order`
#: and `swaps` of features; the `leaves`; `bag`, how often a forest's tree counts each number.
Workspace = namedtuple(
    "Workspace",
    "candidates small limits places waiting segments weights rows right_rows tests right_tests"
    " scratch order swaps leaves bag",
)


@kernel
def workspace(rows, tests, features, classes):
    """Return the workspace for training sets and test sets of at most these sizes."""
    depth = rows + 2
    return Workspace(
        candidates=candidates(rows, classes),
        small=small_nodes(features, classes),
        limits=np.arange(MOST_LIMITS + LANES).astype(np.uint16),
        places=np.zeros((features, rows), np.uint16),
        waiting=Waiting(
            runs=np.zeros((depth, 2), np.int64),
            words=np.zeros(depth, np.uint64),
            weights=np.zeros((depth, classes), np.int64),
            rows=np.zeros((depth, classes + 1), np.int64),
        ),
        segments=np.zeros(classes + 1, np.int64),
        weights=np.zeros(classes, np.int64),
        rows=np.empty(rows + 1, np.uint32),
        right_rows=np.zeros(rows + 1, np.uint32),
        tests=np.empty(tests, np.uint16),
        right_tests=np.zeros(max(rows, tests) + 1, np.uint16),
        scratch=np.zeros(rows + 2, np.int64),
        order=np.arange(features),
        swaps=np.zeros(features, np.int64),
        leaves=leaves_of(tests, classes),
        bag=np.empty(rows + 1, np.uint32),
    )


@kernel(borrow=True)
def prepare(sample, w):
    """Sort a new sample by the features that may have to be sorted at nodes."""
    if sample.size[GROUPS] > MOST_LIMITS:
        for f in range(len(w.order)):
            if sample.levels[f] > MOST_LIMITS:
                sort(sample, f, w.right_tests, w.places[f], w.scratch)


@kernel(glue=True, borrow=True)
def _split(f, sample, node, floor, w):
    """Return the best split of a node by one feature; see `choose_feature`."""
    m = node.stop - node.first
    own = (m + LANES - 1) // LANES
    all_levels = (sample.levels[f] + LANES - 2) // LANES
    if min(own, all_levels) * LANES > MOST_LIMITS:
        return split_in_order(f, sample, node, w.places[f], floor, w.candidates)
    codes, ranks = w.candidates.codes, sample.ranks[f]
    for i in range(np.uint64(m)):
        codes[i] = ranks[node.rows[np.uint64(node.first) + i] & np.uint32(0xFFFF)]
    for i in range(np.uint64(m), np.uint64(own * LANES)):
        codes[i] = 65535
    few = all_levels < own
    limits, blocks = (w.limits, all_levels) if few else (codes, own)
    return split_at(limits, blocks, node, floor, w.candidates)


@kernel(borrow=True)
def _part_class(rows, first, stop, x, z, ranks, limit, high, right_rows):
    """Move one class's rows that go left to ``rows[x:]``, the others to ``right_rows[z:]``.

    Parameters
    ----------
    rows, first, stop
        Entries of the class: a row, and its weight in the upper half.
    x, z
        Where the next row goes on the left, and in `right_rows`.
    ranks, limit
        Of the feature, and the largest that goes left.
    high
        The least rank that has gone right.
    right_rows
        Written to.

    Returns
    -------
    x, z
        Where the next row goes on either side.
    weight
        Of the rows that went left.
    high
        The least rank that went right, or `high` if that is less.
    """
    weight = np.uint64(0)
    for i in range(first, stop):
        entry = rows[i]
        rank = np.uint64(ranks[entry & np.uint32(0xFFFF)])
        right = (limit - rank) >> np.uint64(63)
        rows[x] = entry
        right_rows[z] = entry
        x += np.uint64(1) - right
        z += right
        weight += np.uint64(entry >> np.uint32(16)) & (right - np.uint64(1))
        high = min(high, rank | (right - np.uint64(1)))
    return x, z, weight, high


@kernel(glue=True, borrow=True)
def _part_rows(sample, w, f, low, left, right):
    """Part the rows of the node in hand into two waiting nodes; returns the right one's least rank.

    Parameters
    ----------
    sample, w
        The training set and the workspace.
    f, low
        The feature, and its largest rank that goes left.
    left, right
        Places of the waiting nodes.
    """
    classes = len(w.weights)
    segments, weights = w.waiting.rows, w.waiting.weights
    x, z = np.uint64(w.segments[0]), np.uint64(0)
    high = np.uint64(65535)
    for k in range(classes):
        segments[left, k], segments[right, k] = x, z
        first, stop = np.uint64(w.segments[k]), np.uint64(w.segments[k + 1])
        x, z, weight, high = _part_class(
            w.rows, first, stop, x, z, sample.ranks[f], np.uint64(low), high, w.right_rows
        )
        weights[left, k] = weight
        weights[right, k] = w.weights[k] - np.int64(weight)
    segments[left, classes], segments[right, classes] = x, z
    for i in range(z):
        w.rows[x + i] = w.right_rows[i]
    for k in range(classes + 1):
        segments[right, k] += np.int64(x)
    return np.int64(high)


@kernel(glue=True, borrow=True)
def _take_node(w, place, least):
    """Take a waiting node in hand; returns it, and whether it may be split."""
    classes = len(w.weights)
    total, heaviest = 0, 0
    for k in range(classes):
        weight = w.waiting.weights[place, k]
        w.weights[k] = weight
        total += weight
        heaviest = max(heaviest, weight)
    for k in range(classes + 1):
        w.segments[k] = w.waiting.rows[place, k]
    node = Node(
        rows=w.rows,
        first=w.segments[0],
        stop=w.segments[classes],
        segments=w.segments,
        weights=w.weights,
        total=total,
        least=least,
    )
    return node, heaviest < total and total >= 2 * least


@kernel(glue=True, borrow=True)
def _weigh_root(w):
    """Fill the class weights of the root, whose segments are there."""
    segments = w.waiting.rows
    for k in range(len(w.weights)):
        weight = 0
        for i in range(segments[ROOT, k], segments[ROOT, k + 1]):
            weight += np.int64(w.rows[i] >> np.uint32(16))
        w.waiting.weights[ROOT, k] = weight


@kernel(borrow=True)
def grow(sample, tests, rules, word, w):
    """Grow a tree; returns the number of leaves that test rows reach.

    Parameters
    ----------
    sample, tests, rules
        The training set, `Tests` and `Rules`.
    word
        The root's random word.
    w
        Workspace, `prepare`d for the sample; `w.rows`, ``w.waiting.rows[ROOT]`` and `w.tests` have
        the root's rows, where each class begins among them, and the test rows.
    """
    waiting = w.waiting
    leaves = 0
    _weigh_root(w)
    count = wait(waiting, ROOT, 0, len(tests.columns), word)
    while count > 0:
        place = count = count - 1
        begin, end = waiting.runs[place, FIRST], waiting.runs[place, STOP]
        word = waiting.words[place]
        node, splits = _take_node(w, place, rules.least)
        if node.stop - node.first <= LANES and node.total <= HEAVIEST:
            leaves = grow_small(sample, node, tests, begin, end, rules, word, w, leaves)
            continue
        f, best = -1, nothing(NONE)
        if splits:
            for i in range(np.uint64(node.stop - node.first)):
                w.candidates.weights[i] = w.rows[np.uint64(node.first) + i] >> np.uint32(16)
            f, best = choose_feature(_split, sample, node, rules.visits, word, w)
        if f < 0:
            leaves = add_leaf(w.leaves, leaves, begin, end, w.weights)
            continue
        high = _part_rows(sample, w, f, best.code, place, place + 1)
        code_of = sample.code_of[f]
        middle = part_tests(w, tests, f, begin, end, code_of[best.code], code_of[high])
        if middle > begin:
            count = wait(waiting, place, begin, middle, descend(word, LEFT))
        else:
            for k in range(len(w.weights)):
                waiting.weights[place, k] = waiting.weights[place + 1, k]
            for k in range(len(w.segments)):
                waiting.rows[place, k] = waiting.rows[place + 1, k]
        if end > middle:
            count = wait(waiting, count, middle, end, descend(word, RIGHT))
    return leaves
