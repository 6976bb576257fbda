"""Which rows tuned kernels hold out and what they choose: the same as in plain code."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core import holdout as kernels
from lcdb_builders.learners import registry
from lcdb_builders.learners.batch import columns_of, empty_tuned, task_of, tuned_by_split, tuning_of
from lcdb_builders.reference.cell import training_rows, weighted_rows
from lcdb_builders.reference.tuning import TuningRule, validation_rows

from lcdb.schema import METRICS, SAMPLINGS
from tests.support.counts import counts
from tests.support.snapshots import generated
from tests.support.tuned import tuned_unit


def block_of(snapshot, sampling, split, sizes, tie="nearest_default", params=None):
    unit = tuned_unit(registry.get("NNC"), snapshot, sampling, split, sizes, tie=tie, params=params)
    return Block(unit, sizes, 0, 3)


@pytest.mark.parametrize("kind", ["rare class", "ten classes"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("split", ["fixed", "pool", "varying"])
def test_held_out_rows(kind, sampling, split):
    snapshot = generated(kind)
    sizes = tuple(range(1, 63, counts(5, 1)))
    block = block_of(snapshot, sampling, split, sizes)
    task, columns = task_of(snapshot, block), columns_of(snapshot, block, [split])
    tuning = tuning_of(block)
    parted = kernels.hold_out_of(task, columns, tuning)
    draws = block.unit.draws(snapshot)
    flags = set()
    for n in sizes:
        for r in block.repetitions:
            distinct, copies = weighted_rows(training_rows(draws, n, r))
            weight = np.zeros(snapshot.rows, np.int64)
            weight[distinct] = copies
            flag = kernels.hold_out(task, tuning, n, r, distinct, len(distinct), weight, parted)
            fit, held = validation_rows(draws, block.unit, n, r)
            kept = parted.fit[: parted.sizes[0]]
            np.testing.assert_array_equal(np.repeat(kept, weight[kept]), fit)
            assert parted.sizes.tolist()[1:3] == [len(held), len(fit)]
            for c in range(snapshot.classes):
                of_class = parted.rows[parted.lo[c] : parted.hi[c]]
                np.testing.assert_array_equal(of_class, held[snapshot.y[held] == c])
                assert parted.counts[c] == np.count_nonzero(snapshot.y[fit] == c)
            XT = np.zeros((snapshot.features, max(len(held), 1)))
            kernels.take_held(task, parted, XT)
            np.testing.assert_array_equal(
                XT[:, : len(held)].T, snapshot.X[parted.rows[: len(held)]]
            )
            if len(set(snapshot.y[fit].tolist())) < 2:
                assert flag == kernels.ONE_CLASS_FIT
            elif len(set(snapshot.y[held].tolist())) < 2:
                assert flag == kernels.ONE_CLASS_VALIDATION
            else:
                assert flag == kernels.CHOSEN
            flags.add(flag)
    assert len(flags) == 3 or kind == "ten classes"


@pytest.mark.parametrize("tie", ["nearest_default", "first"])
@pytest.mark.parametrize("default", [1, 9, 100])
def test_choices(tie, default):
    """Scores with many ties, up to rounding or all NaN, are chosen from as in plain code."""
    snapshot = generated("two classes")
    block = block_of(snapshot, "random", "fixed", (20,), tie, {"neighbors": default})
    task, columns = task_of(snapshot, block), columns_of(snapshot, block, ["fixed"])
    rule, tuning = TuningRule.of(block.unit), tuning_of(block)
    parted, tuned = kernels.hold_out_of(task, columns, tuning), empty_tuned(block, ["fixed"])
    rng = np.random.default_rng(default)
    for trial in range(counts(60, 2000)):
        parted.scores[:] = rng.integers(0, rng.integers(1, 20), parted.scores.shape) / 7
        parted.scores[:] *= 1 + 2**-52 * rng.integers(
            -3, 4, parted.scores.shape
        )  # sums in another order
        flag = kernels.CHOSEN if trial % 4 else kernels.ONE_CLASS_VALIDATION
        if flag != kernels.CHOSEN:
            parted.scores[:, 1] = np.nan
        choices, flags = tuned.choices[0, 0], tuned.flags[0, 0]
        kernels.choose(tuning, flag, parted, choices, flags)
        for m, name in enumerate(METRICS):
            index, tied = rule.choose(parted.scores[:, m], METRICS[name].direction, default)
            assert choices[m] == parted.chosen[m] == index
            assert flags[m] == (flag or (kernels.TIE if tied else kernels.CHOSEN))


def test_nothing_to_fit_on_leaves_the_default():
    snapshot = generated("two classes")
    block = block_of(snapshot, "random", "fixed", (20,), params={"neighbors": 11})
    task, columns = task_of(snapshot, block), columns_of(snapshot, block, ["fixed"])
    parted, tuning = kernels.hold_out_of(task, columns, tuning_of(block)), tuning_of(block)
    parted.scores[:] = np.random.default_rng(0).random(parted.scores.shape)
    tuned = empty_tuned(block, ["fixed"])
    kernels.choose(tuning, kernels.ONE_CLASS_FIT, parted, tuned.choices[0, 0], tuned.flags[0, 0])
    assert tuning.grid[tuned.choices[0, 0]].tolist() == [11] * 4
    assert tuned.flags[0, 0].tolist() == [kernels.ONE_CLASS_FIT] * 4


def test_each_metric_is_recorded_by_its_own_choice():
    snapshot = generated("two classes")
    block, splits = block_of(snapshot, "random", "fixed", (20,)), ("fixed", "pool")
    task, columns = task_of(snapshot, block), columns_of(snapshot, block, splits)
    parted, tuned = kernels.hold_out_of(task, columns, tuning_of(block)), empty_tuned(block, splits)
    parted.chosen[:] = [2, 5, 2, 7]
    tuned.values[:] = 0
    tuned.choices[0, 0] = parted.chosen
    for index in range(20):
        assert kernels.is_chosen(parted, index) == (index in (2, 5, 7))
        parted.refit[0], parted.refit[1] = index, 100 + index
        kernels.record(parted, index, tuned.values[0, 0])
    found = tuned_by_split(tuned, splits)
    for split, more in (("fixed", 0), ("pool", 100)):
        for name, index in zip(METRICS, (2, 5, 2, 7), strict=True):
            assert found[split][name][0, 0] == more + index
            assert found[split][f"choice_{name}"][0, 0] == index
        assert found[split]["n_clipped"][0, 0] == more + 7
