"""A table becomes a snapshot: codes, classes, imputed cells, and an account of what was done."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lcdb.errors import DatasetError, DatasetWarning
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.suspicious import check_guesses
from lcdb_builders.sources.table import Column, Table

__all__ = ["FEWEST_ROWS", "MOST_CLASSES", "to_snapshot", "with_origin"]

FEWEST_ROWS = 10
# A cube counts the classes of a training set in one byte.
MOST_CLASSES = 127


def _label(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _by_appearance(target: Column) -> Column:
    """Return a numeric target with two values as a nominal one; more values would be a guess."""
    present = target.values[~target.missing]
    distinct = list(dict.fromkeys(present.tolist()))
    if len(distinct) > 2:
        msg = (
            f"the target {target.name!r} is numeric ({len(distinct)} different values): lcdb is "
            "for classification only, so it needs classes, not a regression target; if the numbers "
            f"are labels, list {target.name!r} as nominal"
        )
        raise DatasetError(msg)
    codes = {number: float(code) for code, number in enumerate(distinct)}
    values = np.array([codes.get(number, np.nan) for number in target.values.tolist()])
    return Column(target.name, values, tuple(_label(number) for number in distinct))


def _classes(target: Column) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """Return class codes of rows that have one, the classes, and declared ones without rows."""
    nominal = target if target.categories is not None else _by_appearance(target)
    categories = nominal.categories or ()
    codes = nominal.values[~nominal.missing].astype(np.int64)
    present = np.unique(codes)
    names = tuple(categories[code] for code in present)
    empty = tuple(name for name in categories if name not in names)
    return np.searchsorted(present, codes), names, empty


def _imputed(column: Column) -> tuple[np.ndarray, dict[str, Any] | None]:
    """Return values without missing cells, and what was put in their place."""
    missing = column.missing
    if not missing.any():
        return column.values, None
    present = column.values[~missing]
    fact: dict[str, Any] = {"cells": int(missing.sum())}
    if column.categories is None:
        with np.errstate(over="ignore"):  # an infinite median is refused later
            value = float(np.median(present))
        fact |= {"by": "median", "value": value}
    else:
        value = float(np.bincount(present.astype(np.int64)).argmax())  # ties: the lowest code
        fact |= {"by": "mode", "value": column.categories[int(value)]}
    return np.where(missing, value, column.values), fact


def to_snapshot(
    table: Table,
    *,
    id: str,
    name: str,
    target: str,
    origin: Mapping[str, Any] | None = None,
) -> Snapshot:
    r"""Return the snapshot of a table.

    Rows without a target are dropped first, then columns without a single value, with a warning.
    Missing numbers become their column's median and missing categories its mode (ties: the category
    declared or seen first). Classes that are declared but have no rows get no code. Nothing is
    scaled, reordered or deduplicated.

    Parameters
    ----------
    table
        What was read from a file.
    id, name
        Of the dataset.
    target
        The column that holds the classes.
    origin
        Facts about where the table came from; what was done to it is added.

    Examples
    --------
    >>> from lcdb_builders.sources.delimited import read_delimited
    >>> text = "width,class\n" + "1,a\n2,b\n,b\n" * 4
    >>> snapshot = to_snapshot(read_delimited(text), id="tiny", name="tiny", target="class")
    >>> snapshot.X[:3, 0].tolist(), snapshot.y[:3].tolist(), snapshot.class_names
    ([1.0, 2.0, 1.5], [0, 1, 1], ('a', 'b'))
    >>> snapshot.origin["imputed"]
    {'width': {'cells': 4, 'by': 'median', 'value': 1.5}}
    """
    _check_texts(table)
    chosen = table.column(target)
    kept = ~chosen.missing
    y, class_names, empty_classes = _classes(chosen)
    features = [
        replace(column, values=column.values[kept])
        for column in table.columns
        if column.name != target
    ]
    empty = [column.name for column in features if len(y) and column.missing.all()]
    features = [column for column in features if column.name not in empty]
    _check_shape(target, len(y), len(class_names), len(features))
    if empty:
        names = ", ".join(map(repr, empty))
        msg = f"{name}: no row has a value in {names}; dropped, {len(features)} features are left"
        warnings.warn(msg, DatasetWarning, stacklevel=2)
    check_guesses(features, len(y))
    filled = {column.name: _imputed(column) for column in features}
    # Adding zero turns -0.0 into 0.0, so that equal values have equal bytes.
    X = np.column_stack([values for values, _ in filled.values()]).astype(np.float64) + 0.0
    if not np.isfinite(X).all():
        msg = "an imputed median overflows; scale down the column of huge numbers"
        raise DatasetError(msg)
    constant = np.flatnonzero((X[0] == X).all(axis=0)).tolist()
    imputed = {name: fact for name, (_, fact) in filled.items() if fact}
    account = {
        "target": target,
        "categories": {c.name: list(c.categories) for c in features if c.categories is not None},
        "imputed": imputed,
        "imputed_cells": sum(fact["cells"] for fact in imputed.values()),
        "dropped_rows": int((~kept).sum()),
        "dropped_columns": list(table.set_aside),
        **({"empty_columns": empty} if empty else {}),
        "duplicate_rows": len(y) - len(np.unique(np.column_stack([X, y]), axis=0)),
        "constant_features": [features[column].name for column in constant],
        "empty_classes": list(empty_classes),
    }
    return Snapshot(
        id=id,
        X=np.ascontiguousarray(X),
        y=y.astype(np.int64),
        feature_names=tuple(column.name for column in features),
        class_names=class_names,
        name=name,
        origin={**(origin or {}), **account},
    )


def with_origin(snapshot: Snapshot, facts: Mapping[str, Any]) -> Snapshot:
    """Return the snapshot with further facts in its origin."""
    return replace(snapshot, origin={**snapshot.origin, **facts})


def _check_shape(target: str, rows: int, classes: int, features: int) -> None:
    if not features:
        msg = f"no column with values besides the target {target!r}; expected at least one feature"
        raise DatasetError(msg)
    if rows < FEWEST_ROWS:
        msg = f"{rows} rows have a value in the target {target!r}; expected at least {FEWEST_ROWS}"
        raise DatasetError(msg)
    if classes < 2:
        msg = f"the target {target!r} has one class; expected at least two"
        raise DatasetError(msg)
    if classes > MOST_CLASSES:
        msg = f"the target {target!r} has {classes} classes; expected at most {MOST_CLASSES}"
        raise DatasetError(msg)


def _check_texts(table: Table) -> None:
    """Raise for texts that no file could hold: halves of surrogate pairs, from escapes."""
    for column in table.columns:
        try:
            "".join([column.name, *(column.categories or ())]).encode()
        except UnicodeEncodeError as error:
            msg = f"the name or a category of column {column.name!a} is not Unicode text"
            raise DatasetError(msg) from error
