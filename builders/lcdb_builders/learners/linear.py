"""LREG and LSVC: linear classifiers at the exact optimum, one class against the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.holdout import Tuned, Tuning, hold_out_of
from lcdb_builders.kernels.core.sets import Columns, Task
from lcdb_builders.kernels.linear import block as kernels
from lcdb_builders.kernels.linear.coordinates import hinge_root, logistic_root, penalty_of, scaled
from lcdb_builders.kernels.linear.tuned import linear_tuned
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.onevsrest import OneVsRestLearner

__all__ = ["LREG", "LSVC"]


def _scaled(
    snapshot: Snapshot, task: Task, columns: Columns
) -> tuple[Task, Columns, np.ndarray, np.ndarray]:
    """Return cells and columns with scaled features, and what scaled them."""
    Z, mean, scale = scaled(snapshot.X)
    XT = np.ascontiguousarray(Z[columns.rows].T)
    return task._replace(X=Z), columns._replace(XT=XT), mean, scale


class _Linear(OneVsRestLearner):
    """What both share: features scaled for the kernel, and a penalty that means the same there."""

    kind: ClassVar[int]

    @abstractmethod
    def problem(
        self, params: Mapping[str, Any], mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the root of the penalty in scaled coordinates, and the price of the loss."""

    def solve(
        self,
        snapshot: Snapshot,
        block: Block,
        task: Task,
        columns: Columns,
        values: np.ndarray,
        decisions: np.ndarray,
    ) -> int:
        """Fill an untuned block; returns how many fits found no optimum."""
        task, columns, mean, scale = _scaled(snapshot, task, columns)
        root, price = self.problem(block.unit.parameters, mean, scale)
        count = kernels.linear_block(
            self.kind, task, columns, penalty_of(root), root, price, values, decisions
        )
        return int(count[3])

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
        task, columns, mean, scale = _scaled(snapshot, task, columns)
        root, _ = self.problem({self.tuned_parameter: 1.0}, mean, scale)
        held = hold_out_of(task, columns, tuning)
        count = linear_tuned(self.kind, task, columns, penalty_of(root), root, tuning, held, tuned)
        return int(count[3])


class LREG(_Linear):
    """Logistic regression."""

    name = "LREG"
    kind = kernels.LREG
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "ridge": Parameter(1e-4, float, 1e-12, 1e12, "half of it times the squared weights is paid")
    }
    tuned_parameter = "ridge"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted logistic regression."""
        from lcdb_builders.reference import linear as reference

        return reference.LREG(**params)

    def problem(
        self, params: Mapping[str, Any], mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the root of the penalty in scaled coordinates, and 1."""
        return logistic_root(scale, params["ridge"]), 1.0


class LSVC(_Linear):
    """Linear support vector classifier with squared hinge loss."""

    name = "LSVC"
    kind = kernels.LSVC
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "C": Parameter(1.0, float, 1e-12, 1e12, "price of a row's squared hinge loss")
    }
    tuned_parameter = "C"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted linear support vector classifier."""
        from lcdb_builders.reference import linear as reference

        return reference.LSVC(**params)

    def problem(
        self, params: Mapping[str, Any], mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the root of the penalty in scaled coordinates, and C."""
        return hinge_root(mean, scale), params["C"]
