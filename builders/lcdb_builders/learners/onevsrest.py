"""Learners that decide one class against the rest, each at the exact optimum of its problem."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.holdout import Tuned, Tuning
from lcdb_builders.kernels.core.sets import Columns, Task
from lcdb_builders.learners.batch import KernelLearner, columns_of, empty_values, task_of
from lcdb_builders.learners.builtin import WEIGHTS

__all__ = ["OneVsRestLearner"]

_NO_DECISIONS = np.empty((0, 0, 0, 0))


class OneVsRestLearner(KernelLearner):
    """What they share: decision values that tests can see, and no number without an optimum."""

    tuned_parameter: ClassVar[str]
    grid = WEIGHTS
    tunes = True

    @abstractmethod
    def solve(
        self,
        snapshot: Snapshot,
        block: Block,
        task: Task,
        columns: Columns,
        values: np.ndarray,
        decisions: np.ndarray,
    ) -> int:
        """Fill an untuned block, and `decisions`, if they are of any size.

        Returns how many fits found no optimum.
        """

    @abstractmethod
    def solve_tuned(
        self,
        snapshot: Snapshot,
        block: Block,
        task: Task,
        columns: Columns,
        tuning: Tuning,
        tuned: Tuned,
    ) -> int:
        """Fill a tuned block; returns how many fits found no optimum."""

    def fill(
        self, snapshot: Snapshot, block: Block, task: Task, columns: Columns, values: np.ndarray
    ) -> None:
        """Fill the values of an untuned block."""
        count = self.solve(snapshot, block, task, columns, values, _NO_DECISIONS)
        self._check(block, count)

    def values(
        self, snapshot: Snapshot, block: Block, splits: Sequence[str], decisions: np.ndarray
    ) -> np.ndarray:
        """Return the values of an untuned block; also fills `decisions`."""
        values = empty_values(block, splits)
        task, columns = task_of(snapshot, block), columns_of(snapshot, block, splits)
        self._check(block, self.solve(snapshot, block, task, columns, values, decisions))
        return values

    def fill_tuned(
        self,
        snapshot: Snapshot,
        block: Block,
        task: Task,
        columns: Columns,
        tuning: Tuning,
        tuned: Tuned,
    ) -> None:
        """Fill a tuned block."""
        self._check(block, self.solve_tuned(snapshot, block, task, columns, tuning, tuned))

    def _check(self, block: Block, count: int) -> None:
        if count:
            msg = (
                f"{self.name} found no optimum in {count} fits of {block.unit.label}; expected "
                "none: please report the dataset and parameters"
            )
            raise ArithmeticError(msg)
