"""Small classification problems, ordinary and degenerate, for tests of learners."""

from __future__ import annotations

import numpy as np

KINDS = (
    "ordinary",
    "integers",
    "separable",
    "duplicates",
    "constant feature",
    "wide",
    "far from zero",
    "mixed scales",
    "one row each",
)


def problem(kind: str, seed: int, classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows, their classes (all present) and test rows."""
    rng = np.random.default_rng([seed, KINDS.index(kind), classes])
    n, d = int(rng.integers(3 * classes, 30)), int(rng.integers(2, 5))
    if kind == "wide":
        n, d = classes + 3, classes + 4
    if kind == "one row each":
        n = classes
    y = rng.permutation(np.arange(n) % classes)
    X = rng.normal(size=(n, d)) + rng.normal(size=(classes, d))[y]
    test = rng.normal(size=(15, d)) * 2
    if kind == "integers":
        X, test = np.round(2 * X), np.round(2 * test)
    elif kind == "separable":
        X[:, 0] += 20 * y
        test[:, 0] += rng.uniform(0, 20 * classes, len(test))
    elif kind == "duplicates":
        copied = rng.integers(0, n, n)
        copied[:classes] = [int(np.flatnonzero(y == c)[0]) for c in range(classes)]
        X, y = X[copied], y[copied]
    elif kind == "constant feature":
        X[:, 0] = test[:, 0] = 0.1
    elif kind == "far from zero":
        X, test = X + 1e4, test + 1e4
    elif kind == "mixed scales":
        scale = 10.0 ** rng.integers(-3, 4, d)
        X, test = X * scale, test * scale
    return X, y, test
