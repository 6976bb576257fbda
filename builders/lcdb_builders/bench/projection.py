"""What a plan will take, added up from costs that were measured on datasets of its shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lcdb_builders.bench.cases import EVERY_CASE, Effort, case_unit
from lcdb_builders.bench.kernels import cell_micros
from lcdb_builders.bench.subjects import Subject
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.learners import registry
from lcdb_builders.planning.plan import Plan
from lcdb_builders.planning.sizes import SMALLEST_TUNED

__all__ = ["REPETITIONS", "Measured", "hours", "measure"]

REPETITIONS = 1000


@dataclass(frozen=True)
class Measured:
    """What a cell of one case costs on one dataset.

    Parameters
    ----------
    learner, tuning, sampling, split
        The case.
    dataset, rows, features, classes
        The dataset.
    micros
        Microseconds of one core per cell, mean over all sizes.
    """

    learner: str
    tuning: str
    sampling: str
    split: str
    dataset: str
    rows: int
    features: int
    classes: int
    micros: float

    @property
    def hours(self) -> float:
        """Core-hours of the curve: every size, 1,000 repetitions."""
        smallest = SMALLEST_TUNED if self.tuning == "tuned" else 1
        sizes = largest_size(self.rows) - smallest + 1
        return self.micros * 1e-6 * sizes * REPETITIONS / 3600


def measure(
    plan: Plan,
    learners: Iterable[str],
    subjects: Sequence[Subject],
    effort: Effort,
    *,
    tuning: str = "default",
    done: Callable[[str], None] = lambda _: None,
) -> list[Measured]:
    """Return what cells cost: every learner, dataset, sampling and split.

    Parameters
    ----------
    plan
        Parameters of the learners, see `lcdb_builders.bench.cases.plan_for`.
    learners
        Which.
    subjects
        Datasets.
    effort
        How long it may take.
    tuning
        Untuned or tuned cells.
    done
        Called with a text after each case.
    """
    measured = []
    for name in learners:
        learner = registry.get(name)
        for subject in subjects:
            snapshot = subject.snapshot
            for sampling, split in EVERY_CASE:
                unit = case_unit(plan, learner, snapshot, (sampling, split), tuning, effort)
                micros = cell_micros(unit, snapshot, effort)
                shape = (snapshot.id, snapshot.rows, snapshot.features, snapshot.classes)
                measured.append(Measured(name, tuning, sampling, split, *shape, micros))
                done(f"{name} on {subject.label}")
    return measured


def hours(measured: Iterable[Measured], **of: str) -> float:
    """Return core-hours of all cases that have these labels.

    Examples
    --------
    >>> case = Measured("LDC", "default", "random", "fixed", "61", 150, 4, 3, micros=6.0)
    >>> round(hours([case, case], learner="LDC") * 3600, 2), hours([case], learner="QDC")
    (1.26, 0.0)
    """
    return float(
        sum(
            case.hours
            for case in measured
            if all(getattr(case, key) == value for key, value in of.items())
        )
    )
