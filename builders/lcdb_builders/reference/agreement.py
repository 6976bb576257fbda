"""How far a metric may be off when it comes from another implementation of the same learner.

Models are the same to a tolerance of their scores. What that means for a metric follows from the
scores themselves: only rows whose two best scores are that close may change their label, only pairs
that close their order, and losses move as their derivatives say.
"""

from __future__ import annotations

import math

import numpy as np

from lcdb_builders.reference.cell import Answers
from lcdb_builders.reference.metrics import EPSILON, TIED, class_log_odds, rounded, softmax

__all__ = ["allowed"]

# Scores are stored in single precision.
_ROUNDING = 2.0**-23
# Log-odds beyond which p is clipped, and how far the rounding of p blurs this.
_CLIP, _BLUR = -math.log(EPSILON), 1.0


def allowed(answers: Answers, tolerance: float) -> dict[str, float]:
    """Return by how much each metric may differ from that of a cell.

    Parameters
    ----------
    answers
        What the reference estimator says of the test rows.
    tolerance
        Of its scores, see `lcdb_builders.learners.base.Learner.score_tolerance`.

    Examples
    --------
    >>> y, scores = np.array([0, 1, 0]), np.array([[0.0, -5.0], [0.0, 1e-7], [0.0, -2.0]])
    >>> tolerance = allowed(Answers(y, scores, None, "log_odds"), 1e-6)
    >>> round(tolerance["accuracy"], 3), tolerance["brier"] < 1e-5, tolerance["n_clipped"]
    (0.333, True, 0.0)
    """
    values = vars(answers.metrics)
    most = {name: _ROUNDING * abs(value) for name, value in values.items()} | {"n_clipped": 0.0}
    if answers.scores is None or tolerance == 0:
        return most
    scores, y = answers.scores, answers.y
    sizes = np.where(np.isfinite(scores), np.abs(scores), 0).max(axis=1)
    off = tolerance * (1 + sizes)
    odds, p = class_log_odds(scores), softmax(scores)
    rows = np.arange(len(y))
    compared = scores if answers.decisions is None else answers.decisions
    most["accuracy"] += _close_labels(compared, tolerance) / len(y)
    most["auc"] += _close_pairs(scores, y, 2 * off)
    # dp_c = p_c (1 - p_c) d(odds), and errors are at most 1.
    most["brier"] += float((2 * (2 * off[:, None]) * p * (1 - p)).sum(axis=1).mean())
    unclipped = p[rows, y] >= EPSILON / 2
    most["cross_entropy"] += float((2 * off * (1 - p[rows, y]))[unclipped].sum()) / len(y)
    edge = np.abs(odds[rows, y] + _CLIP)
    most["n_clipped"] += float(np.count_nonzero(edge <= 2 * off + _BLUR))
    return most


def _close_labels(values: np.ndarray, tolerance: float) -> int:
    """Return the number of rows where another class may be tied with the best, or no longer is."""
    best = np.sort(values, axis=1)[:, ::-1]
    size = 1 + np.abs(best[:, :1])
    behind = best[:, :1] - best[:, 1:]
    close = np.abs(behind - TIED * size) <= 2 * tolerance * size
    # Without the tie rule: rows that are closer than their errors.
    close[:, 0] |= behind[:, 0] <= 2 * tolerance * size[:, 0]
    return int(np.count_nonzero(close.any(axis=1)))


def _close_pairs(scores: np.ndarray, y: np.ndarray, off: np.ndarray) -> float:
    """Return the mean over classes of the share of pairs whose order is not certain.

    What is ranked lies in an interval, rounded like any rank. The order of two rows is certain if
    their intervals are apart, and so is the tie of two intervals that rounding made one number.
    """
    log_odds = class_log_odds(scores)
    even = TIED * (1 + np.abs(scores.max(axis=1)))
    shares = []
    for c in np.unique(y):
        positive = y == c
        column = log_odds[:, c]
        if positive.all():
            return 0.0
        if not np.isfinite(column).all():  # absent from training, or alone in it: all tied
            shares.append(0.0)
            continue
        low, high = _interval(column, off, even)
        below, above = np.sort(low[~positive]), np.sort(high[~positive])
        near = below.searchsorted(high[positive], "right") - above.searchsorted(low[positive])
        sharp = np.sort(low[~positive & (low == high)])
        of_class = low[positive & (low == high)]
        ties = sharp.searchsorted(of_class, "right") - sharp.searchsorted(of_class)
        pairs = np.count_nonzero(positive) * np.count_nonzero(~positive)
        shares.append(float(near.sum() - ties.sum()) / pairs)
    return sum(shares) / len(shares)


def _interval(
    values: np.ndarray, off: np.ndarray, even: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest rank that a value may have."""
    # What is even may have been anything within reach; what is near to it may be even.
    reach = even + off
    wide = np.where(values == 0, reach, off)
    low, high = values - wide, values + wide
    near = np.abs(values) <= reach
    low, high = np.where(near, np.minimum(low, 0), low), np.where(near, np.maximum(high, 0), high)
    return rounded(low), rounded(high)
