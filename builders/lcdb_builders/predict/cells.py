"""The cells of a learning curve in memory: through kernels by blocks, or one fit at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners.base import Learner, LossyScores
from lcdb_builders.learners.memory import tables_within
from lcdb_builders.predict.kernels import KernelAnswers, answers_of, runs
from lcdb_builders.predict.metrics import Measure, Predictions, evaluate
from lcdb_builders.reference.cell import (
    Answers,
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
#: Bytes that kernels may keep distances or a kernel in, in each worker.
TABLES = 120e6


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
    return [(f"{prefix_of(kind)}{one.name}", kind, one) for kind in rows for one in measures]


def said_of(answers: Answers, rows: np.ndarray, snapshot: Snapshot) -> dict[str, np.ndarray]:
    """Return probabilities (row, class) and labels (row) of a cell; NaN and -1 of other rows."""
    predictions = Predictions.of(answers, np.ones(len(rows), int), snapshot.classes)
    probability = np.full((snapshot.rows, snapshot.classes), np.nan)
    label = np.full(snapshot.rows, -1, np.int16)
    if predictions.probability is not None:
        probability[rows] = predictions.probability
    label[rows] = predictions.label
    return {"probability": probability, "label": label}


def _empty(
    shape: tuple[int, int], names: Sequence[str], snapshot: Snapshot, kept: bool
) -> dict[str, np.ndarray]:
    """Return arrays for the values of a piece."""
    values = {name: np.full(shape, np.nan) for name in names}
    if kept:
        values["probability"] = np.full((*shape, snapshot.rows, snapshot.classes), np.nan)
        values["label"] = np.full((*shape, snapshot.rows), -1, np.int16)
    return values


def prefix_of(kind: str) -> str:
    """Return what the names of variables begin with that are of other rows than test rows."""
    return "" if kind == "test" else f"{kind}_"


@dataclass(frozen=True)
class ByKernel:
    """A learner of the database, computed as a build computes it.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what; the sizes of the unit are those that are asked for.
    measures, rows, names, kept
        As of `ByEstimator`.
    """

    learner: Learner
    snapshot: Snapshot
    unit: Unit
    measures: tuple[Measure, ...]
    rows: tuple[str, ...] = ("test",)
    names: np.ndarray | None = None
    kept: bool = False

    @property
    def variables(self) -> list[str]:
        """Names of all values of a cell."""
        return [name for name, _, _ in names_of(self.measures, self.rows)]

    @property
    def numbers_suffice(self) -> bool:
        """Whether nothing is asked for but the metrics of a database, on test rows."""
        return (
            not self.kept and self.rows == ("test",) and all(one.is_stored for one in self.measures)
        )

    def compute(self, piece: Piece) -> Computed:
        """Return the values of a piece."""
        with tables_within(TABLES):
            return self._compute(piece)

    def _compute(self, piece: Piece) -> Computed:
        sizes = self.unit.sizes[piece.first_size : piece.stop_size]
        if self.numbers_suffice:
            return self._numbers(Block(self.unit, sizes, piece.first, piece.stop))
        shape = len(sizes), piece.stop - piece.first
        names = [name for name, _, _ in names_of(self.measures, self.rows)]
        values = _empty(shape, names, self.snapshot, self.kept)
        repetitions = range(piece.first, piece.stop)
        for which, several in runs(self.snapshot, len(sizes), repetitions):
            only_test = self.rows == ("test",)
            kernel_answers = answers_of(
                self.learner,
                self.snapshot,
                self.unit,
                sizes[which],
                repetitions[several],
                only_test=only_test,
            )
            if kernel_answers is None:
                return self._by_estimator().compute(piece)
            for a, n in enumerate(sizes[which]):
                for b, repetition in enumerate(repetitions[several]):
                    for name, value in self._cell(kernel_answers, (a, b), n, repetition).items():
                        values[name][which.start + a, several.start + b] = value
        return Computed(values)

    def _cell(
        self, kernel_answers: KernelAnswers, place: tuple[int, int], n: int, repetition: int
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        classes = self.snapshot.classes
        for kind in self.rows:
            of_test = kind == "test"
            if of_test:
                rows = self._draws.test(n, repetition)
                weight = np.ones(len(rows), int)
            else:
                rows, weight = weighted_rows(self._draws.train(n, repetition))
            answers = kernel_answers.answers(*place, rows, of_test=of_test)
            scores = evaluate(self.measures, answers, weight, classes, self.names)
            values |= {f"{prefix_of(kind)}{name}": value for name, value in scores.items()}
            if of_test and self.kept:
                values |= said_of(answers, rows, self.snapshot)
        return values

    @cached_property
    def _draws(self) -> Draws:
        return self.unit.draws(self.snapshot)

    def _by_estimator(self) -> ByEstimator:
        return ByEstimator(
            self.learner, self.snapshot, self.unit, self.measures, self.rows, self.names,
            kept=self.kept,
        )  # fmt: skip

    def _numbers(self, block: Block) -> Computed:
        scores = self.learner.block(self.snapshot, block, [self.unit.split])[self.unit.split]
        values = {one.name: scores[one.name].astype(np.float64) for one in self.measures}
        if "accuracy" in values:  # a count of rows, of which single precision is a rounding
            rows = self._test_rows(block)
            values["accuracy"] = np.rint(values["accuracy"] * rows) / rows
        return Computed(values, scores.lost if isinstance(scores, LossyScores) else ())

    def _test_rows(self, block: Block) -> np.ndarray:
        draws = self._draws
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
    kept
        Whether to return what is said of each test row.
    """

    learner: Learner
    snapshot: Snapshot
    unit: Unit
    measures: tuple[Measure, ...]
    rows: tuple[str, ...]
    names: np.ndarray | None
    splits: Sequence[Split] | None = None
    timed: bool = False
    kept: bool = False
    labels_suffice: bool = field(init=False)

    def __post_init__(self) -> None:
        needed = self.kept or any(one.needs_probability for one in self.measures)
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
        values = _empty(shape, self.variables, self.snapshot, self.kept)
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

    def _cell(self, n: int, repetition: int) -> tuple[dict[str, Any], str]:
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
    ) -> tuple[dict[str, Any], str]:
        values: dict[str, Any] = {}
        why = ""
        if self.timed:
            values["fit_time"] = took
        for kind in self.rows:
            rows, weight = (
                (test, np.ones(len(test), int)) if kind == "test" else weighted_rows(train)
            )
            started = time.perf_counter()
            answers = answer_cell(
                self.learner, fitted, self.snapshot, rows, labels_suffice=self.labels_suffice
            )
            classes = self.snapshot.classes
            scores = evaluate(self.measures, answers, weight, classes, self.names)
            if self.timed and kind == "test":
                values["score_time"] = time.perf_counter() - started
            values |= {f"{prefix_of(kind)}{name}": value for name, value in scores.items()}
            if self.kept and kind == "test":
                values |= said_of(answers, rows, self.snapshot)
            why = why or answers.why
        return values, why

    def _sets(self, n: int, repetition: int) -> Split:
        if self.splits is not None:
            train, test = self.splits[repetition]
            return train[:n], test
        draws: Draws = self.unit.draws(self.snapshot)
        return training_rows(draws, n, repetition), draws.test(n, repetition)
