"""NNC: nearest neighbours."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.frame import exponent_of
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.core.holdout import Tuned, Tuning, untuned
from lcdb_builders.kernels.core.sets import ADDITIVE, Columns, Task, constant_columns
from lcdb_builders.kernels.neighbours.block import (
    ENTRY,
    LARGEST_TABLE,
    Table,
    nearest_block,
    table_of,
)
from lcdb_builders.kernels.neighbours.votes import votes_block
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import BlockCall, KernelLearner
from lcdb_builders.learners.builtin import COUNTS
from lcdb_builders.learners.costing import Cost
from lcdb_builders.learners.memory import table_bytes
from lcdb_builders.reference.tuning import TuningRule

__all__ = ["NNC"]


_Key = tuple[str, bool, float, bytes, bytes]
# The last two tables: blocks of a unit follow each other, and one table is large.
_last: dict[_Key, Table] = {}
_lock = threading.Lock()
MOST_TABLES = 2


def _limit() -> float:
    """Return how many bytes each table may take, with the lists beside it."""
    return table_bytes() / MOST_TABLES


def _table(snapshot: Snapshot, task: Task, columns: Columns) -> Table:
    """Return distances and, for fresh draws, lists of candidates, as far as there is room."""
    additive, most = task.sampling == ADDITIVE, _limit()
    key = (snapshot.sha256, additive, most, task.pool.tobytes(), columns.rows.tobytes())
    with _lock:
        table = _last.get(key)
        if table is None:
            while len(_last) >= MOST_TABLES:
                del _last[next(iter(_last))]
            table = _last[key] = table_of(task, columns, most)
        return table


class NNC(KernelLearner):
    """Nearest neighbour classifier."""

    name = "NNC"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "neighbors": Parameter(1, int, 1, 1_000_000, "number of neighbours that vote")
    }
    tuned_parameter = "neighbors"
    grid = COUNTS
    ranking = "probability"
    tunes = True
    keeps_numbers = False
    reference = "lcdb_builders.reference.neighbours"
    cost = Cost(
        reference={"": 110, "tk": 0.02, "tnd": 0.0015},
        additive={"": 0.1, "t": 0.0022},
        fresh={"t": 0.018, "tk": 0.00021},
        tuned={"": 4, "t": 0.2},
        candidates=("n", "t", "nd", "tk", "kk"),
        shares_sizes=("default", "tuned"),
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.neighbors import KNeighborsClassifier

        return {self.name: KNeighborsClassifier(params["neighbors"])}

    def worker_bytes(self, rows: int) -> int:
        """Return the most bytes that tables of a dataset take: none where no table has room."""
        pool = largest_size(rows)
        least = ENTRY * pool * (rows - pool)
        return MOST_TABLES * min(LARGEST_TABLE, ENTRY * rows**2) if least <= LARGEST_TABLE else 0

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return the rows in a unit in which squared distances are numbers, if there is one."""
        exponent = exponent_of(snapshot.X)
        return None if exponent is None else np.ldexp(snapshot.X, -exponent)

    def fill(self, call: BlockCall, values: np.ndarray) -> None:
        """Fill the values of an untuned block."""
        neighbours = call.block.unit.parameters["neighbors"]
        if neighbours > 1:
            self._vote(call, neighbours, values)
            return
        table = _table(call.snapshot, call.task, call.columns)
        nearest_block(call.task, call.columns, table, values)

    def _vote(self, call: BlockCall, neighbours: float, values: np.ndarray) -> None:
        """Fill values with one number of neighbours, of which class shares may be kept."""
        table = _table(call.snapshot, call.task, call.columns)
        votes_block(call.task, call.columns, table, None, *untuned(neighbours, values), _limit())

    def keep(self, call: BlockCall, tuned: Tuned, choices: np.ndarray | None) -> None:
        """Keep the shares of votes; numbers without them are had from fewer steps."""
        unit = call.block.unit
        if tuned.values.shape[-1] == WIDTH:
            super().keep(call, tuned, choices)
        elif unit.tuning == "default":
            self._vote(call, unit.parameters["neighbors"], tuned.values)
        else:
            assert choices is not None
            for chosen in np.unique(choices):
                values = np.empty_like(tuned.values)
                self._vote(call, TuningRule.of(unit).grid[chosen], values)
                tuned.values[choices == chosen] = values[choices == chosen]

    def fill_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> None:
        """Fill a tuned block."""
        snapshot, task, columns = call.snapshot, call.task, call.columns
        studied = columns
        if not columns.varying:  # then all columns may be held out
            studied = constant_columns(task.X, snapshot.y, snapshot.classes, [task.pool])
        study = _table(snapshot, task, studied)
        table = study if columns.varying else _table(snapshot, task, columns)
        votes_block(task, columns, table, (studied, study), tuning, tuned, _limit())
