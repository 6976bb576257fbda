"""The four metrics of a cell: their definition, in readable NumPy.

Scores are (test rows, classes) arrays in class-code order; a class that was absent from training
has the score -inf and the probability 0.

The order of rounding errors decides nothing: scores that are all but equal are tied (`labels`,
`class_log_odds`), and what the AUC ranks is rounded to single precision (`rounded`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = [
    "EPSILON",
    "TIED",
    "CellScores",
    "accuracy",
    "auc",
    "brier",
    "cell_scores",
    "class_log_odds",
    "cross_entropy",
    "labels",
    "odds",
    "one_vs_rest_auc",
    "rounded",
    "share_correct",
    "softmax",
]

#: Probabilities are clipped to [EPSILON, 1 - EPSILON] in the cross-entropy.
EPSILON = 2.0**-52
#: Scores that differ by no more than this, relative to 1 + |score|, are tied.
TIED = 1e-9


@dataclass(frozen=True)
class CellScores:
    """What one fit scores on one test set."""

    accuracy: float
    auc: float = float("nan")
    brier: float = float("nan")
    cross_entropy: float = float("nan")
    n_clipped: int = 0


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

    Unlike the log of a probability over its complement it never saturates. Odds that are as near to
    even as tied scores to each other are even: rounding leaves anything there.

    Examples
    --------
    >>> class_log_odds(np.array([[0.0, -800.0], [100.0, 100.0 + 1e-13]]))
    array([[ 800., -800.],
           [   0.,    0.]])
    """
    exact = _log_odds(scores)
    even = TIED * (1 + np.abs(scores.max(axis=1, keepdims=True)))
    return np.where(np.abs(exact) > even, exact, 0.0)


def _log_odds(scores: np.ndarray) -> np.ndarray:
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


def odds(p: np.ndarray) -> np.ndarray:
    """Return p / (1 - p): what the AUC ranks by where there are only probabilities.

    In the same order as p, but the rounding of odds near 1 loses nothing that p has. Certainty has
    the largest odds of single precision.

    Examples
    --------
    >>> odds(np.array([0.0, 0.75])), odds(np.array([1.0])) > 1e38
    (array([0., 3.]), array([ True]))
    """
    certain = float(np.finfo(np.float32).max)
    with np.errstate(divide="ignore"):
        return np.where(p < 1, p / (1 - p), certain)


def rounded(ranks: np.ndarray) -> np.ndarray:
    """Return numbers rounded to the 24 bits of single precision, whatever their size.

    Within the range of single precision this is ``ranks.astype(np.float32)``.

    Examples
    --------
    >>> rounded(np.array([1.0, 1 + 1e-9, 1 + 1e-6, 1e200, 1e200 * (1 + 1e-9)])).tolist()[:2]
    [1.0, 1.0]
    """
    mantissa, exponent = np.frexp(ranks)
    return np.ldexp(mantissa.astype(np.float32).astype(np.float64), exponent)


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
        (T, K): class log-odds, or odds. They are rounded to single precision.
    y
        (T,) class codes.

    Examples
    --------
    >>> auc(np.array([[0.0, 2.0], [0.0, 2.0 + 1e-12], [0.0, 1.0]]), np.array([0, 1, 0]))
    0.625
    """
    ranks = rounded(ranks)
    present = np.flatnonzero(np.bincount(y, minlength=ranks.shape[1]))
    if len(present) < 2:
        return float("nan")
    each = [one_vs_rest_auc(ranks[:, c], y == c) for c in present]
    return sum(each) / len(each)


def labels(scores: np.ndarray) -> np.ndarray:
    """Return the lowest class of each row whose score is tied with the largest.

    Examples
    --------
    >>> labels(np.array([[3.0, 5.0, 5.0], [-np.inf, 0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2, 0.0]]))
    array([1, 1, 0])
    """
    largest = scores.max(axis=1, keepdims=True)
    tied = scores >= largest - TIED * (1 + np.abs(largest))
    return tied.argmax(axis=1)


def accuracy(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows whose label (`labels`) is their class."""
    return share_correct(labels(scores), y)


def share_correct(label: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows whose predicted class code is right."""
    return int(np.count_nonzero(label == y)) / len(y)


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
    decisions: np.ndarray | None = None,
    label: np.ndarray | None = None,
    ranks: np.ndarray | None = None,
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
    decisions
        (T, K) what rows are labelled by in the place of scores, in the same order: decision values
        of more than two classes. Their scores, ln of a sigmoid, are all but equal where they are
        large.
    label
        (T,) codes that a classifier predicts by a rule of its own; the class of the largest score
        if None. With labels alone all metrics but the accuracy are NaN.
    ranks
        (T, K) what the AUC ranks by, where it is known; it follows from the others if None.

    Examples
    --------
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    >>> cell = cell_scores(np.array([0, 1, 1]), p=p)
    >>> round(cell.accuracy, 4), cell.auc, round(cell.brier, 4), cell.n_clipped
    (0.6667, 1.0, 0.23, 0)
    >>> cell_scores(np.array([0, 1, 1]), label=np.array([0, 1, 0])).brier
    nan
    """
    if p is None and scores is None:
        if label is None:
            msg = "cell_scores needs scores, p or label"
            raise TypeError(msg)
        return CellScores(share_correct(label, y))
    if p is None:
        assert scores is not None
        p = softmax(scores)
    ranked_by = odds(p)
    if ranks is not None:
        ranked_by = ranks
    elif scores is not None and ranking == "log_odds":
        ranked_by = class_log_odds(scores)
    labelled_by = p if scores is None else scores
    if decisions is not None:
        labelled_by = decisions
    correct = accuracy(labelled_by, y) if label is None else share_correct(label, y)
    loss, n_clipped = cross_entropy(p, y)
    return CellScores(
        accuracy=correct,
        auc=auc(ranked_by, y),
        brier=brier(p, y),
        cross_entropy=loss,
        n_clipped=n_clipped,
    )
