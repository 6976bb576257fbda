"""Cells that were computed and have no value, or not all: how many, where, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Lost", "merge_lost", "told_lost"]


@dataclass(frozen=True)
class Lost:
    """Cells of a unit that lack values for one reason.

    Parameters
    ----------
    reason
        Why, as the first of them has it.
    cells
        How many.
    first_n, last_n
        Between which sizes.
    accuracy
        Whether the accuracy is there all the same.
    """

    reason: str
    cells: int
    first_n: int
    last_n: int
    accuracy: bool = False

    def as_json(self) -> list[Any]:
        """Return the record as a JSON-able list."""
        return [self.reason, self.cells, self.first_n, self.last_n, self.accuracy]

    @classmethod
    def from_json(cls, record: Sequence[Any]) -> Lost:
        """Return what `as_json` returned."""
        return cls(*record)

    @property
    def kind(self) -> tuple[bool, str]:
        """What records have in common that count as one: numbers in a reason vary by cell."""
        return self.accuracy, re.sub(r"[-+]?\d[\d.e+-]*", "#", self.reason)

    def __str__(self) -> str:
        cells = "1 cell" if self.cells == 1 else f"{self.cells:,} cells"
        where = f"n = {self.first_n}"
        if self.last_n != self.first_n:
            where += f" to {self.last_n}"
        what = "nothing but the accuracy" if self.accuracy else "no value"
        return f"{cells} at {where} {'has' if self.cells == 1 else 'have'} {what}: {self.reason}"


def merge_lost(records: Iterable[Lost]) -> tuple[Lost, ...]:
    """Return records with those of one kind put together, the most frequent first.

    Examples
    --------
    >>> [one] = merge_lost([Lost("3 rows", 5, 3, 3), Lost("2 rows", 4, 2, 2)])
    >>> print(one)
    9 cells at n = 2 to 3 have no value: 2 rows
    """
    kinds: dict[tuple[bool, str], Lost] = {}
    for record in sorted(records, key=lambda one: (one.first_n, one.reason)):
        other = kinds.get(record.kind)
        if other is not None:
            record = Lost(
                other.reason,
                other.cells + record.cells,
                min(other.first_n, record.first_n),
                max(other.last_n, record.last_n),
                record.accuracy,
            )
        kinds[record.kind] = record
    return tuple(sorted(kinds.values(), key=lambda one: (-one.cells, one.first_n, one.reason)))


def told_lost(records: Iterable[Lost], most: int = 5) -> str:
    """Return records in words.

    Parameters
    ----------
    records
        What is to be told.
    most
        How many kinds are told one by one.

    Examples
    --------
    >>> told_lost([Lost("too few rows", 1, 2, 2), Lost("only labels", 8, 3, 9, accuracy=True)])
    '8 cells at n = 3 to 9 have nothing but the accuracy: only labels; 1 cell at n = 2 has no \
value: too few rows'
    """
    merged = merge_lost(records)
    text = "; ".join(map(str, merged[:most]))
    rest = sum(one.cells for one in merged[most:])
    return f"{text}; {rest:,} cells for other reasons" if rest else text
