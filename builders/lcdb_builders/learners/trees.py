"""DT, RFOR and ADAB: trees, forests of them, and boosted stumps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.builtin import COUNTS, BuiltinLearner
from lcdb_builders.reference import boosting, trees
from lcdb_builders.reference.randomness import CellStream
from lcdb_builders.snapshot import Snapshot

__all__ = ["ADAB", "DT", "RFOR"]


def _stream(cell: Mapping[str, Any]) -> CellStream | None:
    """Return the random stream of a cell, if one is named."""
    return CellStream(cell["key"], cell["n"], cell["repetition"]) if cell else None


class DT(BuiltinLearner):
    """Decision tree."""

    name = "DT"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "min_samples_leaf": Parameter(10, int, 1, 1_000_000, "fewest rows in a leaf"),
    }
    tuned_parameter = "min_samples_leaf"
    grid = COUNTS
    ranking = "probability"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted tree with the cell's random stream."""
        return trees.DT(**params, stream=_stream(cell))


class RFOR(BuiltinLearner):
    """Random forest."""

    name = "RFOR"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "trees": Parameter(20, int, 1, 100_000, "number of trees"),
        "min_samples_leaf": Parameter(1, int, 1, 1_000_000, "fewest rows in a leaf"),
        "features": Parameter(0, int, 0, 1_000_000, "features per split; 0 is floor(sqrt(d))"),
    }
    tuned_parameter = "trees"
    grid = COUNTS
    ranking = "probability"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted forest with the cell's random stream."""
        return trees.RFOR(**params, stream=_stream(cell))


class ADAB(BuiltinLearner):
    """AdaBoost of stumps."""

    name = "ADAB"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "stumps": Parameter(100, int, 1, 100_000, "largest number of stumps"),
    }
    tuned_parameter = "stumps"
    grid = COUNTS
    ranking = "probability"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted ensemble of stumps with the cell's random stream."""
        return boosting.ADAB(**params, stream=_stream(cell))
