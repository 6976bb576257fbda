"""Between blocks and kernels: a block becomes arrays, and arrays become its scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from lcdb.schema import METRICS, SAMPLINGS
from lcdb_builders.curves import draws_by_split
from lcdb_builders.kernels.layout import Columns, Task, all_columns, constant_columns
from lcdb_builders.learners.base import Scores
from lcdb_builders.learners.builtin import BuiltinLearner
from lcdb_builders.snapshot import Snapshot
from lcdb_builders.unit import Block

__all__ = ["KernelLearner", "columns_of", "empty_values", "scores_by_split", "task_of"]


def task_of(snapshot: Snapshot, block: Block) -> Task:
    """Return the training sets of a block, as kernels draw them."""
    draws = block.unit.draws(snapshot.rows)
    return Task(
        SAMPLINGS.index(block.unit.sampling),
        *draws.key,
        block.first,
        block.stop,
        np.array(block.sizes, np.int64),
        np.array(draws.pool),
        np.array(snapshot.X, order="C"),
        np.array(snapshot.y),
        snapshot.classes,
    )


def columns_of(snapshot: Snapshot, block: Block, splits: Sequence[str]) -> Columns:
    """Return the test sets of a block: one, or those of `fixed` and `pool` side by side."""
    draws = draws_by_split(snapshot, block, splits)
    if "varying" in draws:
        return all_columns(snapshot.X, snapshot.y, snapshot.classes)
    sets = [found.fixed_test for found in draws.values()]
    return constant_columns(snapshot.X, snapshot.y, snapshot.classes, sets)


def empty_values(block: Block, splits: Sequence[str]) -> np.ndarray:
    """Return what a kernel fills: (sizes, repetitions, splits, five numbers of a cell)."""
    return np.full((*block.shape, len(splits), 5), np.nan)


def scores_by_split(values: np.ndarray, splits: Sequence[str]) -> dict[str, Scores]:
    """Return filled values as scores.

    Examples
    --------
    >>> values = np.zeros((2, 3, 1, 5))
    >>> values[..., 4] = 7
    >>> scores = scores_by_split(values, ["fixed"])["fixed"]
    >>> scores["auc"].shape, scores["n_clipped"].max()
    ((2, 3), np.int32(7))
    """
    found: dict[str, Scores] = {}
    for k, split in enumerate(splits):
        found[split] = {
            name: values[:, :, k, m].astype(np.float32) for m, name in enumerate(METRICS)
        }
        found[split]["n_clipped"] = values[:, :, k, 4].astype(np.int32)
    return found


class KernelLearner(BuiltinLearner):
    """A learner whose untuned blocks a kernel computes; tuned ones are left to the reference."""

    implementation = "kernel-1"

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split."""
        if block.unit.tuning != "default":
            return super().block(snapshot, block, splits)
        values = empty_values(block, splits)
        task, columns = task_of(snapshot, block), columns_of(snapshot, block, splits)
        self.fill(snapshot, block, task, columns, values)
        return scores_by_split(values, splits)

    @abstractmethod
    def fill(
        self, snapshot: Snapshot, block: Block, task: Task, columns: Columns, values: np.ndarray
    ) -> None:
        """Fill (sizes, repetitions, splits, five numbers) of an untuned block.

        Parameters
        ----------
        snapshot, block
            What is asked for.
        task, columns, values
            The same as arrays, see `lcdb_builders.kernels.layout` and `empty_values`.
        """
