"""What a plan will cost: estimated time of cells, lengths of blocks, bytes on disk.

Estimates steer the order of work, the lengths of blocks and what is printed; no number of the
database depends on them. They hold within a factor of three for the datasets of the paper;
GSVC's, which depend on how classes overlap, within eight.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.unit import DRAWS, Unit
from lcdb_builders.planning.timing import Timing, Timings, timing_of
from lcdb_builders.planning.units import Subject
from lcdb_builders.storage.layout import Lengths

__all__ = [
    "BYTES_PER_CELL",
    "Terms",
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
# Packed bytes of a cell in all variables of its unit, measured on the demo cube (choices of tuned
# curves are small integers).
BYTES_PER_CELL = {"default": 11.0, "tuned": 14.0, DRAWS: 0.3}

# Microseconds of one core per cell, as a sum of terms times n (training rows), t (test rows),
# d (features), k (classes) and o (one-vs-rest problems: k, or 1 for two classes).
Terms = Mapping[str, float]
# Reference estimators: least squares over eight datasets (N = 150 to 4970), eight sizes each, both
# kinds of draws, two splits.
REFERENCE: Mapping[str, Terms] = {
    "NMC": {"": 110, "k": 23, "nd": 0.012, "tk": 0.11},
    "LDC": {"": 140, "k": 27, "nd": 0.013, "tk": 0.10, "td": 0.004},
    "QDC": {"": 46, "k": 88, "nd": 0.017, "tk": 0.15, "td": 0.018},
    "NNC": {"": 110, "tk": 0.02, "tnd": 0.0015},
    "LREG": {"": 240, "o": 320, "od": 14, "ndo": 0.06, "tk": 0.12},
    "LSVC": {"": 200, "o": 160, "od": 2.6, "ndo": 0.05, "tk": 0.11},
    "GSVC": {"": 200, "o": 79, "ndo": 0.25, "nno": 0.017, "tk": 0.17, "tn": 0.004},
    "DT": {"": 50, "n": 4.5, "nd": 0.65, "tk": 0.02},
    "RFOR": {"": 600, "nd": 15, "tk": 0.6},
    "ADAB": {"k": 1500, "n": 8.0, "nd": 2.7, "tk": 0.2},
    DRAWS: {"": 12, "n": 0.1},
}
# Kernels: what `lcdb bench` measures on the ten datasets of the paper with six ways of drawing, and
# `lcdb_builders.bench.terms` makes of it. Sizes of additive curves share work.
KERNEL: Mapping[str, Mapping[str, Terms]] = {
    "NMC": {"additive": {"k": 0.34, "tk": 0.005}, "fresh": {"k": 0.29, "tk": 0.0091, "nd": 0.0024}},
    "LDC": {
        "additive": {"k": 0.51, "tk": 0.0047, "ddk": 0.0052},
        "fresh": {
            "k": 0.34,
            "tk": 0.0079,
            "td": 3.3e-5,
            "nd": 0.0034,
            "dd": 0.0037,
            "ddk": 0.00028,
        },
    },
    "QDC": {
        "additive": {"k": 0.44, "tk": 0.0055, "tdk": 0.0004, "ddk": 0.011},
        "fresh": {"k": 0.49, "tk": 0.0059, "tdk": 0.0011, "nd": 0.0021, "dd": 0.017},
    },
    "NNC": {"additive": {"": 0.1, "t": 0.0022}, "fresh": {"t": 0.018, "tk": 0.00021}},
    "LREG": {
        "additive": {"o": 3.2, "ddo": 0.069, "tk": 0.0026},
        "fresh": {"o": 4.6, "ddo": 0.08, "nddo": 0.00025, "tk": 0.005, "tdo": 0.00056},
    },
    "LSVC": {
        "additive": {"o": 1.4, "do": 0.25, "ndo": 1.8e-5, "tk": 0.00051, "tdo": 0.00055},
        "fresh": {
            "o": 2.0,
            "ddo": 0.033,
            "nd": 0.00029,
            "ndo": 0.00086,
            "tk": 0.0064,
            "tdo": 0.00029,
        },
    },
    "GSVC": {
        "additive": {"o": 16.0, "tk": 0.0042},
        "fresh": {"no": 0.16, "nno": 0.00014, "tno": 0.0004},
    },
    "DT": {
        "additive": {"n": 0.038, "nd": 0.0055, "tk": 0.0073},
        "fresh": {"n": 0.04, "nd": 0.0047, "tk": 0.0076},
    },
    "RFOR": {
        "additive": {"n": 0.41, "nd": 0.027, "tk": 0.12},
        "fresh": {"n": 0.44, "nd": 0.024, "tk": 0.096},
    },
    "ADAB": {
        "additive": {"": 35.0, "nd": 0.029, "tk": 0.043},
        "fresh": {"": 31.0, "nd": 0.026, "d": 0.19, "tk": 0.045},
    },
}
# What a tuned cell costs, in untuned ones, where a kernel computes it: all values of a grid share
# one ensemble, or a path of machines.
TUNED: Mapping[str, float] = {
    "GSVC": 4.0,
    "DT": 9.0,
    "RFOR": 7.0,
    "ADAB": 1.9,
}
# What it costs where that is no multiple: untuned additive curves carry moments, a nearest row or a
# model from size to size, tuned cells of all but NNC start anew. Within a factor of two over four
# datasets and three ways of drawing; of NNC, where ties cost more than rows, of three.
TUNED_TERMS: Mapping[str, Terms] = {
    "NMC": {"": 12, "nk": 0.07},
    "LDC": {"": 12, "nk": 0.085},
    "QDC": {"": 14, "nk": 0.14},
    "NNC": {"": 4, "t": 0.2},
    "LREG": {"o": 45, "ndo": 0.055},
    "LSVC": {"o": 33, "ndo": 0.02},
}
# A scikit-learn class that nothing is known of.
UNKNOWN: Terms = {"": 3000, "nd": 1.0, "tk": 0.3}
# Parameters that cost is proportional to, and the values it was measured at.
PROPORTIONAL = {"RFOR": ("trees", 20), "ADAB": ("stumps", 100)}


def _terms(unit: Unit) -> Terms:
    """Return the terms of what computes a unit; what has no kernel costs what the reference does.

    Tuned curves of a learner without a ratio are computed by the reference, cell by cell.
    """
    by_kernel = unit.implementation.startswith("kernel-") and unit.learner in KERNEL
    if by_kernel and unit.tuning == "tuned" and unit.learner in TUNED_TERMS:
        return TUNED_TERMS[unit.learner]
    if by_kernel and (unit.tuning == "default" or unit.learner in TUNED):
        return KERNEL[unit.learner]["additive" if unit.sampling == "additive" else "fresh"]
    return REFERENCE.get(unit.learner, UNKNOWN)


def _times_tuned(unit: Unit) -> float:
    """Return what a tuned cell costs in untuned ones."""
    if unit.implementation.startswith("kernel-"):
        if unit.learner in TUNED_TERMS:
            return 1.0
        if unit.learner in TUNED:
            return TUNED[unit.learner]
    # One fit per value of the grid, and up to one more per metric on all rows.
    return len(json.loads(unit.tuning_rule)["grid"]) + 2.0


def term_values(
    n: np.ndarray, rows: int, features: int, classes: int, sampling: str, split: str
) -> Callable[[str], np.ndarray]:
    """Return what gives the values of a product, such as ``"tk"``, at training sizes n.

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
    m = largest_size(rows)
    if split == "varying":
        drawn = rows * (1 - 1 / rows) ** n if sampling == "bootstrap" else rows - n
        return np.asarray(drawn)
    return np.full(len(n), rows - m if split == "fixed" else m, float)


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
    total = np.zeros(len(n))
    for product, micros in () if timing else _terms(unit).items():
        total += micros * values(product)
    if timing is not None:
        total = 1e6 * timing.at(n)
    if unit.learner in PROPORTIONAL:
        name, measured = PROPORTIONAL[unit.learner]
        total *= unit.parameters.get(name, measured) / measured
    if unit.tuning == "tuned":
        total *= _times_tuned(unit)
    return total * 1e-6


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
