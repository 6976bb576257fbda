"""Two algorithms: how much better one is, and how sure that is."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.stats.quantiles import bootstrap_counts

__all__ = ["cvar_difference"]

_TRIAL = "trial"
#: Resamples that are drawn at once: memory is bounded by so many times the number of trials.
_AT_ONCE = 100


def cvar_difference(
    a: xr.DataArray,
    b: xr.DataArray,
    alpha: float,
    tail: str = "upper",
    *,
    paired: bool = True,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> xr.Dataset:
    """Return the difference of the CVaRs of two algorithms, with an interval by bootstrap.

    Trials are resampled in pairs: where both saw the same data, as all parts of ``db["dse"]`` of a
    task did, what the data did to both cancels. Trials are pairs where keys say that their data are
    the same: the coordinate ``data`` along ``trial``, which `dse` makes, or ``draws``, ``task`` and
    ``trial`` of ``db["dse"]``. Algorithms that have nothing in common in a trial, as those of
    ``db["pendulum"]``, are resampled each by itself: ``paired=False``.

    Parameters
    ----------
    a, b
        Outcomes along ``trial``, of one part each. NaN are left out, and so is, of pairs, a trial
        whose data only one of them has. For outcomes of one's own give both a coordinate ``data``
        along ``trial``: any names of the data, each once.
    alpha, tail
        As `cvar` takes them; ``alpha=0`` is the mean.
    paired
        Whether trials are paired by their data; if not, numbers of trials may differ.
    confidence
        Of the percentile interval.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    xarray.Dataset
        ``difference`` (a less b), ``error``, ``low`` and ``high``, and ``share``, the share of
        resamples in which a is ahead (ties count a half). The attribute ``trials`` is how many were
        compared: of pairs a number, else that of a and that of b.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> data = rng.normal(size=500)
    >>> names = {"data": ("trial", np.arange(500))}
    >>> b = xr.DataArray(data + rng.normal(0, 0.1, 500), names, "trial")
    >>> result = cvar_difference(b + 0.05, b, 0.5)
    >>> round(float(result["difference"]), 3), round(float(result["low"]), 3)
    (0.05, 0.05)
    >>> result = cvar_difference(b + 0.05, b[:200], 0.5, paired=False)
    >>> bool(result["low"] < 0.0 < result["high"]), result.attrs["trials"]
    (True, [500, 200])
    """
    if paired:
        x, y = _paired(a, b)
        counts = bootstrap_counts(len(x), resamples, seed)
        drawn = _resampled(x, counts, alpha, tail) - _resampled(y, counts, alpha, tail)
    else:
        x, y = _alone("a", a), _alone("b", b)
        first, second = (
            _resampled_alone(z, np.random.default_rng([seed, place]), resamples, alpha, tail)
            for place, z in enumerate((x, y))
        )
        drawn = first - second
    statistic = stats.cvar_upper if _is_upper(tail) else stats.cvar_lower
    rest = 0.5 * (1.0 - confidence)
    low, high = np.quantile(drawn, [rest, 1.0 - rest])
    return xr.Dataset(
        {
            "difference": float(statistic(x, alpha) - statistic(y, alpha)),
            "error": float(drawn.std(ddof=1)),
            "low": float(low),
            "high": float(high),
            "share": float((drawn > 0).mean() + 0.5 * (drawn == 0).mean()),
        },
        attrs={
            "trials": len(x) if paired else [len(x), len(y)],
            "alpha": alpha,
            "tail": tail,
            "confidence": confidence,
            "resamples": resamples,
        },
    )


def _is_upper(tail: str) -> bool:
    if tail not in ("upper", "lower"):
        msg = f"tail is {tail!r}; expected 'upper' or 'lower'"
        raise ValueError(msg)
    return tail == "upper"


def _check_dims(name: str, z: xr.DataArray) -> None:
    if z.dims != (_TRIAL,):
        dims = ", ".join(map(str, z.dims)) or "none"
        msg = f"{name} has the dims {dims}; expected 'trial' alone: select one part"
        raise ValueError(msg)


def _alone(name: str, z: xr.DataArray) -> np.ndarray:
    """Return the outcomes of all trials that there are."""
    _check_dims(name, z)
    there = z.values[~np.isnan(z.values)].astype(float)
    if not there.size:
        msg = f"{name} has no trials; expected one outcome or more that is not NaN"
        raise ValueError(msg)
    return there


def _paired(a: xr.DataArray, b: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the outcomes of the trials whose data both have."""
    _check_dims("a", a)
    _check_dims("b", b)
    keys = _keys("a", a), _keys("b", b)
    _, first, second = np.intersect1d(keys[0], keys[1], return_indices=True)
    order = np.argsort(first)  # trials stay in the order of a
    x, y = (z.values.astype(float) for z in (a[first[order]], b[second[order]]))
    both = ~(np.isnan(x) | np.isnan(y))
    if not both.any():
        msg = (
            "a and b have no trial with the same data; expected outcomes on the same data, or say "
            "paired=False"
        )
        raise ValueError(msg)
    return x[both], y[both]


def _keys(name: str, z: xr.DataArray) -> np.ndarray:
    """Return what names the data of each trial; raise where nothing does, or not each once."""
    labels = [str(z[label].values) for label in ("draws", "task") if label in z.coords]
    keys = np.empty(0, str)
    if "data" in z.coords and z["data"].dims == (_TRIAL,):
        keys = z["data"].values.astype(str)
    elif len(labels) == 2 and _TRIAL in z.coords:
        keys = np.array([f"{' '.join(labels)} {trial}" for trial in z[_TRIAL].values])
    if not keys.size or (keys == "").any():
        msg = (
            f"{name} has no keys of the data of its trials, so that none can be paired; give both "
            "a coordinate 'data' along 'trial', or say paired=False"
        )
        raise ValueError(msg)
    if len(np.unique(keys)) < len(keys):
        msg = f"{name} has several trials of the same data; expected one, or say paired=False"
        raise ValueError(msg)
    return keys


def _resampled(x: np.ndarray, counts: np.ndarray, alpha: float, tail: str) -> np.ndarray:
    """Return the CVaR of every resample: of values in order, each as often as it was drawn."""
    upper = _is_upper(tail)
    order = np.argsort(-x if upper else x, kind="stable")
    values = x[order]
    share = (1.0 - alpha if upper else alpha) * len(x)
    result = np.empty(counts.shape[1])
    for first in range(0, len(result), _AT_ONCE):
        part = counts[order, first : first + _AT_ONCE]
        before = np.cumsum(part, axis=0) - part
        taken = np.clip(share - before, 0.0, part)
        result[first : first + _AT_ONCE] = values @ taken / share
    return result


def _resampled_alone(
    x: np.ndarray, rng: np.random.Generator, resamples: int, alpha: float, tail: str
) -> np.ndarray:
    """Return the CVaR of resamples that are drawn for these outcomes alone, a few at once."""
    size, found = len(x), []
    for first in range(0, resamples, _AT_ONCE):
        few = min(_AT_ONCE, resamples - first)
        places = rng.integers(0, size, (few, size)) + size * np.arange(few)[:, None]
        counts = np.bincount(places.ravel(), minlength=few * size).reshape(few, size)
        found.append(_resampled(x, counts.T, alpha, tail))
    return np.concatenate(found)
