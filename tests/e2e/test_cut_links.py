"""Builder, scheduler and workers on three machines, whose network is cut and mended."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support import namespaces
from tests.support.commands import PATIENCE, ROOT, environment, finish, lcdb

pytestmark = [
    pytest.mark.process,
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.full,
    # Takes a quiet machine and a quarter of an hour.
    pytest.mark.skipif("LCDB_TEST_CLUSTER" not in os.environ, reason="set LCDB_TEST_CLUSTER=1"),
]

# Cells wait for a file on the machine of the workers alone.
PLAN = """
datasets = [61]
samplings = ["random", "additive"]
sizes = [3, 8]
repetitions = 4
[learners.Waits]
estimator = "estimators.Waits"
"""


@pytest.fixture(scope="module")
def network():
    if reason := namespaces.why_not():
        pytest.skip(reason)
    with namespaces.network("scheduler", "builder", "workers") as made:
        yield made


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
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.5)


class Site:
    """A scheduler and workers as docs/cluster.md starts them, each on a machine of its own."""

    def __init__(self, network: namespaces.Network, folder: Path) -> None:
        self.network, self.folder, self.database = network, folder, folder / "db"
        (folder / "plan.toml").write_text(PLAN)
        page = (ROOT / "docs" / "cluster.md").read_text()
        page = page[page.index("## A dask scheduler that you run") :]
        setting_up, _, rest = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].partition(
            "dask scheduler"
        )
        scheduler = f"dask scheduler{rest.splitlines()[0]}".removesuffix(" &")
        loop = re.search(r"```text\n(while true.*?)```", page, re.DOTALL)[1]
        loop = loop.replace("--nworkers 4", "--nworkers 2").replace("sleep 10", "sleep 1")
        self._start("scheduler", setting_up + scheduler, HOST="0.0.0.0")
        wait_for((folder / "certificates" / "ca.pem").exists)
        exports = setting_up[setting_up.index("TLS=") :]
        host = network.address("workers")
        self._start("workers", exports + loop, HOST=host, LCDB_TEST_GATE=str(folder / "gate"))

    def _start(self, machine: str, text: str, **variables: str) -> None:
        path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
        with (self.folder / f"{machine}.log").open("w") as log:
            subprocess.Popen(
                self.network.command(machine, "bash", "-c", text),
                cwd=self.folder,
                env={**environment(), "PATH": path, "PORT": "8786", **variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def build(self) -> subprocess.Popen[str]:
        address = f"tls://{self.network.address('builder')}:8786"
        command = [sys.executable, "-m", "lcdb.cli", "build", self.folder / "plan.toml"]
        return subprocess.Popen(
            [
                *self.network.command("builder", *command, "--out", self.database),
                *("--scheduler", address, "--certificates", self.folder / "certificates"),
                "--allow-import",
            ],
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def children(self, module: str) -> list[psutil.Process]:
        """Return the processes of a module on the machine of the workers."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                gate = process.environ().get("LCDB_TEST_GATE")
                if gate == str(self.folder / "gate") and module in process.cmdline():
                    found.append(process)
        return found

    def at_work(self) -> bool:
        """Return whether both workers have a cell that waits."""
        return len(self.children("lcdb_builders.run.child")) == 2


@pytest.fixture
def site(network, tmp_path):
    made = Site(network, tmp_path)
    yield made
    for machine in ("scheduler", "builder", "workers"):
        network.end_all_on(machine)
    for machine in ("builder", "workers"):
        network.mend(machine)


def test_a_builder_without_its_scheduler_ends_in_one_line_and_goes_on_later(site, expected):
    build = site.build()
    wait_for(site.at_work)
    site.network.cut("builder")
    code, _, said = finish(build)
    assert code == 75, said
    assert "Traceback" not in said
    address = site.network.address("builder")
    assert said.splitlines()[-1] == (
        f"lcdb: the scheduler at tls://{address}:8786 cannot be reached any more; "
        "run the same command again to go on"
    )
    site.network.mend("builder")
    (site.folder / "gate").touch()
    code, _, said = finish(site.build())
    assert code == 0, said
    assert sha256(site.database) == expected


def test_workers_that_lost_their_scheduler_come_back_where_the_page_s_loop_starts_them(
    site, expected
):
    build = site.build()
    wait_for(site.at_work)
    before = site.children("lcdb_builders.run.child")
    site.network.cut("workers")
    wait_for(lambda: not any(process.is_running() for process in before))  # dask ends them
    site.network.mend("workers")
    wait_for(site.at_work)
    (site.folder / "gate").touch()
    code, _, said = finish(build)
    assert code == 0, said
    assert "all 2 workers went away; waiting for workers to come to the scheduler" in said
    assert sha256(site.database) == expected
