"""Snapshots for tests of learners: real datasets, and generated ones of every awkward kind."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.arff import read_arff
from lcdb_builders.sources.catalog import expected
from lcdb_builders.sources.convert import to_snapshot

REAL = {
    "61": "61-iris.arff",
    "11": "11-balance-scale.arff",
    "53": "53-heart-statlog.arff",
    "37": "37-diabetes.arff",
    "23": "23-cmc.arff",
    "1063": "1063-kc2.arff",
}

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
def real(id: str, folder: Path) -> Snapshot:
    """Return a dataset of the paper from a copy of OpenML's file."""
    table = read_arff((folder / "openml" / REAL[id]).read_text("latin-1"))
    entry = expected()[id]
    return to_snapshot(table, id=entry.id, name=entry.name, target=entry.target)


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
