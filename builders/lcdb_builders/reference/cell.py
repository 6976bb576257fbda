"""One cell: its training rows, its fitted reference estimator, its scores.

The rows of a training set are handed over in the order in which they were first drawn. Copies of a
row that a bootstrap drew more than once follow it at once, so that repeated rows say the same as
weighted rows, also where the order of rows breaks ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from lcdb.errors import CellError
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.streams import StreamKey, stream_key
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.reference.metrics import CellScores, cell_scores

__all__ = [
    "Answers",
    "LostCellError",
    "answer_cell",
    "fit_cell",
    "learner_key",
    "score_cell",
    "training_rows",
    "weighted_rows",
]


# Not the classifier's fault: the block fails, and may be tried again.
_SURROUNDINGS = (MemoryError, OSError, ImportError)
ONLY_LABELS = "the classifier has neither predict_proba nor decision_function"


class LostCellError(CellError):
    """A classifier from elsewhere failed in one cell, which then has no value.

    Parameters
    ----------
    message
        Names the cell.
    reason
        Does not.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]


def weighted_rows(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct rows in the order of their first draw, and how often each was drawn.

    Examples
    --------
    >>> weighted_rows(np.array([7, 3, 7, 9, 3, 7]))
    (array([7, 3, 9]), array([3, 2, 1]))
    """
    rows, first, counts = np.unique(drawn, return_index=True, return_counts=True)
    order = np.argsort(first)
    return rows[order], counts[order]


def training_rows(draws: Draws, n: int, repetition: int) -> np.ndarray:
    """Return the n training rows of a cell as estimators are given them."""
    drawn = draws.train(n, repetition)
    return np.repeat(*weighted_rows(drawn)) if draws.sampling == "bootstrap" else drawn


def learner_key(unit: Unit) -> StreamKey:
    """Return the key of a unit's own random stream: what a randomised learner decides with.

    It does not depend on the test set: `fixed` and `pool` share their fits.
    """
    split = "fixed" if unit.split == "pool" else unit.split
    return stream_key(unit.seed, unit.dataset_sha256, "learner", unit.learner, unit.sampling, split)


def fit_cell(
    learner: Learner,
    snapshot: Snapshot,
    unit: Unit,
    rows: np.ndarray,
    n: int,
    repetition: int,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """Return the fitted reference estimator of one cell.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what.
    rows
        Training rows, as `training_rows` returns them.
    n, repetition
        Where in the unit: they choose the learner's random stream.
    params
        Parameters; those of the unit if None.
    """
    chosen = unit.parameters if params is None else params
    where = {"key": learner_key(unit), "n": n, "repetition": repetition}
    cell = f"at n = {n}, repetition {repetition}"
    if unit.rows_per_class:
        _check_rows_per_class(unit, snapshot.y[rows], cell)
    estimator = learner.estimator(snapshot, chosen, **where)
    try:
        return estimator.fit(snapshot.X[rows], snapshot.y[rows])
    except Exception as error:
        msg = f"{unit.label}: fitting failed {cell}: {error}"
        if learner.foreign and not isinstance(error, _SURROUNDINGS):
            raise LostCellError(msg, _reason(error)) from error
        raise CellError(msg) from error


def _check_rows_per_class(unit: Unit, labels: np.ndarray, cell: str) -> None:
    """Raise where a class has fewer rows than the plan asks for; one class alone needs none."""
    counts = np.bincount(labels)
    counts = counts[counts > 0]
    if len(counts) > 1 and counts.min() < unit.rows_per_class:
        asked = f"the plan asks for {unit.rows_per_class} rows of each class that is drawn"
        msg = f"{unit.label}: not fitted {cell}: {asked}"
        raise LostCellError(msg, asked)


def _by_code(values: np.ndarray, classes: np.ndarray, count: int, absent: float) -> np.ndarray:
    """Return columns by class code, for an estimator that knows only some of the classes."""
    if len(classes) == count:
        return values
    full = np.full((len(values), count), absent)
    full[:, classes] = values
    return full


class Answers(NamedTuple):
    """What an estimator says of test rows, in columns by class code.

    Parameters
    ----------
    y
        Their classes.
    scores
        Log scores, -inf for classes absent from training; None for learners without them.
    p
        Probabilities, 0 for classes absent from training; None where there are scores.
    ranking
        What the AUC ranks by where there are scores.
    decisions
        Decision values of one class against the rest, where there are more than two classes.
    label
        Class codes that the classifier predicts by a rule of its own; None for the largest score.
    why
        Why there are labels alone, where that is so.
    ranks
        What the AUC ranks by, where kernels have kept it.
    numbers
        The metrics, where kernels have computed them.
    """

    y: np.ndarray
    scores: np.ndarray | None
    p: np.ndarray | None
    ranking: Literal["log_odds", "probability"]
    decisions: np.ndarray | None = None
    label: np.ndarray | None = None
    why: str = ""
    ranks: np.ndarray | None = None
    numbers: CellScores | None = None

    @property
    def metrics(self) -> CellScores:
        """The metrics of the cell."""
        if self.numbers is not None:
            return self.numbers
        return cell_scores(
            self.y,
            scores=self.scores,
            p=self.p,
            ranking=self.ranking,
            decisions=self.decisions,
            label=self.label,
            ranks=self.ranks,
        )


def answer_cell(
    learner: Learner,
    estimator: Any,
    snapshot: Snapshot,
    rows: np.ndarray,
    *,
    labels_suffice: bool = False,
) -> Answers:
    """Return what a fitted estimator says of test rows.

    Parameters
    ----------
    learner, estimator
        Who is asked.
    snapshot, rows
        Of what.
    labels_suffice
        Whether to ask a classifier from elsewhere for labels alone.
    """
    X, y = snapshot.X[rows], snapshot.y[rows]
    if not learner.foreign:
        return _scored(learner, estimator, X, y, snapshot.classes)
    try:
        label = estimator.predict(X)
    except _SURROUNDINGS:
        raise
    except Exception as error:
        reason = _reason(error)
        msg = f"{learner.name}: predicting failed: {reason}"
        raise LostCellError(msg, reason) from error
    if labels_suffice:
        return Answers(y, None, None, learner.ranking, label=label)
    only_labels = Answers(y, None, None, learner.ranking, label=label, why=ONLY_LABELS)
    if not hasattr(estimator, "log_scores") and not hasattr(estimator, "predict_proba"):
        return only_labels
    try:
        scored = _scored(learner, estimator, X, y, snapshot.classes)
    except _SURROUNDINGS:
        raise
    except Exception as error:
        return only_labels._replace(why=_reason(error))
    return scored._replace(label=label)


def _scored(learner: Learner, estimator: Any, X: np.ndarray, y: np.ndarray, count: int) -> Answers:
    """Return answers with log scores or probabilities, by class code."""
    # With scikit-learn, which takes a second: workers that have kernels never get here.
    from lcdb_builders.reference.base import ScoringClassifier
    from lcdb_builders.reference.onevsrest import OneVsRest, log_sigmoid

    classes = estimator.classes_
    by_scores = hasattr(estimator, "log_scores")
    decisions = estimator.decisions(X) if isinstance(estimator, OneVsRest) else None
    if decisions is not None:
        values = log_sigmoid(decisions)
    else:
        values = estimator.log_scores(X) if by_scores else estimator.predict_proba(X)
    # A foreign classifier may give a class no chance at all; our own know all their classes.
    least = values.min(axis=1) if isinstance(estimator, ScoringClassifier) else values.max(axis=1)
    if values.shape != (len(y), len(classes)) or not np.isfinite(least).all():
        kind = "log_scores" if by_scores else "predict_proba"
        msg = (
            f"{learner.name}: {kind} returned an array of shape {values.shape}, or values that are "
            f"not finite; expected a number for each of {len(y)} rows and {len(classes)} classes"
        )
        raise CellError(msg)
    if by_scores:
        scores = _by_code(values, classes, count, -np.inf)
        if decisions is not None:
            decisions = _by_code(decisions, classes, count, -np.inf) if count > 2 else None
        return Answers(y, scores, None, learner.ranking, decisions)
    return Answers(y, None, _by_code(values, classes, count, 0.0), learner.ranking)


def score_cell(
    learner: Learner, estimator: Any, snapshot: Snapshot, rows: np.ndarray
) -> CellScores:
    """Return the metrics of a fitted estimator on test rows."""
    return answer_cell(learner, estimator, snapshot, rows).metrics
