"""`lcdb build` as users run it: stopped, killed, resumed, in scripts and beside each other."""

import hashlib
import random
import re
import resource
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tests.support.commands import (
    all_gone,
    descendants,
    environment,
    finish,
    kill,
    start,
    status,
    wait_until,
)
from tests.support.counts import counts

pytestmark = [pytest.mark.process, pytest.mark.full]

KILLS = counts(2, 200)
KILLS_PER_BUILD = counts(2, 5)

# 36 blocks of about a quarter of a second each: two learners that sleep, and the draws.
PLAN = """
datasets = [61]
samplings = ["additive", "random", "bootstrap"]
splits = ["fixed", "varying", "pool"]
sizes = [2, 9]
repetitions = 3
seed = 3

[learners]
A = { estimator = "estimators.Slow", params = { seconds = 0.03 } }
B = { estimator = "estimators.Slow", params = { seconds = 0.04 } }
LDC = {}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    return path


def build(plan, root, *more, **options):
    command = ["build", plan, "--out", root, "--allow-import", "--workers", 1, *more]
    return start(*command, **options)


def sha256(root):
    return hashlib.sha256((root / "cubes" / "61.nc").read_bytes()).hexdigest()


def left_behind(root):
    names = {path.name for path in root.rglob("*") if path.is_file()}
    return names - {"61.nc", "61.json", "61.npz", "layout.json", "61.nc.index.json", "index.json"}


@pytest.fixture(scope="module")
def undisturbed(plan, tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    code, out, err = finish(build(plan, root))
    assert code == 0, err
    assert out == ""
    assert "lcdb: 36 blocks computed" in err
    assert status(root)["complete"] == 27
    return sha256(root)


def blocks(root):
    return len(list(root.glob("blocks/*/*.block")))


@pytest.mark.full
def test_a_stopped_build_says_so_and_goes_on(plan, tmp_path, undisturbed):
    """Stopped by one signal, gone on with, stopped by another, and gone on with to the end."""
    before = 0
    for number in (signal.SIGTERM, signal.SIGINT):
        process = build(plan, tmp_path)
        wait_until(lambda: blocks(tmp_path) >= before + 3)  # noqa: B023
        processes = descendants(process.pid)
        process.send_signal(number)
        code, _, err = finish(process)
        assert code == 75
        stopped = f"lcdb: stopped by {number.name}; what is built stays"
        assert err.splitlines()[-1].startswith(stopped)
        assert "Traceback" not in err
        assert all_gone(processes)
        done = blocks(tmp_path)
        assert before + 3 <= done < 36
        assert not list(tmp_path.rglob("*.lease"))
        before = done
    code, _, err = finish(build(plan, tmp_path))
    assert code == 0, err
    computed = int(re.search(r"(\d+) blocks computed", err)[1])
    assert computed == 36 - before
    assert sha256(tmp_path) == undisturbed
    assert left_behind(tmp_path) == set()


@pytest.mark.full
def test_killed_builds_end_in_the_undisturbed_cube(plan, tmp_path, undisturbed):
    """Three at a time, every other time with learners of their own; killed at random moments."""
    draw = random.Random(11)
    done = trial = 0
    while done < KILLS:
        root = tmp_path / str(trial)
        same = trial % 2 == 0
        filters = [[]] * 3 if same else [["--learner", name] for name in ("A", "B", "LDC")]
        running = [build(plan, root, *mine) for mine in filters]
        orphans = []
        for _ in range(min(KILLS_PER_BUILD, KILLS - done)):
            time.sleep(draw.uniform(0.2, 3.0))
            victim = draw.randrange(3)
            orphans += kill(running[victim])
            running[victim] = build(plan, root, *filters[victim])
            done += 1
        for process in running:
            code, _, err = finish(process)
            assert code == 0, err
        assert all_gone(orphans)
        code, _, err = finish(build(plan, root))
        assert code == 0, err
        assert "lcdb: 0 blocks computed" in err
        assert sha256(root) == undisturbed
        assert left_behind(root) == set()
        trial += 1


@pytest.mark.full
def test_builders_beside_each_other_share_the_work(plan, tmp_path, undisturbed):
    running = [build(plan, tmp_path) for _ in range(3)]
    results = [finish(process) for process in running]
    computed = twice = 0
    for code, _, err in results:
        assert code == 0, err
        found = re.search(r"(\d+) blocks computed( \((\d+) of them twice\))?", err)
        computed += int(found[1])
        twice += int(found[3] or 0)
    assert computed - twice == 36
    assert twice <= 0.05 * 36
    assert sha256(tmp_path) == undisturbed


@pytest.mark.full
def test_a_killed_child_costs_nothing_but_time(plan, tmp_path, undisturbed):
    process = start("build", plan, "--out", tmp_path, "--allow-import", "--workers", 2)
    wait_until(lambda: blocks(tmp_path) >= 2)
    children = [p for p in descendants(process.pid) if "lcdb_builders.run.child" in p.cmdline()]
    assert len(children) >= 2
    for child in children:
        child.kill()
    assert all_gone(children)
    code, _, err = finish(process)
    assert code == 0, err
    assert sha256(tmp_path) == undisturbed


def test_a_full_disk_is_told_and_gone_on_from(plan, tmp_path, undisturbed):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    code, _, err = finish(build(plan, tmp_path, "--learner", "LDC"))
    assert code == 0, err
    code, _, err = finish(build(plan, tmp_path, preexec_fn=small_files))
    assert code == 75, err
    assert "failed" not in err
    assert "free some space and run the same command again" in err.splitlines()[-1]
    code, _, err = finish(build(plan, tmp_path))
    assert code == 0, err
    assert sha256(tmp_path) == undisturbed
    assert left_behind(tmp_path) == set()


SCRIPT = """
import asyncio
import sys
import lcdb_builders

plan = {"datasets": [61], "learners": ["NMC"], "samplings": ["random"], "splits": ["fixed"],
        "sizes": [5, 50], "repetitions": 4}
print(lcdb_builders.build(plan, sys.argv[1], workers=2).computed)


async def main():
    plan["learners"] = ["NMC", "LDC"]
    print(lcdb_builders.build(plan, sys.argv[1], workers=2).computed)


asyncio.run(main())
"""


@pytest.mark.full
def test_a_script_without_a_main_guard(tmp_path):
    """And inside a running event loop, as in a notebook."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, "-W", "error", script, tmp_path / "database"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n1\n"
    assert done.stderr == ""
