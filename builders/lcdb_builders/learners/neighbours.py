"""NNC: nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.kernels.layout import ADDITIVE, Columns, Task
from lcdb_builders.kernels.neighbour_votes import votes_block
from lcdb_builders.kernels.neighbours import Table, nearest_block, table_of
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import KernelLearner
from lcdb_builders.learners.builtin import COUNTS
from lcdb_builders.snapshot import Snapshot
from lcdb_builders.unit import Block

__all__ = ["NNC"]


_Key = tuple[str, int, bytes, bytes]
# The table of the last block: blocks of a unit follow each other, and one table is large.
_last: dict[_Key, Table] = {}


def _table(snapshot: Snapshot, task: Task, columns: Columns) -> Table:
    key = (
        snapshot.sha256,
        int(task.sampling == ADDITIVE),
        task.pool.tobytes(),
        columns.rows.tobytes(),
    )
    found = _last.get(key)
    if found is None:
        _last.clear()
        found = _last[key] = table_of(task, columns)
    return found


class NNC(KernelLearner):
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
        from lcdb_builders.reference import neighbours as reference

        return reference.NNC(**params)

    def fill(
        self, snapshot: Snapshot, block: Block, task: Task, columns: Columns, values: np.ndarray
    ) -> None:
        """Fill the values of an untuned block."""
        neighbours, table = block.unit.parameters["neighbors"], _table(snapshot, task, columns)
        if neighbours == 1:
            nearest_block(task, columns, table, values)
        else:
            votes_block(neighbours, task, columns, table, values)
