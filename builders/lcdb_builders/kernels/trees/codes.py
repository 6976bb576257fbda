"""Training sets in integers: values as ranks, equal rows counted once.

A dataset is coded once: every feature's values become ranks (codes), rows that are equal in all
features and in class become one *group*, groups are in ascending order. A training set is then a
count per group. Its groups get numbers from 0, those of class 0 first, and their codes become
ranks among the values that the training set has.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import bit_count, lowest_bit

__all__ = ["GROUPS", "LARGEST", "ROWS", "Coded", "code", "release", "sample_of", "sort", "take"]

# Codes and numbers are kept in 16 bits; squares of counts in 31.
LARGEST = 40_000

# Entries of `Sample.size`.
GROUPS, ROWS = range(2)

#: A dataset: `group` (N,) of each row; `classes` (G,) and `codes` (d, G) uint16 of each group;
#: `levels` (d,) number of values, `values` (d, most levels).
Coded = namedtuple("Coded", "group classes codes levels values")

#: A training set: `size` (2,), its number of `GROUPS`, and of `ROWS` with their copies; `counts`
#: (G,) by group, zeros between cells; `groups` (size,) by number, `starts` (K + 1,) number at which
#: each class begins, `packed` (size,) count and class (``count | class << 16``); `ranks` (d, size)
#: uint16, `levels` (d,), and `code_of` (d, levels) each rank; `positions` (rows,) numbers in
#: ascending order of rows, each as often as it counts; `seen` and `before`, sets of small integers
#: in bits, and how many there are before each word of them.
Sample = namedtuple(
    "Sample", "size counts groups starts packed ranks levels code_of positions seen before"
)


def code(X: np.ndarray, y: np.ndarray) -> Coded:
    """Return a dataset in integers.

    Examples
    --------
    >>> coded = code(np.array([[2.5], [1.0], [2.5]]), np.array([0, 1, 0]))
    >>> coded.group, coded.codes, coded.values
    (array([1, 0, 1]), array([[0, 1]], dtype=uint16), array([[1. , 2.5]]))
    """
    order = np.lexsort((y, *X.T[::-1]))
    rows, labels = X[order], y[order]
    fresh = np.ones(len(y), bool)
    fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1) | (labels[1:] != labels[:-1])
    group = np.empty(len(y), np.int64)
    group[order] = fresh.cumsum() - 1
    distinct = [np.unique(column[fresh], return_inverse=True) for column in rows.T]
    levels = np.array([len(values) for values, _ in distinct])
    values = np.zeros((len(levels), levels.max()))
    for f, (own, _) in enumerate(distinct):
        values[f, : len(own)] = own
    codes = np.array([ranks for _, ranks in distinct], np.uint16)
    classes = labels[fresh].astype(np.int64)
    return Coded(group=group, classes=classes, codes=codes, levels=levels, values=values)


@kernel
def sample_of(coded, classes, rows):
    """Return room for training sets of at most so many rows."""
    d, groups = coded.codes.shape
    most = min(rows, groups) + 1
    return Sample(
        size=np.zeros(2, np.int64),
        counts=np.zeros(groups, np.int64),
        groups=np.zeros(most, np.int64),
        starts=np.zeros(classes + 1, np.int64),
        packed=np.zeros(most, np.uint32),
        ranks=np.zeros((d, most), np.uint16),
        levels=np.zeros(d, np.int64),
        code_of=np.zeros((d, most), np.uint16),
        positions=np.zeros(rows, np.uint16),
        seen=np.zeros(groups // 64 + 1, np.uint64),
        before=np.zeros(groups // 64 + 1, np.uint16),
    )


@kernel(borrow=True)
def take(s, coded, rows, weight, classes):
    """Fill a sample from rows, each as often as its weight; call `release` before the next."""
    copies = 0
    for i in range(np.uint64(len(rows))):
        row = np.uint64(rows[i])
        g = np.uint64(coded.group[row])
        s.counts[g] += weight[row]
        s.seen[g >> np.uint64(6)] |= np.uint64(1) << (g & np.uint64(63))
        copies += weight[row]
    m = _number(s, coded, classes)
    s.size[GROUPS], s.size[ROWS] = m, copies
    for f in range(len(coded.levels)):
        _rank(s, coded.codes[f], f, m)


@kernel(borrow=True)
def release(s):
    """Forget the counts of a sample."""
    for i in range(s.size[GROUPS]):
        s.counts[s.groups[i]] = 0


@kernel(glue=True, borrow=True)
def _number(s, coded, classes):
    """Give numbers to groups, class by class, in ascending order within each."""
    for k in range(classes + 1):
        s.starts[k] = 0
    for w in range(np.uint64(len(s.seen))):
        bits = s.seen[w]
        while bits != 0:
            g = (w << np.uint64(6)) + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            s.starts[coded.classes[g] + 1] += 1
    for k in range(classes):
        s.starts[k + 1] += s.starts[k]
    position = np.uint64(0)
    for w in range(np.uint64(len(s.seen))):
        bits = s.seen[w]
        s.seen[w] = 0
        while bits != 0:
            g = (w << np.uint64(6)) + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            k = coded.classes[g]
            number = s.starts[k]
            s.starts[k] += 1
            s.groups[number] = g
            s.packed[number] = s.counts[g] | (k << 16)
            for _ in range(s.counts[g]):
                s.positions[position] = number
                position += np.uint64(1)
    for k in range(classes, 0, -1):
        s.starts[k] = s.starts[k - 1]
    s.starts[0] = 0
    return s.starts[classes]


@kernel(glue=True, borrow=True)
def _rank(s, codes, f, m):
    """Rank a feature's codes among those that the sample has."""
    ranks, code_of = s.ranks[f], s.code_of[f]
    for i in range(np.uint64(m)):
        c = np.uint64(codes[np.uint64(s.groups[i])])
        ranks[i] = c
        s.seen[c >> np.uint64(6)] |= np.uint64(1) << (c & np.uint64(63))
    count = np.uint64(0)
    for w in range(np.uint64(len(s.seen))):
        bits = s.seen[w]
        s.before[w] = count
        while bits != 0:
            code_of[count] = (w << np.uint64(6)) + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            count += np.uint64(1)
    s.levels[f] = count
    for i in range(np.uint64(m)):
        c = np.uint64(ranks[i])
        w = c >> np.uint64(6)
        below = (np.uint64(1) << (c & np.uint64(63))) - np.uint64(1)
        ranks[i] = s.before[w] + bit_count(s.seen[w] & below)
    for w in range(np.uint64(len(s.seen))):
        s.seen[w] = 0


@kernel(borrow=True)
def sort(s, f, order, place, scratch):
    """Sort the numbers of a sample by one feature.

    Parameters
    ----------
    s, f
        Sample and feature.
    order
        Numbers in ascending order of their rank.
    place
        Place of each number in `order`.
    scratch
        Longer by 1 than there are ranks: where the next number of each rank goes.
    """
    ranks = s.ranks[f]
    m = s.size[GROUPS]
    for r in range(s.levels[f] + 1):
        scratch[r] = 0
    for i in range(np.uint64(m)):
        scratch[np.uint64(ranks[i]) + np.uint64(1)] += 1
    for r in range(s.levels[f]):
        scratch[r + 1] += scratch[r]
    for i in range(np.uint64(m)):
        spot = np.uint64(scratch[ranks[i]])
        scratch[ranks[i]] += 1
        order[spot] = i
        place[i] = spot
