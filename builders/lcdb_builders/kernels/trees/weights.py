"""Sums of weights by lane: how much of a node lies on the left of each of 32 candidates."""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import as_integer, choose, lowest_bit, spread, zeros

__all__ = ["weight_of", "weight_up_to"]


@kernel(inline=True, borrow=True)
def weight_up_to(values, weights, first, stop, limits):
    """Return the sums of ``weights[first:stop]`` where ``values <= limit``, by lane.

    Arrays and limits are uint16, sums int32; they must stay below 65536.
    """
    none = zeros(np.uint16(0))
    sums = none
    for j in range(np.uint64(first), np.uint64(stop)):
        below = spread(values[j], limits) <= limits
        sums = sums + choose(below, spread(weights[j], limits), none)
    return as_integer(sums)


@kernel(inline=True, borrow=True)
def weight_of(values, weights, first, bits, limits):
    """Return the sums of marked ``weights`` where ``values[first:] <= limit``, by lane.

    Arrays, limits and sums are uint16.
    """
    none = zeros(np.uint16(0))
    sums = none
    begin = np.uint64(first)
    while bits != 0:
        j = np.uint64(lowest_bit(bits))
        bits &= bits - np.uint32(1)
        below = spread(values[begin + j], limits) <= limits
        sums = sums + choose(below, spread(weights[j], limits), none)
    return sums
