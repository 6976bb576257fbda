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
    1e-6, float, 1e-12, 1e12, "added to the covariance, in units of each feature's variance"
)
# Terms that may matter: scores of test rows, moments.
_TERMS = ("k", "tk", "td", "tdk", "nd", "dd", "ddk")


class _Gaussian(KernelLearner):
    """What the three share: one kernel with one parameter, that which is tuned."""

    kind: ClassVar[int]
    #: Whether features may be measured in units of their own.
    by_feature: ClassVar[bool] = True
    tuned_parameter: ClassVar[str]
    grid = WEIGHTS
    tunes = True
    reference = "lcdb_builders.reference.gaussian"

    def score_tolerance(self, params: Mapping[str, Any]) -> float:
        """Return how far scores of two implementations may differ."""
        return 1e-9

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return the rows in a frame that holds all of them, if there is one."""
        frame = frame_of(snapshot.X, by_feature=self.by_feature)
        return None if frame is None else frame.place(snapshot.X)

    def fill_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> None:
        """Fill a block."""
        frame = None if self.by_feature else frame_of(call.snapshot.X)
        unit = 1.0 if frame is None else frame.unit
        gaussian_block(self.kind, call.task, call.columns, tuning, unit, tuned)


class NMC(_Gaussian):
    """Nearest mean classifier."""

    name = "NMC"
    kind = kernels.NMC
    by_feature = False
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


class _Discriminant(_Gaussian):
    """What LDC and QDC share: a ridge in units of each feature."""

    implementation = "kernel-3"
    former: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("reference-1", "reference-2", "kernel-1", "kernel-2"),
        "its ridge was lambda times the mean variance of all features, not of each feature its own",
    )
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"


class LDC(_Discriminant):
    """Linear discriminant classifier."""

    name = "LDC"
    kind = kernels.LDC
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


class QDC(_Discriminant):
    """Quadratic discriminant classifier."""

    name = "QDC"
    kind = kernels.QDC
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
