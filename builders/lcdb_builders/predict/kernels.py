"""What kernels say of rows, a run of cells at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from lcdb.schema import METRICS
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.kept import Kept, bytes_of_cell, keep
from lcdb_builders.reference.cell import Answers
from lcdb_builders.reference.metrics import CellScores

__all__ = ["KernelAnswers", "answers_of", "runs"]

#: Bytes that a run of cells may take while it is computed, beside what is returned of it.
MOST_BYTES = 2**26


@dataclass(frozen=True)
class KernelAnswers:
    """What kernels said in a run of cells.

    Parameters
    ----------
    kept
        What was computed.
    learner, snapshot
        By whom, of what.
    """

    kept: Kept
    learner: Learner
    snapshot: Snapshot

    @cached_property
    def _place(self) -> np.ndarray:
        place = np.full(self.snapshot.rows, -1)
        place[self.kept.rows] = np.arange(len(self.kept.rows))
        return place

    def numbers(self, i: int, j: int) -> CellScores:
        """Return the metrics of a cell on its test rows, in double precision."""
        accuracy, auc, brier, cross_entropy, clipped = self.kept.numbers[i, j].tolist()
        return CellScores(accuracy, auc, brier, cross_entropy, int(clipped))

    def metric(self, name: str) -> np.ndarray:
        """Return one of the metrics of all cells, (sizes, repetitions)."""
        return self.kept.numbers[..., list(METRICS).index(name)]

    def choices(self, metric: str) -> np.ndarray:
        """Return the index of the grid value that a metric has chosen in each tuned cell."""
        return self.kept.choices[..., list(METRICS).index(metric)]

    def answers(self, i: int, j: int, rows: np.ndarray, *, of_test: bool) -> Answers:
        """Return what was said of rows in a cell; `of_test` says that they are its test rows."""
        there = self._place[rows]
        return Answers(
            self.snapshot.y[rows],
            None,
            self.kept.probability[i, j][:, there].T,
            self.learner.ranking,
            label=self.kept.label[i, j, there].astype(np.int64),
            ranks=self.kept.ranks[i, j][:, there].T,
            numbers=self.numbers(i, j) if of_test else None,
        )


def answers_of(
    learner: Learner,
    snapshot: Snapshot,
    unit: Unit,
    sizes: Sequence[int],
    repetitions: Sequence[int],
    *,
    only_test: bool,
    chosen_by: str = "accuracy",
) -> KernelAnswers | None:
    """Return what kernels say in a run of cells; None where there are no kernels.

    Parameters
    ----------
    learner, snapshot, unit
        Who learns what.
    sizes, repetitions
        Which cells: ascending sizes, repetitions without a gap.
    only_test
        Whether nothing but test rows is asked about.
    chosen_by
        Of tuned cells: the metric whose choice answers.
    """
    block = Block(unit, tuple(sizes), repetitions[0], repetitions[-1] + 1)
    constant = only_test and unit.split != "varying"
    rows = None if constant else np.arange(snapshot.rows)
    kept = keep(learner, snapshot, block, rows, chosen_by)
    return None if kept is None else KernelAnswers(kept, learner, snapshot)


def runs(
    snapshot: Snapshot, sizes: int, repetitions: Sequence[int]
) -> Iterator[tuple[slice, slice]]:
    """Divide cells into runs that take little memory: all sizes of some repetitions if they can.

    Parameters
    ----------
    snapshot
        The dataset.
    sizes
        How many sizes there are.
    repetitions
        Which repetitions, ascending; runs of them have no gaps.

    Yields
    ------
    sizes, repetitions
        Places among both.
    """
    cells = max(1, MOST_BYTES // bytes_of_cell(snapshot, snapshot.rows))
    gaps = np.flatnonzero(np.diff(repetitions) != 1) + 1
    limits = [0, *gaps.tolist(), len(repetitions)]
    for begin, end in pairwise(limits):
        step = max(1, cells // sizes)
        for first in range(begin, end, step):
            some = slice(first, min(first + step, end))
            for start in range(0, sizes, cells):
                yield slice(start, min(start + cells, sizes)), some
