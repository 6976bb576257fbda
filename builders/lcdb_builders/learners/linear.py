"""LREG and LSVC: linear classifiers at the exact optimum, one class against the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
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
from lcdb_builders.learners.batch import BlockCall
from lcdb_builders.learners.costing import Cost
from lcdb_builders.learners.onevsrest import OneVsRestLearner, one_vs_rest

__all__ = ["LREG", "LSVC"]


# Standard deviations of features whose penalty, in units of theirs, double precision can express.
_SMALLEST, _LARGEST = 1e-151, 1e151
# Beyond, where features are far from 0 as well, LSVC's intercept is lost beside them.
_LARGEST_FAR = 1e15
# Beyond, where all features are so large, LSVC's penalty is lost among rounding errors.
_LARGEST_ALL = 1e7
# Terms of costs that may matter: moments, problems, scores of test rows.
_TERMS = ("o", "do", "ddo", "nd", "ndo", "nddo", "tk", "tdo")


class _Linear(OneVsRestLearner):
    """What both share: features in coordinates that suit a solver, and a penalty for those."""

    kind: ClassVar[int]
    reference = "lcdb_builders.reference.linear"

    @abstractmethod
    def coordinates(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return features for the solver, and the root of the penalty of size 1 on their weights.

        The root's last column is for the intercept.
        """

    def _in_coordinates(self, call: BlockCall) -> tuple[Task, Columns, np.ndarray]:
        """Return cells and columns with the solver's features, and the root of the penalty."""
        self._check_scales(call.snapshot)
        features, root = self.coordinates(call.snapshot.X)
        XT = np.ascontiguousarray(features[call.columns.rows].T)
        return call.task._replace(X=features), call.columns._replace(XT=XT), root

    def _check_scales(self, snapshot: Snapshot) -> None:
        _, _, scale = scaled(snapshot.X)
        for name, size in zip(snapshot.feature_names, scale, strict=True):
            if not _SMALLEST <= size <= _LARGEST:
                msg = (
                    f"{self.name}: the feature {name!r} has a standard deviation of {size:.3g}; "
                    f"expected {_SMALLEST:g} to {_LARGEST:g}: give it another unit"
                )
                raise ArithmeticError(msg)

    def solve(self, call: BlockCall, values: np.ndarray, decisions: np.ndarray) -> int:
        """Fill an untuned block; returns how many fits found no optimum."""
        task, columns, root = self._in_coordinates(call)
        price = call.block.unit.parameters[self.tuned_parameter]
        count = kernels.linear_block(
            self.kind, task, columns, penalty_of(root), root, price, values, decisions
        )
        return int(count[3])

    def solve_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> int:
        """Fill a tuned block; returns how many fits found no optimum."""
        task, columns, root = self._in_coordinates(call)
        held = hold_out_of(task, columns, tuning, tuned)
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

    cost = Cost(
        reference={"": 240, "o": 320, "od": 14, "ndo": 0.06, "tk": 0.12},
        additive={"o": 3.2, "ddo": 0.069, "tk": 0.0026},
        fresh={"o": 4.6, "ddo": 0.08, "nddo": 0.00025, "tk": 0.005, "tdo": 0.00056},
        tuned={"o": 45, "ndo": 0.055},
        candidates=_TERMS,
        shares_sizes=("default",),
    )

    def score_tolerance(self, params: Mapping[str, Any]) -> float:
        """Return how far scores of two implementations may differ."""
        return 1e-2 if params["ridge"] < 1e-6 else 1e-5

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator, one class against the rest."""
        from sklearn.linear_model import LogisticRegression

        return {self.name: one_vs_rest(LogisticRegression(C=1 / params["ridge"]), classes)}

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

    cost = Cost(
        reference={"": 200, "o": 160, "od": 2.6, "ndo": 0.05, "tk": 0.11},
        additive={"o": 1.4, "do": 0.25, "ndo": 1.8e-5, "tk": 0.00051, "tdo": 0.00055},
        fresh={"o": 2.0, "ddo": 0.033, "nd": 0.00029, "ndo": 0.00086, "tk": 0.0064, "tdo": 0.00029},
        tuned={"o": 33, "ndo": 0.02},
        candidates=_TERMS,
        shares_sizes=("default",),
    )

    def score_tolerance(self, params: Mapping[str, Any]) -> float:
        """Return how far scores of two implementations may differ."""
        return 1e-5

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.svm import LinearSVC

        return {self.name: LinearSVC(C=params["C"], dual=False)}

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
