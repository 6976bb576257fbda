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

from lcdb_builders.kernels.core.bits import lowest_bit
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
    marks,
    of_bits,
    spread,
    store,
    weight_up_to,
    zeros,
)

__all__ = [
    "CONSTANT",
    "NONE",
    "Bench",
    "Split",
    "bench",
    "best_of",
    "exceeds",
    "split_at",
    "split_in_order",
]

#: Workspace: `codes` and `weights` of the node's rows, grouped by class; candidates (`left`,
#: `squares` on both sides, `limits`); `set_bits` and `entries` by place, for sorting;
#: `held`, a count per class.
Bench = namedtuple(
    "Bench",
    [
        "codes",
        "weights",
        "left",
        "left_squares",
        "right_squares",
        "limits",
        "set_bits",
        "entries",
        "held",
    ],
)
#: Gain as a fraction and in single precision, and `code`: rows with at most this code go left.
#: Without a split, `code` is `NONE`, or `CONSTANT` if all rows have the same.
Split = namedtuple("Split", ["numerator", "denominator", "gain", "code"])

NONE = np.int64(-1)
CONSTANT = np.int64(-2)
# Relative error of a gain in single precision is below 3e-7.
NEAR = np.float32(1.0 - 1e-6)
# Up to this weight, different fractions have different images in single precision: they differ by
# at least 16 / weight**5 of the larger.
SINGLE = 42


@kernel
def bench(rows, classes):
    """Return the workspace for nodes of so many rows and classes."""
    room = (rows // LANES + 6) * LANES
    return Bench(
        np.zeros(room, np.uint16),
        np.zeros(room, np.uint16),
        np.zeros(room, np.int32),
        np.zeros(room, np.int32),
        np.zeros(room, np.int32),
        np.zeros(room, np.uint16),
        np.zeros(room // 64 + 2, np.uint64),
        np.zeros(room, np.uint32),
        np.zeros(classes, np.int64),
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
    return Split(np.int64(0), np.int64(1), np.float32(0.0), code)


@kernel(glue=True, borrow=True)
def _exactly(left, left_squares, right_squares, limits, total, near, best, w):
    """Return the better of `best` and the best of the candidates in `near`, by fractions.

    Parameters
    ----------
    left, left_squares, right_squares, limits
        Of 32 candidates: weight on the left, sums of squared class weights, codes.
    total
        Weight of the node.
    near
        Bits of the candidates to look at.
    best
        The best before.
    w
        Workspace.
    """
    store(as_integer(left), w.left, 0)
    store(as_integer(left_squares), w.left_squares, 0)
    store(as_integer(right_squares), w.right_squares, 0)
    store(limits, w.limits, 0)
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
            best = Split(n, d, np.float32(n / d), code)
    return best


@kernel(inline=True, borrow=True)
def best_of(left, left_squares, right_squares, limits, total, leaf, floor, best, w):
    """Return the better of `best` and the best of 32 candidates of the same feature.

    Candidates with less gain than `floor` may be passed over.

    Parameters
    ----------
    left, left_squares, right_squares, limits
        Of the candidates: weight on the left, sums of squared class weights, codes.
    total, leaf
        Weight of the node, and the least of a leaf.
    floor, best
        Least gain, and the best before.
    w
        Workspace.
    """
    right = spread(total, left) - left
    least = spread(leaf, left)
    fl, fr = as_float(left), as_float(right)
    gain = (as_float(left_squares) * fr + as_float(right_squares) * fl) / (fl * fr)
    gain = choose((left >= least) & (right >= least), gain, spread(-1.0, gain))
    bits = as_bits(gain)
    highest = largest(bits)
    top = of_bits(highest)
    if highest < 0:
        if best.code == CONSTANT and leaf > 1:
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
            best = _exactly(left, left_squares, right_squares, limits, total, near, best, w)
    elif top >= floor:
        codes = as_integer(limits)
        behind = spread(65535, codes) - codes
        lowest = largest(choose(bits == spread(highest, bits), behind, spread(-1, codes)))
        code = np.int64(65535) - lowest
        if top > best.gain or code < best.code:
            best = Split(np.int64(0), np.int64(1), top, code)
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
def split_at(w, limits, blocks, segments, weights, total, leaf, floor):
    """Return the best split with a code among the limits.

    Parameters
    ----------
    w
        Workspace; `w.codes` and `w.weights` hold the node's rows, grouped by class.
    limits, blocks
        Codes to split at, and their number divided by 32.
    segments, weights
        (K + 1,) where each class begins among the rows; (K,) weight of each class.
    total, leaf
        Weight of the node, and least weight of a side.
    floor
        Single-precision gain of the best split of other features; if this feature's best one gains
        less, another split or `NONE` may be returned.
    """
    best = nothing(CONSTANT)
    for b in range(blocks):
        lane = load(limits, b * LANES)
        left = zeros(np.int32(0))
        left_squares = left
        right_squares = left
        for k in range(len(weights)):
            if segments[k] < segments[k + 1]:
                added = weight_up_to(w.codes, w.weights, segments[k], segments[k + 1], lane)
                others = spread(weights[k], added) - added
                left = left + added
                left_squares = left_squares + added * added
                right_squares = right_squares + others * others
        best = best_of(left, left_squares, right_squares, lane, total, leaf, floor, best, w)
    return best


@kernel(borrow=True)
def split_in_order(
    w, rows, first, stop, places, packed, second, ranks, weights, total, leaf, floor
):
    """Return the best split of a large node, by sorting its rows.

    Parameters
    ----------
    w
        Workspace.
    rows, first, stop
        The node's rows: ``rows[first:stop]`` are ``number | weight << 16``.
    places
        Place of each number in the feature's order.
    packed, second
        Class of each number (``packed >> 16``), and the first number of class 1.
    ranks
        The feature's rank of each number.
    weights, total, leaf, floor
        As for `split_at`.
    """
    for i in range(np.uint64(first), np.uint64(stop)):
        entry = rows[i]
        p = places[entry & np.uint32(0xFFFF)]
        w.entries[p] = entry
        w.set_bits[p >> np.uint32(6)] |= np.uint64(1) << np.uint64(p & np.uint32(63))
    if len(weights) == 2:
        _count_two_classes(w, second, ranks, weights)
    else:
        _count_classes(w, packed, ranks, weights)
    m = stop - first
    for i in range(np.uint64(m - 1)):  # equal values cannot be parted
        w.left[i] = w.left[i] if w.limits[i] != w.limits[i + np.uint64(1)] else np.int32(0)
    blocks = (m + LANES - 1) // LANES
    for i in range(np.uint64(m - 1), np.uint64(blocks * LANES)):
        w.left[i] = 0
    best = nothing(CONSTANT)
    for b in range(blocks):
        lane = b * LANES
        left_squares, right_squares = load(w.left_squares, lane), load(w.right_squares, lane)
        limits = load(w.limits, lane)
        best = best_of(
            load(w.left, lane), left_squares, right_squares, limits, total, leaf, floor, best, w
        )
    return best


@kernel(glue=True, borrow=True)
def _count_two_classes(w, second, ranks, weights):
    """Go through the set bits, clear them, and count both classes up to each row."""
    i, left, ones = np.uint64(0), np.uint64(0), np.uint64(0)
    begin = np.uint64(second)
    for q in range(np.uint64(len(w.set_bits))):
        bits = w.set_bits[q]
        w.set_bits[q] = 0
        while bits != 0:
            entry = w.entries[(q << np.uint64(6)) + lowest_bit(bits)]
            bits &= bits - np.uint64(1)
            number, weight = entry & np.uint32(0xFFFF), np.uint64(entry >> np.uint32(16))
            left += weight
            ones += weight & (((number - begin) >> np.uint64(63)) - np.uint64(1))
            w.left[i], w.left_squares[i], w.limits[i] = left, ones, ranks[number]
            i += np.uint64(1)
    zeros, ones = np.int32(weights[0]), np.int32(weights[1])
    for j in range(i):
        a1 = w.left_squares[j]
        a0 = w.left[j] - a1
        b0, b1 = zeros - a0, ones - a1
        w.left_squares[j] = a0 * a0 + a1 * a1
        w.right_squares[j] = b0 * b0 + b1 * b1


@kernel(glue=True, borrow=True)
def _count_classes(w, packed, ranks, weights):
    """Do the same for any number of classes, keeping sums of squares up to date."""
    whole = np.int64(0)
    for k in range(len(weights)):
        w.held[k] = 0
        whole += weights[k] * weights[k]
    i, left, squares, cross = np.uint64(0), np.int64(0), np.int64(0), np.int64(0)
    for q in range(np.uint64(len(w.set_bits))):
        bits = w.set_bits[q]
        w.set_bits[q] = 0
        while bits != 0:
            entry = w.entries[(q << np.uint64(6)) + lowest_bit(bits)]
            bits &= bits - np.uint64(1)
            number, weight = entry & np.uint32(0xFFFF), np.int64(entry >> np.uint32(16))
            k = packed[number] >> np.uint32(16)
            a = w.held[k]
            squares += weight * (2 * a + weight)
            cross += weight * weights[k]
            left += weight
            w.held[k] = a + weight
            w.left[i], w.left_squares[i], w.limits[i] = left, squares, ranks[number]
            w.right_squares[i] = whole - 2 * cross + squares
            i += np.uint64(1)
