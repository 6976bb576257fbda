"""How long something takes on a machine that does other things as well."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["best_seconds"]


def best_seconds(call: Callable[[], object], budget: float, most: int = 5) -> float:
    """Return the least processor time of several calls, as many as fit into a budget.

    The processor's time does not count what other processes do, and the least of several rounds
    leaves out most of what they do to the caches.

    Parameters
    ----------
    call
        What to time; it is called at least once.
    budget
        Seconds that all calls together may take; the last may exceed it.
    most
        Greatest number of calls.

    Examples
    --------
    >>> 0 <= best_seconds(lambda: sum(range(1000)), budget=0.001) < 1
    True
    """
    best, spent = float("inf"), 0.0
    for _ in range(most):
        start = time.process_time()
        call()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent + took > budget:
            break
    return best
