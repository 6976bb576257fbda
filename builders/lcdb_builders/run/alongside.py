"""Kernels are compiled while blocks are computed whose kernels are there already.

A build hands out families of kernels like blocks, before all others and the longest first; the
blocks of a family wait for it. A family that cannot be compiled frees its blocks all the same: the
process that computes the first of them compiles what it needs, or says what is wrong with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lcdb_builders.run.compiling import (
    Kind,
    announcement,
    compile_seconds,
    kinds_of,
    learners_of,
    missing_kinds,
)
from lcdb_builders.run.jobs import Job

__all__ = ["Compilation"]


class Compilation:
    """What is to be compiled beside computing, and which jobs wait for it.

    Parameters
    ----------
    missing
        Kinds of blocks whose kernels are not compiled yet, by family, in the order of work.

    Examples
    --------
    >>> nothing = Compilation({})
    >>> nothing.next(), nothing.seconds, nothing.is_over
    (None, 0, True)
    """

    def __init__(self, missing: Mapping[str, Sequence[Kind]]) -> None:
        self._missing = dict(missing)
        self._waiting = deque(self._missing)
        self._family_of = {
            learner: family for family, kinds in missing.items() for learner in learners_of(kinds)
        }
        self._held: list[tuple[int, Job]] = []
        self._places: dict[str, int] = {}

    @staticmethod
    def of(jobs: Iterable[Job]) -> Compilation:
        """Return what jobs need on this machine and is not compiled yet."""
        return Compilation(missing_kinds(kinds_of((job.block.unit, job.splits) for job in jobs)))

    @property
    def seconds(self) -> float:
        """About how long all of it takes on one core."""
        return sum(map(compile_seconds, self._missing))

    @property
    def is_over(self) -> bool:
        """Whether no job waits for it and nothing is left of it."""
        return not self._missing and not self._held

    @property
    def announcement(self) -> str:
        """What is told before it begins; empty if there is nothing to do."""
        return announcement(self._missing) if self._missing else ""

    def next(self) -> str | None:
        """Return the family to be handed out next, or None."""
        return self._waiting.popleft() if self._waiting else None

    def learners(self, family: str) -> tuple[str, ...]:
        """Return the names of the learners of a family."""
        return learners_of(self._missing[family])

    def arguments(self, family: str) -> dict[str, Any]:
        """Return the arguments of the task ``compile`` of a family."""
        return {"kinds": [kind.as_json() for kind in self._missing[family]]}

    def hold(self, jobs: Iterable[Job]) -> list[Job]:
        """Keep back the jobs whose kernels are not there, and return the others."""
        jobs = list(jobs)
        if not self._missing:
            return jobs
        free = []
        for job in jobs:
            place = self._places.setdefault(job.block.key, len(self._places))
            if self._family(job) in self._missing:
                self._held.append((place, job))
            else:
                free.append(job)
        return free

    def finish(self, family: str, waiting: Iterable[Job]) -> list[Job]:
        """Note that no more is to be expected of a family.

        Parameters
        ----------
        family
            The family.
        waiting
            Jobs that were free before.

        Returns
        -------
        list of Job
            All that are free now, in the order in which they were given to `hold`.
        """
        del self._missing[family]
        free = [(self._places.get(job.block.key, len(self._places)), job) for job in waiting]
        free += [entry for entry in self._held if self._family(entry[1]) not in self._missing]
        self._held = [entry for entry in self._held if self._family(entry[1]) in self._missing]
        return [job for _, job in sorted(free, key=lambda entry: entry[0])]

    def _family(self, job: Job) -> str | None:
        return self._family_of.get(job.block.unit.at("learner"))
