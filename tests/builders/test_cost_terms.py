"""Costs: what is fitted to measurements, and what a plan makes of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from lcdb_builders.bench.terms import fit, mean_terms
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.unit import DRAWS
from lcdb_builders.learners import registry
from lcdb_builders.planning.cost import cell_seconds, term_values
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.sources import expected

from lcdb.schema import LEARNERS

SHAPES = [(e.rows, e.features, e.classes) for e in expected().values()]


def cases_of(terms, samplings=("random", "bootstrap"), noise=0.0):
    """Return measured cases whose costs are exactly these terms, up to noise."""
    rng = np.random.default_rng(0)
    found = []
    for (rows, features, classes), sampling, split in product(
        SHAPES, samplings, ("fixed", "varying")
    ):
        case = {"rows": rows, "features": features, "classes": classes}
        case |= {"sampling": sampling, "split": split}
        micros = mean_terms(case, terms) @ np.array(list(terms.values()))
        found.append({**case, "micros": micros * np.exp(noise * rng.normal())})
    return found


@pytest.mark.parametrize("learner", LEARNERS)
def test_terms_are_found_again(learner):
    candidates = registry.get(learner).cost.candidates
    some = candidates[:3]
    truth = dict(zip(("", *some), (2.0, 0.05, 0.003, 0.0004), strict=True))
    found, worst = fit(cases_of(truth), ("", *candidates))
    assert worst < 1.02
    noisy, worst = fit(cases_of(truth, noise=0.1), ("", *candidates))
    assert worst < 1.5
    exact = cases_of(truth)
    for case in exact:
        predicted = mean_terms(case, found) @ np.array(list(found.values()))
        assert predicted == pytest.approx(case["micros"], rel=0.06)  # terms have two digits
        assert mean_terms(case, noisy) @ np.array(list(noisy.values())) > 0


@pytest.mark.parametrize("sampling", ["additive", "random", "bootstrap"])
@pytest.mark.parametrize("split", ["fixed", "varying", "pool"])
def test_test_rows_are_those_that_are_drawn(sampling, split):
    n, rows = np.array([1.0, 10.0, 70.0]), 101
    values = term_values(n, rows, 3, 2, sampling, split)
    draws = Draws(rows, "ab", 1, sampling, split)
    for i, size in enumerate(n.astype(int)):
        mean = np.mean([len(draws.test(int(size), r)) for r in range(200)])
        assert values("t")[i] == pytest.approx(mean, rel=0.01)
    assert values("ddo").tolist() == [9.0] * 3 and values("nk").tolist() == (2 * n).tolist()


def test_every_learner_of_a_plan_has_a_cost_that_grows():
    plan = load_plan("turan2026")
    learners = plan_learners(plan)
    for dataset in expected().values():
        for unit in units(plan, dataset, learners):
            if unit.learner == DRAWS:
                continue
            seconds = cell_seconds(unit, dataset)
            assert (seconds > 1e-9).all() and (seconds < 1e4).all(), unit.label
            if unit.tuning == "default" and unit.split == "fixed":
                assert seconds[-1] >= 0.99 * seconds[0], unit.label


def test_every_learner_declares_what_its_kernels_cost():
    for name in LEARNERS:
        cost = registry.get(name).cost
        assert cost.additive and cost.fresh and cost.reference, name
        assert (cost.tuned is None) != (cost.tuned_ratio is None), name


def test_what_declares_no_cost_or_is_not_installed_has_one():
    iris = expected()["61"]
    unit = next(iter(units(load_plan("demo"), iris, plan_learners(load_plan("demo")))))
    unknown = replace(unit, learner="NOBODY", implementation="kernel-1")
    assert (cell_seconds(unknown, iris) > 1e-3).all()
