"""An ensemble of stumps, and its votes for test rows: integers, then probabilities."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.trees.leaves import midpoint

__all__ = ["Ensemble", "add_votes", "ensemble", "find_thresholds", "probabilities"]

# Columns whose votes are kept at hand.
CHUNK = 512
TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14, -1, -1))

#: Stumps: `feature`, `low` and `high` codes around the threshold, classes on both sides, `vote` in
#: units of 2**-40.
Ensemble = namedtuple("Ensemble", "feature low high left right vote")


@kernel
def ensemble(stumps):
    """Return room for so many stumps."""
    return Ensemble(
        feature=np.zeros(stumps, np.int64),
        low=np.zeros(stumps, np.int64),
        high=np.zeros(stumps, np.int64),
        left=np.zeros(stumps, np.int64),
        right=np.zeros(stumps, np.int64),
        vote=np.zeros(stumps, np.int64),
    )


@kernel(borrow=True)
def find_thresholds(fitted, stumps, values):
    """Make ``fitted.low`` the last code on the left of each stump; (d, levels) values of codes.

    That is the largest code whose value is at most the midpoint of those around the threshold.
    """
    for t in range(stumps):
        f = fitted.feature[t]
        if f < 0:
            continue
        low, high = fitted.low[t], fitted.high[t]
        middle = midpoint(values[f, low], values[f, high])
        while high - low > 1:
            between = (low + high) // 2
            if values[f, between] <= middle:
                low = between
            else:
                high = between
        fitted.low[t] = low


@kernel(borrow=True)
def add_votes(fitted, first, stop, codes, votes):
    """Add the votes of the stumps first..stop-1 to those of each column.

    Parameters
    ----------
    fitted
        An ensemble with its thresholds.
    first, stop
        Which stumps; with 0 the votes begin.
    codes
        (d, columns) uint16.
    votes
        (K, at least as many columns) int64.

    Returns
    -------
    int
        The sum of the votes added.
    """
    columns = codes.shape[1]
    sum_ = np.int64(0)
    for t in range(first, stop):
        sum_ += fitted.vote[t]
    for begin in range(0, columns, CHUNK):
        size = min(CHUNK, columns - begin)
        if first == 0:
            for k in range(len(votes)):
                part = votes[k, begin : begin + size]
                for i in range(size):
                    part[i] = 0
        for t in range(first, stop):
            vote = fitted.vote[t]
            left = votes[fitted.left[t], begin : begin + size]
            right = votes[fitted.right[t], begin : begin + size]
            if fitted.left[t] == fitted.right[t]:
                for i in range(size):
                    left[i] += vote
                continue
            feature = codes[fitted.feature[t], begin : begin + size]
            limit = np.uint16(fitted.low[t])
            for i in range(size):
                left[i] += vote if feature[i] <= limit else np.int64(0)
            for i in range(size):
                right[i] += np.int64(0) if feature[i] <= limit else vote
    return sum_


@kernel(inline=True, borrow=True)
def _exp(x):
    """As `lcdb_builders.reference.boosting.exp_boost`."""
    quarter = x * 0.25
    result = 0.0
    for coefficient in TAYLOR:
        result = result * quarter + coefficient
    result = result * result
    return result * result


@kernel(borrow=True)
def probabilities(votes, columns, sum_, present, most, total, p):
    """Turn votes into probabilities of the present classes, exactly 0 for the others.

    Parameters
    ----------
    votes, columns, sum_
        Votes of so many columns, and the sum of all votes.
    present
        (K,) bool.
    most, total
        Workspace, (columns,) int64 and float64.
    p
        (K, columns) float64, filled.
    """
    classes = len(votes)
    count = 0
    for i in range(columns):
        most[i] = 0
        total[i] = 0.0
    for k in range(classes):
        count += 1 if present[k] else 0
        for i in range(columns):
            most[i] = max(most[i], votes[k, i])
            p[k, i] = 0.0
    scale = np.float64(sum_) * np.float64((count - 1) ** 2)
    for k in range(classes):
        if present[k]:
            for i in range(columns):
                behind = np.float64(most[i] - votes[k, i])
                power = _exp(-((behind * np.float64(count)) / scale))
                p[k, i] = power
                total[i] += power
    for k in range(classes):
        if present[k]:
            for i in range(columns):
                p[k, i] /= total[i]
