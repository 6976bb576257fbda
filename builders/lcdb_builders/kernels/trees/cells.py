"""What DT, RFOR and ADAB share in a block: training sets, and scores of their test rows.

An untuned block is one whose grid has one value, which every metric has chosen: the same kernel
computes both.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import Tuned, Tuning, hold_out_of
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import Columns, Task
from lcdb_builders.kernels.scores.cells import cell_of
from lcdb_builders.kernels.scores.metrics import room, score_probabilities
from lcdb_builders.kernels.trees.codes import Coded, sample_of, take

__all__ = ["Data", "Grid", "buffers_of", "data_of", "grid_of", "learn", "score_held", "score_sets"]

#: A dataset and where it is scored: `coded`, its rows' codes `rows` (d, N), and those of the
#: columns, `columns` (d, columns).
Data = namedtuple("Data", "coded rows columns")

#: What the cells of a block are fitted with: `values` (G,) int64 and their ascending `order`;
#: whether cells choose among them (`tunes`), how (`tuning`) and on which rows (`held`, the
#: `HoldOut` of the cell in hand); and what is filled, `out`.
Grid = namedtuple("Grid", "values order tunes tuning held out")

#: Buffers of a block: rows `drawn`, a `Cell`; the `sample` and which classes are `present` in it;
#: `index` (columns,) the columns that are scored, `count` (1,) of them, `lo` and `hi` (sets, K)
#: which of them belong to a class; `P` (K, columns or held-out rows) and `room` to score them.
Buffers = namedtuple("Buffers", "drawn sample present index count lo hi P room")


def data_of(coded: Coded, columns: Columns) -> Data:
    """Return a dataset's codes by row and by column."""
    rows = np.ascontiguousarray(coded.codes[:, coded.group])
    return Data(coded, rows, np.ascontiguousarray(rows[:, columns.rows]))


def grid_of(task: Task, columns: Columns, tuning: Tuning, out: Tuned) -> Grid:
    """Return the grid of a block; of an untuned one it is its one value."""
    values = tuning.grid.astype(np.int64)
    return Grid(
        values=values,
        order=np.argsort(values, kind="stable"),
        tunes=out.choices.size > 0,
        tuning=tuning,
        held=hold_out_of(task, columns, tuning, out),
        out=out,
    )


@kernel(glue=True)
def buffers_of(task, columns, data, grid):
    """Return the buffers of a block."""
    size = len(columns.rows)
    width = max(size, len(grid.held.rows)) if grid.tunes else size
    return Buffers(
        drawn=cell_of(task, columns, 0),
        sample=sample_of(data.coded, task.classes, len(task.pool)),
        present=np.zeros(task.classes, np.bool_),
        index=np.arange(size),
        count=np.full(1, size),
        lo=columns.lo.copy(),
        hi=columns.hi.copy(),
        P=np.empty((task.classes, width)),
        room=room(task.classes, width),
    )


@kernel(glue=True)
def learn(buffers, data, rows, weight):
    """Take rows with their weights as the training set; `release` it before the next."""
    sample = buffers.sample
    classes = len(buffers.present)
    take(sample, data.coded, rows, weight, classes)
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
def score_held(buffers, held, out):
    """Score the probabilities of the held-out rows; ``out`` is (WIDTH,)."""
    score_probabilities(buffers.P, buffers.present, held.lo, held.hi, buffers.room, out)
