"""Cells of one-vs-rest kernels: what they decide, and what the same cells are in plain code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit, canonical_json
from lcdb_builders.kernels.core.sets import draw
from lcdb_builders.learners.batch import columns_of, task_of
from lcdb_builders.reference.metrics import cell_scores
from lcdb_builders.reference.onevsrest import log_sigmoid

from tests.oracles.metrics import area_bounds

SAMPLINGS = ("additive", "random", "bootstrap")


def snapshot_of(X, y):
    y = np.asarray(y, np.int64)
    names = tuple(str(j) for j in range(X.shape[1]))
    classes = tuple(str(c) for c in range(int(y.max()) + 1))
    return Snapshot("made", np.array(X, float), y, names, classes, "made")


def block_of(learner, snapshot, sampling, split, sizes, first=0, stop=1, seed=3, **params):
    unit = Unit(
        dataset=snapshot.id,
        dataset_sha256=snapshot.sha256,
        seed=seed,
        learner=learner.name,
        estimator="",
        params=canonical_json(learner.complete(params)),
        implementation=learner.implementation,
        sampling=sampling,
        split=split,
        tuning="default",
        tuning_rule="",
        sizes=tuple(sizes),
    )
    return Block(unit, tuple(sizes), first, stop)


@dataclass
class Cell:
    """One cell: rows, decision values of the kernel on its test rows, and its five numbers."""

    n: int
    repetition: int
    train: np.ndarray
    test: np.ndarray
    classes: np.ndarray
    decisions: np.ndarray
    values: np.ndarray


def _own_columns(task, y, repetition):
    """All rows by class, in the order of an additive repetition."""
    order = np.empty(len(task.pool), np.int64)
    draw(task, 0, repetition, order)
    return order[np.argsort(y[order], kind="stable")]


def cells(learner, snapshot, block, splits=None):
    """Run a block of a one-vs-rest learner and yield its cells, decisions with them.

    Decisions are in the order of the block's columns; where additive repetitions have columns of
    their own (all but GSVC), in theirs.
    """
    splits = splits or (block.unit.split,)
    task = task_of(snapshot, block)
    columns = columns_of(snapshot, block, splits)
    decisions = np.full((*block.shape, snapshot.classes, len(columns.rows)), np.nan)
    values = learner.values(snapshot, block, splits, decisions)
    draws = {split: block.with_split(split).unit.draws(snapshot) for split in splits}
    own = columns.varying and block.unit.sampling == "additive" and learner.name != "GSVC"
    for j, r in enumerate(block.repetitions):
        rows = _own_columns(task, snapshot.y, r) if own else columns.rows
        for i, n in enumerate(block.sizes):
            for k, split in enumerate(splits):
                train, test = draws[split].train(n, r), draws[split].test(n, r)
                place = np.full(snapshot.rows, -1)
                place[rows] = np.arange(len(rows))
                found = decisions[i, j][:, place[test]].T
                classes = np.unique(snapshot.y[train])
                yield Cell(n, r, train, test, classes, found, values[i, j, k])


def fitted(cell):
    """Decision values as estimators have them: (rows, 1) of the second class for two classes."""
    return cell.decisions[:, cell.classes[1:] if len(cell.classes) == 2 else cell.classes]


def log_scores(decisions, classes, all_classes):
    """(rows, K) log scores, -inf for classes that are absent."""
    scores = np.full((len(decisions), all_classes), -np.inf)
    if len(classes) == 1:
        scores[:, classes] = 0.0
    elif len(classes) == 2:
        scores[:, classes] = log_sigmoid(np.hstack([-decisions, decisions]))
    else:
        scores[:, classes] = log_sigmoid(decisions)
    return scores


def numbers(y, scores, decisions=None):
    """The five numbers of a cell, in plain code."""
    found = cell_scores(y, scores=scores, decisions=decisions)
    return [found.accuracy, found.auc, found.brier, found.cross_entropy, found.n_clipped]


def labelled_by(decisions, classes, all_classes):
    """(rows, K) decision values by class where labels compare them, -inf for absent classes.

    None where scores say as much: in datasets of two classes, and where training has one.
    """
    if all_classes == 2 or len(classes) == 1:
        return None
    of_all = np.full((len(decisions), all_classes), -np.inf)
    of_all[:, classes] = np.hstack([-decisions, decisions]) if len(classes) == 2 else decisions
    return of_all


def check_metrics(cell, snapshot):
    """The five numbers follow from the decisions, labels to the letter of the rule of ties.

    Log-odds may differ in the last bits, and so in the last bit of single precision.
    """
    decisions, y = fitted(cell), snapshot.y[cell.test]
    scores = log_scores(decisions, cell.classes, snapshot.classes)
    of_all = labelled_by(decisions, cell.classes, snapshot.classes)
    expected = numbers(y, scores, of_all)
    if abs(cell.values[1] - expected[1]) > 1e-12:
        low, high = area_bounds(scores.tolist(), y.tolist(), 1e-12, decisions.tolist())
        assert low <= cell.values[1] <= high
        expected[1] = cell.values[1]
    np.testing.assert_allclose(cell.values, expected, rtol=1e-9, atol=1e-12)


def spread_of(X, rows):
    """Sizes from 1 on, all small ones, then some."""
    d, m = X.shape[1], rows * 7 // 10
    some = np.unique(np.linspace(2 * d, m, 6).astype(int))
    return sorted({n for n in [*range(1, 2 * d + 1), *some] if n <= m})
