"""Text that would become categories although it hardly is one: dates, amounts, free text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from lcdb.errors import DatasetError, DatasetWarning
from lcdb_builders.sources.table import Column

__all__ = ["check_guesses"]

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*([ap]m)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_ZONE = r"(\s*(z|[+-]\d{2}:?\d{2}))?"
_DAY = "|".join(
    (
        r"\d{4}(?P<one>[-/.])\d{1,2}(?P=one)\d{1,2}",
        r"\d{1,2}(?P<two>[-/.])\d{1,2}(?P=two)(\d{4}|\d{2})",
        rf"\d{{1,2}}[ -]{_MONTH}[ -,]*(\d{{4}}|\d{{2}})",
        rf"{_MONTH} \d{{1,2}}(st|nd|rd|th)?,? \d{{4}}",
    )
)
_DATE = re.compile(rf"(({_DAY})([t ]+{_CLOCK}{_ZONE})?|{_CLOCK})", re.IGNORECASE)
_NUMBER = r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?"
# A sign before a number or after it, or commas between thousands.
_AMOUNT = re.compile(
    rf"\(?[+-]?\s*([$€£¥₹]\s*{_NUMBER}|{_NUMBER}\s*[%‰$€£¥₹]|\d{{1,3}}(,\d{{3}})+(\.\d+)?)\)?"
)
# More categories than this share of the rows are no categories.
_SHARE = 0.5
_FEW = 20


def check_guesses(columns: Iterable[Column], rows: int) -> None:
    """Raise for dates, and warn of other text that is read as categories without being asked.

    Parameters
    ----------
    columns
        Features; only those whose type was guessed are looked at.
    rows
        How many rows the dataset has.

    Examples
    --------
    >>> import numpy as np
    >>> day = Column("day", np.zeros(1), ("2020-01-31",), guessed=True)
    >>> check_guesses([day], 10)
    Traceback (most recent call last):
    ...
    lcdb.errors.DatasetError: column 'day' holds dates ('2020-01-31'), which lcdb cannot use; drop \
the column or convert it to a number (days since some date, say); to have each date as a category, \
list it as nominal
    """
    for column in columns:
        categories = column.categories
        if not column.guessed or not categories:
            continue
        first, count = categories[0], len(categories)
        if all(_DATE.fullmatch(text) for text in categories):
            msg = (
                f"column {column.name!r} holds dates ({first!r}), which lcdb cannot use; drop the "
                "column or convert it to a number (days since some date, say); to have each date "
                "as a category, list it as nominal"
            )
            raise DatasetError(msg)
        if all(_AMOUNT.fullmatch(text) for text in categories):
            _warn(column, f"numbers with signs ({first!r})", "write them as plain numbers")
        elif count > _FEW and count > _SHARE * rows:
            what = f"{count} different texts in {rows} rows ({first[:30]!r}, ...)"
            _warn(column, what, "drop it if it names rows, or is free text")


def _warn(column: Column, what: str, advice: str) -> None:
    count = len(column.categories or ())
    msg = (
        f"column {column.name!r} holds {what} and is read as {count} categories without order; "
        f"{advice}; to keep it so, list it as nominal"
    )
    warnings.warn(msg, DatasetWarning, stacklevel=2)
