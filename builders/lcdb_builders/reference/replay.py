"""One cell again, alone: its rows, its fitted reference estimator, its scores beside the stored.

A cell is computed twice: as the build computed it, through `Learner.block` on a block of one cell,
which must give the stored bits (a cell does not depend on those that it was computed with), and
with the reference estimator, which must agree to the learner's tolerance. Where one of them fails,
the replay says why.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lcdb.database import Database, Key
from lcdb.errors import DatasetError, LabelError, LCDBError, NotBuiltError, NotFoundError
from lcdb.naming import dataset_id
from lcdb.schema import METRICS, STATUSES, UNIT_DIMS
from lcdb.selection import positions
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.scaling import scaled
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Block, Unit
from lcdb_builders.experiments.replay import ReplayedTrial, replay_trials, stored_trials
from lcdb_builders.learners import registry
from lcdb_builders.learners.base import Learner
from lcdb_builders.reference.agreement import allowed
from lcdb_builders.reference.brought import Brought
from lcdb_builders.reference.cell import (
    Answers,
    LostCellError,
    answer_cell,
    fit_cell,
    training_rows,
)
from lcdb_builders.reference.replayed import SCORES, Replay
from lcdb_builders.reference.tuning import TuningRule, choices
from lcdb_builders.sources import obtain
from lcdb_builders.storage.contents import Contents
from lcdb_builders.storage.environment import environment, same_kind
from lcdb_builders.storage.manifest import Manifest
from lcdb_builders.threads import one_thread

__all__ = ["Replay", "Replayer", "recompute_cells", "redefined_curves", "replay"]


def replay(
    database: Database | str | os.PathLike[str],
    dataset: Key,
    learner: str,
    sampling: str,
    split: str,
    n: int,
    repetition: int,
    tuning: str = "default",
    *,
    scaling: str = "none",
    allow_import: bool = False,
) -> Replay:
    """Compute one cell of a database again and compare it with what is stored.

    Parameters
    ----------
    database
        A database, or its directory.
    dataset, learner, sampling, split, n, repetition, tuning, scaling
        Which cell.
    allow_import
        Allow a curve's classifier to come from elsewhere than scikit-learn. Importing it runs its
        code: never say so for a database that you do not trust.

    Raises
    ------
    RedefinedError
        It was computed by an earlier definition of its learner.
    LabelError, NotBuiltError, NotFoundError, DatasetError
        There is no such cell; it was not computed; its dataset cannot be had, or is another one.
    ImportRefusedError
        Its classifier is not one of scikit-learn.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     cell = replay(db, "iris", "LDC", "random", "varying", n=40, repetition=3)
    >>> len(cell.train_rows), len(cell.test_rows), cell.agrees
    (40, 110, True)
    >>> cell.estimator
    LDC()
    """
    if not isinstance(database, Database):
        with Database(database) as opened:
            return replay(
                opened, dataset, learner, sampling, split, n, repetition, tuning,
                scaling=scaling, allow_import=allow_import,
            )  # fmt: skip
    labels = dict(zip(UNIT_DIMS, (learner, sampling, split, tuning), strict=True))
    key = database.resolve(dataset, scaling)
    return Replayer(database, allow_import=allow_import).cell(key, labels, n, repetition)


def recompute_cells(
    root: str | os.PathLike[str], count: int, seed: int = 0, *, allow_import: bool = False
) -> Iterator[Replay | ReplayedTrial]:
    """Yield replays of random cells: of complete curves, and trials of experiments, equally likely.

    Curves of an earlier definition of their learner are left out: see `redefined_curves`.

    Parameters
    ----------
    root
        The database directory.
    count
        How many cells.
    seed
        Of the choice: the same seed takes the same cells.
    allow_import
        As for `replay`.

    Raises
    ------
    RedefinedError
        All curves are of earlier definitions.
    """
    rng = np.random.default_rng(seed)
    with Database(root) as database:
        replayer = Replayer(database, allow_import=allow_import)
        complete = [(key, unit) for key in database for unit in replayer.complete(key)]
        units = [(key, unit) for key, unit in complete if not registry.is_redefined(unit)]
        cells = [len(unit.sizes) * replayer.contents(key).repetitions for key, unit in units]
        parts = stored_trials(root)
        if complete and not units and not parts:
            registry.for_unit(complete[0][1])
        if not units and not parts:
            msg = f"{root} has no complete curve, and no trial, to recompute cells of"
            raise NotFoundError(msg)
        share = np.array(cells + [len(trials) for trials in parts.values()], float)
        places = rng.choice(len(share), size=count, p=share / share.sum())
        for place in places[places < len(units)]:
            key, unit = units[place]
            labels = {dim: getattr(unit, dim) for dim in UNIT_DIMS}
            n = int(rng.choice(unit.sizes))
            yield replayer.cell(
                key, labels, n, int(rng.integers(replayer.contents(key).repetitions))
            )
        for place, (part, trials) in enumerate(parts.items(), len(units)):
            chosen = rng.choice(trials, size=np.count_nonzero(places == place))
            yield from replay_trials(root, part, chosen.tolist())


def redefined_curves(root: str | os.PathLike[str]) -> dict[tuple[str, str], int]:
    """Count complete curves by learner and implementation that no code computes any more.

    Parameters
    ----------
    root
        The database directory.

    Examples
    --------
    >>> from lcdb.shipped import crossing
    >>> redefined_curves(crossing().path)
    {}
    """
    with Database(root) as database:
        replayer = Replayer(database, allow_import=False)
        units = [unit for key in database for unit in replayer.complete(key)]
    return dict(Counter((u.learner, u.implementation) for u in units if registry.is_redefined(u)))


class Replayer:
    """Replays cells of one database, keeping what cells have in common."""

    def __init__(self, database: Database, *, allow_import: bool) -> None:
        self.database = database
        self.allow_import = allow_import
        self._brought = Brought(database)
        self._contents: dict[Key, Contents] = {}
        self._snapshots: dict[Key, Snapshot] = {}

    @property
    def root(self) -> Path:
        """The database directory, or a folder for what was brought of one on a host."""
        return self._brought.root

    def contents(self, key: Key) -> Contents:
        """Return what the cube of a dataset says that it holds."""
        if key not in self._contents:
            self._contents[key] = Contents.from_attributes(self.database[key].attrs)
        return self._contents[key]

    def status(self, key: Key, unit: Unit) -> str:
        """Return the status of a curve."""
        header = self.database.headers[key]
        where = positions(header, {dim: getattr(unit, dim) for dim in UNIT_DIMS})
        return STATUSES[header.status[tuple(where.values())]]

    def complete(self, key: Key) -> list[Unit]:
        """Return the units of a cube that are complete."""
        units = [unit for unit in self.contents(key).units if unit.learner != DRAWS]
        return [unit for unit in units if self.status(key, unit) == "complete"]

    def unit(self, key: Key, labels: Mapping[str, str]) -> Unit:
        """Return the unit of labels, or raise with the closest ones."""
        header = self.database.headers[key]
        positions(header, labels)
        for unit in self.contents(key).units:
            if all(getattr(unit, dim) == label for dim, label in labels.items()):
                return unit
        msg = f"the curve {header.name}/{'/'.join(labels.values())} is in no plan of this database"
        raise NotBuiltError(msg)

    def snapshot(self, key: Key, unit: Unit) -> Snapshot:
        """Return the dataset that a unit was computed on."""
        if key not in self._snapshots:
            id = dataset_id(unit.dataset, unit.scaling)
            try:
                self._brought.bring("snapshots", f"{id}.json", f"{id}.npz")
                unscaled = snapshots.load(self.root / "snapshots", id)
            except NotFoundError as error:
                unscaled = self._obtained(id, error)
            if unscaled.sha256 != unit.dataset_sha256:
                msg = (
                    f"the dataset {id} at hand has the digest {unscaled.sha256[:12]}…, the "
                    f"curve was computed on {unit.dataset_sha256[:12]}…: these are other data"
                )
                raise DatasetError(msg)
            self._snapshots[key] = scaled(unscaled, unit.scaling, unit.seed)
        return self._snapshots[key]

    def _obtained(self, id: str, missing: NotFoundError) -> Snapshot:
        """Return a dataset that ships or was fetched before, in the place of a missing one."""
        if not id.isdecimal():
            raise missing
        try:
            return obtain(id, offline=True)
        except LCDBError:
            if self.database.host is None:
                raise
            raise missing from None

    @one_thread()
    def cell(self, dataset: Key, labels: Mapping[str, str], n: int, repetition: int) -> Replay:
        """Replay one cell."""
        key = self.database.resolve(dataset)
        unit = self.unit(key, labels)
        self._check_place(key, unit, n, repetition)
        learner = registry.for_unit(unit, allow_import=self.allow_import, root=self.root)
        snapshot = self.snapshot(key, unit)
        draws = unit.draws(snapshot)
        rows, test = training_rows(draws, n, repetition), draws.test(n, repetition)
        models: dict[str, Any] = {}
        answers: dict[str, Answers] = {}
        recomputed: dict[str, Any] = {}
        reference_failure = path_failure = ""
        try:
            models = _models(learner, snapshot, unit, rows, n, repetition)
            answers = {
                name: answer_cell(learner, model, snapshot, test) for name, model in models.items()
            }
        except LostCellError:
            models, answers = {}, {}  # as in the build: a cell without a value
        except (LCDBError, ArithmeticError, ValueError) as error:
            reference_failure = str(error)
        block = Block(unit, (n,), repetition, repetition + 1)
        try:
            scores = learner.block(snapshot, block, (unit.split,))[unit.split]
            recomputed = {name: values[0, 0] for name, values in scores.items()}
        except (LCDBError, ArithmeticError, ValueError) as error:
            path_failure = str(error)
        names = list(recomputed) or list(SCORES)
        return Replay(
            unit=unit,
            n=n,
            repetition=repetition,
            train_rows=rows,
            test_rows=test,
            snapshot=snapshot,
            estimators=models,
            reference={} if reference_failure else _reference(answers),
            recomputed=recomputed,
            stored=self._stored(key, unit, names, n, repetition),
            tolerance={} if reference_failure else _tolerances(learner, unit, answers),
            expects_same_bits=self.expects_same_bits(unit, learner),
            path_failure=path_failure,
            reference_failure=reference_failure,
        )

    def _check_place(self, key: Key, unit: Unit, n: int, repetition: int) -> None:
        status, repetitions = self.status(key, unit), self.contents(key).repetitions
        if status not in ("complete", "partial"):
            msg = f"the curve {unit.label} has nothing stored: its status is {status!r}"
            raise NotBuiltError(msg)
        if n not in unit.sizes:
            span = f"{len(unit.sizes)} sizes from {unit.sizes[0]} to {unit.sizes[-1]}"
            msg = f"n = {n} is not a size of {unit.label}; expected one of its {span}"
            raise LabelError(msg)
        if not 0 <= repetition < repetitions:
            msg = f"repetition {repetition} is not in {unit.label}; expected 0 to {repetitions - 1}"
            raise LabelError(msg)

    def _stored(
        self, key: Key, unit: Unit, names: list[str], n: int, repetition: int
    ) -> dict[str, Any]:
        dataset = self.database[key]
        values = {}
        for name in names:
            array = dataset[name]
            where = {dim: getattr(unit, dim) for dim in UNIT_DIMS if dim in array.dims}
            values[name] = array.sel(where).sel(n=n, repetition=repetition).to_numpy()[()]
        return values

    def expects_same_bits(self, unit: Unit, learner: Learner) -> bool:
        """Whether stored numbers come from this implementation, and only from such machines."""
        if learner.implementation != unit.implementation:
            return False
        try:
            self._brought.bring("manifest", f"{unit.dataset}.json")
        except LCDBError:
            return False
        entry = Manifest.read(self.root, unit.dataset).current
        known = entry.by_unit.get(unit) if entry is not None else None
        machine = environment()
        return known is not None and all(same_kind(machine, other) for other in known.computed_on)


def _models(
    learner: Learner, snapshot: Snapshot, unit: Unit, rows: np.ndarray, n: int, repetition: int
) -> dict[str, Any]:
    """Return fitted reference estimators by metric.

    Parameters
    ----------
    learner, snapshot, unit
        What is fitted, on which data, with which parameters.
    rows
        Indices of the rows for training.
    n, repetition
        Which cell.
    """
    if unit.tuning != "tuned":
        model = fit_cell(learner, snapshot, unit, rows, n, repetition)
        return dict.fromkeys(METRICS, model)
    rule = TuningRule.of(unit)
    chosen = choices(learner, snapshot, unit, unit.draws(snapshot), n, repetition)
    fitted: dict[int, Any] = {}
    for index, _ in chosen.values():
        if index not in fitted:
            params = {**unit.parameters, rule.parameter: rule.grid[index]}
            fitted[index] = fit_cell(learner, snapshot, unit, rows, n, repetition, params)
    return {name: fitted[index] for name, (index, _) in chosen.items()}


def _source(name: str) -> str:
    """Return the metric whose estimator a score comes from."""
    return "cross_entropy" if name == "n_clipped" else name


def _reference(answers: Mapping[str, Answers]) -> dict[str, float]:
    if not answers:
        return dict.fromkeys(METRICS, float("nan")) | {"n_clipped": 0.0}
    return {name: getattr(answers[_source(name)].metrics, name) for name in SCORES}


def _tolerances(learner: Learner, unit: Unit, answers: Mapping[str, Answers]) -> dict[str, float]:
    if not answers:
        return dict.fromkeys(SCORES, 0.0)
    tolerance = learner.score_tolerance(unit.parameters)
    return {name: allowed(answers[_source(name)], tolerance)[name] for name in SCORES}
