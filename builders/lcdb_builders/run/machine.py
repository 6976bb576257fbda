"""How many processors this process may use, which is not how many there are."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["SINGLE_THREADED", "usable_cpus"]

# One owner of parallelism: processes outside, one thread in each.
SINGLE_THREADED = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)


def usable_cpus(
    cgroup: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int:
    """Return the number of CPUs that affinity and cgroup limits leave to this process.

    Parameters
    ----------
    cgroup
        Where control groups are mounted.
    own
        File that names the control group of this process.

    Examples
    --------
    >>> 1 <= usable_cpus() <= os.cpu_count()
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cpus = len(os.sched_getaffinity(0))
    else:  # pragma: no cover - not Linux
        cpus = os.cpu_count() or 1
    limits = [limit for folder in _groups(cgroup, own) if (limit := _quota(folder)) is not None]
    return max(1, min([cpus, *(math.ceil(limit) for limit in limits)]))


def _groups(cgroup: Path, own: Path) -> list[Path]:
    """Return the folders of the process's control group and its parents (v2), or v1's own."""
    folders = [cgroup, cgroup / "cpu", cgroup / "cpu,cpuacct"]
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return folders
    for line in lines:
        _, controllers, name = [*line.split(":", 2), "", ""][:3]
        mount = cgroup if not controllers else cgroup / controllers
        if controllers and "cpu" not in controllers.split(","):
            continue
        folder = mount / name.strip("/")
        folders += [folder, *(p for p in folder.parents if p != mount and mount in p.parents)]
    return folders


def _quota(folder: Path) -> float | None:
    """Return the CPUs' worth of time a group may use, or None where there is no limit."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text().split()
            return None if quota == "max" else int(quota) / int(period)
        if (folder / "cpu.cfs_quota_us").is_file():
            quota = (folder / "cpu.cfs_quota_us").read_text()
            period = (folder / "cpu.cfs_period_us").read_text()
            return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError):
        return None
    return None
