"""GSVC: support vector classifier with a Gaussian kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.builtin import WEIGHTS, BuiltinLearner
from lcdb_builders.snapshot import Snapshot

__all__ = ["GSVC"]


class GSVC(BuiltinLearner):
    """Support vector classifier with a Gaussian kernel; gamma is one constant per dataset."""

    name = "GSVC"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "C": Parameter(1.0, float, 1e-12, 1e12, "price of a row's hinge loss")
    }
    tuned_parameter = "C"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted support vector classifier with the dataset's gamma."""
        from lcdb_builders.reference import svm as reference

        return reference.GSVC(**params, gamma=reference.dataset_gamma(snapshot.X))
