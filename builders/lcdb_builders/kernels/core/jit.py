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
deep tree of calls takes many times as long to compile as a flat one. The caller's kind applies.

``borrow=True``, with any: references to arrays are not counted. For functions that are called often
with many arrays, and make none.

Numba does not see an edit in an imported helper, and caches beside the sources shadow an editable
install. So the cache is one folder outside the package, named after a digest of all sources below
``kernels/``, the versions of Python, NumPy and Numba, and the processor: another source, another
folder. It lies in the folder ``LCDB_CACHE`` names, or in the user's cache folder.

With ``NUMBA_DISABLE_JIT=1`` kernels stay plain Python, to be stepped through.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import config, njit

__all__ = ["cache_folder", "kernel"]

SOURCES = Path(__file__).resolve().parents[1]
REORDER = {"reassoc", "contract", "nsz", "arcp"}


@cache
def sources_digest() -> str:
    """Return a digest of everything that compiled kernels depend on."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(SOURCES).as_posix()} {len(source)}\n".encode())
        digest.update(source)
    versions = (sys.version_info[:2], np.__version__, numba.__version__, int(config.OPT))
    processor = config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    features = config.CPU_FEATURES or llvmlite.binding.get_host_cpu_features().flatten()
    digest.update(repr((versions, platform.machine(), processor, features)).encode())
    return digest.hexdigest()


def user_cache() -> Path:
    """Return the folder that ``LCDB_CACHE`` names, else ``lcdb`` in the user's cache folder."""
    named = os.environ.get("LCDB_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lcdb"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lcdb"


@cache
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, or None if it cannot be written to."""
    folder = user_cache() / f"kernels-{sources_digest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, where the file system has locks."""
    try:
        import fcntl

        handle = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o666)
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):  # without locks on this file system: as safe as numba by itself
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _keep_on_disk(dispatcher: Any, folder: Path) -> None:
    """Give a compiled function its cache in `folder`.

    Numba picks a free file number and writes the index in two steps: two processes that save
    different signatures at once would leave an index that points to the other's machine code.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        dispatcher.enable_caching()
    finally:
        config.CACHE_DIR = before
    save = dispatcher._cache.save_overload

    def save_alone(signature: Any, data: Any) -> None:
        with _alone(folder):
            save(signature, data)

    dispatcher._cache.save_overload = save_alone


def _compiled(
    function: Callable, reorder: bool, inline: bool, borrow: bool, glue: bool
) -> Callable:
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
    dispatcher = njit(**options)(function)
    folder = cache_folder()
    inside = Path(function.__code__.co_filename).resolve().is_relative_to(SOURCES)
    if folder is not None and inside:  # the digest does not cover sources elsewhere
        _keep_on_disk(dispatcher, folder)
    return dispatcher


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
        return lambda function: _compiled(function, reorder, inline, borrow, glue)
    return _compiled(function, reorder, inline, borrow, glue)
