"""What holds for blocks of every one-vs-rest learner: shared fits, lone cells, ties."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.learners.linear import LREG, LSVC
from lcdb_builders.learners.svm import GSVC

from tests.support.onevsrest import SAMPLINGS, block_of, cells, fitted, snapshot_of
from tests.support.problems import problem

LEARNERS = [pytest.param(learner, id=learner.name) for learner in (LREG(), LSVC(), GSVC())]
SPLITS = ("fixed", "varying")


@pytest.mark.parametrize("learner", LEARNERS)
def test_fixed_and_pool_come_from_one_fit(learner):
    X, y, _ = problem("ordinary", 4, 3)
    snapshot = snapshot_of(X, y)
    sizes = range(1, len(y) * 7 // 10 + 1)
    for sampling in SAMPLINGS:
        block = block_of(learner, snapshot, sampling, "fixed", sizes, 2, 5)
        both = learner.block(snapshot, block, ("fixed", "pool"))
        for split in ("fixed", "pool"):
            alone = learner.block(snapshot, block.with_split(split), (split,))[split]
            for name, values in alone.items():
                np.testing.assert_array_equal(both[split][name], values)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_batch_is_its_cells(learner, sampling, split):
    """Repetitions do not know of each other, nor do sizes."""
    rng = np.random.default_rng(11)
    y = np.arange(60) % 3
    snapshot = snapshot_of(rng.normal(size=(60, 3)) + y[:, None], y)
    sizes = [2, 3, 7, 8, 14, 25, 42]

    def run(sizes, first, stop):
        block = block_of(learner, snapshot, sampling, split, sizes, first, stop)
        return learner.block(snapshot, block, (split,))[split]

    whole = run(sizes, 3, 9)
    for name, values in run(sizes, 5, 7).items():
        np.testing.assert_array_equal(values, whole[name][:, 2:4])
    for name, values in run(sizes[1::2], 3, 9).items():
        np.testing.assert_array_equal(values, whole[name][1::2])


@pytest.mark.parametrize("learner", LEARNERS)
def test_copies_of_a_row_tie(learner):
    """A test row decides the same wherever it stands, so copies of it tie in every metric."""
    rng = np.random.default_rng(8)
    snapshot = snapshot_of(np.repeat(rng.normal(size=(30, 7)), 4, axis=0), rng.integers(0, 3, 120))
    for sampling in SAMPLINGS:
        block = block_of(learner, snapshot, sampling, "varying", [20, 47])
        for cell in cells(learner, snapshot, block):
            found = {}
            for row, f in zip(cell.test, fitted(cell), strict=True):
                assert (found.setdefault(row // 4, f) == f).all()
