"""Votes of few rows on many columns: thirty-two columns at a time, by bisection.

Where few of the candidates were drawn, a list is a long way to go from one of them to the next.
Their places in the lists of thirty-two columns fit into one vector register. How far down its list
each column has to go for k votes is found bit by bit: each time the votes above a place are
counted, for all columns at once.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import LANES, choose, load, spread, store, zeros
from lcdb_builders.kernels.neighbours.block import Table, whole_lanes

__all__ = ["MOST_STEPS", "Few", "bits_of", "count_few", "few_of", "places_of", "tally_few"]

# Numbers of voters that can be counted: one for each metric.
MOST_STEPS = 4

#: `reach` (steps, columns) places of the last voter, `total` (steps, columns) what all have voted
#: up to there; `votes` (steps, classes, columns) for each class, of two for class 1 alone; `slot`,
#: `weight` (slots,) of the rows that vote, those of class c from ``start[c]`` (K + 1,); `block`
#: (slots * LANES,) their places in the lists of the columns in hand.
Few = namedtuple("Few", ["reach", "total", "votes", "slot", "weight", "start", "block"])


@kernel(borrow=True)
def _invert(near, first, stop, place):
    for t in range(first, stop):
        for q in range(near.shape[1]):
            place[near[t, q] >> 1, t] = q


def places_of(table: Table) -> np.ndarray:
    """Return the place of each slot in each column's list, (slots, columns rounded up to lanes).

    Empty where lists are, or where most begin with ties, which bisection cannot resolve.
    """
    near = table.near
    if near.dtype != np.uint16 or not len(near) or np.median(table.clear) < near.shape[1] / 4:
        return np.zeros((0, 0), np.uint16)
    place = np.zeros((near.shape[1], whole_lanes(len(near))), np.uint16)
    for first in range(0, len(near), LANES):  # a few columns at a time stay in the cache
        _invert(near, first, min(first + LANES, len(near)), place)
    return place


def few_of(classes: int, slots: int, columns: int) -> Few:
    """Return room for the votes on so many columns."""
    kinds, size = 1 if classes == 2 else classes, whole_lanes(columns)
    return Few(
        np.zeros((MOST_STEPS, size), np.uint16),
        np.zeros((MOST_STEPS, size), np.uint16),
        np.zeros((MOST_STEPS, kinds, size), np.uint16),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.uint16),
        np.zeros(classes + 1, np.int64),
        np.zeros(slots * LANES, np.uint16),
    )


@kernel(borrow=True)
def bits_of(size):
    """Return how many bits the numbers below `size` take."""
    bits = 0
    while 1 << bits < size:
        bits += 1
    return bits


@kernel(borrow=True)
def _group(task, table, rows, weight, few):
    """Write slots and weights of rows by class."""
    start = few.start
    for c in range(len(start)):
        start[c] = 0
    for row in rows:
        start[task.y[row] + 1] += 1
    for c in range(len(start) - 1):
        start[c + 1] += start[c]
    for row in rows:
        at = start[task.y[row]]
        start[task.y[row]] += 1
        few.slot[at] = table.slot[row]
        few.weight[at] = weight[row]
    for c in range(len(start) - 1, 0, -1):
        start[c] = start[c - 1]
    start[0] = 0


@kernel(inline=True, borrow=True)
def _weight_above(few, first, stop, limit):
    """Return the weight of the rows first..stop-1 whose places do not exceed the limit, by lane."""
    none = zeros(np.uint16(0))
    held = none
    for i in range(first, stop):
        here = load(few.block, i * LANES) <= limit
        held = held + choose(here, spread(few.weight[i], none), none)
    return held


@kernel(borrow=True)
def count_few(task, table, rows, weight, most, steps, few):
    """Count the votes of rows on all columns, for every number of voters.

    Parameters
    ----------
    task, table
        Where rows are; the table has places.
    rows, weight
        Distinct rows that vote, and (N,) how often each was drawn.
    most, steps
        ``most[:steps]`` are the numbers of voters, at most `MOST_STEPS`.
    few
        Filled. Votes are right where `reach` is clear of ties.
    """
    place = table.place
    _group(task, table, rows, weight, few)
    kinds = few.votes.shape[1]
    bits = bits_of(len(place) + 1)
    one = spread(np.uint16(1), zeros(np.uint16(0)))
    for at in range(0, place.shape[1], LANES):
        for i in range(len(rows)):
            store(load(place[few.slot[i]], at), few.block, i * LANES)
        for s in range(steps):
            wanted = spread(np.uint16(most[s]), one)
            reach = zeros(np.uint16(0))  # so many places have too few votes
            for b in range(bits - 1, -1, -1):
                further = reach + spread(np.uint16(1 << b), one)
                held = _weight_above(few, 0, len(rows), further - one)
                reach = choose(wanted <= held, reach, further)
            store(reach, few.reach[s], at)
            for k in range(kinds):
                c = 1 if kinds == 1 else k
                mine = _weight_above(few, few.start[c], few.start[c + 1], reach)
                store(mine, few.votes[s, k], at)
            store(_weight_above(few, 0, len(rows), reach), few.total[s], at)


@kernel(borrow=True)
def tally_few(task, table, t, c, most, steps, few, tally):
    """Count a test row of class c, which is column t, by the votes that have been counted."""
    kinds = few.votes.shape[1]
    for s in range(steps):
        surplus = few.total[s, t] - most[s]  # copies of the last voter that are too many
        label = -1
        if surplus > 0:
            label = task.y[task.pool[table.near[t, few.reach[s, t]] >> 1]]
        best = 0
        top = -1
        for k in range(kinds):
            votes = np.int64(few.votes[s, k, t])
            if label == (1 if kinds == 1 else k):
                votes -= surplus
            side = c if kinds == 1 else np.int64(k == c)
            tally.counts[s, k, side, votes] += 1
            top = k if votes > best else top
            best = max(best, votes)
        tally.right[s] += top == c
