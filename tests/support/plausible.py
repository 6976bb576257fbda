"""Cubes for tests of what reads them: random scores that keep the contract."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Unit

from lcdb.schema import METRICS, STATUSES, UNIT_DIMS
from tests.support.cubes import Scores, toy_snapshot, toy_units, write_cube

__all__ = [
    "plausible_scores",
    "rename",
    "set_status",
    "snapshot_of",
    "write_database",
    "write_plausible",
]


def snapshot_of(id: str, name: str, rows: int, classes: int = 3) -> Snapshot:
    """Return a toy snapshot under the id and name of a real dataset."""
    toy = toy_snapshot(rows=rows, classes=classes, id=id)
    origin = dict(toy.origin)
    if id.isdecimal():
        origin.update(openml_id=int(id), openml_version=1, openml_md5="0" * 32)
    return Snapshot(id, toy.X, toy.y, toy.feature_names, toy.class_names, name, origin)


def _draws(unit: Unit, rows: int, shape: tuple[int, int], draw: np.random.Generator) -> Scores:
    left = rows - rows * 7 // 10
    tests = np.full(shape, left, np.int32)
    if unit.split == "varying":
        tests = np.broadcast_to(rows - np.array(unit.sizes, np.int32)[:, None], shape).copy()
    if unit.sampling == "bootstrap" and unit.split == "varying":
        tests += draw.integers(0, 3, shape, dtype=np.int32)
    return {"n_test": tests, "n_classes_train": np.ones(shape, np.int8)}


def plausible_scores(
    units: Iterable[Unit], rows: int, repetitions: int, seed: int = 0
) -> dict[Unit, Scores]:
    """Return scores of every unit that agree with its draws: accuracies are counts over n_test."""
    draw = np.random.default_rng(seed)
    every = list(units)
    tests: dict[tuple[str, str], np.ndarray] = {}
    found: dict[Unit, Scores] = {}
    for unit in sorted(every, key=lambda unit: unit.learner != DRAWS):
        shape = (len(unit.sizes), repetitions)
        if unit.learner == DRAWS:
            found[unit] = _draws(unit, rows, shape, draw)
            whole = np.zeros((rows, repetitions), np.int32)
            whole[list(unit.sizes)] = found[unit]["n_test"]
            tests[unit.sampling, unit.split] = whole
            continue
        n_test = tests[unit.sampling, unit.split][list(unit.sizes)]
        scores: Scores = {
            name: draw.random(shape, dtype=np.float32) * np.float32(metric.high)
            for name, metric in METRICS.items()
        }
        rising = 1 - 1 / (1 + np.array(unit.sizes)[:, None] / 10)
        hits = draw.binomial(n_test, np.broadcast_to(rising, shape))
        scores["accuracy"] = (hits / n_test).astype(np.float32)
        scores["auc"][draw.random(shape) < 0.01] = np.nan
        scores["n_clipped"] = (hits // 2).astype(np.int32)
        if unit.tuning == "tuned":
            for name in METRICS:
                scores[f"choice_{name}"] = draw.integers(0, 20, shape, dtype=np.int8)
                scores[f"choice_flag_{name}"] = draw.integers(0, 4, shape, dtype=np.int8)
        found[unit] = scores
    return found


def write_plausible(path: Path, snapshot: Snapshot, repetitions: int = 5, **options) -> list[Unit]:
    """Write a cube of complete curves; `options` are those of `toy_units`."""
    units = toy_units(snapshot, **options)
    scores = plausible_scores(units, snapshot.rows, repetitions)
    write_cube(path, snapshot, units, repetitions, scores)
    return units


def write_database(folder: Path, repetitions: int = 5, **options) -> Path:
    """Write a database of three cubes that differ in length, learners and repetitions."""
    cubes = folder / "cubes"
    cubes.mkdir(parents=True)
    some = {"learners": ("LDC", "QDC", "NNC"), "samplings": ("additive", "random")}
    options = {**some, "splits": ("fixed", "varying"), "tunings": ("default", "tuned"), **options}
    more = {**options, "learners": ("LDC", "MLP")}
    write_plausible(cubes / "61.nc", snapshot_of("61", "iris", 60), repetitions, **options)
    write_plausible(cubes / "1063.nc", snapshot_of("1063", "kc2", 40, 2), repetitions, **more)
    write_plausible(cubes / "mine.nc", snapshot_of("mine", "my table", 50, 2), 3, **options)
    return folder


def set_status(path: Path, status: str, *, empty: bool = False, **labels: str) -> None:
    """Overwrite the status of one curve of a cube; `empty` as if nothing of it was written."""
    with h5py.File(path, "r+") as file:
        where = tuple(list(file[dim].asstr()[...]).index(labels[dim]) for dim in UNIT_DIMS)
        file["status"][where] = STATUSES.index(status)
        if empty:
            file["digest"][where] = ""


def rename(path: Path, name: str) -> None:
    """Give the dataset of a cube another name, as if it had been written with it."""
    with h5py.File(path, "r+") as file:
        title = str(file.attrs["title"]).replace(str(file.attrs["dataset_name"]), name)
        file.attrs["dataset_name"], file.attrs["title"] = name, title
