"""Cubes of experiments: distributions over hyper-parameters, trial by trial.

An experiment's cube has one part per combination of labels (learner, task and mode, say). A part is
a row of trials; each trial has one value per variable, or one per step of the experiment's inner
dim (the episodes of a lifetime). Trial counts may differ between the parts of a cube.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lcdb.schema.tables import FORMAT_VERSION, Variable

__all__ = [
    "EXPERIMENTS",
    "LIFETIMES_KIND",
    "PART_TABLES",
    "TRIAL",
    "Experiment",
    "TrialVariable",
]

#: Value of `cube_kind` in a summary of the pendulum's cube, which has no episodes.
LIFETIMES_KIND = "lifetimes"

#: The dim that every experiment has after those of its parts.
TRIAL = "trial"
#: Small variables that are kept by part: name, dtype and what they are.
PART_TABLES = {
    "status": ("int8", "whether all trials of a part were computed"),
    "trials": ("int32", "number of trials that were asked for"),
    "params": ("string", "what the trials depend on besides their random stream, as JSON"),
    "digest": ("string", "SHA-256 of a part's values in all variables"),
}


@dataclass(frozen=True)
class TrialVariable(Variable):
    """A variable of an experiment; `empty` is what trials hold that were not computed.

    Parameters
    ----------
    long_name
        What it is, for people.
    flags
        Meanings of the codes 0, 1, ... of a variable that names one of several things.
    direction
        ``"maximize"`` or ``"minimize"`` for outcomes, empty for hyper-parameters.
    only
        Labels of the first dim whose parts have the variable; empty for all parts.
    """

    long_name: str = ""
    flags: tuple[str, ...] = ()
    direction: str = ""
    only: tuple[str, ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the variable in the file."""
        found: dict[str, Any] = {"long_name": self.long_name}
        if self.flags:
            found["flag_values"] = np.arange(len(self.flags), dtype=self.dtype)
            found["flag_meanings"] = " ".join(self.flags)
        else:
            found["units"] = "1"
        if self.direction:
            found["direction"] = self.direction
        return found


@dataclass(frozen=True)
class Experiment:
    """One kind of cube besides the learning curves: its dims, labels and variables.

    Parameters
    ----------
    name
        Value of `cube_kind`, and the name of the cube in a database: ``cubes/<name>.nc``.
    title
        One line for people.
    labels
        Known labels of each dim of a part in canonical order; unknown ones follow by name.
    inner
        The dim of the steps of a trial; empty where a trial is one number.
    variables
        By name, in the order of writing. The first has one value per trial, which is never NaN
        or `empty` in a trial that was computed.

    Examples
    --------
    >>> dse = EXPERIMENTS["dse"]
    >>> dse.dims, dse.variables["svm_kernel"].flags
    (('learner', 'task', 'mode'), ('linear', 'poly', 'rbf', 'sigmoid'))
    >>> [v.name for v in dse.part_variables(("kNN", "moons", "random"))]
    ['accuracy', 'cv_accuracy', 'knn_neighbors']
    """

    name: str
    title: str
    labels: Mapping[str, tuple[str, ...]]
    inner: str
    variables: Mapping[str, TrialVariable] = field(repr=False)
    format_version: int = FORMAT_VERSION

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of a part's labels."""
        return tuple(self.labels)

    def part_variables(self, labels: Sequence[str]) -> tuple[TrialVariable, ...]:
        """Return the variables that a part has."""
        every = self.variables.values()
        return tuple(v for v in every if not v.only or labels[0] in v.only)

    def rank(self, dim: str, label: str) -> tuple[int, str]:
        """Return the place of a label in the canonical order of its dim."""
        known = self.labels[dim]
        return (known.index(label) if label in known else len(known), label)


_NAN = float("nan")


def _dse() -> Experiment:
    labels = {
        "learner": ("kNN", "RF", "SVM", "LR", "NN"),
        "task": ("moons", "circles", "linear", "faces", "digits"),
        "mode": ("random", "tuned"),
    }
    found: list[TrialVariable] = []

    def score(name: str, text: str) -> None:
        dims = (*labels, TRIAL)
        found.append(TrialVariable(name, dims, "float32", _NAN, text, direction="maximize"))

    def of(learner: str, name: str, dtype: str, text: str, flags: tuple[str, ...] = ()) -> None:
        dims, empty = ("task", "mode", TRIAL), _NAN if dtype == "float64" else -1
        found.append(TrialVariable(name, dims, dtype, empty, text, flags, only=(learner,)))

    score("accuracy", "share of correct labels on the test part")
    score("cv_accuracy", "mean accuracy of the chosen configuration in cross-validation, if tuned")
    of("kNN", "knn_neighbors", "int16", "number of neighbours")
    of("RF", "rf_trees", "int16", "number of trees")
    of("RF", "rf_criterion", "int8", "criterion of splits", ("gini", "entropy"))
    of("RF", "rf_min_samples_split", "int8", "fewest rows of a node that is split")
    of("RF", "rf_min_samples_leaf", "int8", "fewest rows of a leaf")
    of("SVM", "svm_C", "float64", "cost C")
    of("SVM", "svm_kernel", "int8", "kernel", ("linear", "poly", "rbf", "sigmoid"))
    of("SVM", "svm_degree", "int8", "degree of a poly kernel, 0 for others")
    of("LR", "lr_C", "float64", "inverse strength of the L2 penalty")
    of("NN", "nn_activation", "int8", "activation", ("logistic", "tanh", "relu"))
    of("NN", "nn_width_1", "int16", "width of the first hidden layer")
    of("NN", "nn_width_2", "int16", "width of the second hidden layer, 0 if there is none")
    of("NN", "nn_learning_rate", "float64", "initial learning rate")
    title = "Distributions over hyper-parameters in classification (Jordan, Cohen, Thomas)"
    return Experiment("dse", title, labels, "", {v.name: v for v in found})


def _pendulum() -> Experiment:
    critic = ("actor_critic", "actor_critic_fixed")
    reruns = ("ppo_p01", "ppo_p50", "ppo_p95", "ppo_p99")
    ppo = ("ppo", *reruns)
    labels = {"algorithm": (*critic, *ppo)}
    found: list[TrialVariable] = []

    def add(name: str, dtype: str, text: str, empty: float = _NAN, **more: Any) -> None:
        dims = ("algorithm", TRIAL, *more.pop("inner", ()))
        found.append(TrialVariable(name, dims, dtype, empty, text, **more))

    add("mean_return", "float64", "mean return of the episodes of a lifetime", direction="maximize")
    add("episode_return", "float32", "return of an episode", inner=("episode",),
        direction="maximize")  # fmt: skip
    add("freeze_episode", "int32", "episode in which learning froze, -1: in none", -2)
    add("final_sigma", "float64", "standard deviation of the policy at the end")
    add("actor_step", "float64", "step size of the actor", only=critic)
    add("critic_step", "float64", "step size of the critic", only=critic)
    add("trace_decay", "float64", "lambda of the traces", only=critic)
    add("critic_independent_order", "int8", "independent order of the critic's basis", -1)
    add("critic_dependent_order", "int8", "dependent order of the critic's basis", -1)
    add("learning_rate", "float64", "rate of Adam", only=ppo)
    add("gae_lambda", "float64", "lambda of the advantages", only=ppo)
    add("segment_steps", "int32", "steps per segment", -1, only=ppo)
    add("epochs", "int16", "passes over a segment", -1, only=ppo)
    add("batch", "int16", "rows of a minibatch", -1, only=ppo)
    add("clip", "float64", "clip of the surrogate's ratio", only=ppo)
    title = "Distributions over hyper-parameters on the pendulum (Jordan, Cohen, Thomas)"
    return Experiment("pendulum", title, labels, "episode", {v.name: v for v in found})


#: The experiments by name.
EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (_dse(), _pendulum())}
