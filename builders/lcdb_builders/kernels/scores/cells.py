"""A cell in hand: its training rows, the columns that it is scored on, and room for its scores.

Models that are scored by a row of numbers for each class share it: log scores or decision values.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.metrics import room

__all__ = ["Cell", "cell_of", "clear"]

#: Workspace of a block: `F`, `packed` (K, columns) scores; `present` (K,) classes of the training
#: set; `fitted` (K,) those with a model of their own; `counts` (K,) training weight by class; `XT`
#: (d, columns) and `begin` (K,) a repetition's own columns; `lo`, `hi` (1, K) a cell's own test
#: set; `index` (columns,) what it is picked from; `order`, `distinct` (pool,) rows drawn; `weight`
#: (N,) multiplicities, `size` (1,) how many distinct rows there are; `room` to score them.
Cell = namedtuple(
    "Cell",
    "F packed present fitted counts XT begin lo hi index order distinct weight size room",
)


@kernel(glue=True)
def cell_of(task, columns, width):
    """Return the workspace for a block; `width` features of its own columns are kept."""
    size = len(columns.rows)
    classes = task.classes
    own = size if columns.varying else 0
    return Cell(
        F=np.empty((classes, size)),
        packed=np.empty((classes, own)),
        present=np.zeros(classes, np.bool_),
        fitted=np.zeros(classes, np.bool_),
        counts=np.zeros(classes),
        XT=np.empty((width, own)),
        begin=np.empty(classes, np.int64),
        lo=np.empty((1, classes), np.int64),
        hi=np.empty((1, classes), np.int64),
        index=np.empty(own, np.int64),
        order=np.empty(len(task.pool), np.int64),
        distinct=np.empty(len(task.pool), np.int64),
        weight=np.zeros(len(task.y), np.int64),
        size=np.zeros(1, np.int64),
        room=room(classes, size),
    )


@kernel(glue=True)
def clear(cell):
    """Forget the rows that are listed."""
    for row in cell.distinct[: cell.size[0]]:
        cell.weight[row] = 0
    cell.size[0] = 0
