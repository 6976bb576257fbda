"""The four metrics of a cell, as SPEC defines them, in readable NumPy.

Scores are (test rows, classes) arrays in class-code order; a class that was absent from training
has the score -inf and the probability 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = [
    "EPSILON",
    "CellScores",
    "accuracy",
    "auc",
    "brier",
    "cell_scores",
    "class_log_odds",
    "cross_entropy",
    "one_vs_rest_auc",
    "softmax",
]

#: Probabilities are clipped to [EPSILON, 1 - EPSILON] in the cross-entropy.
EPSILON = 2.0**-52


@dataclass(frozen=True)
class CellScores:
    """What one fit scores on one test set."""

    accuracy: float
    auc: float
    brier: float
    cross_entropy: float
    n_clipped: int


def _row_sum(values: np.ndarray) -> np.ndarray:
    """Sum over classes in class order: the same bits for a row wherever it stands."""
    total = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        total += values[:, column]
    return total


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities of log scores; -inf becomes exactly 0.

    Examples
    --------
    >>> softmax(np.array([[1000.0, 1000.0, -np.inf]]))
    array([[0.5, 0.5, 0. ]])
    """
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / _row_sum(powers)[:, None]


def class_log_odds(scores: np.ndarray) -> np.ndarray:
    """Return s_c - logsumexp of the other classes' scores: what the AUC ranks by.

    Unlike the log of a probability over its complement it never saturates.

    Examples
    --------
    >>> class_log_odds(np.array([[0.0, -800.0]]))
    array([[ 800., -800.]])
    """
    if scores.shape[1] == 2:
        difference = scores[:, 1] - scores[:, 0]
        return np.stack([-difference, difference], axis=1)
    odds = np.empty_like(scores)
    classes = np.arange(scores.shape[1])
    for c in classes:
        others = scores[:, classes != c]
        top = others.max(axis=1)
        # With no other class in training, every row has odds +inf: they tie.
        shift = np.where(np.isneginf(top), 0.0, top)
        total = _row_sum(np.exp(others - shift[:, None]))
        with np.errstate(divide="ignore"):
            odds[:, c] = scores[:, c] - (shift + np.log(total))
    return odds


def one_vs_rest_auc(ranks: np.ndarray, positive: np.ndarray) -> float:
    """Return the share of (positive, other) pairs ranked right, ties counting half.

    The count is an exact integer: twice the Mann-Whitney statistic.

    Examples
    --------
    >>> one_vs_rest_auc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, True, False, True]))
    0.875
    """
    chosen, others = ranks[positive], np.sort(ranks[~positive])
    below = others.searchsorted(chosen, "left")
    not_above = others.searchsorted(chosen, "right")
    return int(below.sum() + not_above.sum()) / (2 * len(chosen) * len(others))


def auc(ranks: np.ndarray, y: np.ndarray) -> float:
    """Return the mean one-vs-rest AUC over classes of the test set; NaN if it has only one.

    Parameters
    ----------
    ranks
        (T, K): class log-odds, or probabilities.
    y
        (T,) class codes.
    """
    present = np.flatnonzero(np.bincount(y, minlength=ranks.shape[1]))
    if len(present) < 2:
        return float("nan")
    each = [one_vs_rest_auc(ranks[:, c], y == c) for c in present]
    return sum(each) / len(each)


def accuracy(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows whose largest score is their class's; ties: the lowest code."""
    return int(np.count_nonzero(scores.argmax(axis=1) == y)) / len(y)


def brier(p: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared distance to the one-hot label; half of it for two classes."""
    error = p.copy()
    error[np.arange(len(y)), y] -= 1.0
    mean = _mean(_row_sum(error * error))
    return mean / 2 if p.shape[1] == 2 else mean


def cross_entropy(p: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Return the mean of -ln p_y with p clipped, and the number of rows clipped from below.

    The other end says nothing: there the clip adds 2⁻⁵² to a loss, at the whim of a last bit.
    """
    of_label = p[np.arange(len(y)), y]
    clipped = np.clip(of_label, EPSILON, 1 - EPSILON)
    return _mean(-np.log(clipped)), int(np.count_nonzero(of_label < EPSILON))


def _mean(values: np.ndarray) -> float:
    """Mean that is the same for any order of rows: sorted before they are summed."""
    return float(np.sort(values).sum()) / len(values)


def cell_scores(
    y: np.ndarray,
    *,
    scores: np.ndarray | None = None,
    p: np.ndarray | None = None,
    ranking: Literal["log_odds", "probability"] = "log_odds",
) -> CellScores:
    """Return the metrics of one cell.

    Parameters
    ----------
    y
        (T,) class codes of the test rows.
    scores
        (T, K) log scores, -inf for classes absent from training.
    p
        (T, K) probabilities of a learner without log scores.
    ranking
        What the AUC ranks by where there are log scores.

    Examples
    --------
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    >>> cell = cell_scores(np.array([0, 1, 1]), p=p)
    >>> round(cell.accuracy, 4), cell.auc, round(cell.brier, 4), cell.n_clipped
    (0.6667, 1.0, 0.23, 0)
    """
    if p is None:
        if scores is None:
            msg = "cell_scores needs scores or p"
            raise TypeError(msg)
        p = softmax(scores)
    labelled_by = p if scores is None else scores
    ranked_by = class_log_odds(scores) if scores is not None and ranking == "log_odds" else p
    loss, n_clipped = cross_entropy(p, y)
    return CellScores(accuracy(labelled_by, y), auc(ranked_by, y), brier(p, y), loss, n_clipped)
