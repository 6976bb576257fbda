"""Microseconds per cell of the learners of the database."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from lcdb_builders.bench.cases import Effort
from lcdb_builders.bench.clock import best_seconds
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners import registry

__all__ = ["cell_micros", "growth"]

# Repetitions of one timed block.
MOST_REPETITIONS = 1000


def cell_micros(unit: Unit, snapshot: Snapshot, effort: Effort) -> float:
    """Return microseconds of one core per cell: fit, scores and four metrics, mean over sizes.

    What a block does once (sorted neighbours, machines of the whole pool) is left out: real blocks
    hold so many cells that it does not count. Tuned cells are always the same ones.

    Parameters
    ----------
    unit
        What to compute, at which sizes.
    snapshot
        Its dataset.
    effort
        How long it may take.
    """
    learner = registry.for_unit(unit)

    def block(sizes: tuple[int, ...], repetitions: int) -> Callable[[], object]:
        asked = Block(unit, sizes, 0, repetitions)
        return lambda: learner.block(snapshot, asked, (unit.split,))

    least = block(unit.sizes[:1], 1)
    least()  # compiled, loaded, and sorted once
    once = best_seconds(least, effort.seconds / 10)
    aim = effort.seconds / 3
    is_tuned = unit.tuning == "tuned"
    repetitions = effort.tuned_repetitions if is_tuned else 1
    took = best_seconds(block(unit.sizes, repetitions), 0.0)
    while not is_tuned and took < aim / 2 and repetitions < MOST_REPETITIONS:
        faster = math.ceil(repetitions * aim / max(took, 1e-5))
        repetitions = min(MOST_REPETITIONS, max(2 * repetitions, min(faster, 20 * repetitions)))
        took = best_seconds(block(unit.sizes, repetitions), 0.0)
    if took < aim:
        took = min(took, best_seconds(block(unit.sizes, repetitions), effort.seconds - took))
    cells = len(unit.sizes) * repetitions
    if cells == 1:
        return 1e6 * took
    return 1e6 * max(took - once, 0.05 * took) / (cells - 1)


def growth(unit: Unit, snapshot: Snapshot, effort: Effort) -> float:
    """Return the exponent with which the cost of a cell grows in n, from m / 4 to m.

    Parameters
    ----------
    unit
        Of fresh draws; its sizes do not matter.
    snapshot, effort
        As for `cell_micros`.
    """
    m = largest_size(snapshot.rows)
    small = max(m // 4, 10)
    costs = [cell_micros(replace(unit, sizes=(n,)), snapshot, effort) for n in (small, m)]
    return math.log(costs[1] / costs[0]) / math.log(m / small)
