"""Tuned DT, RFOR and ADAB: one fit gives every smaller ensemble, and exactly the loop's choices."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block, Unit, canonical_json
from lcdb_builders.learners import registry

from lcdb.schema import SAMPLINGS
from tests.support.counts import FULL, counts
from tests.support.snapshots import generated
from tests.support.tuned import SEED, Compared, compare_tuned, tuned_unit

SPLITS = (("fixed", "pool"), ("varying",))
# Few values of what is slow in plain code; the learners' own grid otherwise.
FEW = {"RFOR": (1, 2, 5, 9, 14), "ADAB": (1, 3, 8, 20, 40)}
OTHER = {"RFOR": {"features": 2, "min_samples_leaf": 2}}
LEARNERS = ("DT", "RFOR", "ADAB")


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", ["duplicates", "rare class"])
def test_every_choice_is_that_of_the_loop(name, kind):
    """Also with parameters that are not tuned, and from the smallest size."""
    learner, snapshot, compared = registry.get(name), generated(kind), Compared()
    sizes = (1, 2, 3, 10, 29, 63) if FULL else (1, 2, 29)
    for sampling in SAMPLINGS:
        for splits in SPLITS:
            unit = tuned_unit(
                learner,
                snapshot,
                sampling,
                splits[0],
                sizes,
                params=OTHER.get(name),
                grid=FEW.get(name),
            )
            block = Block(unit, sizes, 0, counts(1, 10))
            compared += compare_tuned(learner, snapshot, block, splits)
    assert compared.cells == 2 * len(SAMPLINGS) * len(sizes) * counts(1, 10)
    assert compared.others == 0


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_grid_of_one_value_is_the_untuned_curve(name, sampling):
    """The same bits, whatever the value: what is added to an ensemble is what was in it."""
    learner, snapshot, sizes = registry.get(name), generated("integers"), (2, 10, 37, 63)
    for splits in SPLITS:
        for value in (1, 7):
            params = learner.complete({learner.tuned_parameter: value})
            tuned = tuned_unit(learner, snapshot, sampling, splits[0], sizes, grid=(value,))
            untuned = Unit(
                snapshot.id,
                snapshot.sha256,
                SEED,
                name,
                "",
                canonical_json(params),
                learner.implementation,
                sampling,
                splits[0],
                "default",
                "",
                sizes,
            )
            found = learner.block(snapshot, Block(tuned, sizes, 0, 3), splits)
            right = learner.block(snapshot, Block(untuned, sizes, 0, 3), splits)
            for split, scores in right.items():
                for metric, values in scores.items():
                    np.testing.assert_array_equal(found[split][metric], values, metric)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_the_grid_decides_nothing_but_ties(name):
    learner, snapshot, sizes = registry.get(name), generated("two classes"), (10, 40, 63)
    grid = (13, 1, 8, 5)
    unit = tuned_unit(learner, snapshot, "random", "varying", sizes, grid=grid, tie="first")
    compared = compare_tuned(learner, snapshot, Block(unit, sizes, 0, 2), ("varying",))
    assert compared.others == 0
