"""The seventeen models of a learning curve, as collected by Viering and Loog (2022).

Each is a shape of `lcdb.curves.families` whose intercept, slope and coordinates are written as the
parameters a-d of its usual formula. Several are one family in other words: exp3 and expd3; wbl4,
exp4 and janoschek4; logpower3 is mmf4 without its second level. `GROUPS` says which, so that a mean
over models counts a family once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lcdb.curves.families import FAMILIES, FINE, Family

__all__ = ["GROUPS", "MODELS", "Model", "model"]

#: (intercept, slope, coordinates, smallest size, largest size) to parameters a-d.
Reading = Callable[[float, float, np.ndarray, float, float], tuple[float, ...]]


@dataclass(frozen=True)
class Model:
    """A model of a curve.

    Parameters
    ----------
    name
        As the literature has it; the digit is its number of parameters.
    formula
        In words of n and its parameters.
    family
        Its shape.
    read
        Turns what was fitted into parameters.
    evaluate
        The formula: sizes and parameters to scores.
    smallest
        Sizes below this are outside of its domain.
    """

    name: str
    formula: str
    family: Family
    read: Reading
    evaluate: Callable[..., np.ndarray]
    smallest: int = 1

    @property
    def parameters(self) -> int:
        """How many parameters it has."""
        return int(self.name[-1])


def _exp(x: float) -> float:
    """Return exp without an error where it overflows."""
    return math.exp(x) if x < 709.0 else math.inf


def _stretched_rate(u: np.ndarray, first: float, last: float) -> tuple[float, float]:
    """Return a and d of exp(-a n^d), and with them how the shape is scaled."""
    power = math.exp(u[1])
    rate = math.exp(u[0] - power * 0.5 * (math.log(first) + math.log(last)))
    return rate, power


def _read_last1(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    return (c,)


def _read_pow2(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    return s * first ** u[0], float(u[0])


def _read_log2(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    return s, c


def _read_exp2(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    rate = math.sinh(u[0]) / last
    return s * _exp(rate * first), rate


def _read_lin2(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    return s / last, c


def _read_ilog2(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    return -s, c


def _read_pow3(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    power = math.exp(u[0])
    return c - s, -s * first**power, power


def _read_exp3(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    rate = math.exp(u[0]) / last
    return s * _exp(rate * first), rate, c - s


def _read_expd3(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    at_zero, rate, limit = _read_exp3(c, s, u, first, last)
    return limit + at_zero, rate, limit


def _read_vap3(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    b, power = math.sinh(u[0]) * first, math.sinh(u[1]) / FINE
    # The shape is 1 at the larger of its ends.
    sizes = np.array([first, last])
    peak = float(np.max(b / sizes + power * np.log(sizes)))
    return (math.log(s) - peak if s > 0 else -math.inf), b, power


def _read_expp3(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    return math.sinh(u[0]), first - math.exp(u[1]), c + 1.0


def _read_logpower3(
    c: float, s: float, u: np.ndarray, first: float, last: float
) -> tuple[float, ...]:
    return s, float(u[0]), math.sinh(u[1]) / FINE


def _read_mmf4(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    power = math.exp(u[1])
    # The shape is 0 at one of its levels: the one that all sizes are nearer to.
    ends = (c, c - s) if math.log(last) < u[0] else (c + s, c)
    return ends[0], _exp(power * u[0]), ends[1], power


def _read_janoschek4(
    c: float, s: float, u: np.ndarray, first: float, last: float
) -> tuple[float, ...]:
    rate, power = _stretched_rate(u, first, last)
    return c - s, -s * _exp(rate * first**power), rate, power


def _read_wbl4(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    limit, height, rate, power = _read_janoschek4(c, s, u, first, last)
    return rate, height, limit, power


def _read_exp4(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    rate, power = _stretched_rate(u, first, last)
    height = math.log(-s) + rate * first**power if s < 0 else -math.inf
    return rate, height, c - s, power


def _read_pow4(c: float, s: float, u: np.ndarray, first: float, last: float) -> tuple[float, ...]:
    power, start = math.exp(u[0]), math.exp(u[1])
    return c - s, -s * start**power, power, start - first


MODELS = (
    Model("last1", "a", FAMILIES[0], _read_last1, lambda n, a: a + 0.0 * n),
    Model("pow2", "a n^-b", FAMILIES[4], _read_pow2, lambda n, a, b: a * n**-b),
    Model("log2", "a ln n + b", FAMILIES[1], _read_log2, lambda n, a, b: a * np.log(n) + b),
    Model("exp2", "a exp(-b n)", FAMILIES[5], _read_exp2, lambda n, a, b: a * np.exp(-b * n)),
    Model("lin2", "a n + b", FAMILIES[2], _read_lin2, lambda n, a, b: a * n + b),
    Model("ilog2", "b - a/ln n", FAMILIES[3], _read_ilog2, lambda n, a, b: b - a / np.log(n), 2),
    Model("pow3", "a - b n^-c", FAMILIES[6], _read_pow3, lambda n, a, b, c: a - b * n**-c),
    Model(
        "exp3",
        "a exp(-b n) + c",
        FAMILIES[7],
        _read_exp3,
        lambda n, a, b, c: a * np.exp(-b * n) + c,
    ),
    Model(
        "vap3",
        "exp(a + b/n + c ln n)",
        FAMILIES[8],
        _read_vap3,
        lambda n, a, b, c: np.exp(a + b / n + c * np.log(n)),
    ),
    Model(
        "expp3",
        "c - exp((n - b)^a)",
        FAMILIES[9],
        _read_expp3,
        lambda n, a, b, c: c - np.exp((n - b) ** a),
    ),
    Model(
        "expd3",
        "c - (c - a) exp(-b n)",
        FAMILIES[7],
        _read_expd3,
        lambda n, a, b, c: c - (c - a) * np.exp(-b * n),
    ),
    Model(
        "logpower3",
        "a/(1 + (n/e^b)^c)",
        FAMILIES[10],
        _read_logpower3,
        lambda n, a, b, c: a / (1.0 + np.exp(c * (np.log(n) - b))),
    ),
    Model(
        "mmf4",
        "(a b + c n^d)/(b + n^d)",
        FAMILIES[11],
        _read_mmf4,
        lambda n, a, b, c, d: (a * b + c * n**d) / (b + n**d),
    ),
    Model(
        "wbl4",
        "c - b exp(-a n^d)",
        FAMILIES[12],
        _read_wbl4,
        lambda n, a, b, c, d: c - b * np.exp(-a * n**d),
    ),
    Model(
        "exp4",
        "c - exp(-a n^d + b)",
        FAMILIES[13],
        _read_exp4,
        lambda n, a, b, c, d: c - np.exp(-a * n**d + b),
    ),
    Model(
        "pow4",
        "a - b (n + d)^-c",
        FAMILIES[14],
        _read_pow4,
        lambda n, a, b, c, d: a - b * (n + d) ** -c,
    ),
    Model(
        "janoschek4",
        "a - b exp(-c n^d)",
        FAMILIES[12],
        _read_janoschek4,
        lambda n, a, b, c, d: a - b * np.exp(-c * n**d),
    ),
)

_BY_NAME = {model.name: model for model in MODELS}

#: Models that are the same curves in other words stand together.
GROUPS: tuple[tuple[str, ...], ...] = (
    *((name,) for name in ("last1", "pow2", "log2", "exp2", "lin2", "ilog2", "pow3")),
    ("exp3", "expd3"),
    *((name,) for name in ("vap3", "expp3")),
    ("logpower3",),
    ("mmf4",),
    ("wbl4", "exp4", "janoschek4"),
    ("pow4",),
)


def model(name: str) -> Model:
    """Return the model of a name.

    Examples
    --------
    >>> model("pow3").formula
    'a - b n^-c'
    """
    return _BY_NAME[name]
