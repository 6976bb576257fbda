"""Sine, cosine and exponential of numbers and of vectors: the same bits in each lane.

Within two units in the last place (for `sine` and `cosine` of the larger of result and 2**-50),
without a call of the library per number, and the same on every processor.
"""

from __future__ import annotations

import math

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import choose, fma, power_of_two

__all__ = ["cosine", "exponential", "nearest", "sine"]

# Adding this and taking it away again rounds to the nearest integer.
ROUND = 1.5 * 2.0**52
PI_INVERSE = 1.0 / math.pi
# pi and ln 2 in two parts each.
PI_LOW = 1.2246467991473532e-16
LN2 = math.log(2.0)
LN2_LOW = 2.3190468138462996e-17
LN2_INVERSE = 1.0 / LN2
# Of the Taylor series, from the 11th power to the 0th.
EXPONENTIAL = tuple(1.0 / math.factorial(k) for k in range(11, -1, -1))


@kernel(inline=True)
def nearest(x):
    """Return the nearest integer, of two the even one."""
    return (x + ROUND) - ROUND


@kernel(inline=True)
def _alternating(whole):
    """Return 1 for even numbers, -1 for odd ones."""
    half = whole * 0.5
    left = half - nearest(half)
    return fma(left * -8.0, left, 1.0)


@kernel(inline=True)
def _sine_of_half_turn(r):
    """Return the sine on [-pi/2, pi/2]: its Taylor series to the 21st power."""
    z = r * r
    z2 = z * z
    z4 = z2 * z2
    a = fma(z, 1.0 / 120, -1.0 / 6)
    b = fma(z, 1.0 / 362880, -1.0 / 5040)
    c = fma(z, 1.0 / 6227020800, -1.0 / 39916800)
    d = fma(z, 1.0 / 355687428096000, -1.0 / 1307674368000)
    e = fma(z, 1.0 / 51090942171709440000, -1.0 / 121645100408832000)
    p = fma(z4, fma(z4, e, fma(z2, d, c)), fma(z2, b, a))
    return fma(r * z, p, r)


@kernel(inline=True)
def sine(x):
    """Return the sine, for arguments below a million."""
    turns = nearest(x * PI_INVERSE)
    r = fma(turns, -PI_LOW, fma(turns, -math.pi, x))
    return _alternating(turns) * _sine_of_half_turn(r)


@kernel(inline=True)
def cosine(x):
    """Return the cosine, for arguments below a million."""
    turns = nearest(fma(x, PI_INVERSE, -0.5))
    centre = turns + 0.5
    r = fma(centre, -PI_LOW, fma(centre, -math.pi, x))
    return -_alternating(turns) * _sine_of_half_turn(r)


@kernel(inline=True)
def exponential(x):
    """Return e**x; 0 below -708, infinity above 709."""
    inside = choose(x > -708.0, choose(x < 709.0, x, 709.0), -708.0)
    shifted = fma(inside, LN2_INVERSE, ROUND)
    whole = shifted - ROUND
    r = fma(whole, -LN2_LOW, fma(whole, -LN2, inside))
    p = fma(r, 1.0 / 6227020800, 1.0 / 479001600)
    for coefficient in EXPONENTIAL:
        p = fma(p, r, coefficient)
    scaled = p * power_of_two(shifted)
    # NaN is neither: it comes through `inside` as -708.
    result = choose(x > -708.0, choose(x <= 709.0, scaled, math.inf), 0.0)
    return choose(x == x, result, x)
