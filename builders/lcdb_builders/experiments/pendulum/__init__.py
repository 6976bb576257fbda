"""Actor-Critic and PPO on a pendulum: how good an agent is, and how hard it is to tune.

Lifetimes under random hyper-parameters, after Jordan, Cohen and Thomas 2018. A trial is a lifetime:
hyper-parameters are drawn, the agent learns for 1,000 episodes, and the return of each is kept.

Examples
--------
>>> from lcdb_builders.experiments import pendulum
>>> found = pendulum.lifetimes("actor_critic", trials=range(8), episodes=2, seed=1)
>>> found.episode_return.mean(axis=1).shape
(8,)
"""

from lcdb_builders.experiments.pendulum.environment import Episode, observe, play_episode
from lcdb_builders.experiments.pendulum.lifetimes import (
    EPISODES,
    PARTIAL_MINIBATCHES,
    SEED,
    SIGMAS,
    STEPS,
    Lifetimes,
    lifetime,
    lifetimes,
    reruns,
)
from lcdb_builders.experiments.pendulum.parameters import (
    ALGORITHMS,
    Parameter,
    parameters_of,
    sample_hyperparameters,
)

__all__ = [
    "ALGORITHMS",
    "EPISODES",
    "PARTIAL_MINIBATCHES",
    "SEED",
    "SIGMAS",
    "STEPS",
    "Episode",
    "Lifetimes",
    "Parameter",
    "lifetime",
    "lifetimes",
    "observe",
    "parameters_of",
    "play_episode",
    "reruns",
    "sample_hyperparameters",
]
