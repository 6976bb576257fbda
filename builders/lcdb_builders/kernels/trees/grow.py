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
from lcdb_builders.kernels.trees.codes import sort
from lcdb_builders.kernels.trees.node_streams import LEFT, RIGHT, descend, restore_order, visit
from lcdb_builders.kernels.trees.small_nodes import HEAVIEST, add_leaf, grow_twig, part_tests, twig
from lcdb_builders.kernels.trees.split import (
    CONSTANT,
    NONE,
    bench,
    is_better,
    is_perfect,
    nothing,
    split_at,
    split_in_order,
)

__all__ = ["Grove", "Leaves", "grove", "grow", "prepare"]

# Up to so many limits are tried in lots of 32; beyond, a node is sorted.
MOST_LIMITS = 128

#: Leaves reached: runs of `tests` from `first` to `stop`, and the class `weights` of each leaf.
Leaves = namedtuple("Leaves", ["first", "stop", "weights"])

#: Workspace. `bench` and `twig`; `limits`, all codes; `places` (d, rows) of numbers in the order
#: of features with many values; waiting nodes: `runs` of tests, `words`, `segments`
#: (where each class begins among `rows`) and class `weights`; of the node in hand the same, and
#: `local_segments` counted from its own begin; room to part rows and tests; `order` and `swaps` of
#: features; the `leaves`.
Grove = namedtuple(
    "Grove",
    [
        "bench",
        "twig",
        "limits",
        "places",
        "runs",
        "words",
        "segments",
        "weights",
        "node_segments",
        "local_segments",
        "node_weights",
        "row_room",
        "test_room",
        "room",
        "order",
        "swaps",
        "leaves",
    ],
)


@kernel
def grove(rows, tests, features, classes):
    """Return the workspace for training sets and test sets of at most these sizes."""
    depth = rows + 2
    return Grove(
        bench(rows, classes),
        twig(features, classes),
        np.arange(MOST_LIMITS + LANES).astype(np.uint16),
        np.zeros((features, rows), np.uint16),
        np.zeros((depth, 2), np.int64),
        np.zeros(depth, np.uint64),
        np.zeros((depth, classes + 1), np.int64),
        np.zeros((depth, classes), np.int64),
        np.zeros(classes + 1, np.int64),
        np.zeros(classes + 1, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(rows + 1, np.uint32),
        np.zeros(max(rows, tests) + 1, np.uint16),
        np.zeros(rows + 2, np.int64),
        np.arange(features),
        np.zeros(features, np.int64),
        Leaves(
            np.zeros(tests + 1, np.int64),
            np.zeros(tests + 1, np.int64),
            np.zeros((tests + 1, classes), np.int64),
        ),
    )


@kernel(borrow=True)
def prepare(sample, g):
    """Sort a new sample by the features that may have to be sorted at nodes."""
    if sample.size[0] > MOST_LIMITS:
        for f in range(len(g.order)):
            if sample.levels[f] > MOST_LIMITS:
                sort(sample, f, g.test_room, g.places[f], g.room)


@kernel(glue=True, borrow=True)
def _split(f, sample, rows, first, stop, g, total, leaf, floor):
    """Return the best split of a node by one feature.

    Parameters
    ----------
    f
        The feature.
    sample, rows, first, stop
        The training set, and which entries of `rows` are the node's.
    g
        Workspace of the tree.
    total, leaf
        Weight of the node, and the least of a leaf.
    floor
        Less gain is not worth a split.
    """
    w = g.bench
    m = stop - first
    own = (m + LANES - 1) // LANES
    all_levels = (sample.levels[f] + LANES - 2) // LANES
    ranks = sample.ranks[f]
    if min(own, all_levels) * LANES > MOST_LIMITS:
        return split_in_order(
            w,
            rows,
            first,
            stop,
            g.places[f],
            sample.packed,
            sample.starts[1],
            ranks,
            g.node_weights,
            total,
            leaf,
            floor,
        )
    for i in range(np.uint64(m)):
        w.codes[i] = ranks[rows[np.uint64(first) + i] & np.uint32(0xFFFF)]
    for i in range(np.uint64(m), np.uint64(own * LANES)):
        w.codes[i] = 65535
    few = all_levels < own
    limits = g.limits if few else w.codes
    blocks = all_levels if few else own
    return split_at(w, limits, blocks, g.local_segments, g.node_weights, total, leaf, floor)


@kernel(glue=True, borrow=True)
def _choose(sample, rows, first, stop, g, total, leaf, visits, word):
    """Return feature and rank of a node's split; feature -1 if there is none.

    Parameters
    ----------
    sample, rows, first, stop
        The training set, and which entries of `rows` are the node's.
    g
        Workspace of the tree.
    total, leaf
        Weight of the node, and the least of a leaf.
    visits
        How many features are looked at.
    word
        The node's random word.
    """
    d = len(g.order)
    best_f = -1
    best = nothing(NONE)
    visited = 0
    varying = False
    left = word
    for i in range(np.uint64(stop - first)):
        g.bench.weights[i] = rows[np.uint64(first) + i] >> np.uint32(16)
    while visited < d and (visited < visits or not varying):
        left = visit(visited, word, left, g.order, g.swaps)
        f = g.order[visited]
        visited += 1
        candidate = _split(f, sample, rows, first, stop, g, total, leaf, best.gain)
        varying = varying or candidate.code != CONSTANT
        if candidate.code >= 0 and is_better(candidate, best, total):
            best_f = f
            best = candidate
            if is_perfect(candidate, total):
                break
    restore_order(visited, g.order, g.swaps)
    return best_f, best.code


@kernel(borrow=True)
def _part_class(rows, first, stop, x, z, ranks, limit, high, room):
    """Move one class's rows that go left to ``rows[x:]``, the others to ``room[z:]``.

    Parameters
    ----------
    rows, first, stop
        Entries of the class: a row, and its weight in the upper half.
    x, z
        Where the next row goes on the left, and in `room`.
    ranks, limit
        Of the feature, and the largest that goes left.
    high
        The least rank that has gone right.
    room
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
        room[z] = entry
        x += np.uint64(1) - right
        z += right
        weight += np.uint64(entry >> np.uint32(16)) & (right - np.uint64(1))
        high = min(high, rank | (right - np.uint64(1)))
    return x, z, weight, high


@kernel(glue=True, borrow=True)
def _part_rows(sample, rows, g, f, low, left, right):
    """Part a node's rows into two waiting nodes; returns the least rank on the right."""
    classes = len(g.node_weights)
    x, z = np.uint64(g.node_segments[0]), np.uint64(0)
    high = np.uint64(65535)
    for k in range(classes):
        g.segments[left, k], g.segments[right, k] = x, z
        first, stop = np.uint64(g.node_segments[k]), np.uint64(g.node_segments[k + 1])
        x, z, weight, high = _part_class(
            rows, first, stop, x, z, sample.ranks[f], np.uint64(low), high, g.row_room
        )
        g.weights[left, k] = weight
        g.weights[right, k] = g.node_weights[k] - np.int64(weight)
    g.segments[left, classes], g.segments[right, classes] = x, z
    for i in range(z):
        rows[x + i] = g.row_room[i]
    for k in range(classes + 1):
        g.segments[right, k] += np.int64(x)
    return np.int64(high)


@kernel(glue=True, borrow=True)
def _take_node(g, node):
    """Take a waiting node in hand; returns its weight, and that of its heaviest class."""
    classes = len(g.node_weights)
    total, heaviest = 0, 0
    for k in range(classes):
        weight = g.weights[node, k]
        g.node_weights[k] = weight
        total += weight
        heaviest = max(heaviest, weight)
    first = g.segments[node, 0]
    for k in range(classes + 1):
        g.node_segments[k] = g.segments[node, k]
        g.local_segments[k] = g.segments[node, k] - first
    return total, heaviest


@kernel(borrow=True)
def grow(sample, rows, segments, tests, n_tests, test_codes, values, g, leaf, visits, word):
    """Grow a tree; returns the number of leaves that test rows reach.

    Parameters
    ----------
    sample
        The training set that the rows are numbers of.
    rows, segments
        Entries ``number | weight << 16``, grouped by class; where each class begins. Overwritten.
    tests, n_tests, test_codes
        Columns of test rows, and codes of each column (d, columns). Overwritten: in the order of
        leaves.
    values
        (d, levels) values of codes.
    g
        Workspace, `prepare`d for the sample.
    leaf, visits
        Least weight of a leaf, and features that a node visits.
    word
        The root's random word.
    """
    classes = len(g.node_weights)
    leaves = 0
    g.runs[0, 0], g.runs[0, 1] = 0, n_tests
    g.words[0] = word
    for k in range(classes):
        weight = 0
        for i in range(segments[k], segments[k + 1]):
            weight += np.int64(rows[i] >> np.uint32(16))
        g.weights[0, k] = weight
        g.segments[0, k] = segments[k]
    g.segments[0, classes] = segments[classes]
    waiting = 1
    while waiting > 0:
        node = waiting - 1
        waiting = node
        begin, end = g.runs[node, 0], g.runs[node, 1]
        word = g.words[node]
        total, heaviest = _take_node(g, node)
        first, stop = g.node_segments[0], g.node_segments[classes]
        if stop - first <= LANES and total <= HEAVIEST:
            leaves = grow_twig(
                sample,
                rows,
                g.node_segments,
                g.node_weights,
                tests,
                begin,
                end,
                test_codes,
                values,
                g,
                leaf,
                visits,
                word,
                leaves,
            )
            continue
        f, low = -1, np.int64(0)
        if heaviest < total and total >= 2 * leaf:
            f, low = _choose(sample, rows, first, stop, g, total, leaf, visits, word)
        if f < 0:
            leaves = add_leaf(g.leaves, leaves, begin, end, g.node_weights, classes)
            continue
        high = _part_rows(sample, rows, g, f, low, node, node + 1)
        code_of = sample.code_of[f]
        middle = part_tests(
            tests, begin, end, test_codes[f], code_of[low], code_of[high], values[f], g.test_room
        )
        if middle > begin:
            g.runs[node, 0], g.runs[node, 1] = begin, middle
            g.words[node] = descend(word, LEFT)
            waiting += 1
        else:
            for k in range(classes):
                g.weights[node, k] = g.weights[node + 1, k]
            for k in range(classes + 1):
                g.segments[node, k] = g.segments[node + 1, k]
        if end > middle:
            g.runs[waiting, 0], g.runs[waiting, 1] = middle, end
            g.words[waiting] = descend(word, RIGHT)
            waiting += 1
    return leaves
