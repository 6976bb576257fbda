"""What a plan will cost: estimated time of cells, lengths of blocks, bytes on disk.

Estimates steer the order of work, the lengths of blocks and what is printed; no number of the
database depends on them. They hold within a factor of three for the datasets of the paper;
GSVC's, which depend on how classes overlap, within eight.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from lcdb.errors import LCDBError
from lcdb.schema import SAMPLINGS
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.unit import DRAWS, Unit
from lcdb_builders.learners import registry
from lcdb_builders.learners.costing import Cost, Terms
from lcdb_builders.planning.timing import Timing, Timings, timing_of
from lcdb_builders.planning.units import Subject
from lcdb_builders.storage.layout import Lengths

__all__ = [
    "BYTES_PER_CELL",
    "block_lengths",
    "cell_seconds",
    "count_blocks",
    "stretch",
    "term_values",
    "unit_seconds",
]

NO_TIMINGS: Timings = {}
# Seconds that a block aims at, and how many blocks a plan may have in all.
BLOCK_SECONDS = 60.0
MOST_BLOCKS = 50_000
# Lengths of blocks in repetitions: round ones, so that a database grows along its old grid.
ROUND = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
# Cube bytes of a cell in all variables of its unit, measured on the demo cube (choices of tuned
# curves are small integers).
BYTES_PER_CELL = {"default": 11.0, "tuned": 14.0, DRAWS: 0.3}

# What the draws of a cell cost.
DRAWS_COST = Cost(reference={"": 12, "n": 0.1})


@cache
def _declared(learner: str) -> Cost:
    """Return the cost that a learner declares; one that is not installed may cost anything."""
    try:
        return registry.get(learner).cost
    except LCDBError:
        return Cost()


def _cost(unit: Unit) -> Cost:
    if unit.learner == DRAWS:
        return DRAWS_COST
    return Cost() if unit.estimator else _declared(unit.learner)


def _terms(unit: Unit) -> tuple[Terms, float]:
    """Return the terms of what computes a unit, and how many such cells one of its cells costs.

    What has no kernel costs what the reference does: one fit per value of a grid, and up to one
    more per metric on all rows.
    """
    cost, is_tuned = _cost(unit), unit.tuning == "tuned"
    kernel = cost.additive if unit.sampling == "additive" else cost.fresh
    if unit.implementation.startswith("kernel-") and kernel is not None:
        if not is_tuned:
            return kernel, 1.0
        if cost.tuned is not None:
            return cost.tuned, 1.0
        if cost.tuned_ratio is not None:
            return kernel, cost.tuned_ratio
    return cost.reference, len(json.loads(unit.tuning_rule)["grid"]) + 2.0 if is_tuned else 1.0


def term_values(
    n: np.ndarray, rows: int, features: int, classes: int, sampling: str, split: str
) -> Callable[[str], np.ndarray]:
    """Return what gives the values of a product, such as ``"tk"``, at training sizes n.

    Parameters
    ----------
    n
        Training sizes.
    rows, features, classes
        Of the dataset.
    sampling, split
        Labels of the curve, which decide how many rows are for testing.

    Examples
    --------
    >>> term_values(np.array([1.0, 7.0]), 10, 4, 3, "random", "varying")("tk")
    array([27.,  9.])
    """
    values: dict[str, Any] = {
        "n": n,
        "t": _test_rows(rows, n, sampling, split),
        "d": features,
        "k": classes,
        "o": classes if classes > 2 else 1,
    }
    return lambda product: (
        np.ones(len(n)) * math.prod((values[letter] for letter in product), start=1.0)
    )


def _test_rows(rows: int, n: np.ndarray, sampling: str, split: str) -> np.ndarray:
    """Return the expected number of test rows at each size."""
    m = largest_size(rows)
    if split == "fixed":
        return np.full(len(n), rows - m, float)
    if split == "pool":
        return np.full(len(n), m, float)
    if split == "varying" and sampling == "bootstrap":
        return np.asarray(rows * (1 - 1 / rows) ** n)
    if split == "varying" and sampling in SAMPLINGS:
        return np.asarray(rows - n)
    msg = f"no test rows are known of sampling {sampling!r} and split {split!r}"
    raise ValueError(msg)


def cell_seconds(unit: Unit, dataset: Subject, timing: Timing | None = None) -> np.ndarray:
    """Return the estimated time of one repetition at every size of a unit.

    Parameters
    ----------
    unit, dataset
        What is computed.
    timing
        What cells of its classifier from elsewhere took, where they were timed.

    Examples
    --------
    >>> from lcdb_builders.sources import expected
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (10, 100))
    >>> bool((cell_seconds(unit, expected()["61"]) > 1e-4).all())
    True
    """
    n = np.array(unit.sizes, float)
    shape = (dataset.rows, dataset.features, dataset.classes)
    values = term_values(n, *shape, unit.sampling, unit.split)
    terms, times = _terms(unit)
    total = np.zeros(len(n))
    for product, micros in () if timing else terms.items():
        total += micros * values(product)
    if timing is not None:
        total = 1e6 * timing.at(n)
    proportional = _cost(unit).proportional
    if proportional is not None:
        name, measured = proportional
        total *= unit.parameters.get(name, measured) / measured
    return total * times * 1e-6


@lru_cache(maxsize=100_000)
def _repetition_seconds(unit: Unit, dataset: Subject, timing: Timing | None) -> float:
    return float(cell_seconds(unit, dataset, timing).sum())


def unit_seconds(
    unit: Unit, dataset: Subject, repetitions: int, timing: Timing | None = None
) -> float:
    """Return the estimated time of a unit on one core."""
    return _repetition_seconds(unit, dataset, timing) * repetitions


def count_blocks(unit: Unit, lengths: Lengths, repetitions: int) -> int:
    """Return the number of blocks of a unit.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> count_blocks(unit, Lengths(sizes=2, repetitions=10), repetitions=25)
    6
    """
    return math.ceil(len(unit.sizes) / lengths.sizes) * math.ceil(repetitions / lengths.repetitions)


def stretch(
    units: Iterable[tuple[Unit, Subject]], repetitions: int, timings: Timings = NO_TIMINGS
) -> float:
    """Return how much longer than a minute blocks of a plan must be to be few enough."""
    units = list(units)
    factor = 1.0
    while factor < 1e6:
        lengths = [
            (unit, block_lengths(unit, dataset, factor, timing_of(timings, unit)))
            for unit, dataset in units
        ]
        if sum(count_blocks(*pair, repetitions) for pair in lengths) <= MOST_BLOCKS:
            break
        factor *= 1.25
    return factor


def block_lengths(
    unit: Unit,
    dataset: Subject,
    factor: float = 1.0,
    timing: Timing | None = None,
    timeout: float | None = None,
) -> Lengths:
    """Return lengths of a unit's blocks that take about a minute.

    Parameters
    ----------
    unit, dataset
        What is computed.
    factor
        How much longer than a minute, see `stretch`.
    timing
        What cells of its classifier from elsewhere took, where they were timed.
    timeout
        Seconds that a block may take: it aims at no more than a third.

    Examples
    --------
    >>> from lcdb_builders.sources import expected
    >>> unit = Unit("61", "ab", 1, "RFOR", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", tuple(range(1, 106)))
    >>> block_lengths(unit, expected()["61"])
    Lengths(sizes=105, repetitions=100)
    """
    wanted = BLOCK_SECONDS * factor
    if timeout is not None:
        wanted = min(wanted, timeout / 3)
    once = max(_repetition_seconds(unit, dataset, timing), 1e-9)
    if once > 1.5 * wanted:
        # The dearest cells stand together, at the end: they decide how many make a block.
        dearest = float(cell_seconds(unit, dataset, timing).max())
        runs = math.ceil(once / wanted)
        fair = math.ceil(len(unit.sizes) / runs)
        return Lengths(sizes=max(1, min(fair, int(2 * wanted / dearest))), repetitions=1)
    fitting = [length for length in ROUND if length * once <= 1.25 * wanted]
    return Lengths(sizes=len(unit.sizes), repetitions=max(fitting, default=1))
