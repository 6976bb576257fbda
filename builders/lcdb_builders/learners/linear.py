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
from lcdb_builders.kernels.linear.coordinates import (
    far,
    hinge_root,
    logistic_root,
    penalty_of,
    rotated,
    scaled,
)
from lcdb_builders.kernels.linear.tuned import linear_tuned
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.onevsrest import OneVsRestLearner

__all__ = ["LREG", "LSVC"]


# Standard deviations of features whose penalty, in units of theirs, double precision can express.
_SMALLEST, _LARGEST = 1e-151, 1e151
# Beyond, where features are far from 0 as well, LSVC's intercept is lost beside them.
_LARGEST_FAR = 1e15
# Beyond, where all features are so large, LSVC's penalty is lost among rounding errors.
_LARGEST_ALL = 1e7


class _Linear(OneVsRestLearner):
    """What both share: features in coordinates that suit a solver, and a penalty for those."""

    kind: ClassVar[int]

    @abstractmethod
    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features for the solver, and the root of the penalty of size 1 on their weights.

        The root's last column is for the intercept.
        """

    def _in_coordinates(
        self, snapshot: Snapshot, task: Task, columns: Columns
    ) -> tuple[Task, Columns, np.ndarray]:
        """Return cells and columns with the solver's features, and the root of the penalty."""
        self._check_scales(snapshot)
        features, root = self.coordinates(snapshot.X)
        XT = np.ascontiguousarray(features[columns.rows].T)
        return task._replace(X=features), columns._replace(XT=XT), root

    def _check_scales(self, snapshot: Snapshot) -> None:
        _, _, scale = scaled(snapshot.X)
        for name, size in zip(snapshot.feature_names, scale, strict=True):
            if not _SMALLEST <= size <= _LARGEST:
                msg = (
                    f"{self.name}: the feature {name!r} has a standard deviation of {size:.3g}; "
                    f"expected {_SMALLEST:g} to {_LARGEST:g}: give it another unit"
                )
                raise ArithmeticError(msg)

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
        task, columns, root = self._in_coordinates(snapshot, task, columns)
        price = block.unit.parameters[self.tuned_parameter]
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
        task, columns, root = self._in_coordinates(snapshot, task, columns)
        held = hold_out_of(task, columns, tuning)
        count = linear_tuned(self.kind, task, columns, penalty_of(root), root, tuning, held, tuned)
        return int(count[3])


class LREG(_Linear):
    """Logistic regression.

    Every fit goes from the model of the whole pool by damped Newton steps to where the squared
    decrement is at most 1e-13 of the objective; one more step is taken from there, and one with the
    same Hessian, which leaves rounding alone.
    """

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

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return centred and scaled features: the intercept is free to take up any shift."""
        features, _, scale = scaled(X)
        return features, logistic_root(scale, 1.0)


class LSVC(_Linear):
    """Linear support vector classifier with squared hinge loss.

    Every fit goes from the model of the whole pool by finite Newton steps to where the rows within
    the margin stay the same; the last step solves for what their gradient, summed over the rows
    themselves, has left.
    """

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

    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scaled features, rotated where they are far from 0: the intercept is not free."""
        features, mean, scale = scaled(X)
        if far(mean, scale):
            if not scale.max() <= _LARGEST_FAR:
                msg = (
                    f"LSVC: features far from 0 have a standard deviation of {scale.max():.3g}; "
                    f"expected at most {_LARGEST_FAR:g}: give them another unit, or take their "
                    "means from them"
                )
                raise ArithmeticError(msg)
            return rotated(features, mean, scale)
        varying = scale[np.ptp(features, axis=0) > 0]
        if varying.min(initial=np.inf) > _LARGEST_ALL and len(varying):
            msg = (
                f"LSVC: all features have standard deviations of {varying.min():.3g} and more; "
                f"expected at most {_LARGEST_ALL:g} of one: give them another unit"
            )
            raise ArithmeticError(msg)
        return features, hinge_root(features, mean, scale)
