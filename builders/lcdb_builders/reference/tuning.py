"""Tuned cells in plain code: fit every grid value, score it on held-out rows, choose, refit.

Of the u distinct rows drawn, max(2, floor(u / 5)) are held out with all their copies, by a stream
of the cell's own. Each metric chooses for itself. This loop defines what tuned kernels compute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcdb.schema import CHOICE_FLAGS, METRICS
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.streams import StreamKey, stream_key
from lcdb_builders.domain.unit import Unit
from lcdb_builders.kernels.core.holdout import EQUAL
from lcdb_builders.kernels.core.rng import permute_head
from lcdb_builders.learners.base import Learner
from lcdb_builders.reference.cell import (
    LostCellError,
    answer_cell,
    fit_cell,
    score_cell,
    training_rows,
    weighted_rows,
)

__all__ = ["TuningRule", "choices", "tuned_cell", "validation_key", "validation_rows"]

CHOSEN, TIE, ONE_CLASS_VALIDATION, ONE_CLASS_FIT = range(len(CHOICE_FLAGS))


@dataclass(frozen=True)
class TuningRule:
    """What is chosen from what.

    Parameters
    ----------
    parameter
        The tuned parameter.
    grid
        Its values.
    tie
        ``"nearest_default"`` or ``"first"``.
    """

    parameter: str
    grid: tuple[Any, ...]
    tie: str

    @classmethod
    def of(cls, unit: Unit) -> TuningRule:
        """Return the rule of a tuned unit."""
        rule = json.loads(unit.tuning_rule)
        return cls(rule["parameter"], tuple(rule["grid"]), rule["tie"])

    def place_of(self, default: Any) -> int:
        """Return the index of the grid value nearest to the untuned value.

        Examples
        --------
        >>> TuningRule("k", (1, 6, 11), "nearest_default").place_of(10)
        2
        """
        if default in self.grid:
            return self.grid.index(default)
        if not all(isinstance(value, int | float) for value in (default, *self.grid)):
            return 0
        distance = [abs(value - default) for value in self.grid]
        return distance.index(min(distance))

    def choose(self, scores: np.ndarray, direction: str, default: Any) -> tuple[int, bool]:
        """Return the index of the best score, and whether others were as good.

        Scores that differ by no more than the rounding of their sums are tied, and so are those
        that are all NaN (the AUC of one class). Ties go to the index nearest to that of the untuned
        value, then to the smaller one; or to the first.

        Examples
        --------
        >>> rule = TuningRule("k", (1, 6, 11, 17), "nearest_default")
        >>> rule.choose(np.array([0.9, 0.8, 0.9, 0.9]), "maximize", 6)
        (0, True)
        >>> rule.choose(np.array([0.1 + 0.2, 0.3, 0.5, 0.5]), "minimize", 6)
        (1, True)
        """
        if np.isnan(scores).all():
            best = np.arange(len(scores))
        else:
            top = np.nanmax(scores) if direction == "maximize" else np.nanmin(scores)
            best = np.flatnonzero(np.abs(scores - top) <= EQUAL * max(1.0, abs(top)))
        if self.tie == "nearest_default":
            best = best[np.argsort(np.abs(best - self.place_of(default)), kind="stable")]
        return int(best[0]), len(best) > 1


def validation_key(unit: Unit) -> StreamKey:
    """Return the key of the stream that holds out rows; `fixed` and `pool` hold out the same."""
    split = "fixed" if unit.split == "pool" else unit.split
    return stream_key(unit.seed, unit.dataset_sha256, "validation", unit.sampling, split)


def validation_rows(
    draws: Draws, unit: Unit, n: int, repetition: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a cell to fit on and those to validate on, with copies.

    Examples
    --------
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "", "random", "fixed", "tuned", "", (50,))
    >>> from lcdb_builders.sources.bundled import bundled
    >>> fit, held_out = validation_rows(unit.draws(bundled("61")), unit, 50, 0)
    >>> len(fit), len(held_out), set(fit) & set(held_out)
    (40, 10, set())
    """
    rows, counts = weighted_rows(draws.train(n, repetition))
    held = max(min(max(2, len(rows) // 5), len(rows) - 1), 0)
    order = np.arange(len(rows))
    permute_head(*validation_key(unit), n, repetition, 0, order, held)
    is_held = np.zeros(len(rows), bool)
    is_held[order[:held]] = True
    kept = ~is_held
    return np.repeat(rows[kept], counts[kept]), np.repeat(rows[is_held], counts[is_held])


def choices(
    learner: Learner, snapshot: Snapshot, unit: Unit, draws: Draws, n: int, repetition: int
) -> dict[str, tuple[int, int]]:
    """Return, by metric, the index of the chosen grid value and how it was chosen.

    The flag is the index in `lcdb.schema.CHOICE_FLAGS`; one class to fit on goes before one class
    to validate on, and both go before a tie.

    Parameters
    ----------
    learner, snapshot, unit
        What is tuned, on which data, by which rule.
    draws
        The unit's draws, of which the rows to fit on and to validate on are a part.
    n, repetition
        Which cell.
    """
    rule, default = TuningRule.of(unit), unit.parameters
    fit, held_out = validation_rows(draws, unit, n, repetition)
    scores = {name: np.full(len(rule.grid), np.nan) for name in METRICS}
    flag, failed = CHOSEN, np.zeros(len(rule.grid), bool)
    if len(set(snapshot.y[fit].tolist())) < 2 or not len(held_out):
        flag = ONE_CLASS_FIT  # every grid value gives the same constant predictor
    else:
        if len(set(snapshot.y[held_out].tolist())) < 2:
            flag = ONE_CLASS_VALIDATION
        for index, value in enumerate(rule.grid):
            params = {**default, rule.parameter: value}
            try:
                estimator = fit_cell(learner, snapshot, unit, fit, n, repetition, params)
                metrics = vars(score_cell(learner, estimator, snapshot, held_out))
            except LostCellError as error:
                failed[index] = True
                if failed.all():
                    raise LostCellError(str(error), error.reason) from error
                continue
            for name, values in scores.items():
                values[index] = metrics[name]
    chosen = {}
    for name, values in scores.items():
        if failed.any() and np.isnan(values).all():
            values[~failed] = 0.0  # as good as each other, but better than what failed
        index, tied = rule.choose(
            values, METRICS[name].direction, default.get(rule.parameter, rule.grid[0])
        )
        chosen[name] = index, flag or (TIE if tied else CHOSEN)
    return chosen


def tuned_cell(
    learner: Learner,
    snapshot: Snapshot,
    unit: Unit,
    draws: Mapping[str, Draws],
    n: int,
    repetition: int,
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Return scores and choices of one tuned cell by split: each metric by its own choice.

    And by split why there are not all of them, where that is so.

    Parameters
    ----------
    learner, snapshot, unit
        What is tuned, on which data, by which rule.
    draws
        The rows of each split; those for training are the same in all.
    n, repetition
        Which cell.
    """
    shared = next(iter(draws.values()))
    chosen_by = choices(learner, snapshot, unit, shared, n, repetition)
    rule, rows = TuningRule.of(unit), training_rows(shared, n, repetition)
    result: dict[str, dict[str, float]] = {split: {} for split in draws}
    reasons: dict[str, str] = {}
    lost: set[str] = set()
    for index in sorted({index for index, _ in chosen_by.values()}):
        params = {**unit.parameters, rule.parameter: rule.grid[index]}
        estimator = fit_cell(learner, snapshot, unit, rows, n, repetition, params)
        for split, drawn in draws.items():
            try:
                answers = answer_cell(learner, estimator, snapshot, drawn.test(n, repetition))
            except LostCellError as error:
                reasons[split] = error.reason
                lost.add(split)
                continue
            if answers.why:
                reasons.setdefault(split, answers.why)
            scores = vars(answers.metrics)
            for name, (chosen, flag) in chosen_by.items():
                if chosen == index:
                    own = {name: scores[name], f"choice_{name}": chosen}
                    result[split] |= own | {f"choice_flag_{name}": flag}
            if chosen_by["cross_entropy"][0] == index:
                result[split]["n_clipped"] = scores["n_clipped"]
    return {split: values for split, values in result.items() if split not in lost}, reasons
