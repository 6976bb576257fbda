"""What the ten learners of the database share: a reference estimator fitted cell by cell.

A family with a kernel overrides `block` and `implementation`; `estimator` stays what `lcdb replay`
and `lcdb verify --recompute` refit with. Estimators are imported where they are made: scikit-learn
takes a second to import, and a kernel needs nothing of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners.base import Learner, Scores
from lcdb_builders.reference.block import reference_block

__all__ = ["COUNTS", "REFERENCE", "WEIGHTS", "BuiltinLearner"]

REFERENCE = "reference-2"

# The two grids: penalties, shrinkage and C; neighbours, rows per leaf, trees and stumps.
WEIGHTS = tuple(float(value) for value in np.logspace(-8, -1, 20))
COUNTS = tuple(int(value) for value in np.unique(np.round(np.linspace(1, 100, 20))))


class BuiltinLearner(Learner):
    """A learner whose blocks are computed with its reference estimator."""

    implementation = REFERENCE
    #: Where its reference estimator is: a class of the learner's name.
    reference: ClassVar[str]

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return the unfitted reference estimator of one cell."""
        return getattr(importlib.import_module(self.reference), self.name)(**params)

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split: one fitted estimator per cell."""
        return reference_block(self, snapshot, block, splits)
