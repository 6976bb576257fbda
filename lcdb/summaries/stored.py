"""What tables take from a summary in the place of the repetitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import xarray as xr

from lcdb.schema import METRICS, UNIT_DIMS

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["changes", "curve_rows", "paired_rows"]

_COUNTS = {
    f"{range}{name}" for range in ("", "from_10_") for name in ("cells", "missing", "constant")
}
_WITH_VALUES = ("complete", "partial")


class _Stored:
    """Statistics of curves, looked up by labels: a plain dict is far quicker than `sel`."""

    def __init__(self, array: xr.DataArray) -> None:
        *self.dims, last = map(str, array.dims)
        self.names = [str(name) for name in array[last].values]
        self.values = array.values
        self.places = {
            dim: {str(label): place for place, label in enumerate(array[dim].values)}
            for dim in self.dims
        }

    def of(self, **labels: str) -> dict[str, float]:
        """Return the statistics of one curve by name; counts are whole numbers."""
        where = tuple(self.places[dim][labels[dim]] for dim in self.dims)
        found = zip(self.names, self.values[where].tolist(), strict=True)
        return {name: int(x) if name in _COUNTS else x for name, x in found}


def curve_rows(db: Database, key: Key) -> Iterator[dict[str, object]]:
    """Yield the rows that `lcdb.tables.curve_frame` makes of a cube, in its order."""
    header = db.headers[key]
    stored = _Stored(db[key]["curve_statistic"].transpose(..., "statistic").load())
    learners, samplings, splits, tunings = (header.labels[dim] for dim in UNIT_DIMS)
    for metric in METRICS:
        order = itertools.product(("default", "tuned"), splits, samplings, learners)
        for tuning, split, sampling, learner in order:
            if split == "pool" or tuning not in tunings:
                continue
            unit = dict(zip(UNIT_DIMS, (learner, sampling, split, tuning), strict=True))
            if header.status_of(**unit) in _WITH_VALUES:
                found = stored.of(metric=metric, **unit)
                labels = {"dataset": header.id, "classes": header.classes, **unit}
                yield {**labels, "metric": metric, **found}


def paired_rows(
    db: Database, key: Key, metric: str, tuning: str, split: str
) -> Iterator[dict[str, object]]:
    """Yield the rows that tables make of paired differences, in their order."""
    header = db.headers[key]
    if tuning not in header.labels["tuning"] or split not in header.labels["split"]:
        return
    if "pair_statistic" not in db[key]:  # there is one learner
        return
    stored = db[key]["pair_statistic"].sel(metric=metric, tuning=tuning, split=split).load()
    # A pair has no statistics of n >= 10 alone.
    kept = [not str(name).startswith(("from_10_", "last_")) for name in stored["statistic"].values]
    of_pairs = _Stored(stored.isel(statistic=kept).transpose(..., "statistic"))
    for sampling in header.labels["sampling"]:
        there = [
            learner
            for learner in header.labels["learner"]
            if header.status_of(learner, sampling, split, tuning) in _WITH_VALUES
        ]
        for first, second in combinations(there, 2):
            pair = f"{first} - {second}"
            found = of_pairs.of(sampling=sampling, pair=pair)
            yield {"dataset": header.id, "sampling": sampling, "pair": pair, **found}


def changes(
    db: Database, key: Key, metric: str, quantile: float, width: float, tuning: str
) -> dict[str, tuple[int, int]]:
    """Return at how many sizes the best three change, and of how many, by way of counting."""
    stored = db[key]["top_k_change"]
    if tuning not in db.headers[key].labels["tuning"]:
        return {}
    part = stored.sel(metric=metric, tuning=tuning, comparison=comparison(quantile, width)).load()
    return {
        str(way): (int(part.sel(way=way, number="changed")), int(part.sel(way=way, number="sizes")))
        for way in part["way"].values
        if part.sel(way=way, number="sizes") > 0
    }


def comparison(quantile: float, width: float) -> str:
    """Return the name of a comparison of a quantile with mean + width·sd.

    Examples
    --------
    >>> comparison(0.975, 2.0)
    'q0.975 mean+2sd'
    """
    return f"q{quantile:g} mean{width:+g}sd"
