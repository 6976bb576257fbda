"""The one way to compile a kernel: `@kernel`.

Every kernel releases the GIL, runs on one thread, divides as IEEE 754 does, and is kept on disk, so
that a process loads it in a fraction of a second instead of compiling it for seconds.

Three kinds, by what may happen to the arithmetic:

- ``@kernel``: as written, in the written order, no fused operations unless `fma` is called. A row
  has the same score wherever it stands in an array, so duplicated rows tie.
- ``@kernel(reorder=True)``: sums may be reassociated and fused (LLVM's ``reassoc contract nsz
  arcp``), which lets them use vector instructions. For sums that need to be accurate but do not
  decide ties: moments, Hessians, losses. NaN and infinity stay valid.
- ``inline=True``, with either: the compiler must inline it. For small functions in inner loops.

``glue=True``: no function of its own, but merged into each function that calls it. For what is
called from one or two places, once per cell: a function compiles all that it calls again, so a
deep tree of calls takes many times as long to compile as a flat one. Also for what is called in
short loops with many arrays, each of which is seven words or more on the stack. The caller's kind
applies.

``borrow=True``, with any: references to arrays are not counted. For functions that are called often
with many arrays, and make none.

What kernels alone call gets no machine code of its own, see the module `dispatcher`. Machine code
is kept on disk by `lcdb_builders.compiling`, which knows when it may be used again.

With ``NUMBA_DISABLE_JIT=1`` kernels stay plain Python, to be stepped through.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import config

from lcdb_builders.compiling.sources import kernel_sources
from lcdb_builders.compiling.store import KernelCache
from lcdb_builders.kernels.core.dispatcher import KernelDispatcher

__all__ = ["kernel"]

REORDER = {"reassoc", "contract", "nsz", "arcp"}


def kernel(
    function: Callable | None = None,
    *,
    reorder: bool = False,
    inline: bool = False,
    borrow: bool = False,
    glue: bool = False,
) -> Any:
    """Compile a function as a kernel; see the module's text for the three kinds.

    Parameters
    ----------
    function
        What to compile; filled in by Python where the decorator is used without parentheses.
    reorder
        Allow sums to be reassociated and fused.
    inline
        Inline it wherever it is called.
    borrow
        The function makes no arrays and returns none, so it need not count references to those that
        it is given: an atomic operation each way for every array of every call.
    glue
        Merge it into its callers.

    Examples
    --------
    >>> @kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if function is None:
        return partial(kernel, reorder=reorder, inline=inline, borrow=borrow, glue=glue)
    if config.DISABLE_JIT:
        return function
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "boundscheck": False,
        "fastmath": REORDER if reorder else False,
        "forceinline": inline,
        "_nrt": not borrow,
        "inline": "always" if glue else "never",
        "no_cfunc_wrapper": True,
    }
    dispatcher = KernelDispatcher(function, options)
    if kernel_sources().cover(function.__code__.co_filename):  # no digest is of others
        dispatcher._cache = KernelCache(function)
    return dispatcher
