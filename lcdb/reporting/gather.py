"""What a report is of: one metric under one sampling, split and tuning, at some sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import analysis, stats
from lcdb.errors import NotBuiltError
from lcdb.reporting.calls import Made
from lcdb.resolving import resolve_all
from lcdb.schema import METRICS, SAMPLING_ROWS, SPLIT_ROWS
from lcdb.selection import USUAL, check_labels, check_metric, usual_label

if TYPE_CHECKING:
    from lcdb.cubefile import Header
    from lcdb.database import Database, Key

__all__ = ["AT_MOST", "Part", "Scope", "curves", "scope_of"]

#: Sizes of a dataset that a report looks at, evenly spread on a logarithmic axis.
AT_MOST = 60
#: Probabilities of the quantiles that a report has.
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Part:
    """The curves of one dataset: with their repetitions, or as a summary has them."""

    header: Header
    metric: str
    labels: dict[str, str]
    curves: Made
    left_out: tuple[str, ...]

    @property
    def key(self) -> int | str:
        """What the dataset is called in the database."""
        return self.header.key

    @property
    def name(self) -> str:
        """Its name, and its key where that says more."""
        plain = str(self.key) in (self.header.id, self.header.name)
        return self.header.name if plain else f"{self.header.name} ({self.key})"

    @property
    def has_repetitions(self) -> bool:
        """Whether there is more than a summary."""
        return isinstance(self.curves.value, xr.DataArray)

    @cached_property
    def cells(self) -> xr.Dataset:
        """Moments, tests and quantiles of every cell, with the dims ``learner`` and ``n``."""
        found = analysis.summary(self.curves.value, QUANTILES)
        return found.transpose("learner", "n", ...).compute()

    @property
    def learners(self) -> list[str]:
        """Those that have values."""
        return [str(name) for name in self.cells["learner"].values]

    @property
    def sizes(self) -> np.ndarray:
        """Those at which every learner has values."""
        return self.cells["n"].values

    @property
    def repetitions(self) -> int:
        """The largest number of repetitions that a cell has."""
        return int(self.cells["count"].max())

    @property
    def sign(self) -> int:
        """1 where large scores are good, and -1 where small ones are."""
        return 1 if METRICS[self.metric].direction == "maximize" else -1


@dataclass(frozen=True)
class Scope:
    """What a report is of, and the lines that bring it back."""

    db: Database
    metric: str
    labels: dict[str, str]
    parts: tuple[Part, ...]
    absent: tuple[str, ...]
    scaling: str = "none"

    @property
    def with_repetitions(self) -> tuple[Part, ...]:
        """Datasets that are there in full."""
        return tuple(part for part in self.parts if part.has_repetitions)

    @property
    def summaries(self) -> tuple[Part, ...]:
        """Datasets that are there as summaries alone."""
        return tuple(part for part in self.parts if not part.has_repetitions)

    @property
    def conditions(self) -> str:
        """Sampling, split and tuning, in words."""
        words = {
            **{name: row.condition for name, row in SAMPLING_ROWS.items()},
            **{name: row.condition for name, row in SPLIT_ROWS.items()},
            "default": "default parameters",
            "tuned": "tuned parameters",
        }
        return ", ".join(words.get(label, label) for label in self.labels.values())


def curves(
    db: Database,
    *,
    metric: str = "accuracy",
    sampling: str | None = None,
    split: str | None = None,
    tuning: str | None = None,
    scaling: str = "none",
    datasets: Sequence[Key] | None = None,
) -> dict[Key, Any]:
    """Return the arrays that a report of a database is of, by dataset.

    At most 60 sizes of each dataset, evenly spread on a logarithmic axis, at which all learners
    have values.

    Parameters
    ----------
    db
        An open database.
    metric
        One of the four metrics.
    sampling, split, tuning
        One label of each; unless given random, varying and default, or the only ones that the
        database has.
    scaling
        Of the features.
    datasets
        Ids or names; all unless given.

    Returns
    -------
    dict
        By dataset an array with the dims ``learner``, ``n`` and ``repetition``, or that part of a
        summary.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     arrays = lcdb.reporting.curves(db, metric="auc")
    >>> arrays[61].dims, arrays[61].sizes["n"], arrays[61].split.item()
    (('learner', 'n', 'repetition'), 15, 'varying')
    """
    labels = _labels(db, {"sampling": sampling, "split": split, "tuning": tuning})
    found = _gathered(db, metric, labels, datasets, scaling)
    return {part.key: part.curves.value for part in found[0]}


def scope_of(
    db: Database,
    metric: str,
    asked: dict[str, str | None],
    datasets: Sequence[Key] | None,
    scaling: str = "none",
) -> Scope:
    """Return what a report is of."""
    labels = _labels(db, asked)
    parts, absent = _gathered(db, metric, labels, datasets, scaling)
    return Scope(db, metric, labels, tuple(parts), tuple(absent), scaling)


def _labels(db: Database, asked: dict[str, str | None]) -> dict[str, str]:
    """Return one label of each dim: what is asked for, or the usual one."""
    if not db.headers:
        msg = f"{db.path} has no learning curves; a report is of curves"
        raise NotBuiltError(msg)
    chosen = {}
    for dim, label in asked.items():
        if label is not None:
            check_labels(db.headers.values(), {dim: label}, str(db.path))
        known = [name for header in db.headers.values() for name in header.labels[dim]]
        names = list(dict.fromkeys(known))
        chosen[dim] = label or usual_label(dim, USUAL[dim], names, str(db.path))
    return chosen


def _gathered(
    db: Database,
    metric: str,
    labels: dict[str, str],
    datasets: Sequence[Key] | None,
    scaling: str,
) -> tuple[list[Part], list[str]]:
    """Return the datasets that have such curves, and the names of those that have none."""
    check_metric(metric)
    keys = resolve_all(db.headers, db.resolve, datasets, scaling)
    parts, absent = [], []
    for key in keys:
        part = _part(db, key, metric, labels)
        if part is None:
            absent.append(db.headers[key].name)
        else:
            parts.append(part)
    if not parts:
        named = ", ".join([metric, *labels.values()])
        msg = f"{db.path} has no curves of {named}; lcdb info lists what it holds"
        raise NotBuiltError(msg)
    return parts, absent


def _part(db: Database, key: Key, metric: str, labels: dict[str, str]) -> Part | None:
    header = db.headers[key]
    if any(label not in header.labels[dim] for dim, label in labels.items()):
        return None
    if header.is_summary:
        whole: Any = db[key].sel({"metric": metric, **labels})
        counts = whole["count"].transpose("learner", "n").values
    else:
        whole = db.select([key], metric=metric, **labels)[key]
        counts = _counted(whole)
    learners, sizes = _complete(counts >= 2)
    if not len(sizes):
        return None
    places = sizes[stats.thinned(whole["n"].values[sizes], AT_MOST)]
    part = whole.isel(learner=learners, n=places)
    names = whole["learner"].values
    left_out = [str(names[i]) for i in range(len(names)) if i not in learners]
    if isinstance(part, xr.DataArray):
        part = part.transpose("learner", "n", "repetition").load()
    return Part(header, metric, labels, Made(f"curves[{key!r}]", part), tuple(left_out))


def _counted(scores: xr.DataArray) -> np.ndarray:
    """Return how many of some repetitions have values, by learner and size."""
    some = scores.isel(repetition=slice(0, 20)).transpose("learner", "n", "repetition")
    return some.notnull().sum("repetition").values


def _complete(there: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Return learners, and the sizes at which all of them have values.

    Learners are given up, the one with the fewest values first, until there is such a size.
    """
    learners = [int(i) for i in np.flatnonzero(there.any(axis=1))]
    while len(learners) > 1 and not there[learners].all(axis=0).any():
        learners.remove(min(learners, key=lambda i: int(there[i].sum())))
    sizes = np.flatnonzero(there[learners].all(axis=0)) if learners else np.empty(0, int)
    return learners, sizes
