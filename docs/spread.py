"""What the spread of a trial's outcome is due to: `python docs/spread.py`.

Some draws of hyper-parameters are crossed with some of data, and every pair is trained again and
again: `lcdb.distribution.nested`. The analysis of variance of that, `spread`, says how much of the
variance of the outcome is due to hyper-parameters, to data, to what data do to some
hyper-parameters and not to others, and to the algorithm's own random numbers. What is printed is
the table of trials.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from lcdb_builders.experiments import pendulum
from lcdb_builders.experiments.dse import algorithm

from lcdb.distribution import nested, spread

#: What is measured: a learner and its task.
CLASSIFIERS = (
    *((learner, "moons") for learner in ("kNN", "RF", "SVM", "LR", "NN")),
    *((learner, "linear") for learner in ("kNN", "SVM", "LR")),
)
#: An agent, and the episodes of its lifetimes.
AGENT, EPISODES = "actor_critic", 100
SEED = 1
#: Draws of hyper-parameters, draws of data, and how often each pair is trained.
COUNTS = (40, 10, 2)
#: The same of the agent. Its lifetimes have no data, so that what is due to them should be 0.
AGENT_COUNTS = (40, 3, 2)


def agent() -> tuple[Callable[..., float], Callable[..., dict[str, float]], Callable[..., None]]:
    """Return an agent as `nested` takes algorithms: its hyper-parameters, and no data."""

    def lifetime(chosen: Mapping[str, float], data: None, rng: np.random.Generator) -> float:
        seed = int(rng.integers(2**31))
        return float(pendulum.lifetime(AGENT, chosen, EPISODES, seed).mean())

    def hyperparameters(rng: np.random.Generator) -> dict[str, float]:
        drawn = pendulum.sample_hyperparameters(AGENT, [0], int(rng.integers(2**31)))
        return {name: values[0].item() for name, values in drawn.items()}

    return lifetime, hyperparameters, lambda rng: None


def outcomes(learner: str, task: str, counts: tuple[int, int, int]) -> xr.DataArray:
    """Return the nested trials of a learner on a task; of the agent, on the pendulum."""
    functions: tuple[Any, ...] = agent() if learner == AGENT else algorithm(learner, task)[:3]
    names = ("hyperparameters", "data", "repetitions")
    return nested(*functions, seed=SEED, **dict(zip(names, counts, strict=True)))


def row(learner: str, task: str, counts: tuple[int, int, int]) -> str:
    """Return a row of the table: standard deviation, and shares of the variance in percent."""
    split = spread(outcomes(learner, task, counts))
    total = float(np.maximum(split["variance"], 0.0).sum())
    digits = 0 if learner == AGENT else 3
    shares = 100.0 * np.stack([split["share"], split["share_error"]], axis=1)
    cells = [f"{share:.0f} ± {error:.0f}" for share, error in shares]
    return f"| {learner}, {task} | {np.sqrt(total):.{digits}f} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs=3, default=COUNTS)
    parser.add_argument("--agent-counts", type=int, nargs=3, default=AGENT_COUNTS)
    asked = parser.parse_args()
    for learner, task in CLASSIFIERS:
        print(row(learner, task, tuple(asked.counts)), flush=True)
    print(row(AGENT, "pendulum", tuple(asked.agent_counts)), flush=True)


if __name__ == "__main__":
    main()
