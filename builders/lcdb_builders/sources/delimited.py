"""CSV files and their like: a header line, one row per line, no types."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection

from lcdb.errors import DatasetError
from lcdb_builders.sources.limits import limits
from lcdb_builders.sources.table import (
    Column,
    Table,
    check_names,
    guess_column,
    nominal_column,
)

__all__ = ["MISSING", "read_delimited"]

# Texts that stand for a missing cell, besides an empty one, unless others are listed. "None" is a
# category in too many files to be one of them.
MISSING = ("?", "NA", "N/A", "NaN", "nan", "NULL", "null")
_DELIMITERS = (",", ";", "\t", "|")


def _delimiter(header: str) -> str:
    """Return the delimiter that the header line uses most."""
    return max(_DELIMITERS, key=lambda sign: (header.count(sign), sign == ","))


def _fail(line: int, what: str) -> DatasetError:
    msg = f"malformed CSV, line {line}: {what}"
    return DatasetError(msg)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(text: str, delimiter: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Return header, rows and the line in which each row ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    most = limits()
    try:
        for row in reader:
            if not any(cell.strip() for cell in row) and len(row) < 2:
                continue
            if not header:
                header = [cell.strip() for cell in row]
                continue
            if len(row) != len(header):
                raise _fail(
                    reader.line_num, f"{len(row)} cells where the header has {len(header)} columns"
                )
            cells = (len(rows) + 1) * len(header)
            most.check("cells", cells, f"the file, as far as line {reader.line_num},")
            rows.append([cell.strip() for cell in row])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise _fail(reader.line_num, str(error)) from error
    return header, rows, lines


def _without_positions(
    header: list[str], drop: Collection[str | int]
) -> tuple[list[str], list[str]]:
    """Return names of columns, also of those dropped by position, and what to drop by name."""
    names, dropped = list(header), [one for one in drop if isinstance(one, str)]
    for position in (one for one in drop if not isinstance(one, str)):
        if not 1 <= position <= len(names):
            msg = f"drop has column {position}; expected 1 to {len(names)}"
            raise DatasetError(msg)
        names[position - 1] = names[position - 1] or f"column {position}"
        dropped.append(names[position - 1])
    return names, dropped


def read_delimited(
    text: str,
    nominal: Collection[str] = (),
    drop: Collection[str | int] = (),
    missing: Collection[str] = MISSING,
    delimiter: str = "",
) -> Table:
    r"""Return the columns of a CSV file.

    A column is numeric if all its cells are numbers, nominal if none is or if it is listed.

    Parameters
    ----------
    text
        The file's content.
    nominal
        Columns to read as categories whatever they hold.
    drop
        Columns not to read: names, or positions from 1 on where a column has no name.
    missing
        Texts that stand for a missing cell.
    delimiter
        One character; empty for the one that the header line uses most.

    Examples
    --------
    >>> table = read_delimited("width,colour\n1.5,blue\n?,red\n")
    >>> [column.values.tolist() for column in table.columns]
    [[1.5, nan], [0.0, 1.0]]
    """
    if len(delimiter) > 1:
        msg = f"the delimiter {delimiter!r} is not one character"
        raise DatasetError(msg)
    sign = delimiter or _delimiter(text.lstrip().partition("\n")[0])
    header, rows, lines = _rows(text, sign)
    if header and all(_is_number(name) for name in header):
        msg = "the first line holds numbers only; expected a header line with the names of columns"
        raise DatasetError(msg)
    header, drop = _without_positions(header, drop)
    check_names(header, (*nominal, *drop))
    signs = frozenset(missing) | {""}

    def where(row: int) -> str:
        return f"line {lines[row]}"

    def column(position: int, name: str) -> Column:
        cells = [None if row[position] in signs else row[position] for row in rows]
        read = nominal_column if name in nominal else guess_column
        return read(name, cells, where)

    kept = [(position, name) for position, name in enumerate(header) if name not in drop]
    return Table(tuple(column(*where_and_name) for where_and_name in kept), tuple(sorted(drop)))
