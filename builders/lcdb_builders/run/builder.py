"""The two halves of a build: blocks are computed, and finished cubes packed beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lcdb_builders.domain.unit import digest
from lcdb_builders.run.alongside import Compilation
from lcdb_builders.run.ending import failed, look_for_values
from lcdb_builders.run.engine import Engine, Tally
from lcdb_builders.run.jobs import Job, order, overlap, pair
from lcdb_builders.run.packing import Packer
from lcdb_builders.run.pool import Pool
from lcdb_builders.run.progress import Counted, Progress
from lcdb_builders.run.signals import Stop
from lcdb_builders.run.work import Work
from lcdb_builders.storage.journal import Claims, Failure, Journal
from lcdb_builders.storage.packed import Cube
from lcdb_builders.storage.presence import Presence
from lcdb_builders.storage.process import this_process

__all__ = ["Builder", "Report", "start"]


@dataclass(frozen=True)
class Report:
    """What a build did.

    Parameters
    ----------
    computed
        Blocks that were computed and published.
    duplicates
        Blocks that were computed although another builder had published them meanwhile.
    elsewhere
        Blocks that other builders computed while this one ran.
    failures
        Blocks that failed or timed out, in this build or before.
    cubes
        By dataset.
    """

    computed: int
    duplicates: int
    elsewhere: int
    failures: tuple[Failure, ...]
    cubes: dict[str, Cube]


def start() -> int:
    """Return where this builder starts among jobs of like length."""
    return int(digest(this_process())[:8], 16)


class Builder:
    """The two halves of a build: computing, and packing beside it."""

    def __init__(
        self,
        work: Work,
        journal: Journal,
        costs: Callable[[Job], float],
        stop: Stop,
        display: Progress,
        claims: Claims,
    ) -> None:
        """Get ready to build.

        Parameters
        ----------
        work
            What there is to do.
        journal, claims
            Where results go, and who computes which blocks.
        costs
            Returns about how many seconds a job takes.
        stop, display
            Who says that it is to end, and who hears how far it is.
        """
        self.work = work
        self.journal = journal
        self.claims = claims
        self.costs = costs
        self.stop = stop
        self.display = display
        self.tally = Tally()
        self._tell_notes()
        self.presence = Presence(work.root, work.repetitions)
        self.packer = Packer(work.root, work.repetitions)
        self._handed: set[str] = set()

    def compute(
        self, jobs: Sequence[Job], pool: Pool, compilation: Compilation | None = None
    ) -> None:
        """Compute what is missing; datasets that are finished are packed meanwhile.

        Parameters
        ----------
        jobs
            What is missing, in the order of work.
        pool
            The workers.
        compilation
            What of their kernels workers are to compile beforehand.
        """
        compilation = compilation or Compilation({})
        engine = Engine(
            pool=pool,
            journal=self.journal,
            settings=self.work.settings,
            costs=self.costs,
            stop=self.stop,
            progress=Counted(self.display, self.presence.advance),
            finished=self._finished,
            watch=self._watch,
            tally=self.tally,
            compilation=compilation,
        )
        cells = sum(job.cells for job in jobs)
        # Compiling is a part of the cost, or else the time that is left would be told too long.
        self.display.begin(sum(map(self.costs, jobs)) + compilation.seconds, cells)
        self.presence.begin(pool.place, cells)
        self.packer.prepare()
        try:
            engine.run(jobs, self._left)
        finally:
            self.presence.end()
            self.display.end()

    def _tell_notes(self) -> None:
        """Tell what was found damaged, and what becomes of it."""
        while self.journal.notes:
            self.display.tell(self.journal.notes.pop(0))

    def _watch(self) -> None:
        self._tell_notes()
        self.packer.check()
        self.claims.check()
        self.presence.beat()

    def _finished(self, dataset: str) -> None:
        self._handed.add(dataset)
        self.packer.pack(self.work.snapshots[dataset], self.work.units[dataset])

    def _left(self, jobs: Iterable[Job]) -> list[Job]:
        """Return what is left of jobs that other builders have had."""
        before = [block for job in jobs for block in job.blocks]
        blocks = []
        for unit in dict.fromkeys(block.unit for block in before):
            of_unit = [block for block in before if block.unit == unit]
            missing = self.journal.missing(unit, unit.wanted(self.work.repetitions))
            blocks += [block for block in missing if any(overlap(block, b) for b in of_unit)]
        return order(pair(blocks), self.costs, start())

    def pack(self) -> Report:
        """Pack what is not packed yet, and say what was done."""
        for dataset in self.work.snapshots.keys() - self._handed:
            self._finished(dataset)
        cubes = self.packer.wait(self._check_stop)
        self._tell_notes()
        for cube in cubes:
            for note in cube.notes:
                self.display.tell(note)
        failures = tuple(
            failure
            for chosen in self.work.chosen.values()
            for unit in chosen
            for failure in self.journal.failures(unit)
        )
        report = Report(
            computed=self.tally.computed,
            duplicates=self.tally.duplicates,
            elsewhere=self.tally.elsewhere,
            failures=failures,
            cubes={cube.dataset: cube for cube in cubes},
        )
        if failures:
            raise failed(failures, self.work.root)
        chosen_labels = {unit.label for units in self.work.chosen.values() for unit in units}
        look_for_values(report.cubes.values(), chosen_labels, self.work.root, self.display.tell)
        return report

    def _check_stop(self) -> None:
        if self.stop():
            raise self.stop.error()
