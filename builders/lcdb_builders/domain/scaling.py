"""Scaled features: another snapshot of the same dataset, made in memory and never stored.

Constants come from the rows that `fixed` draws its training sets from; labels are never looked at.
A test row of `fixed` is not looked at either, one of `varying` may be. Rows are drawn with the
digest of the unscaled data, so that the curves of a dataset under any scaling are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import fsum
from pathlib import Path

import numpy as np

from lcdb.errors import DatasetError
from lcdb.naming import cube_key, dataset_id
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit

__all__ = ["load_for", "rescaled", "scaled"]


def scaled(snapshot: Snapshot, scaling: str, seed: int) -> Snapshot:
    """Return a snapshot with scaled features; itself for ``"none"``.

    Parameters
    ----------
    snapshot
        The dataset as it came.
    scaling
        ``"none"``, ``"standard"`` (mean 0 and standard deviation 1) or ``"minmax"`` (0 to 1).
    seed
        The master seed, which decides what the pool of ``fixed`` is.

    Examples
    --------
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    >>> toy = Snapshot("toy", X, y, ("a", "b"), ("no", "yes"), "toy")
    >>> other = scaled(toy, "minmax", seed=1)
    >>> other.id, other.key == toy.key, other.sha256 == toy.sha256
    ('toy-minmax', True, False)
    """
    if scaling == "none":
        return snapshot
    # Only who draws waits for the compiler of the kernels to be imported.
    from lcdb_builders.domain.sampling import Draws

    pool = Draws(snapshot.rows, snapshot.key, seed, "random", "fixed").pool
    return replace(
        snapshot,
        id=cube_key(snapshot.id, scaling),
        X=rescaled(snapshot.X, pool, scaling, snapshot.name),
        scaling=scaling,
        drawn_with=snapshot.key,
    )


def rescaled(X: np.ndarray, rows: np.ndarray, scaling: str, name: str = "X") -> np.ndarray:
    """Return features scaled by constants of some of the rows; what is constant there becomes 0.

    Parameters
    ----------
    X
        Features.
    rows
        Those that the constants are of.
    scaling
        ``"standard"`` or ``"minmax"``.
    name
        Of the dataset, for errors.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0], [7.0, 6.0]])
    >>> rescaled(X, np.array([0, 1]), "standard").tolist()
    [[-1.0, 0.0], [1.0, 0.0], [5.0, 0.0]]
    """
    scaled = np.zeros(X.shape)
    for j, column in enumerate(X.T):
        with np.errstate(over="ignore", invalid="ignore"):
            centre, width = _CONSTANTS[scaling](column[rows])
            if width > 0.0:
                scaled[:, j] = (column - centre) / width
        if not (np.isfinite(width) and np.isfinite(scaled[:, j]).all()):
            msg = f"{name}: column {j} has numbers too far apart for {scaling} scaling; correct it"
            raise DatasetError(msg)
    return scaled


# Sums are rounded once, so that constants are the same bits on every machine.


def _mean_and_sd(column: np.ndarray) -> tuple[float, float]:
    if (column == column[0]).all():
        return float(column[0]), 0.0
    mean = _mean(column)
    return mean, float(np.sqrt(_mean((column - mean) ** 2)))


def _mean(values: np.ndarray) -> float:
    try:
        return fsum(values) / len(values)
    except OverflowError:
        return float("inf")


def _minimum_and_range(column: np.ndarray) -> tuple[float, float]:
    return float(column.min()), float(np.ptp(column))


_CONSTANTS: Mapping[str, Callable[[np.ndarray], tuple[float, float]]] = {
    "standard": _mean_and_sd,
    "minmax": _minimum_and_range,
}


def load_for(folder: Path, unit: Unit) -> Snapshot:
    """Return what a unit is computed on: the snapshot of a folder, scaled as the unit says."""
    stored = snapshots.load(folder, dataset_id(unit.dataset, unit.scaling))
    return scaled(stored, unit.scaling, unit.seed)
