"""Between blocks and kernels: a block becomes arrays, and arrays become its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcdb.errors import CellError
from lcdb.schema import METRICS, SAMPLINGS
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.kernels.core.cell import ACCURACY, CELL, CLIPPED, MAXIMISED, WIDTH
from lcdb_builders.kernels.core.holdout import Tuned, Tuning, untuned
from lcdb_builders.kernels.core.sets import SAMPLINGS as KERNEL_SAMPLINGS
from lcdb_builders.kernels.core.sets import Columns, Task, all_columns, constant_columns
from lcdb_builders.learners.base import Scores
from lcdb_builders.learners.builtin import BuiltinLearner
from lcdb_builders.reference.block import draws_by_split
from lcdb_builders.reference.tuning import TuningRule, validation_key

__all__ = [
    "BlockCall",
    "KernelLearner",
    "check_values",
    "columns_of",
    "empty_tuned",
    "empty_values",
    "scores_by_split",
    "task_of",
    "tuned_by_split",
    "tuning_of",
]


def _check_cell() -> None:
    """Raise unless kernels write what the schema names: else a metric would hold another's numbers.

    Examples
    --------
    >>> _check_cell()
    """
    expected = (*METRICS, "n_clipped")
    directions = tuple(metric.direction == "maximize" for metric in METRICS.values())
    if expected != CELL or directions != MAXIMISED:
        msg = (
            f"kernels write {CELL}, maximised {MAXIMISED}; lcdb.schema.METRICS expects {expected}, "
            f"maximised {directions}: change lcdb_builders.kernels.core.cell and the kernels of "
            "scores with the schema"
        )
        raise AssertionError(msg)


_check_cell()
if KERNEL_SAMPLINGS != SAMPLINGS:
    msg = (
        f"kernels draw {KERNEL_SAMPLINGS}; lcdb.schema.SAMPLINGS expects {SAMPLINGS}: change "
        "lcdb_builders.kernels.core.sets with the schema"
    )
    raise AssertionError(msg)


def task_of(snapshot: Snapshot, block: Block, X: np.ndarray | None = None) -> Task:
    """Return the training sets of a block, as kernels draw them; `X` stands in for its features."""
    draws: Draws = block.unit.draws(snapshot)
    key0, key1 = draws.key
    return Task(
        sampling=SAMPLINGS.index(block.unit.sampling),
        key0=key0,
        key1=key1,
        first=block.first,
        stop=block.stop,
        sizes=np.array(block.sizes, np.int64),
        pool=np.array(draws.pool),
        X=np.array(snapshot.X if X is None else X, order="C"),
        y=np.array(snapshot.y),
        classes=snapshot.classes,
        quota=np.zeros((2, snapshot.classes), np.int64),
    )


def columns_of(
    snapshot: Snapshot, block: Block, splits: Sequence[str], X: np.ndarray | None = None
) -> Columns:
    """Return the test sets of a block: one, or those of `fixed` and `pool` side by side."""
    draws = draws_by_split(snapshot, block, splits)
    features = snapshot.X if X is None else X
    if "varying" in draws:
        return all_columns(features, snapshot.y, snapshot.classes)
    sets = [drawn.fixed_test for drawn in draws.values()]
    return constant_columns(features, snapshot.y, snapshot.classes, sets)


def empty_values(block: Block, splits: Sequence[str]) -> np.ndarray:
    """Return what a kernel fills: (sizes, repetitions, splits, numbers of a cell)."""
    return np.full((*block.shape, len(splits), WIDTH), np.nan)


def check_values(block: Block, values: np.ndarray) -> None:
    """Raise CellError if a kernel has left cells without numbers: their scores were none."""
    missing = np.argwhere(np.isnan(values[..., ACCURACY]))
    if len(missing):
        i, r = missing[0][:2]
        msg = (
            f"{block.unit.label}: scores at n = {block.sizes[i]}, repetition {block.first + r} are "
            f"beyond the range of doubles, as in {len(missing)} of {values[..., 0].size} cells; "
            "rescale the features, or set scaling in the plan"
        )
        raise CellError(msg)


def scores_by_split(values: np.ndarray, splits: Sequence[str]) -> dict[str, Scores]:
    """Return filled values as scores.

    Examples
    --------
    >>> values = np.zeros((2, 3, 1, WIDTH))
    >>> values[..., CLIPPED] = 7
    >>> scores = scores_by_split(values, ["fixed"])["fixed"]
    >>> scores["auc"].shape, scores["n_clipped"].max()
    ((2, 3), np.int32(7))
    """
    by_split: dict[str, Scores] = {}
    for k, split in enumerate(splits):
        by_split[split] = {
            name: values[:, :, k, m].astype(np.float32) for m, name in enumerate(METRICS)
        }
        by_split[split]["n_clipped"] = values[:, :, k, CLIPPED].astype(np.int32)
    return by_split


def tuning_of(block: Block) -> Tuning:
    """Return what is chosen from what in a tuned block, and the stream that holds out rows."""
    unit, rule = block.unit, TuningRule.of(block.unit)
    default = unit.parameters.get(rule.parameter, rule.grid[0])
    place = rule.place_of(default) if rule.tie == "nearest_default" else 0
    key0, key1 = validation_key(unit)
    return Tuning(key0=key0, key1=key1, grid=np.array(rule.grid, np.float64), place=place)


def empty_tuned(block: Block, splits: Sequence[str]) -> Tuned:
    """Return what a tuned kernel fills."""
    choices = np.full((*block.shape, len(METRICS)), -1, np.int8)
    return Tuned(values=empty_values(block, splits), choices=choices, flags=choices.copy())


def tuned_by_split(tuned: Tuned, splits: Sequence[str]) -> dict[str, Scores]:
    """Return what a tuned kernel has filled as scores and choices; test sets share the choices.

    Examples
    --------
    >>> choices = np.zeros((2, 3, len(METRICS)), np.int8)
    >>> choices[..., 1] = 7
    >>> tuned = Tuned(values=np.zeros((2, 3, 1, WIDTH)), choices=choices, flags=choices)
    >>> scores = tuned_by_split(tuned, ["fixed"])["fixed"]
    >>> scores["choice_auc"].max(), scores["choice_flag_accuracy"].max()
    (np.int8(7), np.int8(0))
    """
    by_split = scores_by_split(tuned.values, splits)
    for scores in by_split.values():
        for m, name in enumerate(METRICS):
            scores[f"choice_{name}"] = tuned.choices[..., m].copy()
            scores[f"choice_flag_{name}"] = tuned.flags[..., m].copy()
    return by_split


@dataclass(frozen=True)
class BlockCall:
    """A block as kernels take it.

    Parameters
    ----------
    snapshot, block
        What is asked for; parameters are in ``block.unit.parameters``.
    task, columns
        Cells, and where they are scored, as arrays: see `lcdb_builders.kernels.core.sets`. `fixed`
        and `pool` come side by side as sets of `columns`.
    """

    snapshot: Snapshot
    block: Block
    task: Task
    columns: Columns


class KernelLearner(BuiltinLearner):
    """A learner whose blocks kernels compute.

    Without a kernel for tuned blocks (`tunes`) those are left to the loop that defines them,
    `lcdb_builders.reference.tuning`.
    """

    implementation = "kernel-2"
    #: Whether `fill_tuned` is there.
    tunes: ClassVar[bool] = False
    #: Whether `keep` takes the very steps that make the numbers, and so gives these as well.
    keeps_numbers: ClassVar[bool] = True

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split."""
        is_tuned = block.unit.tuning != "default"
        X = self.features(snapshot)
        if X is None or (is_tuned and not self.tunes):
            return super().block(snapshot, block, splits)
        columns = columns_of(snapshot, block, splits, X)
        call = BlockCall(snapshot, block, task_of(snapshot, block, X), columns)
        if is_tuned:
            tuned = empty_tuned(block, splits)
            self.fill_tuned(call, tuning_of(block), tuned)
            check_values(block, tuned.values)
            return tuned_by_split(tuned, splits)
        values = empty_values(block, splits)
        self.fill(call, values)
        check_values(block, values)
        return scores_by_split(values, splits)

    def features(self, snapshot: Snapshot) -> np.ndarray | None:
        """Return what kernels compute on in the place of ``snapshot.X``.

        None leaves blocks to the reference estimator: these features are beyond the kernels.
        """
        return snapshot.X

    def keep(self, call: BlockCall, tuned: Tuned, choices: np.ndarray | None) -> None:
        """Fill a block, and keep what is said of the rows of constant test sets.

        Parameters
        ----------
        call
            The block.
        tuned
            Filled: its values have room for what is said, see `lcdb_builders.kernels.scores.kept`.
            Untuned blocks have values alone.
        choices
            Of tuned blocks, the index of the grid value chosen by the metric ``tuned.kept``, where
            that is known already.
        """
        if call.block.unit.tuning == "default":
            self.fill(call, tuned.values)
        else:
            self.fill_tuned(call, tuning_of(call.block), tuned)

    def fill(self, call: BlockCall, values: np.ndarray) -> None:
        """Fill (sizes, repetitions, splits, WIDTH) numbers of an untuned block.

        To the kernels of most families it is one with a grid of one value.
        """
        parameter = float(call.block.unit.parameters[str(self.tuned_parameter)])
        self.fill_tuned(call, *untuned(parameter, values))

    def fill_tuned(self, call: BlockCall, tuning: Tuning, tuned: Tuned) -> None:
        """Fill a tuned block; a family that has this sets `tunes`.

        Every cell holds out rows, scores the whole grid on them, chooses by metric and refits: the
        steps are in `lcdb_builders.kernels.core.holdout`. A cell must not depend on which others
        are computed with it, and chooses what the loop chooses. `fixed` and `pool` share fits and
        choices.

        Parameters
        ----------
        call
            The block.
        tuning
            Grid, tie rule and stream.
        tuned
            Values, choices and flags, all to be filled.
        """
        msg = f"{self.name} has no kernel for tuned blocks"
        raise NotImplementedError(msg)
