"""SLURM jobs whose workers come to a scheduler in this process, and what SLURM says to them.

dask-jobqueue submits in the background and writes a refusal into its log, so that a build would
wait for ever. Here a refused submission is kept, and told or raised when the build looks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distributed import Security
from distributed.deploy.spec import ProcessInterface, SpecCluster

from lcdb.errors import LCDBError, MissingExtraError
from lcdb_builders.planning.config import check, read_toml

__all__ = ["Jobs", "check_slurm", "read_slurm"]

# Its server is started all the same; on a free port it is in nobody's way.
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
SUBMIT = "sbatch"


def read_slurm(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any]]:
    """Return the number of jobs and the options of dask-jobqueue from a TOML file."""
    content = read_toml(Path(path))
    check(content, "slurm", Path(path).name)
    options = dict(content)
    jobs = options.pop("jobs", 1)
    # One thread per process: kernels and BLAS are single-threaded.
    options["processes"] = options["cores"]
    # What dask-jobqueue starts with `python -m` would import from the folder it happens to be in.
    prologue = options.get("job_script_prologue", [])
    options["job_script_prologue"] = ["export PYTHONSAFEPATH=1", *prologue]
    # Workers read the key from a file that only this user may read, in a folder that all nodes see.
    options.setdefault("shared_temp_directory", os.getcwd())
    options["scheduler_options"] = {**NO_DASHBOARD, **options.get("scheduler_options", {})}
    return jobs, options


def check_slurm(path: str | os.PathLike[str]) -> None:
    """Raise if jobs cannot be submitted from here, or the file says nothing that can be used."""
    read_slurm(path)
    if shutil.which(SUBMIT) is None:
        msg = (
            f"there is no {SUBMIT} on this machine's PATH, which --slurm submits jobs with; "
            "run this where SLURM is, such as on a login node, or take --workers"
        )
        raise LCDBError(msg)


class Jobs:
    """The jobs of one build.

    Parameters
    ----------
    path
        The TOML file with their options.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.count, self.options = read_slurm(path)
        self.refusals: list[str] = []
        self._told = 0

    def submit(self) -> SpecCluster:
        """Return a scheduler to which the workers of the jobs will come."""
        try:
            from dask_jobqueue import SLURMCluster
            from dask_jobqueue.slurm import SLURMJob
        except ImportError as error:
            msg = (
                "--slurm needs dask-jobqueue; install it with: pip install 'lcdb-plusplus[cluster]'"
            )
            raise MissingExtraError(msg) from error
        refusals = self.refusals

        class Job(SLURMJob):
            """A job that keeps what SLURM answers where it is refused."""

            async def start(self) -> None:
                try:
                    await super().start()
                except (OSError, RuntimeError, ValueError) as error:
                    refusals.append(_answer(error))
                    await ProcessInterface.start(self)

            async def close(self) -> None:
                if self.job_id:
                    await super().close()

        job: Any = Job
        try:
            cluster = SLURMCluster(
                silence_logs=False,
                job_cls=job,
                security=Security.temporary(),
                protocol="tls://",
                **self.options,
            )
            cluster.scale(jobs=self.count)
        except (OSError, RuntimeError, ValueError) as error:
            msg = f"SLURM jobs as in {self.path} could not be submitted: {_answer(error)}"
            raise LCDBError(msg) from error
        return cluster

    def tend(self) -> Sequence[str]:
        """Tell which submissions were refused; raise when all were."""
        refused = len(self.refusals)
        if refused >= self.count:
            msg = (
                f"SLURM refused all {refused} jobs as in {self.path}: {self.refusals[-1]}; "
                "nothing was computed"
            )
            raise LCDBError(msg)
        if refused == self._told:
            return []
        self._told = refused
        return [f"SLURM refused {refused} of {self.count} jobs: {self.refusals[-1]}"]


def _answer(error: Exception) -> str:
    """Return what SLURM said, without what dask-jobqueue puts around it."""
    text = str(error)
    reason = text.rpartition("stderr:")[2] if "stderr:" in text else text
    return " ".join(reason.split()) or type(error).__name__
