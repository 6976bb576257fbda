"""The experiment is built: lifetimes of the agents asked for, and Appendix C's reruns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lcdb.database import open as open_database
from lcdb.errors import NotFoundError, PlanError
from lcdb_builders.experiments.pendulum.lifetimes import EPISODES, SEED
from lcdb_builders.experiments.pendulum.parts import (
    PERCENTILES,
    parts,
    rerun_parts,
    selected_trials,
)
from lcdb_builders.run.builder import Report
from lcdb_builders.run.trials import build_trials

__all__ = ["RERUNS", "TRIALS", "build_pendulum", "selection"]

#: Lifetimes of each agent, and reruns of each selected trial, unless others are asked for.
TRIALS, RERUNS = 2000, 1000


def build_pendulum(
    out: str | os.PathLike[str],
    *,
    algorithms: Iterable[str] | None = None,
    trials: int = TRIALS,
    episodes: int = EPISODES,
    seed: int = SEED,
    appendix_c: bool = False,
    reruns: int = RERUNS,
    partial_minibatch: str = "drop",
    **options: Any,
) -> Report:
    """Build the experiment `pendulum`, or go on building it.

    Parameters
    ----------
    out
        The database directory; the cube lands in ``out/cubes/pendulum.nc``.
    algorithms
        Labels of `lcdb_builders.experiments.pendulum.parts.LABELS`; by default
        ``"actor_critic"`` and ``"ppo"``.
    trials
        Lifetimes of each; more can be asked for later, and leave these as they are.
    episodes
        Of a lifetime.
    seed
        The master seed.
    appendix_c
        Also run again the trials of PPO at some percentiles, see `PERCENTILES`. Which these are
        is decided when they are first built, among the trials that there are then.
    reruns
        How often.
    partial_minibatch
        What PPO does with samples of an epoch that do not fill its last minibatch: ``"drop"``, as
        OpenAI's Baselines does, or ``"use"``.
    **options
        As `lcdb_builders.run.trials.build_trials` takes them.

    Examples
    --------
    >>> import tempfile
    >>> report = build_pendulum(tempfile.mkdtemp(), trials=8, episodes=2, workers=1)
    >>> report.cubes["pendulum"].statuses
    {'pendulum-actor_critic': 'complete', 'pendulum-ppo': 'complete'}
    """
    if episodes < 1 or reruns < 1:
        msg = f"{episodes} episodes and {reruns} reruns are asked for; expected 1 or more of each"
        raise PlanError(msg)
    labels = ["actor_critic", "ppo"] if algorithms is None else list(algorithms)
    report = build_trials(parts(labels, trials, seed, episodes, partial_minibatch), out, **options)
    if not appendix_c:
        return report
    selected = selection(Path(out).expanduser())
    chosen = rerun_parts(selected, reruns, seed, episodes, partial_minibatch)
    again = build_trials(chosen, out, **options)
    return replace(
        again,
        computed=report.computed + again.computed,
        duplicates=report.duplicates + again.duplicates,
        elsewhere=report.elsewhere + again.elsewhere,
    )


def selection(root: Path) -> dict[str, int]:
    """Return the trials to run again: those of the cube, or newly selected ones."""
    with open_database(root) as db:
        cube = db["pendulum"]
        labels = [str(label) for label in cube["algorithm"].values]
        texts = {label: str(cube["params"].values[i]) for i, label in enumerate(labels)}
        known = {
            label: json.loads(texts[label])["trial"] for label in PERCENTILES if texts.get(label)
        }
        if len(known) == len(PERCENTILES):
            return known
        if "ppo" not in labels:
            msg = f"{root} has no trials of ppo to run again; build them first: --algorithm ppo"
            raise NotFoundError(msg)
        means = cube["mean_return"].sel(algorithm="ppo").values
    return {**selected_trials(means), **known}
