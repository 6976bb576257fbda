"""GSVC: support vector classifier with a Gaussian kernel, one class against the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.curves import reference_block
from lcdb_builders.kernels.gram import gaussian_gram
from lcdb_builders.kernels.svm import svm_block
from lcdb_builders.learners.base import Parameter, Scores
from lcdb_builders.learners.batch import columns_of, empty_values, scores_by_split, task_of
from lcdb_builders.learners.builtin import WEIGHTS, BuiltinLearner
from lcdb_builders.reference.machine import dataset_gamma, kkt_tolerance
from lcdb_builders.snapshot import Snapshot
from lcdb_builders.unit import Block

__all__ = ["GSVC"]

_NO_DECISIONS = np.empty((0, 0, 0, 0))


class GSVC(BuiltinLearner):
    """Support vector classifier with a Gaussian kernel; gamma is one constant per dataset."""

    name = "GSVC"
    implementation = "kernel-1"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "C": Parameter(1.0, float, 1e-12, 1e12, "price of a row's hinge loss")
    }
    tuned_parameter = "C"
    grid = WEIGHTS

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted support vector classifier with the dataset's gamma."""
        from lcdb_builders.reference.svm import GSVC as Reference

        return Reference(**params, gamma=dataset_gamma(snapshot.X))

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
        C = block.unit.parameters["C"]
        gram = np.empty((snapshot.rows, snapshot.rows))
        gaussian_gram(snapshot.X, dataset_gamma(snapshot.X), gram)
        svm_block(
            task_of(snapshot, block),
            columns_of(snapshot, block, splits),
            gram,
            C,
            kkt_tolerance(C),
            values,
            decisions,
        )
        return values
