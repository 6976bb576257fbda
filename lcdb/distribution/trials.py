"""Algorithm 1: trials of an algorithm under random hyper-parameters, or tuned in every trial."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

__all__ = ["dse"]

_TRIAL = "trial"

#: Takes hyper-parameters, data and a random generator; returns a number.
Score = Callable[[Mapping[str, Any], Any, np.random.Generator], float]


def dse(
    train_and_score: Score,
    sample_hyperparameters: Callable[[np.random.Generator], Mapping[str, Any]],
    sample_data: Callable[[np.random.Generator], Any],
    trials: int,
    seed: int,
    *,
    first: int = 0,
    validate: Score | None = None,
    configurations: int = 50,
) -> xr.Dataset:
    """Return the outcomes of an algorithm under random hyper-parameters, trial by trial.

    Trial t is a pure function of `seed` and t: more trials later leave the earlier ones as they
    are, and a trial can be run again alone. Hyper-parameters, data, training and validation have a
    stream each, so that trials of two algorithms, or of both modes, see the same data.

    Parameters
    ----------
    train_and_score
        Takes hyper-parameters, data and a random generator; returns the outcome, a number.
    sample_hyperparameters
        Takes a random generator; returns hyper-parameters by name.
    sample_data
        Takes a random generator; returns data, such as a training and a test part.
    trials
        How many.
    seed
        Of all streams.
    first
        The trial to begin with.
    validate
        The tuned mode: takes what `train_and_score` takes and returns how good these
        hyper-parameters are, larger is better, by what is for training alone (such as
        cross-validation). Every trial draws `configurations` of them, and the first of the best is
        trained and scored. Without it a trial takes the one that it draws first.
    configurations
        How many a tuned trial draws.

    Returns
    -------
    xarray.Dataset
        ``outcome`` and every hyper-parameter along ``trial``; one that a trial has not is NaN, or
        None if it is no number. In the tuned mode also ``validation``, what the chosen ones
        reached there. The coordinate ``data`` is a digest of the data of each trial, by which
        `cvar_difference` pairs trials; empty where data are other than numbers, text, arrays,
        tables, or lists and dicts of these.

    Examples
    --------
    >>> def sample(rng):
    ...     return {"shrinkage": 10 ** rng.uniform(-3, 1)}
    >>> def data(rng):
    ...     return rng.normal(1.0, 1.0, 20)
    >>> def train_and_score(chosen, x, rng):
    ...     return -abs(x.mean() / (1 + chosen["shrinkage"]) - 1.0)
    >>> trials = dse(train_and_score, sample, data, trials=200, seed=1)
    >>> trials["outcome"].sizes["trial"], float(trials["outcome"].max()) > -0.01
    (200, True)

    Tuned by how well the mean of one half predicts that of the other:

    >>> def validate(chosen, x, rng):
    ...     return -abs(x[:10].mean() / (1 + chosen["shrinkage"]) - x[10:].mean())
    >>> tuned = dse(train_and_score, sample, data, trials=200, seed=1, validate=validate)
    >>> bool(tuned["outcome"].mean() > trials["outcome"].mean())
    True
    """
    _check(trials, configurations)
    run = range(first, first + trials)
    rows: list[dict[str, float]] = []
    drawn: list[dict[str, Any]] = []
    keys: list[str] = []
    for trial in run:
        streams = np.random.SeedSequence([seed, trial]).spawn(4)
        of_hyperparameters, of_data, of_training = map(np.random.default_rng, streams[:3])
        data = sample_data(of_data)
        keys.append(_digest(data))
        row: dict[str, float] = {}
        if validate is None:
            chosen = dict(sample_hyperparameters(of_hyperparameters))
        else:
            several = [
                dict(sample_hyperparameters(of_hyperparameters)) for _ in range(configurations)
            ]
            chosen, row["validation"] = _tuned(validate, several, data, streams[3], trial)
        row["outcome"] = float(train_and_score(chosen, data, of_training))
        rows.append(row)
        drawn.append(chosen)
    names = dict.fromkeys(name for chosen in drawn for name in chosen)
    _check_names(names, rows[0])
    results = {name: (_TRIAL, np.array([row[name] for row in rows])) for name in rows[0]}
    columns = {name: (_TRIAL, _column([chosen.get(name) for chosen in drawn])) for name in names}
    coords = {_TRIAL: np.array(run), "data": (_TRIAL, keys)}
    return xr.Dataset(results | columns, coords, {"seed": seed})


def _digest(data: Any) -> str:
    """Return what names the data of a trial: equal for equal data; empty where there is no name."""
    digest = hashlib.sha256()
    try:
        _add(digest, data)
    except TypeError:
        return ""
    return digest.hexdigest()[:16]


def _add(digest: Any, value: Any) -> None:
    """Add numbers, text, arrays, tables, and lists and dicts of them; TypeError for others."""
    if isinstance(value, Mapping):
        value = [part for item in value.items() for part in item]
    elif hasattr(value, "to_numpy"):  # of pandas
        value = [list(getattr(value, "columns", [])), value.to_numpy()]
    elif isinstance(value, xr.DataArray):
        value = value.values
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        digest.update(f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, list | tuple | np.ndarray):
        digest.update(f"{len(value)} of ".encode())
        for part in value:
            _add(digest, part)
    elif value is None or isinstance(value, str | bytes | int | float | complex):
        digest.update(f"{type(value).__name__} {value!r} ".encode())
    else:
        msg = f"data hold a {type(value).__name__}, which has no digest"
        raise TypeError(msg)


def _check(trials: int, configurations: int) -> None:
    for name, value in (("trials", trials), ("configurations", configurations)):
        if value < 1:
            msg = f"{name} is {value}; expected 1 or more"
            raise ValueError(msg)


def _check_names(names: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Raise if a hyper-parameter is called what a result, or the dim, is called."""
    for name in names:
        if name in results or name in (_TRIAL, "data"):
            msg = (
                f"a hyper-parameter is called {name!r}, as is what comes out; give it another name"
            )
            raise ValueError(msg)


def _tuned(
    validate: Score,
    several: list[dict[str, Any]],
    data: Any,
    stream: np.random.SeedSequence,
    trial: int,
) -> tuple[dict[str, Any], float]:
    """Return the first of the best hyper-parameters in validation, and what they reached."""
    generators = map(np.random.default_rng, stream.spawn(len(several)))
    scores = np.array(
        [
            float(validate(chosen, data, rng))
            for chosen, rng in zip(several, generators, strict=True)
        ]
    )
    if np.isnan(scores).all():
        msg = f"trial {trial}: validate returned NaN for all {len(several)} configurations"
        raise ValueError(msg)
    best = int(np.nanargmax(scores))
    return several[best], float(scores[best])


def _column(values: list[Any]) -> np.ndarray:
    """Return values as numbers where they are, with NaN for those that are missing."""
    if all(v is None or isinstance(v, int | float | np.number) for v in values):
        missing = any(v is None for v in values)
        return np.array([np.nan if v is None else v for v in values], float if missing else None)
    column = np.empty(len(values), object)
    column[:] = values
    return column
