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
    as_they_are,
    far,
    hinge_root,
    logistic_root,
    penalty_of,
    rotated,
    scaled,
    turned,
)
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import BlockCall
from lcdb_builders.learners.costing import Cost
from lcdb_builders.learners.onevsrest import OneVsRestLearner, one_vs_rest

__all__ = ["LREG", "LSVC"]


# Standard deviations of features whose penalty, in units of theirs, double precision can express.
_SMALLEST, _LARGEST = 1e-151, 1e151
# Beyond, squares of features (times their price) leave so few digits of LSVC's penalty that its
# optimum is looked for with twice the digits.
_STEEP = 4e10
# Terms of costs that may matter: moments, problems, scores of test rows.
_TERMS = ("o", "do", "ddo", "nd", "ndo", "nddo", "tk", "tdo")


class _Linear(OneVsRestLearner):
    """What both share: features in coordinates that suit a solver, and a penalty for those."""

    reference = "lcdb_builders.reference.linear"

    @abstractmethod
    def coordinates(self, X: np.ndarray, price: float) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the solver, features for it, and the root of the penalty of size 1 on weights.

        The root's last column is for the intercept. `price` is the largest tuned parameter in use.
        """

    def _in_coordinates(
        self, call: BlockCall, price: float
    ) -> tuple[int, Task, Columns, np.ndarray]:
        """Return the solver, cells and columns with its features, and the root of the penalty."""
        self._check_scales(call.snapshot)
        kind, features, root = self.coordinates(call.snapshot.X, price)
        XT = np.ascontiguousarray(features[call.columns.rows].T)
        return kind, call.task._replace(X=features), call.columns._replace(XT=XT), root

    def _check_scales(self, snapshot: Snapshot) -> None:
        _, _, scale = scaled(snapshot.X)
        for name, size in zip(snapshot.feature_names, scale, strict=True):
            if not _SMALLEST <= size <= _LARGEST:
                msg = (
                    f"{self.name}: the feature {name!r} has a standard deviation of {size:.3g}; "
                    f"expected {_SMALLEST:g} to {_LARGEST:g}: give it another unit"
                )
                raise ArithmeticError(msg)

    def solve(self, call: BlockCall, tuning: Tuning, tuned: Tuned, decisions: np.ndarray) -> int:
        """Fill a block; returns how many fits found no optimum."""
        kind, task, columns, root = self._in_coordinates(call, float(tuning.grid.max()))
        held = hold_out_of(task, columns, tuning, tuned)
        return int(
            kernels.linear_block(
                kind, task, columns, penalty_of(root), root, tuning, held, tuned, decisions
            )
        )


class LREG(_Linear):
    """Logistic regression.

    Every fit goes from the model of the whole pool by damped Newton steps to where the squared
    decrement is at most 1e-13 of the objective; one more step is taken from there, and one with the
    same Hessian, which leaves rounding alone.
    """

    name = "LREG"
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

    def coordinates(self, X: np.ndarray, price: float) -> tuple[int, np.ndarray, np.ndarray]:
        """Return centred and scaled features: the intercept is free to take up any shift."""
        features, _, scale = scaled(X)
        return kernels.LREG, features, logistic_root(scale, 1.0)


class LSVC(_Linear):
    """Linear support vector classifier with squared hinge loss.

    Every fit goes from the model of the whole pool by finite Newton steps to where the rows within
    the margin stay the same; the last step solves for what their gradient, summed over the rows
    themselves, has left. Where features are so large that little is left of the penalty, fits go
    from 0 with twice the digits.
    """

    name = "LSVC"
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

    def coordinates(self, X: np.ndarray, price: float) -> tuple[int, np.ndarray, np.ndarray]:
        """Return scaled features, rotated where they are far from 0: the intercept is not free."""
        features, mean, scale = scaled(X)
        varies = np.ptp(features, axis=0) > 0
        is_far = far(mean, scale)
        largest = scale[varies].max(initial=0.0)
        if not is_far:
            largest = max(largest, np.abs(mean).max(initial=0.0))
        if not largest > (_STEEP / max(price, 1.0)) ** 0.5:
            if is_far:
                return kernels.LSVC, *rotated(features, mean, scale)
            return kernels.LSVC, features, hinge_root(mean, scale)
        return kernels.STEEP, *(turned(X, mean) if is_far else as_they_are(X))
