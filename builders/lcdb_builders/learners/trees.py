"""DT, RFOR and ADAB: trees, forests of them, and boosted stumps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.holdout import Tuned, Tuning
from lcdb_builders.kernels.core.sets import Columns, Task
from lcdb_builders.kernels.trees.block import boosting_block, forest_block, tree_block
from lcdb_builders.kernels.trees.cells import data_of, grid_of
from lcdb_builders.kernels.trees.codes import LARGEST, code
from lcdb_builders.learners.base import Parameter, Scores
from lcdb_builders.learners.batch import KernelLearner
from lcdb_builders.learners.builtin import COUNTS
from lcdb_builders.reference.block import reference_block
from lcdb_builders.reference.cell import learner_key
from lcdb_builders.reference.randomness import CellStream, features_at_node

__all__ = ["ADAB", "DT", "RFOR"]


def _stream(cell: Mapping[str, Any]) -> CellStream | None:
    """Return the random stream of a cell, if one is named."""
    return CellStream(cell["key"], cell["n"], cell["repetition"]) if cell else None


class _Tree(KernelLearner):
    """What the three share: integer codes of the dataset, and a random stream per cell."""

    grid = COUNTS
    ranking = "probability"
    tunes = True

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split."""
        if snapshot.rows > LARGEST:  # the reference takes the same decisions, whatever the size
            return reference_block(self, snapshot, block, splits)
        return super().block(snapshot, block, splits)

    def fill(
        self, snapshot: Snapshot, block: Block, task: Task, columns: Columns, values: np.ndarray
    ) -> None:
        """Fill the values of an untuned block."""
        default = np.array([block.unit.parameters[str(self.tuned_parameter)]], np.float64)
        only = Tuning(np.uint64(0), np.uint64(0), default, 0)
        choices = np.empty((0, 0, 0), np.int8)
        self._run(snapshot, block, task, columns, only, Tuned(values, choices, choices))

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
        self._run(snapshot, block, task, columns, tuning, tuned)

    def _run(
        self,
        snapshot: Snapshot,
        block: Block,
        task: Task,
        columns: Columns,
        tuning: Tuning,
        out: Tuned,
    ) -> None:
        data = data_of(code(snapshot.X, snapshot.y), columns)
        grid = grid_of(task, columns, tuning, block.unit.tuning == "tuned", out)
        self.run((task, columns, data, *learner_key(block.unit), grid), block.unit.parameters)

    @abstractmethod
    def run(self, arrays: tuple, params: Mapping[str, Any]) -> None:
        """Call the kernel on arrays that are the same for all three."""


class DT(_Tree):
    """Decision tree."""

    name = "DT"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "min_samples_leaf": Parameter(10, int, 1, 1_000_000, "fewest rows in a leaf"),
    }
    tuned_parameter = "min_samples_leaf"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted tree with the cell's random stream."""
        from lcdb_builders.reference.trees import DT as Reference

        return Reference(**params, stream=_stream(cell))

    def run(self, arrays: tuple, params: Mapping[str, Any]) -> None:
        """Call the kernel."""
        tree_block(*arrays)


class RFOR(_Tree):
    """Random forest."""

    name = "RFOR"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "trees": Parameter(20, int, 1, 100_000, "number of trees"),
        "min_samples_leaf": Parameter(1, int, 1, 1_000_000, "fewest rows in a leaf"),
        "features": Parameter(0, int, 0, 1_000_000, "features per split; 0 is floor(sqrt(d))"),
    }
    tuned_parameter = "trees"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted forest with the cell's random stream."""
        from lcdb_builders.reference.trees import RFOR as Reference

        return Reference(**params, stream=_stream(cell))

    def run(self, arrays: tuple, params: Mapping[str, Any]) -> None:
        """Call the kernel."""
        visits = features_at_node(params["features"], len(arrays[2].rows))
        forest_block(*arrays, params["min_samples_leaf"], visits)


class ADAB(_Tree):
    """AdaBoost of stumps."""

    name = "ADAB"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "stumps": Parameter(100, int, 1, 100_000, "largest number of stumps"),
    }
    tuned_parameter = "stumps"

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return an unfitted ensemble of stumps with the cell's random stream."""
        from lcdb_builders.reference.boosting import ADAB as Reference

        return Reference(**params, stream=_stream(cell))

    def run(self, arrays: tuple, params: Mapping[str, Any]) -> None:
        """Call the kernel."""
        boosting_block(*arrays)
