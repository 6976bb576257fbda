"""What is timed: learners, draws, sizes, parameters; and how long timing may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Unit
from lcdb_builders.learners import registry
from lcdb_builders.learners.base import Learner
from lcdb_builders.planning.plan import Plan, load_plan
from lcdb_builders.planning.units import units

__all__ = ["CASES", "EVERY_CASE", "Effort", "case_unit", "plan_for", "strata"]

# Sampling and split of the comparison, and of all of a plan's curves.
CASES = (
    ("additive", "fixed"),
    ("additive", "varying"),
    ("random", "fixed"),
    ("bootstrap", "fixed"),
    ("bootstrap", "varying"),
)
EVERY_CASE = tuple(
    (sampling, split)
    for sampling in ("additive", "random", "bootstrap")
    for split in ("fixed", "varying")
)


@dataclass(frozen=True)
class Effort:
    """How much time measuring may take.

    Parameters
    ----------
    seconds
        Of one case: a learner on a dataset with one way of drawing.
    sizes
        Training sizes of a case, where sizes share nothing.
    step
        Between the sizes of a curve whose sizes share work; 1 is the curve itself, and more of it
        overstates the cost a little.
    baseline_sizes
        Training sizes at which scikit-learn is timed.
    tuned_repetitions
        Of each size of a tuned case: always the first ones. What a tuned cell costs depends on its
        rows, so that numbers chosen by time would differ by the choice.
    """

    seconds: float
    sizes: int
    step: int
    baseline_sizes: int
    tuned_repetitions: int = 1


def strata(m: int, count: int, smallest: int = 1) -> tuple[int, ...]:
    """Return sizes in the middle of equal parts of smallest..m: their mean cost is a curve's.

    Examples
    --------
    >>> strata(100, 4)
    (13, 38, 63, 88)
    >>> strata(3, 8)
    (1, 2, 3)
    """
    edges = np.linspace(smallest - 0.5, m + 0.5, count + 1)
    middles = np.ceil((edges[:-1] + edges[1:]) / 2 - 0.5).astype(int)
    return tuple(sorted({int(np.clip(n, smallest, m)) for n in middles}))


def plan_for(learners: Sequence[str], settings: str, tunings: Sequence[str] = ("default",)) -> Plan:
    """Return a plan of these learners and settings, for any dataset."""
    large = settings == "large"
    return load_plan(
        {
            "datasets": [61],
            "learners": {n: dict(registry.get(n).large) if large else {} for n in learners},
            "splits": ["fixed", "varying"],
            "tunings": list(tunings),
        }
    )


def case_unit(
    plan: Plan,
    learner: Learner,
    snapshot: Snapshot,
    case: tuple[str, str],
    tuning: str,
    effort: Effort,
) -> Unit:
    """Return the unit of a case, with the sizes to time.

    Parameters
    ----------
    plan, learner, snapshot
        What is timed: the plan's unit of this learner on this dataset.
    case, tuning
        Sampling and split, and ``"default"`` or ``"tuned"``.
    effort
        How many sizes; or in which steps, where sizes of a repetition share work.

    Examples
    --------
    >>> from lcdb_builders.sources import obtain
    >>> from lcdb_builders.learners import registry
    >>> plan, iris = plan_for(["RFOR"], "large"), obtain(61)
    >>> effort = Effort(seconds=0.1, sizes=3, step=4, baseline_sizes=2)
    >>> unit = case_unit(plan, registry.get("RFOR"), iris, ("random", "fixed"), "default", effort)
    >>> unit.sizes, unit.parameters["trees"]
    ((18, 53, 88), 100)
    """
    m = largest_size(snapshot.rows)
    smallest = 10 if tuning == "tuned" else 1
    sizes = strata(m, effort.sizes, smallest)
    if case[0] == "additive" and tuning in learner.cost.shares_sizes:
        sizes = tuple(range(smallest, m + 1, effort.step))
    for unit in units(plan, snapshot, {learner.name: learner}):
        if unit.learner != DRAWS and (unit.sampling, unit.split, unit.tuning) == (*case, tuning):
            return replace(unit, sizes=sizes)
    msg = f"{learner.name} has no {tuning} curves"
    raise ValueError(msg)
