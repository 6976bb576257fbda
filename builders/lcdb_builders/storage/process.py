"""Who is at work: a name for this process, and whether the process of a name is dead.

The name goes into temporary files and leases, so that what a killed builder leaves behind is
known as such at once on the same machine, without waiting for a time-out.
"""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

__all__ = ["is_dead", "this_process"]


@cache
def _place() -> str:
    """Return a short name for what process numbers are unique in: a boot of one machine.

    Containers have process numbers of their own, and may share a host name.
    """
    parts = [socket.gethostname()]
    for read in (
        lambda: Path("/proc/sys/kernel/random/boot_id").read_text(),
        lambda: os.readlink("/proc/self/ns/pid"),
    ):
        try:
            parts.append(read())
        except OSError:
            parts.append("")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _started(pid: int) -> str | None:
    """Return when a process was started, in the kernel's ticks; None if there is no such one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _started_elsewhere(pid)
    state, *fields = text.rpartition(")")[2].split()
    # A killed process stays as a zombie until its parent asks for it.
    return None if state in "ZX" else fields[18]


def _started_elsewhere(pid: int) -> str | None:
    """Do what can be done without /proc: find out whether the number is taken."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "0"


def this_process() -> str:
    """Return a name for this process: no other one, at any time or place, has it.

    Examples
    --------
    >>> is_dead(this_process())
    False
    """
    return f"{_place()}-{os.getpid()}-{_started(os.getpid())}"


def is_dead(name: str) -> bool | None:
    """Return whether the process of that name is dead; None if this cannot be seen from here.

    Examples
    --------
    >>> place, pid, started = this_process().split("-")
    >>> is_dead(f"{place}-{pid}-1"), is_dead(f"elsewhere-{pid}-{started}") is None
    (True, True)
    """
    place, _, rest = name.partition("-")
    pid, _, started = rest.partition("-")
    if place != _place() or not pid.isdecimal():
        return None
    return _started(int(pid)) != started
