"""Models of curves fitted the slow way: many random starts of a general least-squares solver."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import least_squares

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
            return [one, 1 / (1 + np.exp(np.exp(u[1]) * (np.log(n) - u[0])))]
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
    columns = shapes(name, n, u)
    if not all(np.isfinite(column).all() and abs(column).max() < 1e100 for column in columns):
        return np.full(len(n), 1e3)
    if name == "expp3":
        rest = y - columns[1]
        return rest - rest.mean()
    matrix = np.stack(columns, axis=1)
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1
    solution = np.linalg.lstsq(matrix / scale, y, rcond=None)[0]
    wrong = (name == "vap3" and solution[0] < 0) or (name == "exp4" and solution[1] > 0)
    if wrong:
        return y - (0 if name == "vap3" else y.mean())
    return y - matrix @ (solution / scale)


def best_loss(name, n, y, restarts, rng):
    """Return the smallest loss of so many random starts."""
    edges = np.array(box(name, n), float).reshape(-1, 2)
    if not len(edges):
        return float(np.sum(_rest(name, n, y, ()) ** 2))
    best = np.inf
    for _ in range(restarts):
        start = rng.uniform(edges[:, 0], edges[:, 1])
        result = least_squares(
            lambda u: _rest(name, n, y, u),
            start,
            bounds=edges.T,
            max_nfev=200,
            xtol=1e-12,
            ftol=1e-12,
        )
        best = min(best, 2 * result.cost)
    return best
