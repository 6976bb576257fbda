"""Data of few distinct rows, and units of every learner with a kernel, for tests of its numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit, canonical_json
from lcdb_builders.learners import registry

from tests.support.tuned import tuned_unit

KINDS = ("8 rows", "30 rows", "binary features", "small integers", "two classes")
#: Smaller grids where the reference's loop is slow.
GRIDS = {
    "LREG": (1e-4, 1e-2),
    "LSVC": (1e-6, 1e-2, 1.0),
    "GSVC": (1e-6, 1e-2, 1.0),
    "RFOR": (1, 2, 5),
    "ADAB": (1, 3, 8),
    "DT": (1, 3, 10),
}


@cache
def tied(kind: str, rows: int, seed: int = 0) -> Snapshot:
    """Return a dataset in which most rows have thousands of copies of their features."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    classes = {"binary features": 10, "two classes": 2}.get(kind, 3)
    if kind in ("8 rows", "30 rows"):
        distinct = rng.integers(0, 2, (int(kind.split()[0]), 4)) + rng.integers(0, 3, 4)
        X = distinct[rng.integers(0, len(distinct), rows)]
    else:
        X = rng.integers(0, 2 if kind == "binary features" else 4, (rows, 5))
    signal = X @ rng.integers(-2, 3, X.shape[1]) + rng.integers(0, 3, rows)
    y = np.argsort(np.argsort(signal, kind="stable"), kind="stable") * classes // rows
    y = np.where(rng.random(rows) < 0.2, rng.integers(0, classes, rows), y)
    y[:classes] = range(classes)
    features = tuple(f"x{j}" for j in range(X.shape[1]))
    names = tuple(f"c{c}" for c in range(classes))
    return Snapshot(f"tied-{KINDS.index(kind)}", X.astype(float), y, features, names, kind)


def unit_of(name, snapshot, sampling, split, tuning, sizes) -> Unit:
    learner = registry.get(name)
    small = {"trees": 3} if name == "RFOR" else {"stumps": 10} if name == "ADAB" else {}
    if tuning == "tuned":
        return tuned_unit(
            learner, snapshot, sampling, split, sizes, params=small, grid=GRIDS.get(name)
        )
    return Unit(
        dataset=snapshot.id,
        dataset_sha256=snapshot.sha256,
        seed=3,
        learner=name,
        estimator="",
        params=canonical_json(learner.complete(small)),
        implementation=learner.implementation,
        sampling=sampling,
        split=split,
        tuning="default",
        tuning_rule="",
        sizes=sizes,
    )
