"""NNC: nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.builtin import COUNTS, BuiltinLearner
from lcdb_builders.reference import neighbours as reference
from lcdb_builders.snapshot import Snapshot

__all__ = ["NNC"]


class NNC(BuiltinLearner):
    """Nearest neighbour classifier."""

    name = "NNC"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "neighbors": Parameter(1, int, 1, 1_000_000, "number of neighbours that vote")
    }
    tuned_parameter = "neighbors"
    grid = COUNTS
    ranking = "probability"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted nearest neighbour classifier."""
        return reference.NNC(**params)
