"""LREG and LSVC: linear classifiers at the exact optimum, one class against the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.builtin import WEIGHTS, BuiltinLearner
from lcdb_builders.reference import linear as reference
from lcdb_builders.snapshot import Snapshot

__all__ = ["LREG", "LSVC"]


class LREG(BuiltinLearner):
    """Logistic regression."""

    name = "LREG"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "ridge": Parameter(1e-4, float, 1e-12, 1e12, "half of it times the squared weights is paid")
    }
    tuned_parameter = "ridge"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted logistic regression."""
        return reference.LREG(**params)


class LSVC(BuiltinLearner):
    """Linear support vector classifier with squared hinge loss."""

    name = "LSVC"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "C": Parameter(1.0, float, 1e-12, 1e12, "price of a row's squared hinge loss")
    }
    tuned_parameter = "C"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted linear support vector classifier."""
        return reference.LSVC(**params)
