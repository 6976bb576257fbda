"""Columns as a file declares them: numbers, or codes of categories; NaN where a cell is missing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lcdb.errors import DatasetError, NotFoundError, ReadError, did_you_mean
from lcdb.regular import check_regular, read_regular
from lcdb_builders.sources.limits import limits

__all__ = [
    "Column",
    "Table",
    "about",
    "check_names",
    "decode",
    "guess_column",
    "nominal_column",
    "non_finite",
    "numeric_column",
    "read_bytes",
]

Cells = Sequence[str | None]
# Says where row i of a table stands in its file, such as "line 17".
Where = Callable[[int], str]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NON_FINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Parameters
    ----------
    name
        As the file has it.
    values
        float64: numbers, or codes of `categories`; NaN where missing.
    categories
        Texts of a nominal column in code order; None for a numeric column.
    guessed
        Whether it is nominal only because it holds text, which neither file nor user declared.
    """

    name: str
    values: np.ndarray
    categories: tuple[str, ...] | None = None
    guessed: bool = False

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing."""
        return np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file in file order, without those that were set aside."""

    columns: tuple[Column, ...]
    set_aside: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return a column, or raise with the closest name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DatasetError(no_column(name, self.names))


def no_column(name: str, names: Sequence[str]) -> str:
    """Return the message for a column that a file does not have."""
    return f"no column {name!r} among its {len(names)} columns.{did_you_mean(name, names)}"


@contextmanager
def about(dataset: str):
    """Put the name of the dataset in front of every `DatasetError` that is raised inside."""
    try:
        yield
    except DatasetError as error:
        msg = f"dataset {dataset}: {error}"
        raise DatasetError(msg) from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, or raise saying why it cannot be had."""
    expected = "an ARFF, CSV or parquet file"
    try:
        limits().check("bytes", check_regular(path, expected).st_size, str(path))
        content = read_regular(path, expected)
    except DatasetError:
        raise
    except ReadError:
        raise
    except NotFoundError as error:
        if os.path.lexists(path):
            raise DatasetError(str(error)) from error
        msg = f"there is no file {path}; check the path (a plan's paths start at the plan's folder)"
        raise DatasetError(msg) from None
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise DatasetError(msg) from error
    if not content.strip():
        msg = f"{path} is empty; expected a header and at least 10 rows"
        raise DatasetError(msg)
    return content


def decode(content: bytes, encoding: str = "utf-8") -> str:
    """Return the text of a file; a byte-order mark is no part of it."""
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in {"utf-8", "utf8"} else encoding)
    except LookupError:
        msg = f"no encoding is called {encoding!r}; expected one such as 'utf-8' or 'latin-1'"
        raise DatasetError(msg) from None
    except UnicodeError as error:
        position = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = content.count(b"\n", 0, position) + 1
        msg = (
            f"line {line} is not {encoding} text (byte 0x{content[position]:02x}); "
            "save the file as UTF-8, or name its encoding"
        )
        raise DatasetError(msg) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        msg = f"line {line} holds a NUL character: not a text file, or one in another encoding"
        raise DatasetError(msg)
    return text


def check_names(names: Sequence[str], wanted: Sequence[str] = ()) -> None:
    """Raise unless column names are there, distinct, and hold the wanted ones."""
    seen: set[str] = set()
    for position, name in enumerate(names, 1):
        if not name:
            msg = (
                f"column {position} has no name (pandas writes its row labels so); name it, or "
                f"leave it out by its position: drop = [{position}]"
            )
            raise DatasetError(msg)
        if name in seen:
            msg = f"two columns are called {name!r}; rename one of them"
            raise DatasetError(msg)
        seen.add(name)
    for name in wanted:
        if name not in seen:
            raise DatasetError(no_column(name, names))


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def non_finite(name: str, text: object, place: str) -> DatasetError:
    """Return the error for an infinite cell."""
    msg = (
        f"column {name!r} holds a non-finite number ({text}, {place}); "
        "correct the file, or leave the cell empty to have it imputed"
    )
    return DatasetError(msg)


def numeric_column(name: str, cells: Cells, where: Where) -> Column:
    """Return a column of numbers, or raise naming the first cell that holds none."""
    values = np.full(len(cells), np.nan)
    for row, text in enumerate(cells):
        if text is None or text.lower() == "nan":
            continue
        number = _number(text)
        if _NON_FINITE.fullmatch(text) or (number is not None and np.isinf(number)):
            raise non_finite(name, text, where(row))
        if number is None:
            msg = f"column {name!r} is numeric but holds {text!r} ({where(row)})"
            raise DatasetError(msg)
        values[row] = number
    return Column(name, values)


def nominal_column(
    name: str, cells: Cells, where: Where, declared: Sequence[str] | None = None
) -> Column:
    """Return a column of category codes, in declared order or else that of first appearance.

    Examples
    --------
    >>> nominal_column("size", ["small", None, "big"], str).values
    array([ 0., nan,  1.])
    >>> nominal_column("size", ["small", None, "big"], str, declared=["big", "small"]).values
    array([ 1., nan,  0.])
    """
    codes = {text: code for code, text in enumerate(declared or ())}
    values = np.full(len(cells), np.nan)
    for row, text in enumerate(cells):
        if text is None:
            continue
        if declared is None:
            codes.setdefault(text, len(codes))
        elif text not in codes:
            hint = did_you_mean(text, declared)
            msg = f"column {name!r} holds {text!r} ({where(row)}), which is not declared.{hint}"
            raise DatasetError(msg)
        values[row] = codes[text]
    limits().check("categories", len(codes), f"column {name!r}")
    return Column(name, values, tuple(codes))


def guess_column(name: str, cells: Cells, where: Where) -> Column:
    """Return a column of a file without types: numeric if every cell is a number.

    A column that mixes numbers and text is refused: a typing error in one cell would silently make
    categories out of numbers.
    """
    odd: list[int] = []
    numbers = 0
    for row, text in enumerate(cells):
        if text is None or text.lower() == "nan":
            continue
        if _NUMBER.fullmatch(text) or _NON_FINITE.fullmatch(text):
            numbers += 1
        else:
            odd.append(row)
    if not odd:
        return numeric_column(name, cells, where)
    if numbers:
        share = f"{len(odd)} of {len(odd) + numbers} cells"
        msg = (
            f"column {name!r} mixes numbers and text ({cells[odd[0]]!r}, {where(odd[0])}; {share});"
            " list the column as nominal, or the text as a sign for missing cells"
        )
        raise DatasetError(msg)
    if all(_DECIMAL_COMMA.fullmatch(cells[row] or "") for row in odd):
        msg = (
            f"column {name!r} holds numbers with a decimal comma ({cells[odd[0]]!r}, "
            f"{where(odd[0])}); write them with a point, or list the column as nominal"
        )
        raise DatasetError(msg)
    return replace(nominal_column(name, cells, where), guessed=True)
