"""LREG and LSVC: linear classifiers at the exact optimum, one class against the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.curves import reference_block
from lcdb_builders.kernels import linear as kernels
from lcdb_builders.kernels.scaling import hinge_root, logistic_root, penalty_of, scaled
from lcdb_builders.learners.base import Parameter, Scores
from lcdb_builders.learners.batch import columns_of, empty_values, scores_by_split, task_of
from lcdb_builders.learners.builtin import WEIGHTS, BuiltinLearner
from lcdb_builders.snapshot import Snapshot
from lcdb_builders.unit import Block

__all__ = ["LREG", "LSVC"]

_NO_DECISIONS = np.empty((0, 0, 0, 0))


class _Linear(BuiltinLearner):
    """What both share: a block of scaled features for the kernel."""

    implementation = "kernel-1"
    kind: ClassVar[int]

    @abstractmethod
    def problem(
        self, params: Mapping[str, Any], mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the root of the penalty in scaled coordinates, and the price of the loss."""

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split."""
        if block.unit.tuning != "default":
            return reference_block(self, snapshot, block, splits)
        return scores_by_split(self.values(snapshot, block, splits, _NO_DECISIONS), splits)

    def values(
        self, snapshot: Snapshot, block: Block, splits: Sequence[str], decisions: np.ndarray
    ) -> np.ndarray:
        """Return what the kernel fills; also fills `decisions`, if they are of any size."""
        values = empty_values(block, splits)
        Z, mean, scale = scaled(snapshot.X)
        columns = columns_of(snapshot, block, splits)
        root, price = self.problem(block.unit.parameters, mean, scale)
        count = kernels.linear_block(
            self.kind,
            task_of(snapshot, block)._replace(X=Z),
            columns._replace(XT=np.ascontiguousarray(Z[columns.rows].T)),
            penalty_of(root),
            root,
            price,
            values,
            decisions,
        )
        if count[3]:
            msg = (
                f"{self.name} found no optimum in {count[3]} fits of {block.unit.label}; expected "
                "none: please report the dataset and parameters"
            )
            raise ArithmeticError(msg)
        return values


class LREG(_Linear):
    """Logistic regression."""

    name = "LREG"
    kind = kernels.LREG
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "ridge": Parameter(1e-4, float, 1e-12, 1e12, "half of it times the squared weights is paid")
    }
    tuned_parameter = "ridge"
    grid = WEIGHTS

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
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted linear support vector classifier."""
        from lcdb_builders.reference import linear as reference

        return reference.LSVC(**params)

    def problem(
        self, params: Mapping[str, Any], mean: np.ndarray, scale: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the root of the penalty in scaled coordinates, and C."""
        return hinge_root(mean, scale), params["C"]
