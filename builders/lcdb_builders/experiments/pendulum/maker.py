"""Trials of the pendulum as the journal stores them: the experiment's side of the seam."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lcdb_builders.domain.part import Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.experiments.pendulum.lifetimes import Lifetimes, lifetimes, reruns

__all__ = ["IMPLEMENTATION", "prepare", "seconds", "trials"]

#: Rises with any change of the numbers, even in the last bit.
IMPLEMENTATION = "pendulum-2"
# Seconds per episode on one core; PPO's depend on its hyper-parameters.
_SECONDS = {"actor_critic": 0.07e-3, "ppo": 0.45e-3}


def prepare() -> None:
    """Compile the kernels."""
    for algorithm in _SECONDS:
        lifetimes(algorithm, [0], 1)


def seconds(part: Part) -> float:
    """Return about how long one trial takes on one core."""
    return _SECONDS[part.parameters["algorithm"]] * part.length


def trials(part: Part, run: Sequence[int], data: Snapshot | None = None) -> dict[str, np.ndarray]:
    """Return the values of some trials by variable.

    Parameters
    ----------
    part
        Its ``params`` have ``algorithm`` and ``sigma``, those of PPO ``partial_minibatch``, and
        those of a rerun also ``trial``, whose hyper-parameters are run again.
    run
        Numbers of trials.
    data
        Not used: the pendulum needs none.

    Examples
    --------
    >>> params = '{"algorithm":"actor_critic","sigma":"library"}'
    >>> part = Part("pendulum", ("actor_critic",), 1, IMPLEMENTATION, params, length=2)
    >>> values = trials(part, range(3))
    >>> values["episode_return"].shape, values["mean_return"].shape
    ((3, 2), (3,))
    """
    asked = part.parameters
    algorithm, size = asked["algorithm"], (part.length, part.seed)
    options = {name: asked[name] for name in ("sigma", "partial_minibatch") if name in asked}
    if "trial" in asked:
        agents = reruns(algorithm, asked["trial"], run, *size, **options)
    else:
        agents = lifetimes(algorithm, run, *size, **options)
    return _columns(part, agents)


def _columns(part: Part, agents: Lifetimes) -> dict[str, np.ndarray]:
    """Return what is stored of lifetimes, as the types that it is stored as."""
    columns = {
        "mean_return": agents.episode_return.mean(axis=1),
        "episode_return": agents.episode_return,
        "freeze_episode": agents.freeze_episode,
        "final_sigma": agents.final_sigma,
        **agents.hyperparameters,
    }
    wanted = part.experiment.part_variables(part.labels)
    return {v.name: columns[v.name].astype(v.dtype) for v in wanted}
