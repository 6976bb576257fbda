"""How much a dataset may take: a small file, or a server, can ask for more than a machine has.

A megabyte of gzip becomes gigabytes, a row of a sparse file is a few bytes whatever it stands for.
Each limit is an environment variable, so that it holds for whatever reads a dataset.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from lcdb.errors import DatasetError

__all__ = ["Limits", "limits"]

_VARIABLES = {
    "bytes": "LCDB_MAX_BYTES",
    "cells": "LCDB_MAX_CELLS",
    "categories": "LCDB_MAX_CATEGORIES",
}


@dataclass(frozen=True)
class Limits:
    """The most that a dataset may have.

    Parameters
    ----------
    bytes
        Of a file or a download, unpacked.
    cells
        Rows × columns.
    categories
        Of one column.

    Examples
    --------
    >>> Limits(cells=100).check("cells", 10 * 10, "it")
    >>> Limits(cells=99).check("cells", 10 * 10, "it")
    Traceback (most recent call last):
    ...
    lcdb.errors.DatasetError: it has 100 cells or more, the limit is 99; LCDB_MAX_CELLS raises it
    """

    bytes: int = 1 << 28
    cells: int = 20_000_000
    categories: int = 100_000

    def check(self, what: str, count: int, whose: str) -> None:
        """Raise if there are more than may be.

        Parameters
        ----------
        what
            Name of the limit.
        count
            How many there are, at least.
        whose
            Of what, in words.
        """
        limit = getattr(self, what)
        if count > limit:
            msg = (
                f"{whose} has {count:,} {what} or more, the limit is {limit:,}; "
                f"{_VARIABLES[what]} raises it"
            )
            raise DatasetError(msg)


def limits() -> Limits:
    """Return the limits, as environment variables set them.

    Raises
    ------
    DatasetError
        A variable holds no whole number above 0.
    """
    given = {}
    for name, variable in _VARIABLES.items():
        text = os.environ.get(variable)
        if text:
            if not (text.isascii() and text.isdigit() and int(text) > 0):
                msg = f"{variable} is {text!r}; expected a whole number above 0"
                raise DatasetError(msg)
            given[name] = int(text)
    return Limits(**given)
