"""A block of scores: the reference path, which fits one estimator per cell.

This is the definition of a block in plain code. Kernels compute the same numbers faster; `lcdb
replay` and `lcdb verify --recompute` come back here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lcdb.schema import METRICS, VARIABLES
from lcdb_builders.domain.lost import Lost
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners.base import Learner, LossyScores, Scores
from lcdb_builders.reference.cell import LostCellError, answer_cell, fit_cell, training_rows
from lcdb_builders.reference.isolation import scratch_folder
from lcdb_builders.reference.tuning import tuned_cell
from lcdb_builders.threads import one_thread

__all__ = ["draws_block", "draws_by_split", "reference_block"]

# What a cell without any value says: that it was computed.
_NOTHING = {"n_clipped": 0.0}

# By split, what a cell adds to each variable; and, where it lacks values, why.
CellValues = dict[str, dict[str, float]]


def draws_by_split(snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Draws]:
    """Return training and test sets by split; all splits must train on the same rows."""
    by_split = {split: block.unit.with_split(split).draws(snapshot) for split in splits}
    if len({draws.training_split for draws in by_split.values()}) != 1:
        msg = f"splits are {tuple(splits)}; expected one, or fixed and pool, which share every fit"
        raise ValueError(msg)
    return by_split


def default_cell(
    learner: Learner,
    snapshot: Snapshot,
    unit: Unit,
    draws: Mapping[str, Draws],
    n: int,
    repetition: int,
) -> tuple[CellValues, dict[str, str]]:
    """Return the scores of one fit by split, and by split why there are not all.

    Parameters
    ----------
    learner, snapshot, unit
        What is fitted, on which data, with which parameters.
    draws
        The rows of each split; those for training are the same in all.
    n, repetition
        Which cell.
    """
    rows = training_rows(next(iter(draws.values())), n, repetition)
    estimator = fit_cell(learner, snapshot, unit, rows, n, repetition)
    values: CellValues = {}
    reasons: dict[str, str] = {}
    for split, drawn in draws.items():
        try:
            answers = answer_cell(learner, estimator, snapshot, drawn.test(n, repetition))
        except LostCellError as error:
            reasons[split] = error.reason
            continue
        values[split] = vars(answers.metrics)
        if answers.why:
            reasons[split] = answers.why
    return values, reasons


def _empty_scores(block: Block) -> Scores:
    names = [*METRICS, "n_clipped"]
    if block.unit.tuning == "tuned":
        names += [f"{what}_{name}" for name in METRICS for what in ("choice", "choice_flag")]
    return {
        name: np.full(block.shape, VARIABLES[name].empty, VARIABLES[name].dtype) for name in names
    }


@one_thread()
def reference_block(
    learner: Learner, snapshot: Snapshot, block: Block, splits: Sequence[str]
) -> dict[str, Scores]:
    """Return the scores of a block by split, from one fitted reference estimator per cell.

    Parameters
    ----------
    learner, snapshot
        Who learns what.
    block
        What to compute, tuned or not.
    splits
        As `Learner.block` takes them.
    """
    draws = draws_by_split(snapshot, block, splits)
    score = tuned_cell if block.unit.tuning == "tuned" else default_cell
    result: dict[str, Scores] = {split: _empty_scores(block) for split in splits}
    lost: dict[str, list[Lost]] = {split: [] for split in splits}
    with scratch_folder():
        for i, n in enumerate(block.sizes):
            for j, repetition in enumerate(block.repetitions):
                try:
                    cell, why = score(learner, snapshot, block.unit, draws, n, repetition)
                except LostCellError as error:
                    cell, why = {}, dict.fromkeys(splits, error.reason)
                for split in splits:
                    for name, value in cell.get(split, _NOTHING).items():
                        result[split][name][i, j] = value
                    if split in why:
                        lost[split].append(Lost(why[split], 1, n, n, split in cell))
    return {split: LossyScores(result[split], lost[split]) for split in splits}


def draws_block(snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
    """Return the sizes of test sets and the numbers of classes in training sets, by split.

    Examples
    --------
    >>> from lcdb_builders.domain.unit import DRAWS
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    >>> snapshot = Snapshot("x", X, y, ("a",), ("no", "yes"), "x")
    >>> unit = Unit("x", snapshot.sha256, 1, DRAWS, "", "{}", "draws-1", "random", "varying",
    ...             "default", "", (1, 14))
    >>> draws = draws_block(snapshot, Block(unit, (1, 14), 0, 3), ["varying"])["varying"]
    >>> draws["n_test"].tolist(), draws["n_classes_train"][0].tolist()
    ([[19, 19, 19], [6, 6, 6]], [1, 1, 1])
    """
    draws = draws_by_split(snapshot, block, splits)
    shared = draws[splits[0]]
    distinct = np.empty(block.shape, np.int32)
    classes = np.empty(block.shape, np.int8)
    if shared.sampling == "additive":  # every training set is a head of the repetition's largest
        distinct[:] = np.array(block.sizes)[:, None]
        for j, repetition in enumerate(block.repetitions):
            labels = snapshot.y[shared.train(block.sizes[-1], repetition)]
            firsts = np.sort(np.unique(labels, return_index=True)[1])
            classes[:, j] = np.searchsorted(firsts, block.sizes)
    else:
        for i, n in enumerate(block.sizes):
            for j, repetition in enumerate(block.repetitions):
                rows = shared.train(n, repetition)
                distinct[i, j] = len(set(rows.tolist())) if shared.sampling == "bootstrap" else n
                classes[i, j] = np.count_nonzero(np.bincount(snapshot.y[rows]))
    result: dict[str, Scores] = {}
    for split, sets in draws.items():
        varying = split == "varying"
        n_test = (
            snapshot.rows - distinct if varying else np.full_like(distinct, len(sets.fixed_test))
        )
        result[split] = {"n_test": n_test, "n_classes_train": classes.copy()}
    return result
