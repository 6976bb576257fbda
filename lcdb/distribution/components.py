"""Where the spread of outcomes comes from: hyper-parameters, data, or the algorithm's own chance.

A trial draws all three at once, so trials alone cannot tell. Nested trials cross some draws of
hyper-parameters with some of data and repeat every pair; their analysis of variance, with random
effects of both and of their interaction, gives unbiased estimates of the four variances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from lcdb.distribution.trials import Score

__all__ = ["nested", "spread"]

_DIMS = ("hyperparameters", "data", "repetition")
_SOURCES = ("hyperparameters", "data", "interaction", "randomness")


def nested(
    train_and_score: Score,
    sample_hyperparameters: Callable[[np.random.Generator], Mapping[str, Any]],
    sample_data: Callable[[np.random.Generator], Any],
    seed: int,
    *,
    hyperparameters: int = 40,
    data: int = 10,
    repetitions: int = 2,
) -> xr.DataArray:
    """Return outcomes of every pair of some hyper-parameters and some data, repeated.

    Parameters
    ----------
    train_and_score, sample_hyperparameters, sample_data, seed
        As `dse` takes them.
    hyperparameters, data
        How many of each are drawn, 2 or more.
    repetitions
        How often every pair is trained, each time with another random generator; 2 or more.

    Returns
    -------
    xarray.DataArray
        Dims ``hyperparameters``, ``data`` and ``repetition``: what `spread` takes.

    Examples
    --------
    >>> outcomes = nested(
    ...     lambda chosen, x, rng: chosen["a"] + x + rng.normal(),
    ...     lambda rng: {"a": rng.normal()},
    ...     lambda rng: rng.normal(),
    ...     seed=1,
    ... )
    >>> dict(outcomes.sizes)
    {'hyperparameters': 40, 'data': 10, 'repetition': 2}
    """
    shape = (hyperparameters, data, repetitions)
    _check(shape)
    of_hyperparameters, of_data, of_training = np.random.SeedSequence([seed]).spawn(3)
    chosen = [
        dict(sample_hyperparameters(np.random.default_rng(stream)))
        for stream in of_hyperparameters.spawn(hyperparameters)
    ]
    result = np.empty(shape)
    # By pair, then repetition: more of any of the three leave the earlier outcomes as they are.
    rows = [row.spawn(data) for row in of_training.spawn(hyperparameters)]
    for j, stream in enumerate(of_data.spawn(data)):
        drawn = sample_data(np.random.default_rng(stream))
        for i in range(hyperparameters):
            for r, of_fit in enumerate(rows[i][j].spawn(repetitions)):
                rng = np.random.default_rng(of_fit)
                result[i, j, r] = float(train_and_score(chosen[i], drawn, rng))
    return xr.DataArray(result, dims=_DIMS, name="outcome", attrs={"seed": seed})


def _check(shape: tuple[int, ...]) -> None:
    for dim, size in zip(_DIMS, shape, strict=True):
        if size < 2:
            msg = f"there are {size} {dim}; expected 2 or more, to tell what they vary"
            raise ValueError(msg)


def spread(outcomes: xr.DataArray) -> xr.Dataset:
    """Return how much of the variance of a trial's outcome is due to what.

    Parameters
    ----------
    outcomes
        Of `nested`.

    Returns
    -------
    xarray.Dataset
        By ``source``: ``variance``, an unbiased estimate, which may fall below 0 where there is
        next to none; ``error``, its standard error, the larger of those by the jackknife over
        hyper-parameters and over data; ``share`` of the sum, with those below 0 as 0; and
        ``share_error``, the same error of that. The interaction is what data do to some
        hyper-parameters and not to others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(0, 3, (200, 1, 1)), rng.normal(0, 1, (1, 100, 1))
    >>> z = a + b + rng.normal(0, 0.5, (200, 100, 2))
    >>> result = spread(xr.DataArray(z, dims=("hyperparameters", "data", "repetition")))
    >>> str(result["share"].idxmax().item()), float(result["share"].sum().round(12))
    ('hyperparameters', 1.0)
    """
    missing = [dim for dim in _DIMS if dim not in outcomes.dims]
    if missing or outcomes.ndim != len(_DIMS):
        msg = f"outcomes have the dims {outcomes.dims}; expected {_DIMS}, as `nested` returns them"
        raise ValueError(msg)
    values = outcomes.transpose(*_DIMS).values.astype(float)
    _check(values.shape)
    if not np.isfinite(values).all():
        msg = "some outcomes are NaN or infinite; variances need every pair: score them by a number"
        raise ValueError(msg)
    variance = _components(values)
    left = [_without_each(values, axis) for axis in (0, 1)]
    columns = {
        "variance": variance,
        "error": _jackknife(left),
        "share": _shares(variance),
        "share_error": _jackknife([_shares(one) for one in left]),
    }
    return xr.Dataset(
        {name: ("source", column) for name, column in columns.items()},
        {"source": list(_SOURCES)},
        {"mean": float(values.mean())},
    )


def _components(values: np.ndarray) -> np.ndarray:
    """Return the variances of `_SOURCES`: mean squares less what they expect of the others."""
    h, d, s = values.shape
    pairs = values.mean(axis=2)
    rows = pairs.mean(axis=1, keepdims=True)
    columns = pairs.mean(axis=0, keepdims=True)
    rest = pairs - rows - columns + pairs.mean()
    within = ((values - pairs[..., None]) ** 2).sum() / (h * d * (s - 1))
    crossed = s * (rest**2).sum() / ((h - 1) * (d - 1))
    between_rows = d * s * rows.var(ddof=1)
    between_columns = h * s * columns.var(ddof=1)
    return np.array(
        [
            (between_rows - crossed) / (d * s),
            (between_columns - crossed) / (h * s),
            (crossed - within) / s,
            within,
        ]
    )


def _shares(variances: np.ndarray) -> np.ndarray:
    """Return the parts of the sum along the last axis; NaN where nothing varies."""
    positive = np.maximum(variances, 0.0)
    total = positive.sum(axis=-1, keepdims=True)
    return np.divide(positive, total, out=np.full_like(positive, np.nan), where=total > 0)


def _without_each(values: np.ndarray, axis: int) -> np.ndarray:
    """Return the variances of `_SOURCES` with one draw along `axis` left out, each in its turn."""
    size = values.shape[axis]
    if size < 3:
        return np.full((size, len(_SOURCES)), np.nan)
    return np.array([_components(np.delete(values, k, axis)) for k in range(size)])


def _jackknife(left: list[np.ndarray]) -> np.ndarray:
    """Return the larger of the jackknife's errors, each of values with one draw left out.

    The sum of their squares would count twice what every pair has of its own.
    """
    squares = [(len(one) - 1) * one.var(axis=0) for one in left]
    return np.sqrt(np.maximum(*squares))
