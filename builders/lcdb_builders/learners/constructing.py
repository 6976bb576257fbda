"""How a class from elsewhere is made: its parameters, its seeds, its threads.

Packages call the same things by different names, and some take parameters that they do not list
(``**kwargs``): what a class takes is asked of its signature and, in the end, of its constructor.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lcdb.errors import PlanError, did_you_mean

if TYPE_CHECKING:
    from lcdb_builders.domain.snapshot import Snapshot

__all__ = [
    "COLUMNS",
    "KINDS",
    "SEEDS",
    "STEPS",
    "THREADS",
    "accepted",
    "columns_of",
    "defaults_of",
    "is_plain",
    "quiet_names",
    "seed_nested",
    "step_names",
]

#: Stands between the classes of a pipeline's steps, where one path names all of them.
STEPS = " | "
#: Beside the parameters of a step: the columns that it is for; and what stands for all of a kind.
COLUMNS = "columns"
KINDS = ("nominal", "numeric")
#: What packages call a seed, and the number of threads; the first that a class takes is set.
SEEDS = ("random_state", "random_seed", "seed")
THREADS = ("n_jobs", "thread_count", "nthread", "num_threads")
# CatBoost prints a line per tree unless one of these says otherwise.
_LOUD = ("logging_level", "verbose", "silent", "verbose_eval")


def step_names(paths: Iterable[str]) -> list[str]:
    """Return the names of a pipeline's steps, as `sklearn.pipeline.make_pipeline` gives them.

    Examples
    --------
    >>> step_names(["sklearn.preprocessing.StandardScaler", "mine.py:Mine"])
    ['standardscaler', 'mine']
    >>> step_names(["a.PCA", "b.PCA"])
    ['pca-1', 'pca-2']
    """
    plain = [path.rpartition(":")[2].rpartition(".")[2].lower() for path in paths]
    return [
        name if plain.count(name) == 1 else f"{name}-{plain[: place + 1].count(name)}"
        for place, name in enumerate(plain)
    ]


def columns_of(asked: Any, snapshot: Snapshot) -> list[int]:
    """Return the places of the columns of a dataset that a step is for.

    Parameters
    ----------
    asked
        Names of columns; ``"nominal"`` for all that have categories, ``"numeric"`` for the others.
    snapshot
        The dataset.

    Examples
    --------
    >>> from lcdb_builders.sources.bundled import bundled
    >>> iris = bundled("61")
    >>> columns_of(["petalwidth", "sepallength"], iris), columns_of("nominal", iris)
    ([3, 0], [])
    """
    names = list(snapshot.feature_names)
    if isinstance(asked, str) and asked in KINDS:
        nominal = snapshot.origin.get("categories", {})
        return [
            place for place, name in enumerate(names) if (name in nominal) == (asked == KINDS[0])
        ]
    if not isinstance(asked, list | tuple) or not asked:
        msg = f"columns is {asked!r}; expected a list of names, 'nominal' or 'numeric'"
        raise PlanError(msg)
    for name in asked:
        if name not in names:
            msg = f"dataset {snapshot.id} has no column {name!r}.{did_you_mean(name, names)}"
            raise PlanError(msg)
    return [names.index(name) for name in asked]


def is_plain(value: Any) -> bool:
    """Whether JSON can hold a value."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)


def defaults_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters that an estimator lists, with their values."""
    return estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}


def _signature(cls: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(cls).parameters
    except (TypeError, ValueError):  # written in C
        return {}


def accepted(cls: type, listed: Iterable[str] = ()) -> tuple[set[str], bool]:
    """Return the parameters of a class by name, and whether it takes others besides.

    Examples
    --------
    >>> class Boosting:
    ...     def __init__(self, trees=10, **kwargs): ...
    >>> accepted(Boosting)
    ({'trees'}, True)
    """
    parameters = _signature(cls)
    named = {
        name
        for name, one in parameters.items()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    others = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return named | set(listed), others


def quiet_names(names: set[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameter that keeps a class from printing, if it has one that is not given."""
    if "logging_level" in names and not any(given.get(name) is not None for name in _LOUD):
        return {"logging_level": "Silent"}
    return {}


def seed_nested(estimator: Any, seeds: Iterable[int]) -> None:
    """Seed the estimators inside an estimator that have no seed, each with one of its own.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> pipeline = make_pipeline(SVC())
    >>> seed_nested(pipeline, iter([7]))
    >>> pipeline[0].random_state
    7
    """
    if not hasattr(estimator, "get_params"):
        return
    draws = iter(seeds)
    every = estimator.get_params(deep=True)
    inner = {name.rpartition("__")[0] for name in every if "__" in name}
    for owner in sorted(inner):
        values = {name: every.get(f"{owner}__{name}", ...) for name in SEEDS}
        unset = [name for name, value in values.items() if value is None]
        if unset and not any(value not in (None, ...) for value in values.values()):
            estimator.set_params(**{f"{owner}__{unset[0]}": next(draws)})
