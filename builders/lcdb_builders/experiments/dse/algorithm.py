"""A learner on a task as the functions that `lcdb.distribution` takes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lcdb.distribution.trials import Score
from lcdb.errors import LabelError, did_you_mean
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.experiments.dse.learners import LEARNERS
from lcdb_builders.experiments.dse.maker import cross_validation
from lcdb_builders.experiments.dse.tasks import TASKS, draw

__all__ = ["Algorithm", "algorithm"]

#: Training features, test features, training classes and test classes.
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Algorithm(NamedTuple):
    """The functions of one learner on one task."""

    train_and_score: Score
    sample_hyperparameters: Any
    sample_data: Any
    validate: Score


def algorithm(learner: str, task: str, data: Snapshot | None = None) -> Algorithm:
    """Return one of the five learners on one of the tasks, as `lcdb.distribution` takes algorithms.

    Parameters
    ----------
    learner, task
        Labels of the experiment ``dse``.
    data
        Rows of a task that stores them (`lcdb_builders.experiments.dse.build.obtain`).

    Examples
    --------
    Where the spread of kNN on moons comes from:

    >>> from lcdb.distribution import nested, spread
    >>> knn = algorithm("kNN", "moons")
    >>> outcomes = nested(*knn[:3], seed=1, hyperparameters=4, data=3)
    >>> float(spread(outcomes)["variance"].sel(source="randomness"))  # kNN draws nothing
    0.0
    """
    for dim, name, known in (("learner", learner, LEARNERS), ("task", task, TASKS)):
        if name not in known:
            msg = f"the experiment dse has no {dim} {name!r}.{did_you_mean(name, known)}"
            raise LabelError(msg)
    if data is None and TASKS[task].obtain is not None:
        msg = f"the task {task!r} has stored rows; expected them as `data`, from `obtain`"
        raise LabelError(msg)
    chosen_learner = LEARNERS[learner]

    def train_and_score(chosen: Mapping[str, Any], drawn: Data, rng: np.random.Generator) -> float:
        X, X_test, y, y_test = drawn
        with warnings.catch_warnings():
            # A budget of iterations that is too small is a part of what is measured.
            warnings.simplefilter("ignore")
            return float(chosen_learner.make(chosen, _state(rng)).fit(X, y).score(X_test, y_test))

    def validate(chosen: Mapping[str, Any], drawn: Data, rng: np.random.Generator) -> float:
        X, _, y, _ = drawn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cross_validation(chosen_learner, chosen, X, y, lambda fold: _state(rng))

    return Algorithm(
        train_and_score,
        chosen_learner.draw,
        lambda rng: draw(task, _state(rng), data),
        validate,
    )


def _state(rng: np.random.Generator) -> np.random.RandomState:
    """Return the generator that scikit-learn takes, which goes on in the stream of this one."""
    return np.random.RandomState(rng.bit_generator)
