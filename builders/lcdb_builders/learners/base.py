"""What a learner is to the builder: declared parameters, and one method that computes a block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lcdb.errors import PlanError, did_you_mean
from lcdb_builders.domain.lost import Lost, merge_lost
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners.costing import Cost

__all__ = ["Learner", "LossyScores", "Parameter", "Scores"]

# Arrays of shape (sizes, repetitions) by variable name: the four metrics as float32, `n_clipped`
# as int32, and for tuned units `choice_<metric>` and `choice_flag_<metric>` as int8.
Scores = dict[str, np.ndarray]


class LossyScores(dict[str, np.ndarray]):
    """Scores of a block, and of its cells that lack values, why.

    Parameters
    ----------
    scores
        Arrays by variable.
    lost
        What is NaN for a reason.
    """

    def __init__(self, scores: Mapping[str, np.ndarray], lost: Iterable[Lost] = ()) -> None:
        super().__init__(scores)
        self.lost = merge_lost(lost)


@dataclass(frozen=True)
class Parameter:
    """A declared parameter: its default, its range, and what it means."""

    default: Any
    kind: type
    low: float
    high: float
    doc: str

    def check(self, learner: str, name: str, value: Any) -> Any:
        """Return the value in the declared type, or raise naming learner, key and range."""
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if right and self.kind is int:
            right = float(value).is_integer()
        if not right or not self.low <= value <= self.high:
            kind = "an integer" if self.kind is int else "a number"
            msg = (
                f"learners.{learner}.{name} is {value!r}; expected {kind} from {self.low:g} "
                f"to {self.high:g} ({self.doc})"
            )
            raise PlanError(msg)
        return self.kind(value)


class Learner(ABC):
    """One learner of the database.

    Subclasses declare; instances hold nothing, so that one instance serves every unit.
    """

    #: Label in plans and cubes.
    name: str
    #: What computes its blocks; part of every block's key. Raise it when numbers change.
    implementation: str
    #: Implementations of another definition, which nothing computes any more: what that was.
    former: ClassVar[Mapping[str, str]] = {}
    #: Declared parameters by name.
    parameters: ClassVar[Mapping[str, Parameter]]
    #: The parameter that tuned curves choose, or None.
    tuned_parameter: ClassVar[str | None] = None
    #: The values that tuned curves choose from where a plan names no others.
    grid: ClassVar[tuple[float, ...]] = ()
    #: What the AUC ranks by: class log-odds of log scores, or probabilities.
    ranking: ClassVar[Literal["log_odds", "probability"]] = "log_odds"
    #: Whether its classifier comes from elsewhere: labels are then its own, and it may fail.
    foreign: ClassVar[bool] = False
    #: What its cells cost.
    cost: ClassVar[Cost] = Cost()
    #: Parameters of `lcdb bench --settings large`.
    large: ClassVar[Mapping[str, Any]] = {}

    def score_tolerance(self, params: Mapping[str, Any]) -> float:
        """Return how far scores of two implementations may differ, relative to 1 + |score|.

        0, unless a learner says otherwise: bit for bit the same.
        """
        return 0.0

    def worker_bytes(self, rows: int) -> int:
        """Return the bytes that a block needs besides what any block takes, at so many rows."""
        return 0

    def baselines(self, params: Mapping[str, Any], X: np.ndarray, classes: int) -> dict[str, Any]:
        """Return what `lcdb bench` times beside it: estimators of scikit-learn, the closest first.

        Parameters
        ----------
        params
            All parameters.
        X
            Features of the whole dataset.
        classes
            Of the training set.
        """
        return {}

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters, defaults included, after checking the given ones."""
        for key in params:
            if key not in self.parameters:
                hint = did_you_mean(key, self.parameters)
                msg = f"learners.{self.name}.{key} is not a parameter of {self.name}.{hint}"
                raise PlanError(msg)
        return {
            key: declared.check(self.name, key, params.get(key, declared.default))
            for key, declared in self.parameters.items()
        }

    @abstractmethod
    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return the unfitted reference estimator of one cell: scikit-learn's interface."""

    @abstractmethod
    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split.

        Parameters
        ----------
        snapshot
            The dataset.
        block
            What to compute.
        splits
            Test sets to score on, all with the block's training sets: one split, or
            ``("fixed", "pool")``, which share every fit.
        """
