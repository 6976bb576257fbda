"""Elementary functions that fit into vector instructions and are the same in every lane.

The library's `exp` and `log` cost a call per number. These are within two units in the last place
at a fraction of the cost in a loop. Fused operations are explicit, so a number has the same image
in the body of a vector loop, in its remainder, and on every processor.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from numba import config

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import fma

__all__ = [
    "bits_of",
    "exp_nonpositive",
    "float_of",
    "from_order",
    "log_normal",
    "log_sigmoid",
    "to_order",
]

if config.DISABLE_JIT:

    def float_of(bits):
        """Return the number of which an integer holds the bits."""
        return struct.unpack("<d", struct.pack("<Q", int(bits) & (2**64 - 1)))[0]

    def bits_of(x):
        """Return the bits of a number; those of positive numbers are ordered."""
        return struct.unpack("<q", struct.pack("<d", x))[0]

else:

    @kernel(inline=True)
    def float_of(bits):
        """Return the number of which an integer holds the bits."""
        return np.int64(bits).view(np.float64)

    @kernel(inline=True)
    def bits_of(x):
        """Return the bits of a number; those of positive numbers are ordered."""
        return np.float64(x).view(np.int64)


LOG2_E = 1.0 / math.log(2.0)
# ln 2 in two parts: the product of the first with an exponent is exact.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding this leaves the nearest integer in the low bits of the sum.
ROUND = 1.5 * 2.0**52
ROUND_BITS = 0x4338000000000000
ONE_BITS = 1023 << 52
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


@kernel(inline=True)
def exp_nonpositive(x):
    """Return e**x for x <= 0; exactly 0 below -708, where results would become subnormal."""
    clamped = x if x > -708.0 else -708.0
    shifted = fma(clamped, LOG2_E, ROUND)
    whole = shifted - ROUND
    r = fma(whole, -LN2_HIGH, clamped)
    r = fma(whole, -LN2_LOW, r)
    p = 1.0 / 479001600
    p = fma(p, r, 1.0 / 39916800)
    p = fma(p, r, 1.0 / 3628800)
    p = fma(p, r, 1.0 / 362880)
    p = fma(p, r, 1.0 / 40320)
    p = fma(p, r, 1.0 / 5040)
    p = fma(p, r, 1.0 / 720)
    p = fma(p, r, 1.0 / 120)
    p = fma(p, r, 1.0 / 24)
    p = fma(p, r, 1.0 / 6)
    p = fma(p, r, 0.5)
    p = fma(p, r, 1.0)
    p = fma(p, r, 1.0)
    scaled = p * float_of((bits_of(shifted) << 52) + ONE_BITS)
    return scaled if x > -708.0 else 0.0


@kernel(inline=True)
def log_normal(x):
    """Return ln x for a positive, finite x that is not subnormal."""
    bits = bits_of(x)
    exponent = (bits - SQRT_HALF_BITS) >> 52
    whole = float_of(exponent + ROUND_BITS) - ROUND
    f = float_of(bits - (exponent << 52)) - 1.0  # the rest is in [sqrt(1/2), sqrt(2))
    s = f / (2.0 + f)
    z = s * s
    p = 1.479819860511658591e-01
    p = fma(p, z, 1.531383769920937332e-01)
    p = fma(p, z, 1.818357216161805012e-01)
    p = fma(p, z, 2.222219843214978396e-01)
    p = fma(p, z, 2.857142874366239149e-01)
    p = fma(p, z, 3.999999999940941908e-01)
    p = fma(p, z, 6.666666666666735130e-01)
    half_square = 0.5 * f * f
    tail = fma(s, fma(p, z, half_square), whole * LN2_LOW)
    return fma(whole, LN2_HIGH, f - (half_square - tail))


@kernel(inline=True)
def log_sigmoid(f):
    """Return ln(1 / (1 + e**-f)), accurate in both tails."""
    small = exp_nonpositive(f if f < 0.0 else -f)
    sum_ = 1.0 + small
    # What rounding took from 1 + small, as a derivative of the logarithm.
    log1p = log_normal(sum_) + (small - (sum_ - 1.0)) / sum_
    return (f if f < 0.0 else 0.0) - log1p


@kernel(inline=True)
def to_order(x):
    """Return an integer that orders as x does: maxima of integers become vector instructions."""
    bits = bits_of(x)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@kernel(inline=True)
def from_order(order):
    """Return the x of `to_order`."""
    return float_of(order ^ ((order >> 63) & 0x7FFFFFFFFFFFFFFF))
