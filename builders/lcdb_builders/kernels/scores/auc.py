"""The area under the ROC curve from an exact count of pairs, without sorting.

Few pairs are compared one by one, which vector instructions do some twenty times per nanosecond.
Many are first thrown into sixteen buckets by splitters from a sample of both sides: pairs from
different buckets are counted at once, and only those that share one are compared. Equal values
share a bucket, so ties are exact, whatever the sample.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.losses import pad

__all__ = ["WORKSPACE", "pairs_won"]

BUCKETS = 16
SAMPLE = 32
#: Numbers of workspace that `pairs_won` needs besides one for each value.
WORKSPACE = 2 * SAMPLE + BUCKETS
# Below so many pairs, comparing all of them costs less than filling buckets.
FEW_PAIRS = 45_000


@kernel(borrow=True)
def _compare_all(chosen, others):
    """Return twice the number of pairs with chosen > other, plus the number of ties."""
    won = 0
    i = 0
    while i + 4 <= len(chosen):  # four at a time: each of the others is loaded once for them
        a = chosen[i]
        b = chosen[i + 1]
        c = chosen[i + 2]
        d = chosen[i + 3]
        first = 0
        second = 0
        for j in range(len(others)):
            x = others[j]
            # From left to right: in plain Python two of NumPy's bools would add up to True.
            first = first + (x < a) + (x <= a) + (x < b) + (x <= b)
            second = second + (x < c) + (x <= c) + (x < d) + (x <= d)
        won += first + second
        i += 4
    while i < len(chosen):
        a = chosen[i]
        first = 0
        for j in range(len(others)):
            x = others[j]
            first = first + (x < a) + (x <= a)
        won += first
        i += 1
    return won


@kernel(borrow=True)
def _find_buckets(values, splitters, bucket):
    """Count the splitters that do not exceed each value, five splitters per pass."""
    for group in range(0, BUCKETS - 1, 5):
        a = splitters[group]
        b = splitters[group + 1]
        c = splitters[group + 2]
        d = splitters[group + 3]
        e = splitters[group + 4]
        for i in range(len(values)):
            x = values[i]
            passed = 0 + (x >= a) + (x >= b) + (x >= c) + (x >= d) + (x >= e)
            bucket[i] = passed if group == 0 else bucket[i] + passed


@kernel(borrow=True)
def _fill_buckets(values, bucket, start, place, out):
    """Copy values into `out` by bucket; those of bucket b stand in start[b]:start[b + 1]."""
    start[:] = 0
    for i in range(len(values)):
        start[bucket[i] + 1] += 1
    for b in range(BUCKETS):
        start[b + 1] += start[b]
        place[b] = start[b]
    for i in range(len(values)):
        b = bucket[i]
        out[place[b]] = values[i]
        place[b] += 1


@kernel(borrow=True)
def _choose_splitters(chosen, others, sample, splitters):
    """Write the quantiles of a sample of both sides, which is sorted by counting what is below."""
    for i in range(SAMPLE):
        sample[i] = chosen[i * len(chosen) // SAMPLE]
        sample[SAMPLE + i] = others[i * len(others) // SAMPLE]
    step = 2 * SAMPLE // BUCKETS
    for i in range(2 * SAMPLE):
        x = sample[i]
        below = 0
        for j in range(2 * SAMPLE):
            below += sample[j] < x
        for j in range(i):
            below += sample[j] == x
        if below % step == 0 and below > 0:
            splitters[below // step - 1] = x


@kernel
def _compare_by_bucket(chosen, others, floats, buckets):
    """Return the same count as `_compare_all`, from buckets."""
    n_chosen = len(chosen)
    n_others = len(others)
    splitters = floats[2 * SAMPLE : 2 * SAMPLE + BUCKETS]
    _choose_splitters(chosen, others, floats[: 2 * SAMPLE], splitters)
    room = floats[2 * SAMPLE + BUCKETS :]
    mine = room[:n_chosen]
    theirs = room[n_chosen : n_chosen + n_others]
    start = np.empty((2, BUCKETS + 1), np.int64)
    place = np.empty(BUCKETS, np.int64)
    _find_buckets(chosen, splitters, buckets[:n_chosen])
    _fill_buckets(chosen, buckets[:n_chosen], start[0], place, mine)
    _find_buckets(others, splitters, buckets[:n_others])
    _fill_buckets(others, buckets[:n_others], start[1], place, theirs)
    won = 0
    for b in range(BUCKETS):
        a = mine[start[0, b] : start[0, b + 1]]
        z = theirs[start[1, b] : start[1, b + 1]]
        won += 2 * len(a) * start[1, b]
        if len(a) <= len(z):
            won += _compare_all(a, z)
        else:
            won += 2 * len(a) * len(z) - _compare_all(z, a)
    return won


@kernel(glue=True)
def pairs_won(chosen, held, size, buckets):
    """Return twice the number of (chosen, other) pairs that chosen wins, plus the number of ties.

    Parameters
    ----------
    chosen
        Contiguous finite values.
    held
        ``held[:size]`` are the others; what follows is workspace, in all
        ``2 * size + len(chosen) + WORKSPACE`` numbers.
    size
        Number of others.
    buckets
        uint8 workspace of at least ``max(len(chosen), size)`` numbers.
    """
    if len(chosen) * size >= FEW_PAIRS:
        return _compare_by_bucket(chosen, held[:size], held[size:], buckets)
    padded = pad(size)
    for i in range(size, padded):
        held[i] = np.inf  # nobody wins against it
    return _compare_all(chosen, held[:padded])
