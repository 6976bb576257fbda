"""Training sizes and grids: the short forms that a plan has for long lists of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lcdb.errors import PlanError
from lcdb_builders.domain.sampling import largest_size

__all__ = ["SMALLEST_TUNED", "grid_values", "thinned", "training_sizes"]

# Below this size two validation rows would be more than a fifth of the training set.
SMALLEST_TUNED = 10


def training_sizes(rule: Any, rows: int) -> tuple[int, ...]:
    """Return the sizes n, ascending, that a plan's `sizes` means for a dataset of so many rows.

    Parameters
    ----------
    rule
        ``"all"``; a list of sizes (those above 0.7 N are left out); ``{"step": s}`` for 1, 1 + s,
        1 + 2s and so on, and the largest; ``{"log": count}`` for sizes evenly spaced on a log
        scale, or ``{"every": k, "log": count}`` for every n up to k and these from there on; or a
        list of such tables, of which the first with no ``up_to`` below N counts.
    rows
        N.

    Examples
    --------
    >>> training_sizes({"step": 40}, rows=150)
    (1, 41, 81, 105)
    >>> training_sizes({"log": 5}, rows=150)
    (1, 3, 10, 33, 105)
    >>> training_sizes({"every": 4, "log": 3}, rows=150)
    (1, 2, 3, 4, 20, 105)
    >>> training_sizes([{"up_to": 100, "step": 1}, {"list": [10, 100, 1000]}], rows=150)
    (10, 100)
    """
    top = largest_size(rows)
    if rule == "all":
        return tuple(range(1, top + 1))
    if isinstance(rule, list | tuple):
        if all(isinstance(entry, int) for entry in rule):
            rule = {"list": rule}
        else:
            fitting = [entry for entry in rule if rows <= _up_to(entry)]
            if not fitting:
                msg = f"sizes has no entry for {rows} rows; end it with one that has no up_to"
                raise PlanError(msg)
            rule = fitting[0]
    kinds = [kind for kind in ("step", "log", "list") if kind in rule]
    if len(kinds) != 1:
        msg = f"sizes has {dict(rule)}; expected exactly one of step, log and list"
        raise PlanError(msg)
    every = rule.get("every", 1)
    if every > 1 and kinds != ["log"]:
        msg = f"sizes has {dict(rule)}; expected 'every' beside 'log' alone"
        raise PlanError(msg)
    sizes = _BY_KIND[kinds[0]](rule[kinds[0]], top)
    if every > 1:
        sizes = sorted({*range(1, min(every, top) + 1), *_log(rule["log"], top, min(every, top))})
    if not sizes:
        msg = f"sizes leaves none for {rows} rows; expected at least one n from 1 to {top}"
        raise PlanError(msg)
    return tuple(sizes)


def _up_to(entry: Any) -> float:
    if not isinstance(entry, Mapping):
        msg = f"sizes mixes numbers and tables ({entry}); expected only one of the two"
        raise PlanError(msg)
    return entry.get("up_to", float("inf"))


def _steps(step: int, top: int) -> list[int]:
    return sorted({*range(1, top + 1, step), top})


def _log(count: int, top: int, first: int = 1) -> list[int]:
    ratio = top / first
    return sorted({round(first * ratio ** (i / (count - 1))) for i in range(count)})


def thinned(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    """Return some of the sizes, about evenly spaced on a log scale, the ends among them.

    Examples
    --------
    >>> thinned(range(10, 106), 5)
    (10, 18, 32, 58, 105)
    """
    if len(sizes) <= count:
        return tuple(sizes)
    wanted = _log(count, sizes[-1], sizes[0])
    return tuple(sorted({min(sizes, key=lambda n: (abs(n - one), n)) for one in wanted}))


def _listed(sizes: list[int], top: int) -> list[int]:
    return sorted({n for n in sizes if n <= top})


_BY_KIND: dict[str, Callable[[Any, int], list[int]]] = {
    "step": _steps,
    "log": _log,
    "list": _listed,
}


def grid_values(rule: Mapping[str, Any], where: str) -> list[Any]:
    """Return the values of a grid: listed, log-spaced, or rounded to integers.

    Numbers are rounded to twelve digits: powers differ in their last bits between machines, and
    the keys of blocks must not.

    Examples
    --------
    >>> grid_values({"log": [1e-8, 1e-1], "count": 8}, "")[:3]
    [1e-08, 1e-07, 1e-06]
    >>> grid_values({"integers": [1, 100]}, "")[:4]
    [1, 6, 11, 17]
    """
    kinds = [kind for kind in ("values", "log", "integers") if kind in rule]
    if len(kinds) != 1:
        msg = f"{where} has {sorted(rule)}; expected exactly one of values, log and integers"
        raise PlanError(msg)
    if kinds == ["values"]:
        return [_twelve_digits(value) for value in rule["values"]]
    low, high = rule[kinds[0]]
    if not low < high:
        msg = f"{where}.{kinds[0]} is [{low}, {high}]; expected the smaller end first"
        raise PlanError(msg)
    count = rule.get("count", 20)
    if kinds == ["log"]:
        return [_twelve_digits(float(value)) for value in np.geomspace(low, high, count)]
    return sorted({int(value) for value in np.round(np.linspace(low, high, count))})


def _twelve_digits(value: Any) -> Any:
    return float(f"{value:.12g}") if isinstance(value, float) else value
