"""SAMME on histograms that only misclassified rows change.

Row weights are integers (`lcdb_builders.reference.boosting`), so a histogram of them can be kept
from round to round: a round changes the weights of misclassified rows alone, and exact sums have no
drift. A feature has a bin per value, or, with many values, some hundred bins of several; splits
inside of such a bin are looked at only where a bound says that they could be the best.

Gains are computed as the reference does, operation by operation; bounds leave room for rounding.
"""

from __future__ import annotations

import math

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.trees.codes import GROUPS, ROWS, sort
from lcdb_builders.kernels.trees.gini import gains, largest_gain, mark_promising
from lcdb_builders.kernels.trees.histograms import (
    FEWEST_BINS,
    LEFT_SIDE,
    MOST_BINS,
    RIGHT_SIDE,
    ROWS_PER_BIN,
    bins_at_most,
)
from lcdb_builders.kernels.trees.node_streams import restore_order, visit

__all__ = ["boost"]

# As in the reference.
START, TOTAL, SHIFT, VOTE = 48, 52, 4, 40
RELATIVE, ABSOLUTE = 1e-9, 1e-15
# Bounds are scaled by this before they exclude a split.
MARGIN = 1.0 - 1e-6
# Larger than every rank.
NO_RANK = 65536


@kernel(borrow=True)
def _make_bins(w, sample):
    """Cut all features into bins, and find the bins of each row; returns the number of bins."""
    m = sample.size[GROUPS]
    most = min(MOST_BINS, max(FEWEST_BINS, m // ROWS_PER_BIN), bins_at_most(len(w.first)))
    free = 0
    for f in range(len(w.first)):
        ranks = sample.ranks[f]
        levels = sample.levels[f]
        w.first[f] = free
        if levels > most:
            sort(sample, f, w.order[f], w.missed, w.bin_of)
            w.bins[f] = _cut(w, ranks, w.order[f], free, m, most)
        else:
            w.bins[f] = levels
            for r in range(levels):
                w.rank[free + r] = r
                w.coarse[free + r] = False
                w.bin_of[r] = free + r
        w.of[free : free + w.bins[f]] = f
        w.begins[free : free + w.bins[f]] = False
        w.begins[free] = True
        for i in range(np.uint64(m)):
            w.index[i, f] = w.bin_of[ranks[i]]
        free += w.bins[f]
    return free


@kernel(glue=True, borrow=True)
def _cut(w, ranks, order, free, m, most):
    """Cut a feature's order into bins of about equally many rows; returns their number.

    Parameters
    ----------
    w
        `Histograms`, of which what is known of these bins and `bin_of` are filled.
    ranks, order
        Of the feature: ranks of all rows, and these in ascending order of them.
    free
        Number of the first bin.
    m, most
        How many rows, and how many bins at most.
    """
    bin_ = free - 1
    target, rank = -1, -1
    for i in range(m):
        r = np.int64(ranks[order[i]])
        if r == rank:
            continue
        rank = r
        if i * most // m != target:
            target = i * most // m
            if bin_ >= free:
                w.place_stop[bin_] = i
            bin_ += 1
            w.place[bin_] = i
            w.coarse[bin_] = False
        else:
            w.coarse[bin_] = True
        w.rank[bin_] = r
        w.bin_of[r] = bin_
    w.place_stop[bin_] = m
    return bin_ + 1 - free


@kernel(inline=True, borrow=True)
def _weigh_all(w, sample):
    """Fill the histogram from the mass of every row; returns the weight of all."""
    d = np.uint64(len(w.first))
    weight = np.int64(0)
    for k in range(len(w.total)):
        histogram = w.weight[k]
        histogram[:] = 0
        w.total[k] = 0
        for i in range(np.uint64(sample.starts[k]), np.uint64(sample.starts[k + 1])):
            mass = w.mass[i] * np.int64(sample.packed[i] & np.uint32(0xFFFF))
            w.total[k] += mass
            for f in range(d):
                histogram[w.index[i, f]] += mass
        weight += w.total[k]
    return weight


@kernel(inline=True, borrow=True)
def _sum_bins(w):
    """Sum up class weights from the left within each feature."""
    for k in range(len(w.total)):
        histogram, left = w.weight[k], w.left[k]
        for f in range(len(w.first)):
            first = np.uint64(w.first[f])
            sum_ = np.int64(0)
            for b in range(first, first + np.uint64(w.bins[f])):
                sum_ += histogram[b]
                left[b + np.uint64(1)] = sum_


@kernel(borrow=True)
def _list_promising(w, sample, bins):
    """List the splits inside of promising bins; returns their number."""
    count = 0
    for q in range(np.uint64((bins + 7) // 8)):
        if w.eight_promising[q] != 0:
            first = np.int64(q) * 8
            for b in range(first, min(first + 8, bins)):
                if w.promising[b]:
                    count = _list_inside(w, sample, b, count)
    return count


@kernel(inline=True, borrow=True)
def _list_inside(w, sample, b, count):
    """Append the splits inside of a bin to the candidates; returns their number."""
    classes = len(w.total)
    f = w.of[b]
    order, ranks = w.order[f], sample.ranks[f]
    first, stop = np.uint64(w.place[b]), np.uint64(w.place_stop[b])
    filled, before = np.uint64(count), ranks[order[first]]
    for k in range(classes):
        w.side[LEFT_SIDE, k] = 0 if w.begins[b] else w.left[k, b]
    if classes == 2:  # in registers, and without a branch that is guessed wrong every other time
        zeros, ones = w.side[LEFT_SIDE, 0], w.side[LEFT_SIDE, 1]
        for place in range(first, stop):
            i = np.uint64(order[place])
            w.inner[0, filled], w.inner[1, filled] = zeros, ones
            w.inner_of[filled], w.inner_rank[filled] = f, before
            filled += np.uint64(ranks[i] != before)
            before = ranks[i]
            mass = w.mass[i] * np.int64(sample.packed[i] & np.uint32(0xFFFF))
            of_ones = mass & -np.int64(sample.packed[i] >> np.uint32(16))
            zeros, ones = zeros + mass - of_ones, ones + of_ones
        return np.int64(filled)
    for place in range(first, stop):
        i = np.uint64(order[place])
        rank = ranks[i]
        if rank != before:
            for k in range(classes):
                w.inner[k, filled] = w.side[LEFT_SIDE, k]
            w.inner_of[filled], w.inner_rank[filled] = f, before
            before = rank
            filled += np.uint64(1)
        pair = sample.packed[i]
        mass = w.mass[i] * np.int64(pair & np.uint32(0xFFFF))
        w.side[LEFT_SIDE, pair >> np.uint32(16)] += mass
    return np.int64(filled)


@kernel(inline=True, borrow=True)
def _search(w, sample, bins, coarse, weight):
    """Compute gains of all splits that might be the best.

    Returns
    -------
    best
        The largest gain.
    inside
        Number of candidates inside of coarse bins.
    """
    _sum_bins(w)
    gains(w.left, 1, bins, weight, w.share, w.sums, w.gain)
    best = largest_gain(w.gain, bins)
    inside = 0
    if coarse:
        mark_promising(w, bins, weight, best * MARGIN - ABSOLUTE)
        inside = _list_promising(w, sample, bins)
        gains(w.inner, 0, inside, weight, w.share, w.sums, w.inner_gain)
        best = max(best, largest_gain(w.inner_gain, inside))
    return best, inside


@kernel(inline=True, borrow=True)
def _choose(w, sample, bins, coarse, weight, word):
    """Return feature and rank of the best split; feature -1 if there is none.

    Parameters
    ----------
    w, sample
        `Histograms`, whose `side` has the class weights left of it, and the training set.
    bins, coarse
        Number of bins, and whether some of them are coarse.
    weight
        Of all rows.
    word
        Random word of the stump.
    """
    d = len(w.first)
    if bins == d and not coarse:
        return -1, np.int64(0)
    best, inside = _search(w, sample, bins, coarse, weight)
    equal = best * (1.0 - RELATIVE) - ABSOLUTE
    w.lowest[:] = NO_RANK
    ties = 0
    for b in range(bins):
        if w.gain[b] >= equal:
            f = w.of[b]
            if b < w.first[f] + w.bins[f] - 1 and w.rank[b] < w.lowest[f]:
                ties += 1 if w.lowest[f] == NO_RANK else 0
                w.lowest[f], w.where[f] = w.rank[b], b
    for i in range(inside):
        if w.inner_gain[i] >= equal:
            f = w.inner_of[i]
            if w.inner_rank[i] < w.lowest[f]:
                ties += 1 if w.lowest[f] == NO_RANK else 0
                w.lowest[f], w.where[f] = w.inner_rank[i], -1 - i
    chosen = _first_of(w, ties, word)
    where = w.where[chosen]
    for k in range(len(w.total)):
        w.side[LEFT_SIDE, k] = w.left[k, where + 1] if where >= 0 else w.inner[k, -1 - where]
    return chosen, w.lowest[chosen]


@kernel(inline=True, borrow=True)
def _first_of(w, ties, word):
    """Return the feature among the best that comes first, in random order if there are several."""
    d = len(w.first)
    if ties == 1:
        for f in range(d):
            if w.lowest[f] < NO_RANK:
                return f
    rest = word
    visited, chosen = 0, 0
    while visited < d:
        rest = visit(visited, word, rest, w.visits, w.swaps)
        chosen = w.visits[visited]
        visited += 1
        if w.lowest[chosen] < NO_RANK:
            break
    restore_order(visited, w.visits, w.swaps)
    return chosen


@kernel(inline=True, borrow=True)
def _majority(weights):
    """Return the first class whose weight equals the largest."""
    largest = np.int64(0)
    for k in range(len(weights)):
        largest = max(largest, weights[k])
    least = np.float64(largest) * (1.0 - RELATIVE)
    for k in range(len(weights)):
        if np.float64(weights[k]) >= least:
            return k
    return 0


@kernel(inline=True, borrow=True)
def _find_missed(w, sample, f, rank, left, right, classes):
    """List the rows that a stump gets wrong; returns their number.

    Parameters
    ----------
    w, sample
        `Histograms`, whose `missed` is filled, and the training set.
    f, rank
        The feature, and its largest rank on the left.
    left, right, classes
        Labels on both sides, of how many.
    """
    count = np.uint64(0)
    for k in range(classes):
        begin, end = np.uint64(sample.starts[k]), np.uint64(sample.starts[k + 1])
        if k != left and k != right:
            for i in range(begin, end):
                w.missed[count] = i
                count += np.uint64(1)
        elif left != right:
            ranks = sample.ranks[f]
            limit = np.uint64(rank)
            goes_right = np.uint64(1 if k == left else 0)
            for i in range(begin, end):
                w.missed[count] = i
                count += np.uint64(((limit - np.uint64(ranks[i])) >> np.uint64(63)) == goes_right)
    return count


@kernel(inline=True, borrow=True)
def _raise_missed(w, sample, count, factor):
    """Multiply the weights of the listed rows; returns by how much the weight of all grows."""
    d = np.uint64(len(w.first))
    for q in range(count):
        i = np.uint64(w.missed[q])
        mass = w.mass[i]
        raised = np.int64(np.rint(np.float64(mass) * factor))
        w.mass[i] = raised
        w.change[q] = (raised - mass) * np.int64(sample.packed[i] & np.uint32(0xFFFF))
    grown = np.int64(0)
    q = np.uint64(0)
    for k in range(len(w.total)):
        histogram = w.weight[k]
        stop = np.uint64(sample.starts[k + 1])
        moved = np.int64(0)
        while q < count and np.uint64(w.missed[q]) < stop:
            i = np.uint64(w.missed[q])
            change = w.change[q]
            moved += change
            for f in range(d):
                histogram[w.index[i, f]] += change
            q += np.uint64(1)
        w.total[k] += moved
        grown += moved
    return grown


@kernel(borrow=True)
def boost(sample, stumps, words, w, fitted):
    """Fit an ensemble; returns its number of stumps, 0 if there is nothing to tell apart.

    Each stump is the best for the rows as the stumps before it have weighted them.

    Parameters
    ----------
    sample
        Training set.
    stumps, words
        Largest number of stumps, and a random word for each.
    w
        `Histograms`.
    fitted
        An `Ensemble`, filled.
    """
    m = sample.size[GROUPS]
    classes = len(w.total)
    present = 0
    for k in range(classes):
        present += 1 if sample.starts[k + 1] > sample.starts[k] else 0
    if present < 2:
        return 0
    bins = _make_bins(w, sample)
    coarse = False
    for f in range(len(w.bins)):
        coarse = coarse or w.bins[f] < sample.levels[f]
    length = 0
    while sample.size[ROWS] >> length:
        length += 1
    w.mass[:m] = np.int64(1) << max(START - length, 0)
    weight = _weigh_all(w, sample)
    for t in range(stumps):
        one = 1.0 / weight
        for k in range(classes):
            w.share[k] = np.float64(w.total[k]) * one
            w.side[LEFT_SIDE, k] = w.total[k]
        f, rank = _choose(w, sample, bins, coarse, weight, words[t])
        for k in range(classes):
            w.side[RIGHT_SIDE, k] = w.total[k] - w.side[LEFT_SIDE, k]
        left = _majority(w.side[LEFT_SIDE])
        right = left if f < 0 else _majority(w.side[RIGHT_SIDE])
        error = weight - w.side[LEFT_SIDE, left] - w.side[RIGHT_SIDE, right]
        limit = np.float64(weight) * (1.0 - 1.0 / present) * (1.0 - RELATIVE)
        if error > 0 and np.float64(error) >= limit:
            return t
        fitted.feature[t], fitted.left[t], fitted.right[t] = f, left, right
        if f >= 0:
            fitted.low[t] = sample.code_of[f, rank]
            fitted.high[t] = sample.code_of[f, rank + 1]
        if error == 0:
            fitted.vote[t] = np.int64(1) << VOTE
            return t + 1
        odds = np.float64(weight - error) / np.float64(error)
        vote = math.log(odds) + math.log(np.float64(present - 1))
        fitted.vote[t] = np.int64(np.rint(vote * 2.0**VOTE))
        count = _find_missed(w, sample, max(f, 0), rank, left, right, classes)
        weight += _raise_missed(w, sample, count, odds * np.float64(present - 1))
        if weight > np.int64(1) << TOTAL:
            weight = _shrink(w, sample, weight)
    return stumps


@kernel(glue=True, borrow=True)
def _shrink(w, sample, weight):
    """Divide all weights until they are within their bound; returns the weight of all."""
    while weight > np.int64(1) << TOTAL:
        weight = np.int64(0)
        for i in range(sample.size[GROUPS]):
            w.mass[i] = (w.mass[i] + ((1 << SHIFT) - 1)) >> SHIFT
            weight += w.mass[i] * np.int64(sample.packed[i] & np.uint32(0xFFFF))
    return _weigh_all(w, sample)
