"""What DT, RFOR and ADAB share in a block: drawing cells, parting them to tune, scoring them.

An untuned block is one whose grid has one value, which every metric has chosen: the same kernel
computes both.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    CHOSEN,
    FIT_ROWS,
    Tuned,
    Tuning,
    hold_out,
    hold_out_of,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw, left_out, weigh
from lcdb_builders.kernels.scores.metrics import room, score_probabilities
from lcdb_builders.kernels.trees.codes import Coded, sample_of, take

__all__ = [
    "Data",
    "Grid",
    "buffers_of",
    "data_of",
    "grid_of",
    "learn",
    "open_cell",
    "score_held",
    "score_sets",
]

#: A dataset and where it is scored: `coded`, its rows' codes `rows` (d, N), and those of the
#: columns, `columns` (d, columns).
Data = namedtuple("Data", "coded rows columns")

#: What the cells of a block are fitted with: `values` (G,) int64 and their ascending `order`;
#: whether cells choose among them (`tunes`), how (`tuning`) and on which rows (`held`); and what is
#: filled, `out`.
Grid = namedtuple("Grid", "values order tunes tuning held out")

#: Buffers of a block: the `sample` and which classes are `present` in it; `order`, `distinct`
#: (pool,) rows drawn, `fit` those of them that tuning fits to, `weight` (N,) multiplicities;
#: `index` (columns,) the columns that are scored, `count` (1,) of them, `lo` and `hi` (sets, K)
#: which of them belong to a class; `P` (K, columns or held-out rows) and `room` to score them.
Buffers = namedtuple("Buffers", "sample present order distinct fit weight index count lo hi P room")


def data_of(coded: Coded, columns: Columns) -> Data:
    """Return a dataset's codes by row and by column."""
    rows = np.ascontiguousarray(coded.codes[:, coded.group])
    return Data(coded, rows, np.ascontiguousarray(rows[:, columns.rows]))


def grid_of(task: Task, columns: Columns, tuning: Tuning, out: Tuned) -> Grid:
    """Return the grid of a block; of an untuned one it is its one value."""
    values = tuning.grid.astype(np.int64)
    held, tunes = hold_out_of(task, columns, tuning, out), out.choices.size > 0
    return Grid(values, np.argsort(values, kind="stable"), tunes, tuning, held, out)


@kernel(glue=True)
def buffers_of(task, columns, data, grid):
    """Return the buffers of a block."""
    size = len(columns.rows)
    width = max(size, len(grid.held.held)) if grid.tunes else size
    return Buffers(
        sample=sample_of(data.coded, task.classes, len(task.pool)),
        present=np.zeros(task.classes, np.bool_),
        order=np.empty(len(task.pool), np.int64),
        distinct=np.empty(len(task.pool), np.int64),
        fit=np.empty(len(task.pool), np.int64),
        weight=np.zeros(len(task.y), np.int64),
        index=np.arange(size),
        count=np.full(1, size),
        lo=columns.lo.copy(),
        hi=columns.hi.copy(),
        P=np.empty((task.classes, width)),
        room=room(task.classes, width),
    )


@kernel(borrow=True)
def _list_copies(fit, count, weight, rows):
    """List rows, each as often as it was drawn."""
    filled = 0
    for i in range(count):
        for _ in range(weight[fit[i]]):
            rows[filled] = fit[i]
            filled += 1


@kernel(glue=True)
def open_cell(task, columns, grid, buffers, n, repetition, first):
    """Draw a cell and the columns it is scored on; part it if it is tuned.

    The training set is then ``buffers.order[:n]``, and the part of it that is fitted to tune it
    ``buffers.fit[:grid.held.sizes[FIT_COPIES]]``.

    Parameters
    ----------
    task, columns, grid, buffers
        Of the block.
    n, repetition, first
        The cell, and whether it is the first of its repetition.

    Returns
    -------
    int
        What `lcdb_builders.kernels.core.holdout.hold_out` returns.
    """
    flag = CHOSEN
    weight, held = buffers.weight, grid.held
    if first or task.sampling != ADDITIVE:
        draw(task, n, repetition, buffers.order)
    if columns.varying or grid.tunes:
        count = weigh(buffers.order[:n], weight, buffers.distinct)
        if columns.varying:
            left_out(columns, weight, buffers.index, buffers.lo[0], buffers.hi[0])
            buffers.count[0] = buffers.hi[0, task.classes - 1]
        if grid.tunes:
            distinct = buffers.distinct
            flag = hold_out(task, grid.tuning, n, repetition, distinct, count, weight, held)
            _list_copies(held.fit, held.sizes[FIT_ROWS], weight, buffers.fit)
        for row in buffers.distinct[:count]:
            weight[row] = 0
    return flag


@kernel(glue=True)
def learn(buffers, data, rows):
    """Take rows as the training set; `release` it before the next."""
    sample = buffers.sample
    classes = len(buffers.present)
    take(sample, data.coded, rows, classes)
    for k in range(classes):
        buffers.present[k] = sample.starts[k + 1] > sample.starts[k]


@kernel(glue=True)
def score_sets(buffers, out):
    """Score the probabilities of the columns on every test set; ``out`` is (sets, WIDTH)."""
    for s in range(len(buffers.lo)):
        score_probabilities(
            buffers.P, buffers.present, buffers.lo[s], buffers.hi[s], buffers.room, out[s]
        )


@kernel(glue=True)
def score_held(buffers, cell, out):
    """Score the probabilities of the held-out rows; ``out`` is (WIDTH,)."""
    score_probabilities(buffers.P, buffers.present, cell.lo, cell.hi, buffers.room, out)
