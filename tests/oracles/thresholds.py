"""How many rows it takes to reach a target, from whole numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

__all__ = ["quantile", "smallest_size"]


def quantile(counts: np.ndarray, rows: np.ndarray, q: Fraction) -> Fraction:
    """Return the quantile of count / rows that lies on the line between order statistics.

    Shares of at most 10,000 rows differ by 1e-8 or not at all, so doubles put them in order.
    """
    order = np.argsort(counts / rows, kind="stable")
    place = q * (len(counts) - 1)
    low = int(place)
    pair = [
        Fraction(int(counts[order[i]]), int(rows[order[i]]))
        for i in (low, min(low + 1, len(counts) - 1))
    ]
    return pair[0] + (place - low) * (pair[1] - pair[0])


def smallest_size(values: Sequence[tuple[int, Fraction]], target: Fraction) -> int | None:
    """Return the size from which on every value reaches the target; None if the last does not."""
    answer = None
    for size, value in sorted(values, reverse=True):
        if value < target:
            break
        answer = size
    return answer
