"""The experiments that ship are what is computed anew, and the page on them says what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lcdb_builders.experiments import pendulum
from lcdb_builders.experiments.dse import maker
from lcdb_builders.experiments.dse.build import SEED, parts

import linear
import spread
from lcdb.shipped import experiments
from trials.classifiers import SPREAD, in_order
from trials.linear import LEARNERS, MOVES, upper_half, with_control
from trials.page import page

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.full
def test_every_number_of_the_page_is_computed_from_what_ships():
    with experiments() as db:
        assert page(db) == (DOCS / "trials.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "mode", "tasks"),
    [
        ("kNN", "random", ("moons", "circles", "linear")),
        ("LR", "random", ("moons", "circles", "linear")),
        pytest.param("RF", "random", ("moons", "circles", "linear"), marks=pytest.mark.full),
        pytest.param("SVM", "random", ("moons", "circles", "linear"), marks=pytest.mark.full),
        pytest.param("kNN", "tuned", ("linear",), marks=pytest.mark.full),
        pytest.param("RF", "tuned", ("moons",), marks=pytest.mark.full),
        pytest.param("SVM", "tuned", ("moons",), marks=pytest.mark.full),
    ],
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
    (part,) = parts(["linear"], ["LR"], ["random"], seed=SEED)
    expected = maker.trials(part, range(2), None)["accuracy"]
    assert not next(iter(linear.VARIANTS.values()))
    assert (linear.accuracies("LR", "random", range(2), "as it is") == expected).all()
    for name in list(linear.VARIANTS)[1:]:
        X, X_test, y, y_test = linear.draw(np.random.RandomState(1), **linear.VARIANTS[name])
        assert len(X) == len(y) == 1200 and len(X_test) == len(y_test) == 800
    X, X_test, *_ = linear.draw(np.random.RandomState(1), standardised="training")
    assert np.allclose(X.std(axis=0), 1.0) and not np.allclose(X_test.std(axis=0), 1.0, atol=1e-4)


@pytest.mark.slow
def test_what_was_measured_once_of_linear_is_measured_again():
    """Of logistic regression, which is fast, the variant that the page speaks of."""
    (name, cells) = next(iter(MOVES.items()))
    variant = "noise on [0, 1.9]"
    assert name.startswith(variant)
    (_, (_, moved)) = linear.moves("LR", "random", 100, ["as it is", variant]).items()
    stated, _, error = cells[LEARNERS.index("LR")].partition(" ± ")
    assert float(moved[1]["difference"]) == pytest.approx(float(stated), abs=5e-4)
    assert float(moved[1]["error"]) == pytest.approx(float(error), abs=2e-4)


@pytest.mark.slow
def test_what_was_measured_once_of_the_spread_is_measured_again():
    stated = [row.split(" | ")[0].strip("| ") for row in SPREAD.strip().splitlines()]
    assert stated == [f"{a}, {b}" for a, b in (*spread.CLASSIFIERS, (spread.AGENT, "pendulum"))]
    assert spread.row("LR", "moons", spread.COUNTS) in SPREAD
    few = spread.row(spread.AGENT, "pendulum", (3, 3, 2))
    assert few.startswith("| actor_critic, pendulum | ") and few.count("±") == 4


def test_a_control_takes_off_what_is_chance_of_the_data():
    """Without noise of its own the estimate is that of all data; with other data nothing moves."""
    rng = np.random.default_rng(4)
    means, errors, plain = [], [], []
    for _ in range(300):
        control = rng.normal(size=2000)
        tuned = 0.8 * control[:300] + 0.3 * rng.normal(size=300)
        value, error = with_control(tuned, control)
        means.append(value)
        errors.append(error)
        plain.append(upper_half(tuned).mean())
    truth = np.hypot(0.8, 0.3) * np.sqrt(2 / np.pi)
    assert abs(np.mean(means) - truth) < 0.006
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.15)
    assert np.std(means) < 0.8 * np.std(plain)
    z = rng.normal(size=11)
    assert upper_half(z[:10]).mean() == pytest.approx(np.sort(z[:10])[5:].mean())


def test_a_number_of_the_pairs_is_that_of_a_slow_count():
    """The better halves of the page, by sorting."""
    with experiments() as db:
        cube = db["dse"].load()
    ((a, b), found), *_ = in_order(cube, "linear", "tuned")
    accuracy = cube["accuracy"].sel(task="linear", mode="tuned")
    tails = [np.sort(accuracy.sel(learner=n).values[:300])[150:] for n in (a, b)]
    assert (a, b) == ("SVM", "NN")
    expected = tails[0].mean(dtype=float) - tails[1].mean(dtype=float)
    assert float(found["difference"]) == pytest.approx(expected, abs=1e-6)
