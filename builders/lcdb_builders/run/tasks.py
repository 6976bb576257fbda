"""What the child process of a worker can be asked to do; arguments and results are JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lcdb.errors import LCDBError, NotFoundError, StaleError
from lcdb.naming import dataset_id
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.scaling import scaled
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.experiments.protocol import maker_of, trials_of
from lcdb_builders.learners.base import Learner
from lcdb_builders.run.code import code_digest
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.naming import describe, described, unit_of
from lcdb_builders.storage.parts import Target

__all__ = ["PREPARE", "TASKS", "block_from_json", "block_to_json", "compute", "pack", "ready"]


def ready() -> int:
    """Return the process number."""
    return os.getpid()


def block_to_json(block: Block) -> dict[str, Any]:
    """Return a block as a JSON-able dict."""
    sizes = [block.sizes[0], block.sizes[-1]]
    return {
        "unit": describe(block.unit),
        "sizes": sizes,
        "repetitions": [block.first, block.stop],
        "source": code_digest(block.unit),
    }


def block_from_json(content: Mapping[str, Any]) -> Block:
    """Return the block of a dict that went through JSON."""
    unit = described(content["unit"])
    first, last = content["sizes"]
    sizes = tuple(n for n in unit.sizes if first <= n <= last)
    return Block(unit, sizes, *content["repetitions"])


def _snapshot(root: str, unit: Unit) -> Snapshot:
    """Return what a unit is computed on."""
    return _loaded(root, unit.dataset, unit.scaling, unit.seed, unit.dataset_sha256)


@lru_cache(maxsize=4)
def _loaded(root: str, cube: str, scaling: str, seed: int, sha256: str) -> Snapshot:
    dataset = dataset_id(cube, scaling)
    snapshot = snapshots.load(Path(root) / "snapshots", dataset)
    if snapshot.sha256 != sha256:
        msg = f"{root} holds other data of dataset {dataset} than this build started with"
        raise NotFoundError(msg)
    return scaled(snapshot, scaling, seed)


def compute(
    root: str, block: Mapping[str, Any], splits: Sequence[str], allow_import: bool
) -> dict[str, int]:
    """Compute a block, publish it, and return how many there are of each outcome of publishing.

    Parameters
    ----------
    root
        The database directory, which must be the same on every machine.
    block
        What to compute, see `block_to_json`.
    splits
        The block's split, or ``["fixed", "pool"]``, which share every fit and give two blocks.
    allow_import
        Allow estimators from elsewhere than scikit-learn.
    """
    from lcdb_builders.learners import registry
    from lcdb_builders.reference.block import draws_block

    task = block_from_json(block)
    if not (Path(root) / "snapshots").is_dir():
        msg = f"{root} is not to be seen from {environment()['host']}; expected a shared folder"
        raise NotFoundError(msg)
    source = code_digest(task.unit)
    if source != block["source"]:
        msg = (
            f"{environment()['host']} has other kernels (sources {source[:12]}…) than the machine "
            f"that runs the build ({block['source'][:12]}…); expected the same lcdb-plusplus on all"
        )
        raise LCDBError(msg)
    journal = Journal(root)
    outcomes: dict[str, int] = {"new": 0, "duplicate": 0}
    unit = task.unit
    if isinstance(unit, Part):
        outcomes[
            journal.publish(task, trials_of(unit, task.repetitions, root), environment(), source)
        ] += 1
        return outcomes
    snapshot = _snapshot(root, unit)
    if unit.is_draws:
        results = draws_block(snapshot, task, splits)
    else:
        learner = registry.for_unit(unit, allow_import=allow_import, root=root)
        _check_source(learner, unit)
        results = learner.block(snapshot, task, tuple(splits))
    for split in splits:
        of_split = task.with_split(split)
        outcomes[journal.publish(of_split, results[split], environment(), source)] += 1
    return outcomes


def _check_source(learner: Learner, unit: Unit) -> None:
    """Raise where a class from elsewhere is not the one that the build was started with."""
    if learner.foreign and learner.implementation != unit.implementation:
        msg = (
            f"{unit.learner} is {learner.implementation} on {environment()['host']}, and "
            f"{unit.implementation} where the build was started; expected the same source and "
            "versions on all workers: restart those that were started before it changed"
        )
        raise StaleError(msg)


def pack(
    root: str, dataset: str, units: Sequence[Mapping[str, Any]], repetitions: int
) -> dict[str, Any]:
    """Pack the blocks of a dataset into its cube, and return what the cube is then.

    Parameters
    ----------
    root
        The database directory.
    dataset
        Name of the cube.
    units
        All units that the plan has for the cube, see `lcdb_builders.storage.naming.describe`.
    repetitions
        R of the plan.
    """
    from lcdb_builders.storage.pack import pack as pack_cube

    every = [described(unit) for unit in units]
    first = every[0]
    subject = _snapshot(root, first) if isinstance(first, Unit) else Target(dataset)
    return pack_cube(root, subject, every, repetitions).as_json()


def compile_kinds(kinds: Sequence[Mapping[str, Any]]) -> None:
    """Compile the kernels of kinds of blocks, see `lcdb_builders.run.compiling`."""
    from lcdb_builders.run.compiling import Kind, make_ready

    make_ready([Kind.from_json(kind) for kind in kinds])


def prepare(root: str, block: Mapping[str, Any], splits: Sequence[str], allow_import: bool) -> None:
    """Import what computes a block, and have its kernel loaded or compiled.

    Compiling may take longer than computing, once on every machine; the time of a block begins
    after it.
    """
    from lcdb_builders.learners import registry
    from lcdb_builders.run.compiling import kinds_of, make_ready

    unit = block_from_json(block).unit
    if isinstance(unit, Part):
        maker_of(unit).prepare()
        return
    if unit.is_draws:
        return
    registry.for_unit(unit, allow_import=allow_import, root=root)
    if unit.implementation.startswith("kernel-"):
        make_ready(kinds_of([(unit, splits)]))
    else:
        import lcdb_builders.reference.generic  # noqa: F401


def time_unit(root: str, unit: Mapping[str, Any], allow_import: bool) -> dict[str, Any]:
    """Time cells of a unit whose class comes from elsewhere, see `lcdb_builders.planning.timing`.

    Parameters
    ----------
    root
        A database directory, or a folder that has its snapshots and estimators.
    unit
        The unit, as `lcdb_builders.storage.naming.describe` has it.
    allow_import
        Allow estimators from elsewhere than scikit-learn.
    """
    from lcdb_builders.learners import registry
    from lcdb_builders.planning.timing import time_cells

    timed = unit_of(unit)
    snapshot = _snapshot(root, timed)
    learner = registry.for_unit(timed, allow_import=allow_import, root=root)
    results = time_cells(learner, snapshot, timed)
    return {"sizes": results.sizes, "seconds": results.seconds}


def prepare_timing(root: str, unit: Mapping[str, Any], allow_import: bool) -> None:
    """Import what times a unit: no time of its cells."""
    import lcdb_builders.reference.generic  # noqa: F401
    from lcdb_builders.learners import registry

    registry.for_unit(unit_of(unit), allow_import=allow_import, root=root)


PREPARE: dict[str, Callable[..., None]] = {"compute": prepare, "time": prepare_timing}
TASKS: dict[str, Callable[..., Any]] = {
    "compile": compile_kinds,
    "compute": compute,
    "pack": pack,
    "ready": ready,
    "time": time_unit,
}
