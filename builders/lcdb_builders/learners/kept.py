"""What kernels said of rows, beside the numbers that a database holds.

Where the test set is the same for all cells, one fit is scored on it and on all that is asked
about. Where it varies, cells are fitted once for their numbers, as a build fits them, and once more
with what is asked about as a constant test set.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lcdb.schema import METRICS
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.holdout import Tuned
from lcdb_builders.kernels.core.sets import Columns, constant_columns
from lcdb_builders.kernels.scores.kept import kept_width
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.batch import BlockCall, KernelLearner, check_values, columns_of, task_of

__all__ = ["Kept", "bytes_of_cell", "keep"]

# As many columns as every kernel takes: those of trees count them in 16 bits.
MOST_COLUMNS = 2**16 - 1
# What is kept by class, in this order.
PROBABILITY, RANK = range(2)


class Kept(NamedTuple):
    """What was computed of the cells of a block.

    Parameters
    ----------
    numbers
        (sizes, repetitions, WIDTH): the metrics on test rows in double precision, and how many rows
        are clipped.
    choices
        (sizes, repetitions, metrics) indices of chosen grid values; -1 in untuned blocks.
    rows
        (R,) rows of the snapshot that were asked about.
    label
        (sizes, repetitions, R) class codes.
    probability
        (sizes, repetitions, K, R), before they are clipped.
    ranks
        (sizes, repetitions, K, R), what the AUC ranks by.
    """

    numbers: np.ndarray
    choices: np.ndarray
    rows: np.ndarray
    label: np.ndarray
    probability: np.ndarray
    ranks: np.ndarray


def keep(
    learner: Learner, snapshot: Snapshot, block: Block, rows: np.ndarray | None, chosen_by: str
) -> Kept | None:
    """Return what kernels said of rows in each cell of a block; None where there are no kernels.

    Parameters
    ----------
    learner, snapshot, block
        Who learns what.
    rows
        Rows that are asked about; None for the test rows of a split that has the same in all cells.
    chosen_by
        Of tuned blocks: the metric whose choice answers.
    """
    if not isinstance(learner, KernelLearner):
        return None
    X = learner.features(snapshot)
    if X is None or (block.unit.tuning != "default" and not learner.tunes):
        return None
    metric = list(METRICS).index(chosen_by)
    own = columns_of(snapshot, block, [block.unit.split], X)
    call = BlockCall(snapshot, block, task_of(snapshot, block, X), own)
    sets = [own.rows] if rows is None else [own.rows, rows]
    together = learner.keeps_numbers and not own.varying
    if together and sum(map(len, sets)) <= MOST_COLUMNS:
        columns = constant_columns(X, snapshot.y, snapshot.classes, sets)
        filled = _empty(block, columns, metric, keeps=True)
        learner.keep(replace(call, columns=columns), filled, None)
        check_values(block, filled.values)
        return _taken_apart(filled, filled, columns)
    alone = _empty(block, own, metric, keeps=False)
    learner.keep(call, alone, None)
    check_values(block, alone.values)
    columns = constant_columns(X, snapshot.y, snapshot.classes, sets[-1:])
    filled = _empty(block, columns, metric, keeps=True)
    learner.keep(replace(call, columns=columns), filled, alone.choices[..., metric])
    check_values(block, filled.values)
    return _taken_apart(alone, filled, columns)


def bytes_of_cell(snapshot: Snapshot, rows: int) -> int:
    """Return about how much memory a cell takes, of so many rows that are asked about."""
    return 8 * 4 * kept_width(snapshot.classes, rows)  # two sets, and a copy by row


def _empty(block: Block, columns: Columns, metric: int, *, keeps: bool) -> Tuned:
    """Return what is to be filled, with room for what is said of rows if that is kept."""
    sets, classes = columns.lo.shape
    most = int((columns.hi - columns.lo).sum(axis=1).max())
    width = kept_width(classes, most) if keeps else WIDTH
    values = np.full((*block.shape, sets, width), np.nan)
    choices = np.full((*block.shape, len(METRICS)), -1, np.int8)
    return Tuned(values=values, choices=choices, flags=choices.copy(), kept=metric)


def _taken_apart(numbers: Tuned, filled: Tuned, columns: Columns) -> Kept:
    """Return numbers of the first test set, and what is said of the rows of the last."""
    rows = columns.rows[columns.lo[-1, 0] : columns.hi[-1, -1]]
    classes, count = columns.lo.shape[1], len(rows)
    answers = filled.values[:, :, -1, WIDTH:]  # as `lcdb_builders.kernels.scores.kept` has them
    by_class = answers[..., count : count * (1 + 2 * classes)]
    by_class = by_class.reshape(*answers.shape[:2], 2, classes, count)
    return Kept(
        numbers=numbers.values[:, :, 0, :WIDTH],
        choices=numbers.choices,
        rows=rows,
        label=answers[..., :count].astype(np.int16),
        probability=by_class[:, :, PROBABILITY],
        ranks=by_class[:, :, RANK],
    )
