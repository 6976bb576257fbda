"""Lifetimes of agents on the pendulum: arrays of trials in, returns of their episodes out.

What a trial yields is a pure function of (seed, algorithm, trial): more trials, another order or
other neighbours leave it as it is, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lcdb.errors import PlanError, did_you_mean
from lcdb_builders.domain.streams import StreamKey, stream_key
from lcdb_builders.experiments.pendulum.parameters import (
    checked,
    parameters_of,
    sample_hyperparameters,
)
from lcdb_builders.kernels.core.simd import EIGHT
from lcdb_builders.kernels.pendulum.actor_critic import actor_critic
from lcdb_builders.kernels.pendulum.ppo import ppo

__all__ = [
    "EPISODES",
    "PARTIAL_MINIBATCHES",
    "SEED",
    "SIGMAS",
    "STEPS",
    "Lifetimes",
    "lifetime",
    "lifetimes",
    "reruns",
]

#: The master seed of the shipped plans.
SEED = 2026
#: Episodes of a lifetime, and steps of an episode.
EPISODES, STEPS = 1000, 2000
#: How Actor-Critic treats the standard deviation of its actions: the value that it starts with, and
#: whether it is learned (with the gradient of the published library).
SIGMAS = {"library": (1.0, True), "fixed": (5.0, False)}
#: What PPO does with the samples of an epoch that do not fill its last minibatch: whether they are
#: used. OpenAI's Baselines leaves them out.
PARTIAL_MINIBATCHES = {"drop": False, "use": True}


@dataclass(frozen=True)
class Lifetimes:
    """What some lifetimes yield.

    Parameters
    ----------
    episode_return
        (trial, episode): the sum of rewards.
    final_sigma
        (trial,): the standard deviation of actions at the end.
    freeze_episode
        (trial,): the episode in which learning stopped because a number left all bounds, or -1.
    hyperparameters
        (trial,) arrays by name.
    """

    episode_return: np.ndarray
    final_sigma: np.ndarray
    freeze_episode: np.ndarray
    hyperparameters: dict[str, np.ndarray]


def lifetimes(
    algorithm: str,
    trials: Sequence[int],
    episodes: int = EPISODES,
    seed: int = SEED,
    *,
    sigma: str = "library",
    partial_minibatch: str = "drop",
) -> Lifetimes:
    """Run some trials, each with hyper-parameters of its own.

    Parameters
    ----------
    algorithm
        ``"actor_critic"`` or ``"ppo"``.
    trials
        Numbers of trials, from 0.
    episodes
        Episodes of each lifetime; fewer are a prefix of more.
    seed
        The master seed.
    sigma
        Of Actor-Critic: ``"library"`` or ``"fixed"``, see `SIGMAS`.
    partial_minibatch
        Of PPO: ``"drop"`` or ``"use"``, see `PARTIAL_MINIBATCHES`.

    Examples
    --------
    >>> ten = lifetimes("actor_critic", range(10), episodes=2, seed=1)
    >>> ten.episode_return.shape
    (10, 2)
    >>> alone = lifetimes("actor_critic", [7], episodes=2, seed=1)
    >>> bool((alone.episode_return[0] == ten.episode_return[7]).all())
    True
    """
    drawn = sample_hyperparameters(algorithm, trials, seed)
    key = stream_key(seed, "pendulum", "simulation", algorithm)
    numbers = np.asarray(trials, np.int64)
    return _run(algorithm, key, numbers, drawn, episodes, sigma, partial_minibatch)


def lifetime(
    algorithm: str,
    hyperparameters: Mapping[str, float],
    episodes: int = EPISODES,
    seed: int = SEED,
    trial: int = 0,
    *,
    sigma: str = "library",
    partial_minibatch: str = "drop",
) -> np.ndarray:
    """Return the returns of one lifetime's episodes, with hyper-parameters of one's own.

    Parameters
    ----------
    algorithm, episodes, seed, sigma, partial_minibatch
        As for `lifetimes`.
    hyperparameters
        A value for each of ``parameters_of(algorithm)``.
    trial
        Which stream of random numbers to use: another number, another lifetime.

    Examples
    --------
    >>> settings = {"actor_step": 0.01, "critic_step": 0.01, "trace_decay": 0.5,
    ...             "critic_independent_order": 3, "critic_dependent_order": 3}
    >>> lifetime("actor_critic", settings, episodes=3).shape
    (3,)
    """
    given = checked(algorithm, hyperparameters)
    columns = {
        parameter.name: np.array([given[parameter.name]]) for parameter in parameters_of(algorithm)
    }
    key = stream_key(seed, "pendulum", "simulation", algorithm)
    trials = np.array([trial])
    alone = _run(algorithm, key, trials, columns, episodes, sigma, partial_minibatch)
    return alone.episode_return[0]


def reruns(
    algorithm: str,
    trial: int,
    repetitions: Sequence[int],
    episodes: int = EPISODES,
    seed: int = SEED,
    *,
    sigma: str = "library",
    partial_minibatch: str = "drop",
) -> Lifetimes:
    """Run one trial's hyper-parameters again, with fresh random numbers in each repetition.

    Parameters
    ----------
    algorithm, episodes, seed, sigma, partial_minibatch
        As for `lifetimes`.
    trial
        Whose hyper-parameters.
    repetitions
        Numbers of repetitions, from 0.

    Examples
    --------
    >>> again = reruns("actor_critic", 7, range(3), episodes=1, seed=1)
    >>> len(set(again.episode_return[:, 0])), len(set(again.hyperparameters["actor_step"]))
    (3, 1)
    """
    drawn = sample_hyperparameters(algorithm, [trial], seed)
    columns = {name: np.repeat(values, len(repetitions)) for name, values in drawn.items()}
    key = stream_key(seed, "pendulum", "rerun", algorithm, str(trial))
    numbers = np.asarray(repetitions, np.int64)
    return _run(algorithm, key, numbers, columns, episodes, sigma, partial_minibatch)


def _run(
    algorithm: str,
    key: StreamKey,
    trials: np.ndarray,
    columns: dict[str, np.ndarray],
    episodes: int,
    sigma: str,
    partial_minibatch: str,
) -> Lifetimes:
    """Run lifetimes with given hyper-parameters.

    Parameters
    ----------
    algorithm, episodes, sigma, partial_minibatch
        As for `lifetimes`.
    key
        Of the streams that the lifetimes draw from.
    trials
        Numbers of the streams below it.
    columns
        Hyper-parameters by name, a value for each trial.
    """
    if sigma not in SIGMAS:
        msg = f"no sigma is called {sigma!r}.{did_you_mean(sigma, SIGMAS)}"
        raise PlanError(msg)
    if partial_minibatch not in PARTIAL_MINIBATCHES:
        hint = did_you_mean(partial_minibatch, PARTIAL_MINIBATCHES)
        msg = f"partial_minibatch cannot be {partial_minibatch!r}.{hint}"
        raise PlanError(msg)
    if episodes < 1:
        msg = f"a lifetime has at least 1 episode, got {episodes}"
        raise PlanError(msg)
    agents = Lifetimes(
        episode_return=np.empty((len(trials), episodes)),
        final_sigma=np.empty(len(trials)),
        freeze_episode=np.empty(len(trials), np.int64),
        hyperparameters=columns,
    )
    options = (PARTIAL_MINIBATCHES[partial_minibatch],) if algorithm == "ppo" else SIGMAS[sigma]
    for lanes in _eights(algorithm, columns):
        _run_eight(algorithm, key, trials, agents, lanes, options)
    return agents


def _eights(algorithm: str, columns: dict[str, np.ndarray]) -> Iterator[np.ndarray]:
    """Yield which lifetimes run in step: eight, of PPO also fewer.

    Actor-Critic's have critics of like size beside each other, whose loops they share, and the last
    eight are filled up with lifetimes that run, and are thrown away, again.
    """
    orders = columns["critic_independent_order"], columns["critic_dependent_order"]
    alone = algorithm == "ppo"
    order = np.arange(len(orders[0])) if alone else np.lexsort(orders)
    for first in range(0, len(order), EIGHT):
        chosen = order[first : first + EIGHT]
        yield chosen if alone else np.resize(chosen, EIGHT)


def _run_eight(
    algorithm: str,
    key: StreamKey,
    trials: np.ndarray,
    agents: Lifetimes,
    lanes: np.ndarray,
    options: tuple,
) -> None:
    """Run some lifetimes in step.

    Parameters
    ----------
    algorithm, key, trials
        As `_run` takes them.
    agents
        Has the hyper-parameters; the rest is filled in.
    lanes
        Which of them; one that stands there twice yields the same each time.
    options
        What the algorithm takes beside its hyper-parameters.
    """
    names = [parameter.name for parameter in parameters_of(algorithm)]
    settings = tuple(agents.hyperparameters[name][lanes] for name in names)
    returns = np.empty((agents.episode_return.shape[1], len(lanes)))
    deviations, frozen = np.empty(len(lanes)), np.empty(len(lanes), np.int64)
    run = {"ppo": ppo, "actor_critic": actor_critic}[algorithm]
    run(key, trials[lanes], settings, *options, STEPS, returns, deviations, frozen)
    agents.episode_return[lanes] = returns.T
    agents.final_sigma[lanes] = deviations
    agents.freeze_episode[lanes] = frozen
