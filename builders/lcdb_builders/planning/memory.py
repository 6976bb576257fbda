"""Memory that a worker needs besides what any process takes: tables of all pairs of rows."""

from __future__ import annotations

from collections.abc import Iterable

from lcdb.errors import PlanError
from lcdb_builders.domain.unit import DRAWS, Unit
from lcdb_builders.learners import registry
from lcdb_builders.planning.units import Subject

__all__ = ["check_memory", "worker_bytes"]


def worker_bytes(unit: Unit, dataset: Subject) -> int:
    """Return the bytes that a worker needs for a unit besides what any takes.

    Examples
    --------
    >>> from lcdb_builders.sources import expected
    >>> unit = Unit("44037", "ab", 1, "GSVC", "", "{}", "kernel-1", "random", "fixed", "default",
    ...             "", (10, 100))
    >>> worker_bytes(unit, expected()["44037"])
    197607200
    """
    if unit.estimator or unit.learner == DRAWS:
        return 0
    return registry.get(unit.learner).worker_bytes(dataset.rows)


def check_memory(units: Iterable[tuple[Unit, Subject]], workers: int, available: int) -> None:
    """Raise if the workers of this machine cannot have the memory that a plan needs.

    Parameters
    ----------
    units
        What is to be computed on what.
    workers
        How many at once.
    available
        Bytes.
    """
    needed, label = max(((worker_bytes(*pair), pair[0].label) for pair in units), default=(0, ""))
    if needed * workers <= available:
        return
    fitting = available // needed
    advice = f"take --workers {fitting}" if fitting else "leave it out, or take another machine"
    msg = (
        f"{label} needs {needed / 1e9:.1f} GB per worker for what it keeps of pairs of rows, "
        f"{workers} workers {needed * workers / 1e9:.1f} GB; {available / 1e9:.1f} GB are free: "
        f"{advice}"
    )
    raise PlanError(msg)
