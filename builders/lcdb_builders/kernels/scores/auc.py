"""The area under the ROC curve from an exact count of pairs, without sorting.

What is ranked is rounded to single precision first (`round_ranks`): scores that differ by their
rounding errors alone are tied.

Few pairs are compared one by one, which vector instructions do some forty times per nanosecond.
Many are first thrown into sixteen buckets by splitters from a sample of both sides: pairs from
different buckets are counted at once, and only those that share one are compared. Equal values
share a bucket, so ties are exact, whatever the sample.
"""

from __future__ import annotations

import math

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.losses import LARGEST, pad

__all__ = ["WORKSPACE", "pairs_won", "rank_beyond", "round_rank", "round_ranks"]

BUCKETS = 16
SAMPLE = 32
#: Numbers of workspace that `pairs_won` needs besides two for each value.
WORKSPACE = 2 * SAMPLE + BUCKETS
# Sides of a pair: rows of what is known of both.
CHOSEN, OTHERS = range(2)
# Below so many pairs, comparing all of them costs less than filling buckets.
FEW_PAIRS = 90_000
# The smallest number with all the bits of single precision.
SMALLEST = float(np.finfo(np.float32).tiny)


@kernel(borrow=True)
def round_ranks(values, ranks):
    """Round finite values to single precision; returns how many are out of its range."""
    beyond = 0
    for i in range(len(values)):
        x = values[i]
        size = abs(x)
        beyond += (size > LARGEST) | ((size < SMALLEST) & (size > 0.0))
        ranks[i] = x
    return beyond


@kernel
def round_rank(x):
    """Round a finite value to the 24 bits of single precision, whatever its size."""
    if SMALLEST <= abs(x) <= LARGEST:
        return np.float64(np.float32(x))
    mantissa, exponent = math.frexp(x)
    return math.ldexp(np.float64(np.float32(mantissa)), exponent)


@kernel
def rank_beyond(values):
    """Replace values by whole numbers, in the order and with the ties of `round_rank`."""
    rounded = np.empty(len(values))
    for i in range(len(values)):
        rounded[i] = round_rank(values[i])
    order = np.argsort(rounded)
    rank = 0
    for k in range(len(order)):
        if k > 0 and rounded[order[k]] > rounded[order[k - 1]]:
            rank += 1
        values[order[k]] = rank


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
        # Counted in as many bits as a value has: a vector holds as many of both.
        first = np.int32(0)
        second = np.int32(0)
        for j in range(len(others)):
            x = others[j]
            # From left to right: in plain Python two of NumPy's bools would add up to True.
            first = np.int32(first + (x < a) + (x <= a) + (x < b) + (x <= b))
            second = np.int32(second + (x < c) + (x <= c) + (x < d) + (x <= d))
        won += np.int64(first) + np.int64(second)
        i += 4
    while i < len(chosen):
        a = chosen[i]
        first = np.int32(0)
        for j in range(len(others)):
            x = others[j]
            first = np.int32(first + (x < a) + (x <= a))
        won += np.int64(first)
        i += 1
    return won


@kernel(borrow=True)
def _find_buckets(values, splitters, bucket):
    """Count the splitters that do not exceed each value, five splitters per pass."""
    for group in range(0, BUCKETS - 1, 5):
        a, b, c = splitters[group], splitters[group + 1], splitters[group + 2]
        d, e = splitters[group + 3], splitters[group + 4]
        for i in range(len(values)):
            x = values[i]
            passed = 0 + (x >= a) + (x >= b) + (x >= c) + (x >= d) + (x >= e)
            bucket[i] = passed if group == 0 else bucket[i] + passed


@kernel(borrow=True)
def _fill_buckets(values, splitters, bucket, start, place, out):
    """Copy values into `out` by bucket; those of bucket b stand in start[b]:start[b + 1].

    Parameters
    ----------
    values
        Finite numbers.
    splitters
        (BUCKETS - 1,) or more, ascending; a value is in the bucket of as many as do not exceed it.
    bucket
        That of each value, filled.
    start
        (BUCKETS + 1,), filled.
    place
        (BUCKETS,) workspace: where the next value of each bucket goes.
    out
        Filled.
    """
    _find_buckets(values, splitters, bucket)
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
    """Return the same count as `_compare_all`, from buckets.

    Of the workspace `floats` the head is a sample, what follows it are splitters, and the rest is
    both sides by bucket.
    """
    n_chosen, n_others = len(chosen), len(others)
    splitters = floats[2 * SAMPLE : 2 * SAMPLE + BUCKETS]
    _choose_splitters(chosen, others, floats[: 2 * SAMPLE], splitters)
    by_bucket = floats[2 * SAMPLE + BUCKETS :]
    all_chosen = by_bucket[:n_chosen]
    all_others = by_bucket[n_chosen : n_chosen + n_others]
    start = np.empty((2, BUCKETS + 1), np.int64)
    place = np.empty(BUCKETS, np.int64)
    _fill_buckets(chosen, splitters, buckets, start[CHOSEN], place, all_chosen)
    _fill_buckets(others, splitters, buckets, start[OTHERS], place, all_others)
    won = 0
    for b in range(BUCKETS):
        a = all_chosen[start[CHOSEN, b] : start[CHOSEN, b + 1]]
        z = all_others[start[OTHERS, b] : start[OTHERS, b + 1]]
        won += 2 * len(a) * start[OTHERS, b]
        if len(a) <= len(z):
            won += _compare_all(a, z)
        else:
            won += 2 * len(a) * len(z) - _compare_all(z, a)
    return won


@kernel(glue=True)
def pairs_won(chosen, others, size, buckets):
    """Return twice the number of (chosen, other) pairs that chosen wins, plus the number of ties.

    Parameters
    ----------
    chosen
        Contiguous, finite float32 values.
    others
        ``others[:size]`` are the others, float32; what follows is workspace, in all
        ``2 * size + len(chosen) + WORKSPACE`` numbers.
    size
        Number of others.
    buckets
        uint8 workspace of at least ``max(len(chosen), size)`` numbers.
    """
    if len(chosen) * size >= FEW_PAIRS:
        return _compare_by_bucket(chosen, others[:size], others[size:], buckets)
    padded = pad(size)
    for i in range(size, padded):
        others[i] = np.inf  # nobody wins against it
    return _compare_all(chosen, others[:padded])
