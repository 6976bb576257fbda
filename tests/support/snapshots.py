"""Snapshots for tests of learners: real datasets, and generated ones of every awkward kind."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.arff import read_arff
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.sources.catalog import expected
from lcdb_builders.sources.convert import to_snapshot
from sklearn.datasets import load_breast_cancer, load_wine

#: Real datasets that ship, with this package or with scikit-learn.
SHIPPED = ("61", "11", "wine", "breast-cancer")
#: Copies of OpenML's files, where LCDB_TEST_DATA names a folder with them.
COPIES = {
    "53": "53-heart-statlog.arff",
    "37": "37-diabetes.arff",
    "23": "23-cmc.arff",
    "1063": "1063-kc2.arff",
}
#: For `parametrize`: what ships is tried everywhere.
REAL = (*SHIPPED[:3], *(pytest.param(id, marks=pytest.mark.data) for id in COPIES))

GENERATED = (
    "two classes",
    "ten classes",
    "integers",
    "duplicates",
    "constant features",
    "separable",
    "wide",
    "far from zero",
    "rare class",
)


@cache
def real(id: str) -> Snapshot:
    """Return a real dataset; skip the test if it needs a copy that is not at hand."""
    if id == "wine":
        return _of_scikit_learn(id, load_wine())
    if id == "breast-cancer":
        return _of_scikit_learn(id, load_breast_cancer())
    if id in SHIPPED:
        return bundled(id)
    table = read_arff((data_folder() / "openml" / COPIES[id]).read_text("latin-1"))
    entry = expected()[id]
    return to_snapshot(table, id=entry.id, name=entry.name, target=entry.target)


def data_folder() -> Path:
    """Return the folder with copies of public datasets; skip the test if there is none."""
    folder = os.environ.get("LCDB_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("LCDB_TEST_DATA does not name a folder with the OpenML copies")
    return Path(folder)


def _of_scikit_learn(id: str, data: Any) -> Snapshot:
    return Snapshot(
        id=id,
        X=np.ascontiguousarray(data.data, float),
        y=data.target.astype(np.int64),
        feature_names=tuple(map(str, data.feature_names)),
        class_names=tuple(map(str, data.target_names)),
        name=id,
    )


@cache
def generated(kind: str, rows: int = 90, seed: int = 0) -> Snapshot:
    """Return a small dataset of one of the kinds above."""
    rng = np.random.default_rng([seed, GENERATED.index(kind)])
    classes = {"two classes": 2, "ten classes": 10, "separable": 2, "wide": 4}.get(kind, 3)
    d = 120 if kind == "wide" else 5
    y = rng.permutation(np.arange(rows) % classes)
    if kind == "rare class":
        y = np.where(rng.random(rows) < 0.9, 0, y)
        y[:classes] = range(classes)
    X = rng.normal(size=(rows, d)) + 1.5 * rng.normal(size=(classes, d))[y]
    if kind == "integers":
        X = np.round(X)
    elif kind == "duplicates":
        copied = rng.integers(0, rows // 3, rows)
        copied[:classes] = [int(np.flatnonzero(y == c)[0]) for c in range(classes)]
        X = np.round(X[copied], 1)
    elif kind == "constant features":
        X[:, 1], X[:, 3] = 0.1, -7e5
    elif kind == "separable":
        X[:, 0] += 30 * y
    elif kind == "far from zero":
        X = 1e4 + X * 10.0 ** np.arange(-2, 3)
    return Snapshot(
        id=f"generated-{GENERATED.index(kind)}",
        X=np.ascontiguousarray(X),
        y=y.astype(np.int64),
        feature_names=tuple(f"x{j}" for j in range(d)),
        class_names=tuple(f"c{c}" for c in range(classes)),
        name=kind,
    )
