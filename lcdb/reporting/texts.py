"""Numbers and lists in words, the same everywhere in a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["counted", "interval", "listed", "number", "p_value", "share"]


def listed(names: Iterable[object], most: int = 12) -> str:
    """Return names with commas and an "and"; the last of too many are counted.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed("abcde", most=3)
    ('a, b and c', 'a, b, c and 2 more')
    """
    texts = [str(name) for name in names]
    if len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "dataset"), counted(2000, "cell"), counted(0, "repetition")
    ('1 dataset', '2,000 cells', '0 repetitions')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def number(value: float, digits: int = 3) -> str:
    """Return a score or a difference with so many decimals; nothing for NaN.

    Examples
    --------
    >>> number(0.12345), number(-0.0001), number(float("nan"))
    ('0.123', '0.000', '')
    """
    return "" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"


def interval(low: float, high: float, digits: int = 3) -> str:
    """Return the two ends of an interval.

    Examples
    --------
    >>> interval(-0.0123, 0.5)
    '-0.012 to 0.500'
    """
    return f"{number(low, digits)} to {number(high, digits)}" if np.isfinite(low + high) else ""


def p_value(p: float) -> str:
    """Return a p-value as people print it.

    Examples
    --------
    >>> p_value(0.0312), p_value(1e-9)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def share(parts: Any, digits: int = 0) -> str:
    """Return the mean of truth values as a percentage.

    Examples
    --------
    >>> share([True, False, False])
    '33 %'
    """
    return f"{100 * float(np.mean(parts)):.{digits}f} %"
