"""Classifiers from elsewhere are timed in processes of their own, which may crash or hang."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from lcdb_builders.domain.unit import Unit
from lcdb_builders.planning.timing import Timing, timing_key
from lcdb_builders.run.engine import Settings
from lcdb_builders.run.supervise import Child
from lcdb_builders.storage.manifest import believed
from lcdb_builders.storage.naming import describe

__all__ = ["time_left", "time_units"]

# Most seconds that timing a unit may take; of what takes longer nothing is known but that.
PATIENCE = 120.0


def time_left(
    chosen: Mapping[str, Sequence[Unit]],
    root: Path,
    repetitions: int,
    settings: Settings,
    *,
    workers: int,
    tell: Callable[[str], None],
) -> dict[tuple[str, ...], Timing]:
    """Time those units of a build that have something left to do.

    Parameters
    ----------
    chosen
        Units by dataset.
    root
        The database directory.
    repetitions
        R of the plan.
    settings
        How blocks are computed.
    workers, tell
        As `time_units` takes them.
    """
    left: list[Unit] = []
    for dataset, units in chosen.items():
        entry = believed(root, dataset)
        held = entry.by_unit if entry is not None else {}
        left += [u for u in units if u not in held or not held[u].is_whole(repetitions)]
    return time_units(
        left,
        root,
        allow_import=settings.allow_import,
        workers=workers,
        tell=tell,
        timeout=settings.timeout,
    )


def time_units(
    units: Iterable[Unit],
    root: Path,
    *,
    allow_import: bool,
    workers: int,
    tell: Callable[[str], None] = lambda text: None,
    timeout: float | None = None,
) -> dict[tuple[str, ...], Timing]:
    """Return what cells of units take whose classes come from elsewhere.

    Parameters
    ----------
    units
        Units; those of built-in learners are left out.
    root
        A database directory, or a folder that has its snapshots and estimators.
    allow_import
        Allow estimators from elsewhere than scikit-learn.
    workers
        How many processes may be at work.
    tell
        Called with a line on each.
    timeout
        Seconds that a block may take: longer than that, nothing is timed.
    """
    patience = PATIENCE if timeout is None else min(PATIENCE, timeout)
    chosen = {timing_key(unit): unit for unit in units if unit.estimator}

    idle: SimpleQueue[Child] = SimpleQueue()

    def one(unit: Unit) -> Timing | None:
        arguments = {"root": str(root), "unit": describe(unit), "allow_import": allow_import}
        child = idle.get()
        try:
            outcome = child.run("time", arguments, patience)
        finally:
            idle.put(child)
        name = f"{unit.learner} on {unit.dataset}, {unit.split}"
        if outcome.status == "timed_out":  # as dear as it can be said to be
            tell(f"timed {name}: no end of three sizes within {patience:g} s")
            return Timing((unit.sizes[-1],), (patience,))
        if outcome.status != "complete":  # its blocks will say why
            return None
        timing = Timing(tuple(outcome.result["sizes"]), tuple(outcome.result["seconds"]))
        cost = f"{1000 * timing.seconds[-1]:.3g} ms a cell at n = {timing.sizes[-1]}"
        tell(f"timed {name}: {cost}")
        return timing

    count = max(1, min(workers, len(chosen)))
    with ExitStack() as stack:
        for _ in range(count):
            idle.put(stack.enter_context(Child()))
        with ThreadPoolExecutor(count, thread_name_prefix="lcdb time") as threads:
            timings = list(threads.map(one, chosen.values()))
    return {key: timing for key, timing in zip(chosen, timings, strict=True) if timing}
