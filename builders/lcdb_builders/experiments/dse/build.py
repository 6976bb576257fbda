"""The parts of the experiment, and the stored rows of its tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lcdb.errors import FetchError, LabelError, did_you_mean
from lcdb.schema import EXPERIMENTS
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import canonical_json
from lcdb_builders.experiments.dse.maker import FOLDS, IMPLEMENTATION
from lcdb_builders.experiments.dse.tasks import TASKS, TRAIN_SHARE
from lcdb_builders.run.builder import Report
from lcdb_builders.run.trials import build_trials

__all__ = ["PAPER_TASKS", "SEED", "TRIALS", "build_dse", "obtain", "parts"]

#: Trials of every part in the paper, and the master seed.
TRIALS, SEED = 2000, 2026
#: Configurations that tuning tries in every trial.
CONFIGURATIONS = 50
PAPER_TASKS = ("moons", "circles", "linear", "faces")


def build_dse(
    out: str | os.PathLike[str],
    *,
    tasks: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    modes: Iterable[str] | None = None,
    trials: int = TRIALS,
    seed: int = SEED,
    data_home: str | os.PathLike[str] | None = None,
    offline: bool = False,
    **options: Any,
) -> tuple[Report, dict[str, str]]:
    """Build the experiment `dse`, or go on building it.

    Parameters
    ----------
    out
        The database directory; the cube lands in ``out/cubes/dse.nc``.
    tasks, learners, modes
        Which; by default the paper's four tasks, five learners and two modes. ``"digits"`` is a
        further task.
    trials
        How many of each part; more can be asked for later.
    seed
        The master seed.
    data_home
        The folder of scikit-learn's data, for the task ``"faces"``.
    offline
        Do not download what is not there.
    **options
        As `lcdb_builders.run.trials.build_trials` takes them.

    Returns
    -------
    report
        What was computed.
    missing
        Why a task could not be built, by its name. If none can, that is an error.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> only = {"tasks": ["moons"], "learners": ["kNN"], "modes": ["random"]}
    >>> report, missing = build_dse(folder, **only, trials=8, workers=1)
    >>> report.cubes["dse"].statuses, missing
    ({'dse-kNN-moons-random': 'complete'}, {})
    """
    chosen = _chosen("task", tasks if tasks is not None else PAPER_TASKS)
    home = Path(data_home).expanduser() if data_home is not None else None
    data_of: dict[str, Snapshot] = {}
    missing: dict[str, str] = {}
    for task in chosen:
        try:
            data = obtain(task, Path(out).expanduser(), home, download=not offline)
        except FetchError as error:
            if len(missing) + 1 == len(chosen):
                raise
            missing[task] = str(error)
            continue
        if data is not None:
            data_of[task] = data
    there = [task for task in chosen if task not in missing]
    wanted = parts(there, learners, modes, trials=trials, seed=seed, data=data_of)
    return build_trials(wanted, out, data=data_of.values(), **options), missing


def obtain(task: str, root: Path, home: Path | None, *, download: bool) -> Snapshot | None:
    """Return the rows that a task has stored, of the database or of scikit-learn; else None."""
    source = TASKS[task].obtain
    if source is None:
        return None
    folder = root / "snapshots"
    if folder.is_dir() and task in snapshots.stored(folder):
        return snapshots.load(folder, task)
    return source(home, download)


def parts(
    tasks: Iterable[str],
    learners: Iterable[str] | None = None,
    modes: Iterable[str] | None = None,
    *,
    trials: int = TRIALS,
    seed: int = SEED,
    data: dict[str, Snapshot] | None = None,
) -> list[Part]:
    """Return the parts of some tasks, learners and modes.

    Parameters
    ----------
    tasks, learners, modes
        Labels of the experiment; all learners and modes if None.
    trials
        How many of each part.
    seed
        The master seed.
    data
        The rows of tasks that have stored ones.

    Examples
    --------
    >>> [part.label for part in parts(["moons"], ["LR"])]
    ['dse-LR-moons-random', 'dse-LR-moons-tuned']
    """
    labels = EXPERIMENTS["dse"].labels
    digests = {task: snapshot.sha256 for task, snapshot in (data or {}).items()}
    return [
        Part(
            "dse",
            (learner, task, mode),
            seed,
            IMPLEMENTATION,
            canonical_json(_params(task, mode)),
            digests.get(task, ""),
            trials=trials,
        )
        for learner in _chosen("learner", learners if learners is not None else labels["learner"])
        for task in _chosen("task", tasks)
        for mode in _chosen("mode", modes if modes is not None else labels["mode"])
    ]


def _params(task: str, mode: str) -> dict[str, Any]:
    stored = {"data": task} if TASKS[task].obtain is not None else {}
    tuning = {"configurations": CONFIGURATIONS, "folds": FOLDS} if mode == "tuned" else {}
    return {"train_share": TRAIN_SHARE, **stored, **tuning}


def _chosen(dim: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names without doubles, or raise for one that does not exist."""
    known = EXPERIMENTS["dse"].labels[dim]
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            msg = f"the experiment dse has no {dim} {name!r}.{did_you_mean(name, known)}"
            raise LabelError(msg)
    return chosen
