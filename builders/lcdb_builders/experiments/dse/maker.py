"""One trial after the other: hyper-parameters, data, training, accuracy.

Trial t draws its data from a stream of (seed, task), the same for all learners and modes, so that
differences between them are paired; hyper-parameters and what is random in training come from
streams of the part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from lcdb_builders.domain.part import Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.streams import StreamKey, stream, stream_key
from lcdb_builders.experiments.dse.learners import LEARNERS, Configuration, Learner
from lcdb_builders.experiments.dse.tasks import TASKS, draw

__all__ = ["FOLDS", "IMPLEMENTATION", "cross_validation", "prepare", "seconds", "trials"]

#: What computes the trials; raised when their numbers change.
IMPLEMENTATION = "scikit-learn-1"
#: Of the cross-validation that tunes; recorded with the trials.
FOLDS = 3
_PURPOSES = ("data", "hyper-parameters", "training")


def prepare() -> None:
    """Import what computes."""
    import sklearn.datasets
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.model_selection
    import sklearn.neighbors
    import sklearn.svm  # noqa: F401

    import lcdb_builders.experiments.dse.network  # noqa: F401


def seconds(part: Part) -> float:
    """Return about how long one trial takes on one core."""
    learner, task, mode = part.labels
    fits = 1.0
    if mode == "tuned":
        # Each fit has all folds but one; it grows a little faster than its rows.
        fits += (FOLDS - 1.0) * part.parameters["configurations"]
    return LEARNERS[learner].seconds * TASKS[task].cost * fits


def trials(part: Part, run: Sequence[int], data: Snapshot | None) -> dict[str, np.ndarray]:
    """Return the values of some trials, by variable.

    Parameters
    ----------
    part
        Learner, task and mode.
    run
        Numbers of the trials.
    data
        Stored rows of the task, where it has them.
    """
    outcomes = [_trial(part, trial, data) for trial in run]
    variables = part.experiment.part_variables(part.labels)
    return {v.name: np.array([values[v.name] for values in outcomes], v.dtype) for v in variables}


def _keys(part: Part) -> dict[str, StreamKey]:
    _, task, _ = part.labels
    where = {"data": (task,), "hyper-parameters": part.labels, "training": part.labels}
    return {
        purpose: stream_key(part.seed, "", f"dse {purpose}", *where[purpose])
        for purpose in _PURPOSES
    }


def _trial(part: Part, trial: int, data: Snapshot | None) -> dict[str, float]:
    name, task, mode = part.labels
    learner, keys = LEARNERS[name], _keys(part)

    def state(purpose: str, n: int = 0, lane: int = 0) -> np.random.RandomState:
        return np.random.RandomState(stream(keys[purpose], n, trial, lane))

    rng = np.random.Generator(stream(keys["hyper-parameters"], 0, trial))
    X, X_test, y, y_test = draw(task, state("data"), data)
    cv_accuracy = float("nan")
    with warnings.catch_warnings():
        # A budget of iterations that is too small is a part of what is measured.
        warnings.simplefilter("ignore")
        if mode == "tuned":
            drawn = [learner.draw(rng) for _ in range(part.parameters["configurations"])]
            means: list[float] = []
            for c, configuration in enumerate(drawn):
                first = drawn.index(configuration)
                if first < c and not learner.random:  # kNN has six configurations in all
                    means.append(means[first])
                    continue
                states = partial(state, "training", c + 1)
                means.append(cross_validation(learner, configuration, X, y, states))
            best = int(np.argmax(means))  # the first of them
            chosen, cv_accuracy = drawn[best], means[best]
        else:
            chosen = learner.draw(rng)
        model = learner.make(chosen, state("training")).fit(X, y)
        accuracy = model.score(X_test, y_test)
    return {"accuracy": accuracy, "cv_accuracy": cv_accuracy, **learner.encoded(chosen)}


def cross_validation(
    learner: Learner,
    chosen: Configuration,
    X: np.ndarray,
    y: np.ndarray,
    state: Callable[[int], np.random.RandomState],
) -> float:
    """Return the mean accuracy of a configuration in cross-validation.

    Parameters
    ----------
    learner, chosen
        What is fitted.
    X, y
        Rows for training.
    state
        Returns the random numbers of a fold.
    """
    from sklearn.model_selection import StratifiedKFold

    scores = [
        learner.make(chosen, state(fold)).fit(X[fit], y[fit]).score(X[held], y[held])
        for fold, (fit, held) in enumerate(StratifiedKFold(FOLDS).split(X, y))
    ]
    return float(np.mean(scores))
