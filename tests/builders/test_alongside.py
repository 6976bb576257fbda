"""Kernels compiled beside computing: what is handed out when, and what becomes of the rest."""

from __future__ import annotations

import pytest
from lcdb_builders import sources
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.run.alongside import Compilation
from lcdb_builders.run.compiling import compile_seconds, kinds_of
from lcdb_builders.run.engine import Engine, Settings, Tally
from lcdb_builders.run.jobs import pair
from lcdb_builders.run.supervise import Outcome
from lcdb_builders.storage.journal import Journal

PLAN = {
    "datasets": [61],
    "learners": ["NNC", "LDC", "DT"],
    "samplings": ["random"],
    "splits": ["fixed", "varying"],
    "sizes": [10, 20],
    "repetitions": 2,
}


def jobs_and_kinds(journal):
    plan = load_plan(PLAN)
    snapshot = sources.obtain(61, offline=True)
    every = units(plan, snapshot, plan_learners(plan))
    jobs = pair(block for unit in every for block in journal.missing(unit, 2))
    by_family = {}
    for kind in kinds_of((job.block.unit, job.splits) for job in jobs):
        by_family.setdefault(kind.family, []).append(kind)
    return jobs, by_family


def learner(job):
    return job.block.unit.learner


def test_jobs_wait_for_their_family_and_keep_their_order(tmp_path):
    jobs, kinds = jobs_and_kinds(Journal(tmp_path))
    compilation = Compilation({family: kinds[family] for family in ("trees", "neighbours")})
    assert compilation.seconds == compile_seconds("trees") + compile_seconds("neighbours")
    assert compilation.announcement.endswith("once: DT, NNC (about 44 s of one core)")
    free = compilation.hold(jobs)
    assert {learner(job) for job in free} == {"draws", "LDC"}  # draws need no learner's kernels
    assert [compilation.next(), compilation.next(), compilation.next()] == [
        "trees",
        "neighbours",
        None,
    ]
    assert compilation.learners("trees") == ("DT",)
    free = compilation.finish("neighbours", free[1:])
    assert free == [job for job in jobs if learner(job) != "DT"][1:]
    assert not compilation.is_over
    late = compilation.hold([job for job in jobs if learner(job) == "DT"][:1])  # comes back
    assert late == []
    free = compilation.finish("trees", free)
    assert compilation.is_over and len(free) == len(jobs)
    assert [job for job in free if learner(job) != "DT"] == [
        job for job in jobs if learner(job) != "DT"
    ][1:]


class Workers:
    """A pool of two workers, each of whose tasks ends when the test says so."""

    place, source = "here", ""

    def __init__(self):
        self.submitted = []

    def threads(self):
        return 2

    def tend(self):
        return ()

    def halt(self, futures):
        assert not futures

    def submit(self, task, arguments, timeout=None, *, first=False):
        unit = arguments["kinds"][0] if task == "compile" else arguments["block"]
        self.submitted.append(Task(task, unit["unit"]["learner"], first))
        return self.submitted[-1]

    def outcome(self, future):
        return future.outcome


class Task:
    def __init__(self, task, learner, first):
        self.task, self.learner, self.first = task, learner, first
        self.pending, self.outcome = True, None

    def add_done_callback(self, call):
        self.call = call

    def end(self, outcome):
        self.pending, self.outcome = False, outcome
        self.call(self)


class Told:
    def __init__(self):
        self.lines, self.cost, self.cells = [], 0.0, 0

    def tell(self, line):
        self.lines.append(line)

    def advance(self, cost, cells):
        self.cost, self.cells = self.cost + cost, self.cells + cells


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (Outcome("complete", seconds=3.0), "compiled DT after 3 s"),
        (Outcome("failed", "broken", seconds=2.0), "not compiled: DT after 2 s: broken"),
        (Outcome("stopped"), None),
        (None, None),
    ],
    ids=["compiled", "failed", "stopped", "dead"],
)
def test_what_is_compiled_is_computed_meanwhile_and_the_rest_after_it(tmp_path, outcome, line):
    """Families come first; blocks of theirs wait until they are compiled, or cannot be."""
    journal, told, workers = Journal(tmp_path), Told(), Workers()
    jobs, kinds = jobs_and_kinds(journal)
    order = []

    def watch():
        """Let one task end at a time: compiling as the last of those that are at work."""
        pending = [task for task in workers.submitted if task.pending]
        computing = [task for task in pending if task.task == "compute"]
        if computing:
            order.append(computing[0].learner)
            computing[0].end(Outcome("complete", result={"new": 1, "duplicate": 0}))
        elif pending:
            order.append(pending[0].task)
            pending[0].end(outcome)

    tally = Tally()
    engine = Engine(
        workers, journal, Settings(None, False), lambda job: 1.0, bool, told, lambda dataset: None,
        watch, tally, Compilation({"trees": kinds["trees"]}),
    )  # fmt: skip
    engine.run(jobs, list)
    first = workers.submitted[0]
    assert (first.task, first.learner, first.first) == ("compile", "DT", True)
    place = order.index("compile")
    assert set(order[:place]) == {"draws", "LDC", "NNC"} and set(order[place + 1 :]) == {"DT"}
    assert tally.computed == len(jobs)
    assert told.cost == len(jobs) + compile_seconds("trees")
    assert told.cells == sum(job.cells for job in jobs)
    assert told.lines[0] == "compiling kernels for this machine, once: DT (about 40 s of one core)"
    assert told.lines[2:] == ([line] if line else [])
