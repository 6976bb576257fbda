"""Which training sizes of a cube a summary keeps cells for."""

from __future__ import annotations

import re

import numpy as np

from lcdb.errors import ArgumentError

__all__ = ["chosen_sizes"]

_LIST = re.compile(r"[0-9]+(?:,[0-9]+)*", re.ASCII)
_LOG = re.compile(r"log:([1-9][0-9]{0,8})", re.ASCII)


def chosen_sizes(text: str, sizes: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
    """Return some of the sizes of a cube, ascending.

    Parameters
    ----------
    text
        ``"all"``; ``"log:100"``, for as many at even steps of log n; or a list, ``"10,20,50"``.
    sizes
        Those that there are, ascending: only sizes that were computed are chosen.
    first
        Those of curves that have few of them: of a count, they come first.

    Examples
    --------
    >>> chosen_sizes("log:5", np.arange(1, 101)).tolist()
    [1, 3, 10, 32, 100]
    >>> chosen_sizes("log:5", np.arange(1, 101), np.array([15, 40])).tolist()
    [1, 10, 15, 40, 100]
    >>> chosen_sizes("2,50", np.arange(1, 101)).tolist()
    [2, 50]
    """
    if text == "all" or not len(sizes):
        return sizes
    if found := _LOG.fullmatch(text):
        count = int(found[1])
        if first is None or not 0 < len(first) < count:
            return _even(sizes, count)
        # The most that are evenly spaced and come to so many, together with those.
        steps = range(count, 0, -1)
        both = (np.union1d(first, _even(sizes, step)) for step in steps)
        return next((kept for kept in both if len(kept) <= count), first)
    if not _LIST.fullmatch(text):
        msg = f"sizes are {text!r}; expected 'all', 'log:100' or a list such as '10,20,50'"
        raise ArgumentError(msg)
    asked = np.unique(np.array([int(part) for part in text.split(",")]))
    if lost := [int(n) for n in asked if n not in sizes]:
        msg = (
            f"size {lost[0]} was not computed; expected some of {sizes[0]} to {sizes[-1]}"
            f"{'' if len(sizes) == sizes[-1] - sizes[0] + 1 else ' that the plan has'}"
        )
        raise ArgumentError(msg)
    return asked


def _even(sizes: np.ndarray, count: int) -> np.ndarray:
    """Return so many of the sizes, at even steps of log n, fewer where they coincide."""
    wanted = np.geomspace(sizes[0], sizes[-1], count)
    after = np.searchsorted(sizes, wanted).clip(1, max(len(sizes) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(sizes) - 1)
    nearer = wanted - sizes[before] < sizes[after] - wanted
    return np.unique(sizes[np.where(nearer, before, after)])
