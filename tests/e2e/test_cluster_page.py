"""docs/cluster.md: what its commands do, run with local processes in the place of nodes."""

import contextlib
import gc
import hashlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import lcdb_builders
import pytest

from tests.support.commands import PATIENCE, ROOT, finish, lcdb

pytestmark = [pytest.mark.process, pytest.mark.server]

PAGE = (ROOT / "docs" / "cluster.md").read_text()
PLAN = """
datasets = [61]
learners = ["NMC", "LDC", "QDC"]
samplings = ["random", "additive"]
sizes = [1, 20]
repetitions = 6
"""
SBATCH = f"""#!{sys.executable}
# A queue of one machine: the tasks of an array become so many processes at once.
import os, re, shutil, subprocess, sys

job = os.path.join(os.environ["FAKE_QUEUE"], str(os.getpid()))
shutil.copy(sys.argv[-1], job + ".sh")
array = re.search("^#SBATCH --array=1-([0-9]+)", open(job + ".sh").read(), re.M)
for task in range(1, int(array[1]) + 1 if array else 2):
    files = f"> {{job}}.{{task}}.out 2> {{job}}.{{task}}.err"
    command = f"bash {{job}}.sh {{files}}; echo $? > {{job}}.{{task}}.code"
    task = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)
    print(task.pid, file=open(job + ".pids", "a"))
print("Submitted batch job", os.path.basename(job))
"""
SCANCEL = """#!/bin/bash
for pid in $(cat "$FAKE_QUEUE/$1.pids"); do kill -- "-$pid" 2> /dev/null; done
exit 0
"""
SQUEUE = """#!/bin/bash
cd "$FAKE_QUEUE"
for job in *.pids; do
  name="${job%.pids}"
  if [ -e "$name.1.code" ]; then echo "$name COMPLETED"; else echo "$name RUNNING"; fi
done
"""


def block(after, kind="sh", **changes):
    """Return the first code block of a kind that follows some words of the page."""
    text = re.search(rf"```{kind}\n(.*?)```", PAGE[PAGE.index(after) :], re.DOTALL)[1]
    for name, value in changes.items():
        text, count = re.subn(rf"(?<=\b{name}=)\S+|(?<=^{name} = )\S+", value, text, flags=re.M)
        assert count == 1, name
    return text


@pytest.fixture
def site(tmp_path):
    """A folder with a plan, a queue, and the environment that the page speaks of."""
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL), ("squeue", SQUEUE)):
        (bin / name).write_text(text)
        (bin / name).chmod(stat.S_IRWXU)
    (tmp_path / "queue").mkdir()
    (tmp_path / "plan.toml").write_text(PLAN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return tmp_path, {
        **os.environ,
        "PATH": os.pathsep.join([str(bin), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "FAKE_QUEUE": str(tmp_path / "queue"),
        "PLAN": str(tmp_path / "plan.toml"),
        "DB": str(tmp_path / "database"),
        "HOST": "127.0.0.1",
        "PORT": str(port),
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    (root / "plan.toml").write_text(PLAN)
    code, _, err = lcdb("build", root / "plan.toml", "--out", root / "database", "--workers", 1)
    assert code == 0, err
    return sha256(root / "database")


def sha256(database):
    return hashlib.sha256((Path(database) / "cubes" / "61.nc").read_bytes()).hexdigest()


def shell(text, site):
    folder, environment = site
    process = subprocess.Popen(
        ["bash", "-e", "-c", text],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        return finish(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_fetch_then_a_job_array(site, undisturbed):
    folder, environment = site
    # The login node fetches for all, and three tasks at once compile where nothing is compiled.
    environment["LCDB_CACHE"] = str(folder / "cache")
    code, out, err = shell(block("First, on the login node"), site)
    assert code == 0, err
    assert "150 rows" in out and "core-hours" in out
    script = block("`array.sh`").replace("--array=1-20", "--array=1-3")
    (folder / "array.sh").write_text(script)
    code, out, err = shell(block("exec lcdb build", "sh") + "wait\n", site)
    assert code == 0, err
    job = re.search(r"Submitted batch job (\d+)", out)[1]
    _wait_for([folder / "queue" / f"{job}.{task}.code" for task in (1, 2, 3)])
    for task in (1, 2, 3):
        told = (folder / "queue" / f"{job}.{task}.err").read_text()
        assert (folder / "queue" / f"{job}.{task}.code").read_text() == "0\n", told
    assert sha256(environment["DB"]) == undisturbed
    code, out, err = shell(block("While it runs, and afterwards"), site)
    assert code == 0, err
    assert re.search(r"total +12 +0 +0 +0 +0", out)


def _wait_for(paths):
    from tests.support.commands import wait_until

    wait_until(lambda: all(path.exists() for path in paths), PATIENCE)


@pytest.mark.full
def test_slurm_workers(site, undisturbed):
    folder, environment = site
    text = block("`slurm.toml`", "toml", jobs="1", cores="2")
    (folder / "slurm.toml").write_text(text + 'scheduler_options = { host = "127.0.0.1" }\n')
    code, _, err = shell(block('# log_directory = "/shared/lcdb-logs"', "sh"), site)
    assert code == 0, err
    assert "1 SLURM jobs of 2 workers" in err
    assert sha256(environment["DB"]) == undisturbed


@pytest.mark.full
def test_slurm_workers_of_a_script(site, monkeypatch):
    folder, environment = site
    monkeypatch.chdir(folder)
    for name in ("PATH", "FAKE_QUEUE"):
        monkeypatch.setenv(name, environment[name])
    text = block("`slurm.toml`", "toml", jobs="1", cores="1")
    (folder / "slurm.toml").write_text(text + 'scheduler_options = { host = "127.0.0.1" }\n')
    plan = {"datasets": [61], "learners": ["NMC"], "samplings": ["random"], "sizes": [1, 20]}
    with warnings.catch_warnings():
        # dask-jobqueue leaves the files with the key to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        report = lcdb_builders.build(plan, folder / "database", slurm=folder / "slurm.toml")
        gc.collect()
    assert report.computed == 4 and set(report.cubes["61"].statuses.values()) == {"complete"}
    (script,) = (folder / "queue").glob("*.sh")
    assert "#SBATCH" in script.read_text()


def test_a_scheduler_of_ones_own(site, undisturbed):
    text = block("## A dask scheduler that you run").replace("--nworkers 4", "--nworkers 2")
    code, _, err = shell(f"trap 'kill $(jobs -p)' EXIT\n{text}", site)
    assert code == 0, err
    assert sha256(site[1]["DB"]) == undisturbed
