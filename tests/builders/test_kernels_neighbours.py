"""NNC's kernels among themselves: what one computes in another way must have the same bits."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.holdout import Tuned, Tuning
from lcdb_builders.kernels.core.sets import (
    ADDITIVE,
    BOOTSTRAP,
    RANDOM,
    Task,
    all_columns,
    constant_columns,
    draw,
)
from lcdb_builders.kernels.neighbours import block as neighbours
from lcdb_builders.kernels.neighbours import votes
from lcdb_builders.kernels.neighbours.block import (
    carried_of,
    nearest_block,
    restart,
    table_of,
    take_in,
)
from lcdb_builders.kernels.neighbours.vote_histogram import (
    Polled,
    forget,
    score_tally,
    tally_of,
    tally_row,
)
from lcdb_builders.kernels.neighbours.votes import votes_block
from lcdb_builders.kernels.scores.metrics import room, score_probabilities
from lcdb_builders.learners import neighbours as learner_module
from lcdb_builders.learners import registry

from tests.support.snapshots import generated
from tests.support.tuned import compare_tuned, tuned_unit

# Workspace of stratified draws, of which there is none here.
QUOTA = np.zeros((2, 0), np.int64)

NNC = registry.get("NNC")


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_tallies_score_as_probabilities_do(classes, seed):
    rng = np.random.default_rng([classes, seed])
    rows, most = int(rng.integers(1, 60)), np.unique(rng.integers(1, 150, 6))
    lacking = rng.integers(classes)  # one class may be absent from the test, one from training
    label = np.sort(rng.integers(classes, size=rows))
    label = np.sort(np.where(label == lacking, 0, label)) if seed % 2 else label
    voters = rng.integers(classes - (seed > 1), size=(rows, 192)).astype(np.uint16)
    tally, sizes = tally_of(classes, len(most), most[-1]), np.bincount(label, minlength=classes)
    for _ in range(2):  # the second has to forget the first
        forget(tally, most, len(most))
        for c, row in zip(label, voters, strict=True):
            tally_row(row, c, most, len(most), tally)
    hi = sizes.cumsum()
    for s, k in enumerate(most):
        p = np.array([(voters[:, :k] == c).sum(axis=1) / k for c in range(classes)])
        found, right = np.empty(5), np.empty(5)
        score_tally(tally, s, k, Polled(np.arange(rows), hi - sizes, hi), found)
        score_probabilities(p, np.ones(classes, bool), hi - sizes, hi, room(classes, rows), right)
        np.testing.assert_array_equal(found[[0, 1, 4]], right[[0, 1, 4]])
        np.testing.assert_allclose(found[2:4], right[2:4], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("kind", ["integers", "duplicates", "ten classes"])
@pytest.mark.parametrize("splits", [("fixed", "pool"), ("varying",)])
def test_carried_lists_are_those_of_each_cell_alone(kind, splits, monkeypatch):
    """Carried from size to size, to one size alone, and with no room for tables."""
    snapshot = generated(kind)
    sizes = tuple(range(10, snapshot.rows * 7 // 10 + 1, 3))
    unit = tuned_unit(NNC, snapshot, "additive", splits[0], sizes, grid=(1, 2, 5, 9, 14, 40))
    block = Block(unit, sizes, 0, 2)
    carried = NNC.block(snapshot, block, splits)
    for i in (0, 1, len(sizes) // 2, len(sizes) - 1):
        alone = NNC.block(snapshot, replace(block, sizes=(sizes[i],)), splits)
        for split in splits:
            for name, values in alone[split].items():
                np.testing.assert_array_equal(values[0], carried[split][name][i], name)
    for largest in (60_000, 0):  # room for lists, but for no distances of 90 columns; for nothing
        monkeypatch.setattr(neighbours, "LARGEST_TABLE", largest)
        monkeypatch.setattr(learner_module, "_last", {})
        measured = NNC.block(snapshot, block, splits)
        for split in splits:
            for name, values in measured[split].items():
                np.testing.assert_array_equal(values, carried[split][name], name)


@pytest.mark.full
@pytest.mark.slow
def test_carried_lists_are_within_their_limit():
    """Beside the table; and without any limit, no larger than a table may be."""
    snapshot = generated("integers")
    columns = all_columns(snapshot.X, snapshot.y, snapshot.classes)
    rows = np.arange(snapshot.rows)
    task = Task(ADDITIVE, 5, 6, 0, 1, np.array([60]), rows, snapshot.X, snapshot.y, 3, QUOTA)
    table = table_of(task, columns)
    taken = table.distance.nbytes + 50 * len(rows) * (8 + table.near.itemsize)
    for most, kept in ((np.inf, 50), (taken, 50), (taken - 1, 0)):
        carried = carried_of(columns, table, 50, most)
        assert carried.near.shape == carried.distance.shape == (len(rows), kept)
        restart(carried)
        for count in range(60):
            take_in(task, columns, table, count, count, carried)
    out = np.full((2, 1, 1, 1, 5), np.nan)
    none = np.empty((0, 0, 0), np.int8)
    tuning = Tuning(7, 8, np.array([9.0]), 0)
    for values, limit in zip(out, (np.inf, 0.0), strict=True):
        votes_block(task, columns, table, None, tuning, Tuned(values, none, none), limit)
    np.testing.assert_array_equal(*out)
    huge = columns._replace(rows=np.broadcast_to(np.int64(0), 10**6))
    assert carried_of(huge, table, 100).near.shape[1] == 0


@pytest.mark.full
def test_lists_of_more_rows_than_uint16_counts_are_walked():
    """Along additive curves, where nothing in them is a place in a draw."""
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(70_003, 1)), np.arange(70_003) % 2
    pool = np.arange(70_000)
    task = Task(ADDITIVE, 5, 6, 0, 1, np.array([69_000]), pool, X, y, 2, QUOTA)
    columns = constant_columns(X, y, 2, [np.arange(70_000, 70_003)])
    tuning, values = Tuning(7, 8, np.array([5.0]), 0), np.full((1, 1, 1, 5), np.nan)
    none = np.empty((0, 0, 0), np.int8)
    table = table_of(task, columns)
    votes_block(task, columns, table, None, tuning, Tuned(values, none, none))
    right = votes_one_by_one(task, columns, 5, 69_000, 0)
    np.testing.assert_allclose(values[0, 0, 0], right, rtol=1e-13)
    study = votes._study(task, columns, table, tuning, np.inf)
    assert votes._is_walked(task, study, 11, pool, 5)
    random = task._replace(sampling=RANDOM)
    assert not votes._is_walked(random, study, 11, pool, 5)


@pytest.mark.parametrize("sampling", ["additive", "random"])
def test_grids_need_not_ascend(sampling):
    """Their order decides nothing but ties."""
    snapshot, sizes = generated("integers"), (10, 40, 63)
    unit = tuned_unit(NNC, snapshot, sampling, "varying", sizes, grid=(40, 9, 1, 5), tie="first")
    compared = compare_tuned(NNC, snapshot, Block(unit, sizes, 0, 2), ("varying",))
    assert compared.cells == 6 and compared.others == 0


def test_threads_share_tables(monkeypatch):
    """Each finds its own, and none is made twice."""
    made = []

    def slow_table(task, columns, most):
        made.append(len(task.y))
        time.sleep(0.05)
        return len(task.y)

    monkeypatch.setattr(learner_module, "_last", {})
    monkeypatch.setattr(learner_module, "table_of", slow_table)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(_rows_of_table, [30, 40] * 4))
    assert found == [30, 40] * 4
    assert sorted(made) == [30, 40]


def _rows_of_table(rows):
    X, y = np.zeros((rows, 1)), np.arange(rows) % 2
    task = Task(RANDOM, 5, 6, 0, 1, np.array([3]), np.arange(rows), X, y, 2, QUOTA)
    snapshot = SimpleNamespace(sha256=str(rows))
    return learner_module._table(snapshot, task, all_columns(X, y, 2))


def votes_one_by_one(task, columns, neighbors, n, repetition):
    """Scores of a cell by sorting all distances to rows and voting: draws may repeat rows."""
    order = np.empty(max(len(task.pool), n), np.int64)
    draw(task, n, repetition, order)
    rows, first, weight = np.unique(order[:n], return_index=True, return_counts=True)
    k = min(n, neighbors)
    p = np.empty((task.classes, len(columns.rows)))
    for t, row in enumerate(columns.rows):
        distance = np.zeros(len(rows))
        for j in range(task.X.shape[1]):
            distance += (task.X[rows, j] - task.X[row, j]) ** 2
        nearest = np.lexsort((first, distance))
        voters = np.repeat(task.y[rows[nearest]], weight[nearest])[:k]
        p[:, t] = np.bincount(voters, minlength=task.classes) / k
    out = np.empty(5)
    score_probabilities(
        p, np.ones(task.classes, bool), columns.lo[0], columns.hi[0], room(*p.shape), out
    )
    return out


@pytest.mark.parametrize("rows", [3, 12, 40])
@pytest.mark.parametrize("neighbors", [1, 6, 250])
def test_rows_drawn_many_times(rows, neighbors):
    """More copies than a vector has lanes, as of a pool that lists its rows many times.

    With a grid of one value, tuned cells have the scores of untuned ones.
    """
    rng = np.random.default_rng([rows, neighbors])
    X, y = rng.integers(4, size=(60, 2)).astype(float), rng.integers(3, size=60)
    y[:3] = range(3)
    sizes = np.array([10, 90, 400])
    pool = np.repeat(np.arange(rows), 400 // rows + 1)
    task = Task(BOOTSTRAP, 5, 6, 0, 3, sizes, pool, X, y, 3, QUOTA)
    columns = constant_columns(X, y, 3, [np.arange(rows, 60)])
    studied = constant_columns(X, y, 3, [np.arange(rows)])
    tuning = Tuning(7, 8, np.array([float(neighbors)]), 0)
    untuned, tuned = (
        Tuned(np.empty((3, 3, 1, 5)), *np.empty((2, 3, 3, 4), np.int8)) for _ in range(2)
    )
    table = table_of(task, columns)
    votes_block(task, columns, table, None, tuning, untuned)
    votes_block(task, columns, table, (studied, table_of(task, studied)), tuning, tuned)
    np.testing.assert_allclose(untuned.values, tuned.values, rtol=1e-13)
    assert not tuned.choices.any()
    for i, n in enumerate(sizes):
        for r in range(3):
            right = votes_one_by_one(task, columns, neighbors, n, r)
            np.testing.assert_allclose(untuned.values[i, r, 0], right, rtol=1e-13)


@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("sampling", [RANDOM, BOOTSTRAP])
@pytest.mark.parametrize("values", [2, 5, 1000])
def test_lists_label_as_distances_do(classes, sampling, values):
    """From no ties to nothing but ties, for two test sets at once and for what a draw leaves."""
    rng = np.random.default_rng([classes, sampling, values])
    X, y = rng.integers(values, size=(400, 3)).astype(float), rng.integers(classes, size=400)
    sizes, pool = np.array([1, 2, 9, 33, 120, 256, 257, 300]), rng.permutation(400)[:300]
    task = Task(sampling, 5, 6, 0, 5, sizes, np.sort(pool), X, y, classes, QUOTA)
    rest = np.setdiff1d(np.arange(400), pool)
    for columns in (constant_columns(X, y, classes, [rest, pool]), all_columns(X, y, classes)):
        table = table_of(task, columns)
        walked, measured = np.full((2, 8, 5, len(columns.lo), 5), -1.0)
        nearest_block(task, columns, table, walked)
        nearest_block(task, columns, table._replace(near=table.near[:0]), measured)
        np.testing.assert_array_equal(walked, measured)
