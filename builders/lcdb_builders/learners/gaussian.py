"""NMC, LDC and QDC: one Gaussian per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.frame import frame_of
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.kernels.core.holdout import Tuned, Tuning
from lcdb_builders.kernels.gaussian import model as kernels
from lcdb_builders.kernels.gaussian.block import gaussian_block
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import BlockCall, KernelLearner
from lcdb_builders.learners.builtin import WEIGHTS
from lcdb_builders.learners.costing import Cost

__all__ = ["LDC", "NMC", "QDC"]

_RIDGE = Parameter(
    1e-6, float, 1e-12, 1e12, "added to the covariance, in units of the mean within-class variance"
)
# Terms that may matter: scores of test rows, moments.
_TERMS = ("k", "tk", "td", "tdk", "nd", "dd", "ddk")


def _unit(snapshot: Snapshot) -> float:
    """Return what a variance of 1 is in the frame of `features`."""
    frame = frame_of(snapshot.X)
    return 1.0 if frame is None else frame.unit


class _Gaussian(KernelLearner):
    """What the three share: one kernel with one parameter, that which is tuned."""

    kind: ClassVar[int]
    tuned_parameter: ClassVar[str]
    grid = WEIGHTS
    tunes = True
    reference = "lcdb_builders.reference.gaussian"

    def score_tolerance(self, params: Mapping[str, Any]) -> float:
        """Return how far scores of two implementations may differ."""
        return 1e-9

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return the rows in a frame that holds all of them, if there is one."""
        frame = frame_of(snapshot.X)
        return None if frame is None else frame.place(snapshot.X)

    def fill_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> None:
        """Fill a block."""
        unit = _unit(call.snapshot)
        gaussian_block(self.kind, call.task, call.columns, tuning, unit, tuned)


class NMC(_Gaussian):
    """Nearest mean classifier."""

    name = "NMC"
    kind = kernels.NMC
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "shrinkage": Parameter(
            0.0, float, 0.0, 1e6, "threshold towards the overall mean, in standard errors"
        )
    }
    tuned_parameter = "shrinkage"
    cost = Cost(
        reference={"": 110, "k": 23, "nd": 0.012, "tk": 0.11},
        additive={"k": 0.34, "tk": 0.005},
        fresh={"k": 0.29, "tk": 0.0091, "nd": 0.0024},
        tuned={"": 12, "nk": 0.07},
        candidates=_TERMS,
        shares_sizes=("default",),
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.neighbors import NearestCentroid

        return {self.name: NearestCentroid()}


class LDC(_Gaussian):
    """Linear discriminant classifier."""

    name = "LDC"
    kind = kernels.LDC
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"
    cost = Cost(
        reference={"": 140, "k": 27, "nd": 0.013, "tk": 0.10, "td": 0.004},
        additive={"k": 0.51, "tk": 0.0047, "ddk": 0.0052},
        fresh={"k": 0.34, "tk": 0.0079, "td": 3.3e-5, "nd": 0.0034, "dd": 0.0037, "ddk": 0.00028},
        tuned={"": 12, "nk": 0.085},
        candidates=_TERMS,
        shares_sizes=("default",),
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        return {self.name: LinearDiscriminantAnalysis()}


class QDC(_Gaussian):
    """Quadratic discriminant classifier."""

    name = "QDC"
    kind = kernels.QDC
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"
    cost = Cost(
        reference={"": 46, "k": 88, "nd": 0.017, "tk": 0.15, "td": 0.018},
        additive={"k": 0.44, "tk": 0.0055, "tdk": 0.0004, "ddk": 0.011},
        fresh={"k": 0.49, "tk": 0.0059, "tdk": 0.0011, "nd": 0.0021, "dd": 0.017},
        tuned={"": 14, "nk": 0.14},
        candidates=_TERMS,
        shares_sizes=("default",),
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

        return {self.name: QuadraticDiscriminantAnalysis(reg_param=params["ridge"])}
