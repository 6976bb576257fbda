"""Training and test rows as kernels use them: drawn by key, grouped by class.

A *column* is a test row in a feature-major array: ``XT[j, t]`` is feature j of column t. Columns
are grouped by class, so that metrics work on slices ``lo[c]:hi[c]``. There are three cases:

- The test sets are constant (`fixed`, `pool`): `Columns` holds them side by side, with one
  row of `lo` and `hi` for each, so that both are scored with one fit.
- `varying`, additive: all rows, grouped by class in the order of the repetition's permutation
  (`regroup`). The training set is then the first columns of each class, the test set the rest.
- `varying`, drawn afresh: all rows, grouped by class in file order. All columns are scored, and
  those that were not drawn (`left_out`) are packed side by side (`gather`).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import bootstrap_into, permute_head

__all__ = [
    "ADDITIVE",
    "BOOTSTRAP",
    "RANDOM",
    "SAMPLINGS",
    "STRATIFIED",
    "Columns",
    "Task",
    "all_columns",
    "constant_columns",
    "copy",
    "draw",
    "gather",
    "group",
    "left_out",
    "regroup",
    "take_in_proportion",
    "weigh",
]

#: Samplings in the order of their codes: `lcdb_builders.learners.batch` compares them with the
#: schema's when it is imported.
SAMPLINGS = ("additive", "random", "bootstrap", "stratified")
ADDITIVE, RANDOM, BOOTSTRAP, STRATIFIED = range(4)

#: The cells of a block: `sampling`, stream key `key0`, `key1`, repetitions `first`..`stop` - 1,
#: ascending `sizes`; and what they are drawn from: `pool` (rows in file order), `X` (N, d),
#: `y` (N,), number of `classes`. `quota` (2, K) is workspace of stratified draws.
Task = namedtuple("Task", "sampling key0 key1 first stop sizes pool X y classes quota")

#: Where the cells are scored: columns `XT` (d, columns) of snapshot rows `rows` (columns,), test
#: sets `lo`, `hi` (sets, K), and whether the test set is what the cell's training set leaves.
Columns = namedtuple("Columns", "varying XT rows lo hi")


def group(y: np.ndarray, rows: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows grouped by class, in the given order within a class, and the class limits.

    Examples
    --------
    >>> group(np.array([1, 0, 1, 0]), np.array([3, 2, 0]), classes=2)
    (array([3, 2, 0]), array([0, 1, 3]))
    """
    codes = y[rows]
    grouped = rows[np.argsort(codes, kind="stable")]
    return grouped, np.concatenate([[0], np.bincount(codes, minlength=classes).cumsum()])


def constant_columns(
    X: np.ndarray, y: np.ndarray, classes: int, sets: Sequence[np.ndarray]
) -> Columns:
    """Return test sets that are the same for every cell, each given by its rows."""
    grouped = [group(y, rows, classes) for rows in sets]
    before = np.cumsum([0, *(len(rows) for rows in sets)])
    limits = np.array([limit + b for (_, limit), b in zip(grouped, before[:-1], strict=True)])
    rows = np.concatenate([rows for rows, _ in grouped])
    XT, lo, hi = np.ascontiguousarray(X[rows].T), limits[:, :-1].copy(), limits[:, 1:].copy()
    return Columns(varying=False, XT=XT, rows=rows, lo=lo, hi=hi)


def all_columns(X: np.ndarray, y: np.ndarray, classes: int) -> Columns:
    """Return all rows as columns in file order; each cell's test set is what it leaves of them."""
    return constant_columns(X, y, classes, [np.arange(len(y))])._replace(varying=True)


@kernel(inline=True, borrow=True)
def copy(source, target):
    """Copy numbers to the head of an array; a slice assignment costs three times as much."""
    for i in range(len(source)):
        target[i] = source[i]


@kernel(borrow=True)
def draw(task, n, repetition, rows):
    """Draw the n training rows of a cell into ``rows[:n]``, in drawn order.

    ``rows`` has the length of the pool. With `ADDITIVE` sampling all of it is drawn, whatever n:
    every training set of the repetition is a head of it.
    """
    key0, key1 = task.key0, task.key1
    if task.sampling == BOOTSTRAP:
        picks = rows[:n]
        bootstrap_into(key0, key1, n, repetition, 0, len(task.pool), picks)
        for i in range(n):
            picks[i] = task.pool[picks[i]]
        return
    for i in range(len(task.pool)):
        rows[i] = task.pool[i]
    if task.sampling == ADDITIVE:
        permute_head(key0, key1, 0, repetition, 0, rows, len(rows))
    elif task.sampling == RANDOM:
        permute_head(key0, key1, n, repetition, 0, rows, n)
    elif task.sampling == STRATIFIED:
        permute_head(key0, key1, n, repetition, 0, rows, len(rows))
        take_in_proportion(task.y, n, rows, task.quota[0], task.quota[1])
        permute_head(key0, key1, n, repetition, 1, rows[:n], n)
    else:
        raise ValueError("no sampling has this code")  # noqa: EM101


@kernel(borrow=True)
def take_in_proportion(y, n, rows, wanted, remainder):
    """Move n rows to the head, in their order: of each class as many as are in proportion.

    Each class has the whole part of its share; what is left goes to the largest remainders, ties
    to the lowest class.

    Parameters
    ----------
    y
        (N,) classes of rows.
    n
        How many rows are taken.
    rows
        Rows that are taken from; ``rows[:n]`` are those that were taken.
    wanted, remainder
        (K,) workspaces.
    """
    size, classes = len(rows), len(wanted)
    for c in range(classes):
        wanted[c] = 0
    for i in range(size):
        wanted[y[rows[i]]] += 1
    left = n
    for c in range(classes):
        share = n * wanted[c]
        wanted[c] = share // size
        remainder[c] = share % size
        left -= wanted[c]
    for _ in range(left):
        largest = 0
        for c in range(1, classes):
            if remainder[c] > remainder[largest]:
                largest = c
        wanted[largest] += 1
        remainder[largest] = -1
    count = 0
    for i in range(size):
        c = y[rows[i]]
        if wanted[c] > 0:
            wanted[c] -= 1
            rows[count] = rows[i]
            count += 1


@kernel(borrow=True)
def weigh(drawn, weight, distinct):
    """Count how often each row was drawn, and list distinct rows in the order of first draws.

    Parameters
    ----------
    drawn
        Training rows.
    weight
        (N,) zeros, to which multiplicities are added.
    distinct
        Filled from the left.

    Returns
    -------
    int
        Number of distinct rows.
    """
    count = 0
    for i in range(len(drawn)):
        row = drawn[i]
        if weight[row] == 0:
            distinct[count] = row
            count += 1
        weight[row] += 1
    return count


@kernel(borrow=True)
def regroup(task, order, XT, lo, hi, place):
    """Write all rows as columns, grouped by class in the given order.

    Within a class they keep that order: one pass counts the classes, a second one writes.

    Parameters
    ----------
    task, order
        Where the rows are, and all of them in some order.
    XT
        (d, rows) columns, filled.
    lo, hi
        (K,) where each class begins and ends among them, filled.
    place
        (K,) workspace: where the next column of each class goes.
    """
    d = task.X.shape[1]
    for c in range(task.classes):
        hi[c] = 0
    for i in range(len(order)):
        hi[task.y[order[i]]] += 1
    before = 0
    for c in range(task.classes):
        lo[c] = before
        place[c] = before
        before += hi[c]
        hi[c] = before
    for i in range(len(order)):
        row = order[i]
        column = place[task.y[row]]
        place[task.y[row]] += 1
        for j in range(d):
            XT[j, column] = task.X[row, j]


@kernel(borrow=True)
def left_out(columns, weight, index, lo, hi):
    """List the columns of rows of weight 0 by class, and where each class begins and ends."""
    count = 0
    for c in range(len(lo)):
        lo[c] = count
        for t in range(columns.lo[0, c], columns.hi[0, c]):
            index[count] = t
            count += weight[columns.rows[t]] == 0
        hi[c] = count


@kernel(borrow=True)
def gather(values, present, index, count, out):
    """Pack the listed columns of the present classes' rows side by side."""
    for c in range(len(present)):
        if present[c]:
            source = values[c]
            target = out[c]
            for i in range(count):
                target[i] = source[np.uint64(index[i])]
