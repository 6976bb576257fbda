"""Machine code on disk: found again by what it was made of, checked before it runs.

One file per function and types of arguments (``.part`` for what kernels alone call, see
`lcdb_builders.kernels.core.dispatcher`), below ``kernels-…`` in the cache. A file's name is a
digest of all that its code depends on: the definition of the function and of all that it reaches
(see `sources`), the types, Python, NumPy, Numba, LLVM and the processor. So clones, reinstallations
and versions share one cache, an edit leaves what it does not reach, and nothing is ever stale. It
is not beside the sources, where it would shadow an editable installation.

Whoever can write such a file can run code as its reader, and a flipped bit is another program. So
files and folders are those of `folders`, and each file begins with a digest of what follows. A
cache that root or oneself has filled may be read by all, and is left as it is: what it lacks goes
to the user's own.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba import config, types
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.serialize import dumps

from lcdb_builders.compiling.folders import (
    CacheRefusedError,
    check_folder,
    make_folder,
    own_cache,
    suspicious,
    user_cache,
)
from lcdb_builders.compiling.sources import digest_of, kernel_sources
from lcdb_builders.kernels.core.dispatcher import PartEntry, is_nested, read_part, write_part

__all__ = ["KernelCache", "cache_folder", "cache_folders", "read", "sweep", "write"]

MAGIC = b"lcdb kernel 1\n"
# Days after which a file that nobody has loaded is deleted: sources of other versions made it.
KEPT = 60
DAY = 86400.0


@cache
def _machine() -> tuple[Any, ...]:
    """Return what machine code depends on besides its sources."""
    options = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "LLVM_REFPRUNE_PASS")
    return (
        MAGIC,
        sys.implementation.cache_tag,
        (np.__version__, numba.__version__, llvmlite.__version__),
        tuple((name, str(getattr(config, name, ""))) for name in options),
        platform.machine(),
        config.CPU_NAME or llvmlite.binding.get_host_cpu_name(),
        config.CPU_FEATURES or llvmlite.binding.get_host_cpu_features().flatten(),
        digest_of("lcdb_builders.kernels.core.jit"),
    )


def cache_folders() -> tuple[Path, ...]:
    """Return the folders in which compiled kernels are looked for; the last is written to.

    Usually one. Two where the first is there and may only be read; none where nothing can be kept.

    Raises
    ------
    CacheRefusedError
        Others may have written to one of them.
    """
    name = f"kernels-{hashlib.sha256(repr(_machine()).encode()).hexdigest()[:16]}"
    folders = []
    for place in dict.fromkeys((user_cache(), own_cache())):
        folder = place / name
        check_folder(place)
        with suppress(OSError):
            make_folder(place)
            make_folder(folder)
        check_folder(folder)
        if folder.is_dir():
            folders.append(folder)
        if os.access(folder, os.W_OK | os.X_OK):
            return tuple(folders)
        if not place.is_dir():  # a mistake, to be seen: nothing is kept in the place of it
            return ()
    return ()


def cache_folder() -> Path | None:
    """Return the folder that compiled kernels are written to, or None if there is none."""
    folders = cache_folders()
    return folders[-1] if folders else None


def sweep(folder: Path, now: float | None = None) -> None:
    """Delete code that nobody has loaded for long, and what was left half written."""
    now = time.time() if now is None else now
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime < now - KEPT * DAY:
                    os.unlink(entry.path)


# -- files -----------------------------------------------------------------------------------------


def read(folder: Path, name: str, key: str) -> bytes | None:
    """Return what was written under a name and a key, if it is there as it was written.

    Raises
    ------
    CacheRefusedError
        The file belongs to somebody else, or others may have written to it.
    """
    path = folder / name
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            reason = suspicious(status)
            content = b"" if reason else file.read()
    except OSError:
        return None
    if reason:
        msg = f"the compiled kernel {path} {reason}; delete it, or let LCDB_CACHE name a folder of \
your own"
        raise CacheRefusedError(msg)
    start = len(MAGIC) + 32
    if content[:start] != MAGIC + _seal(key, content[start:]):
        return None
    if status.st_mtime < time.time() - DAY:
        with suppress(OSError):  # of somebody else's cache
            os.utime(path)
    return content[start:]


def write(folder: Path, name: str, key: str, payload: bytes) -> None:
    """Write a file whole, or not at all; who is second replaces it with the same."""
    path = folder / name
    temporary = path.with_name(f".{name}.{uuid.uuid4().hex}")
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(MAGIC + _seal(key, payload) + payload)
        os.replace(temporary, path)
    except OSError:  # a full disk, a folder that is gone: it will be compiled again
        with suppress(OSError):
            os.unlink(temporary)


def _seal(key: str, payload: bytes) -> bytes:
    """Return the digest of a payload under its key: code of another function does not pass."""
    return hashlib.sha256(key.encode() + payload).digest()


# -- what numba asks -------------------------------------------------------------------------------


class KernelCache(NullCache):
    """The cache of one function, in the form that Numba's dispatchers ask for.

    Parameters
    ----------
    function
        The function as it is in Python.
    """

    def __init__(self, function: Any) -> None:
        self._function = function

    @property
    def cache_path(self) -> str | None:
        """Where code is written to."""
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for types of arguments, or None if there is none that is whole."""
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        # What another kernel wants may be a part; what Python calls is a whole.
        for name in (f"{key} part", key) if is_nested() else (key,):
            for folder in cache_folders() if key else ():
                payload = read(folder, self._name(name), name)
                if payload is not None:
                    # Only what the owner of the folder wrote, as the seal and the checks say.
                    content = pickle.loads(payload)
                    if name != key:
                        return read_part(target_context, content)
                    return compiler.CompileResult._rebuild(target_context, *content)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code."""
        key = self._key(sig, data.codegen)
        folder = cache_folder() if key else None
        if folder is None or data.library.has_dynamic_globals or data.lifted:
            return
        if isinstance(data.entry_point, PartEntry):
            name = f"{key} part"
            write(folder, self._name(name), name, dumps(write_part(data)))
        else:
            write(folder, self._name(key), key, dumps(data._reduce()))

    def _name(self, key: str) -> str:
        name = self._function.__qualname__.replace("<", "").replace(">", "")
        return f"{name}-{key[:24]}.{'part' if key.endswith(' part') else 'kernel'}"

    def _key(self, sig: Any, codegen: Any) -> str:
        """Return a digest of all that the code depends on; empty if something has no name."""
        parts = sig if isinstance(sig, tuple) else (*sig.args, sig.return_type)
        names = [_describe(part) for part in parts]
        if not all(names):
            return ""
        function = self._function
        whole = f"{function.__module__}.{function.__qualname__}"
        top = f"{function.__module__}.{function.__qualname__.partition('.')[0]}"
        content = (whole, kernel_sources().digest_of(top), names, codegen.magic_tuple(), _machine())
        return hashlib.sha256(repr(content).encode()).hexdigest()


def _describe(kind: Any) -> str:
    """Return a type in words that mean the same in every process; empty if there are none."""
    if isinstance(kind, types.BaseNamedTuple):
        of = kind.instance_class
        inner = [_describe(part) for part in kind]
        words = f"{of.__module__}.{of.__qualname__}{of._fields}{inner}"
        return words if all(inner) else ""
    if isinstance(kind, types.BaseTuple):
        inner = [_describe(part) for part in kind]
        return f"tuple{inner}" if all(inner) else ""
    words = f"{type(kind).__name__} {kind}"
    return "" if " at 0x" in words else words
