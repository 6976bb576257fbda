"""What is to be done, in which order: pure functions of what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from lcdb_builders.domain.part import Part
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.planning.cost import NO_TIMINGS, cell_seconds
from lcdb_builders.planning.timing import Timings, timing_of
from lcdb_builders.planning.units import Subject

__all__ = ["Costs", "Job", "order", "overlap", "pair"]

# Jobs are of like length if none is shorter than this share of the longest: among those, builders
# that start together begin at different places.
LIKE = 0.8


@dataclass(frozen=True)
class Job:
    """What a worker does in one piece.

    Parameters
    ----------
    block
        The block; of a pair that of ``fixed``.
    splits
        Its split, or ``("fixed", "pool")``: two blocks from one fit per cell. None for trials.
    """

    block: Block
    splits: tuple[str, ...]

    @property
    def blocks(self) -> list[Block]:
        """The blocks that come of it."""
        return [self.block.with_split(split) for split in self.splits] or [self.block]

    @property
    def cells(self) -> int:
        """Number of cells in its blocks, as a plan counts them: draws alone fit nothing."""
        return 0 if self.block.unit.is_draws else self.block.cells * len(self.blocks)

    @property
    def dataset(self) -> str:
        """Id of the dataset."""
        return self.block.unit.dataset


def pair(blocks: Iterable[Block]) -> list[Job]:
    """Return jobs for blocks: those of fixed and pool that share their fits become one job.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3))
    >>> blocks = [Block(unit.with_split(s), (1, 2, 3), 0, 5) for s in ("pool", "varying", "fixed")]
    >>> [job.splits for job in pair(blocks)]
    [('varying',), ('fixed', 'pool')]
    """
    jobs: list[Job] = []
    shared: dict[str, list[Block]] = {}
    for block in blocks:
        if isinstance(block.unit, Part):
            jobs.append(Job(block, ()))
        elif block.unit.split in ("fixed", "pool"):
            shared.setdefault(block.with_split("fixed").key, []).append(block)
        else:
            jobs.append(Job(block, (block.unit.split,)))
    for pairable in shared.values():
        splits = tuple(sorted(block.unit.split for block in pairable))
        jobs.append(Job(pairable[0].with_split(splits[0]), splits))
    return jobs


def overlap(one: Block, other: Block) -> bool:
    """Return whether two blocks of one unit share cells.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3, 4))
    >>> block = Block(unit, (1, 2), 0, 10)
    >>> overlap(block, Block(unit, (2, 3), 9, 20)), overlap(block, Block(unit, (3, 4), 0, 10))
    (True, False)
    """
    sizes = one.sizes[0] <= other.sizes[-1] and other.sizes[0] <= one.sizes[-1]
    return sizes and one.first < other.stop and other.first < one.stop


class Costs:
    """Estimated seconds of jobs on one core.

    Parameters
    ----------
    datasets
        Snapshots by id.
    timings
        What cells of classifiers from elsewhere took.
    """

    def __init__(self, datasets: Mapping[str, Subject], timings: Timings = NO_TIMINGS) -> None:
        self._datasets = datasets
        self._timings = timings
        self._by_unit: dict[Unit, np.ndarray] = {}

    def __call__(self, job: Job) -> float:
        """Return the seconds of a job; a test set more costs little beside the fits."""
        unit = job.block.unit
        if unit not in self._by_unit:
            timing = timing_of(self._timings, unit)
            self._by_unit[unit] = cell_seconds(unit, self._datasets[unit.dataset], timing)
        start, end = np.searchsorted(unit.sizes, [job.block.sizes[0], job.block.sizes[-1] + 1])
        return float(self._by_unit[unit][start:end].sum()) * len(job.block.repetitions)


def order(jobs: Iterable[Job], costs: Callable[[Job], float], start: int = 0) -> list[Job]:
    """Return jobs in the order of work: dataset by dataset, in each the longest first.

    Datasets that take longest come first, so that the last jobs of all are short ones and
    workers finish together; cubes of finished datasets are packed meanwhile.

    Parameters
    ----------
    jobs
        What is to be done.
    costs
        What it takes.
    start
        Another number for every builder: jobs of like length are begun at another place.
    """
    by_dataset: dict[str, list[tuple[float, Job]]] = {}
    for job in jobs:
        by_dataset.setdefault(job.dataset, []).append((costs(job), job))
    ordered: list[Job] = []
    largest = sorted(by_dataset, key=lambda d: (-sum(c for c, _ in by_dataset[d]), d))
    for dataset in largest:
        ranked = sorted(by_dataset[dataset], key=lambda entry: (-entry[0], entry[1].block.key))
        while ranked:
            shortest = LIKE * ranked[0][0]
            like = [job for cost, job in ranked if cost >= shortest]
            ranked = ranked[len(like) :]
            turn = start % len(like)
            ordered += like[turn:] + like[:turn]
    return ordered
