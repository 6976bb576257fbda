"""Tuned cells: which rows are held out, which grid value each metric chooses, what is recorded.

What every family shares, for a kernel that goes through the cells of a block::

    for each cell, with its distinct training rows and their weights:
        tune_cell(block, n, i, r, try_grid)
        # try_grid: for g in range(len(tuning.grid)):
        #     ...  # fit ``held.fit[:held.sizes[FIT_ROWS]]``, score ``held.rows``,
        #     ...  # grouped by class in ``held.lo``, `held.hi`, into ``held.scores[g]``
        for g in range(len(tuning.grid)):
            if is_chosen(held, g):
                ...  # refit all n rows, score every test set into ``held.refit[:sets]``
                record(held, g, tuned.values[i, r])

A block that is not tuned has a grid of one value, which every metric has chosen, and no choices to
fill (`untuned`): the same kernel computes both.

A family that gets many grid values from one fit fills ``held.scores`` in any order. Weights are
those of `sets.weigh`; along additive sampling they are all 1, and ``order[:n]`` are the distinct
rows. `lcdb_builders.reference.tuning` has the same in plain code.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.cell import (
    ACCURACY,
    CLIPPED,
    CROSS_ENTROPY,
    MAXIMISED,
    METRICS,
    WIDTH,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import permute_head
from lcdb_builders.kernels.core.sets import Columns, Task

__all__ = [
    "CHOSEN",
    "EQUAL",
    "FIT_COPIES",
    "FIT_ROWS",
    "HELD_COPIES",
    "HELD_ROWS",
    "ONE_CLASS_FIT",
    "ONE_CLASS_VALIDATION",
    "TIE",
    "HoldOut",
    "Tuned",
    "Tuning",
    "choose",
    "hold_out",
    "hold_out_of",
    "is_chosen",
    "list_distinct",
    "record",
    "take_held",
    "tune_cell",
    "untuned",
]

# As in `lcdb.schema.CHOICE_FLAGS`.
CHOSEN, TIE, ONE_CLASS_VALIDATION, ONE_CLASS_FIT = range(4)
# Entries of `HoldOut.sizes`: distinct rows to fit; held-out rows, and those to fit, with their
# copies; distinct rows held out.
FIT_ROWS, HELD_COPIES, FIT_COPIES, HELD_ROWS = range(4)
# Scores that are so near to the best are as good: what is left is the rounding of their sums, in
# which implementations differ.
EQUAL = 1e-12

#: How a block is tuned: `key0`, `key1` of the stream that holds out rows; `grid` (G,) float64
#: values; `place`, the index that wins ties if it is among the best, else the nearest to it, of two
#: the smaller ("first" is place 0).
Tuning = namedtuple("Tuning", "key0 key1 grid place")

#: What a tuned block fills: `values` (sizes, repetitions, sets, WIDTH), the numbers of `CELL`, each
#: metric by its own choice; `choices`, `flags` (sizes, repetitions, METRICS) int8, shared by the
#: sets. Where `values` are longer, what is said of rows is kept behind the numbers
#: (`lcdb_builders.kernels.scores.kept`), by the choice of metric `kept`.
Tuned = namedtuple("Tuned", "values choices flags kept", defaults=[ACCURACY])

#: One cell being tuned. `fit` (pool,) distinct rows to fit, in the order of first draws; `rows`
#: (pool,) rows to validate on, each as often as it was drawn, grouped by class: those of class c
#: are ``rows[lo[c]:hi[c]]``; `sizes` (4,), how many: `FIT_ROWS`, `HELD_COPIES`, `FIT_COPIES` and
#: `HELD_ROWS`; `counts` (K,) weight of `fit` by class; `scores` (G, WIDTH) on `rows` by grid value;
#: `chosen` (METRICS,) by metric; `refit` (sets, WIDTH or more) scores of a refit; `order` (pool,)
#: workspace; `kept` as of `Tuned`.
HoldOut = namedtuple("HoldOut", "fit rows lo hi sizes counts scores chosen refit order kept")


def untuned(parameter: float, values: np.ndarray) -> tuple[Tuning, Tuned]:
    """Return what a block with one value of its parameter, which fills `values`, is tuned with."""
    none = np.empty((0, 0, 0), np.int8)
    grid, key = np.array([parameter], np.float64), np.uint64(0)
    tuning = Tuning(key0=key, key1=key, grid=grid, place=0)
    return tuning, Tuned(values=values, choices=none, flags=none)


def hold_out_of(
    task: Task, columns: Columns, tuning: Tuning, tuned: Tuned | None = None
) -> HoldOut:
    """Return room for the cells of a block, one after the other.

    Parameters
    ----------
    task, columns, tuning
        Of the block.
    tuned
        What it fills, if that may be more than numbers.
    """
    rows, classes = len(task.pool), task.classes
    width = WIDTH if tuned is None else tuned.values.shape[-1]
    return HoldOut(
        fit=np.empty(rows, np.int64),
        # With their copies held-out rows are at most all but one of the largest draw.
        rows=np.empty(max(rows, int(task.sizes[-1])), np.int64),
        lo=np.zeros(classes, np.int64),
        hi=np.zeros(classes, np.int64),
        sizes=np.zeros(4, np.int64),
        counts=np.zeros(classes, np.int64),
        scores=np.full((len(tuning.grid), WIDTH), np.nan),
        chosen=np.zeros(METRICS, np.int64),
        refit=np.empty((len(columns.lo), width)),
        order=np.empty(rows, np.int64),
        kept=ACCURACY if tuned is None else tuned.kept,
    )


@kernel(borrow=True)
def hold_out(task, tuning, n, repetition, distinct, count, weight, held):
    """Divide a training set into rows to fit and rows to validate on.

    Of the distinct rows ``max(2, count // 5)`` are held out with all their copies, but never all.

    Parameters
    ----------
    task, tuning
        Of the block.
    n, repetition
        The cell.
    distinct, count
        ``distinct[:count]`` are its rows in the order of first draws.
    weight
        (N,) how often each of them was drawn.
    held
        Its `fit`, `rows`, `lo`, `hi`, `sizes` and `counts` are overwritten.

    Returns
    -------
    int
        `CHOSEN`; `ONE_CLASS_VALIDATION` or `ONE_CLASS_FIT` if one part lacks a second class.
    """
    classes = task.classes
    parted = max(min(max(2, count // 5), count - 1), 0)
    order = held.order[:count]
    for i in range(count):
        order[i] = i
    permute_head(tuning.key0, tuning.key1, n, repetition, 0, order, parted)
    for c in range(classes):
        held.counts[c] = 0
        held.hi[c] = 0
    for i in range(parted):
        row = distinct[order[i]]
        held.rows[i] = order[i]
        held.hi[task.y[row]] += weight[row]
    for i in range(count):
        order[i] = 0
    for i in range(parted):
        order[held.rows[i]] = 1  # from here on: whether a row is held out
    before, held_classes = 0, 0
    for c in range(classes):
        held_classes += held.hi[c] > 0
        held.lo[c] = before
        before += held.hi[c]
        held.hi[c] = held.lo[c]
    fitted, total = 0, 0
    for i in range(count):
        row = distinct[i]
        c = task.y[row]
        if order[i] == 1:
            for _ in range(weight[row]):
                held.rows[held.hi[c]] = row
                held.hi[c] += 1
        else:
            held.fit[fitted] = row
            fitted += 1
            held.counts[c] += weight[row]
            total += weight[row]
    held.sizes[FIT_ROWS], held.sizes[FIT_COPIES] = fitted, total
    held.sizes[HELD_ROWS], held.sizes[HELD_COPIES] = parted, before
    fit_classes = 0
    for c in range(classes):
        fit_classes += held.counts[c] > 0
    if fit_classes < 2 or before == 0:
        return ONE_CLASS_FIT
    return ONE_CLASS_VALIDATION if held_classes < 2 else CHOSEN


@kernel(borrow=True)
def list_distinct(rows, distinct):
    """List rows whose copies stand side by side, each once; returns their number."""
    last = 0
    for i in range(len(rows)):
        if i == 0 or rows[i] != rows[i - 1]:
            distinct[last] = rows[i]
            last += 1
    return last


@kernel(borrow=True)
def take_held(task, held, XT):
    """Write the held-out rows as columns: ``XT[:, :held.sizes[HELD_COPIES]]``, grouped by class."""
    for t in range(held.sizes[HELD_COPIES]):
        row = held.rows[t]
        for j in range(task.X.shape[1]):
            XT[j, t] = task.X[row, j]


@kernel(borrow=True)
def choose(tuning, flag, held, choices, flags):
    """Choose a grid value for each metric from `held.scores`.

    Values that score within rounding of the best are tied, and the rule of the grid decides.

    Parameters
    ----------
    tuning
        Grid and tie rule.
    flag
        What `hold_out` returned; with `ONE_CLASS_FIT` nothing has been scored.
    held
        Its `scores` are read, `chosen` is written.
    choices, flags
        (METRICS,) int8, filled: what the cube stores.
    """
    values = len(tuning.grid)
    if flag != ONE_CLASS_FIT:
        for g in range(values):
            if np.isnan(held.scores[g, ACCURACY]):  # no numbers: then the cell has none either
                for m in range(METRICS):
                    held.chosen[m] = -1
                return
    for m in range(METRICS):
        sign = 1.0 if MAXIMISED[m] else -1.0
        best = -np.inf  # and so it stays for the AUC of one class: all are tied
        if flag != ONE_CLASS_FIT:
            for g in range(values):
                x = sign * held.scores[g, m]
                best = x if x > best else best
        least = best - EQUAL * max(1.0, abs(best)) if best > -np.inf else best
        equal, chosen = 0, 0
        for g in range(values):
            if best == -np.inf or sign * held.scores[g, m] >= least:
                equal += 1
                if equal == 1 or abs(g - tuning.place) < abs(chosen - tuning.place):
                    chosen = g
        held.chosen[m] = chosen
        choices[m] = chosen
        if flag == CHOSEN:
            flags[m] = TIE if equal > 1 else CHOSEN
        else:
            flags[m] = flag


@kernel(glue=True)
def tune_cell(block, n, i, r, try_grid):
    """Choose a grid value for each metric of a cell, if its block is tuned.

    Parameters
    ----------
    block
        Its `task` and `tuning`, a `held` of `hold_out_of`, and what is filled, `tuned`; the rows
        ``distinct[:size[0]]`` of its `cell` are drawn, and have their `weight`.
    n, i, r
        The cell's size, and its place among sizes and repetitions.
    try_grid
        ``try_grid(block)`` scores every grid value on the rows that are held out.
    """
    task, cell, held, tuned = block.task, block.cell, block.held, block.tuned
    if tuned.choices.size > 0:
        repetition, rows = task.first + r, cell.size[0]
        flag = hold_out(task, block.tuning, n, repetition, cell.distinct, rows, cell.weight, held)
        if flag != ONE_CLASS_FIT:
            try_grid(block)
        choose(block.tuning, flag, held, tuned.choices[i, r], tuned.flags[i, r])


@kernel(borrow=True)
def is_chosen(held, index):
    """Whether a metric has chosen this grid value."""
    chosen = False
    for m in range(METRICS):
        chosen |= held.chosen[m] == index
    return chosen


@kernel(borrow=True)
def record(held, index, out):
    """Copy from `held.refit` the metrics that have chosen this grid value, for every test set.

    The clipped rows are those of the cross-entropy's choice. ``out`` is (sets, WIDTH), or more.
    """
    for k in range(len(out)):
        for m in range(METRICS):
            if held.chosen[m] == index:
                out[k, m] = held.refit[k, m]
        if held.chosen[CROSS_ENTROPY] == index:
            out[k, CLIPPED] = held.refit[k, CLIPPED]
        if held.chosen[held.kept] == index:
            for i in range(WIDTH, out.shape[1]):
                out[k, i] = held.refit[k, i]
