"""NMC, LDC and QDC: one Gaussian per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.builtin import WEIGHTS, BuiltinLearner
from lcdb_builders.reference import gaussian as reference
from lcdb_builders.snapshot import Snapshot

__all__ = ["LDC", "NMC", "QDC"]

_RIDGE = Parameter(
    1e-6, float, 1e-12, 1e12, "added to the covariance, in units of the mean within-class variance"
)


class NMC(BuiltinLearner):
    """Nearest mean classifier."""

    name = "NMC"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "shrinkage": Parameter(
            0.0, float, 0.0, 1e6, "threshold towards the overall mean, in standard errors"
        )
    }
    tuned_parameter = "shrinkage"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted nearest mean classifier."""
        return reference.NMC(**params)


class LDC(BuiltinLearner):
    """Linear discriminant classifier."""

    name = "LDC"
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted linear discriminant classifier."""
        return reference.LDC(**params)


class QDC(BuiltinLearner):
    """Quadratic discriminant classifier."""

    name = "QDC"
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted quadratic discriminant classifier."""
        return reference.QDC(**params)
