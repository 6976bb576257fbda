"""The cells of a learning curve in memory: through kernels by blocks, or one fit at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lcdb.scores import shares
from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners.base import Learner, LossyScores
from lcdb_builders.predict.metrics import Measure, evaluate
from lcdb_builders.reference.cell import (
    LostCellError,
    answer_cell,
    fit_cell,
    training_rows,
    weighted_rows,
)
from lcdb_builders.reference.isolation import scratch_folder
from lcdb_builders.threads import one_thread

__all__ = ["ByEstimator", "ByKernel", "Computed", "Piece", "names_of"]

Split = tuple[np.ndarray, np.ndarray]


class Piece(NamedTuple):
    """A run of sizes and of repetitions, by place among the sizes that are asked for."""

    first_size: int
    stop_size: int
    first: int
    stop: int

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return (self.stop_size - self.first_size) * (self.stop - self.first)


class Computed(NamedTuple):
    """Values of a piece by name, (sizes, repetitions) each, and why some are missing."""

    values: dict[str, np.ndarray]
    lost: tuple[Lost, ...] = ()


def names_of(measures: Sequence[Measure], rows: Sequence[str]) -> list[tuple[str, str, Measure]]:
    """Return (name of the variable, rows, metric) of everything that is measured."""
    return [
        (one.name if kind == "test" else f"{kind}_{one.name}", kind, one)
        for kind in rows
        for one in measures
    ]


@dataclass(frozen=True)
class ByKernel:
    """The four metrics on test rows of a learner of the database, as a build computes them.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what; the sizes of the unit are those that are asked for.
    measures
        Which of the four metrics.
    """

    learner: Learner
    snapshot: Snapshot
    unit: Unit
    measures: tuple[Measure, ...]

    def compute(self, piece: Piece) -> Computed:
        """Return the values of a piece."""
        sizes = self.unit.sizes[piece.first_size : piece.stop_size]
        block = Block(self.unit, sizes, piece.first, piece.stop)
        scores = self.learner.block(self.snapshot, block, [self.unit.split])[self.unit.split]
        values = {one.name: scores[one.name].astype(np.float64) for one in self.measures}
        if "accuracy" in values:  # a count of rows, of which single precision is a rounding
            values["accuracy"] = shares(values["accuracy"], self._test_rows(block))
        return Computed(values, scores.lost if isinstance(scores, LossyScores) else ())

    def _test_rows(self, block: Block) -> np.ndarray:
        draws = self.unit.draws(self.snapshot.rows)
        if self.unit.split != "varying":
            return np.full(block.shape, len(draws.fixed_test))
        drawn = np.broadcast_to(np.array(block.sizes)[:, None], block.shape)
        if self.unit.sampling == "bootstrap":
            each = [[len(np.unique(draws.train(n, r))) for r in block.repetitions]
                    for n in block.sizes]  # fmt: skip
            drawn = np.array(each).reshape(block.shape)
        return self.snapshot.rows - drawn


@dataclass(frozen=True)
class ByEstimator:
    """Any metrics, on test and training rows, of one fitted estimator per cell.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what; the sizes of the unit are those that are asked for.
    measures, rows
        What is measured, and on which rows: ``"test"``, ``"train"``.
    names
        Labels by class code, for functions of the user's own.
    splits
        Training and test rows by repetition; None to draw them.
    timed
        Whether to tell how long fits and predictions took.
    """

    learner: Learner
    snapshot: Snapshot
    unit: Unit
    measures: tuple[Measure, ...]
    rows: tuple[str, ...]
    names: np.ndarray
    splits: Sequence[Split] | None = None
    timed: bool = False
    labels_suffice: bool = field(init=False)

    def __post_init__(self) -> None:
        needed = any(one.needs_probability for one in self.measures)
        object.__setattr__(self, "labels_suffice", not needed)

    @property
    def variables(self) -> list[str]:
        """Names of all values of a cell."""
        names = [name for name, _, _ in names_of(self.measures, self.rows)]
        return [*names, "fit_time", "score_time"] if self.timed else names

    def compute(self, piece: Piece) -> Computed:
        """Return the values of a piece."""
        sizes = self.unit.sizes[piece.first_size : piece.stop_size]
        shape = len(sizes), piece.stop - piece.first
        values = {name: np.full(shape, np.nan) for name in self.variables}
        lost = []
        with scratch_folder(), one_thread():
            for j in range(shape[1]):
                for i, n in enumerate(sizes):
                    cell, why = self._cell(n, piece.first + j)
                    for name, value in cell.items():
                        values[name][i, j] = value
                    if why:
                        lost.append(Lost(why, 1, n, n, bool(cell)))
        return Computed(values, tuple(lost))

    def _cell(self, n: int, repetition: int) -> tuple[dict[str, float], str]:
        train, test = self._sets(n, repetition)
        started = time.perf_counter()
        try:
            fitted = fit_cell(self.learner, self.snapshot, self.unit, train, n, repetition)
            took = time.perf_counter() - started
            return self._scored(fitted, train, test, took)
        except LostCellError as error:
            return {}, error.reason

    def _scored(
        self, fitted: Any, train: np.ndarray, test: np.ndarray, took: float
    ) -> tuple[dict[str, float], str]:
        values: dict[str, float] = {}
        why = ""
        if self.timed:
            values["fit_time"] = took
        for kind in self.rows:
            rows, weight = (test, np.ones(len(test), int)) if kind == "test" else _distinct(train)
            started = time.perf_counter()
            answers = answer_cell(
                self.learner, fitted, self.snapshot, rows, labels_suffice=self.labels_suffice
            )
            classes = self.snapshot.classes
            scores = evaluate(self.measures, answers, weight, classes, self.names)
            if self.timed and kind == "test":
                values["score_time"] = time.perf_counter() - started
            prefix = "" if kind == "test" else f"{kind}_"
            values |= {f"{prefix}{name}": value for name, value in scores.items()}
            why = why or answers.why
        return values, why

    def _sets(self, n: int, repetition: int) -> Split:
        if self.splits is not None:
            train, test = self.splits[repetition]
            return train[:n], test
        draws: Draws = self.unit.draws(self.snapshot.rows)
        return training_rows(draws, n, repetition), draws.test(n, repetition)


def _distinct(train: np.ndarray) -> Split:
    """Return the distinct training rows, and how often each was drawn."""
    rows, counts = weighted_rows(train)
    return rows, counts
