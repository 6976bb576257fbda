"""Datasets whose rows are many copies of few: rounding decides what ties, if anything does."""

from __future__ import annotations

import numpy as np

KINDS = ("few rows", "binary features, ten classes", "small integers")


def tied(kind: str, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes; all classes are there."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    if kind == "few rows":  # 8 to 30 distinct ones
        count, features, classes = rng.integers((8, 2, 2), (31, 6, 4))
        base = np.round(rng.normal(size=(count, features)) * 2, seed % 3)
        place = rng.integers(0, count, rows)
        y = np.where(rng.random(rows) < 0.8, place, rng.integers(0, 99, rows)) % classes
        X = base[place]
    elif kind == "binary features, ten classes":
        features = int(rng.integers(4, 10))
        X = (rng.random((rows, features)) < rng.uniform(0.1, 0.9, features)).astype(float)
        scores = X @ rng.normal(size=(features, 10)) + rng.gumbel(size=(rows, 10))
        y = scores.argmax(axis=1)
    else:
        X = rng.integers(0, 4, (rows, int(rng.integers(2, 5)))).astype(float)
        y = ((X.sum(axis=1) + rng.integers(0, 3, rows)) // 3).astype(int) % (2 + seed % 2)
    return X, np.unique(y, return_inverse=True)[1]
