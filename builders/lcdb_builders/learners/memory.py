"""How much memory the tables of a block may take: what distances or kernels are kept of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["table_bytes", "tables_within"]

_most: ContextVar[float] = ContextVar("most", default=float("inf"))


def table_bytes() -> float:
    """Return how many bytes the tables of a block may take; what they lack is computed again.

    Numbers do not depend on it.
    """
    return _most.get()


@contextmanager
def tables_within(most: float) -> Iterator[None]:
    """Bound the tables of the blocks that this thread computes meanwhile.

    Examples
    --------
    >>> with tables_within(1e6):
    ...     table_bytes()
    1000000.0
    >>> table_bytes()
    inf
    """
    before = _most.set(most)
    try:
        yield
    finally:
        _most.reset(before)
