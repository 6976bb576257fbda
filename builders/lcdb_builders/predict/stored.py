"""Cells of a database fitted again, and held to what is stored of them.

The fits are those of the readable reference estimators; of classifiers from elsewhere, the fits of
the build itself. Every cell's metrics on test rows are compared with the stored numbers, within the
tolerances that implementations of one learner have; a cell beyond them is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcdb.database import Database, Key
from lcdb.errors import CellError, LabelError, NotBuiltError
from lcdb.schema import METRICS, UNIT_DIMS
from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners import registry
from lcdb_builders.learners.base import Learner
from lcdb_builders.predict.cells import Computed, Piece
from lcdb_builders.predict.metrics import Measure, Said, evaluate
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
    """

    learner: Learner
    snapshot: Snapshot
    unit: Unit
    sizes: tuple[int, ...]
    repetitions: tuple[int, ...]
    stored: Mapping[str, np.ndarray]
    choices: np.ndarray | None
    rows: str

    def asked(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are asked about, and how often each counts."""
        if self.rows == "train":
            return weighted_rows(train)
        rows = test if self.rows == "test" else np.arange(self.snapshot.rows)
        return rows, np.ones(len(rows), int)

    def fitted(self, i: int, j: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the estimator of a cell, its training rows with copies, and its test rows."""
        n, repetition = self.sizes[i], self.repetitions[j]
        draws = self.unit.draws(self.snapshot.rows)
        train, test = training_rows(draws, n, repetition), draws.test(n, repetition)
        params = None
        if self.choices is not None:
            rule = TuningRule.of(self.unit)
            params = {**self.unit.parameters, rule.parameter: rule.grid[self.choices[i, j]]}
        model = fit_cell(self.learner, self.snapshot, self.unit, train, n, repetition, params)
        return model, train, test

    def compute(self, piece: Piece) -> Computed:
        """Return what is asked of the cells of a piece."""
        shape = piece.stop_size - piece.first_size, piece.stop - piece.first
        values = self.empty(shape)
        values[OFF] = np.zeros(shape)
        lost = []
        with scratch_folder(), one_thread():
            for i, j in np.ndindex(*shape):
                place = piece.first_size + i, piece.first + j
                try:
                    cell = self.cell(*place)
                except LostCellError as error:
                    self._check_lost(*place, error)
                    lost.append(Lost(error.reason, 1, *[self.sizes[place[0]]] * 2))
                    continue
                for name, value in cell.items():
                    values[name][i, j] = value
        return Computed(values, tuple(lost))

    def cell(self, i: int, j: int) -> dict[str, Any]:
        """Return what is asked of one cell."""
        model, train, test = self.fitted(i, j)
        answers = answer_cell(self.learner, model, self.snapshot, test)
        off = self.compared(answers, i, j)
        rows, weight = self.asked(train, test)
        if self.rows != "test":
            answers = answer_cell(self.learner, model, self.snapshot, rows)
        return {**self.said(answers, rows, weight, train), OFF: off}

    def empty(self, shape: tuple[int, int]) -> dict[str, np.ndarray]:
        """Return arrays for what is asked of so many cells."""
        raise NotImplementedError

    def said(
        self, answers: Answers, rows: np.ndarray, weight: np.ndarray, train: np.ndarray
    ) -> dict[str, Any]:
        """Return what is asked of one cell, from what its estimator says of rows."""
        raise NotImplementedError

    def compared(self, answers: Answers, i: int, j: int) -> float:
        """Return the largest difference from a stored number, or raise if it is too large."""
        found = vars(answers.metrics)
        may = allowed(answers, self.learner.score_tolerance(self.unit.parameters))
        worst = 0.0
        for name, stored in self.stored.items():
            value, kept = found[name], float(stored[i, j])
            if np.isnan(value) and np.isnan(kept):
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

    def said(
        self, answers: Answers, rows: np.ndarray, weight: np.ndarray, train: np.ndarray
    ) -> dict[str, Any]:
        """Return probabilities and labels by row."""
        said = Said.of(answers, weight, self.snapshot.classes)
        one = {name: array[0, 0] for name, array in self.empty((1, 1)).items()}
        if said.probability is not None:
            one["probability"][rows] = said.probability
        one["label"][rows] = said.label
        one["drawn"][:] = np.bincount(train, minlength=self.snapshot.rows)
        return one


@dataclass(frozen=True)
class Derived(Refits):
    """A metric of each cell."""

    measure: Measure

    def empty(self, shape: tuple[int, int]) -> dict[str, np.ndarray]:
        """Return arrays for what is asked of so many cells."""
        return {self.measure.name: np.full(shape, np.nan)}

    def said(
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
    wanted = range(repetitions) if isinstance(repetitions, int) else repetitions
    r = _chosen("repetition", known if wanted is None else wanted, known, unit)
    cube = database[key]
    metrics = [chosen_by] if unit.tuning == "tuned" else list(METRICS)
    stored = {name: _cells(cube[name], unit, n, r) for name in metrics}
    choices = None
    if unit.tuning == "tuned":
        choices = _cells(cube[f"choice_{chosen_by}"], unit, n, r)
    return Refits(
        registry.for_unit(unit, allow_import=allow_import, root=replayer.root),
        replayer.snapshot(key, unit),
        unit,
        n,
        r,
        stored,
        choices,
        rows,
    )


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
