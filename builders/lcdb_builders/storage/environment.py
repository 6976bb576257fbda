"""What computed a number, as far as its last bits may depend on it: wheels and type of CPU."""

from __future__ import annotations

import getpass
import hashlib
import os
import platform
import socket
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lcdb._version import __version__

__all__ = ["Environment", "environment", "same_kind", "user"]

Environment = dict[str, Any]

# Distributions whose version can change the last bits of a score or the bytes of a cube.
PACKAGES = (
    "lcdb-plusplus",
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "h5py",
    "h5netcdf",
)


@cache
def _fixed() -> Environment:
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:  # not every machine has every extra
            continue
    packages["lcdb-plusplus"] = __version__  # of this code; what was installed may be older
    return {
        "cpu": _cpu(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "packages": packages,
    }


def _cpu() -> str:
    """Return model and instruction sets: compilers and BLAS choose their code by the latter."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    flags = " ".join(sorted(fields.get("flags", fields.get("Features", "")).split()))
    model = fields.get("model name", platform.processor())
    return f"{model} ({hashlib.sha256(flags.encode()).hexdigest()[:8]})"


def environment() -> Environment:
    """Return what computes here, as a JSON-able dict.

    Examples
    --------
    >>> machine = environment()
    >>> sorted(machine)
    ['cpu', 'host', 'machine', 'packages', 'python']
    >>> same_kind(machine, {**machine, "host": "another one"})
    True
    >>> same_kind(machine, {**machine, "cpu": "another one"})
    False
    """
    return {**_fixed(), "host": socket.gethostname()}


def same_kind(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two environments must compute the same bits."""
    keys = ("cpu", "machine", "python", "packages")
    return all(one.get(key) == other.get(key) for key in keys)


def user() -> str:
    """Return who runs this process: a name, or a number where there is no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
