"""Statistics of outcomes along the dim ``trial``: CDFs, quantiles, CVaR."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from lcdb import stats

__all__ = ["cdf", "cvar", "cvar_error", "inverse_cdf", "threshold_area"]

_TRIAL = "trial"


def _rows(
    z: xr.DataArray, statistic: Callable[[np.ndarray], np.ndarray], dims: Mapping[str, np.ndarray]
) -> xr.DataArray:
    """Return a statistic of every row of trials, without those that were not computed."""
    others = [dim for dim in z.dims if dim != _TRIAL]
    values = z.transpose(*others, _TRIAL).values.astype(float)
    shape = tuple(len(values_at) for values_at in dims.values())
    result = np.full((*values.shape[:-1], *shape), np.nan)
    for where in np.ndindex(values.shape[:-1]):
        row = values[where][~np.isnan(values[where])]
        if row.size:
            result[where] = statistic(row)
    coords = {dim: z[dim] for dim in others if dim in z.coords} | dict(dims)
    return xr.DataArray(result, coords, (*others, *dims), name=z.name)


def cdf(z: xr.DataArray, at: np.ndarray, confidence: float = 0.95) -> xr.Dataset:
    """Return the CDF of outcomes with a band that holds all of it with the given confidence.

    Parameters
    ----------
    z
        Outcomes, with the dim ``trial``; NaN are left out.
    at
        Values at which it is evaluated.
    confidence
        Of the Dvoretzky-Kiefer-Wolfowitz band.

    Examples
    --------
    >>> z = xr.DataArray(np.linspace(0, 1, 1001), dims="trial")
    >>> found = cdf(z, [0.25, 2.0])
    >>> found["cdf"].values.round(3).tolist(), found["low"].values.round(3).tolist()
    ([0.251, 1.0], [0.208, 0.957])
    """
    dims = {"value": np.asarray(at, float)}
    share = _rows(z, lambda row: stats.cdf(row, dims["value"]), dims)
    half = _rows(z, lambda row: np.asarray(stats.band_width(row.size, confidence)), {})
    return xr.Dataset(
        {"cdf": share, "low": (share - half).clip(0, 1), "high": (share + half).clip(0, 1)}
    )


def inverse_cdf(
    z: xr.DataArray,
    probabilities: np.ndarray,
    confidence: float = 0.95,
    support: tuple[float, float] = (-np.inf, np.inf),
) -> xr.Dataset:
    """Return the inverse CDF of outcomes with a band that holds all of it.

    Parameters
    ----------
    z
        Outcomes, with the dim ``trial``; NaN are left out.
    probabilities
        Where it is evaluated.
    confidence
        Of the Dvoretzky-Kiefer-Wolfowitz band.
    support
        Smallest and largest possible outcome, which bound the band.

    Examples
    --------
    >>> z = xr.DataArray(np.arange(1000.0), dims="trial")
    >>> found = inverse_cdf(z, [0.5], support=(0, 1000))
    >>> float(found["value"][0]), float(found["low"][0]), float(found["high"][0])
    (499.0, 457.0, 542.0)
    """
    p = np.asarray(probabilities, float)
    dims = {"probability": p}

    def band(side: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda row: stats.inverse_cdf_band(row, p, confidence, support)[side]

    return xr.Dataset(
        {
            "value": _rows(z, lambda row: stats.inverse_cdf(row, p), dims),
            "low": _rows(z, band(0), dims),
            "high": _rows(z, band(1), dims),
        }
    )


def cvar(z: xr.DataArray, alpha: float, tail: str = "upper") -> xr.DataArray:
    """Return CVaR: the mean of the best (1 - alpha) share of outcomes.

    Parameters
    ----------
    z
        Outcomes, with the dim ``trial``; NaN are left out.
    alpha
        Share of trials: those left out of the upper tail, or those that make up the lower one.
    tail
        ``"upper"`` for the largest (1 - alpha) share, ``"lower"`` for the smallest alpha share.

    Examples
    --------
    >>> z = xr.DataArray([1.0, 2.0, 3.0, 4.0, np.nan], dims="trial")
    >>> float(cvar(z, 0.5)), float(cvar(z, 0.5, tail="lower"))
    (3.5, 1.5)
    """
    return _rows(z, lambda row: _cvar(row, alpha, tail), {})


def _cvar(x: np.ndarray, alpha: float, tail: str) -> np.ndarray:
    if tail not in ("upper", "lower"):
        msg = f"tail is {tail!r}; expected 'upper' or 'lower'"
        raise ValueError(msg)
    return (stats.cvar_upper if tail == "upper" else stats.cvar_lower)(x, alpha)


def cvar_error(
    z: xr.DataArray, alpha: float, tail: str = "upper", *, seed: int = 0, resamples: int = 1000
) -> xr.DataArray:
    """Return the bootstrap standard error of `cvar`.

    Examples
    --------
    >>> z = xr.DataArray(np.random.default_rng(0).normal(size=400), dims="trial")
    >>> 0.05 < float(cvar_error(z, 0.5)) < 0.07
    True
    """
    return _rows(
        z,
        lambda row: stats.bootstrap(
            row, lambda x: _cvar(x, alpha, tail), np.random.default_rng(seed), resamples
        )[0],
        {},
    )


def threshold_area(z: xr.DataArray, threshold: float) -> xr.DataArray:
    """Return E[Z; Z >= threshold]: the mean of outcomes with all lower ones counted as 0.

    Examples
    --------
    >>> z = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="trial")
    >>> float(threshold_area(z, 3.0))
    1.75
    """
    return _rows(z, lambda row: stats.threshold_area(row, threshold), {})
