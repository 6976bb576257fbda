"""Experiments whose trials are random numbers: pure functions of part and trial, like real ones."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.unit import canonical_json
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.packed import Cube
from lcdb_builders.storage.parts import Target

__all__ = ["EPISODES", "build", "compute", "toy_parts", "toy_trials"]

EPISODES = 5


def toy_parts(
    experiment: str, trials: Iterable[int], seed: int = 7, **params: object
) -> list[Part]:
    """Return parts that want so many trials each."""
    labels = {
        "dse": [("SVM", "circles", "random"), ("kNN", "moons", "tuned"), ("NN", "faces", "random")],
        "pendulum": [("ppo",), ("actor_critic",)],
    }[experiment]
    length = EPISODES if experiment == "pendulum" else 0
    text = canonical_json(params)
    return [
        Part(experiment, place, seed, "toy-1", text, length=length, trials=wanted)
        for place, wanted in zip(labels, trials, strict=False)
    ]


def toy_trials(part: Part, run: range) -> dict[str, np.ndarray]:
    """Return values of a run of trials, (1, trials) or (1, trials, episodes)."""
    found = {}
    for place, variable in enumerate(part.experiment.part_variables(part.labels)):
        inner = (part.length,) if part.experiment.inner in variable.dims else ()
        rows = []
        for trial in run:
            rng = np.random.default_rng([int(part.key[:8], 16), place, trial])
            if variable.dtype.startswith("float"):
                rows.append(rng.random(inner))
            else:
                rows.append(rng.integers(0, len(variable.flags) or 9, inner))
        found[variable.name] = np.array(rows, variable.dtype)[None]
        if variable.name == "cv_accuracy" and part.labels[-1] == "random":
            found[variable.name][:] = np.nan
    return found


def compute(root: Path, parts: Iterable[Part], length: int = 4, order: int = 0) -> int:
    """Compute what is missing in some order; return how many trials that were."""
    parts = list(parts)
    journal = Journal(root)
    journal.prepare(parts)
    blocks = [
        (part, block)
        for part in parts
        for block in journal.missing(part, part.trials, Lengths(1, length))
    ]
    random.Random(order).shuffle(blocks)
    for part, block in blocks:
        journal.publish(block, toy_trials(part, block.repetitions), environment())
    return sum(block.cells for _, block in blocks)


def build(root: Path, parts: Iterable[Part], **options: int) -> tuple[Cube, int]:
    """Compute what is missing and pack it."""
    parts = list(parts)
    computed = compute(root, parts, **options)
    most = max(part.trials for part in parts)
    return pack(root, Target(parts[0].dataset), parts, most), computed
