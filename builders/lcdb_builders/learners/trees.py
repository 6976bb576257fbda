"""DT, RFOR and ADAB: trees, forests of them, and boosted stumps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.kernels.core.holdout import Tuned, Tuning
from lcdb_builders.kernels.core.sets import Columns, Task
from lcdb_builders.kernels.trees.block import boosting_block, forest_block, tree_block
from lcdb_builders.kernels.trees.cells import Data, Grid, data_of, grid_of
from lcdb_builders.kernels.trees.codes import LARGEST, code
from lcdb_builders.kernels.trees.histograms import MOST_FEATURES
from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.batch import BlockCall, KernelLearner
from lcdb_builders.learners.builtin import COUNTS
from lcdb_builders.learners.costing import Cost
from lcdb_builders.reference.cell import learner_key
from lcdb_builders.reference.randomness import CellStream, features_at_node

__all__ = ["ADAB", "DT", "RFOR"]

# Terms of costs that may matter.
_TERMS = ("n", "nd", "d", "t", "tk")


def _stream(cell: Mapping[str, Any]) -> CellStream | None:
    """Return the random stream of a cell, if one is named."""
    return CellStream(cell["key"], cell["n"], cell["repetition"]) if cell else None


class KernelArguments(NamedTuple):
    """What the kernels of all three take, in the order in which they take it.

    Parameters
    ----------
    task, columns
        Cells, and where they are scored.
    data
        The dataset in integers.
    key0, key1
        Key of the learner's random streams.
    grid
        What cells are fitted with, and what is filled.
    """

    task: Task
    columns: Columns
    data: Data
    key0: np.uint64
    key1: np.uint64
    grid: Grid


class _Tree(KernelLearner):
    """What the three share: integer codes of the dataset, and a random stream per cell."""

    grid = COUNTS
    ranking = "probability"
    tunes = True
    reference = "lcdb_builders.reference.trees"

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return the rows, unless they are too many for codes.

        The reference takes the same decisions, whatever their number.
        """
        return snapshot.X if snapshot.rows <= LARGEST else None

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return the unfitted reference estimator with the cell's random stream."""
        return super().estimator(snapshot, {**params, "stream": _stream(cell)})

    def fill_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> None:
        """Fill a block: untuned ones have a grid of one value."""
        snapshot, unit = call.snapshot, call.block.unit
        key0, key1 = learner_key(unit)
        arguments = KernelArguments(
            task=call.task,
            columns=call.columns,
            data=data_of(code(snapshot.X, snapshot.y), call.columns),
            key0=key0,
            key1=key1,
            grid=grid_of(call.task, call.columns, tuning, tuned),
        )
        self.run(arguments, unit.parameters)

    @abstractmethod
    def run(self, arguments: KernelArguments, params: Mapping[str, Any]) -> None:
        """Call the kernel on what is the same for all three."""


class DT(_Tree):
    """Decision tree."""

    name = "DT"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "min_samples_leaf": Parameter(10, int, 1, 1_000_000, "fewest rows in a leaf"),
    }
    tuned_parameter = "min_samples_leaf"
    large: ClassVar[Mapping[str, Any]] = {"min_samples_leaf": 1}
    cost = Cost(
        reference={"": 50, "n": 4.5, "nd": 0.65, "tk": 0.02},
        additive={"n": 0.038, "nd": 0.0055, "tk": 0.0073},
        fresh={"n": 0.04, "nd": 0.0047, "tk": 0.0076},
        tuned_ratio=9.0,
        candidates=_TERMS,
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.tree import DecisionTreeClassifier

        leaf = params["min_samples_leaf"]
        return {self.name: DecisionTreeClassifier(min_samples_leaf=leaf)}

    def run(self, arguments: KernelArguments, params: Mapping[str, Any]) -> None:
        """Call the kernel."""
        tree_block(*arguments)


class RFOR(_Tree):
    """Random forest."""

    name = "RFOR"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "trees": Parameter(20, int, 1, 100_000, "number of trees"),
        "min_samples_leaf": Parameter(1, int, 1, 1_000_000, "fewest rows in a leaf"),
        "features": Parameter(0, int, 0, 1_000_000, "features per split; 0 is floor(sqrt(d))"),
    }
    tuned_parameter = "trees"
    large: ClassVar[Mapping[str, Any]] = {"trees": 100}
    cost = Cost(
        reference={"": 600, "nd": 15, "tk": 0.6},
        additive={"n": 0.41, "nd": 0.027, "tk": 0.12},
        fresh={"n": 0.44, "nd": 0.024, "tk": 0.096},
        tuned_ratio=7.0,
        proportional=("trees", 20),
        candidates=_TERMS,
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.ensemble import RandomForestClassifier

        return {self.name: RandomForestClassifier(params["trees"])}

    def run(self, arguments: KernelArguments, params: Mapping[str, Any]) -> None:
        """Call the kernel."""
        visits = features_at_node(params["features"], len(arguments.data.rows))
        forest_block(*arguments, params["min_samples_leaf"], visits)


class ADAB(_Tree):
    """AdaBoost of stumps."""

    name = "ADAB"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "stumps": Parameter(100, int, 1, 100_000, "largest number of stumps"),
    }
    tuned_parameter = "stumps"
    reference = "lcdb_builders.reference.boosting"
    large: ClassVar[Mapping[str, Any]] = {"stumps": 50}
    cost = Cost(
        reference={"k": 1500, "n": 8.0, "nd": 2.7, "tk": 0.2},
        additive={"": 35.0, "nd": 0.029, "tk": 0.043},
        fresh={"": 31.0, "nd": 0.026, "d": 0.19, "tk": 0.045},
        tuned_ratio=1.9,
        proportional=("stumps", 100),
        candidates=_TERMS,
    )

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return scikit-learn's estimator."""
        from sklearn.ensemble import AdaBoostClassifier

        return {self.name: AdaBoostClassifier(n_estimators=params["stumps"])}

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return the rows, unless they or their features are too many for histograms."""
        return super().features(snapshot) if snapshot.features <= MOST_FEATURES else None

    def run(self, arguments: KernelArguments, params: Mapping[str, Any]) -> None:
        """Call the kernel."""
        boosting_block(*arguments)
