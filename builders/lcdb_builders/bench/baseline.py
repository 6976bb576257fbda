"""The same cells with scikit-learn: fit, predict, and four metrics in two ways.

The lean way has its metrics in a few lines of NumPy; the usual way calls scikit-learn's own. Both
have estimators with default tolerances, so the linear ones and support vector machines stop short
of the optimum that the database has.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcdb_builders.bench.cases import Effort, strata
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.threads import one_thread

__all__ = ["Baseline", "baseline_micros", "lean_scores", "usual_scores"]

# Training sets that are tried until one can be fitted: some classes may be missing, or too few rows
# for a covariance.
TRIES = 5


@dataclass(frozen=True)
class Baseline:
    """Microseconds per cell of a scikit-learn loop; NaN if nothing could be fitted.

    Parameters
    ----------
    lean, usual
        With metrics in NumPy, and with scikit-learn's.
    """

    lean: float
    usual: float


def _probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    """Return class probabilities; of decision values their sigmoids, normalised."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    f = 1 / (1 + np.exp(-model.decision_function(X)))
    return np.column_stack([1 - f, f]) if f.ndim == 1 else f / f.sum(axis=1, keepdims=True)


def lean_scores(y: np.ndarray, p: np.ndarray) -> tuple[float, float, float, float]:
    """Return accuracy, AUC, Brier score and cross-entropy in as few passes as NumPy allows.

    Examples
    --------
    >>> y, p = np.array([0, 1, 1]), np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    >>> [round(score, 4) for score in lean_scores(y, p)]
    [0.6667, 0.5, 0.3367, 1.0122]
    """
    truth = y[:, None] == np.arange(p.shape[1])
    accuracy = float((p.argmax(axis=1) == y).mean())
    areas = []
    for c in range(1 if p.shape[1] == 2 else 0, p.shape[1]):
        of_class, others = p[truth[:, c], c], np.sort(p[~truth[:, c], c])
        if len(of_class) and len(others):
            below = np.searchsorted(others, of_class, "left") + np.searchsorted(
                others, of_class, "right"
            )
            areas.append(below.mean() / (2 * len(others)))
    brier = float(((p - truth) ** 2).sum() / len(y)) / (2 if p.shape[1] == 2 else 1)
    cross_entropy = float(-np.log(np.clip(p[truth], 2.0**-52, 1 - 2.0**-52)).mean())
    return accuracy, float(np.mean(areas)) if areas else float("nan"), brier, cross_entropy


def usual_scores(y: np.ndarray, p: np.ndarray) -> tuple[float, float, float, float]:
    """Return the same four scores from scikit-learn's functions."""
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

    labels = np.arange(p.shape[1])
    two = p.shape[1] == 2
    area = roc_auc_score(
        y, p[:, 1] if two else p, multi_class="ovr", labels=None if two else labels
    )
    return (
        float(accuracy_score(y, p.argmax(axis=1))),
        float(area),
        float(brier_score_loss(y, p, labels=labels)),
        float(log_loss(y, p, labels=labels)),
    )


@one_thread()
def baseline_micros(
    learner: Learner, name: str, unit: Unit, snapshot: Snapshot, effort: Effort
) -> Baseline:
    """Return microseconds of one core per cell, mean over training sizes.

    Parameters
    ----------
    learner, name
        A learner, and which of its `baselines`.
    unit
        What is drawn, and the learner's parameters.
    snapshot
        The dataset.
    effort
        At how many sizes.
    """
    times = []
    sizes = strata(largest_size(snapshot.rows), effort.baseline_sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in sizes:
            seconds = _cell_seconds(learner, name, unit, snapshot, n)
            if seconds is not None:
                times.append(seconds)
    if not times:
        return Baseline(float("nan"), float("nan"))
    lean, usual = 1e6 * np.mean(times, axis=0)
    return Baseline(float(lean), float(usual))


def _cell_seconds(
    learner: Learner, name: str, unit: Unit, snapshot: Snapshot, n: int
) -> tuple[float, float] | None:
    """Return seconds of a cell in the lean and in the usual way; None if it cannot be fitted."""
    draws = unit.draws(snapshot)
    best: list[tuple[float, float, float]] = []
    for repetition in range(TRIES):
        rows, test = draws.train(n, repetition), draws.test(n, repetition)
        X, y, Xt, yt = snapshot.X[rows], snapshot.y[rows], snapshot.X[test], snapshot.y[test]
        if len(np.unique(y)) < 2 or len(np.unique(yt)) < snapshot.classes:
            continue
        try:
            model = learner.baselines(unit.parameters, snapshot.X, len(np.unique(y)))[name]
            start = time.process_time()
            model.fit(X, y)
            p = _probabilities(model, Xt)
            fitted = time.process_time() - start
            if p.shape[1] < snapshot.classes:
                full = np.zeros((len(yt), snapshot.classes))
                full[:, model.classes_] = p
                p = full
            start = time.process_time()
            lean_scores(yt, p)
            lean = time.process_time() - start
            start = time.process_time()
            usual_scores(yt, p)
            best.append((fitted, lean, time.process_time() - start))
        except (ValueError, np.linalg.LinAlgError):
            continue
        if len(best) == 2:
            break
    if not best:
        return None
    fitted, lean, usual = np.min(best, axis=0)
    return float(fitted + lean), float(fitted + usual)
