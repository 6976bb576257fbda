"""Counts, means and scatter of weighted rows by class: grown row by row, or from a whole draw.

Means are kept relative to the first row of a class, as the reference has them: integers stay exact,
and rows that are all equal have variance 0. The scatter is never formed, only its triangular root
(`triangles`), or the deviations themselves.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.gaussian.qr import insert_row

__all__ = [
    "EACH_CLASS",
    "NO_ROOT",
    "POOLED",
    "Moments",
    "add_draw",
    "add_row",
    "forget",
    "mean_variance",
    "moments_of",
    "overall_mean",
]

# Whose scatter `add_row` keeps a root of.
NO_ROOT, POOLED, EACH_CLASS = 0, 1, 2

#: `counts` (K,) weights; `base` (K, d) first row of each class; `offsets` (K, d) sums relative to
#: it; `means` (K, d); `within` (d,) squared deviations from the class means; `distinct` (K,)
#: whether a class has two different rows; `roots` (1 or K, d, d) triangular roots of the scatter
#: of all classes or of each; `row` (d,) workspace.
Moments = namedtuple(
    "Moments", ["counts", "base", "offsets", "means", "within", "distinct", "roots", "row"]
)


def moments_of(roots, classes, d):
    """Return moments of no rows."""
    return Moments(
        np.zeros(classes, np.int64),
        np.zeros((classes, d)),
        np.zeros((classes, d)),
        np.zeros((classes, d)),
        np.zeros(d),
        np.zeros(classes, bool),
        np.zeros((classes if roots == EACH_CLASS else 1, d, d)),
        np.zeros(d),
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
def add_row(roots, moments, x, c):
    """Add a row of class c."""
    d = len(x)
    count = moments.counts[c]
    moments.counts[c] = count + 1
    mean = moments.means[c]
    base = moments.base[c]
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
    if roots == EACH_CLASS:
        insert_row(moments.roots[c], row)
    elif roots == POOLED:
        insert_row(moments.roots[0], row)


@kernel(borrow=True)
def mean_variance(within, n, unit):
    """Return the mean over features of the within-class variance, s̄; `unit` if it is 0."""
    total = 0.0
    for j in range(len(within)):
        total += within[j]
    mean = total / len(within) / n
    return mean if mean > 0.0 else unit


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
def _group_draw(task, weight, distinct, count, spare, moments, first, stop, rows):
    """Group distinct rows by class with spare places after each class, and count their weights.

    Parameters
    ----------
    task
        The block.
    weight
        (N,) how often each row was drawn.
    distinct, count
        ``distinct[:count]`` are the rows drawn.
    spare
        Places to leave free after each class.
    moments
        Its `counts` and `base` are overwritten.
    first, stop, rows
        Where each class begins and ends, and which rows stand there; overwritten.
    """
    for c in range(task.classes):
        stop[c] = 0
        moments.counts[c] = 0
    for i in range(count):
        stop[task.y[distinct[i]]] += 1
    before = 0
    for c in range(task.classes):
        first[c] = before
        before += stop[c] + spare
        stop[c] = first[c]
    for i in range(count):
        row = distinct[i]
        c = task.y[row]
        if stop[c] == first[c]:
            for j in range(task.X.shape[1]):
                moments.base[c, j] = task.X[row, j]
        rows[stop[c]] = row
        stop[c] += 1
        moments.counts[c] += weight[row]


@kernel(reorder=True, borrow=True)
def _centre_class(task, weight, rows, c, first, stop, moments, Z):
    """Deviations of the rows of one class from its mean, times the root of their weights.

    Parameters
    ----------
    task
        The block.
    weight
        (N,) how often each row was drawn.
    rows, c, first, stop
        ``rows[first:stop]`` are those of class c.
    moments
        Those of the class are overwritten; what is within classes is added to.
    Z
        (d, columns), of which first:stop are overwritten.
    """
    count = moments.counts[c]
    changed = 0.0
    for j in range(len(Z)):
        z = Z[j, first:stop]
        base = moments.base[c, j]
        offset = 0.0
        for i in range(stop - first):
            row = np.uint64(rows[first + i])
            z[i] = task.X[row, j] - base
            offset += weight[row] * z[i]
        moments.offsets[c, j] = offset
        mean = offset / count
        moments.means[c, j] = base + mean
        squares = 0.0
        for i in range(stop - first):
            row = np.uint64(rows[first + i])
            z[i] = math.sqrt(float(weight[row])) * (z[i] - mean)
            squares += z[i] * z[i]
        moments.within[j] += squares
        changed += squares
    moments.distinct[c] = changed > 0.0


@kernel(borrow=True)
def add_draw(task, weight, distinct, count, spare, moments, places, Z):
    """Take the moments of a draw, and leave deviations times root weights in Z by class.

    Parameters
    ----------
    task
        A `Task`.
    weight
        (N,) how often each row was drawn.
    distinct, count
        ``distinct[:count]`` are the rows drawn, in the order of their first draws.
    spare
        Places to leave free after each class.
    moments
        Overwritten, its `roots` excepted.
    places
        ``first`` and ``stop`` (K,), where each class stands in Z, and ``rows``, which rows those
        are; all overwritten.
    Z
        (d, columns), overwritten.
    """
    first, stop, rows = places
    _group_draw(task, weight, distinct, count, spare, moments, first, stop, rows)
    for j in range(len(Z)):
        moments.within[j] = 0.0
    for c in range(task.classes):
        if moments.counts[c] > 0:
            _centre_class(task, weight, rows, c, first[c], stop[c], moments, Z)
