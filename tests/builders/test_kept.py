"""What kernels say of rows is what their metrics saw: one fit, the same bits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.unit import Block, Unit, canonical_json
from lcdb_builders.learners import kept as keeping
from lcdb_builders.learners import registry
from lcdb_builders.learners.kept import keep
from lcdb_builders.predict import kernels
from lcdb_builders.predict.kernels import answers_of, runs
from lcdb_builders.predict.metrics import Predictions
from lcdb_builders.reference.cell import answer_cell, fit_cell, training_rows
from lcdb_builders.reference.metrics import cell_scores

from lcdb.schema import LEARNERS, METRICS, SAMPLINGS
from tests.support.counts import FULL, counts
from tests.support.snapshots import COPIES, SHIPPED, generated, real

SPLITS = ("fixed", "pool", "varying")
KINDS = ("two classes", "rare class", "integers", "ten classes")
SMALL = {"RFOR": {"trees": 3}, "ADAB": {"stumps": 5}, "DT": {"min_samples_leaf": 2}}
R = 3


def unit_of(learner, snapshot, sampling, split, tuning, sizes):
    rule = ""
    if tuning == "tuned":
        grid = list(learner.grid)[:: 1 if FULL else 6]
        rule = json.dumps({
            "parameter": learner.tuned_parameter, "grid": grid, "tie": "nearest_default",
        })  # fmt: skip
    params = canonical_json(learner.complete(SMALL.get(learner.name, {})))
    return Unit(
        snapshot.id, snapshot.sha256, 5, learner.name, "", params, learner.implementation,
        sampling, split, tuning, rule, sizes,
    )  # fmt: skip


def blocks(tuning):
    """Yield (learner, snapshot, block, metric): at full counts every kind, sampling and split."""
    for place, name in enumerate(LEARNERS):
        for turn in range(counts(3, len(KINDS) * 9)):
            # At reduced counts a Latin square: each learner has every sampling and every split.
            at = place + turn if not FULL else turn
            sampling, split = SAMPLINGS[turn % 3], SPLITS[(turn + at // 3) % 3]
            learner = registry.get(name)
            snapshot = generated(KINDS[at % len(KINDS)], rows=60)
            sizes = (2, 11, 37) if tuning == "default" else (10, 37)
            unit = unit_of(learner, snapshot, sampling, split, tuning, sizes)
            yield learner, snapshot, Block(unit, sizes, 2, 2 + R), list(METRICS)[at % 4]


def said_of(kept, rows, i, j):
    """Return what is kept of rows of a cell, in the order of rows."""
    place = {row: at for at, row in enumerate(kept.rows.tolist())}
    there = [place[row] for row in rows.tolist()]
    return (
        kept.label[i, j, there],
        kept.probability[i, j][:, there].T,
        kept.ranks[i, j][:, there].T,
    )


@pytest.mark.parametrize("tuning", ["default", "tuned"])
def test_numbers_are_those_of_a_build_and_follow_from_what_is_kept(tuning):
    for learner, snapshot, block, chosen_by in blocks(tuning):
        unit, every = block.unit, np.arange(snapshot.rows)
        stored = learner.block(snapshot, block, (unit.split,))[unit.split]
        kept = keep(learner, snapshot, block, every, chosen_by)
        for m, name in enumerate(METRICS):
            same = kept.numbers[..., m].astype(np.float32)
            assert same.tobytes() == stored[name].tobytes(), (unit.label, name)
            if tuning == "tuned":
                assert np.array_equal(kept.choices[..., m], stored[f"choice_{name}"])
        draws = unit.draws(snapshot)
        for i, j in np.ndindex(*block.shape):
            test = draws.test(block.sizes[i], block.repetitions[j])
            label, p, ranks = said_of(kept, test, i, j)
            again = cell_scores(snapshot.y[test], p=p, label=label, ranks=ranks)
            names = [chosen_by] if tuning == "tuned" else METRICS
            for name in names:
                number = kept.numbers[i, j, list(METRICS).index(name)]
                right = pytest.approx(number, rel=1e-12, abs=1e-15, nan_ok=True)
                assert getattr(again, name) == right, (unit.label, name)
            assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
        if unit.split != "varying":  # test rows alone: the same again, without the other rows
            alone = keep(learner, snapshot, block, None, chosen_by)
            assert sorted(alone.rows) == sorted(draws.fixed_test)
            assert alone.numbers.tobytes() == kept.numbers.tobytes()
            for one, other in zip(
                said_of(alone, draws.fixed_test, 0, 1), said_of(kept, draws.fixed_test, 0, 1),
                strict=True,
            ):  # fmt: skip
                assert np.array_equal(one, other)


def test_what_is_said_is_what_the_reference_says():
    for learner, snapshot, block, _ in blocks("default"):
        unit, every = block.unit, np.arange(snapshot.rows)
        kept = keep(learner, snapshot, block, every, "accuracy")
        n, repetition = block.sizes[1], block.first + 1
        train = training_rows(unit.draws(snapshot), n, repetition)
        model = fit_cell(learner, snapshot, unit, train, n, repetition)
        answers = answer_cell(learner, model, snapshot, every)
        right = Predictions.of(answers, np.ones(len(every), int), snapshot.classes)
        label, p, _ = said_of(kept, every, 1, 1)
        absent = ~np.isin(np.arange(snapshot.classes), snapshot.y[train])
        assert not p[:, absent].any()
        np.testing.assert_allclose(p, right.probability, rtol=0, atol=1e-6, err_msg=unit.label)
        sure = np.sort(right.probability, axis=1)
        sure = sure[:, -1] - sure[:, -2] > 1e-5
        assert np.array_equal(label[sure], right.label[sure])


@pytest.mark.parametrize("ids", [SHIPPED[:3], pytest.param(tuple(COPIES), marks=pytest.mark.data)])
def test_random_cells_are_those_of_a_build_in_any_company(ids):
    rng = np.random.default_rng(15)
    for _ in range(counts(12, 500)):
        id = str(rng.choice(ids))
        snapshot, learner = real(id), registry.get(str(rng.choice(list(LEARNERS))))
        sampling, split = str(rng.choice(SAMPLINGS)), str(rng.choice(SPLITS))
        tuning, top = str(rng.choice(["default", "tuned"])), largest_size(snapshot.rows)
        pair = np.sort(rng.choice(np.arange(1 if tuning == "default" else 10, top), 2, False))
        unit = unit_of(learner, snapshot, sampling, split, tuning, tuple(pair.tolist()))
        first = int(rng.integers(1000))
        stored = learner.block(snapshot, Block(unit, unit.sizes, first, first + 2), (split,))[split]
        i, j = rng.integers(2, size=2)
        n, repetition = unit.sizes[i], first + int(j)
        test = unit.draws(snapshot).test(n, repetition)
        for name in METRICS:  # tuned: each has a model of its own
            only_test = bool(rng.integers(2))
            kernel_answers = answers_of(
                learner, snapshot, unit, (n,), (repetition,), only_test=only_test, chosen_by=name
            )  # fmt: skip
            answers = kernel_answers.answers(0, 0, test, of_test=False)
            for metric in METRICS if tuning == "default" else (name,):
                number = getattr(kernel_answers.numbers(0, 0), metric)
                where = (unit.label, metric, n, repetition)
                assert np.float32(number).tobytes() == stored[metric][i, j].tobytes(), where
                right = pytest.approx(number, rel=1e-12, abs=1e-15, nan_ok=True)
                assert getattr(answers.metrics, metric) == right, where
            if tuning == "default":
                break


def test_more_columns_than_kernels_count_are_scored_in_two_passes(monkeypatch):
    learner, snapshot = registry.get("DT"), generated("integers", rows=60)
    unit = unit_of(learner, snapshot, "random", "fixed", "default", (20,))
    every = np.arange(snapshot.rows)
    together = keep(learner, snapshot, Block(unit, (20,), 0, 4), every, "auc")
    monkeypatch.setattr(keeping, "MOST_COLUMNS", snapshot.rows)
    apart = keep(learner, snapshot, Block(unit, (20,), 0, 4), every, "auc")
    assert apart.numbers.tobytes() == together.numbers.tobytes()
    for one, other in zip(said_of(apart, every, 0, 3), said_of(together, every, 0, 3), strict=True):
        assert np.array_equal(one, other)


def test_learners_without_kernels_are_told_apart():
    snapshot = generated("integers", rows=60)
    learner = registry.get("LDC")
    unit = unit_of(learner, snapshot, "random", "fixed", "default", (20,))

    class Reference(type(learner)):
        def features(self, snapshot):
            return None

    assert answers_of(Reference(), snapshot, unit, (20,), (0, 1), only_test=True) is None
    assert answers_of(object(), snapshot, unit, (20,), (0, 1), only_test=True) is None


def test_runs_cover_every_cell_once_without_gaps_and_in_little_memory(monkeypatch):
    snapshot = generated("integers", rows=60)
    repetitions = [0, 1, 2, 5, 6, 9]
    for cells in (1, 2, 5, 1000):
        size = keeping.bytes_of_cell(snapshot, snapshot.rows)
        monkeypatch.setattr(kernels, "MOST_BYTES", cells * size)
        seen = np.zeros((4, len(repetitions)), int)
        for sizes, some in runs(snapshot, 4, repetitions):
            seen[sizes, some] += 1
            assert seen[sizes, some].size <= cells
            assert (np.diff(repetitions[some]) == 1).all()
        assert (seen == 1).all()
