"""Cubes for tests: units, scores and snapshots that cost nothing to make."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Block, Unit, canonical_json
from lcdb_builders.storage.contents import Contents
from lcdb_builders.storage.cube import CubeWriter, slice_digest, unit_digest

from lcdb.schema import METRICS

__all__ = ["block_scores", "toy_scores", "toy_snapshot", "toy_units", "write_cube"]

Scores = dict[str, np.ndarray]


def toy_snapshot(rows: int = 40, classes: int = 3, id: str = "toy", seed: int = 0) -> Snapshot:
    """Return a snapshot of random numbers."""
    draw = np.random.default_rng(seed)
    return Snapshot(
        id=id,
        X=draw.normal(size=(rows, 2)),
        y=np.arange(rows, dtype=np.int64) % classes,
        feature_names=("a", "b"),
        class_names=tuple(f"class {c}" for c in range(classes)),
        name=f"{id} data",
        origin={"duplicate_rows": 1, "imputed_cells": 0, "dropped_rows": 0},
    )


def toy_units(
    snapshot: Snapshot,
    learners: Iterable[str] = ("NMC", "LDC"),
    samplings: Iterable[str] = ("additive",),
    splits: Iterable[str] = ("fixed",),
    tunings: Iterable[str] = ("default",),
    sizes: Iterable[int] | None = None,
    seed: int = 7,
    params: str = "{}",
) -> list[Unit]:
    """Return the units of every combination, those of the draws included."""
    every = tuple(sizes or range(1, snapshot.rows * 7 // 10 + 1))
    tuned = tuple(n for n in every if n >= 10)
    rule = canonical_json({"parameter": "ridge", "grid": [0.1, 1.0], "tie": "nearest_default"})
    found = []
    for sampling in samplings:
        for split in splits:
            where = {"sampling": sampling, "split": split}
            common = {"dataset": snapshot.id, "dataset_sha256": snapshot.sha256, "seed": seed}
            plain = {"estimator": "", "implementation": "toy-1", **common, **where}
            found.append(
                Unit(
                    learner=DRAWS,
                    params="{}",
                    tuning="default",
                    tuning_rule="",
                    sizes=every,
                    **plain,
                )
            )
            for learner in learners:
                for tuning in tunings:
                    is_tuned = tuning == "tuned"
                    found.append(
                        Unit(
                            learner=learner,
                            params=params,
                            tuning=tuning,
                            tuning_rule=rule if is_tuned else "",
                            sizes=tuned if is_tuned else every,
                            **plain,
                        )
                    )
    return found


def toy_scores(unit: Unit, sizes: Iterable[int], repetitions: range) -> Scores:
    """Return scores that are a pure function of unit, n and repetition, like real ones."""
    sizes = list(sizes)
    shape = (len(sizes), len(repetitions))
    key = np.frombuffer(hashlib.sha256(unit.key.encode()).digest()[:16], np.uint64)
    words = np.empty(shape, np.uint64)
    for i, n in enumerate(sizes):
        # One stream per n, as far as the last repetition: any run of it comes out the same.
        stream = np.random.Philox(key=key, counter=np.array([0, n, 0, 0], np.uint64))
        words[i] = stream.random_raw(repetitions.stop)[repetitions.start :]
    uniform = (words >> np.uint64(40)).astype(np.float32) / np.float32(2**24)
    if unit.learner == DRAWS:
        return {
            "n_test": (words % np.uint64(90)).astype(np.int32),
            "n_classes_train": (words % np.uint64(3) + np.uint64(1)).astype(np.int8),
        }
    scores: Scores = {name: uniform / (i + 1) for i, name in enumerate(METRICS)}
    scores["auc"] = np.where(uniform < 0.1, np.float32("nan"), uniform).astype(np.float32)
    scores["n_clipped"] = (words % np.uint64(7)).astype(np.int32)
    if unit.tuning == "tuned":
        for name in METRICS:
            scores[f"choice_{name}"] = (words % np.uint64(20)).astype(np.int8)
            scores[f"choice_flag_{name}"] = (words % np.uint64(4)).astype(np.int8)
    return scores


def block_scores(block: Block) -> Scores:
    """Return the toy scores of a block."""
    return toy_scores(block.unit, block.sizes, block.repetitions)


def write_cube(
    path: Path,
    snapshot: Snapshot,
    units: Iterable[Unit],
    repetitions: int,
    scores: Mapping[Unit, Scores] | None = None,
) -> Contents:
    """Write a cube from arrays (sizes, repetitions) by unit; toy scores where none are given.

    A unit that `scores` leaves out is not built.
    """
    contents = Contents.of(snapshot, units, repetitions)
    if scores is None:
        every = range(repetitions)
        scores = {unit: toy_scores(unit, unit.sizes, every) for unit in contents.units}
    digests = {}
    with path.open("w+b") as file, CubeWriter(file, contents) as writer:
        for unit in contents.units:
            if unit in scores:
                found = {}
                for variable in unit.variables:
                    values = scores[unit][variable.name]
                    writer.put(unit, variable, values)
                    found[variable.name] = slice_digest(unit, variable, values)
                digests[unit] = unit_digest(found)
        built = {unit: "complete" for unit in digests if unit.learner != DRAWS}
        writer.finish(built, digests)
    return contents
