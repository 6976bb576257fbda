"""Any scikit-learn class is tuned by a grid in the plan: compared with scikit-learn alone."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.sources import expected
from lcdb_builders.sources.bundled import bundled
from sklearn.neighbors import KNeighborsClassifier

from lcdb.schema import METRICS
from tests.oracles.metrics import from_probabilities
from tests.oracles.sampling import cell
from tests.oracles.tuning import held_out, winner

GRID = [1, 3, 9, 25]
PLAN = {
    "datasets": [61],
    "learners": {
        "KNN": {
            "estimator": "sklearn.neighbors.KNeighborsClassifier",
            "tuning": {"parameter": "n_neighbors", "values": GRID},
        }
    },
    "samplings": ["random"],
    "splits": ["varying"],
    "tunings": ["tuned"],
    "sizes": [{"list": [40, 90]}],
    "repetitions": 4,
    "seed": 5,
}


def scores_of(neighbours, X, y, train, test):
    """The five numbers of scikit-learn's own fit."""
    model = KNeighborsClassifier(neighbours).fit(X[train], y[train])
    p = np.zeros((len(test), 3))
    p[:, model.classes_] = model.predict_proba(X[test])
    return from_probabilities(p.tolist(), y[test].tolist())


@pytest.fixture(scope="module")
def unit():
    plan = load_plan(PLAN)
    [found] = [u for u in units(plan, expected()["61"], plan_learners(plan)) if u.tuning == "tuned"]
    return found


def test_values_choices_and_flags(unit):
    snapshot = bundled("61")
    learner = registry.for_unit(unit)
    block = Block(unit, (40,), 0, 4)
    found = learner.block(snapshot, block, ("varying",))["varying"]
    for r in block.repetitions:
        where = (150, 5, snapshot.sha256, "random", "varying", 40, r)
        fit, held = held_out(*where)
        train, test = cell(*where)
        tried = [scores_of(k, snapshot.X, snapshot.y, fit, held) for k in GRID]
        for m, (name, metric) in enumerate(METRICS.items()):
            by_metric = [scores[m] for scores in tried]
            best, tied = winner(by_metric, metric.direction == "maximize", 1)  # nearest to 5 is 3
            assert found[f"choice_{name}"][0, r] == best
            assert found[f"choice_flag_{name}"][0, r] == int(tied)
            right = scores_of(GRID[best], snapshot.X, snapshot.y, train, test)
            assert found[name][0, r] == pytest.approx(right[m], abs=1e-6)
            if name == "cross_entropy":
                assert found["n_clipped"][0, r] == right[4]
