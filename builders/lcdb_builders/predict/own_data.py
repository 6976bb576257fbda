"""Arrays and frames of the user's own: what learners are given, and what keys their draws."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lcdb.errors import ArgumentError, DatasetError
from lcdb_builders.domain import scaling as scaling_of
from lcdb_builders.domain.snapshot import Snapshot, canonical_sha256
from lcdb_builders.sources.convert import FEWEST_ROWS, MOST_CLASSES, to_snapshot
from lcdb_builders.sources.table import Column, Table, nominal_column

__all__ = ["OwnData", "Rows", "own_data", "scaled"]


class Rows:
    """Features of any kind, whose rows are taken as those of an array are."""

    def __init__(self, X: Any) -> None:
        self.X = X

    def __getitem__(self, rows: np.ndarray) -> Any:
        if isinstance(self.X, np.ndarray):
            return self.X[rows]
        from sklearn.utils import _safe_indexing

        return _safe_indexing(self.X, rows)


@dataclass(frozen=True)
class OwnData:
    """A dataset that was handed over.

    Parameters
    ----------
    given
        Features as they came.
    classes
        Distinct labels, ascending: their places are the class codes.
    coded
        Features and classes in numbers, as the database has its datasets; None where they cannot be
        had.
    y
        Class codes.
    key
        What training and test sets are drawn with: the digest of the numbers.
    refused
        Why there are no numbers.
    name
        What it is called.
    """

    given: Any
    classes: np.ndarray
    coded: Snapshot | None
    y: np.ndarray
    key: str
    refused: str = ""
    name: str = "own data"

    @classmethod
    def of(cls, snapshot: Snapshot) -> OwnData:
        """Return a dataset that is in numbers already: its labels are its class codes."""
        codes = np.arange(snapshot.classes)
        return cls(snapshot.X, codes, snapshot, snapshot.y, snapshot.key, name=snapshot.name)

    @property
    def numbers(self) -> Snapshot:
        """The dataset in numbers, or an error that says why it cannot be had."""
        if self.coded is None:
            raise DatasetError(self.refused)
        return self.coded

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes by code."""
        if self.coded is not None:
            return self.coded.class_names
        return tuple(map(str, self.classes.tolist()))

    def as_given(self) -> Snapshot:
        """Return a snapshot whose features are those that came: for estimators of the user's."""
        names = self.class_names
        return Snapshot("own", Rows(self.given), self.y, (), names, self.name)  # type: ignore[arg-type]


def own_data(X: Any, y: Any) -> OwnData:
    """Return the dataset of features and labels.

    Parameters
    ----------
    X
        (rows, features): an array, a DataFrame, or whatever an estimator takes.
    y
        (rows,) labels of any kind that can be sorted.

    Examples
    --------
    >>> own = own_data(np.arange(12.0)[:, None], ["b", "a"] * 6)
    >>> own.class_names, own.y[:2].tolist(), own.numbers.X.shape
    (('a', 'b'), [1, 0], (12, 1))
    """
    classes, codes = _classes(y)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if rows != len(codes):
        msg = f"X has {rows} rows and y {len(codes)} labels; expected a label for each row"
        raise ArgumentError(msg)
    if rows < FEWEST_ROWS:
        msg = f"there are {rows} rows; expected at least {FEWEST_ROWS}"
        raise DatasetError(msg)
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    try:
        coded, refused = _coded(X, codes, classes), ""
    except DatasetError as error:
        coded, refused = None, f"X cannot be put in numbers: {error}"
    # Whoever takes features as they come still draws the same rows as who takes numbers.
    key = coded.sha256 if coded else canonical_sha256(np.zeros((rows, 0)), codes)
    return OwnData(X, classes, coded, codes, key, refused)


def _classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels in ascending order, and the code of each row."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        msg = f"y has the shape {values.shape}; expected one label for each row"
        raise ArgumentError(msg)
    import pandas as pd

    missing = int(pd.isna(values).sum())
    if missing:
        msg = f"y has {missing} missing labels; drop these rows first"
        raise DatasetError(msg)
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        msg = f"y mixes labels that cannot be sorted ({error}); make them all text, say"
        raise ArgumentError(msg) from error
    if len(classes) < 2:
        msg = f"y has {len(classes)} class; expected at least two"
        raise DatasetError(msg)
    fractions = values.dtype.kind == "f" and (values % 1 != 0).any()
    if fractions or len(classes) > MOST_CLASSES:
        msg = (
            f"y has {len(classes)} different values: lcdb is for classification only; expected at "
            f"most {MOST_CLASSES} classes, not a regression target (pandas.cut makes classes of it)"
        )
        raise DatasetError(msg)
    return classes, codes.astype(np.int64)


def _coded(X: Any, codes: np.ndarray, classes: np.ndarray) -> Snapshot:
    """Return features in numbers, by the rules for files: codes of categories, missing filled."""
    columns = list(_columns(X))
    target = "target"
    while target in {column.name for column in columns}:
        target += "_"
    names = tuple(map(str, classes.tolist()))
    labels = Column(target, codes.astype(np.float64), names)
    with warnings.catch_warnings():
        # Of text that is hardly a category; who is given numbers sees that it is.
        warnings.simplefilter("ignore")
        return to_snapshot(Table((*columns, labels)), id="own", name="own data", target=target)


def _columns(X: Any) -> Iterator[Column]:
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        for place, name in enumerate(X.columns):
            yield _frame_column(str(name), X.iloc[:, place])
        return
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        shape = getattr(X, "shape", "?")
        msg = f"it is a {type(X).__name__} of shape {shape}, expected an array (rows, features)"
        raise DatasetError(msg)
    if X.dtype.kind in "fiub":
        values = X.astype(np.float64)
        _check_finite(values)
        for j in range(X.shape[1]):
            yield Column(f"x{j}", values[:, j])
        return
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).infer_objects()
    yield from _columns(frame)


def _check_finite(values: np.ndarray) -> None:
    if np.isinf(values).any():
        msg = "it holds infinite numbers; correct them, or make them NaN to have them filled"
        raise DatasetError(msg)


def _frame_column(name: str, series: Any) -> Column:
    import pandas as pd

    kinds = pd.api.types
    if kinds.is_bool_dtype(series.dtype):
        return nominal_column(name, _texts(series), str, ("False", "True"))
    if isinstance(series.dtype, pd.CategoricalDtype):
        declared = [str(one) for one in series.cat.categories]
        return nominal_column(name, _texts(series), str, declared)
    if kinds.is_numeric_dtype(series.dtype):
        values = series.to_numpy(np.float64, na_value=np.nan)
        _check_finite(values)
        return Column(name, values)
    if kinds.is_datetime64_any_dtype(series.dtype):
        msg = f"column {name!r} holds dates; convert it to a number (days since some date, say)"
        raise DatasetError(msg)
    return replace(nominal_column(name, _texts(series), str), guessed=True)


def _texts(series: Any) -> list[str | None]:
    missing = series.isna().tolist()
    return [None if gone else str(one) for one, gone in zip(series.tolist(), missing, strict=True)]


def scaled(own: OwnData, scaling: str, seed: int) -> OwnData:
    """Return the dataset with scaled numbers as its features; it draws the same rows.

    The constants are those of the rows that `fixed` trains on, so that no test row of `fixed` is
    looked at; labels are never. A column that is constant there becomes 0.

    Parameters
    ----------
    own
        The dataset.
    scaling
        ``"none"``, ``"standard"`` (mean and sd) or ``"minmax"``.
    seed
        Of the draws.
    """
    if scaling == "none":
        return own
    numbers = own.numbers
    other = scaling_of.scaled(numbers, scaling, seed)
    return replace(own, given=other.X, coded=replace(other, id=numbers.id))
