"""NMC, LDC and QDC: one Gaussian per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.frame import frame_of
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.holdout import Tuned, Tuning
from lcdb_builders.kernels.core.sets import Columns, Task
from lcdb_builders.kernels.gaussian import model as kernels
from lcdb_builders.kernels.gaussian.block import gaussian_block
from lcdb_builders.kernels.gaussian.tuned import gaussian_tuned
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import KernelLearner
from lcdb_builders.learners.builtin import WEIGHTS

__all__ = ["LDC", "NMC", "QDC"]

_RIDGE = Parameter(
    1e-6, float, 1e-12, 1e12, "added to the covariance, in units of the mean within-class variance"
)


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

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return the rows in a frame that holds all of them, if there is one."""
        frame = frame_of(snapshot.X)
        return None if frame is None else frame.place(snapshot.X)

    def fill(
        self, snapshot: Snapshot, block: Block, task: Task, columns: Columns, values: np.ndarray
    ) -> None:
        """Fill the values of an untuned block."""
        parameter = float(block.unit.parameters[self.tuned_parameter])
        gaussian_block(self.kind, parameter, task, columns, _unit(snapshot), values)

    def fill_tuned(
        self,
        snapshot: Snapshot,
        block: Block,
        task: Task,
        columns: Columns,
        tuning: Tuning,
        tuned: Tuned,
    ) -> None:
        """Fill a tuned block."""
        gaussian_tuned(self.kind, task, columns, tuning, _unit(snapshot), tuned)


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

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted nearest mean classifier."""
        from lcdb_builders.reference import gaussian as reference

        return reference.NMC(**params)


class LDC(_Gaussian):
    """Linear discriminant classifier."""

    name = "LDC"
    kind = kernels.LDC
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted linear discriminant classifier."""
        from lcdb_builders.reference import gaussian as reference

        return reference.LDC(**params)


class QDC(_Gaussian):
    """Quadratic discriminant classifier."""

    name = "QDC"
    kind = kernels.QDC
    parameters: ClassVar[Mapping[str, Parameter]] = {"ridge": _RIDGE}
    tuned_parameter = "ridge"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted quadratic discriminant classifier."""
        from lcdb_builders.reference import gaussian as reference

        return reference.QDC(**params)
