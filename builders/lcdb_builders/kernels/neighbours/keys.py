"""Labels of many columns at a time by the nearest of some rows: minima of sixteen-bit keys.

A key of a column and a row is the row's rank among the different distances of the column, then
whether rows of several classes are as near, then the row's class. The least key of the rows that
were drawn has the label of a column, except where several classes are as near: there the row that
was drawn first is looked for.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.bits import bit_count
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import LANES, choose, load, marks, spread, zeros

__all__ = ["Parts", "count_by_key", "key_width", "label_bits", "parts_of"]

# Columns whose least keys are found at a time.
CHUNK = 2 * LANES
FARTHEST = np.uint16(2**16 - 1)

#: Columns in parts of one owner within `LANES`: those of the columns from ``LANES * b`` are
#: ``begin[b]:begin[b + 1]``; `owner`, and its columns' `bits`, of each part. `held` (blocks,) bits
#: of columns that do not count. `start` (rows,) where the keys of each drawn row are.
Parts = namedtuple("Parts", ["begin", "owner", "bits", "held", "start"])


def key_width(columns: int) -> int:
    """Return a number of columns rounded up to whole chunks."""
    return (columns + CHUNK - 1) // CHUNK * CHUNK


@kernel(inline=True, borrow=True)
def label_bits(classes):
    """Return how many bits of a key are the class."""
    bits = 1
    while 1 << bits < classes:
        bits += 1
    return bits


def parts_of(owner: np.ndarray, rows: int) -> Parts:
    """Return columns in parts, and room for draws of so many rows.

    Examples
    --------
    >>> parts = parts_of(np.repeat([0, 2], [30, 4]), rows=10)
    >>> parts.begin, parts.owner, [hex(bits) for bits in parts.bits]
    (array([0, 2, 3]), array([0, 2, 2]), ['0x3fffffff', '0xc0000000', '0x3'])
    """
    size = len(owner)
    column = np.arange(size)
    first = np.flatnonzero((column % LANES == 0) | (np.diff(owner, prepend=-1) != 0))
    bits = ((1 << np.diff(first, append=size)) - 1) << first % LANES
    begin = np.searchsorted(first, np.arange(0, key_width(size) + LANES, LANES))
    return Parts(
        begin,
        owner[first],
        bits.astype(np.uint32),
        np.zeros(len(begin) - 1, np.uint32),
        np.zeros(rows, np.int64),
    )


@kernel(inline=True, borrow=True)
def _least(a, b):
    return choose(a <= b, a, b)


@kernel(inline=True, borrow=True)
def _first_drawn(keys, start, n, at, label, least, mask):
    """Return labels of the first drawn rows that are as near as those of the least keys."""
    limit = least - label + mask
    for i in range(n - 1, -1, -1):
        key = load(keys, start[np.uint64(i)] + at)
        label = choose(key <= limit, key & mask, label)
    return label


@kernel(inline=True, borrow=True)
def _count(keys, least, b, n, parts, confusion):
    """Count the columns of a block by the labels in their least keys."""
    classes = confusion.shape[1]
    bits = label_bits(classes)
    several = spread(np.uint16(1 << bits), least)
    mask = spread(np.uint16((1 << bits) - 1), least)
    label = least & mask
    free = ~parts.held[b]
    if marks((least & several) == several) & free != 0:
        label = _first_drawn(keys, parts.start, n, b * LANES, label, least, mask)
    for c in range(classes):
        mine = marks(label == spread(np.uint16(c), label)) & free
        for p in range(parts.begin[b], parts.begin[b + 1]):
            confusion[parts.owner[p], c] += bit_count(mine & parts.bits[p])


@kernel(borrow=True)
def count_by_key(task, columns, table, drawn, parts, confusion):
    """Add columns to their owners' rows of the confusion matrices, by the class of the nearest row.

    Parameters
    ----------
    task, columns, table
        Where rows are; the table has keys.
    drawn
        Rows in the order in which they were drawn; not one of them may count as a column, unless
        test sets are constant.
    parts
        The columns, and workspace.
    confusion
        (owners, K), added to.
    """
    keys = table.keys
    start = parts.start
    width = len(parts.held) * LANES
    for i in range(len(drawn)):
        start[i] = table.slot[drawn[i]] * width
    if columns.varying:
        for b in range(len(parts.held)):
            parts.held[b] = 0
        for i in range(len(drawn)):
            t = np.uint64(table.own[drawn[i]])
            parts.held[t // np.uint64(LANES)] |= np.uint32(1) << np.uint32(t % np.uint64(LANES))
    for at in range(0, width, CHUNK):
        low = spread(FARTHEST, zeros(FARTHEST))
        high = low
        for i in range(len(drawn)):
            low = _least(low, load(keys, start[np.uint64(i)] + at))
            high = _least(high, load(keys, start[np.uint64(i)] + at + LANES))
        b = at // LANES
        _count(keys, low, b, len(drawn), parts, confusion)
        _count(keys, high, b + 1, len(drawn), parts, confusion)
