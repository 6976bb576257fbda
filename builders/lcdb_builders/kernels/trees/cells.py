"""What DT, RFOR and ADAB share in a block: drawing cells, parting them to tune, scoring them.

An untuned block is one whose grid has one value, which every metric has chosen: the same kernel
computes both.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import CHOSEN, HoldOut, Tuned, Tuning, hold_out, hold_out_of
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, draw, left_out, weigh
from lcdb_builders.kernels.scores.metrics import room, score_probabilities
from lcdb_builders.kernels.trees.codes import Coded, sample_of, take

__all__ = [
    "Data",
    "Desk",
    "Grid",
    "data_of",
    "desk_of",
    "grid_of",
    "learn",
    "open_cell",
    "score_held",
    "score_sets",
]

#: A dataset and where it is scored: `coded`, its rows' codes `rows` (d, N), and those of the
#: columns, `columns` (d, columns).
Data = namedtuple("Data", ["coded", "rows", "columns"])

#: What the cells of a block are fitted with: `values` (G,) int64 and their ascending `order`;
#: whether cells choose among them (`tunes`), how (`tuning`) and on which rows (`held`); and what is
#: filled, `out`.
Grid = namedtuple("Grid", ["values", "order", "tunes", "tuning", "held", "out"])

#: Workspace of a block: the `sample` and which classes are `present` in it; `order`, `distinct`
#: (pool,) rows drawn, `fit` those of them that tuning fits to, `weight` (N,) multiplicities;
#: `index` (columns,) the columns that are scored, `count` (1,) of them, `lo` and `hi` (sets, K)
#: which of them belong to a class; `P` (K, columns or held-out rows) and `room` to score them.
Desk = namedtuple(
    "Desk",
    [
        "sample",
        "present",
        "order",
        "distinct",
        "fit",
        "weight",
        "index",
        "count",
        "lo",
        "hi",
        "P",
        "room",
    ],
)


def data_of(coded: Coded, columns: Columns) -> Data:
    """Return a dataset's codes by row and by column."""
    rows = np.ascontiguousarray(coded.codes[:, coded.group])
    return Data(coded, rows, np.ascontiguousarray(rows[:, columns.rows]))


def grid_of(task: Task, columns: Columns, tuning: Tuning, tunes: bool, out: Tuned) -> Grid:
    """Return the grid of a block; of an untuned one it is its one value."""
    values = tuning.grid.astype(np.int64)
    held: HoldOut = hold_out_of(task, columns, tuning, out)
    return Grid(values, np.argsort(values, kind="stable"), tunes, tuning, held, out)


@kernel(glue=True)
def desk_of(task, columns, data, grid):
    """Return the workspace of a block."""
    size = len(columns.rows)
    width = max(size, len(grid.held.held)) if grid.tunes else size
    return Desk(
        sample_of(data.coded, task.classes, len(task.pool)),
        np.zeros(task.classes, np.bool_),
        np.empty(len(task.pool), np.int64),
        np.empty(len(task.pool), np.int64),
        np.empty(len(task.pool), np.int64),
        np.zeros(len(task.y), np.int64),
        np.arange(size),
        np.full(1, size),
        columns.lo.copy(),
        columns.hi.copy(),
        np.empty((task.classes, width)),
        room(task.classes, width),
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
def open_cell(task, columns, grid, desk, n, repetition, first):
    """Draw a cell and the columns it is scored on; part it if it is tuned.

    The training set is then ``desk.order[:n]``, and the part of it that is fitted to tune it
    ``desk.fit[:grid.held.sizes[2]]``.

    Parameters
    ----------
    task, columns, grid, desk
        Of the block.
    n, repetition, first
        The cell, and whether it is the first of its repetition.

    Returns
    -------
    int
        What `lcdb_builders.kernels.core.holdout.hold_out` returns.
    """
    flag = CHOSEN
    if first or task.sampling != ADDITIVE:
        draw(task, n, repetition, desk.order)
    if columns.varying or grid.tunes:
        count = weigh(desk.order[:n], desk.weight, desk.distinct)
        if columns.varying:
            left_out(columns, desk.weight, desk.index, desk.lo[0], desk.hi[0])
            desk.count[0] = desk.hi[0, task.classes - 1]
        if grid.tunes:
            cell = grid.held
            flag = hold_out(
                task, grid.tuning, n, repetition, desk.distinct, count, desk.weight, cell
            )
            _list_copies(cell.fit, cell.sizes[0], desk.weight, desk.fit)
        for row in desk.distinct[:count]:
            desk.weight[row] = 0
    return flag


@kernel(glue=True)
def learn(desk, data, rows):
    """Take rows as the training set; `release` it before the next."""
    sample = desk.sample
    classes = len(desk.present)
    take(sample, data.coded, rows, classes)
    for k in range(classes):
        desk.present[k] = sample.starts[k + 1] > sample.starts[k]


@kernel(glue=True)
def score_sets(desk, out):
    """Score the probabilities of the columns on every test set; ``out`` is (sets, WIDTH)."""
    for s in range(len(desk.lo)):
        score_probabilities(desk.P, desk.present, desk.lo[s], desk.hi[s], desk.room, out[s])


@kernel(glue=True)
def score_held(desk, cell, out):
    """Score the probabilities of the held-out rows; ``out`` is (WIDTH,)."""
    score_probabilities(desk.P, desk.present, cell.lo, cell.hi, desk.room, out)
