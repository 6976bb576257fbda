"""What the child process of a worker can be asked to do; arguments and results are JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from lcdb.errors import NotFoundError
from lcdb_builders import snapshot as snapshots
from lcdb_builders.blocks import Blocks
from lcdb_builders.curves import draws_block
from lcdb_builders.environment import environment
from lcdb_builders.learners import registry
from lcdb_builders.snapshot import Snapshot
from lcdb_builders.unit import DRAWS, Block, Unit

__all__ = ["TASKS", "block_from_json", "block_to_json", "compute", "ready"]


def ready() -> int:
    """Return the process number: everything that computes is imported."""
    return os.getpid()


def block_to_json(block: Block) -> dict[str, Any]:
    """Return a block as a JSON-able dict."""
    return {
        "unit": asdict(block.unit),
        "sizes": list(block.sizes),
        "first": block.first,
        "stop": block.stop,
    }


def block_from_json(content: Mapping[str, Any]) -> Block:
    """Return the block of a dict that went through JSON."""
    unit = Unit(**{**content["unit"], "sizes": tuple(content["unit"]["sizes"])})
    return Block(unit, tuple(content["sizes"]), content["first"], content["stop"])


@lru_cache(maxsize=4)
def _snapshot(root: str, dataset: str, sha256: str) -> Snapshot:
    snapshot = snapshots.load(Path(root) / "snapshots", dataset)
    if snapshot.sha256 != sha256:
        msg = f"{root} holds other data of dataset {dataset} than this build started with"
        raise NotFoundError(msg)
    return snapshot


def compute(root: str, block: Mapping[str, Any], splits: Sequence[str], allow_import: bool) -> int:
    """Compute a block and publish it; return the number of cells.

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
    here = block_from_json(block)
    if not (Path(root) / "snapshots").is_dir():
        msg = f"{root} is not to be seen from {environment()['host']}; expected a shared folder"
        raise NotFoundError(msg)
    unit = here.unit
    snapshot = _snapshot(root, unit.dataset, unit.dataset_sha256)
    if unit.learner == DRAWS:
        found = draws_block(snapshot, here, splits)
    else:
        learner = registry.for_unit(unit, allow_import=allow_import)
        found = learner.block(snapshot, here, tuple(splits))
    blocks = Blocks(root)
    for split in splits:
        blocks.publish(here.with_split(split), found[split], environment())
    return here.cells * len(splits)


TASKS: dict[str, Callable[..., Any]] = {"compute": compute, "ready": ready}
