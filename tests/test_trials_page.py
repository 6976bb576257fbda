"""The experiments that ship are what is computed anew, and the page on them says what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders.experiments import pendulum
from lcdb_builders.experiments.dse import maker
from lcdb_builders.experiments.dse.build import SEED, parts

from lcdb.shipped import experiments

DOCS = Path(__file__).parents[1] / "docs"


def page_module(name):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_number_of_the_page_is_computed_from_what_ships():
    module = page_module("trials")
    with experiments() as db:
        assert module.wrapped(module.page(db)) == (DOCS / "trials.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("learner", "mode", "tasks"),
    [(learner, "random", ("moons", "circles", "linear")) for learner in ("kNN", "RF", "SVM", "LR")]
    + [("kNN", "tuned", ("linear",)), ("RF", "tuned", ("moons",)), ("SVM", "tuned", ("moons",))],
)
def test_shipped_trials_are_computed_again(learner, mode, tasks):
    with experiments() as db:
        accuracy = db["dse"]["accuracy"].sel(learner=learner, mode=mode).load()
    for task in tasks:
        (part,) = parts([task], [learner], [mode], seed=SEED)
        there = np.flatnonzero(np.isfinite(accuracy.sel(task=task).values))
        for trial in (0, int(there[-1])):
            again = maker.trials(part, range(trial, trial + 1), None)["accuracy"][0]
            # Another BLAS may decide a row in a tie otherwise.
            assert again == pytest.approx(float(accuracy.sel(task=task, trial=trial)), abs=0.003)


def test_shipped_lifetimes_are_computed_again():
    with experiments() as db:
        cube = db["pendulum"].load()
    for algorithm, count in (("actor_critic", 8), ("ppo", 2)):
        stored = cube.sel(algorithm=algorithm)
        last = int(np.flatnonzero(np.isfinite(stored["mean_return"].values))[-1])
        trials = [*range(count - 1), last]
        again = pendulum.lifetimes(algorithm, trials, episodes=100)
        means = stored["mean_of_first"].sel(length=100, trial=trials).values
        np.testing.assert_allclose(again.episode_return.mean(axis=1), means, rtol=1e-6)
        for name, values in again.hyperparameters.items():
            np.testing.assert_allclose(stored[name].sel(trial=trials).values, values, rtol=1e-6)


def test_the_variants_of_linear_begin_with_the_task_as_it_is():
    module = page_module("linear")
    (part,) = parts(["linear"], ["LR"], ["random"], seed=SEED)
    expected = maker.trials(part, range(2), None)["accuracy"]
    assert not next(iter(module.VARIANTS.values()))
    for trial in range(2):
        data = module.trial_data(trial)
        assert np.float32(module.accuracy("LR", trial, data)) == expected[trial]
