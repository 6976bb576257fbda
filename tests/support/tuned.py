"""Tuned blocks of a kernel against the loop that defines them, cell by cell.

The reference fits every grid value to the rows that are not held out. A kernel must choose what the
reference chooses, except where the two validation scores differ by less than implementations of the
untuned learner may; and the scores of what it has chosen must be those of the reference refitted
with that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block, Unit, canonical_json
from lcdb_builders.learners.base import Learner
from lcdb_builders.reference.agreement import allowed
from lcdb_builders.reference.cell import answer_cell, fit_cell, training_rows
from lcdb_builders.reference.tuning import CHOSEN, ONE_CLASS_FIT, TIE, TuningRule, validation_rows

from lcdb.schema import METRICS

SEED = 3
ROUNDING = 1e-12


@dataclass
class Compared:
    """How many cells were compared, and how many choices were not the reference's (but as good)."""

    cells: int = 0
    choices: int = 0
    others: int = 0

    def __iadd__(self, other: Compared) -> Compared:
        self.cells += other.cells
        self.choices += other.choices
        self.others += other.others
        return self


def default_unit(
    learner: Learner,
    snapshot: Snapshot,
    sampling: str,
    split: str,
    sizes: Sequence[int],
    *,
    params: Mapping[str, Any] | None = None,
) -> Unit:
    """Return a unit that is not tuned."""
    return Unit(
        dataset=snapshot.id,
        dataset_sha256=snapshot.sha256,
        seed=SEED,
        learner=learner.name,
        estimator="",
        params=canonical_json(learner.complete(params or {})),
        implementation=learner.implementation,
        sampling=sampling,
        split=split,
        tuning="default",
        tuning_rule="",
        sizes=tuple(sizes),
    )


def tuned_unit(
    learner: Learner,
    snapshot: Snapshot,
    sampling: str,
    split: str,
    sizes: Sequence[int],
    *,
    params: Mapping[str, Any] | None = None,
    grid: Sequence[Any] | None = None,
    tie: str = "nearest_default",
) -> Unit:
    """Return a tuned unit; `grid` is the learner's own if it is None."""
    values = list(learner.grid if grid is None else grid)
    rule = {"parameter": learner.tuned_parameter, "grid": values, "tie": tie}
    unit = default_unit(learner, snapshot, sampling, split, sizes, params=params)
    return replace(unit, tuning="tuned", tuning_rule=canonical_json(rule))


def compare_tuned(
    learner: Learner, snapshot: Snapshot, block: Block, splits: Sequence[str]
) -> Compared:
    """Assert that a tuned block is what the loop computes."""
    found = learner.block(snapshot, block, splits)
    assert set(found) == set(splits)
    compared = Compared()
    for i, n in enumerate(block.sizes):
        for j, r in enumerate(block.repetitions):
            cell = {
                split: {name: float(values[i, j]) for name, values in scores.items()}
                for split, scores in found.items()
            }
            compared += _compare_cell(learner, snapshot, block.unit, cell, n, r)
    return compared


def validated(learner, snapshot, unit, rule, n, r):
    """Reference scores of the grid on held-out rows and how far they may be off; None if none."""
    shared = unit.draws(snapshot)
    fit, held = validation_rows(shared, unit, n, r)
    if len(set(snapshot.y[fit].tolist())) < 2 or not len(held):
        return None
    found = []
    for value in rule.grid:
        params = {**unit.parameters, rule.parameter: value}
        estimator = fit_cell(learner, snapshot, unit, fit, n, r, params)
        answers = answer_cell(learner, estimator, snapshot, held)
        slack = allowed(answers, learner.score_tolerance(params))
        found.append((vars(answers.metrics), slack))
    return found


def _compare_cell(learner, snapshot, unit, cell, n, r) -> Compared:
    rule = TuningRule.of(unit)
    default = unit.parameters.get(rule.parameter, rule.grid[0])
    grid = validated(learner, snapshot, unit, rule, n, r)
    first = next(iter(cell.values()))
    compared = Compared(1)
    for name, metric in METRICS.items():
        where = f"{unit.label} n={n} r={r} {name}"
        ours, flag = int(first[f"choice_{name}"]), int(first[f"choice_flag_{name}"])
        for scores in cell.values():
            assert (scores[f"choice_{name}"], scores[f"choice_flag_{name}"]) == (ours, flag), where
        compared.choices += 1
        if grid is None:
            none = np.full(len(rule.grid), np.nan)
            right = rule.choose(none, metric.direction, default)[0]
            assert (ours, flag) == (right, ONE_CLASS_FIT), where
            continue
        values = np.array([scores[name] for scores, _ in grid])
        slack = np.array([slack[name] for _, slack in grid]) + ROUNDING
        right, tied = rule.choose(values, metric.direction, default)
        if ours != right:
            compared.others += 1
            apart = abs(values[ours] - values[right])
            assert apart <= slack[ours] + slack[right], (where, ours, right, apart, slack[ours])
        if flag in (CHOSEN, TIE) and flag != (TIE if tied else CHOSEN):
            near = np.abs(values - values[right]) <= slack + slack[right]
            assert np.count_nonzero(near) > 1, (where, flag)
        if flag not in (CHOSEN, TIE):
            assert np.isnan(grid[0][0]["auc"]), (where, flag)
    _compare_scores(learner, snapshot, unit, rule, cell, n, r)
    return compared


def _compare_scores(learner, snapshot, unit, rule, cell, n, r) -> None:
    chosen = {name: int(next(iter(cell.values()))[f"choice_{name}"]) for name in METRICS}
    chosen["n_clipped"] = chosen["cross_entropy"]
    rows = training_rows(unit.draws(snapshot), n, r)
    for index in set(chosen.values()):
        params = {**unit.parameters, rule.parameter: rule.grid[index]}
        estimator = fit_cell(learner, snapshot, unit, rows, n, r, params)
        for split, scores in cell.items():
            test = unit.with_split(split).draws(snapshot).test(n, r)
            answers = answer_cell(learner, estimator, snapshot, test)
            slack = allowed(answers, learner.score_tolerance(params))
            for name in (name for name in chosen if chosen[name] == index):
                ours, theirs = scores[name], float(vars(answers.metrics)[name])
                where = f"{unit.label} {split} n={n} r={r} {name} at {index}"
                assert np.isnan(ours) == np.isnan(theirs), where
                if not np.isnan(theirs):
                    off = abs(ours - theirs)
                    assert off <= slack[name] + ROUNDING, (where, ours, theirs, slack[name])
