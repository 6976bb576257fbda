"""Bars of reading: a cube as large as that of the largest dataset; small in the ordinary tests.

``LCDB_FULL=1 pytest tests/bench/test_bench_query.py`` measures at N = 4970 and 1,000 repetitions:
one n of a curve within 10 ms, a curve within 150 ms, memory under 500 MB.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders.domain.unit import DRAWS

import lcdb
from lcdb.schema import LEARNERS, SAMPLINGS, TUNINGS
from tests.support.counts import counts
from tests.support.cubes import toy_units, write_cube
from tests.support.plausible import plausible_scores, snapshot_of

pytestmark = pytest.mark.process

ROWS = counts(200, 4970)
REPETITIONS = counts(20, 1000)
ROUNDS = counts(2, 20)
BUILT = {"sampling": "random", "split": "varying", "tuning": "default"}


def write_large(path: Path, id: str, rows: int, repetitions: int) -> None:
    """Write a cube of all dims, in which one curve of every learner is built."""
    snapshot = snapshot_of(id, f"number {id}", rows, 2)
    splits = ("fixed", "varying")
    units = toy_units(snapshot, LEARNERS, SAMPLINGS, splits, TUNINGS)
    some = [
        unit
        for unit in units
        if (unit.sampling, unit.split) == ("random", "varying")
        and (unit.learner == DRAWS or unit.tuning == "default")
    ]
    write_cube(path, snapshot, units, repetitions, plausible_scores(some, rows, repetitions))


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "cubes").mkdir()
    write_large(folder / "cubes" / "44037.nc", "44037", ROWS, REPETITIONS)
    return folder


@pytest.fixture
def db(large):
    with lcdb.open(large) as opened:
        yield opened


@pytest.mark.process
def test_one_size_of_a_curve(benchmark, db):
    sizes = iter(np.random.default_rng(0).permutation(db[44037].n.values))

    def read():
        return db.curve(44037, "LDC", **BUILT).sel(n=next(sizes)).values

    assert benchmark.pedantic(read, rounds=ROUNDS).shape == (REPETITIONS,)


def test_a_whole_curve(benchmark, db):
    learners = iter(np.resize(LEARNERS, ROUNDS + 1))

    def read():
        return db.curve(44037, next(learners), **BUILT).values

    assert np.isfinite(benchmark.pedantic(read, rounds=ROUNDS)).all()


def test_all_learners_at_one_size(benchmark, db):
    sizes = iter(np.random.default_rng(1).permutation(db[44037].n.values))

    def read():
        return db.select(44037, **BUILT)[44037].sel(n=next(sizes)).values

    found = benchmark.pedantic(read, rounds=ROUNDS)
    assert found.shape == (len(LEARNERS), REPETITIONS)


@pytest.mark.process
def test_ten_datasets_are_opened(benchmark, tmp_path):
    (tmp_path / "cubes").mkdir()
    for id in range(1, 11):
        write_large(tmp_path / "cubes" / f"{id}.nc", str(id), 20, 2)

    def open_all():
        with lcdb.open(tmp_path) as db:
            return [db[key].sizes["n"] for key in db]

    assert benchmark.pedantic(open_all, rounds=ROUNDS) == [14] * 10


MEMORY = """
import json, sys
import lcdb
unit = json.loads(sys.argv[2])
with lcdb.open(sys.argv[1]) as db:
    for learner in db[44037].learner.values:
        for metric in ("accuracy", "auc", "brier", "cross_entropy"):
            db.curve(44037, str(learner), metric=metric, **unit).quantile(0.05, "repetition").load()
    db.select(44037, **unit)[44037].sel(n=11).load()
# Not getrusage: its peak begins with that of the process that started this one.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.full
@pytest.mark.process
def test_memory_stays_below_500_megabytes(large):
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, str(large), json.dumps(BUILT)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) < 500_000  # kB


WHOLE_PASS = """
import sys, time
import lcdb
began = time.monotonic()
with lcdb.open(sys.argv[1], chunks="auto") as db:
    for metric in ("accuracy", "auc", "brier", "cross_entropy"):
        db[44037][metric].count().compute()
read = time.monotonic() - began
began = time.monotonic()
with lcdb.open(sys.argv[1], chunks="auto") as db:
    for metric in ("accuracy", "auc", "brier", "cross_entropy"):
        cells = lcdb.analysis.summary(db[44037][metric]).compute()["mean"].size
analysed = time.monotonic() - began
with lcdb.open(sys.argv[1]) as db:
    lcdb.tables.curve_frame(db)
print(f"{4 * cells} cells: read in {read:.1f} s, summarised in {analysed:.1f} s", file=sys.stderr)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.full
@pytest.mark.process
def test_a_pass_over_everything_stays_below_2_gigabytes(large):
    """Lazily, one curve of a cube at a time for each thread, whatever the cube's size."""
    run = subprocess.run(
        [sys.executable, "-c", WHOLE_PASS, str(large)], capture_output=True, text=True, check=True
    )
    print(run.stderr)
    assert int(run.stdout) < 2_000_000  # kB
