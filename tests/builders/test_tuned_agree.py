"""Tuned kernels against the loop that defines tuned cells: one table, a row for each learner."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.learners.batch import KernelLearner

from lcdb.schema import SAMPLINGS
from tests.support.counts import FULL, counts, spread
from tests.support.snapshots import GENERATED, REAL, generated, real
from tests.support.tuned import Compared, compare_tuned, tuned_unit

SPLITS = (("fixed", "pool"), ("varying",))


@dataclass(frozen=True)
class Comparison:
    """A learner, a grid if not its own, and the largest sizes that its loop is worth."""

    learner: str
    grid: tuple[float, ...] | None = None
    largest: int = 10_000

    def __str__(self) -> str:
        return self.learner if self.grid is None else f"{self.learner}{list(self.grid)}"


COMPARISONS = (
    Comparison("NMC"),
    Comparison("LDC"),
    Comparison("QDC"),
    Comparison("NNC"),
    Comparison("NNC", (1, 2, 3, 4, 1000)),
    Comparison("GSVC", largest=300),
    Comparison("GSVC", (1e-2, 0.3, 1.0, 10.0, 1e3), largest=300),
    Comparison("DT", largest=300),
    Comparison("RFOR", (1, 2, 5, 9, 14), largest=300),
    Comparison("ADAB", (1, 3, 8, 20, 40), largest=300),
    Comparison("LREG"),
    Comparison("LSVC"),
)


def sizes_of(snapshot, count, seed, largest):
    """So many sizes from 10, half of them small, where matrices are singular."""
    rng = np.random.default_rng(seed)
    m = min(snapshot.rows * 7 // 10, largest)
    small = rng.integers(10, max(11, min(m, 3 * snapshot.features)) + 1, count)
    some = rng.integers(10, m + 1, count)
    return tuple(sorted(set(np.where(np.arange(count) % 2, small, some).tolist())))


def compare(comparison, snapshot, count, seed):
    """Assert agreement on all samplings and splits; reduced, on one of them by dataset."""
    learner, compared = registry.get(comparison.learner), Compared()
    ways = list(enumerate(product(SAMPLINGS, SPLITS)))
    for k, (sampling, splits) in ways if FULL else [ways[seed % len(ways)]]:
        sizes = sizes_of(snapshot, count, [seed, k], comparison.largest)
        unit = tuned_unit(learner, snapshot, sampling, splits[0], sizes, grid=comparison.grid)
        compared += compare_tuned(learner, snapshot, Block(unit, sizes, k, k + 1), splits)
    return compared


def test_every_kernel_is_compared():
    """Whatever is registered with a kernel for tuned blocks has a row above."""
    learners = [registry.get(name) for name in registry.names()]
    tuning = {one.name for one in learners if isinstance(one, KernelLearner) and one.tunes}
    assert {comparison.learner for comparison in COMPARISONS} == tuning


@pytest.mark.slow
@pytest.mark.parametrize(("comparison", "kind"), spread(COMPARISONS, GENERATED, every=4), ids=str)
def test_agrees_on_generated_data(comparison, kind):
    seed = GENERATED.index(kind)
    assert compare(comparison, generated(kind), counts(2, 6), seed).cells > 0


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
@pytest.mark.parametrize("id", REAL)
def test_agrees_on_real_data(comparison, id):
    seed = int.from_bytes(id.encode()) % 1000
    assert compare(comparison, real(id), counts(2, 10), seed).cells > 0


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_a_cell_does_not_depend_on_its_block(comparison, sampling, split):
    """Any sizes, repetitions and splits computed together: the same bits and choices."""
    snapshot = generated("ten classes")
    sizes, learner = (10, 11, 19, 40, 63), registry.get(comparison.learner)
    unit = tuned_unit(learner, snapshot, sampling, split, sizes, grid=comparison.grid)
    whole = learner.block(snapshot, Block(unit, sizes, 0, 4), (split,))[split]
    for some, first, stop in ((sizes[::2], 0, 4), (sizes[3:], 1, 3), (sizes[-1:], 3, 4)):
        splits = (split, "pool") if split == "fixed" else (split,)
        scores = learner.block(snapshot, Block(unit, some, first, stop), splits)[split]
        chosen = [sizes.index(n) for n in some]
        for name, values in scores.items():
            np.testing.assert_array_equal(values, whole[name][chosen, first:stop], name)
