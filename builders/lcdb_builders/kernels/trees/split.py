"""The best split of one feature in one node, by exact comparison.

A candidate has three counts: weight on the left, and the sums of squared class weights on both
sides. Gini gains are fractions of these integers. Single precision finds the largest; where two
fractions might have one image in it, the fractions themselves are compared.

Candidates are counted in two ways. `split_at` takes lots of 32 limits at once: the values of a
small node's own rows, or all values of a feature with few. `split_in_order` sorts the rows of a
large node by setting bits at their places in the order of the whole training set.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import below
from lcdb_builders.kernels.core.simd import (
    LANES,
    as_bits,
    as_float,
    as_integer,
    choose,
    largest,
    load,
    lowest_bit,
    marks,
    of_bits,
    spread,
    store,
    zeros,
)
from lcdb_builders.kernels.trees.node_streams import restore_order, visit
from lcdb_builders.kernels.trees.weights import weight_up_to

__all__ = [
    "CONSTANT",
    "NONE",
    "Candidates",
    "Lot",
    "Node",
    "best_of",
    "candidates",
    "choose_feature",
    "nothing",
    "split_at",
    "split_in_order",
]

#: Workspace: `codes` and `weights` of the node's rows, grouped by class; of each candidate, the
#: weight on the `left`, sums of squared class weights (`left_squares`, `right_squares`), and its
#: code (`limits`); `set_bits` and `entries` by place, for sorting; `counts` by class.
Candidates = namedtuple(
    "Candidates", "codes weights left left_squares right_squares limits set_bits entries counts"
)
#: Thirty-two candidates in lanes.
Lot = namedtuple("Lot", "left left_squares right_squares limits")
#: A node in hand: its entries of `rows`, from `first` to `stop`, of which those of class k begin at
#: ``segments[k]``; their `weights` by class and in `total`; and the `least` weight of a leaf.
Node = namedtuple("Node", "rows first stop segments weights total least")
#: Gain as a fraction and in single precision, and `code`: rows with at most this code go left.
#: Without a split, `code` is `NONE`, or `CONSTANT` if all rows have the same.
Split = namedtuple("Split", "numerator denominator gain code")

NONE = np.int64(-1)
CONSTANT = np.int64(-2)
# Relative error of a gain in single precision is below 3e-7.
NEAR = np.float32(1.0 - 1e-6)
# Up to this weight, different fractions have different images in single precision: they differ by
# at least 16 / weight**5 of the larger.
SINGLE = 42


@kernel
def candidates(rows, classes):
    """Return the workspace for nodes of so many rows and classes."""
    length = (rows // LANES + 6) * LANES
    return Candidates(
        codes=np.zeros(length, np.uint16),
        weights=np.zeros(length, np.uint16),
        left=np.zeros(length, np.int32),
        left_squares=np.zeros(length, np.int32),
        right_squares=np.zeros(length, np.int32),
        limits=np.zeros(length, np.uint16),
        set_bits=np.zeros(length // 64 + 2, np.uint64),
        entries=np.zeros(length, np.uint32),
        counts=np.zeros(classes, np.int64),
    )


@kernel(inline=True, borrow=True)
def exceeds(a, b, c, d):
    """Whether a / b > c / d, for positive integers below 2**63."""
    left, right = np.uint64(a), np.uint64(c)
    high_left, high_right = below(left, d), below(right, b)
    if high_left != high_right:
        return high_left > high_right
    return left * np.uint64(d) > right * np.uint64(b)


@kernel(inline=True, borrow=True)
def nothing(code):
    """Return the split that every other exceeds."""
    return Split(numerator=np.int64(0), denominator=np.int64(1), gain=np.float32(0.0), code=code)


@kernel(glue=True, borrow=True)
def _exactly(lot, total, near, best, w):
    """Return the better of `best` and the best of the candidates with bits in `near`, exactly."""
    store(as_integer(lot.left), w.left, 0)
    store(as_integer(lot.left_squares), w.left_squares, 0)
    store(as_integer(lot.right_squares), w.right_squares, 0)
    store(lot.limits, w.limits, 0)
    while near != 0:
        i = lowest_bit(near)
        near &= near - np.uint32(1)
        l = np.int64(w.left[i])
        r = total - l
        n, d = w.left_squares[i] * r + w.right_squares[i] * l, l * r
        code = np.int64(w.limits[i])
        if exceeds(n, d, best.numerator, best.denominator) or (
            code < best.code and not exceeds(best.numerator, best.denominator, n, d)
        ):
            best = Split(numerator=n, denominator=d, gain=np.float32(n / d), code=code)
    return best


@kernel(inline=True, borrow=True)
def best_of(lot, node, floor, best, w):
    """Return the better of `best` and the best of 32 candidates of the same feature.

    Candidates with less gain than `floor` may be passed over.
    """
    left, total = lot.left, node.total
    right = spread(total, left) - left
    least = spread(node.least, left)
    fl, fr = as_float(left), as_float(right)
    gain = (as_float(lot.left_squares) * fr + as_float(lot.right_squares) * fl) / (fl * fr)
    gain = choose((left >= least) & (right >= least), gain, spread(-1.0, gain))
    bits = as_bits(gain)
    highest = largest(bits)
    top = of_bits(highest)
    if highest < 0:
        if best.code == CONSTANT and node.least > 1:
            one = spread(1, left)
            if marks((left >= one) & (right >= one)) != 0:
                best = nothing(NONE)
        return best
    if best.code == CONSTANT:
        best = nothing(NONE)
    floor = max(floor, best.gain)
    if total > SINGLE:
        if top >= floor * NEAR:
            near = marks(gain >= spread(top * NEAR, gain))
            best = _exactly(lot, total, near, best, w)
    elif top >= floor:
        codes = as_integer(lot.limits)
        behind = spread(65535, codes) - codes
        lowest = largest(choose(bits == spread(highest, bits), behind, spread(-1, codes)))
        code = np.int64(65535) - lowest
        if top > best.gain or code < best.code:
            best = Split(numerator=np.int64(0), denominator=np.int64(1), gain=top, code=code)
    return best


@kernel(inline=True, borrow=True)
def is_better(split, best, total):
    """Whether a split gains more than the best one so far of other features."""
    if total <= SINGLE:
        return split.gain > best.gain
    return exceeds(split.numerator, split.denominator, best.numerator, best.denominator)


@kernel(inline=True, borrow=True)
def is_perfect(split, total):
    """Whether both sides of a split have one class: nothing gains more."""
    if total <= SINGLE:
        return split.gain == np.float32(total)
    return split.numerator == total * split.denominator


@kernel(glue=True, borrow=True)
def choose_feature(split, sample, node, visits, word, w):
    """Return the feature that parts a node, -1 if none does, and the split.

    Parameters
    ----------
    split
        What returns the best split by one feature: ``split(f, sample, node, floor, w)``, where less
        gain than `floor` need not be told apart from none.
    sample, node
        The training set, and the node.
    visits
        How many features are looked at; more, as long as all of them are constant.
    word
        The node's random word.
    w
        Workspace of the tree.
    """
    best_feature, best = -1, nothing(NONE)
    visited, varying = 0, False
    rest = word
    while visited < len(w.order) and (visited < visits or not varying):
        rest = visit(visited, word, rest, w.order, w.swaps)
        f = w.order[visited]
        visited += 1
        candidate = split(f, sample, node, best.gain, w)
        varying = varying or candidate.code != CONSTANT
        if candidate.code >= 0 and is_better(candidate, best, node.total):
            best_feature, best = f, candidate
            if is_perfect(candidate, node.total):
                break
    restore_order(visited, w.order, w.swaps)
    return best_feature, best


@kernel(glue=True, borrow=True)
def split_at(limits, blocks, node, floor, w):
    """Return a node's best split with a code among the limits.

    If that gains less than `floor`, in single precision, another split or `NONE` may be returned.

    Parameters
    ----------
    limits, blocks
        Codes to split at, and their number divided by 32.
    node, floor
        The node, and the gain of the best split of other features.
    w
        `Candidates`; `w.codes` and `w.weights` hold the node's rows, grouped by class.
    """
    best = nothing(CONSTANT)
    segments = node.segments
    for b in range(blocks):
        lane = load(limits, b * LANES)
        left = zeros(np.int32(0))
        left_squares = left
        right_squares = left
        for k in range(len(node.weights)):
            if segments[k] < segments[k + 1]:
                first, stop = segments[k] - node.first, segments[k + 1] - node.first
                added = weight_up_to(w.codes, w.weights, first, stop, lane)
                others = spread(node.weights[k], added) - added
                left = left + added
                left_squares = left_squares + added * added
                right_squares = right_squares + others * others
        lot = Lot(left=left, left_squares=left_squares, right_squares=right_squares, limits=lane)
        best = best_of(lot, node, floor, best, w)
    return best


@kernel(borrow=True)
def split_in_order(f, sample, node, places, floor, w):
    """Return the best split of a large node by one feature, by sorting its rows.

    Parameters
    ----------
    f, sample, node
        The feature, the training set, and the node.
    places
        Place of each number in the feature's order.
    floor
        As for `split_at`.
    w
        `Candidates`.
    """
    m = node.stop - node.first
    _sort(node, places, w)
    if len(node.weights) == 2:
        _count_two_classes(m, sample.starts[1], sample.ranks[f], node.weights, w)
    else:
        _count_classes(m, sample.packed, sample.ranks[f], node.weights, w)
    for i in range(np.uint64(m - 1)):  # equal values cannot be parted
        w.left[i] = w.left[i] if w.limits[i] != w.limits[i + np.uint64(1)] else np.int32(0)
    blocks = (m + LANES - 1) // LANES
    for i in range(np.uint64(m - 1), np.uint64(blocks * LANES)):
        w.left[i] = 0
    best = nothing(CONSTANT)
    for b in range(blocks):
        i = b * LANES
        left, limits = load(w.left, i), load(w.limits, i)
        left_squares, right_squares = load(w.left_squares, i), load(w.right_squares, i)
        lot = Lot(left=left, left_squares=left_squares, right_squares=right_squares, limits=limits)
        best = best_of(lot, node, floor, best, w)
    return best


@kernel(glue=True, borrow=True)
def _sort(node, places, w):
    """Fill `w.entries` with a node's rows by their places: the bits set there are gone through."""
    for i in range(np.uint64(node.first), np.uint64(node.stop)):
        entry = node.rows[i]
        p = places[entry & np.uint32(0xFFFF)]
        w.entries[p] = entry
        w.set_bits[p >> np.uint32(6)] |= np.uint64(1) << np.uint64(p & np.uint32(63))
    i = np.uint64(0)
    for q in range(np.uint64(len(w.set_bits))):
        bits = w.set_bits[q]
        w.set_bits[q] = 0
        while bits != 0:
            w.entries[i] = w.entries[(q << np.uint64(6)) + lowest_bit(bits)]
            bits &= bits - np.uint64(1)
            i += np.uint64(1)


@kernel(glue=True, borrow=True)
def _count_two_classes(m, second, ranks, weights, w):
    """Count the weight of both classes up to each of m sorted rows; class 1 begins at `second`."""
    left, ones = np.uint64(0), np.uint64(0)
    begin = np.uint64(second)
    for i in range(np.uint64(m)):
        entry = w.entries[i]
        number, weight = entry & np.uint32(0xFFFF), np.uint64(entry >> np.uint32(16))
        left += weight
        ones += weight & (((number - begin) >> np.uint64(63)) - np.uint64(1))
        w.left[i], w.left_squares[i], w.limits[i] = left, ones, ranks[number]
    zeros, ones = np.int32(weights[0]), np.int32(weights[1])
    for i in range(np.uint64(m)):
        a1 = w.left_squares[i]
        a0 = w.left[i] - a1
        b0, b1 = zeros - a0, ones - a1
        w.left_squares[i] = a0 * a0 + a1 * a1
        w.right_squares[i] = b0 * b0 + b1 * b1


@kernel(glue=True, borrow=True)
def _count_classes(m, packed, ranks, weights, w):
    """Do the same for any number of classes, keeping sums of squares up to date."""
    whole = np.int64(0)
    for k in range(len(weights)):
        w.counts[k] = 0
        whole += weights[k] * weights[k]
    left, squares, cross = np.int64(0), np.int64(0), np.int64(0)
    for i in range(np.uint64(m)):
        entry = w.entries[i]
        number, weight = entry & np.uint32(0xFFFF), np.int64(entry >> np.uint32(16))
        k = packed[number] >> np.uint32(16)
        a = w.counts[k]
        squares += weight * (2 * a + weight)
        cross += weight * weights[k]
        left += weight
        w.counts[k] = a + weight
        w.left[i], w.left_squares[i], w.limits[i] = left, squares, ranks[number]
        w.right_squares[i] = whole - 2 * cross + squares
