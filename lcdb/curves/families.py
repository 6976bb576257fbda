"""Shapes of curves: functions of n with none, one or two parameters that are not linear.

A model of a curve is ``intercept + slope * shape(n; u)``, where some models have no intercept and
one has a fixed slope. Nearly all parameters are linear, then, and can be solved for exactly; what
is left to search is `u`, at most two numbers, in a box that depends on the sizes alone.

Sizes enter as n / n_1 and n / n_S, the smallest and the largest. A shape is only defined up to
``shape -> scale(u) * shape + shift(u)`` where there is an intercept (up to scale where there is
none), since the linear parameters undo that: each is written in the form that loses no digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

__all__ = [
    "BY_NAME",
    "FAMILIES",
    "FINE",
    "Family",
    "box",
    "shape",
]

#: Exponents beyond this are not computed: such a place of the box has an infinite loss.
LARGEST_EXPONENT = 300.0
#: Powers of either sign are sinh(u)/FINE: even steps in u are then small near 0, where curves are
#: flat and valleys narrow.
FINE = 20.0


@dataclass(frozen=True)
class Family:
    """A shape, and which of its linear parameters are free.

    Parameters
    ----------
    code
        Number of the family, as compiled code knows it.
    name
        The formula of its shape.
    free
        How many parameters are searched: 0, 1 or 2.
    intercept
        Whether there is an intercept.
    sign
        Of the slope: 0 is free, 1 or -1 must be that, 2 means that the slope is -1 itself.
    """

    code: int
    name: str
    free: int
    intercept: bool
    sign: int = 0


FAMILIES = (
    Family(0, "1", 0, True),
    Family(1, "ln n", 0, True),
    Family(2, "n", 0, True),
    Family(3, "1/ln n", 0, True),
    Family(4, "n^-b", 1, False),
    Family(5, "exp(-b n)", 1, False),
    Family(6, "n^-c", 1, True),
    Family(7, "exp(-b n), b > 0", 1, True),
    Family(8, "exp(b/n + c ln n)", 2, False, 1),
    Family(9, "exp((n - b)^a)", 2, True, 2),
    Family(10, "1/(1 + (n/e^b)^c)", 2, False),
    Family(11, "1/(1 + n^d/b)", 2, True),
    Family(12, "exp(-a n^d)", 2, True),
    Family(13, "exp(-a n^d), falling", 2, True, -1),
    Family(14, "(n + d)^-c", 2, True),
)
#: Families by the formula of their shape.
BY_NAME = {family.name: family for family in FAMILIES}


def box(code: int, sizes: np.ndarray) -> np.ndarray:
    """Return the box that is searched, in the coordinates of `shape`: rows are (low, high).

    Parameters
    ----------
    code
        Of the family.
    sizes
        Distinct sizes in ascending order.

    Examples
    --------
    >>> box(6, np.array([1.0, 10.0, 100.0])).shape
    (1, 2)
    """
    first, last = float(sizes[0]), float(sizes[-1])
    second = float(sizes[1]) if len(sizes) > 1 else 2.0 * first
    # The fastest decay worth a name is over after one step; numbers must stay finite at n = 0.
    fastest = max(1.0, min(40.0 * last / (second - first), 600.0 * last / first))
    wide = (math.log(first) - 3.0, math.log(last) + 3.0)
    steep = (math.log(1e-3), math.log(20.0))
    boxes: dict[int, list[tuple[float, float]]] = {
        4: [(-5.0, 20.0)],
        5: [(math.asinh(-20.0), math.asinh(fastest))],
        6: [steep],
        7: [(math.log(1e-3), math.log(fastest))],
        8: [
            (math.asinh(-50.0), math.asinh(50.0)),
            (math.asinh(-10.0 * FINE), math.asinh(10.0 * FINE)),
        ],
        9: [(math.asinh(-10.0), math.asinh(1.5)), (math.log(1e-2 * first), math.log(100 * last))],
        10: [wide, (math.asinh(-20.0 * FINE), math.asinh(20.0 * FINE))],
        11: [wide, (math.log(0.05), math.log(20.0))],
        12: [(-12.0, 6.0), (math.log(0.05), math.log(10.0))],
        13: [(-12.0, 6.0), (math.log(0.05), math.log(10.0))],
        14: [steep, (math.log(1e-2 * first), math.log(100 * last))],
    }
    return np.array(boxes.get(code, []), float).reshape(-1, 2)


@njit(nogil=True, cache=True, error_model="numpy")
def shape(code, n, u, value, slope):
    """Fill a shape and its derivatives along `u`; returns whether it is finite.

    Parameters
    ----------
    code
        Of the family.
    n
        (S,) sizes, ascending.
    u
        (2,) coordinates in the family's box; what it does not use is not read.
    value
        (S,) the shape, to be filled.
    slope
        (2, S) its derivatives, to be filled, up to the shape itself and (with an intercept) up to
        constants: the linear parameters take those up.
    """
    first = n[0]
    last = n[len(n) - 1]
    if code == 8:
        return _vapour(n, u, value, slope)
    if code == 9:
        return _double_exponential(n, u, value, slope)
    for i in range(len(n)):
        if code == 0:
            value[i] = 0.0
        elif code == 1:
            value[i] = math.log(n[i])
        elif code == 2:
            value[i] = n[i] / last
        elif code == 3:
            value[i] = 1.0 / math.log(n[i])
        elif code == 4:
            log = math.log(n[i] / first)
            value[i] = math.exp(-u[0] * log)
            slope[0, i] = -log * value[i]
        elif code == 5:
            rate = math.sinh(u[0])
            x = (n[i] - first) / last
            value[i] = math.exp(-rate * x)
            slope[0, i] = -x * math.cosh(u[0]) * value[i]
        elif code == 6:
            power = math.exp(u[0])
            log = math.log(n[i] / first)
            value[i] = math.expm1(-power * log)
            slope[0, i] = -power * log * (value[i] + 1.0)
        elif code == 7:
            rate = math.exp(u[0])
            x = (n[i] - first) / last
            value[i] = math.expm1(-rate * x)
            slope[0, i] = -rate * x * (value[i] + 1.0)
        elif code == 10 or code == 11:
            _logistic(code, n, u, i, value, slope)
        elif code == 12 or code == 13:
            _stretched(n, u, i, value, slope)
        elif code == 14:
            power = math.exp(u[0])
            start = math.exp(u[1])
            x = (n[i] - first) / start
            log = math.log1p(x)
            value[i] = math.expm1(-power * log)
            slope[0, i] = -power * log * (value[i] + 1.0)
            slope[1, i] = power * x / (1.0 + x) * (value[i] + 1.0)
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def _vapour(n, u, value, slope):
    """Fill exp(b/n + c ln n), relative to the larger of its ends."""
    b = math.sinh(u[0]) * n[0]
    c = math.sinh(u[1]) / FINE
    end = len(n) - 1
    largest = max(b / n[0] + c * math.log(n[0]), b / n[end] + c * math.log(n[end]))
    for i in range(len(n)):
        value[i] = b / n[i] + c * math.log(n[i])
    for i in range(len(n)):
        value[i] = math.exp(value[i] - largest)
        slope[0, i] = math.cosh(u[0]) * n[0] / n[i] * value[i]
        slope[1, i] = math.cosh(u[1]) / FINE * math.log(n[i]) * value[i]
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def _double_exponential(n, u, value, slope):
    """Fill exp((n - b)^a), whose scale is fixed; a place where it overflows is out of bounds."""
    a = math.sinh(u[0])
    start = math.exp(u[1])
    for i in range(len(n)):
        x = start + (n[i] - n[0])
        log = math.log(x)
        if a * log > 7.0:
            return False
        power = math.exp(a * log)
        if power > LARGEST_EXPONENT:
            return False
        value[i] = math.expm1(power)
        steep = (value[i] + 1.0) * power
        slope[0, i] = steep * log * math.cosh(u[0])
        slope[1, i] = steep * a * start / x
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def _logistic(code, n, u, i, value, slope):
    """Fill 1/(1 + (n/e^b)^c) at one size: c = sinh(u_1)/FINE or exp(u_1).

    With an intercept, where all sizes lie on the flank below the middle, less 1: differences from 1
    would have lost their digits.
    """
    c = math.sinh(u[1]) / FINE if code == 10 else math.exp(u[1])
    change = math.cosh(u[1]) / FINE if code == 10 else c
    z = c * (math.log(n[i]) - u[0])
    away = math.exp(-min(abs(z), LARGEST_EXPONENT))
    if code == 11 and math.log(n[len(n) - 1]) < u[0]:
        value[i] = -away / (1.0 + away)
    else:
        value[i] = (away if z > 0.0 else 1.0) / (1.0 + away)
    fall = away / ((1.0 + away) * (1.0 + away))
    slope[0, i] = c * fall
    slope[1, i] = -change * (math.log(n[i]) - u[0]) * fall


@njit(nogil=True, cache=True, error_model="numpy")
def _stretched(n, u, i, value, slope):
    """Fill exp(-rate (n/m)^d) at one size, m in the middle of the sizes on a log scale.

    Relative to its value at the smallest size; near 1 it is written as a difference from 1.
    """
    rate = math.exp(u[0])
    power = math.exp(u[1])
    middle = 0.5 * (math.log(n[0]) + math.log(n[len(n) - 1]))
    log = math.log(n[i]) - middle
    begin = math.log(n[0]) - middle
    x = rate * math.exp(power * log)
    start = rate * math.exp(power * begin)
    value[i] = math.expm1(start - x)
    # The derivatives of exp(start - x) less start' times the shape, which the slope takes up.
    whole = value[i] + 1.0
    slope[0, i] = -x * whole
    slope[1, i] = -x * power * log * whole
