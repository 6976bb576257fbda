"""The cubes of a database become files of summaries."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from lcdb.atomic import replace_file
from lcdb.digests import plan_units, unit_sizes
from lcdb.errors import ArgumentError
from lcdb.naming import cube_key
from lcdb.summaries.describe import describe
from lcdb.summaries.lifetimes import LIFETIMES, summarize_lifetimes
from lcdb.summaries.sizes import chosen_sizes
from lcdb.summaries.write import as_netcdf

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["summarize"]


def summarize(
    db: Database,
    out: str | os.PathLike[str],
    *,
    sizes: str = "log:100",
    bits: int | None = None,
    datasets: Sequence[Key] | None = None,
) -> Iterator[Path]:
    """Write a summary of each cube, and yield its path.

    Parameters
    ----------
    db
        An open database with full cubes.
    out
        A name that ends in ``.nc`` is a file, for one dataset; anything else is a directory, in
        whose folder ``summaries`` they are written as ``<id>.nc``. It may be that of `db`. What
        there is of lifetimes goes to ``lifetimes/pendulum.nc``, see `lcdb.summaries.lifetimes`.
    sizes
        As `lcdb.summaries.sizes.chosen_sizes` takes them, of the sizes that were computed.
    bits
        Significant binary digits to keep of each cell's statistics, 8 to 24: with 14 relative
        errors are below 7e-5, and files about a fifth smaller. None for all digits.
    datasets
        Ids or names, or ``"pendulum"``; all unless given.

    Raises
    ------
    ArgumentError, SummaryError, StorageError
        A file is to hold several datasets, or the cube itself; only a summary is there; it could
        not be written.

    Examples
    --------
    >>> import lcdb, tempfile
    >>> with lcdb.tutorial() as db, tempfile.TemporaryDirectory() as folder:
    ...     written = list(summarize(db, folder, sizes="5,50", datasets=["iris"]))
    ...     small = lcdb.open(folder)
    ...     small["iris"].n.values.tolist(), written[0].name
    ([5, 50], '61.nc')
    """
    if bits is not None and not 8 <= bits <= 24:
        msg = f"bits are {bits}; expected 8 to 24, or None for all"
        raise ArgumentError(msg)
    target = Path(out)
    named = [*db, *set(db.experiments) & {LIFETIMES}] if datasets is None else datasets
    lifetimes = LIFETIMES in named and LIFETIMES in db.experiments
    keys = [db.resolve(name) for name in named if not (lifetimes and name == LIFETIMES)]
    if target.suffix == ".nc" and len(keys) + lifetimes != 1:
        msg = (
            f"{target} is one file, and there are {len(keys) + lifetimes} datasets; expected one "
            "of them, or a directory (a name that does not end in .nc)"
        )
        raise ArgumentError(msg)
    for key in keys:
        header = db.headers[key]
        header.need_repetitions()
        path = target
        if target.suffix != ".nc":
            path = target / "summaries" / f"{cube_key(header.id, header.scaling)}.nc"
        if path.exists() and path.samefile(header.path):
            msg = f"{path} is the cube itself; expected another file for its summary"
            raise ArgumentError(msg)
        cube = db[key]
        kept = chosen_sizes(sizes, computed_sizes(cube), tuned_sizes(cube))
        small = describe(cube, kept, _sha256(header.path), bits)
        replace_file(path, as_netcdf(small))
        yield path
    if lifetimes:
        yield summarize_lifetimes(db, target)


def computed_sizes(cube: xr.Dataset) -> np.ndarray:
    """Return the sizes for which rows were drawn."""
    drawn = (cube["n_test"].isel(repetition=0) > 0).any(["sampling", "split"])
    return cube["n"].values[drawn.values]


def tuned_sizes(cube: xr.Dataset) -> np.ndarray:
    """Return the sizes of tuned curves where these are fewer than of the others; else none."""
    plan = json.loads(cube.attrs["plan"])
    found: dict[str, set[int]] = {"default": set(), "tuned": set()}
    for unit in plan_units(plan):
        found[unit["tuning"]].update(unit_sizes(unit).tolist())
    later = {n for n in found["default"] if n >= min(found["tuned"], default=0)}
    fewer = found["tuned"] if found["tuned"] < later else set()
    return np.array(sorted(fewer), int)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
