"""Honest numbers, and the same as the paper's public generator would have made them.

A view explains a difference from the printed tables; it never takes the place of a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["VIEWS", "duplicate_seeds", "part", "some_curves", "some_draws"]

#: Ways in which the public generator of the paper differs from the paper's text.
VIEWS = {
    "duplicate_seeds": "repetition seeds drawn with replacement, so that some 63 % are distinct",
    "pool": "separate test sets evaluated on the training pool",
    "both": "duplicate seeds, and separate test sets evaluated on the training pool",
}
_SEED = 2026


def duplicate_seeds(scores: xr.DataArray) -> xr.DataArray:
    """Return honest repetitions re-indexed as if their seeds had been drawn with replacement.

    Examples
    --------
    >>> scores = xr.DataArray(np.arange(1000.0), dims="repetition")
    >>> 600 < len(np.unique(duplicate_seeds(scores))) < 660
    True
    """
    size = scores.sizes["repetition"]
    picks = np.random.default_rng(_SEED).integers(0, size, size)
    return scores.isel(repetition=picks)


def _splits(db: Database, key: Key, view: str | None) -> list[str]:
    """Return the splits of a cube that a view shows: `pool` in the place of `fixed`, or not."""
    there = db.headers[key].labels["split"]
    left_out = "fixed" if view in ("pool", "both") else "pool"
    if view in ("pool", "both") and "pool" not in there:
        return []
    return [split for split in there if split != left_out]


def _as_seen(array: xr.DataArray, view: str | None) -> xr.DataArray:
    names = ["fixed" if split == "pool" else split for split in array["split"].values]
    array = array.assign_coords(split=names)
    return duplicate_seeds(array) if view in ("duplicate_seeds", "both") else array


def some_curves(
    db: Database, key: Key, metric: str, view: str | None, tuning: str
) -> xr.DataArray | None:
    """Return a metric of one dataset and tuning as a view has it; None where there is none."""
    splits = _splits(db, key, view)
    if tuning not in db.headers[key].labels["tuning"] or not splits:
        return None
    return _as_seen(
        db.select(key, sampling=None, split=splits, tuning=tuning, metric=metric)[key], view
    )


def some_draws(db: Database, key: Key, view: str | None) -> xr.DataArray:
    """Return the numbers of test rows that belong to `some_curves`."""
    return _as_seen(db[key]["n_test"].sel(split=_splits(db, key, view)), view)


def part(db: Database) -> list[str]:
    """Return a line for each dataset: what part of a plan the numbers of a database rest on.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     print(part(db)[1])
    iris (61): NMC, LDC, QDC, NNC; additive, random, bootstrap; fixed, varying; default; 15 sizes \
up to 105, 200 repetitions
    """
    lines = []
    for header in db.scaled().headers.values():
        labels = [", ".join(header.labels[dim]) for dim in header.labels]
        lines.append(
            f"{header.name} ({header.key}): {'; '.join(labels)}; {header.size_count} sizes "
            f"up to {header.runs[-1][1]}, {header.repetitions} repetitions"
        )
    return lines
