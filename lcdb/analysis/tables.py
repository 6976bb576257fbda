"""Labelled arrays as one table: a row for each label and value, for Parquet or a paper."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

from lcdb.errors import LabelError
from lcdb.schema import UNIT_DIMS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["tidy"]

_FIRST = ("dataset", *UNIT_DIMS, "metric", "n", "fraction", "repetition", "status")


def tidy(
    scores: xr.DataArray | xr.Dataset | Mapping[Any, xr.DataArray] | Mapping[Any, xr.Dataset],
    *,
    missing: bool = False,
) -> pd.DataFrame:
    """Return arrays as one data frame: a column for each label, and one for each value.

    Parameters
    ----------
    scores
        What ``db.curve``, ``db.select`` or a function of this package returns: an array, a
        dataset, or a dict of them by dataset, which gives the column ``dataset``. A summary, or
        another dataset whose variables do not share their dims, becomes one piece for each set of
        dims, one below the other; the labels that a piece does not have are missing there.
    missing
        Keep rows that hold no value at all, such as sizes that were not computed.

    Returns
    -------
    pandas.DataFrame
        Labels are categories, which keeps files of a million rows small.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     some = db.select(learner=["NMC", "LDC"], sampling="random", split="fixed",
    ...                      metric=["accuracy", "brier"])
    ...     frame = lcdb.analysis.tidy(some)
    >>> list(frame.columns)[:4], list(frame.columns)[-2:]
    (['dataset', 'learner', 'sampling', 'split'], ['accuracy', 'brier'])
    >>> frame.groupby("dataset", observed=True).size().to_dict()
    {'11': 2000, '61': 6000}
    """
    import pandas as pd

    if isinstance(scores, Mapping) and not isinstance(scores, xr.Dataset):
        parts = [_frame(part, missing, str(key)) for key, part in scores.items()]
        if not parts:
            msg = "there are no arrays to make a table of; expected what db.select returns"
            raise LabelError(msg)
        table = pd.concat(parts, ignore_index=True)
    else:
        table = _frame(scores, missing)
    for name in table.columns:
        if pd.api.types.is_string_dtype(table[name]) or table[name].dtype == object:
            table[name] = table[name].astype("category")
    return table


def _frame(part: xr.DataArray | xr.Dataset, missing: bool, key: str | None = None) -> pd.DataFrame:
    import pandas as pd

    if isinstance(part, xr.DataArray):
        dataset = part.to_dataset(name=str(part.name or "value"))
    else:
        dataset = part
    dataset = dataset.drop_vars("draws", errors="ignore")  # keys of pairs, not for people
    dims = {frozenset(array.dims) for array in dataset.data_vars.values()}
    if len(dims) > 1 and frozenset().union(*dims) not in dims:
        # One row for each combination of all labels would be 10^10 of them for a summary.
        pieces = _pieces(dataset, missing, key)
        return pd.concat(pieces, ignore_index=True)
    values = [str(name) for name in dataset.data_vars]
    unlabelled = [dim for dim in dataset.dims if dim not in dataset.coords]
    dataset = dataset.assign_coords({dim: range(dataset.sizes[dim]) for dim in unlabelled})
    frame = dataset.to_dataframe().reset_index()
    if not missing:
        frame = frame.dropna(subset=values, how="all")
        if "count" in values:  # a summary of nothing counts nothing, and has a 0 to show for it
            frame = frame[frame["count"] > 0]
    if key is not None:
        frame["dataset"] = key
    labels = [str(name) for name in frame.columns if name not in values]
    ordered = [name for name in _FIRST if name in labels]
    rest = [name for name in labels if name not in ordered]
    return frame[[*ordered, *rest, *values]].reset_index(drop=True)


def _pieces(dataset: xr.Dataset, missing: bool, key: str | None) -> list[pd.DataFrame]:
    """Return a frame for each set of dims that variables have."""
    names: dict[frozenset[Hashable], list[Hashable]] = {}
    for name, array in dataset.data_vars.items():
        names.setdefault(frozenset(array.dims), []).append(name)
    frames = [_frame(dataset[some], missing, key) for some in names.values()]
    return [frame for frame in frames if len(frame)] or frames[:1]
