"""GSVC: support vector classifier with a Gaussian kernel, one class against the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.kernels.core.holdout import Tuned, Tuning, hold_out_of
from lcdb_builders.kernels.svm.block import Aims, svm_block
from lcdb_builders.kernels.svm.gram import Gram, gram_of
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import BlockCall
from lcdb_builders.learners.costing import Cost
from lcdb_builders.learners.memory import table_bytes
from lcdb_builders.learners.onevsrest import OneVsRestLearner, one_vs_rest
from lcdb_builders.reference.machine import check_kernel, dataset_gamma, kkt_tolerance

__all__ = ["GSVC"]

# Errors are about 1, and rounding leaves them some 1e-15 off.
_SMALLEST_TOLERANCE = 1e-13
# Violations that will do, where rounding keeps a machine from the tolerance.
_LARGEST_VIOLATION = 1e-6


def _gamma(snapshot: Snapshot) -> float:
    gamma = dataset_gamma(snapshot.X)
    check_kernel(snapshot.X, gamma)
    return gamma


def _gram(snapshot: Snapshot) -> Gram:
    return gram_of(snapshot.X, _gamma(snapshot), table_bytes())


def _aims(grid: np.ndarray) -> Aims:
    """Return by how much optimality may be violated for values of C: what is aimed at, and most."""
    tolerances = [max(kkt_tolerance(C), _SMALLEST_TOLERANCE) for C in grid]
    limits = [max(_LARGEST_VIOLATION * min(1.0, C), _SMALLEST_TOLERANCE) for C in grid]
    return Aims(np.array(tolerances), np.array(limits))


class GSVC(OneVsRestLearner):
    """Support vector classifier with a Gaussian kernel; gamma is one constant per dataset.

    Fresh draws start from a machine of the whole pool; along additive curves machines start so at
    every 32nd size and then take in row by row, whichever sizes are asked for. The last steps solve
    for the coefficients that are between their bounds until their rows' errors are equal as far as
    rounding allows: their decision values are 1 or -1 to ten digits and more.
    """

    name = "GSVC"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "C": Parameter(1.0, float, 1e-12, 1e12, "price of a row's hinge loss")
    }
    tuned_parameter = "C"
    reference = "lcdb_builders.reference.svm"
    cost = Cost(
        reference={"": 200, "o": 79, "ndo": 0.25, "nno": 0.017, "tk": 0.17, "tn": 0.004},
        additive={"o": 16.0, "tk": 0.0042},
        fresh={"no": 0.16, "nno": 0.00014, "tno": 0.0004},
        tuned_ratio=4.0,
        candidates=("o", "n", "no", "nno", "t", "tk", "tn", "tno"),
        shares_sizes=("default",),
    )

    def score_tolerance(self, params: Mapping[str, Any]) -> float:
        """Return how far scores of two implementations may differ."""
        return 1e-5 * max(params["C"], 1e-8)

    def worker_bytes(self, rows: int) -> int:
        """Return the bytes of the kernel matrix of a dataset."""
        return 8 * rows**2

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator, one class against another and against the rest."""
        from sklearn.svm import SVC

        machine = SVC(C=params["C"], gamma=dataset_gamma(X))
        return {
            self.name: machine,
            f"{self.name} one-vs-rest": one_vs_rest(machine, classes),
        }

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted support vector classifier with the dataset's gamma."""
        return super().estimator(snapshot, {**params, "gamma": _gamma(snapshot)})

    def solve(self, call: BlockCall, tuning: Tuning, tuned: Tuned, decisions: np.ndarray) -> int:
        """Fill a block; returns how many fits found no optimum."""
        missed = svm_block(
            call.task,
            call.columns,
            _gram(call.snapshot),
            tuning,
            _aims(tuning.grid),
            hold_out_of(call.task, call.columns, tuning, tuned),
            tuned,
            decisions,
        )
        return int(missed)
