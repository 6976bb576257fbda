"""Models of curves fitted the slow way: many random starts of a general least-squares solver."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import least_squares
from scipy.special import expit

FORMULAS = {
    "last1": lambda n, a: a + 0 * n,
    "pow2": lambda n, a, b: a * n**-b,
    "log2": lambda n, a, b: a * np.log(n) + b,
    "exp2": lambda n, a, b: a * np.exp(-b * n),
    "lin2": lambda n, a, b: a * n + b,
    "ilog2": lambda n, a, b: b - a / np.log(n),
    "pow3": lambda n, a, b, c: a - b * n**-c,
    "exp3": lambda n, a, b, c: a * np.exp(-b * n) + c,
    "vap3": lambda n, a, b, c: np.exp(a + b / n + c * np.log(n)),
    "expp3": lambda n, a, b, c: c - np.exp((n - b) ** a),
    "expd3": lambda n, a, b, c: c - (c - a) * np.exp(-b * n),
    "logpower3": lambda n, a, b, c: a / (1 + (n / np.exp(b)) ** c),
    "mmf4": lambda n, a, b, c, d: (a * b + c * n**d) / (b + n**d),
    "wbl4": lambda n, a, b, c, d: c - b * np.exp(-a * n**d),
    "exp4": lambda n, a, b, c, d: c - np.exp(-a * n**d + b),
    "pow4": lambda n, a, b, c, d: a - b * (n + d) ** -c,
    "janoschek4": lambda n, a, b, c, d: a - b * np.exp(-c * n**d),
}

#: Models without a constant that is added.
ALONE = ("last1", "pow2", "exp2", "vap3", "logpower3")


def shapes(name, n, u):
    """Return the columns whose linear combinations the model is, at searched parameters u."""
    one = np.ones_like(n)
    x, y = n / n[0], n / n[-1]
    middle = math.sqrt(n[0] * n[-1])
    with np.errstate(all="ignore"):
        if name == "last1":
            return [one]
        if name == "log2":
            return [one, np.log(n)]
        if name == "lin2":
            return [one, n]
        if name == "ilog2":
            return [one, 1 / np.log(n)]
        if name == "pow2":
            return [x ** -u[0]]
        if name == "exp2":
            return [np.exp(-np.sinh(u[0]) * (y - y[0]))]
        if name == "pow3":
            return [one, x ** -np.exp(u[0])]
        if name in ("exp3", "expd3"):
            return [one, np.exp(-np.exp(u[0]) * (y - y[0]))]
        if name == "vap3":
            log = np.sinh(u[0]) / x + np.sinh(u[1]) / 20 * np.log(n)
            return [np.exp(log - max(log[0], log[-1]))]
        if name == "expp3":
            return [one, -np.exp((n - n[0] + np.exp(u[1])) ** np.sinh(u[0]))]
        if name == "logpower3":
            return [1 / (1 + np.exp(np.sinh(u[1]) / 20 * (np.log(n) - u[0])))]
        if name == "mmf4":
            z = np.exp(u[1]) * (np.log(n) - u[0])
            # On the flank below the middle 1 is what all values have in common.
            return [one, -expit(z) if z[-1] < 0 else expit(-z)]
        if name in ("wbl4", "exp4", "janoschek4"):
            power = np.exp(u[0]) * (n / middle) ** np.exp(u[1])
            return [one, np.exp(power[0] - power)]
        if name == "pow4":
            return [one, (1 + (n - n[0]) / np.exp(u[1])) ** -np.exp(u[0])]
    raise ValueError(name)


def box(name, n):
    """Return the box of u, as the documentation of the models has it."""
    first, last = n[0], n[-1]
    second = n[1] if len(n) > 1 else 2 * first
    fastest = max(1, min(40 * last / (second - first), 600 * last / first))
    place = (math.log(first) - 3, math.log(last) + 3)
    start = (math.log(first / 100), math.log(100 * last))
    stretched = [(-12, 6), (math.log(0.05), math.log(10))]
    return {
        "pow2": [(-5, 20)],
        "exp2": [(math.asinh(-20), math.asinh(fastest))],
        "pow3": [(math.log(1e-3), math.log(20))],
        "exp3": [(math.log(1e-3), math.log(fastest))],
        "expd3": [(math.log(1e-3), math.log(fastest))],
        "vap3": [(math.asinh(-50), math.asinh(50)), (math.asinh(-200), math.asinh(200))],
        "expp3": [(math.asinh(-10), math.asinh(1.5)), start],
        "logpower3": [place, (math.asinh(-400), math.asinh(400))],
        "mmf4": [place, (math.log(0.05), math.log(20))],
        "wbl4": stretched,
        "exp4": stretched,
        "janoschek4": stretched,
        "pow4": [(math.log(1e-3), math.log(20)), start],
    }.get(name, [])


def _rest(name, n, y, u):
    """Return the residuals of the best linear combination, or huge ones where it overflows."""
    shape = shapes(name, n, u)[-1]
    largest = abs(shape).max()
    if not largest < 1e100:
        return np.full(len(n), 1e3)
    if name == "expp3":
        rest = y - shape
        return rest - rest.mean()
    shape = shape / (largest or 1.0)
    if name not in ALONE:
        shape, y = shape - shape.mean(), y - y.mean()
    factor = shape @ y / (shape @ shape or 1.0)
    wrong = (name == "vap3" and factor < 0) or (name == "exp4" and factor > 0)
    return y if wrong else y - factor * shape


def _search(name, n, y, edges, start):
    """Return loss and place after a search from a random start, until it has some digits.

    On sines, which keep it in the box, a solver without bounds is several times as fast; where
    the loss has cliffs it gets stuck more often than one with bounds.
    """
    if name in ("expp3", "logpower3") or len(n) < len(edges):
        rough = {"bounds": edges.T, "xtol": 1e-6, "ftol": 1e-6, "max_nfev": 200}
        end = least_squares(lambda u: _rest(name, n, y, u), start, **rough)
        return end.cost, end.x
    middle, half = edges.mean(axis=1), np.ptp(edges, axis=1) / 2
    end = least_squares(
        lambda angle: _rest(name, n, y, middle + half * np.sin(angle)),
        np.arcsin((start - middle) / half),
        method="lm",
        xtol=1e-4,
        ftol=1e-4,
        max_nfev=200,
    )
    return end.cost, np.clip(middle + half * np.sin(end.x), edges[:, 0], edges[:, 1])


def best_loss(name, n, y, restarts, rng):
    """Return the smallest loss of so many random starts.

    The best three places that they come to are searched to the last digit.
    """
    edges = np.array(box(name, n), float).reshape(-1, 2)
    if not len(edges):
        return float(np.sum(_rest(name, n, y, ()) ** 2))
    starts = rng.uniform(edges[:, 0], edges[:, 1], (restarts, len(edges)))
    ends = sorted((_search(name, n, y, edges, start) for start in starts), key=lambda end: end[0])
    places = []
    for _, end in ends:
        if all((abs(end - place) > 5e-4 * np.ptp(edges, axis=1)).any() for place in places):
            places.append(end)
    fine = {"bounds": edges.T, "max_nfev": 200, "xtol": 1e-12, "ftol": 1e-12}
    return min(
        2 * least_squares(lambda u: _rest(name, n, y, u), place, **fine).cost
        for place in places[:3]
    )
