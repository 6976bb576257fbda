"""Lifetimes on the pendulum without their episodes: what tables and figures take from them.

A cube of 20,000 lifetimes has a return for each of 1,000 episodes, and 80 MB. What is asked of it
are means of the first so many episodes of each lifetime, its hyper-parameters, and the mean over
lifetimes along the episodes: that has a hundredth of the bytes.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb._version import __version__
from lcdb.atomic import replace_file
from lcdb.schema import EXPERIMENTS, LIFETIMES_KIND
from lcdb.summaries.write import as_netcdf

if TYPE_CHECKING:
    from lcdb.database import Database

__all__ = [
    "LENGTHS",
    "LIFETIMES",
    "describe_lifetimes",
    "summarize_lifetimes",
    "window_means",
    "window_of",
]

#: The experiment that has lifetimes.
LIFETIMES = "pendulum"

#: Episodes of a lifetime at which Table 2 is shown, as far as lifetimes have them.
LENGTHS = (100, 130, 200, 500, 1000)
#: Points of a curve along the episodes.
_POINTS = 100
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_KEPT = ("status", "trials", "params", "digest")


def window_of(episodes: int) -> int:
    """Return how many episodes figures average, so that lines can be told apart.

    Examples
    --------
    >>> window_of(1000), window_of(7)
    (10, 1)
    """
    return max(1, episodes // _POINTS)


def window_means(returns: np.ndarray, window: int) -> np.ndarray:
    """Return the means of every `window` episodes: (trial, windows); a rest is left out.

    Examples
    --------
    >>> window_means(np.array([[1.0, 3.0, 5.0, 7.0, 0.0]]), 2).tolist()
    [[2.0, 6.0]]
    """
    whole = returns.shape[1] // window * window
    return returns[:, :whole].reshape(len(returns), -1, window).mean(axis=2)


def summarize_lifetimes(db: Database, out: str | os.PathLike[str]) -> Path:
    """Write what tables and figures take from the lifetimes of a database; return the file.

    Parameters
    ----------
    db
        An open database with the cube of the pendulum.
    out
        A name that ends in ``.nc`` is the file; anything else is a directory, which becomes or is
        a database: ``out/lifetimes/pendulum.nc``.
    """
    target = Path(out)
    path = target if target.suffix == ".nc" else target / "lifetimes" / "pendulum.nc"
    header = db.experiments["pendulum"]
    header.need_episodes()
    with header.path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    replace_file(path, as_netcdf(describe_lifetimes(db["pendulum"], sha256)))
    return path


def describe_lifetimes(cube: xr.Dataset, sha256: str) -> xr.Dataset:
    """Return the summary of a cube of the pendulum.

    Parameters
    ----------
    cube
        As ``db["pendulum"]`` is.
    sha256
        Digest of its file.

    Returns
    -------
    xarray.Dataset
        ``mean_of_first`` by algorithm, length and trial; hyper-parameters by algorithm and trial;
        mean, standard deviation and quantiles over trials by window of episodes. All floats are
        float32; a standard deviation of actions that float32 cannot hold is infinite.
    """
    episodes = cube.sizes["episode"]
    lengths = np.array([n for n in LENGTHS if n < episodes] + [episodes], np.int32)
    window = window_of(episodes)
    ends = np.arange(window, episodes + 1, window, dtype=np.int32)
    labels, trials = cube["algorithm"].values, cube["trial"].values
    shape = (len(labels), len(trials))
    means = np.full((len(labels), len(lengths), len(trials)), np.nan, np.float32)
    bands = np.full((2 + len(_QUANTILES), len(labels), len(ends)), np.nan, np.float32)
    for i in range(len(labels)):
        returns = cube["episode_return"].isel(algorithm=i).transpose("trial", "episode").values
        for j, length in enumerate(lengths):
            means[i, j] = returns[:, :length].mean(axis=1, dtype=np.float64)
        there = np.isfinite(returns[:, 0])
        if there.any():
            smooth = window_means(returns[there].astype(float), window)
            levels = np.quantile(smooth, _QUANTILES, axis=0)
            bands[:, i] = [smooth.mean(axis=0), smooth.std(axis=0), *levels]
    where = ("algorithm", "window")
    found: dict[str, Any] = {name: cube[name] for name in _KEPT if name in cube}
    found["mean_of_first"] = _array(
        ("algorithm", "length", "trial"), means, "mean return of the first episodes of a lifetime"
    )
    for name, variable in EXPERIMENTS["pendulum"].variables.items():
        if name in cube and cube[name].dims == ("algorithm", "trial"):
            values = np.broadcast_to(cube[name].values, shape)
            dtype = np.dtype("float32") if values.dtype.kind == "f" else values.dtype
            with np.errstate(over="ignore"):  # of a lifetime that froze
                values = values.astype(dtype)
            found[name] = (("algorithm", "trial"), values, variable.attributes)
    found["window_mean"] = _array(where, bands[0], "mean over trials of the return of an episode")
    found["window_sd"] = _array(where, bands[1], "its standard deviation over trials")
    found["window_quantile"] = _array(("q", *where), bands[2:], "its quantiles over trials")
    coords = {
        "algorithm": ("algorithm", labels.astype(object)),
        "trial": ("trial", trials.astype(np.int32)),
        "length": ("length", lengths, {"long_name": "episodes that are averaged", "units": "1"}),
        "window": ("window", ends, {"long_name": "last episode of a window", "units": "1"}),
        "q": ("q", np.array(_QUANTILES), {"long_name": "probability", "units": "1"}),
    }
    own = {
        "title": f"Summary of: {cube.attrs.get('title', 'lifetimes')}",
        "cube_kind": LIFETIMES_KIND,
        "package_version": __version__,
        "episodes": episodes,
        "cube_sha256": sha256,
    }
    return xr.Dataset(found, coords, {**cube.attrs, **own})


def _array(dims: tuple[str, ...], values: np.ndarray, text: str) -> tuple[Any, ...]:
    return dims, values, {"long_name": text, "units": "1"}
