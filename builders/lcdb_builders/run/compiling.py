"""Kernels are compiled once on every machine, outside of anything that is timed.

Numba compiles for types of arguments, never for their values, so the smallest datasets do: each
kind of block that a build will ask for is computed on two of a few rows, and nobody looks at the
numbers. A marker beside the compiled code says that a kind is done, so that a warm start need not
load anything to know.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numba import config

from lcdb.errors import LCDBError, StorageError
from lcdb_builders.compiling.folders import CacheRefusedError
from lcdb_builders.compiling.store import cache_folder, cache_folders, sweep
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit, canonical_json, digest
from lcdb_builders.learners.base import Learner
from lcdb_builders.planning.plan import Plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.run.progress import duration
from lcdb_builders.run.supervise import Child, Outcome
from lcdb_builders.sources.cache import locked
from lcdb_builders.storage import disk
from lcdb_builders.storage.naming import describe, unit_of

__all__ = [
    "Compiled",
    "Kind",
    "announcement",
    "check",
    "compile_kernels",
    "compile_seconds",
    "kinds_of",
    "learners_of",
    "make_ready",
    "missing_kinds",
    "plan_kinds",
    "uncompiled",
]

COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]
# Two classes and more may be different code; the largest size must do for tuned curves too.
CLASSES = (2, 3)
ROWS, SIZES = 24, (2, 12)
# What compiling the untuned kernels of a family takes, in seconds of one core; roughly.
SECONDS = {"linear": 40.0, "trees": 40.0, "svm": 30.0, "gaussian": 15.0, "neighbours": 4.0}


@dataclass(frozen=True)
class Kind:
    """A kind of blocks: what decides which code computes them.

    Parameters
    ----------
    unit
        A unit, without its dataset.
    splits
        The test sets of one call, see `lcdb_builders.learners.base.Learner.block`.
    """

    unit: Unit
    splits: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        """Digest of the kind."""
        return digest([self.unit.identity, list(self.splits)])

    @property
    def family(self) -> str:
        """Name of the module of its learner: what is best compiled in one process."""
        from lcdb_builders.learners import registry

        return type(registry.for_unit(self.unit)).__module__.rpartition(".")[2]

    def as_json(self) -> dict[str, Any]:
        """Return the kind as a JSON-able dict; `from_json` undoes it."""
        return {"unit": describe(self.unit), "splits": list(self.splits)}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Kind:
        """Return the kind of a dict that went through JSON."""
        return Kind(unit_of(content["unit"]), tuple(content["splits"]))


@dataclass(frozen=True)
class Compiled:
    """What became of the kernels of a family.

    Parameters
    ----------
    learners
        Names of its learners.
    seconds
        How long it took.
    reason
        Why it failed; empty if it did not.
    """

    learners: tuple[str, ...]
    seconds: float
    reason: str

    @property
    def line(self) -> str:
        """What is told of it."""
        what = f"{', '.join(self.learners)} after {duration(self.seconds)}"
        return f"not compiled: {what}: {self.reason}" if self.reason else f"compiled {what}"


def kinds_of(calls: Iterable[tuple[Unit, Sequence[str]]]) -> list[Kind]:
    """Return the kinds of calls that kernels answer.

    Parameters
    ----------
    calls
        A unit and the splits of a call each.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "kernel-1", "random", "fixed", "default", "",
    ...             (1, 2, 3))
    >>> other = replace(unit, dataset="11", dataset_sha256="cd", sizes=(1, 2))
    >>> len(kinds_of([(unit, ("fixed",)), (other, ("fixed",)), (unit, ("fixed", "pool"))]))
    2
    """
    return list(
        dict.fromkeys(
            Kind(replace(unit, dataset="", dataset_sha256="", seed=0, sizes=()), tuple(splits))
            for unit, splits in calls
            if unit.implementation.startswith("kernel-") and not unit.estimator
        )
    )


def plan_kinds(plan: Plan, learners: Iterable[str] | None = None) -> list[Kind]:
    """Return the kinds of blocks of a plan.

    Parameters
    ----------
    plan
        The plan.
    learners
        Names of those to take; all by default.

    Examples
    --------
    >>> from lcdb_builders.planning.plan import load_plan
    >>> plan = load_plan({"datasets": [61], "learners": ["LDC", "NNC"], "samplings": ["random"]})
    >>> [kind.splits for kind in plan_kinds(plan, ["NNC"])]
    [('fixed',), ('varying',)]
    """
    table = plan_learners(plan)
    if learners is not None:
        table = {name: table[plan.learner(name).name] for name in learners}
    return _kinds(plan, table)


def compile_seconds(family: str) -> float:
    """Return about how long compiling the kernels of a family takes on one core.

    Examples
    --------
    >>> compile_seconds("trees") > compile_seconds("neighbours")
    True
    """
    return SECONDS.get(family, 15.0)


def uncompiled(plan: Plan, learners: Mapping[str, Learner]) -> dict[str, tuple[str, ...]]:
    """Return the learners whose kernels a build would compile here, by family."""
    if not COMPILES or cache_folder() is None:
        return {}
    missing = _unmarked(_kinds(plan, learners))
    return {family: learners_of(kinds) for family, kinds in missing.items()}


def missing_kinds(kinds: Iterable[Kind]) -> dict[str, list[Kind]]:
    """Return by family what is not compiled yet, what takes longest first.

    Empty where nothing can be kept: then each process compiles what it needs.

    Raises
    ------
    StorageError
        Others may have written to the folder of compiled code.
    """
    folder = _checked_folder() if COMPILES else None
    if folder is None:
        return {}
    sweep(folder)
    return _unmarked(kinds)


def _unmarked(kinds: Iterable[Kind]) -> dict[str, list[Kind]]:
    missing: dict[str, list[Kind]] = {}
    for kind in kinds:
        if not _is_marked(kind):
            missing.setdefault(kind.family, []).append(kind)
    return {
        name: missing[name] for name in sorted(missing, key=lambda name: -compile_seconds(name))
    }


def _kinds(plan: Plan, table: Mapping[str, Learner]) -> list[Kind]:
    every = units(replace(plan, sizes=list(SIZES)), _specimen(CLASSES[0]), table)
    calls: list[tuple[Unit, tuple[str, ...]]] = [(unit, (unit.split,)) for unit in every]
    if {"fixed", "pool"} <= set(plan.splits):
        calls += [(unit, ("fixed", "pool")) for unit in every if unit.split == "fixed"]
    return kinds_of(calls)


@cache
def _specimen(classes: int) -> Snapshot:
    X = np.random.default_rng(classes).normal(size=(ROWS, 3))
    names = tuple(f"class {c}" for c in range(classes))
    y = np.arange(ROWS) % classes
    return Snapshot(f"specimen-{classes}", X, y, ("a", "b", "c"), names, "specimen")


def _exercise(kind: Kind) -> None:
    """Compute a block of a kind on each specimen."""
    from lcdb_builders.learners import registry
    from lcdb_builders.reference.block import draws_block

    learner = registry.for_unit(kind.unit)
    rule = kind.unit.tuning_rule
    if rule:  # types of a grid's values matter, their number does not
        content = json.loads(rule)
        rule = canonical_json({**content, "grid": content["grid"][:2]})
    sizes = SIZES if not rule else SIZES[-1:]
    for snapshot in map(_specimen, CLASSES):
        unit = replace(
            kind.unit,
            dataset=snapshot.id,
            dataset_sha256=snapshot.sha256,
            tuning_rule=rule,
            sizes=sizes,
        )
        block = Block(unit, sizes, 0, 1)
        learner.block(snapshot, block, kind.splits)
        draws_block(snapshot, block, kind.splits)  # draws outside of kernels: the cube has them too


# -- in the process that computes ------------------------------------------------------------------

_ready: set[str] = set()


def make_ready(kinds: Iterable[Kind]) -> None:
    """Have the code of kinds of one family in this process: compiled, if nobody has done it yet.

    Two processes do not compile the same family at once: the second loads what the first made.
    """
    waiting = [kind for kind in kinds if kind.key not in _ready]
    if not waiting or not COMPILES:
        return
    with nullcontext() if all(map(_is_marked, waiting)) else _alone(waiting[0].family):
        for kind in waiting:
            _exercise(kind)
            _mark(kind)
            _ready.add(kind.key)


def _marker(kind: Kind) -> str:
    """Return the name of the file that says that a kind is compiled, as its kernels are now."""
    from lcdb_builders.learners import registry
    from lcdb_builders.learners.sources import kernels_digest

    return f"{digest([kind.key, kernels_digest(registry.for_unit(kind.unit))])[:24]}.ready"


def _is_marked(kind: Kind) -> bool:
    name = _marker(kind)
    return any((folder / name).exists() for folder in cache_folders())


def _mark(kind: Kind) -> None:
    folder = cache_folder()
    if folder is not None and not _is_marked(kind):
        with suppress(StorageError):  # it will be looked at again, and found compiled
            disk.create(folder / _marker(kind), b"")


@contextmanager
def _alone(family: str) -> Iterator[None]:
    folder = cache_folder()
    with nullcontext() if folder is None else locked(folder, family):
        yield


# -- in the process that has it done ---------------------------------------------------------------


def compile_kernels(
    kinds: Iterable[Kind],
    workers: int,
    *,
    tell: Callable[[str], None],
    look: Callable[[], None] = lambda: None,
) -> list[Compiled]:
    """Compile what is not compiled yet, each family in a process of its own.

    Parameters
    ----------
    kinds
        What blocks are going to be of.
    workers
        How many processes at a time.
    tell
        Called with lines for people.
    look
        Called now and then; may raise to end it.

    Returns
    -------
    list of Compiled
        By family; empty if everything was there.
    """
    missing = missing_kinds(kinds)
    if not missing:
        return []
    names = {family: learners_of(kinds_of_family) for family, kinds_of_family in missing.items()}
    tell(announcement(missing))
    children = [Child() for _ in missing]
    done: list[Compiled] = []
    with ThreadPoolExecutor(workers, thread_name_prefix="lcdb compile") as threads:
        try:
            running = {
                threads.submit(_compile, child, kinds_of_family): names[family]
                for child, (family, kinds_of_family) in zip(children, missing.items(), strict=True)
            }
            while running:
                look()
                for future in [future for future in running if future.done()]:
                    done.append(_told(running.pop(future), future, tell))
                time.sleep(0.02)
        finally:
            for child in children:
                child.stop()
            threads.shutdown(cancel_futures=True)
    return done


def _checked_folder() -> Path | None:
    """Return the folder of compiled code; one that others may have written to is an error."""
    try:
        return cache_folder()
    except CacheRefusedError as error:
        raise StorageError(str(error)) from error


def learners_of(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Return the names of the learners of kinds."""
    return tuple(dict.fromkeys(kind.unit.learner for kind in kinds))


def announcement(missing: Mapping[str, Iterable[Kind]]) -> str:
    """Return what is told before kinds, by family, are compiled."""
    names = ", ".join(name for kinds in missing.values() for name in learners_of(kinds))
    about = duration(sum(map(compile_seconds, missing)))
    return f"compiling kernels for this machine, once: {names} (about {about} of one core)"


def _compile(child: Child, kinds: Sequence[Kind]) -> Outcome:
    with child:
        return child.run("compile", {"kinds": [kind.as_json() for kind in kinds]})


def _told(
    learners: tuple[str, ...], future: Future[Outcome], tell: Callable[[str], None]
) -> Compiled:
    outcome = future.result()
    compiled = Compiled(learners, outcome.seconds, outcome.reason)
    tell(compiled.line)
    return compiled


def check(compiled: Iterable[Compiled]) -> None:
    """Raise the first failure, if there is one."""
    for each in compiled:
        if each.reason:
            msg = f"kernels of {', '.join(each.learners)} cannot be compiled: {each.reason}"
            raise LCDBError(msg)
