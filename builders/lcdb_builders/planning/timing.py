"""What a cell of a classifier from elsewhere takes: a few of them are computed and timed.

Nothing is known of such a classifier beforehand. Cells at three sizes, of each split, are computed
as a block computes them, before the lengths of its blocks are planned. No number of a database
depends on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners.base import Learner

__all__ = ["Timing", "Timings", "time_cells", "timed_sizes", "timing_key", "timing_of"]

# Below this size a classifier may fail at once, or have one class only.
_SMALLEST = 10
# Seconds that are spent on a size, if cells are that short, and most repetitions.
_SECONDS, _MOST = 0.2, 20
# A cell that takes longer than this is the last that is timed.
_LONG = 20.0


@dataclass(frozen=True)
class Timing:
    """Seconds of a cell at some sizes.

    Parameters
    ----------
    sizes
        Training sizes, ascending.
    seconds
        Of a cell at each of them.

    Examples
    --------
    >>> Timing((10, 100), (1.0, 2.0)).at(np.array([1.0, 55.0, 200.0])).round(2).tolist()
    [1.0, 1.5, 4.0]
    """

    sizes: tuple[int, ...]
    seconds: tuple[float, ...]

    def at(self, n: np.ndarray) -> np.ndarray:
        """Return seconds at sizes n: straight lines between those timed, beyond the last a line."""
        inside = np.interp(n, self.sizes, self.seconds)
        last, seconds = self.sizes[-1], self.seconds[-1]
        return np.where(n > last, seconds * n / last, inside)


#: By what `timing_key` returns.
Timings = Mapping[tuple[str, ...], Timing]


def timing_key(unit: Unit) -> tuple[str, ...]:
    """Return what a cell's time depends on, besides its size: units that differ else share it."""
    return unit.dataset, unit.learner, unit.estimator, unit.params, unit.implementation, unit.split


def timing_of(timings: Timings, unit: Unit) -> Timing | None:
    """Return the timing of a unit, if it was timed."""
    return timings.get(timing_key(unit)) if unit.estimator else None


def timed_sizes(sizes: tuple[int, ...]) -> list[int]:
    """Return three of the sizes: a small one, the largest, and one between them.

    Examples
    --------
    >>> timed_sizes(tuple(range(1, 106)))
    [10, 32, 105]
    >>> timed_sizes((4, 5))
    [5]
    """
    usual = [n for n in sizes if n >= _SMALLEST] or [sizes[-1]]
    middle = math.sqrt(usual[0] * usual[-1])
    between = min(usual, key=lambda n: abs(n - middle))
    return sorted({usual[0], between, usual[-1]})


def time_cells(learner: Learner, snapshot: Snapshot, unit: Unit) -> Timing:
    """Return how long untuned cells of a unit take.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what, where.
    """
    unit = replace(unit, tuning="default", tuning_rule="")

    def run(n: int, first: int, count: int) -> float:
        started = time.perf_counter()
        learner.block(snapshot, Block(unit, (n,), first, first + count), (unit.split,))
        return (time.perf_counter() - started) / count

    run(timed_sizes(unit.sizes)[0], 0, 1)  # what is slow the first time
    sizes, seconds = [], []
    for n in timed_sizes(unit.sizes):
        once = run(n, 0, 1)
        count = min(_MOST, int(_SECONDS / max(once, 1e-9)))
        sizes.append(n)
        seconds.append(run(n, 1, count) if count > 1 else once)
        if once > _LONG:
            break
    return Timing(tuple(sizes), tuple(seconds))
