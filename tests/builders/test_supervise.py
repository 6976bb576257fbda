"""The child process that computes, and its owner, whatever happens to the child."""

import json
import subprocess
import sys
import threading
import time

import psutil
import pytest
from lcdb_builders import sources
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.unit import DRAWS, Block
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.processes import child_environment
from lcdb_builders.run import pool as pool_module
from lcdb_builders.run.pool import LocalPool
from lcdb_builders.run.supervise import Child, Outcome
from lcdb_builders.run.tasks import block_to_json
from lcdb_builders.storage.blocks import Blocks

pytestmark = pytest.mark.process


@pytest.fixture
def root(tmp_path):
    sources.obtain(61, tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def child():
    with Child() as child:
        yield child


def block_of(root, learner, sizes=(1, 2, 3), splits=("fixed",), **params):
    learners = {learner: {"estimator": f"estimators.{learner}", "params": params}}
    if learner in {"LDC", "NMC"}:
        learners = {learner: params}
    plan = load_plan(
        {
            "datasets": [61],
            "learners": learners,
            "samplings": ["random"],
            "splits": list(splits),
            "sizes": list(sizes),
        }
    )
    snapshot = snapshots.load(root / "snapshots", "61")
    found = units(plan, snapshot, plan_learners(plan, allow_import=True))
    unit = next(unit for unit in found if unit.learner == learner)
    return Block(unit, unit.sizes, 0, 4)


def run(child, root, block, splits=("fixed",), timeout=None, allow_import=True):
    arguments = {
        "root": str(root),
        "block": block_to_json(block),
        "splits": list(splits),
        "allow_import": allow_import,
    }
    return child.run("compute", arguments, timeout)


def test_a_block_is_published(child, root):
    block = block_of(root, "LDC")
    outcome = run(child, root, block)
    assert (outcome.status, outcome.result) == ("complete", {"new": 1, "duplicate": 0})
    scores = Blocks(root).read(block)
    assert scores["accuracy"].shape == (3, 4)
    snapshot = snapshots.load(root / "snapshots", "61")
    direct = plan_learners(load_plan({"datasets": [61], "learners": ["LDC"]}))["LDC"]
    expected = direct.block(snapshot, block, ("fixed",))["fixed"]
    for name, values in expected.items():
        assert scores[name].tobytes() == values.tobytes()


def test_fixed_and_pool_come_from_one_task(child, root):
    block = block_of(root, "LDC", splits=("fixed", "pool"))
    outcome = run(child, root, block, ("fixed", "pool"))
    assert outcome.result == {"new": 2, "duplicate": 0}
    alone = plan_learners(load_plan({"datasets": [61], "learners": ["LDC"]}))["LDC"]
    snapshot = snapshots.load(root / "snapshots", "61")
    for split in ("fixed", "pool"):
        there = Blocks(root).read(block.with_split(split))
        expected = alone.block(snapshot, block.with_split(split), (split,))[split]
        assert there["accuracy"].tobytes() == expected["accuracy"].tobytes()


def test_draws_are_a_block_too(child, root):
    plan = load_plan({"datasets": [61], "learners": ["LDC"], "sizes": [1, 50]})
    unit = units(plan, snapshots.load(root / "snapshots", "61"), plan_learners(plan))[0]
    assert unit.learner == DRAWS
    block = Block(unit, unit.sizes, 0, 3)
    assert run(child, root, block).status == "complete"
    assert Blocks(root).read(block)["n_test"].tolist() == [[45] * 3] * 2


def test_an_exception_fails_the_block_and_not_the_child(child, root):
    pid = child.run("ready", {}).result
    outcome = run(child, root, block_of(root, "LosesItsDisk"))
    assert outcome.status == "failed"
    assert "n = 3" in outcome.reason
    assert "three rows are too many" in outcome.reason
    assert "\n" not in outcome.reason
    assert child.run("ready", {}).result == pid


def test_a_task_that_holds_the_gil_is_timed_out(child, root):
    pid = child.run("ready", {}).result
    outcome = run(child, root, block_of(root, "Hangs"), timeout=1.5)
    assert outcome.status == "timed_out"
    assert outcome.reason.startswith("no result within 1.5 s; it was in File ")
    assert outcome.reason.endswith(" in fit")
    assert "estimators.py" in outcome.reason
    assert not psutil.pid_exists(pid)
    assert child.run("ready", {}).status == "complete"


def test_a_death_is_tried_again(child, root, tmp_path):
    block = block_of(root, "Dies", once=str(tmp_path / "died"))
    outcome = run(child, root, block)
    assert (tmp_path / "died").exists()
    assert outcome.status == "complete"


@pytest.mark.full
def test_deaths_without_end_fail_the_block(child, root):
    outcome = run(child, root, block_of(root, "Dies"))
    assert outcome.status == "failed"
    assert outcome.reason.startswith("its process died 3 times: it was killed by SIGKILL")


def test_what_an_estimator_prints_is_no_answer(child, root):
    assert run(child, root, block_of(root, "Chatters")).status == "complete"


def test_a_strange_class_is_refused(child, root):
    outcome = run(child, root, block_of(root, "Slow"), allow_import=False)
    assert (outcome.status, outcome.error) == ("error", "ImportRefusedError")


def test_a_folder_that_is_not_shared_is_an_error_of_the_build(child, root, tmp_path):
    outcome = run(child, tmp_path / "elsewhere", block_of(root, "LDC"))
    assert (outcome.status, outcome.error) == ("error", "NotFoundError")
    assert "shared folder" in outcome.reason


def test_a_stopped_task_comes_back_at_once(root):
    with Child() as child:
        pid = child.run("ready", {}).result
        threading.Timer(0.3, child.stop).start()
        started = time.monotonic()
        assert run(child, root, block_of(root, "Hangs")).status == "stopped"
        assert time.monotonic() - started < 60
        assert not psutil.pid_exists(pid)


def test_a_child_is_single_threaded_and_prints_nothing(child):
    pid = child.run("ready", {}).result
    environment = psutil.Process(pid).environ()
    assert {environment[name] for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")} == {"1"}


OWNER = """
import json, sys
from lcdb_builders.processes import child_environment
from lcdb_builders.run.supervise import Child

child = Child()
print(child.run("ready", {}).result, flush=True)
child.run("compute", json.loads(sys.argv[1]))
"""


def test_a_child_dies_with_its_owner(root):
    """Also while it holds the GIL: nothing is left behind to compute for nobody."""
    block = block_to_json(block_of(root, "Hangs"))
    arguments = {"root": str(root), "block": block, "splits": ["fixed"], "allow_import": True}
    command = [sys.executable, "-c", OWNER, json.dumps(arguments)]
    environment = child_environment()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as owner:
        pid = int(owner.stdout.readline())
        time.sleep(1.0)
        assert psutil.pid_exists(pid)
        owner.kill()
    deadline = time.monotonic() + 60
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)


class Recorder:
    """A child that does nothing, slowly: what the pool asks of it, in order."""

    def __init__(self):
        self.asked, self.go, self.stopped = [], threading.Event(), threading.Event()

    def run(self, task, arguments, timeout):
        self.asked.append(task)
        self.go.wait(60)
        if arguments.get("fails"):
            raise OSError("no process can be started")
        return Outcome("stopped" if self.stopped.is_set() else "complete", result=timeout)

    def stop(self):
        self.stopped.set()
        self.go.set()

    def close(self):
        self.asked.append("close")


@pytest.fixture
def recorder(monkeypatch):
    one = Recorder()
    monkeypatch.setattr(pool_module, "Child", lambda: one)
    return one


def test_a_pool_does_tasks_in_order_and_what_is_first_before_others(recorder):
    with LocalPool(1) as pool:
        futures = [pool.submit("begin", {})]
        while not recorder.asked:
            time.sleep(0.001)
        futures += [pool.submit("compute", {}, 7.0), pool.submit("time", {})]
        futures += [pool.submit("compile", {}, first=True)]
        recorder.go.set()
        assert [pool.outcome(future).status for future in futures] == ["complete"] * 4
        assert pool.outcome(futures[1]).result == 7.0
    # What compiles takes memory that it does not give back: its process is ended.
    assert recorder.asked == ["begin", "compile", "close", "compute", "time", "close"]


def test_a_pool_that_is_halted_does_nothing_more(recorder):
    with LocalPool(1) as pool:
        running, waiting = pool.submit("compute", {}), pool.submit("pack", {})
        while not recorder.asked:
            time.sleep(0.001)
        pool.halt([running, waiting])
        assert pool.outcome(running).status == "stopped"
        assert waiting.cancelled()
    assert recorder.asked == ["compute", "close"]


def test_a_pool_reports_a_child_that_cannot_be_started(recorder):
    recorder.go.set()
    with LocalPool(1) as pool, pytest.raises(OSError, match="no process can be started"):
        pool.outcome(pool.submit("compute", {"fails": True}))


def test_a_pool_computes_in_as_many_processes_as_it_has_threads():
    with LocalPool(2) as pool:
        assert (pool.threads(), pool.place) == (2, "2 workers on this machine")
        futures = [pool.submit("ready", {}) for _ in range(4)]
        assert [pool.outcome(future).status for future in futures] == ["complete"] * 4
        children = [child._process.pid for child in pool._children]
    assert len(set(children)) == 2
    assert not any(psutil.pid_exists(pid) for pid in children)
