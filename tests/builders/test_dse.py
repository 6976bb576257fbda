"""The experiment dse: what its trials depend on, its tasks and tuning, and how it is built."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from lcdb_builders.domain.streams import stream, stream_key
from lcdb_builders.experiments.dse import maker
from lcdb_builders.experiments.dse import tasks as dse_tasks
from lcdb_builders.experiments.dse.build import SEED, build_dse, obtain, parts
from lcdb_builders.experiments.dse.learners import LEARNERS
from lcdb_builders.experiments.dse.maker import FOLDS, cross_validation
from lcdb_builders.experiments.dse.network import Network
from lcdb_builders.experiments.dse.tasks import ROWS, TRAIN_SHARE, draw
from sklearn.neural_network import MLPClassifier

import lcdb
from lcdb.cli import main
from lcdb.errors import FetchError, LabelError, PlanError
from lcdb.schema import EXPERIMENTS
from tests.oracles.dse import plain_trial

SMALL = {"tasks": ["moons"], "learners": ["kNN", "LR"], "modes": ["random"], "offline": True}


def part_of(learner, task="moons", mode="random", seed=7):
    return parts([task], [learner], [mode], trials=9, seed=seed)[0]


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_trial_is_a_pure_function_of_part_and_number(learner):
    part = part_of(learner)
    every = maker.trials(part, range(3), None)
    for trial in (2, 0):
        alone = maker.trials(part, range(trial, trial + 1), None)
        assert set(alone) == {v.name for v in part.experiment.part_variables(part.labels)}
        for name, array in alone.items():
            assert array.tobytes() == every[name][trial : trial + 1].tobytes(), name
    other = maker.trials(part_of(learner, seed=8), range(3), None)
    assert not np.array_equal(other["accuracy"], every["accuracy"])


@pytest.mark.parametrize("mode", ["random", "tuned"])
def test_trials_equal_a_plain_loop(mode, monkeypatch):
    """The oracle draws, splits, cross-validates and scores by itself; streams are handed to it."""
    monkeypatch.setattr("lcdb_builders.experiments.dse.build.CONFIGURATIONS", 6)
    part = part_of("kNN", "linear", mode)
    found = maker.trials(part, range(2), None)
    data = stream_key(part.seed, "", "dse data", "linear")
    hyper = stream_key(part.seed, "", "dse hyper-parameters", *part.labels)
    for trial in range(2):
        expected = plain_trial(stream(data, 0, trial), stream(hyper, 0, trial), mode, 6)
        assert found["accuracy"][trial] == np.float32(expected["accuracy"])
        assert found["knn_neighbors"][trial] == expected["neighbours"]
        if mode == "tuned":
            assert found["cv_accuracy"][trial] == pytest.approx(expected["cv_accuracy"], rel=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("labels", [[0, 1], ["yes", "no"], [7, 3, 5], ["a", "c", "b", "d"]])
@pytest.mark.parametrize("rate", [1e-3, 0.1, 1e200])
def test_a_network_is_that_of_scikit_learn_to_the_last_bit(labels, rate):
    """A rate of 1e200 makes outputs that are no numbers, which scikit-learn scores itself."""
    rng = np.random.default_rng(len(labels))
    y = np.array(labels)[rng.integers(len(labels), size=150)]
    X = rng.normal(size=(150, 3)) + (y == labels[0])[:, None]
    options = {"early_stopping": True, "learning_rate_init": rate, "max_iter": 30}
    ours, theirs = (kind(**options, random_state=4) for kind in (Network, MLPClassifier))
    outcomes = []
    for network in (ours, theirs):
        try:
            network.fit(X, y)
        except ValueError as error:
            outcomes.append(str(error))
        else:
            outcomes.append(network.predict_proba(X).tobytes())
    assert outcomes[0] == outcomes[1]
    assert ours.validation_scores_ == theirs.validation_scores_


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_only_learners_that_draw_nothing_are_fitted_once_per_configuration(learner, monkeypatch):
    monkeypatch.setattr("lcdb_builders.experiments.dse.build.CONFIGURATIONS", 5)
    draws, one = LEARNERS[learner].random, LEARNERS[learner].draw(np.random.default_rng(2))
    fitted = []

    def spy(*arguments):
        fitted.append(arguments[1])
        return cross_validation(*arguments)

    monkeypatch.setattr(maker, "cross_validation", spy)
    results = []
    for random in (draws, True):
        changed = replace(LEARNERS[learner], draw=lambda rng: one, random=random)
        monkeypatch.setitem(maker.LEARNERS, learner, changed)
        results.append(maker.trials(part_of(learner, mode="tuned"), range(1), None))
    assert len(fitted) == (10 if draws else 6)
    for name, array in results[0].items():
        assert array.tobytes() == results[1][name].tobytes(), name


def test_what_is_recorded_of_a_trial_is_what_is_computed():
    part = part_of("kNN", mode="tuned")
    assert part.params == '{"configurations":50,"folds":3,"train_share":0.6}'
    assert part.parameters["folds"] == FOLDS and part.parameters["train_share"] == TRAIN_SHARE
    X, X_test, y, _ = draw("moons", np.random.RandomState(1))
    assert len(X) == TRAIN_SHARE * ROWS and len(X) + len(X_test) == ROWS
    folds = []
    cross_validation(LEARNERS["kNN"], {"n_neighbors": 3}, X, y, folds.append)
    assert folds == list(range(FOLDS))


def test_learners_of_a_trial_see_the_same_data(monkeypatch):
    seen = []

    def spy(task, state, data=None):
        found = draw(task, state, data)
        seen.append(found[0].tobytes())
        return found

    monkeypatch.setattr(maker, "draw", spy)
    for learner in ("kNN", "LR"):
        maker.trials(part_of(learner), range(2), None)
    assert seen[0] == seen[2] != seen[1] == seen[3]


@pytest.mark.parametrize("learner", LEARNERS)
def test_hyper_parameters_are_drawn_as_the_paper_has_them(learner):
    rng = np.random.default_rng(1)
    drawn = [LEARNERS[learner].encoded(LEARNERS[learner].draw(rng)) for _ in range(3000)]
    values = {name: np.array([row[name] for row in drawn]) for name in drawn[0]}

    def shares(name, known):
        found, counts = np.unique(values[name], return_counts=True)
        assert found.tolist() == sorted(known)
        assert np.abs(counts / counts.sum() - 1 / len(known)).max() < 0.04

    def log_uniform(name, low, high):
        position = np.log(values[name] / low) / np.log(high / low)
        assert position.min() >= 0 and position.max() <= 1
        assert np.abs(np.quantile(position, [0.25, 0.5, 0.75]) - [0.25, 0.5, 0.75]).max() < 0.04

    if learner == "kNN":
        shares("knn_neighbors", [3, 4, 5, 10, 25, 50])
    elif learner == "RF":
        assert values["rf_trees"].min() == 10 and 95 <= values["rf_trees"].max() < 100
        shares("rf_criterion", [0, 1])
        shares("rf_min_samples_split", [2, 4, 8, 16])
        shares("rf_min_samples_leaf", [1, 3, 5])
    elif learner == "SVM":
        log_uniform("svm_C", 0.01, 100)
        shares("svm_kernel", range(4))
        code = EXPERIMENTS["dse"].variables["svm_kernel"].flags.index("poly")
        poly = values["svm_kernel"] == code
        values["svm_degree"], rest = values["svm_degree"][poly], values["svm_degree"][~poly]
        shares("svm_degree", [2, 3, 4, 5])
        assert not rest.any()
    elif learner == "LR":
        log_uniform("lr_C", 1e-4, 1e4)
    else:
        log_uniform("nn_learning_rate", 1e-4, 0.1)
        shares("nn_activation", range(3))
        shares("nn_width_1", [50, 100, 150])
        second = values["nn_width_2"]
        assert abs((second == 0).mean() - 0.5) < 0.04
        values["nn_width_2"] = second[second > 0]
        shares("nn_width_2", [50, 100, 150])


def test_tasks_are_standardised_and_split(tmp_path):
    for task, features, classes in (("moons", 2, 2), ("circles", 2, 2), ("linear", 10, 4)):
        X, X_test, y, y_test = draw(task, np.random.RandomState(3))
        both = np.concatenate([X, X_test])
        assert both.shape == (2000, features) and len(X) == len(y) == 1200
        assert np.allclose(both.mean(axis=0), 0) and np.allclose(both.std(axis=0), 1)
        assert set(y) == set(y_test) == set(range(classes))
    digits = obtain("digits", tmp_path, None, download=False)
    X, X_test, *_ = draw("digits", np.random.RandomState(3), digits)
    assert len(X) + len(X_test) == digits.rows == 1797


@pytest.mark.full
@pytest.mark.process
def test_faces_come_from_scikit_learn_or_are_missing(tmp_path, monkeypatch):
    asked = []
    with monkeypatch.context() as patched:
        spy = "lcdb_builders.experiments.dse.build.build_trials"
        patched.setattr(spy, lambda parts, *_, **__: asked.extend(parts))
        options = {**SMALL, "tasks": ["moons", "faces"], "data_home": tmp_path / "nothing"}
        _, missing = build_dse(tmp_path / "db", **options)
    assert set(missing) == {"faces"} and "--data-home" in missing["faces"]
    assert {part.labels[1] for part in asked} == {"moons"}  # nothing takes its place
    with pytest.raises(FetchError, match="the images of the task faces cannot be had"):
        build_dse(tmp_path / "other", **{**SMALL, "tasks": ["faces"]}, trials=2)
    assert not (tmp_path / "other").exists()

    class Faces:
        data = np.random.default_rng(0).random((400, 200), np.float32)
        target = np.arange(400) % 7
        target_names = np.array(list("abcdefg"))

    homes = []

    def fetch(*, data_home, min_faces_per_person, resize, download_if_missing):
        assert (min_faces_per_person, resize, download_if_missing) == (70, 0.4, False)
        homes.append(data_home)
        return Faces

    monkeypatch.setattr("sklearn.datasets.fetch_lfw_people", fetch)
    faces = obtain("faces", tmp_path, None, download=False)
    assert faces.X.shape == (400, 150) and np.allclose(faces.X.std(axis=0, ddof=1), 1)
    assert dse_tasks.TASKS["faces"].generate is None
    home, part = tmp_path / "home", ["--task", "faces", "--learner", "kNN", "--mode", "random"]
    command = ["build", "dse", "--out", str(tmp_path / "faces"), *part, "--trials", "2"]
    assert main([*command, "--data-home", str(home), "--offline", "--workers", "1"]) == 0
    assert homes[-1] == home
    with lcdb.open(tmp_path / "faces") as db:
        accuracy = db["dse"]["accuracy"].sel(learner="kNN", task="faces", mode="random").values
    expected = maker.trials(part_of("kNN", task="faces", seed=SEED), range(2), faces)["accuracy"]
    assert accuracy.tobytes() == expected.tobytes()


def test_names_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(LabelError, match=r"no task 'moon'\. Did you mean 'moons'"):
        build_dse(tmp_path, tasks=["moon"])
    with pytest.raises(PlanError, match="nothing is asked for"):
        build_dse(tmp_path / "db", **SMALL, trials=0)


@pytest.mark.full
@pytest.mark.process
def test_one_cube_whatever_the_workers_and_however_often_killed(tmp_path):
    """1 worker, and 2 workers that are killed and begin again: the same bytes."""
    once, _ = build_dse(tmp_path / "one", **SMALL, trials=16, workers=1)
    command = [sys.executable, "-m", "lcdb.cli", "build", "dse", "--out", str(tmp_path / "two"),
               "--trials", "16", "--task", "moons", "--learner", "kNN", "--learner", "LR",
               "--mode", "random", "--workers", "2", "--quiet"]  # fmt: skip
    killed = subprocess.Popen(command)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "two").rglob("*.block")) and killed.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    subprocess.run(command, check=True)
    cubes = [(tmp_path / name / "cubes" / "dse.nc").read_bytes() for name in ("one", "two")]
    assert cubes[0] == cubes[1]
    # Fewer trials, asked for later, are there: nothing is computed. More are added.
    again, _ = build_dse(tmp_path / "two", **SMALL, trials=5, workers=2)
    assert again.computed == 0 and again.cubes["dse"].sha256 == once.cubes["dse"].sha256
    with lcdb.open(tmp_path / "two") as db:
        lcdb.schema.validate(db["dse"])
        part = db["dse"]["accuracy"].sel(learner="LR", task="moons", mode="random").values
    expected = maker.trials(part_of("LR", seed=SEED), range(3), None)["accuracy"]
    assert part[:3].tobytes() == expected.tobytes()


def test_options_of_another_kind_of_build_are_refused(tmp_path, capsys):
    from lcdb.cli import main

    out = ["--out", str(tmp_path / "db")]
    assert main(["build", "demo", *out, "--trials", "5"]) == 1
    assert "--trials means nothing for 'demo'" in capsys.readouterr().err
    assert main(["build", "dse", *out, "--dataset", "61"]) == 1
    assert "--dataset means nothing for 'dse'" in capsys.readouterr().err
