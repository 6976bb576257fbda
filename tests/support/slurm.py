"""A real SLURM of one node on this machine: munged, slurmctld and slurmd in a folder of their own.

It needs root and Debian's ``slurm-wlm``. Nothing of it is left when the `with` block ends, also
where a test fails; the kernel ends each daemon when the process of the tests dies.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

__all__ = ["Slurm", "running", "why_not"]

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "setpriv")
# Debian keeps daemons where only root looks.
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
CPUS = 8
CONFIGURATION = """
ClusterName=lcdb
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=2
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
# What needs no control groups: containers have none of their own.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
# More cores than there are: tests sleep more than they compute.
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0
KillWait=1
# What ended is still listed when a test looks.
MinJobAge=3600
ReturnToService=2
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs={cpus} RealMemory=8000
PartitionName=main Nodes=node1 Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Return why SLURM cannot be started here; empty if it can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"needs {', '.join(missing)}: apt-get install slurm-wlm"
    return "" if os.geteuid() == 0 else "needs root, as which slurmd runs jobs"


class Slurm:
    """A running SLURM.

    Parameters
    ----------
    folder
        Where its files are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}

    def call(self, *command: object) -> str:
        """Run a command of SLURM and return what it prints."""
        done = subprocess.run(
            [*map(str, command)], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def jobs(self, *states: str) -> list[str]:
        """Return the ids of jobs in some states, or of all that have not ended."""
        chosen = ["--states", ",".join(states)] if states else []
        return self.call("squeue", "--noheader", "--array", "--format=%i", *chosen).split()

    def state(self, job: str) -> str:
        """Return how a job is, or how it ended."""
        told = self.call("scontrol", "show", "job", job)
        return told.partition("JobState=")[2].split()[0]

    def _is_ready(self) -> bool:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout.strip() == "idle"

    def _logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))


@contextmanager
def running(folder: Path) -> Iterator[Slurm]:
    """Start SLURM in an empty folder, and end it with all of its jobs.

    Parameters
    ----------
    folder
        Its path is short: that of a socket has at most 107 letters.
    """
    slurm = Slurm(folder)
    folder.chmod(0o755)
    for name, mode in (("munge", 0o755), ("state", 0o700), ("spool", 0o755)):
        (folder / name).mkdir(mode=mode)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    host = socket.gethostname()
    controller, node = _free_ports(2)
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(folder=folder, host=host, controller=controller, node=node, cpus=CPUS)
    )
    munge = [f"--{name}-file={folder}/munge/{name}" for name in ("pid", "log", "seed", "key")]
    conf = folder / "slurm.conf"
    commands = (
        ["munged", "--foreground", f"--socket={folder}/munge/socket", *munge],
        ["slurmctld", "-D", "-f", conf],
        ["slurmd", "-D", "-N", "node1", "-f", conf],
    )
    daemons: list[psutil.Popen] = []
    try:
        for command in commands:
            daemons.append(_daemon(command, slurm))
            if command[0] == "munged":
                _wait_for((folder / "munge" / "socket").exists, slurm, daemons)
        _wait_for(slurm._is_ready, slurm, daemons)
        yield slurm
    finally:
        with suppress(AssertionError):
            slurm.call("scancel", "--full", "--user=root")
            _wait_for(lambda: not slurm.jobs(), slurm, daemons)
        for daemon in reversed(daemons):
            daemon.terminate()
        left = [*daemons, *_processes_of(folder)]
        _, alive = psutil.wait_procs(left, timeout=10)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive)


def _daemon(command: list, slurm: Slurm) -> psutil.Popen:
    with (slurm.folder / f"{command[0]}.out").open("w") as out:
        return psutil.Popen(
            ["setpriv", "--pdeathsig", "TERM", *map(str, command)],
            env=slurm.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def _processes_of(folder: Path) -> list[psutil.Process]:
    """Return what the daemons have started, and what left them: each was given their folder."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("SLURM_CONF") == str(folder / "slurm.conf"):
                found.append(process)
    return found


def _wait_for(condition, slurm: Slurm, daemons: list[psutil.Popen], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        dead = [daemon for daemon in daemons if daemon.poll() is not None]
        assert not dead and time.monotonic() < deadline, slurm._logs()
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
