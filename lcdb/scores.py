"""Stored scores as numbers to compare: float64, and an accuracy exactly count / test rows.

A cube holds float32, half the bytes. Accuracy is a count of correct rows over test rows, and 171 of
180 in float32 is 0.949999988, which is less than 0.95. The count comes back by rounding, since the
number of test rows stands in the cube; its share in float64 is the number that one would type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

__all__ = ["ROUNDING", "exact_scores", "shares"]

#: By how much a statistic of scores in this precision may miss the number that it stands for.
ROUNDING: Mapping[str, float] = {"float32": 1e-6, "float64": 1e-12}
_COUNTED = "accuracy"
_TEST_ROWS = "n_test"


def shares(accuracy: np.ndarray, test_rows: np.ndarray) -> np.ndarray:
    """Return accuracies in float64, each the correctly rounded count / test rows.

    Examples
    --------
    >>> stored = np.array([171 / 180, np.nan], np.float32)
    >>> float(stored[0]) == 0.95, shares(stored, np.array([180, -1])).tolist()
    (False, [0.95, nan])
    >>> float(shares(stored[0], np.array(180)))
    0.95
    """
    accuracy = np.asarray(accuracy, np.float64)
    rows = np.where(test_rows > 0, test_rows, 1)  # nothing was drawn there, and nothing scored
    counts = np.asarray(accuracy * rows)  # of a single cell, the product is no array
    np.rint(counts, out=counts)
    counts /= rows
    return counts


class _Exact(BackendArray):
    """A score in float64, read when it is indexed, with the test rows that belong to it."""

    def __init__(self, scores: xr.Variable, test_rows: xr.Variable | None) -> None:
        self.scores = scores
        self.test_rows = test_rows
        self.shape = scores.shape
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> np.ndarray:
        by_dim = dict(zip(self.scores.dims, key, strict=True))
        scores = self.scores.isel(by_dim)
        if self.test_rows is None:
            return scores.values.astype(np.float64)
        rows = self.test_rows.isel({dim: by_dim[dim] for dim in self.test_rows.dims})
        return shares(scores.values, rows.set_dims(dict(scores.sizes)).values)


def exact_scores(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return a metric of a cube in float64, lazily: accuracy as count / test rows.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     exact = exact_scores(db["iris"], "accuracy")
    ...     stored = db["iris"]["accuracy"]
    >>> exact.dtype.itemsize, stored.dtype.itemsize, float(abs(exact - stored).max()) < 1e-7
    (8, 4, True)
    """
    stored = dataset[metric]
    if stored.dtype == np.float64:
        return stored
    rows = dataset[_TEST_ROWS] if metric == _COUNTED and _TEST_ROWS in dataset else None
    data: Any
    if stored.chunks is None and (rows is None or rows.chunks is None):
        backend = _Exact(stored.variable, None if rows is None else rows.variable)
        lazy: Any = indexing.LazilyIndexedArray(backend)
        data = indexing.MemoryCachedArray(indexing.CopyOnWriteArray(lazy))
    elif rows is None:
        data = stored.data.astype(np.float64)
    else:
        options: dict[str, Any] = {"dask": "parallelized", "output_dtypes": [np.float64]}
        data = xr.apply_ufunc(shares, stored, rows, **options).transpose(*stored.dims).data
    # How float32 was stored is no way to store these: the encoding stays behind.
    return stored.copy(deep=False, data=data).drop_encoding()
