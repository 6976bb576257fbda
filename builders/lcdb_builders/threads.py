"""One thread for BLAS and OpenMP: they split sums by thread, and so change the last bits.

A build pins its workers; a replay in a notebook must give the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Return the controller of all thread pools; they come with imports, hence the argument."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the thread pools of this process to one thread for a while.

    Examples
    --------
    >>> import numpy
    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {pool["num_threads"] for pool in threadpool_info()}
    {1}
    """
    with _controller(len(sys.modules)).limit(limits=1):
        yield
