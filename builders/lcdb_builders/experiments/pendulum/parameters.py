"""Hyper-parameters of the agents: their names, their distributions, and a trial's own values.

A trial's values are a pure function of (seed, algorithm, trial). They come from the stream
``(key, 0, trial, 0)`` with the key of ``"pendulum", "hyperparameters", algorithm``: word i decides
the i-th parameter, as U = word / 2**64 (of which 53 bits are used), or, where it is uniform on
whole numbers, as ``(word * count) >> 64``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lcdb.errors import LabelError, PlanError, did_you_mean
from lcdb_builders.domain.streams import stream, stream_key

__all__ = [
    "ALGORITHMS",
    "Parameter",
    "checked",
    "parameters_of",
    "sample_hyperparameters",
]


@dataclass(frozen=True)
class Parameter:
    """One hyper-parameter: its distribution, and what it means.

    Parameters
    ----------
    name
        What it is called, everywhere.
    distribution
        ``"uniform"``, ``"log-uniform"``, ``"whole"`` (uniform on whole numbers) or
        ``"whole powers of 2"`` (2 to a uniform power, rounded).
    low, high
        Where it lies between, both included; of a power of 2, the exponents.
    text
        What it is, in a few words.
    """

    name: str
    distribution: str
    low: float
    high: float
    text: str

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        return self.distribution.startswith("whole")

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value it is drawn with."""
        if self.distribution == "whole powers of 2":
            return 2.0**self.low, 2.0**self.high
        return self.low, self.high

    def drawn_by(self, word: int) -> float | int:
        """Return the value that a random word of 64 bits stands for.

        Examples
        --------
        >>> Parameter("epochs", "whole", 1, 15, "passes").drawn_by(2**63)
        8
        """
        if self.distribution == "whole":
            count = int(self.high) - int(self.low) + 1
            return int(self.low) + ((word * count) >> 64)
        share = (word >> 11) * 2.0**-53
        if self.distribution == "log-uniform":
            low, high = math.log(self.low), math.log(self.high)
            return math.exp(low + share * (high - low))
        value = self.low + share * (self.high - self.low)
        return round(2.0**value) if self.distribution == "whole powers of 2" else value


_CRITIC = (
    Parameter("critic_independent_order", "whole", 0, 10, "order of the critic's single waves"),
    Parameter("critic_dependent_order", "whole", 0, 10, "order of the critic's products"),
)

#: The agents, and the hyper-parameters of each.
ALGORITHMS: dict[str, tuple[Parameter, ...]] = {
    "actor_critic": (
        Parameter("actor_step", "log-uniform", 1e-4, 1e-1, "step size of the policy"),
        Parameter("critic_step", "log-uniform", 1e-4, 1e-1, "step size of the critic"),
        Parameter("trace_decay", "uniform", 0.0, 1.0, "lambda of the traces"),
        *_CRITIC,
    ),
    "ppo": (
        Parameter("learning_rate", "log-uniform", 1e-5, 1e-2, "step size of Adam"),
        Parameter("gae_lambda", "uniform", 0.0, 1.0, "lambda of the advantages"),
        *_CRITIC,
        Parameter("segment_steps", "whole powers of 2", 4, 8, "steps between two updates"),
        Parameter("epochs", "whole", 1, 15, "passes over a segment"),
        Parameter("batch", "whole", 8, 64, "samples of a minibatch"),
        Parameter("clip", "uniform", 0.1, 0.3, "how far a ratio of densities may leave 1"),
    ),
}


def parameters_of(algorithm: str) -> tuple[Parameter, ...]:
    """Return the hyper-parameters of an algorithm.

    Examples
    --------
    >>> [parameter.name for parameter in parameters_of("actor_critic")][:2]
    ['actor_step', 'critic_step']
    """
    if algorithm not in ALGORITHMS:
        msg = f"no algorithm is called {algorithm!r}.{did_you_mean(algorithm, ALGORITHMS)}"
        raise LabelError(msg)
    return ALGORITHMS[algorithm]


def sample_hyperparameters(
    algorithm: str, trials: Sequence[int], seed: int
) -> dict[str, np.ndarray]:
    """Return the hyper-parameters of some trials, one array for each.

    Parameters
    ----------
    algorithm
        ``"actor_critic"`` or ``"ppo"``.
    trials
        Numbers of trials, from 0.
    seed
        The master seed.

    Examples
    --------
    >>> drawn = sample_hyperparameters("ppo", range(3), seed=1)
    >>> drawn["epochs"].tolist()
    [3, 5, 14]
    >>> sample_hyperparameters("ppo", [2], seed=1)["epochs"].tolist()
    [14]
    """
    parameters = parameters_of(algorithm)
    key = stream_key(seed, "pendulum", "hyperparameters", algorithm)
    words = [stream(key, 0, trial).random_raw(len(parameters)).tolist() for trial in trials]
    return {
        parameter.name: np.array(
            [parameter.drawn_by(row[i]) for row in words],
            np.int64 if parameter.is_whole else np.float64,
        )
        for i, parameter in enumerate(parameters)
    }


def checked(algorithm: str, hyperparameters: Mapping[str, float]) -> dict[str, float | int]:
    """Return a complete set of hyper-parameters in declared order, or say what is wrong with it.

    Examples
    --------
    >>> checked("actor_critic", {"actor_ste": 0.1})
    Traceback (most recent call last):
        ...
    lcdb.errors.PlanError: actor_critic has no parameter 'actor_ste'. Did you mean 'actor_step'?
    """
    parameters = parameters_of(algorithm)
    names = [parameter.name for parameter in parameters]
    for name in hyperparameters:
        if name not in names:
            msg = f"{algorithm} has no parameter {name!r}.{did_you_mean(name, names)}"
            raise PlanError(msg)
    missing = [name for name in names if name not in hyperparameters]
    if missing:
        msg = f"{algorithm} needs {', '.join(missing)} as well; all of: {', '.join(names)}"
        raise PlanError(msg)
    return {p.name: _checked_value(algorithm, p, hyperparameters[p.name]) for p in parameters}


# What an agent can be run with, wider than what it is drawn with.
_LIMITS = {
    "critic_independent_order": (0, 10),
    "critic_dependent_order": (0, 10),
    "trace_decay": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip": (0.0, 1.0),
    "segment_steps": (2, 2**20),
    "batch": (1, 2**20),
    "epochs": (0, 2**20),
}


def _checked_value(algorithm: str, parameter: Parameter, value: float) -> float | int:
    low, high = _LIMITS.get(parameter.name, (0.0, math.inf))
    if not (low <= value <= high and math.isfinite(value)):
        msg = f"{parameter.name} of {algorithm} is {value}; expected {low} to {high}"
        raise PlanError(msg)
    if parameter.is_whole and value != int(value):
        msg = f"{parameter.name} of {algorithm} is {value}; expected a whole number"
        raise PlanError(msg)
    return int(value) if parameter.is_whole else float(value)
