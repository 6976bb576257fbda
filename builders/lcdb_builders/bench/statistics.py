"""What it costs to look at distributions: one pass beside SciPy, and a whole generated database."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lcdb.schema import LEARNERS, METRICS, STATUSES, VARIABLES
from lcdb.stats import QUANTILES, summary, summary_of_counts
from lcdb_builders.bench.cases import plan_for
from lcdb_builders.bench.clock import best_seconds
from lcdb_builders.bench.subjects import generated
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.unit import DRAWS, Block, Unit
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.processes import child_environment, python
from lcdb_builders.run.machine import SINGLE_THREADED
from lcdb_builders.sources.catalog import expected
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.pack import pack

__all__ = ["REPETITIONS", "generate", "look", "one_pass", "read_all"]

REPETITIONS = 1000
# Rows of a generated distribution's test set, and its standard deviation.
TEST_ROWS, SPREAD = 300, 0.03


def _scores(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return accuracies: multiples of one over the test rows, around a rising mean."""
    means = np.linspace(0.6, 0.85, shape[0])[:, None]
    counts = np.rint(TEST_ROWS * np.clip(rng.normal(means, SPREAD, shape), 0, 1))
    return (counts / TEST_ROWS).astype(np.float32)


def one_pass(seconds: float = 1.0) -> dict[str, float]:
    """Return microseconds of one core per distribution of 1,000 float32 values.

    All of them give Shapiro-Wilk, D'Agostino-Pearson, the tests of skewness and kurtosis, mean,
    standard deviation, skewness, kurtosis and seven quantiles.

    Parameters
    ----------
    seconds
        Of each of the four ways.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(0.8, SPREAD, (1024, REPETITIONS)).astype(np.float32)
    counts = np.rint(TEST_ROWS * x.astype(float)).astype(np.int64)
    few = x[:16].astype(float)

    def micros(call: Callable[[], object], rows: int) -> float:
        call()
        return 1e6 * best_seconds(call, seconds) / rows

    def loops() -> None:
        for row in few:
            _scipy(row)

    return {
        "lcdb": micros(lambda: summary(x), len(x)),
        "lcdb, from counts": micros(lambda: summary_of_counts(counts, np.array(TEST_ROWS)), len(x)),
        "scipy, axis=": micros(lambda: _scipy(x[:128].astype(float)), 128),
        "scipy, loop": micros(loops, len(few)),
    }


def _scipy(x: np.ndarray) -> None:
    from scipy import stats

    for test in (stats.shapiro, stats.normaltest, stats.skewtest, stats.kurtosistest):
        test(x, axis=-1)
    stats.skew(x, axis=-1)
    stats.kurtosis(x, axis=-1)
    np.mean(x, axis=-1)
    np.std(x, axis=-1, ddof=1)
    np.quantile(x, QUANTILES, axis=-1)


# -- a whole database ------------------------------------------------------------------------------


def generate(root: Path, cells: int) -> int:
    """Write a database of generated scores, through journal and packing, and return its cells.

    Parameters
    ----------
    root
        A new directory.
    cells
        At least so many distributions: curves of the paper's plan are added, those of the smallest
        datasets first, until there are as many, or all 3.9 million.
    """
    plan = plan_for(LEARNERS, "default", ("default", "tuned"))
    learners = plan_learners(plan)
    rng = np.random.default_rng(1)
    written = 0
    for entry in sorted(expected().values(), key=lambda entry: entry.rows):
        if written >= cells:
            break
        snapshot = generated(entry)
        chosen: list[Unit] = []
        for unit in units(plan, snapshot, learners):
            if written < cells:
                chosen.append(replace(unit, implementation="generated-1"))
                written += len(METRICS) * len(unit.sizes) * (unit.learner != DRAWS)
        snapshots.save(snapshot, root / "snapshots")
        journal = Journal(root)
        journal.prepare(chosen)
        for unit in chosen:
            block = Block(unit, unit.sizes, 0, REPETITIONS)
            journal.publish(block, _block(block, rng), environment())
        pack(root, snapshot, chosen, REPETITIONS)
    return written


def _block(block: Block, rng: np.random.Generator) -> dict[str, np.ndarray]:
    if block.unit.learner == DRAWS:
        names = {"n_test": TEST_ROWS, "n_classes_train": 2}
        return {k: np.full(block.shape, v, VARIABLES[k].dtype) for k, v in names.items()}
    scores = {name: _scores(block.shape, rng) for name in METRICS}
    others = ["n_clipped"]
    if block.unit.tuning == "tuned":
        others += [f"{what}_{name}" for name in METRICS for what in ("choice", "choice_flag")]
    return scores | {name: np.zeros(block.shape, VARIABLES[name].dtype) for name in others}


def read_all(root: str) -> dict[str, float]:
    """Read all complete curves of a database, pass over them, and return seconds and megabytes.

    Examples
    --------
    >>> import lcdb.shipped
    >>> with lcdb.tutorial() as db:
    ...     timed = read_all(str(db.path))
    >>> timed["cells"] > 1_000, timed["raw_mb"] > 1
    (True, True)
    """
    import lcdb

    summary(np.zeros((1, 8), np.float32))  # loaded before the clock starts
    cells = raw = 0
    reading = passing = 0.0
    with lcdb.open(root) as db:
        for key in db:
            dataset = db[key]
            curves = np.argwhere(dataset["status"].to_numpy() == STATUSES.index("complete"))
            for metric in METRICS:
                array = dataset[metric]
                for curve in map(tuple, curves):
                    start = time.perf_counter()
                    values = array[curve].to_numpy()
                    middle = time.perf_counter()
                    summary(values)
                    reading += middle - start
                    passing += time.perf_counter() - middle
                    cells += len(values)
                    raw += values.nbytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cells": cells,
        "raw_mb": raw / 1e6,
        "read_seconds": reading,
        "pass_seconds": passing,
        "peak_mb": peak,
    }


def look(cells: int, tell: Callable[[str], None], seconds: float = 1.0) -> dict[str, Any]:
    """Return everything that `lcdb bench --stats` measures.

    Parameters
    ----------
    cells
        Distributions of the generated database.
    tell
        Called with lines for people.
    seconds
        Of each way to pass over distributions.
    """
    micros = one_pass(seconds)
    with tempfile.TemporaryDirectory(prefix="lcdb-bench-") as folder:
        root = Path(folder) / "db"
        tell(f"generating a database of {cells:,} distributions or a little more")
        start = time.perf_counter()
        generate(root, cells)
        written = time.perf_counter() - start
        size = sum(path.stat().st_size for path in (root / "cubes").iterdir())
        # A process of its own: its greatest memory is that of reading alone.
        command = python("lcdb_builders.bench.statistics", str(root))
        done = subprocess.run(
            command,
            env=child_environment(**SINGLE_THREADED),
            capture_output=True,
            text=True,
            check=True,
        )
    database = {**json.loads(done.stdout), "disk_mb": size / 1e6, "write_seconds": written}
    return {
        "kind": "lcdb-bench-stats",
        "environment": environment(),
        "micros": micros,
        "database": database,
    }


if __name__ == "__main__":
    print(json.dumps(read_all(sys.argv[1])))
