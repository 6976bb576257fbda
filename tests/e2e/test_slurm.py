"""Builds on a real SLURM of one node: whatever becomes of jobs, the cube is a local build's."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from tests.support import slurm as support
from tests.support.commands import PATIENCE, ROOT, environment, finish, lcdb

pytestmark = [
    pytest.mark.process,
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.full,
    # Takes a quiet machine and a quarter of an hour.
    pytest.mark.skipif("LCDB_TEST_CLUSTER" not in os.environ, reason="set LCDB_TEST_CLUSTER=1"),
    pytest.mark.skipif(bool(support.why_not()), reason=support.why_not()),
]

# Cells wait for a file in the jobs of SLURM alone, so that a test knows what they are at.
PLAN = """
datasets = [61]
samplings = ["random", "additive"]
sizes = [3, 8]
repetitions = 4
[learners.Waits]
estimator = "estimators.Waits"
"""
OPTIONS = """
jobs = {jobs}
max_jobs = {most}
cores = {cores}
memory = "1GB"
walltime = "{walltime}"
log_directory = "{folder}/logs"
scheduler_options = {{ host = "127.0.0.1" }}
job_script_prologue = ["export LCDB_TEST_GATE={folder}/gate"]
worker_extra_args = [{extra}]
"""


@pytest.fixture(scope="module")
def slurm():
    # A socket's path is short; pytest's own folders are not.
    with (
        tempfile.TemporaryDirectory(prefix="lcdb-slurm-") as folder,
        support.running(Path(folder)) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    (folder / "plan.toml").write_text(PLAN)
    code, _, err = lcdb("build", folder / "plan.toml", "--out", folder / "db", "--workers", 2,
                        "--allow-import")  # fmt: skip
    assert code == 0, err
    return sha256(folder / "db")


def sha256(database: Path) -> str:
    return hashlib.sha256((database / "cubes" / "61.nc").read_bytes()).hexdigest()


def wait_for(condition) -> None:
    """Wait until a condition holds, which starts a process of SLURM's whenever it is asked."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.5)


def speaks_http(address: tuple[str, int]) -> bool:
    """Return whether somebody without a key gets an answer at an address of this machine."""
    host, port = address
    connection = http.client.HTTPConnection(
        "127.0.0.1" if host in ("0.0.0.0", "::") else host, port, timeout=30
    )
    try:
        connection.request("GET", "/health")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


class Build:
    """One ``lcdb build --slurm``, whose cells wait until the gate is open."""

    def __init__(self, slurm: support.Slurm, folder: Path, **options: object) -> None:
        self.slurm, self.folder, self.database = slurm, folder, folder / "db"
        self.before = set(slurm.jobs("all"))
        (folder / "plan.toml").write_text(PLAN)
        # Without dask's second process for each worker, whose start takes as long.
        values = {"jobs": 2, "cores": 1, "most": 20, "walltime": "01:00:00"}
        values |= {"extra": '"--no-nanny"', **options}
        (folder / "slurm.toml").write_text(OPTIONS.format(folder=folder, **values))
        command = [sys.executable, "-m", "lcdb.cli", "build", folder / "plan.toml"]
        self.errors = (folder / "errors").open("w")
        self.process = subprocess.Popen(
            [*command, "--out", self.database, "--slurm", folder / "slurm.toml", "--allow-import"],
            env={**slurm.environment, "PYTHONPATH": environment()["PYTHONPATH"]},
            stderr=self.errors,
            text=True,
            cwd=folder,
            start_new_session=True,
        )

    def jobs(self, *states: str) -> list[str]:
        """Return the jobs of this build, in the order of their submission."""
        return sorted(set(self.slurm.jobs(*states)) - self.before, key=int)

    def processes(self) -> list[psutil.Process]:
        """Return all that runs in the jobs of this build."""
        jobs = set(self.jobs())
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("SLURM_JOB_ID") in jobs:
                    found.append(process)
        return found

    @property
    def said(self) -> str:
        return (self.folder / "errors").read_text()

    def wait_for(self, condition) -> None:
        def met() -> bool:
            assert self.process.poll() is None, self.said
            return condition()

        wait_for(met)

    def wait_for_work(self, *jobs: str) -> None:
        """Wait until a cell is waiting in each of some jobs."""
        wanted = set(jobs)

        def at_work() -> bool:
            found = set()
            for process in self.processes():
                with contextlib.suppress(psutil.Error):
                    if "lcdb_builders.run.child" in process.cmdline():
                        found.add(process.environ()["SLURM_JOB_ID"])
            return wanted <= found

        self.wait_for(at_work)

    def open_gate(self) -> None:
        (self.folder / "gate").touch()

    def end(self) -> tuple[int, str]:
        code, _, _ = finish(self.process)
        self.errors.close()
        return code, self.said


@pytest.fixture
def begin(slurm, tmp_path):
    builds = []

    def begun(**options) -> Build:
        builds.append(Build(slurm, tmp_path, **options))
        builds[-1].wait_for(lambda: len(builds[-1].jobs("running")) == options.get("jobs", 2))
        return builds[-1]

    yield begun
    for build in builds:
        if build.process.poll() is None:
            build.process.kill()
            build.process.communicate()
        build.errors.close()
        if left := build.jobs():
            slurm.call("scancel", *left)


def test_a_build_on_slurm_is_the_local_one_and_leaves_no_job(begin, slurm, expected):
    build = begin(cores=2, extra="")
    build.wait_for_work(*build.jobs())
    # What listens asks for a key: dask's own HTTP server, which asks nobody, does not run.
    ours = {process.pid for process in build.processes()}
    listening = [c.laddr for c in psutil.net_connections("tcp")
                 if c.status == "LISTEN" and c.pid in ours]  # fmt: skip
    assert len(listening) >= 4
    assert not any(map(speaks_http, listening))
    build.open_gate()
    code, said = build.end()
    assert code == 0, said
    assert "2 SLURM jobs of 2 workers" in said and sha256(build.database) == expected
    wait_for(lambda: not build.jobs())


@pytest.mark.parametrize("which", ["one", "all"])
def test_jobs_that_are_cancelled_are_submitted_again(begin, slurm, expected, which):
    build = begin()
    first = build.jobs()
    if which == "one":
        build.wait_for_work(*first)
    slurm.call("scancel", *(first[:1] if which == "one" else first))
    build.wait_for(
        lambda: len(set(build.jobs("running")) - set(first)) == {"one": 1, "all": 2}[which]
    )
    build.open_gate()
    code, said = build.end()
    assert code == 0, said
    ended = "a SLURM job ended (1 CANCELLED); another" if which == "one" else "2 CANCELLED"
    assert ended in said and sha256(build.database) == expected


def test_a_worker_that_ends_itself_is_started_again_where_we_started_it(begin, slurm, expected):
    """As dask ends it when its scheduler does not answer for half a minute."""
    build = begin(jobs=1)
    (first,) = build.jobs()
    build.wait_for_work(first)
    for process in build.processes():
        with contextlib.suppress(psutil.Error):
            if "distributed.cli.dask_worker" in process.cmdline():
                process.send_signal(signal.SIGTERM)
    build.wait_for(lambda: len(build.jobs("all")) == 2)
    build.open_gate()
    code, said = build.end()
    assert code == 0, said
    assert "a SLURM job ended (1 " in said and sha256(build.database) == expected


def test_without_any_job_that_may_follow_the_build_ends_and_goes_on_later(begin, slurm, expected):
    build = begin(most=2)
    slurm.call("scancel", *build.jobs())
    code, said = build.end()
    assert code == 75 and "Traceback" not in said
    last = said.splitlines()[-1]
    assert last.startswith("lcdb: no SLURM job is left: 2 CANCELLED (2 of max_jobs = 2 were")
    build.open_gate()
    again = begin()
    code, said = again.end()
    assert code == 0, said
    assert sha256(build.database) == expected


def test_a_requeued_job_is_no_new_one(begin, slurm, expected):
    build = begin()
    first = build.jobs()
    build.wait_for_work(*first)
    slurm.call("scontrol", "requeue", first[0])
    build.wait_for(lambda: slurm.call("scontrol", "show", "job", first[0]).count("Restarts=1"))
    build.wait_for(lambda: build.jobs("running") == first)
    build.open_gate()
    code, said = build.end()
    assert code == 0, said
    assert "SLURM job ended" not in said and build.jobs("all") == first
    assert sha256(build.database) == expected


def test_a_job_whose_time_is_over_is_followed_by_another(begin, slurm, expected):
    build = begin(jobs=1, walltime="00:01:00")
    first = build.jobs()
    build.wait_for(lambda: build.jobs("running") not in ([], first))
    build.open_gate()
    code, said = build.end()
    assert code == 0, said
    assert "a SLURM job ended (1 TIMEOUT); another is submitted" in said
    assert sha256(build.database) == expected


def test_a_node_that_is_drained_takes_no_more_jobs_until_it_is_back(begin, slurm, expected):
    build = begin()
    first = build.jobs()
    slurm.call("scontrol", "update", "nodename=node1", "state=drain", "reason=test")
    try:
        slurm.call("scancel", first[0])
        build.wait_for(lambda: len(build.jobs("pending")) == 1)
        assert build.jobs("running") == first[1:]  # a drained node keeps its jobs
        slurm.call("scancel", first[1])
        build.wait_for(lambda: len(build.jobs("pending")) == 2)
    finally:
        slurm.call("scontrol", "update", "nodename=node1", "state=resume")
    build.wait_for(lambda: len(build.jobs("running")) == 2)
    build.open_gate()
    code, said = build.end()
    assert code == 0, said
    assert sha256(build.database) == expected


def test_tasks_of_a_job_array_share_the_work(slurm, tmp_path, expected):
    """As on the page: of three builders one is cancelled and one requeued."""
    page = (ROOT / "docs" / "cluster.md").read_text()
    script = re.search(r"```sh\n(#!/bin/bash\n#SBATCH.*?)```", page, re.DOTALL)[1]
    for old, new in (("1-20", "1-3"), ("cpus-per-task=16", "cpus-per-task=1"), ("32G", "1G")):
        assert script.count(old) == 1
        script = script.replace(old, new)
    # The page's plans name no classes from elsewhere, which wait here until the gate is open.
    script = script.replace("--offline", "--offline --allow-import")
    script = script.replace("exec lcdb", f"export LCDB_TEST_GATE={tmp_path}/gate\nexec lcdb")
    (tmp_path / "array.sh").write_text(script)
    (tmp_path / "plan.toml").write_text(PLAN)
    variables = {
        "PLAN": str(tmp_path / "plan.toml"),
        "DB": str(tmp_path / "db"),
        "PATH": f"{Path(sys.executable).parent}:{slurm.environment['PATH']}",
        "PYTHONPATH": environment()["PYTHONPATH"],
    }

    def submitted() -> list[str]:
        done = subprocess.run(
            ["sbatch", "--parsable", f"--output={tmp_path}/%A_%a.out", tmp_path / "array.sh"],
            env={**slurm.environment, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        return [f"{done.stdout.strip()}_{task}" for task in (1, 2, 3)]

    one, two, three = submitted()
    wait_for(lambda: {one, two, three} <= set(slurm.jobs("running")))
    slurm.call("scancel", one)
    slurm.call("scontrol", "requeue", two)
    (tmp_path / "gate").touch()
    wait_for(lambda: not {one, two, three} & set(slurm.jobs()))
    again = submitted()
    wait_for(lambda: not set(again) & set(slurm.jobs()))
    said = "".join(path.read_text() for path in tmp_path.glob("*.out"))
    assert {slurm.state(task) for task in (two, three, *again)} == {"COMPLETED"}, said
    assert slurm.state(one) == "CANCELLED"
    assert sha256(tmp_path / "db") == expected
