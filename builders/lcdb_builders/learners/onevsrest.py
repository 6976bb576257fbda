"""Learners that decide one class against the rest, each at the exact optimum of its problem."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.holdout import Tuned, Tuning, untuned
from lcdb_builders.learners.batch import (
    BlockCall,
    KernelLearner,
    columns_of,
    empty_values,
    task_of,
)
from lcdb_builders.learners.builtin import WEIGHTS

__all__ = ["OneVsRestLearner", "one_vs_rest"]

_NO_DECISIONS = np.empty((0, 0, 0, 0))


def one_vs_rest(estimator: Any, classes: int) -> Any:
    """Return an estimator of scikit-learn for one class against the rest."""
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(estimator) if classes > 2 else estimator


class OneVsRestLearner(KernelLearner):
    """What they share: decision values that tests can see, and no number without an optimum."""

    tuned_parameter: ClassVar[str]
    grid = WEIGHTS
    tunes = True

    @abstractmethod
    def solve(self, call: BlockCall, tuning: Tuning, tuned: Tuned, decisions: np.ndarray) -> int:
        """Fill a block, and `decisions`, if they are of any size.

        Returns how many fits found no optimum.
        """

    def fill_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> None:
        """Fill a block."""
        self._check(call.block, self.solve(call, tuning, tuned, _NO_DECISIONS))

    def values(
        self, snapshot: Snapshot, block: Block, splits: Sequence[str], decisions: np.ndarray
    ) -> np.ndarray:
        """Return the values of an untuned block; also fills `decisions`."""
        values = empty_values(block, splits)
        columns = columns_of(snapshot, block, splits)
        call = BlockCall(snapshot, block, task_of(snapshot, block), columns)
        tuning, tuned = untuned(block.unit.parameters[self.tuned_parameter], values)
        self._check(block, self.solve(call, tuning, tuned, decisions))
        return values

    def _check(self, block: Block, count: int) -> None:
        if count:
            msg = (
                f"{self.name} found no optimum in {count} fits of {block.unit.label}; expected "
                "none: please report the dataset and parameters"
            )
            raise ArithmeticError(msg)
