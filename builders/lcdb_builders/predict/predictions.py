"""What stored cells predicted, and any metric of it: computed again, not stored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import xarray as xr

from lcdb.database import Database, Key
from lcdb.errors import (
    ArgumentError,
    LabelError,
    PartialCurveWarning,
    RecomputedWarning,
    did_you_mean,
)
from lcdb.schema import METRICS
from lcdb_builders.domain.lost import Lost, told_lost
from lcdb_builders.predict.cells import Computed, Piece
from lcdb_builders.predict.metrics import measures_of
from lcdb_builders.predict.spending import Pieces, spend, workers_of
from lcdb_builders.predict.stored import OFF, ROWS, Derived, Predicted, Refits, refits_of
from lcdb_builders.run.progress import Progress, Words, choose

__all__ = ["derive", "predictions"]

_WORDS = Words("computing again", "cells", "to compute again")


def predictions(
    database: Database,
    dataset: Key,
    learner: str,
    *,
    n: int,
    sampling: str = "random",
    split: str = "varying",
    tuning: str = "default",
    scaling: str = "none",
    repetitions: int | Sequence[int] | None = None,
    rows: str = "test",
    chosen_by: str = "accuracy",
    workers: int | None = None,
    progress: bool | Progress = False,
    allow_import: bool = False,
) -> xr.Dataset:
    """Return what the cells of a curve predicted at one size.

    Each cell is computed again as in the build, and its metrics on test rows are held to the stored
    numbers: on the type of machine that these come from, every bit; elsewhere within the tolerance
    of the learner, with a warning.

    Parameters
    ----------
    database, dataset, learner, sampling, split, tuning, scaling
        Which curve, as `Database.curve` takes them.
    n
        Size of the training sets.
    repetitions
        Which, or how many; all unless given.
    rows
        ``"test"``, ``"train"`` (the distinct training rows) or ``"all"``.
    chosen_by
        Of a tuned curve, which has a model for each metric: the metric whose choice is fitted.
    workers
        How many cells at once; all cores unless given.
    progress
        True for a bar, or lines in a log.
    allow_import
        Allow a classifier from elsewhere than scikit-learn. Importing it runs its code: never say
        so for a database that you do not trust.

    Returns
    -------
    xarray.Dataset
        ``probability`` (repetition, row, class), NaN for rows that were not asked about, and
        ``label`` (repetition, row), a class code, -1 for these; ``y`` (row), true codes; ``drawn``
        (repetition, row), how often a row is in the training set. The attribute
        ``largest_difference`` says by how much a stored metric was missed at most.

    Warns
    -----
    RecomputedWarning
        Stored numbers come from elsewhere, and here they are others within the tolerance.

    Raises
    ------
    CellError
        A cell computed again is not the stored one.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     predicted = db.predictions("iris", "LDC", n=40, repetitions=5)
    ...     stored = db.curve("iris", "LDC").sel(n=40, repetition=range(5))
    >>> right = (predicted.label == predicted.y).where(predicted.label >= 0)
    >>> bool(abs(right.mean("row") - stored).max() < 1e-12)
    True
    """
    labels = {"learner": learner, "sampling": sampling, "split": split, "tuning": tuning}
    if not isinstance(n, int | np.integer):
        msg = f"n is {n!r}; expected one size of a training set, a whole number"
        raise ArgumentError(msg)
    key = database.resolve(dataset, scaling)
    refits = _refits(database, key, labels, [int(n)], repetitions, rows, chosen_by, allow_import)
    made = Predicted(**_parts(refits))
    values, lost = _spent(made, workers, progress)
    snapshot = refits.snapshot
    coords: dict[str, Any] = {
        "repetition": np.array(refits.repetitions, np.int32),
        "row": np.arange(snapshot.rows),
        "class": list(snapshot.class_names),
        "n": int(n),
        **labels,
        "dataset": database.headers[key].id,
        "scaling": database.headers[key].scaling,
        "draws": str(database[key]["draws"].values),
    }
    result = xr.Dataset(
        {
            "probability": (("repetition", "row", "class"), values["probability"][0]),
            "label": (("repetition", "row"), values["label"][0]),
            "drawn": (("repetition", "row"), values["drawn"][0]),
            "y": ("row", snapshot.y),
        },
        coords,
    )
    return result.assign_attrs(_account(refits, values, lost, rows, chosen_by))


def derive(
    database: Database,
    dataset: Key,
    learner: str,
    metric: str | Callable[..., float],
    *,
    n: int | Sequence[int] | None = None,
    sampling: str = "random",
    split: str = "varying",
    tuning: str = "default",
    scaling: str = "none",
    repetitions: int | Sequence[int] | None = None,
    rows: str = "test",
    chosen_by: str | None = None,
    workers: int | None = None,
    progress: bool | Progress = False,
    allow_import: bool = False,
) -> xr.DataArray:
    """Return a curve of any metric, of cells that are computed again.

    Parameters
    ----------
    database, dataset, learner, sampling, split, tuning, scaling
        Which curve, as `Database.curve` takes them.
    metric
        A name (`lcdb_builders.predict.metrics`), or ``f(y, label, probability, weight)`` of class
        codes that returns a number.
    n
        Sizes; all of the curve unless given, which may take as long as its build.
    repetitions, workers, progress, allow_import
        As `predictions` takes them.
    rows
        ``"test"``, ``"train"`` (a row counts as often as it was drawn) or ``"all"``.
    chosen_by
        Of a tuned curve, whose choice is fitted: the metric's own where it is stored, else that of
        the accuracy.

    Returns
    -------
    xarray.DataArray
        Dims ``n`` and ``repetition``, as `Database.curve` returns them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     kappa = db.derive("iris", "LDC", "kappa", n=[20, 100], repetitions=10)
    ...     train = db.derive("iris", "LDC", "accuracy", n=20, repetitions=10, rows="train")
    >>> dict(kappa.sizes), float(kappa.mean()) > 0.9, float(train.min()) > 0.9
    ({'n': 2, 'repetition': 10}, True, True)
    """
    labels = {"learner": learner, "sampling": sampling, "split": split, "tuning": tuning}
    own = metric if isinstance(metric, str) and metric in METRICS else "accuracy"
    by = own if chosen_by is None else chosen_by
    sizes = [int(n)] if isinstance(n, int | np.integer) else n
    key = database.resolve(dataset, scaling)
    refits = _refits(database, key, labels, sizes, repetitions, rows, by, allow_import)
    (measure,) = measures_of([metric], refits.snapshot.class_names)
    values, lost = _spent(Derived(**_parts(refits), measure=measure), workers, progress)
    sizes_there = np.array(refits.sizes, np.int32)
    header = database.headers[key]
    coords: dict[str, Any] = {
        "n": ("n", sizes_there, {"units": "1", "long_name": "size of the training set"}),
        "fraction": ("n", sizes_there / header.largest_size),
        "repetition": np.array(refits.repetitions, np.int32),
        **labels,
        "status": "complete",
        "dataset": database.headers[key].id,
        "scaling": database.headers[key].scaling,
        "draws": str(database[key]["draws"].values),
    }
    if rows != "test":
        coords["rows"] = rows
    attrs = {**measure.attrs, "dataset_name": header.name}
    attrs |= _account(refits, values, lost, rows, by)
    dims = ("n", "repetition")
    return xr.DataArray(values[measure.name], coords, dims, measure.name, attrs)


def _refits(
    database: Database,
    dataset: Key,
    labels: dict[str, str],
    sizes: Sequence[int] | None,
    repetitions: int | Sequence[int] | None,
    rows: str,
    chosen_by: str,
    allow_import: bool,
) -> Refits:
    """Return the cells that are asked for, to be fitted again; names are checked.

    Parameters
    ----------
    database, dataset, labels
        Which curve; labels by dim.
    sizes, repetitions
        Which cells; all that are stored if None.
    rows
        One of `ROWS`.
    chosen_by
        Of a tuned curve, the metric whose choices are fitted.
    allow_import
        Allow classifiers from elsewhere than scikit-learn.
    """
    for what, name, known in (("rows", rows, ROWS), ("metric", chosen_by, METRICS)):
        if name not in known:
            msg = f"{what} {name!r} does not exist.{did_you_mean(name, known)}"
            raise LabelError(msg)
    return refits_of(
        database,
        dataset,
        labels,
        sizes=sizes,
        repetitions=repetitions,
        rows=rows,
        chosen_by=chosen_by,
        allow_import=allow_import,
    )


def _parts(refits: Refits) -> dict[str, Any]:
    return {one.name: getattr(refits, one.name) for one in fields(refits)}


def _spent(
    work: Refits, workers: int | None, progress: bool | Progress
) -> tuple[dict[str, np.ndarray], list[Lost]]:
    """Return the values of all cells, and why some are missing."""
    count = workers_of(workers)
    shape = len(work.sizes), len(work.repetitions)
    values = work.empty(shape) | {OFF: np.zeros(shape)}
    lost: list[Lost] = []

    def keep(piece: Piece, computed: Computed) -> None:
        place = slice(piece.first_size, piece.stop_size), slice(piece.first, piece.stop)
        for name, part in computed.values.items():
            values[name][place] = part
        lost.extend(computed.lost)

    ended = spend(
        work,
        Pieces(*shape),
        keep,
        workers=count,
        deadline=None,
        progress=choose(progress, words=_WORDS),
        processes=True,
    )
    if ended == "interrupted":
        raise KeyboardInterrupt
    return values, lost


def _account(
    refits: Refits, values: dict[str, np.ndarray], lost: list[Lost], rows: str, chosen_by: str
) -> dict[str, Any]:
    """Return attributes of a result, and warn of cells that are missing or differ.

    Parameters
    ----------
    refits
        The cells.
    values
        What was computed of them, by name; `OFF` among them.
    lost
        Why cells are missing.
    rows, chosen_by
        As they were asked for.
    """
    if lost:
        msg = f"{refits.unit.label}: {told_lost(lost)}"
        warnings.warn(msg, PartialCurveWarning, stacklevel=4)
    off = float(values[OFF].max())
    if off:
        msg = (
            f"{refits.unit.label}: computed again here, a stored number differs by {off:.2g} at "
            "most, which is within the tolerance of the learner: it comes from another type of "
            "machine or version"
        )
        warnings.warn(msg, RecomputedWarning, stacklevel=4)
    tuned = {"chosen_by": chosen_by} if refits.choices is not None else {}
    return {"rows": rows, "largest_difference": off, **tuned}
