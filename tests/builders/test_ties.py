"""Data of few distinct rows, where ties are the rule: the order of rounding errors decides nothing.

A cell that is computed alone, in any block, or by the reference is the same: labels and the area
under the curve count exact ties as ties.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.reference.agreement import allowed
from lcdb_builders.reference.block import reference_block
from lcdb_builders.reference.cell import answer_cell, fit_cell, training_rows

from lcdb.schema import LEARNERS, SAMPLINGS
from tests.oracles import exact_metrics, linear, metrics
from tests.oracles import gaussian as oracle
from tests.support.counts import FULL, counts
from tests.support.snapshots import COPIES, SHIPPED, real
from tests.support.tied import KINDS, tied, unit_of
from tests.support.tuned import compare_tuned

#: Metrics that are counts; the others may differ by the rounding of sums.
COUNTED = ("accuracy", "auc", "n_clipped")
#: Learners whose scores are solutions of equations, and how far theirs may be off at the defaults.
#: (With binary features and few rows scores of LDC are 1e7, of which its log-odds, about 5, are
#: differences: ties that two implementations round to both sides of a step of single precision.)
SOLVED, DIGITS = ("LDC", "QDC", "LREG", "LSVC", "GSVC"), 1e-11


def recompute(name, snapshot, sampling, split, tuning, sizes, repetitions) -> int:
    """Assert that each cell is the block's when computed alone and, but for sums, the reference's.

    Returns how many cells were recomputed.
    """
    learner = registry.get(name)
    unit = unit_of(name, snapshot, sampling, split, tuning, sizes)
    whole = Block(unit, sizes, 0, repetitions)
    stored = learner.block(snapshot, whole, (split,))[split]
    for (i, n), r in product(enumerate(sizes), range(repetitions)):
        alone = learner.block(snapshot, Block(unit, (n,), r, r + 1), (split,))[split]
        for metric, values in stored.items():
            where = f"{unit.label} n={n} r={r} {metric}"
            np.testing.assert_array_equal(alone[metric][0, 0], values[i, r], where)
    if name not in SOLVED:
        compare_with_reference(learner, snapshot, whole, stored)
    elif tuning == "tuned":
        compare_tuned(learner, snapshot, whole, (split,))
    else:
        compare_solutions(learner, snapshot, whole, stored)
    return len(sizes) * repetitions


def compare_with_reference(learner, snapshot, block, stored):
    split = block.unit.split
    right = reference_block(learner, snapshot, block, (split,))[split]
    for metric, values in stored.items():
        where = f"{block.unit.label} {snapshot.id} {metric}"
        if metric in COUNTED or metric.startswith("choice"):
            np.testing.assert_array_equal(values, right[metric], where)
        else:
            np.testing.assert_allclose(values, right[metric], 3e-7, err_msg=where)


def compare_solutions(learner, snapshot, block, stored):
    """All digits but the last few: order and labels are certain but where those decide."""
    unit = block.unit
    draws = unit.draws(snapshot)
    for (i, n), r in product(enumerate(block.sizes), block.repetitions):
        model = fit_cell(learner, snapshot, unit, training_rows(draws, n, r), n, r)
        answers = answer_cell(learner, model, snapshot, draws.test(n, r))
        slack = allowed(answers, DIGITS)
        for metric, right in vars(answers.metrics).items():
            ours = float(stored[metric][i, r])
            where = f"{unit.label} {snapshot.id} n={n} r={r} {metric}: {ours}, {right}"
            assert abs(ours - right) <= slack[metric] or np.isnan([ours, right]).all(), where


def places_of(data, name, tuning):
    """Return data, samplings and splits; at reduced counts few, of each test others."""
    places = list(product(data, SAMPLINGS, ("fixed", "varying")))
    start = 5 * LEARNERS.index(name) + (tuning == "tuned")
    return places if FULL else places[start % 7 :: 11]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("tuning", ["default", "tuned"])
def test_a_cell_of_tied_rows_is_the_same_alone_and_in_the_reference(name, tuning):
    """Full counts: 20,000 cells over all learners, both tunings, all samplings, splits, data."""
    places = places_of(KINDS, name, tuning)
    rows = counts(160, 2000)
    sizes = (10, 14, 25, 60) if tuning == "tuned" else (1, 2, 3, 9, 40, 90)
    sizes = sizes[:2] if not FULL and tuning == "tuned" else sizes
    total = 0
    for kind, sampling, split in places:
        repetitions = counts(1, 8)
        snapshot = tied(kind, rows)
        total += recompute(name, snapshot, sampling, split, tuning, sizes, repetitions)
    assert total >= len(places)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("tuning", ["default", "tuned"])
@pytest.mark.parametrize("ids", [SHIPPED, pytest.param(tuple(COPIES), marks=pytest.mark.data)])
def test_a_cell_of_real_rows_is_the_same_alone_and_in_the_reference(name, tuning, ids):
    """Of the 522 rows of kc2 369 are distinct; features of balance-scale have five values each."""
    places = places_of(ids, name, tuning)[: None if FULL else 1]
    sizes = (10, 25, 60) if tuning == "tuned" else (2, 9, 40, 90)
    sizes = sizes if FULL else sizes[:1]
    for id, sampling, split in places:
        snapshot, repetitions = real(id), counts(1, 4)
        assert recompute(name, snapshot, sampling, split, tuning, sizes, repetitions) > 0


def fitted_to(snapshot, unit, n, r):
    draws = unit.draws(snapshot)
    return draws.train(n, r), draws.test(n, r)


@pytest.mark.parametrize("name", ["NMC", "LDC"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_ties_are_those_of_rational_arithmetic(name, sampling):
    """On integers, whatever rounding does: the area of exact ranks, and labels of NMC."""
    sizes, repetitions = (6, 20), counts(3, 60)
    snapshot, learner = tied("two classes", 160), registry.get(name)
    unit = unit_of(name, snapshot, sampling, "varying", "default", sizes)
    block = Block(unit, sizes, 0, repetitions)
    scores = learner.block(snapshot, block, ("varying",))["varying"]
    ridge = json.loads(unit.params).get("ridge")
    compared = 0
    for (i, n), r in product(enumerate(sizes), range(repetitions)):
        train, test = fitted_to(snapshot, unit, n, r)
        y = snapshot.y[train].tolist()
        if len(set(y)) < 2:
            continue
        exact = oracle.exact_differences(
            snapshot.X[train].tolist(), y, snapshot.X[test].tolist(), ridge
        )
        prior = 0.0 if name == "NMC" else math.log(sum(y) / (len(y) - sum(y)))
        ranks = [metrics.single(float(d) + prior) for d in exact]
        labels = snapshot.y[test]
        area = exact_metrics.one_class_auc(ranks, (labels == 1).tolist())
        assert scores["auc"][i, r] == np.float32(float(area)), (n, r)
        assert len(set(exact)) < len(exact)
        compared += 1
        if name == "NMC":
            right = sum((d > 0) == bool(c) for d, c in zip(exact, labels, strict=True))
            assert scores["accuracy"][i, r] == np.float32(right / len(labels)), (n, r)
    assert compared > 0


@pytest.mark.parametrize("name", ["LREG", "LSVC"])
def test_ties_of_linear_models_are_those_of_more_digits(name):
    """The area under the curve of the optimum in extended precision, rounded as ranks are.

    With far smaller penalties, such as LREG's of 1e-6 in a grid, cells of six rows may differ:
    where rows of both classes are equal and others can be told apart, decision values as small as
    the penalty are what double precision leaves of sums of numbers near 1.
    """
    learner, compared = registry.get(name), 0
    for seed, kind in product(range(counts(1, 12)), KINDS):
        snapshot = tied(kind, 160, seed)
        snapshot = replace(snapshot, y=(snapshot.y > 0).astype(int), class_names=("a", "b"))
        sampling = SAMPLINGS[(seed + KINDS.index(kind)) % 3]
        unit = unit_of(name, snapshot, sampling, "varying", "default", (6, 12, 40, 90))
        scores = learner.block(snapshot, Block(unit, unit.sizes, 0, 2), ("varying",))["varying"]
        for (i, n), r in product(enumerate(unit.sizes), range(2)):
            train, test = fitted_to(snapshot, unit, n, r)
            X, sign = snapshot.X[train], np.where(snapshot.y[train] == 1, 1.0, -1.0)
            if len(set(sign)) < 2:
                continue
            ones = np.ones(X.shape[1])
            if name == "LREG":
                at = linear.minimise(X, sign, linear.logistic, np.append(1e-4 * ones, 0))
            else:
                at = linear.minimise(X, sign, linear.squared_hinge(1.0), np.append(ones, 1))
            decisions = [float(f) for f in snapshot.X[test] @ at[:-1] + at[-1]]
            even = 1e-9 * (1 + math.log(2))
            ranks = [metrics.single(f) if abs(f) > even else 0.0 for f in decisions]
            area = exact_metrics.one_class_auc(ranks, (snapshot.y[test] == 1).tolist())
            assert scores["auc"][i, r] == np.float32(float(area)), (seed, kind, n, r)
            compared += len(set(ranks)) < len(ranks)
    assert compared > counts(20, 300)
