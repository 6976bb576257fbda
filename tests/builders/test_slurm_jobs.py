"""What becomes of SLURM jobs that end: others are submitted, until the build's own limits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from distributed import Scheduler, Worker
from distributed.utils import import_term
from lcdb_builders.run import slurm
from lcdb_builders.run.slurm import Jobs, SlurmScheduler, read_slurm

from lcdb.errors import InterruptedBuildError, LCDBError, PlanError


class Queue:
    """SLURM and dask in one: jobs start at once, and their states are what a test writes down.

    Parameters
    ----------
    refuse_from
        Number of the first submission that is refused.
    """

    def __init__(self, jobs: Jobs, refuse_from: int = 1000) -> None:
        self.jobs, self.refuse_from = jobs, refuse_from
        self.states: dict[str, str] = {}
        self.worker_spec: dict[str, object] = {}
        self.scheduler = SimpleNamespace(workers={})
        self.next = 0

    def scale(self, jobs: int) -> None:
        while len(self.worker_spec) < jobs:
            name = f"lcdb-{self.next}"
            self.worker_spec[name] = object()
            if self.next >= self.refuse_from:
                self.jobs.refusals.append("sbatch: error: no more hours")
            else:
                self.jobs.live[name] = str(100 + self.next)
                self.states[str(100 + self.next)] = "RUNNING"
            self.next += 1

    def has_worker(self, name: str) -> None:
        self.scheduler.workers[name] = SimpleNamespace(name=name)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Return jobs that are submitted, and their queue."""
    opened = []

    def begin(text: str, **options):
        (tmp_path / "slurm.toml").write_text(f'cores = 2\nmemory = "1GB"\n{text}\n')
        jobs = Jobs(tmp_path / "slurm.toml")
        opened.append(jobs)
        queue = Queue(jobs, **options)
        jobs._cluster = queue
        jobs._submit(jobs.count)
        monkeypatch.setattr(slurm, "INTERVAL", -1.0)
        monkeypatch.setattr(slurm, "_squeue", lambda: dict(queue.states))
        return jobs, queue

    yield begin
    for jobs in opened:
        jobs.close()


def looked(jobs: Jobs) -> list[str]:
    """Return what is told when SLURM has been asked once more."""
    lines = list(jobs.tend())
    assert jobs._question is not None
    jobs._question[1].result()
    return [*lines, *jobs.tend()]


def test_jobs_that_run_or_wait_are_left_alone(begun):
    jobs, queue = begun("jobs = 3")
    queue.states.update({"100": "PENDING", "101": "COMPLETING", "102": "REQUEUED"})
    assert looked(jobs) == [] and list(queue.worker_spec) == ["lcdb-0", "lcdb-1", "lcdb-2"]


@pytest.mark.parametrize("state", ["CANCELLED", "TIMEOUT", "COMPLETED", None])
def test_another_job_is_submitted_for_each_that_ended(begun, state):
    jobs, queue = begun("jobs = 2")
    queue.has_worker("lcdb-1-0")
    if state is None:  # forgotten by SLURM
        del queue.states["101"]
    else:
        queue.states["101"] = state
    (line,) = looked(jobs)
    assert line == f"a SLURM job ended (1 {state or 'unknown'}); another is submitted"
    assert list(jobs.live) == ["lcdb-0", "lcdb-2"] == list(queue.worker_spec)


def test_a_job_that_was_submitted_while_slurm_was_asked_has_not_ended(begun):
    jobs, _ = begun("jobs = 1")
    jobs.tend()
    before = jobs._question[1].result()
    jobs._submit(1)
    assert "101" not in before and list(jobs.tend()) == []
    assert list(jobs.live) == ["lcdb-0", "lcdb-1"]


def test_the_build_ends_when_no_job_is_left_and_none_may_follow(begun):
    jobs, queue = begun("jobs = 2\nmax_jobs = 3")
    queue.states.update(dict.fromkeys(("100", "101"), "TIMEOUT"))
    queue.has_worker("lcdb-0-1")
    assert looked(jobs) == ["2 SLURM jobs ended (2 TIMEOUT); another is submitted"]
    queue.states["102"] = "CANCELLED"
    expected = r"left: 1 CANCELLED \(3 of max_jobs = 3 were submitted\); .* same command goes on"
    with pytest.raises(InterruptedBuildError, match=expected) as caught:
        looked(jobs)
    assert caught.value.exit_code == 75


def test_fewer_jobs_go_on_where_no_other_may_be_submitted(begun):
    jobs, queue = begun("jobs = 2\nmax_jobs = 2")
    queue.states["100"] = "CANCELLED"
    assert looked(jobs) == [
        "a SLURM job ended (1 CANCELLED); no other is submitted, since max_jobs is 2"
    ]
    assert looked(jobs) == []


def test_jobs_of_which_no_worker_comes_end_the_build_with_an_error(begun):
    """A folder that nodes do not see, say: a hundred jobs more would end like the first."""
    jobs, queue = begun("jobs = 1")
    for number in ("100", "101"):
        queue.states[number] = "FAILED"
        assert len(looked(jobs)) == 1
    queue.states["102"] = "FAILED"
    with pytest.raises(
        LCDBError, match="the last 3 SLURM jobs ended before a worker came"
    ) as caught:
        looked(jobs)
    assert caught.value.exit_code == 1


def test_jobs_that_somebody_cancels_are_not_at_fault(begun):
    jobs, queue = begun("jobs = 1\nmax_jobs = 6")
    for number in range(100, 105):
        queue.states[str(number)] = "CANCELLED"
        assert looked(jobs) == ["a SLURM job ended (1 CANCELLED); another is submitted"]


def test_slurm_that_takes_no_more_ends_the_build_when_no_job_is_left(begun):
    jobs, queue = begun("jobs = 1", refuse_from=1)
    queue.has_worker("lcdb-0-0")
    queue.states["100"] = "TIMEOUT"
    assert looked(jobs) == ["a SLURM job ended (1 TIMEOUT); another is submitted"]
    expected = "the last refused: sbatch: error: no more hours"
    with pytest.raises(InterruptedBuildError, match=expected):
        looked(jobs)


def test_a_queue_that_does_not_answer_is_told_once_and_ends_nothing(begun, monkeypatch):
    jobs, _ = begun("jobs = 1")
    monkeypatch.setattr(slurm, "_squeue", lambda: None)
    assert looked(jobs) == ["squeue does not answer; jobs that end are not replaced meanwhile"]
    assert looked(jobs) == [] and list(jobs.live) == ["lcdb-0"]


def test_limits_of_a_file(tmp_path):
    file = tmp_path / "slurm.toml"
    file.write_text('cores = 1\nmemory = "1GB"\njobs = 4\n')
    assert read_slurm(file)[:2] == (4, 40)
    file.write_text('cores = 1\nmemory = "1GB"\njobs = 4\nmax_jobs = 3\n')
    with pytest.raises(PlanError, match="max_jobs is 3; expected at least jobs, which is 4"):
        read_slurm(file)


def test_neither_workers_nor_scheduler_have_a_server_without_a_key(tmp_path):
    """What dask starts beside them speaks plain http with everybody."""
    file = tmp_path / "slurm.toml"
    file.write_text('cores = 1\nmemory = "1GB"\nworker_extra_args = ["--resources", "GPU=1"]\n')
    arguments = read_slurm(file).options["worker_extra_args"]
    worker = import_term(arguments[arguments.index("--worker-class") + 1])
    assert arguments[-2:] == ["--resources", "GPU=1"] and "--no-dashboard" in arguments
    for ours, theirs in ((worker, Worker), (SlurmScheduler, Scheduler)):
        assert issubclass(ours, theirs)
        assert ours.start_http_server is not theirs.start_http_server
        server = ours.__new__(ours)
        ours.start_http_server(server, [], ":0")
        assert not hasattr(server, "http_server")
