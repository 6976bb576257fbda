"""Which parts of the pendulum's cube are asked for, and which trials Appendix C runs again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lcdb import stats
from lcdb.errors import LabelError, PlanError, did_you_mean
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.unit import canonical_json
from lcdb_builders.experiments.pendulum.lifetimes import EPISODES, PARTIAL_MINIBATCHES
from lcdb_builders.experiments.pendulum.maker import IMPLEMENTATION

__all__ = ["LABELS", "PERCENTILES", "parts", "rerun_parts", "selected_trials"]

#: What is run under each label of the cube.
LABELS: dict[str, dict[str, str]] = {
    "actor_critic": {"algorithm": "actor_critic", "sigma": "library"},
    "actor_critic_fixed": {"algorithm": "actor_critic", "sigma": "fixed"},
    "ppo": {"algorithm": "ppo", "partial_minibatch": "drop", "sigma": "library"},
}
#: Percentiles of the mean return whose trials of PPO are run again, by label of the cube.
PERCENTILES = {"ppo_p01": 1, "ppo_p50": 50, "ppo_p95": 95, "ppo_p99": 99}


def parts(
    labels: Iterable[str],
    trials: int | Mapping[str, int],
    seed: int,
    episodes: int = EPISODES,
    partial_minibatch: str = "drop",
) -> list[Part]:
    """Return the parts of some labels.

    Parameters
    ----------
    labels
        Of `LABELS`.
    trials
        How many each, or by label.
    seed
        The master seed.
    episodes
        Of each lifetime.
    partial_minibatch
        Of PPO, see `PARTIAL_MINIBATCHES`.

    Examples
    --------
    >>> [part.label for part in parts(["ppo"], 100, seed=1)]
    ['pendulum-ppo']
    """
    asked = []
    for label in dict.fromkeys(labels):
        if label not in LABELS:
            msg = f"no algorithm is called {label!r}.{did_you_mean(label, LABELS)}"
            raise LabelError(msg)
        wanted = trials[label] if isinstance(trials, Mapping) else int(trials)
        params = _params(label, partial_minibatch)
        asked.append(_part(label, params, wanted, seed, episodes))
    return asked


def _params(label: str, partial_minibatch: str) -> dict[str, str]:
    """Return what is run under a label: PPO in the variant that is asked for."""
    if partial_minibatch not in PARTIAL_MINIBATCHES:
        hint = did_you_mean(partial_minibatch, PARTIAL_MINIBATCHES)
        msg = f"partial_minibatch cannot be {partial_minibatch!r}.{hint}"
        raise PlanError(msg)
    params = dict(LABELS[label])
    if "partial_minibatch" in params:
        params["partial_minibatch"] = partial_minibatch
    return params


def _part(label: str, params: Mapping[str, Any], trials: int, seed: int, episodes: int) -> Part:
    """Return one part.

    Parameters
    ----------
    label
        Of the cube.
    params
        What the trials are run with.
    trials, seed, episodes
        As `parts` takes them.
    """
    text = canonical_json(params)
    return Part(
        "pendulum", (label,), seed, IMPLEMENTATION, text, length=episodes, trials=trials
    )  # fmt: skip


def selected_trials(means: np.ndarray) -> dict[str, int]:
    """Return the trial at each of `PERCENTILES`: the smallest that reaches it, by label.

    Parameters
    ----------
    means
        Mean return of each trial; NaN where it was not run.

    Examples
    --------
    >>> selected_trials(np.array([30.0, 10.0, 20.0]))
    {'ppo_p01': 1, 'ppo_p50': 2, 'ppo_p95': 0, 'ppo_p99': 0}
    """
    there = means[np.isfinite(means)]
    values = stats.inverse_cdf(there, np.array(list(PERCENTILES.values())) / 100.0)
    return {
        label: int(np.flatnonzero(means == value)[0])
        for label, value in zip(PERCENTILES, values, strict=True)
    }


def rerun_parts(
    selected: Mapping[str, int],
    repetitions: int,
    seed: int,
    episodes: int = EPISODES,
    partial_minibatch: str = "drop",
) -> list[Part]:
    """Return the parts that run selected trials of PPO again.

    Parameters
    ----------
    selected
        Trials by label of `PERCENTILES`.
    repetitions
        How often each.
    seed, episodes, partial_minibatch
        As for the trials themselves.

    Examples
    --------
    >>> [part.params for part in rerun_parts({"ppo_p50": 7}, 10, seed=1)]
    ['{"algorithm":"ppo","partial_minibatch":"drop","percentile":50,"sigma":"library","trial":7}']
    """
    return [
        _part(
            label,
            {**_params("ppo", partial_minibatch), "percentile": PERCENTILES[label], "trial": trial},
            repetitions,
            seed,
            episodes,
        )
        for label, trial in selected.items()
    ]
