"""`lcdb build --slurm` where SLURM is not, or says no."""

from __future__ import annotations

import stat
import subprocess
import sys

import pytest

from tests.support.commands import environment

pytestmark = pytest.mark.process

PLAN = """
datasets = [61]
learners = ["NMC"]
samplings = ["random"]
splits = ["fixed"]
sizes = [5]
repetitions = 2
"""
OPTIONS = 'cores = 1\nmemory = "1GB"\njobs = {jobs}\nscheduler_options = {{ host = "127.0.0.1" }}\n'
REFUSES = """#!/bin/sh
echo "sbatch: error: invalid partition specified: gpu" >&2
exit 1
"""


@pytest.fixture
def build(tmp_path):
    """Run a build on SLURM, with what is called sbatch, and return what it said."""

    def run(sbatch, jobs=2):
        folder = tmp_path / "bin"
        folder.mkdir()
        if sbatch:
            (folder / "sbatch").write_text(sbatch)
            (folder / "sbatch").chmod(stat.S_IRWXU)
        (tmp_path / "plan.toml").write_text(PLAN)
        (tmp_path / "slurm.toml").write_text(OPTIONS.format(jobs=jobs))
        command = [sys.executable, "-m", "lcdb.cli", "build", tmp_path / "plan.toml"]
        return subprocess.run(
            [*command, "--out", tmp_path / "database", "--slurm", tmp_path / "slurm.toml"],
            # Nothing else, since this machine may have a real one.
            env={**environment(), "PATH": str(folder)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def test_without_sbatch_nothing_is_begun(build, tmp_path):
    done = build(None)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("lcdb: there is no sbatch on this machine's PATH")
    assert not (tmp_path / "database").exists()


def test_a_refused_submission_ends_the_build_with_what_slurm_said(build):
    done = build(REFUSES)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("lcdb: SLURM refused all 2 jobs")
    assert "sbatch: error: invalid partition specified: gpu" in last
    assert len(done.stderr.splitlines()) < 6
