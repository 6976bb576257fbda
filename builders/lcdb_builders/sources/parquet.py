"""Parquet files: the types of the file decide what is numeric and what is nominal."""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from lcdb.errors import DatasetError
from lcdb_builders.sources.limits import limits
from lcdb_builders.sources.table import Column, Table, check_names, nominal_column, non_finite

__all__ = ["read_parquet"]


def _where(row: int) -> str:
    return f"row {row + 1}"


def _index_columns(metadata: dict[bytes, bytes] | None) -> frozenset[str]:
    """Return the columns in which pandas keeps a table's index: row labels, not features."""
    try:
        listed = json.loads((metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError):
        return frozenset()
    return frozenset(name for name in listed if isinstance(name, str))


def _texts(array: Any) -> list[str | None]:
    """Return cells as text; a number that is not one is a missing cell."""
    return [None if cell is None or cell != cell else str(cell) for cell in array.to_pylist()]


def _categories(array: Any) -> list[str] | None:
    """Return the categories that a dictionary-encoded column declares, in its order."""
    declared = [_texts(chunk.dictionary) for chunk in array.chunks]
    if not declared or any(one != declared[0] for one in declared):
        return None
    return [text for text in declared[0] if text is not None]


def _numbers(name: str, array: Any) -> Column:
    import pyarrow as pa

    values = np.array(array.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise non_finite(name, values[infinite[0]], _where(int(infinite[0])))
    return Column(name, values)


def _column(name: str, array: Any, nominal: bool) -> Column:
    from pyarrow import types

    kind = array.type
    if types.is_dictionary(kind):
        return nominal_column(name, _texts(array), _where, _categories(array))
    if types.is_boolean(kind):
        return nominal_column(name, _texts(array), _where, ("False", "True"))
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if texts or (nominal and numbers):
        column = nominal_column(name, _texts(array), _where)
        return replace(column, guessed=not nominal)
    if numbers or types.is_null(kind):
        return _numbers(name, array)
    msg = f"column {name!r} is of type {kind}, which lcdb cannot use; drop or convert it"
    raise DatasetError(msg)


def read_parquet(
    content: bytes, nominal: Collection[str] = (), drop: Collection[str] = ()
) -> Table:
    """Return the columns of a parquet file.

    Text, boolean and dictionary columns are nominal: a dictionary declares the order of its
    categories, a boolean has False before True, a text column goes by first appearance.

    Parameters
    ----------
    content
        The file's bytes.
    nominal
        Columns of numbers to read as categories.
    drop
        Columns not to read, whatever their type.
    """
    import pyarrow as pa

    try:
        return _table(content, nominal, drop)
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        msg = f"malformed parquet: {reason}"
        raise DatasetError(msg) from error


def _check_limits(metadata: Any, kept: set[str], every: bool) -> None:
    """Raise where a file says that it would take more than a dataset may, before it is unpacked.

    Columns are asked for their sizes only where that decides, if not `every` one is kept: damaged
    metadata of a column make pyarrow end the whole process.
    """
    most = limits()
    most.check("cells", metadata.num_rows * max(len(kept), 1), "the file")
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    size = sum(abs(group.total_byte_size) for group in groups)  # below 0 where it is damaged
    if size > most.bytes and not every:
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        size = sum(one.total_uncompressed_size for one in columns
                   if one.path_in_schema.split(".")[0] in kept)  # fmt: skip
    most.check("bytes", size, "the file, unpacked,")


def _table(content: bytes, nominal: Collection[str], drop: Collection[str]) -> Table:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
    schema = file.schema_arrow
    index = _index_columns(schema.metadata)
    check_names(schema.names, (*nominal, *drop))
    kept = [name for name in schema.names if name not in index and name not in drop]
    _check_limits(file.metadata, set(kept), len(kept) == len(schema.names))
    # What is not used is not unpacked.
    read = file.read(columns=kept)
    columns = tuple(_column(name, read.column(name), name in nominal) for name in kept)
    return Table(columns, set_aside=tuple(sorted(index.union(drop))))
