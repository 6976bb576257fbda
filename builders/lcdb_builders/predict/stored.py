"""Cells of a database computed again, and held to what is stored of them.

Kernels say what they said in the build, and every cell's metrics on test rows are the stored
numbers, bit for bit. Where the stored numbers come from other machines or versions, cells that
differ are left to the readable reference estimators, which must agree with what is stored within
the tolerances that implementations of one learner have; so are cells of learners without kernels.
Classifiers from elsewhere are fitted as in the build. A cell that is not the stored one is an
error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lcdb.database import Database, Key
from lcdb.errors import CellError, LabelError, NotBuiltError
from lcdb.schema import METRICS, UNIT_DIMS
from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners import registry
from lcdb_builders.learners.base import Learner
from lcdb_builders.predict.cells import Computed, Piece
from lcdb_builders.predict.kernels import KernelAnswers, answers_of, runs
from lcdb_builders.predict.metrics import Measure, Predictions, evaluate
from lcdb_builders.reference.agreement import allowed
from lcdb_builders.reference.cell import (
    Answers,
    LostCellError,
    answer_cell,
    fit_cell,
    training_rows,
    weighted_rows,
)
from lcdb_builders.reference.isolation import scratch_folder
from lcdb_builders.reference.replay import Replayer
from lcdb_builders.reference.tuning import TuningRule
from lcdb_builders.threads import one_thread

__all__ = ["ROWS", "Derived", "Predicted", "Refits", "refits_of"]

#: A cell: its place among sizes and repetitions, and among answers of kernels.
_Cell = tuple[tuple[int, int], tuple[int, int] | None]

ROWS = ("test", "train", "all")
#: By how much a metric misses its stored number at most: a value by cell.
OFF = "off"


@dataclass(frozen=True)
class Refits:
    """Cells of one curve, to be fitted again.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what.
    sizes, repetitions
        Which cells.
    stored
        The stored numbers that fits are held to, (sizes, repetitions) by metric.
    choices
        Of a tuned curve, the index of the chosen grid value by cell.
    rows
        Which rows are asked about.
    chosen_by
        Of a tuned curve, the metric whose choice is meant.
    expects_same_bits
        Whether the stored numbers were computed by this implementation, on such machines.
    """

    learner: Learner
    snapshot: Snapshot
    unit: Unit
    sizes: tuple[int, ...]
    repetitions: tuple[int, ...]
    stored: Mapping[str, np.ndarray]
    choices: np.ndarray | None
    rows: str
    chosen_by: str
    expects_same_bits: bool

    @cached_property
    def draws(self) -> Draws:
        """Training and test rows of all cells."""
        return self.unit.draws(self.snapshot)

    def asked(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are asked about, and how often each counts."""
        if self.rows == "train":
            return weighted_rows(train)
        rows = test if self.rows == "test" else np.arange(self.snapshot.rows)
        return rows, np.ones(len(rows), int)

    def drawn(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the training rows of a cell with copies, and its test rows."""
        n, repetition = self.sizes[i], self.repetitions[j]
        return training_rows(self.draws, n, repetition), self.draws.test(n, repetition)

    def fitted(self, i: int, j: int, train: np.ndarray) -> Any:
        """Return the reference estimator of a cell."""
        n, repetition = self.sizes[i], self.repetitions[j]
        params = None
        if self.choices is not None:
            rule = TuningRule.of(self.unit)
            params = {**self.unit.parameters, rule.parameter: rule.grid[self.choices[i, j]]}
        return fit_cell(self.learner, self.snapshot, self.unit, train, n, repetition, params)

    def compute(self, piece: Piece) -> Computed:
        """Return what is asked of the cells of a piece."""
        shape = piece.stop_size - piece.first_size, piece.stop - piece.first
        values = self.empty(shape)
        values[OFF] = np.zeros(shape)
        lost = []
        # Files are written by classifiers from elsewhere alone.
        with scratch_folder() if self.learner.foreign else nullcontext(), one_thread():
            for kernel_answers, some in self._answered(piece):
                for (i, j), place in some:
                    try:
                        cell = (
                            self.cell(i, j)
                            if place is None
                            else self.repeated(kernel_answers, place, i, j)
                        )
                    except LostCellError as error:
                        self._check_lost(i, j, error)
                        lost.append(Lost(error.reason, 1, self.sizes[i], self.sizes[i]))
                        continue
                    for name, value in cell.items():
                        values[name][i - piece.first_size, j - piece.first] = value
        return Computed(values, tuple(lost))

    def _answered(self, piece: Piece) -> Iterator[tuple[Any, list[_Cell]]]:
        """Yield what kernels say in runs of the cells of a piece, and which cells these are.

        Cells of which kernels do not say what was stored have no place in it.
        """
        by_size = np.argsort(self.sizes[piece.first_size : piece.stop_size]) + piece.first_size
        by_repetition = np.argsort(self.repetitions[piece.first : piece.stop]) + piece.first
        repetitions = [self.repetitions[j] for j in by_repetition]
        for which, several in runs(self.snapshot, len(by_size), repetitions):
            kernel_answers = answers_of(
                self.learner,
                self.snapshot,
                self.unit,
                [self.sizes[i] for i in by_size[which]],
                repetitions[several],
                only_test=self.rows == "test",
                chosen_by=self.chosen_by,
            )
            right = self._are_stored(kernel_answers, by_size[which], by_repetition[several])
            cells: list[_Cell] = [
                ((int(i), int(j)), (a, b) if right[a, b] else None)
                for a, i in enumerate(by_size[which])
                for b, j in enumerate(by_repetition[several])
            ]
            yield kernel_answers, cells

    def repeated(
        self, kernel_answers: KernelAnswers, place: tuple[int, int], i: int, j: int
    ) -> dict[str, Any]:
        """Return what is asked of one cell, of what kernels say at its place in a run."""
        train, test = self.drawn(i, j)
        rows, weight = self.asked(train, test)
        answers = kernel_answers.answers(*place, rows, of_test=self.rows == "test")
        return {**self.outcome(answers, rows, weight, train), OFF: 0.0}

    def _are_stored(
        self, kernel_answers: KernelAnswers | None, sizes: np.ndarray, some: np.ndarray
    ) -> np.ndarray:
        """Return of each cell of a run whether kernels give the stored bits; raise if they must."""
        right = np.full((len(sizes), len(some)), kernel_answers is not None)
        if kernel_answers is None:
            return right
        for name, stored in self.stored.items():
            numbers, expected = kernel_answers.metric(name), stored[np.ix_(sizes, some)]
            same = _same(numbers, expected)
            if self.expects_same_bits and not same.all():
                a, b = np.argwhere(~same)[0]
                value, kept = float(numbers[a, b]), float(expected[a, b])
                raise CellError(self._differs(sizes[a], some[b], name, value, kept))
            right &= same
        if self.choices is not None:
            right &= kernel_answers.choices(self.chosen_by) == self.choices[np.ix_(sizes, some)]
        return right

    def cell(self, i: int, j: int) -> dict[str, Any]:
        """Return what is asked of one cell, of its reference estimator."""
        train, test = self.drawn(i, j)
        model = self.fitted(i, j, train)
        answers = answer_cell(self.learner, model, self.snapshot, test)
        off = self.compared(answers, i, j)
        rows, weight = self.asked(train, test)
        if self.rows != "test":
            answers = answer_cell(self.learner, model, self.snapshot, rows)
        return {**self.outcome(answers, rows, weight, train), OFF: off}

    def empty(self, shape: tuple[int, int]) -> dict[str, np.ndarray]:
        """Return arrays for what is asked of so many cells."""
        raise NotImplementedError

    def outcome(
        self, answers: Answers, rows: np.ndarray, weight: np.ndarray, train: np.ndarray
    ) -> dict[str, Any]:
        """Return what is asked of one cell, from what its estimator says of rows."""
        raise NotImplementedError

    def compared(self, answers: Answers, i: int, j: int) -> float:
        """Return the largest difference from a stored number, or raise if it is too large."""
        numbers = vars(answers.metrics)
        may = allowed(answers, self.learner.score_tolerance(self.unit.parameters))
        worst = 0.0
        for name, stored in self.stored.items():
            value, kept = numbers[name], float(stored[i, j])
            if _same(value, stored[i, j]):
                continue
            off = abs(value - kept)
            if not off <= may[name]:
                raise CellError(self._differs(i, j, name, value, kept))
            worst = max(worst, off)
        return worst

    def _check_lost(self, i: int, j: int, error: LostCellError) -> None:
        for name, stored in self.stored.items():
            if np.isfinite(stored[i, j]):
                differs = self._differs(i, j, name, float("nan"), float(stored[i, j]))
                msg = f"{differs}; now: {error}"
                raise CellError(msg) from error

    def _differs(self, i: int, j: int, name: str, value: float, kept: float) -> str:
        """Return in words how a metric of a cell differs from what is kept of it.

        Parameters
        ----------
        i, j
            Places of the cell among sizes and repetitions.
        name
            The metric.
        value, kept
            Computed now, and stored.
        """
        msg = (
            f"{self.unit.label} at n = {self.sizes[i]}, repetition {self.repetitions[j]}: fitted "
            f"again, its {name} is {value:.9g}, stored is {kept:.9g}"
        )
        if self.learner.implementation != self.unit.implementation:
            return (
                f"{msg}; another implementation computed it ({self.unit.implementation}, here "
                f"{self.learner.implementation}), and ties may be broken in other ways since then"
            )
        return f"{msg}; 'lcdb verify --recompute' says whether the database is damaged"


@dataclass(frozen=True)
class Predicted(Refits):
    """What was said of each row."""

    def empty(self, shape: tuple[int, int]) -> dict[str, np.ndarray]:
        """Return arrays for what is asked of so many cells."""
        rows, classes = self.snapshot.rows, self.snapshot.classes
        return {
            "probability": np.full((*shape, rows, classes), np.nan),
            "label": np.full((*shape, rows), -1, np.int16),
            "drawn": np.zeros((*shape, rows), np.int32),
        }

    def outcome(
        self, answers: Answers, rows: np.ndarray, weight: np.ndarray, train: np.ndarray
    ) -> dict[str, Any]:
        """Return probabilities and labels by row."""
        predictions = Predictions.of(answers, weight, self.snapshot.classes)
        one = {name: array[0, 0] for name, array in self.empty((1, 1)).items()}
        if predictions.probability is not None:
            one["probability"][rows] = predictions.probability
        one["label"][rows] = predictions.label
        one["drawn"][:] = np.bincount(train, minlength=self.snapshot.rows)
        return one


@dataclass(frozen=True)
class Derived(Refits):
    """A metric of each cell."""

    measure: Measure

    def empty(self, shape: tuple[int, int]) -> dict[str, np.ndarray]:
        """Return arrays for what is asked of so many cells."""
        return {self.measure.name: np.full(shape, np.nan)}

    def outcome(
        self, answers: Answers, rows: np.ndarray, weight: np.ndarray, train: np.ndarray
    ) -> dict[str, Any]:
        """Return the metric."""
        return evaluate([self.measure], answers, weight, self.snapshot.classes)


def refits_of(
    database: Database,
    dataset: Key,
    labels: Mapping[str, str],
    *,
    sizes: Sequence[int] | None,
    repetitions: Sequence[int] | int | None,
    rows: str,
    chosen_by: str,
    allow_import: bool,
) -> Refits:
    """Return cells of a stored curve, to be fitted again.

    Parameters
    ----------
    database, dataset, labels
        Which curve; labels by dim.
    sizes
        Which sizes; all of the curve if None.
    repetitions
        Which, or how many; all that are stored if None.
    rows
        ``"test"``, ``"train"`` or ``"all"``.
    chosen_by
        Of a tuned curve, the metric whose choices are fitted; it alone is compared then.
    allow_import
        Allow classifiers from elsewhere than scikit-learn.
    """
    replayer = Replayer(database, allow_import=allow_import)
    key = database.resolve(dataset)
    unit = replayer.unit(key, labels)
    if replayer.status(key, unit) not in ("complete", "partial"):
        status = replayer.status(key, unit)
        msg = f"the curve {unit.label} has nothing stored: its status is {status!r}"
        raise NotBuiltError(msg)
    n = _chosen("n", unit.sizes if sizes is None else sizes, unit.sizes, unit)
    known = range(replayer.contents(key).repetitions)
    wanted = range(repetitions) if isinstance(repetitions, int | np.integer) else repetitions
    r = _chosen("repetition", known if wanted is None else wanted, known, unit)
    cube = database[key]
    metrics = [chosen_by] if unit.tuning == "tuned" else list(METRICS)
    stored = {name: _cells(cube[name], unit, n, r) for name in metrics}
    choices = None
    if unit.tuning == "tuned":
        choices = _cells(cube[f"choice_{chosen_by}"], unit, n, r)
    learner = registry.for_unit(unit, allow_import=allow_import, root=replayer.root)
    return Refits(
        learner,
        replayer.snapshot(key, unit),
        unit,
        n,
        r,
        stored,
        choices,
        rows,
        chosen_by,
        replayer.expects_same_bits(unit, learner),
    )


def _same(values: Any, stored: Any) -> np.ndarray:
    """Return whether numbers are what is stored of them in single precision."""
    rounded = np.asarray(values, np.float32)
    return (rounded == stored) | (np.isnan(rounded) & np.isnan(stored))


def _cells(array: Any, unit: Unit, n: tuple[int, ...], r: tuple[int, ...]) -> np.ndarray:
    where = {dim: getattr(unit, dim) for dim in UNIT_DIMS if dim in array.dims}
    return array.sel(where).sel(n=list(n), repetition=list(r)).to_numpy()


def _chosen(what: str, asked: Any, known: Sequence[int], unit: Unit) -> tuple[int, ...]:
    several = tuple(int(one) for one in np.asarray(asked).ravel().tolist())
    for one in several:
        if one not in known:
            msg = f"{what} {one} is not in {unit.label}; expected {known[0]} to {known[-1]}"
            raise LabelError(msg)
    if not several:
        msg = f"no {what} is asked for; expected some of {known[0]} to {known[-1]}"
        raise LabelError(msg)
    return tuple(dict.fromkeys(several))
