"""Scores of votes in whole numbers: how many test rows have given a class how many votes.

With k voters a class has one of 0..k votes. How many rows have given each number, counted by class
and by whether the row is of it, is all that AUC, Brier score and cross-entropy depend on, and with
two classes accuracy as well: nothing is divided, sorted or summed row by row, and one pass over a
row's nearest neighbours counts for every k of a grid.

A row's voters are the classes of its neighbours, nearest first. Those of one class are marked in
the bits of words, so that the votes of the first k are a count of bits.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.cell import Sums, write_cell
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import LANES, bit_count, load, marks, spread
from lcdb_builders.kernels.scores.losses import LOSS_OF_ONE, LOSS_OF_ZERO

__all__ = ["Polled", "Tally", "forget", "score_tally", "tally_of", "tally_row"]

SHIFT = 5  # LANES is 2**5
# Rows that are not of a class, and those that are, in `Tally.counts`.
OTHERS, OWN = range(2)

#: `counts` (steps, classes, 2, most + 1) rows by number of voters, class, whether they are of it
#: (`OTHERS`, `OWN`), and votes for it; of two classes only class 1 is counted, of more only rows
#: with a vote for it.
#: `right` (steps,) labels, if there are more classes than two. `votes`, `best`, `top` (steps,) of
#: the row in hand. `logs` (most + 1,) logarithms of whole numbers.
Tally = namedtuple("Tally", "counts right votes best top logs")

#: Rows by class, as columns: those of class c are ``index[lo[c]:hi[c]]``.
Polled = namedtuple("Polled", "index lo hi")


def tally_of(classes: int, steps: int, most: int) -> Tally:
    """Return room for so many numbers of voters, none larger than `most`.

    Examples
    --------
    Two rows of class 0 and one of class 1, with two voters each:

    >>> tally, most, out = tally_of(2, 1, most=2), np.array([2]), np.empty(5)
    >>> forget(tally, most, 1)
    >>> for c, votes in [(0, [0, 0]), (0, [1, 0]), (1, [1, 1])]:
    ...     tally_row(np.resize(np.array(votes, np.uint16), 64), c, most, 1, tally)
    >>> score_tally(tally, 0, 2, Polled(np.arange(3), np.array([0, 2]), np.array([2, 3])), out)
    >>> [round(score, 4) for score in out.tolist()]
    [1.0, 1.0, 0.0833, 0.231, 0.0]
    """
    kinds = 1 if classes == 2 else classes
    return Tally(
        counts=np.zeros((steps, kinds, 2, most + 1), np.int32),
        right=np.zeros(steps, np.int64),
        votes=np.zeros(steps, np.int32),
        best=np.zeros(steps, np.int32),
        top=np.zeros(steps, np.int32),
        logs=np.log(np.maximum(np.arange(most + 1), 1)),
    )


@kernel(borrow=True)
def forget(tally, most, steps):
    """Return to a tally of no rows."""
    for s in range(steps):
        tally.right[s] = 0
        for k in range(tally.counts.shape[1]):
            for side in range(2):
                for v in range(most[s] + 1):
                    tally.counts[s, k, side, v] = 0


@kernel(inline=True, borrow=True)
def _has_votes(voters, same, most):
    """Whether any of so many voters is of a class."""
    start = 0
    while start + LANES <= most:
        if marks(load(voters, start) == same) != 0:
            return True
        start += LANES
    head = (np.uint64(1) << np.uint64(most - start)) - np.uint64(1)
    return np.uint64(marks(load(voters, start) == same)) & head != 0


@kernel(glue=True)
def _count_class(voters, same, k, side, most, steps, tally):
    """Count the votes of a row for one class.

    Voters stand in the order of their distance: those of fewer neighbours are a head of the list.

    Parameters
    ----------
    voters, most, steps, tally
        As for `tally_row`.
    same
        The class, in lanes.
    k, side
        Its place in the tally, and `OWN` if the row is of it, else `OTHERS`.
    """
    word = marks(load(voters, 0) == same)
    lane = 0
    before = np.uint64(0)
    for s in range(steps):
        cut = most[s]
        while lane < cut >> SHIFT:
            before += bit_count(word)
            lane += 1
            word = marks(load(voters, lane * LANES) == same)
        head = (np.uint64(1) << np.uint64(cut & (LANES - 1))) - np.uint64(1)
        votes = before + bit_count(np.uint64(word) & head)
        tally.counts[s, k, side, votes] += 1
        tally.votes[s] = votes


@kernel(inline=True, borrow=True)
def tally_row(voters, c, most, steps, tally):
    """Count a test row.

    Parameters
    ----------
    voters
        uint16 classes of its neighbours, nearest first; at least ``most[steps - 1]``, and readable
        for `LANES` more.
    c
        Class of the row.
    most, steps
        ``most[:steps]`` are the different numbers of voters, ascending.
    tally
        Of `tally_of`.
    """
    classes = tally.counts.shape[1]
    if classes == 1:
        one = spread(np.uint16(1), load(voters, 0))
        _count_class(voters, one, 0, c, most, steps, tally)
        return
    for s in range(steps):
        tally.best[s] = -1
    for k in range(classes):
        same = spread(np.uint16(k), load(voters, 0))
        if not _has_votes(voters, same, most[steps - 1]):
            continue
        _count_class(voters, same, k, np.int64(k == c), most, steps, tally)
        for s in range(steps):
            ahead = tally.votes[s] > tally.best[s]
            tally.best[s] = tally.votes[s] if ahead else tally.best[s]
            tally.top[s] = k if ahead else tally.top[s]
    for s in range(steps):
        tally.right[s] += tally.top[s] == c


@kernel(glue=True)
def _area(others, own, voters, rows):
    """Return the AUC of a class from the tallies of other rows and of its own."""
    won, below, chosen = 0, 0, 0
    for v in range(voters + 1):
        won += own[v] * (2 * below + others[v])
        below += others[v]
        chosen += own[v]
    return won / (2.0 * chosen * (rows - chosen))


@kernel(glue=True)
def _loss(votes, voters, logs):
    """Return the cross-entropy of a row whose class has so many votes."""
    if votes == 0:
        return LOSS_OF_ZERO
    return LOSS_OF_ONE if votes == voters else logs[voters] - logs[votes]


@kernel(glue=True)
def _sum_two_classes(counts, voters, logs):
    """Return the sums of rows, from the votes of both classes for class 1."""
    right, error = 0, 0
    loss = 0.0
    for v in range(voters + 1):
        zeros, ones = np.int64(counts[OTHERS, v]), np.int64(counts[OWN, v])
        missing = voters - v
        right += ones if v > missing else zeros
        error += zeros * v * v + ones * missing * missing
        if zeros > 0:
            loss += zeros * _loss(missing, voters, logs)
        if ones > 0:
            loss += ones * _loss(v, voters, logs)
    clipped = counts[OTHERS, voters] + counts[OWN, 0]
    return Sums(right=right, error=error / (voters * voters), loss=loss, clipped=clipped)


@kernel(glue=True)
def _count_voteless(counts, rows, voters):
    """Count the rows that have given a class no vote, from those that have."""
    some = 0
    for v in range(1, voters + 1):
        some += counts[v]
    counts[0] = rows - some


@kernel(borrow=True)
def score_tally(tally, s, voters, polled, out):
    """Score the rows counted, with one number of voters.

    Parameters
    ----------
    tally
        What has been counted.
    s, voters
        Place of the number of voters, and the number itself.
    polled
        The rows.
    out
        (WIDTH,) float64.
    """
    rows, present = 0, 0
    for c in range(len(polled.lo)):
        rows += polled.hi[c] - polled.lo[c]
        present += polled.hi[c] > polled.lo[c]
    counts = tally.counts[s]
    if len(counts) == 1:
        area = _area(counts[0, OTHERS], counts[0, OWN], voters, rows) if present > 1 else np.nan
        write_cell(_sum_two_classes(counts[0], voters, tally.logs), area, rows, out)
        return
    area, loss = 0.0, 0.0
    error, clipped = 0, 0
    for c in range(len(counts)):
        size = polled.hi[c] - polled.lo[c]
        others, own = counts[c, OTHERS], counts[c, OWN]
        _count_voteless(others, rows - size, voters)
        _count_voteless(own, size, voters)
        for v in range(voters + 1):
            missing = voters - v
            error += others[v] * v * v + own[v] * missing * missing
            if own[v] > 0:
                loss += own[v] * _loss(v, voters, tally.logs)
        clipped += own[0]
        if size > 0 and present > 1:
            area += _area(others, own, voters, rows)
    squares = error / (voters * voters)
    sums = Sums(right=tally.right[s], error=squares, loss=loss, clipped=clipped)
    write_cell(sums, area / present if present > 1 else np.nan, rows, out)
