"""Cubes are packed beside the work, one at a time, in a process of its own.

Where nothing was computed they are looked at in this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.run.child import answer
from lcdb_builders.run.engine import raise_outcome
from lcdb_builders.run.supervise import Child, Outcome
from lcdb_builders.storage.naming import describe
from lcdb_builders.storage.packed import Cube
from lcdb_builders.storage.parts import Target

__all__ = ["Packer"]


def _pack_here(task: str, arguments: Mapping[str, Any]) -> Outcome:
    """Do a task in this process: starting another takes longer than finding nothing to pack."""
    return Outcome(**answer({"task": task, "arguments": arguments}))


class Packer:
    """Packs datasets in the order in which they are finished.

    Parameters
    ----------
    root
        The database directory.
    repetitions
        R of the plan.
    """

    def __init__(self, root: Path, repetitions: int) -> None:
        self.root = root
        self.repetitions = repetitions
        self._child = Child()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lcdb pack")
        self._packed: dict[str, Future[Outcome]] = {}
        self._prepared = False

    def pack(self, snapshot: Snapshot | Target, units: Sequence[AnyUnit]) -> None:
        """Have the cube of a dataset packed; `units` are all that the plan has for it."""
        arguments = {
            "root": str(self.root),
            "dataset": snapshot.id,
            "units": [describe(unit) for unit in units],
            "repetitions": self.repetitions,
        }
        run = self._child.run if self._prepared else _pack_here
        self._packed[snapshot.id] = self._thread.submit(run, "pack", arguments)

    def wait(self, look: Callable[[], None]) -> list[Cube]:
        """Return the cubes when all are packed; `look` is called now and then meanwhile."""
        while not all(packed.done() for packed in self._packed.values()):
            look()
            time.sleep(0.02)
        return [self._cube(dataset, done.result()) for dataset, done in self._packed.items()]

    def check(self) -> None:
        """Raise what has gone wrong so far."""
        for dataset, packed in self._packed.items():
            if packed.done():
                raise_outcome(packed.result(), f"packing {dataset}")

    def _cube(self, dataset: str, outcome: Outcome) -> Cube:
        return Cube.from_json(raise_outcome(outcome, f"packing {dataset}"))

    def prepare(self) -> None:
        """Start the process, so that it is ready when the first cube is."""
        self._prepared = True
        self._thread.submit(self._child.run, "ready", {})

    def __enter__(self) -> Packer:
        return self

    def __exit__(self, *_: object) -> None:
        # Packing survives being killed: the next build packs again.
        self._child.stop()
        self._thread.shutdown(cancel_futures=True)
        self._child.close()
