"""Kernels against the reference estimators, cell by cell: one table, a row for each comparison.

A kernel's block is compared with the metrics of the reference fitted to the same rows. What a
tolerance of scores means for a metric is worked out from the reference's own scores of that cell
(`lcdb_builders.reference.agreement`): only labels and pairs that are so close may differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.trees.histograms import MOST_FEATURES
from lcdb_builders.learners import registry
from lcdb_builders.learners.batch import KernelLearner
from lcdb_builders.reference.agreement import allowed
from lcdb_builders.reference.cell import answer_cell, fit_cell, training_rows

from lcdb.schema import METRICS, SAMPLINGS
from tests.support.counts import counts
from tests.support.snapshots import GENERATED, REAL, generated, real
from tests.support.tuned import default_unit

SPLITS = (("fixed", "pool"), ("varying",))


@dataclass(frozen=True)
class Comparison:
    """A kernel, the parameters it is tried with, and how far its scores may be off.

    `tolerance` is relative to 1 + |score|; where it is 0 every metric must be the reference's own,
    up to the rounding of sums. `datasets` are fractions of the full counts: slow references compare
    fewer cells.
    """

    learner: str
    tolerance: float
    reason: str
    params: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0

    def __str__(self) -> str:
        shown = ",".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.learner}({shown})"


ROUNDING = "sums in another order, through orthogonal factors of the same rows"
EXACT = "counts, and distances with the same rounding"
STREAMS = "the same decisions from the same streams"

COMPARISONS = (
    Comparison("NMC", 1e-9, ROUNDING),
    Comparison("NMC", 1e-9, ROUNDING, {"shrinkage": 0.7}, share=0.5),
    Comparison("LDC", 1e-9, ROUNDING),
    Comparison("LDC", 1e-9, ROUNDING, {"ridge": 0.1}, share=0.5),
    Comparison("QDC", 1e-9, ROUNDING),
    Comparison("QDC", 1e-9, ROUNDING, {"ridge": 0.1}, share=0.5),
    Comparison("NNC", 0.0, EXACT),
    Comparison("NNC", 0.0, EXACT, {"neighbors": 2}, share=0.5),
    Comparison("NNC", 0.0, EXACT, {"neighbors": 7}, share=0.5),
    Comparison("NNC", 0.0, EXACT, {"neighbors": 1000}, share=0.5),
    Comparison("DT", 0.0, STREAMS, share=0.5),
    Comparison("DT", 0.0, STREAMS, {"min_samples_leaf": 1}, share=0.5),
    Comparison("RFOR", 0.0, STREAMS, {"trees": 3}, share=0.5),
    Comparison("RFOR", 0.0, STREAMS, {"trees": 3, "min_samples_leaf": 3, "features": 2}, share=0.5),
    Comparison("ADAB", 0.0, STREAMS, {"stumps": 30}, share=0.5),
)

# Compared by their decision values, also with optima in extended precision, in
# test_kernels_linear.py and test_kernels_svm.py.
ELSEWHERE = {"LREG", "LSVC", "GSVC"}


def sizes_of(snapshot, count):
    """Sizes up to 2 d, where covariances are singular, and some of the rest."""
    largest = snapshot.rows * 7 // 10
    small = range(1, min(2 * snapshot.features, largest) + 1)
    chosen = np.unique(np.linspace(0, len(small) - 1, min(count, len(small))).astype(int))
    rest = np.unique(np.geomspace(min(small[-1] + 1, largest), largest, count).astype(int))
    return tuple(sorted({1, 2, 3, *(small[i] for i in chosen), *rest.tolist()}))


def block_of(comparison, snapshot, sampling, split, sizes, stop):
    learner = registry.get(comparison.learner)
    unit = default_unit(learner, snapshot, sampling, split, sizes, params=comparison.params)
    return learner, Block(unit, sizes, 0, stop)


def compare(comparison, snapshot, count, repetitions):
    """Assert agreement on all samplings and splits; returns the number of cells compared."""
    compared = 0
    for sampling in SAMPLINGS:
        for splits in SPLITS:
            sizes = sizes_of(snapshot, count)
            learner, block = block_of(comparison, snapshot, sampling, splits[0], sizes, repetitions)
            assert learner.implementation.startswith("kernel")
            found = learner.block(snapshot, block, splits)
            assert set(found) == set(splits)
            compared += compare_cells(comparison, snapshot, learner, block, found)
    return compared


def compare_cells(comparison, snapshot, learner, block, found):
    draws = {split: block.unit.with_split(split).draws(snapshot) for split in found}
    shared = next(iter(draws.values()))
    for i, n in enumerate(block.sizes):
        for j, r in enumerate(block.repetitions):
            rows = training_rows(shared, n, r)
            estimator = fit_cell(learner, snapshot, block.unit, rows, n, r)
            for split, drawn in draws.items():
                answers = answer_cell(learner, estimator, snapshot, drawn.test(n, r))
                right, slack = vars(answers.metrics), allowed(answers, comparison.tolerance)
                for name in (*METRICS, "n_clipped"):
                    ours, theirs = float(found[split][name][i, j]), float(right[name])
                    where = f"{comparison} {snapshot.name} {block.unit.label} n={n} r={r} {name}"
                    assert np.isnan(ours) == np.isnan(theirs), where
                    if not np.isnan(theirs):
                        off = abs(ours - theirs)
                        assert off <= slack[name] + 1e-12, (where, ours, theirs, slack[name])
    return block.cells * len(found)


def test_every_kernel_is_compared():
    """Whatever is registered with a kernel has a row above, or files of its own."""
    learners = [registry.get(name) for name in registry.names()]
    kernels = {one.name for one in learners if isinstance(one, KernelLearner)}
    assert {comparison.learner for comparison in COMPARISONS} | ELSEWHERE == kernels


@pytest.mark.slow
@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
@pytest.mark.parametrize("kind", GENERATED)
def test_agrees_on_generated_data(comparison, kind):
    count = max(2, round(counts(4, 24) * comparison.share))
    assert compare(comparison, generated(kind), count, counts(1, 6)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("features", [MOST_FEATURES, MOST_FEATURES + 1])
def test_boosting_agrees_where_features_are_too_many_for_bins(features):
    """With two bins, a feature most rows of which have its largest value has one bin of several."""
    rng = np.random.default_rng(features)
    x = rng.normal(size=30)
    y = (x > np.quantile(x, 0.3)).astype(np.int64)
    X = np.zeros((30, features))
    X[:, 7] = np.minimum(x, np.quantile(x, 0.4))
    names = tuple(map(str, range(features)))
    snapshot = Snapshot(id="many", X=X, y=y, feature_names=names, class_names=("a", "b"), name="")
    comparison = Comparison("ADAB", 0.0, STREAMS, {"stumps": 2})
    learner, block = block_of(comparison, snapshot, "additive", "fixed", (20,), 1)
    assert (learner.features(snapshot) is None) == (features > MOST_FEATURES)
    found = learner.block(snapshot, block, ("fixed",))
    assert compare_cells(comparison, snapshot, learner, block, found) == 1
    assert found["fixed"]["accuracy"].min() > 0.9


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
@pytest.mark.parametrize("id", REAL)
def test_agrees_on_real_data(comparison, id):
    count = max(2, round(counts(4, 40) * comparison.share))
    assert compare(comparison, real(id), count, counts(1, 6)) > 0


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_a_cell_does_not_depend_on_its_block(comparison, sampling, split):
    """Any sizes, repetitions and splits computed together: the same bits."""
    snapshot = generated("ten classes")
    sizes = (1, 2, 3, 9, 17, 40, 63)
    learner, block = block_of(comparison, snapshot, sampling, split, sizes, 4)
    whole = learner.block(snapshot, block, (split,))[split]
    for some, first, stop in ((sizes[::2], 0, 4), (sizes[3:], 1, 3), (sizes[-1:], 3, 4)):
        part = Block(block.unit, some, first, stop)
        splits = (split, "pool") if split == "fixed" else (split,)
        scores = learner.block(snapshot, part, splits)[split]
        chosen = [sizes.index(n) for n in some]
        for name, values in scores.items():
            np.testing.assert_array_equal(values, whole[name][chosen, first:stop], name)
