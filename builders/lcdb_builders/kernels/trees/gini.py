"""Gini gains of many splits at once, as the reference of boosting computes them.

Class weights are integers, so gains of any two computations agree to the last bit; they also take
part in no fused or reordered operations. A gain is a positive float64: its bits, as an integer, are
in the same order, which lets the compiler find the largest with vector instructions.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.elementary import bits_of, float_of
from lcdb_builders.kernels.core.jit import kernel

__all__ = ["gains", "largest_gain", "mark_promising"]


@kernel(borrow=True)
def gains(left, skip, count, weight, share, sums, gain):
    """Compute the gains of ``count`` splits.

    Parameters
    ----------
    left, skip
        (K, skip + splits) int64 class weights on the left, after some columns of something else.
    count
        Number of splits.
    weight, share
        Weight of all rows, and the share of each class in it.
    sums
        Workspace, (splits,) int64.
    gain
        (splits,) float64, filled; 0 where nothing is left on the right.
    """
    one = 1.0 / weight
    if len(share) == 2:
        share0, share1 = share[0], share[1]
        zeros, ones = left[0, skip:], left[1, skip:]
        for i in range(np.uint64(count)):
            low = zeros[i] + ones[i]
            l = np.float64(low) * one
            r = np.float64(weight - low) * one
            d0 = np.float64(zeros[i]) * one - share0 * l
            d1 = np.float64(ones[i]) * one - share1 * l
            # Nothing on the right: 0 / 1.
            gain[i] = (d0 * d0 + d1 * d1) / (l * r + np.float64(low == weight))
        return
    sums[:count] = 0
    gain[:count] = 0.0
    for k in range(len(share)):
        part = left[k, skip:]
        for i in range(np.uint64(count)):
            sums[i] += part[i]
    for k in range(len(share)):
        if share[k] > 0.0:
            part = left[k, skip:]
            own_share = share[k]
            for i in range(np.uint64(count)):
                l = np.float64(sums[i]) * one
                difference = np.float64(part[i]) * one - own_share * l
                gain[i] += difference * difference
    for i in range(np.uint64(count)):
        l = np.float64(sums[i]) * one
        r = np.float64(weight - sums[i]) * one
        gain[i] = gain[i] / (l * r + np.float64(sums[i] == weight))


@kernel(inline=True, borrow=True)
def largest_gain(gain, count):
    """Return the largest of the first gains, 0 if there are none; none is negative."""
    top = np.int64(0)
    for i in range(np.uint64(count)):
        top = max(top, bits_of(gain[i]))
    return float_of(top)


@kernel(borrow=True)
def mark_promising(w, bins, weight, least):
    """Mark bins inside of which a split might gain more than ``least``.

    The gain is convex in the class weights on the left. Inside of a bin these lie in a box, so no
    gain exceeds that of the box's corners. For two classes the two corners that matter are tried;
    for more, each class's difference is taken at the better end and the denominator at the less.

    Parameters
    ----------
    w
        `Histograms`; its `promising` bins are marked, `sums` and `inner_gain` are written.
    bins, weight
        Number of bins, and weight of all rows.
    least
        Gain to be exceeded, already scaled down by a margin for rounding.
    """
    left, begins, coarse, share = w.left, w.begins, w.coarse, w.share
    sums, worth, promising = w.sums, w.inner_gain, w.promising
    one = 1.0 / weight
    if len(share) == 2:
        share0, share1 = share[0], share[1]
        zeros, ones = left[0], left[1]
        for b in range(np.uint64(bins)):
            after = b + np.uint64(1)
            keep = 0.0 if begins[b] else one
            z, more_z = np.float64(zeros[b]) * keep, np.float64(zeros[after]) * one
            o, more_o = np.float64(ones[b]) * keep, np.float64(ones[after]) * one
            high = more_o * share0 - z * share1
            low = o * share0 - more_z * share1
            l_high, l_low = z + more_o, more_z + o
            reached = 2.0 * high * high > least * l_high * (1.0 - l_high)
            reached |= 2.0 * low * low > least * l_low * (1.0 - l_low)
            promising[b] = reached & coarse[b]
        return
    sums[: bins + 1] = 0
    worth[:bins] = 0.0
    for k in range(len(share)):
        part = left[k]
        for b in range(np.uint64(bins + 1)):
            sums[b] += part[b]
    for k in range(len(share)):
        own_share = share[k]
        if own_share > 0.0:
            part = left[k]
            for b in range(np.uint64(bins)):
                after = b + np.uint64(1)
                keep = 0.0 if begins[b] else one
                l = np.float64(sums[b]) * keep
                step = np.float64(sums[after]) * one - l
                inner = np.float64(part[b]) * keep
                own = np.float64(part[after]) * one - inner
                difference = inner - own_share * l
                high = difference + own * (1.0 - own_share)
                low = difference - own_share * (step - own)
                high, low = high * high, low * low
                worth[b] += high if high > low else low
    for b in range(np.uint64(bins)):
        l = np.float64(sums[b]) * (0.0 if begins[b] else one)
        after = np.float64(sums[b + np.uint64(1)]) * one
        first, last = l * (1.0 - l), after * (1.0 - after)
        reached = worth[b] > least * (first if first < last else last)
        promising[b] = reached & coarse[b]
