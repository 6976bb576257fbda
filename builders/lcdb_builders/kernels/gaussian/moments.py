"""Counts, means and scatter of weighted rows by class: grown row by row, or from a whole draw.

Means are kept relative to the first row of a class, as the reference has them: integers stay exact,
and rows that are all equal have variance 0. The scatter is never formed, only its triangular root
(`roots`), or the deviations themselves.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.gaussian.qr import insert_row

__all__ = [
    "LDC",
    "NMC",
    "QDC",
    "add_draw",
    "add_row",
    "columns_of",
    "forget",
    "moments_of",
    "overall_mean",
]

# By the scatters that are factored: none, that of all classes together, one of each class.
NMC, LDC, QDC = range(3)

#: `counts` (K,) weights; `base` (K, d) first row of each class; `offsets` (K, d) sums relative to
#: it; `means` (K, d); `within` (d,) squared deviations from the class means; `distinct` (K,)
#: whether a class has two different rows; `roots` (0, 1 or K, d, d) triangular roots of scatters;
#: `row` (d,) workspace. Of a draw: `Z` (d, columns) deviations times root weights; `first` and
#: `stop` (K,), where each class stands in it, and `rows` (columns,), which rows those are.
Moments = namedtuple(
    "Moments", "counts base offsets means within distinct roots row Z first stop rows"
)


def moments_of(kind, classes, d, rows):
    """Return moments of no rows, with room for draws of so many distinct ones."""
    columns = rows + (classes + 1) * d
    return Moments(
        counts=np.zeros(classes, np.int64),
        base=np.zeros((classes, d)),
        offsets=np.zeros((classes, d)),
        means=np.zeros((classes, d)),
        within=np.zeros(d),
        distinct=np.zeros(classes, bool),
        roots=np.zeros(({NMC: 0, LDC: 1, QDC: classes}[kind], d, d)),
        row=np.zeros(d),
        Z=np.zeros((d, columns)),
        first=np.zeros(classes, np.int64),
        stop=np.zeros(classes, np.int64),
        rows=np.zeros(columns, np.int64),
    )


@kernel(borrow=True)
def forget(moments):
    """Return to no rows."""
    d = len(moments.within)
    for c in range(len(moments.counts)):
        moments.counts[c] = 0
        moments.distinct[c] = False
        for j in range(d):
            moments.offsets[c, j] = 0.0
    for j in range(d):
        moments.within[j] = 0.0
    for c in range(len(moments.roots)):
        for i in range(d):
            for j in range(d):
                moments.roots[c, i, j] = 0.0


@kernel(borrow=True)
def add_row(kind, moments, x, c):
    """Add a row of class c."""
    d = len(x)
    count = moments.counts[c]
    moments.counts[c] = count + 1
    mean, base = moments.means[c], moments.base[c]
    if count == 0:
        for j in range(d):
            base[j] = x[j]
            mean[j] = x[j]
        return
    offset = moments.offsets[c]
    row = moments.row
    root = math.sqrt(count / (count + 1.0))
    differs = False
    for j in range(d):
        apart = x[j] - base[j]
        deviation = root * (apart - offset[j] / count)
        differs |= deviation != 0.0
        row[j] = deviation
        moments.within[j] += deviation * deviation
        offset[j] += apart
        mean[j] = base[j] + offset[j] / (count + 1.0)
    if differs:
        moments.distinct[c] = True
    if kind != NMC:
        insert_row(moments.roots[c if kind == QDC else 0], row)


@kernel(borrow=True)
def overall_mean(moments, n, centre):
    """Mean of all rows, relative to a row, so that a constant feature keeps its value."""
    classes, d = moments.means.shape
    first = 0
    while moments.counts[first] == 0:
        first += 1
    for j in range(d):
        base = moments.base[first, j]
        total = 0.0
        for c in range(classes):
            if moments.counts[c] > 0:
                total += moments.offsets[c, j] + moments.counts[c] * (moments.base[c, j] - base)
        centre[j] = base + total / n


@kernel(borrow=True)
def _group_draw(kind, task, weight, drawn, moments):
    """Group distinct rows by class, and count their weights."""
    first, stop = moments.first, moments.stop
    # `factor` extends the columns of what it factors.
    spare = len(moments.Z) if kind == QDC else 0
    for c in range(task.classes):
        stop[c] = 0
        moments.counts[c] = 0
        moments.distinct[c] = False
    for row in drawn:
        stop[task.y[row]] += 1
    before = 0
    for c in range(task.classes):
        first[c] = before
        before += stop[c] + spare
        stop[c] = first[c]
    for row in drawn:
        c = task.y[row]
        if stop[c] == first[c]:
            for j in range(task.X.shape[1]):
                moments.base[c, j] = task.X[row, j]
        moments.rows[stop[c]] = row
        stop[c] += 1
        moments.counts[c] += weight[row]


@kernel(reorder=True, borrow=True)
def _centre_class(task, weight, c, moments):
    """Take the moments of one class, and write the deviations from its mean."""
    first, stop, count = moments.first[c], moments.stop[c], moments.counts[c]
    changed = 0.0
    for j in range(len(moments.Z)):
        z = moments.Z[j, first:stop]
        base = moments.base[c, j]
        offset = 0.0
        for i in range(stop - first):
            row = np.uint64(moments.rows[first + i])
            z[i] = task.X[row, j] - base
            offset += weight[row] * z[i]
        moments.offsets[c, j] = offset
        mean = offset / count
        moments.means[c, j] = base + mean
        squares = 0.0
        for i in range(stop - first):
            row = np.uint64(moments.rows[first + i])
            z[i] = math.sqrt(float(weight[row])) * (z[i] - mean)
            squares += z[i] * z[i]
        moments.within[j] += squares
        changed += squares
    moments.distinct[c] = changed > 0.0


@kernel(borrow=True)
def add_draw(kind, task, weight, drawn, moments):
    """Take the moments of a draw, and leave its deviations for `factor`.

    Parameters
    ----------
    kind, task
        `NMC`, `LDC` or `QDC`, and the block.
    weight
        (N,) how often each row was drawn.
    drawn
        The distinct rows, in the order of their first draws.
    moments
        Overwritten, its `roots` excepted.
    """
    _group_draw(kind, task, weight, drawn, moments)
    for j in range(len(moments.within)):
        moments.within[j] = 0.0
    for c in range(task.classes):
        if moments.counts[c] > 0:
            _centre_class(task, weight, c, moments)


@kernel(inline=True, borrow=True)
def columns_of(kind, s, moments):
    """Return where the rows of scatter `s` of a draw begin and end in `Z`: a class's, or all."""
    return moments.first[s], moments.stop[s if kind == QDC else len(moments.stop) - 1]
