"""The parts of a build that are plain functions: order, costs, CPUs, signals, progress."""

import builtins
import importlib.machinery
import io
import os
import random
import re
import signal
import sys
import threading
import types
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.planning import cost
from lcdb_builders.planning.cost import (
    block_lengths,
    cell_seconds,
    count_blocks,
    stretch,
    unit_seconds,
)
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.run import progress
from lcdb_builders.run.jobs import Costs, order, overlap, pair
from lcdb_builders.run.machine import usable_cpus
from lcdb_builders.run.progress import Bar, Lines, choose
from lcdb_builders.run.signals import stop_on_signals
from lcdb_builders.sources import expected
from lcdb_builders.storage.layout import Coverage

from lcdb.errors import InterruptedBuildError

UNIT = Unit("61", "ab", 1, "LDC", "", "{}", "reference-1", "random", "fixed", "default", "", ())


@pytest.fixture(scope="module")
def whole():
    """Units of the paper's plan, with what is known of their datasets."""
    plan = load_plan("turan2026")
    learners = plan_learners(plan)
    subjects = [expected()[spec.id] for spec in plan.datasets]
    return [(unit, subject) for subject in subjects for unit in units(plan, subject, learners)]


def test_the_whole_paper_is_few_enough_blocks(whole):
    factor = stretch(whole, 1000)
    lengths = [(unit, block_lengths(unit, subject, factor)) for unit, subject in whole]
    total = sum(count_blocks(unit, length, 1000) for unit, length in lengths)
    assert len(whole) < total <= cost.MOST_BLOCKS
    assert stretch(whole[:1], 1000) == 1.0


def test_counted_blocks_are_those_that_are_cut(whole):
    draw = random.Random(3)
    for unit, subject in draw.sample(whole, 60):
        repetitions = draw.randrange(1, 300)
        lengths = block_lengths(unit, subject, 20.0)
        cut = Coverage(unit, repetitions).missing(lengths)
        assert len(cut) == count_blocks(unit, lengths, repetitions)


def test_blocks_take_about_a_minute(whole):
    for unit, subject in whole:
        lengths = block_lengths(unit, subject)
        seconds = cell_seconds(unit, subject)
        parts = [
            seconds[start : start + lengths.sizes].sum() * lengths.repetitions
            for start in range(0, len(unit.sizes), lengths.sizes)
        ]
        # A block that takes longer is a single cell, or the larger half of one repetition.
        assert min(parts) <= 1.5 * cost.BLOCK_SECONDS or lengths.sizes == 1
        assert lengths.repetitions == 1 or lengths.sizes == len(unit.sizes)


def test_costs_add_up(whole):
    draw = random.Random(4)
    for unit, subject in draw.sample(whole, 40):
        costs = Costs({subject.id: subject})
        blocks = Coverage(unit, 40).missing(block_lengths(unit, subject, 3.0))
        total = sum(costs(job) for job in pair(blocks))
        assert total == pytest.approx(unit_seconds(unit, subject, 40))


def forest_seconds(trees):
    plan = load_plan({"datasets": [61], "learners": {"RFOR": {"trees": trees}}})
    unit = units(plan, expected()["61"], plan_learners(plan))[-1]
    return cell_seconds(unit, expected()["61"])


def test_costs_grow_with_n_and_parameters():
    assert (np.diff(forest_seconds(20)) > 0).all()
    np.testing.assert_allclose(forest_seconds(40), 2 * forest_seconds(20))


@given(st.data())
def test_pairs_hold_every_block_once(data):
    sizes = (1, 2, 3)
    splits = data.draw(st.lists(st.sampled_from(["fixed", "varying", "pool"]), unique=True))
    starts = data.draw(st.lists(st.integers(0, 20), unique=True))
    unit = Unit(*("61", "ab", 1, "LDC", "", "{}", "r-1", "random", "fixed", "default", "", sizes))
    blocks = [Block(unit.with_split(s), sizes, f, f + 1) for s in splits for f in starts]
    draw = data.draw(st.randoms(use_true_random=False))
    draw.shuffle(blocks)
    jobs = pair(blocks)
    assert sorted(b.key for job in jobs for b in job.blocks) == sorted(b.key for b in blocks)
    shared = {"fixed", "pool"} <= set(splits)
    assert len(jobs) == len(blocks) - (len(starts) if shared else 0)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_order_is_longest_first_within_a_dataset_wherever_a_builder_starts(start):
    plan = load_plan({"datasets": [61, 11], "learners": ["LDC", "RFOR", "NNC"]})
    learners = plan_learners(plan)
    subjects = {id: expected()[id] for id in ("61", "11")}
    blocks = [
        Block(unit, unit.sizes, first, first + 10)
        for subject in subjects.values()
        for unit in units(plan, subject, learners)
        for first in (0, 10)
    ]
    costs = Costs(subjects)
    ordered = order(pair(blocks), costs, start)
    assert sorted(j.block.key for j in ordered) == sorted(b.key for b in blocks)
    assert [job.dataset for job in ordered] == sorted(
        (job.dataset for job in ordered), key=["11", "61"].index
    )
    for dataset in ("11", "61"):
        seconds = [costs(job) for job in ordered if job.dataset == dataset]
        assert all(b <= a / 0.8 for a, b in pairwise(seconds))


def test_builders_start_at_different_places():
    sizes = (1, 2)
    unit = Unit(*("61", "ab", 1, "LDC", "", "{}", "r-1", "random", "varying", "default", "", sizes))
    jobs = pair(Block(unit, sizes, first, first + 1) for first in range(100))
    costs = Costs({"61": expected()["61"]})
    firsts = {order(jobs, costs, start)[0].block.first for start in range(100)}
    assert len(firsts) == 100


@given(st.data())
def test_overlap_is_sharing_a_cell(data):
    def draw_block():
        low, high = sorted(data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9))))
        first, last = sorted(data.draw(st.tuples(st.integers(0, 9), st.integers(0, 9))))
        return Block(UNIT, tuple(range(low, high + 1)), first, last + 1)

    def cells(block):
        return {(n, r) for n in block.sizes for r in block.repetitions}

    one, other = draw_block(), draw_block()
    assert overlap(one, other) == bool(cells(one) & cells(other))


# -- the machine ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "own", "limit"),
    [
        ({"cpu.max": "150000 100000"}, "0::/", 2),
        ({"cpu.max": "max 100000"}, "0::/", None),
        ({"job/step/cpu.max": "max 100000", "job/cpu.max": "100000 100000"}, "0::/job/step", 1),
        (
            {"cpu/slurm/cpu.cfs_quota_us": "100000", "cpu/slurm/cpu.cfs_period_us": "100000"},
            "4:cpu,cpuacct:/slurm\n4:cpu:/slurm",
            1,
        ),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/", None),
        ({"cpu.max": "nonsense"}, "nonsense", None),
    ],
)
def test_cgroup_limits_are_seen(tmp_path, files, own, limit):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "own").write_text(own + "\n")
    cpus = len(os.sched_getaffinity(0))
    found = usable_cpus(tmp_path, tmp_path / "own")
    assert found == (cpus if limit is None else min(cpus, limit))


def test_affinity_is_seen():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


# -- signals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_build_at_once_or_when_it_looks(number):
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        with stop.deferred():
            assert not stop()
            os.kill(os.getpid(), number)
            assert stop()
        assert signal.Signals(number).name in str(stop.error())
        assert stop.error().exit_code == 75
        with pytest.raises(InterruptedBuildError):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(number) == before


def test_a_second_ctrl_c_does_not_wait():
    with stop_on_signals() as stop, stop.deferred():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_other_threads_leave_signals_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def run():
        with stop_on_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_build_under_nohup_outlives_its_terminal():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop, stop.deferred():
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop()
    finally:
        signal.signal(signal.SIGHUP, before)


# -- progress -------------------------------------------------------------------------------------


def test_lines_say_how_far_how_fast_and_how_long():
    stream = io.StringIO()
    lines = Lines(stream, interval=0.0)
    lines.begin(cost=10.0, cells=200)
    lines.advance(cost=2.5, cells=50)
    lines.tell("something else")
    lines.advance(cost=7.5, cells=150)
    lines.end()
    found = stream.getvalue().splitlines()
    assert found[0] == "lcdb: 200 cells to compute"
    assert re.fullmatch(r"lcdb: 25 % \(50 of 200 cells\), [\d,]+ cells/s, 0 s left", found[1])
    assert found[2] == "lcdb: something else"
    assert found[3].startswith("lcdb: 100 % (200 of 200 cells)")


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def lefts(monkeypatch, advances, *, cost, cells, until=None):
    """Return what a line says of the time left after each (time, cost, cells)."""
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "time", clock)
    lines = Lines(stream, interval=0.0, until=until)
    lines.begin(cost, cells)
    for clock.now, part, some in advances:
        lines.advance(part, some)
    return [line.partition("cells/s")[2] for line in stream.getvalue().splitlines()[1:]]


def test_the_time_left_is_what_the_rest_takes(monkeypatch):
    """Workers start for a minute, then a part of ten takes 6 s each: no half an hour is left."""
    advances = [(60.0, 0.0, 0), (66.0, 10.0, 10), (72.0, 10.0, 10), (120.0, 80.0, 80)]
    told = lefts(monkeypatch, advances, cost=100.0, cells=100)
    assert told == ["", ", 54 s left", ", 48 s left", ""]


def test_no_time_is_left_of_all_cells(monkeypatch):
    """Also where they cost less than was estimated."""
    told = lefts(monkeypatch, [(10.0, 10.0, 50), (20.0, 10.0, 50)], cost=40.0, cells=100)
    assert told == [", 30 s left", ""]


def test_a_budget_leaves_no_more_than_it_has(monkeypatch):
    advances = [(1.0, 0.0, 1), (31.0, 1.0, 1), (59.0, 1.0, 1), (61.0, 1.0, 1)]
    told = lefts(monkeypatch, advances, cost=1000.0, cells=1001, until=60.0)
    assert told == [", 59 s left", ", 29 s left", ", 1 s left", ", 0 s left"]


def test_lines_are_not_more_than_asked_for():
    stream = io.StringIO()
    lines = Lines(stream, interval=3600.0)
    lines.begin(cost=100.0, cells=100)
    for _ in range(100):
        lines.advance(cost=1.0, cells=1)
    assert len(stream.getvalue().splitlines()) == 2


def test_a_bar_shows_rate_and_time_left():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for parts, percent, left in ((1, "50%", True), (2, "100%", False)):
        stream = Terminal()
        bar = Bar(stream)
        bar.begin(cost=10.0, cells=200)
        for _ in range(parts):
            bar.advance(cost=5.0, cells=100)
        bar.tell("a line above")
        bar.end()
        text = stream.getvalue()
        assert "a line above" in text
        assert "cells/s" in text
        assert percent in text
        assert ("left" in text.rpartition("building")[2]) == left


@pytest.mark.parametrize("widgets", [False, True])
def test_a_notebook_has_a_bar_if_it_has_widgets_and_no_complaint_if_not(monkeypatch, widgets):
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    there = types.ModuleType("ipywidgets")
    there.__spec__ = importlib.machinery.ModuleSpec("ipywidgets", None)
    monkeypatch.setitem(sys.modules, "ipywidgets", there if widgets else None)
    stream = io.StringIO()
    shown = choose(True, stream)
    assert isinstance(shown, Bar if widgets else Lines)
    if not widgets:  # a bar would warn that they are missing, at each of its steps
        shown.begin(cost=1.0, cells=1)
        shown.advance(cost=1.0, cells=1)
        shown.end()
        assert "1 of 1 cells" in stream.getvalue()
