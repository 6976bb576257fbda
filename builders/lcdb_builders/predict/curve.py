"""Learning curves of the user's own data, in memory: no plan, no folder."""

from __future__ import annotations

import hashlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

import numpy as np
import xarray as xr

from lcdb.digests import draws_key
from lcdb.errors import (
    ArgumentError,
    DatasetWarning,
    LabelError,
    PartialCurveWarning,
    did_you_mean,
)
from lcdb.schema import SAMPLINGS, SCALINGS
from lcdb_builders.domain.lost import Lost, told_lost
from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.domain.unit import Unit, canonical_json
from lcdb_builders.learners.base import Learner
from lcdb_builders.predict.cells import ByEstimator, ByKernel, Computed, Piece, Split, names_of
from lcdb_builders.predict.estimators import learner_of
from lcdb_builders.predict.metrics import Measure, measures_of
from lcdb_builders.predict.own_data import OwnData, own_data, scaled
from lcdb_builders.predict.spending import (
    Pieces,
    compile_first,
    deadline_of,
    spend,
    whole,
    workers_of,
)
from lcdb_builders.run.progress import Lines, Progress, Silent, Words, choose

__all__ = ["curve_of", "learning_curve"]

ROWS = ("test", "train")
DRAWN = ("varying", "fixed")
#: What stands for a value that was not computed, by the kind of numbers.
_NOTHING = {"f": np.nan, "i": -1}
#: What is kept of each row, and its dims after n and repetition.
_SAID = {
    "probability": (("row", "class"), "predicted probability of each class"),
    "label": (("row",), "predicted class code, -1 of rows that were not tested"),
}
_WORDS = Words("learning", "cells", "to compute")
_WHY = {"budget": "the budget was over", "interrupted": "it was interrupted"}
# How many columns a warning names.
_COLUMNS = 5
_TIMES = {"fit_time": "time to fit", "score_time": "time to predict and score test rows"}


def learning_curve(
    learner: Any,
    X: Any,
    y: Any,
    *,
    sizes: int | Sequence[int] = 30,
    repetitions: int = 200,
    sampling: str = "random",
    split: Any = "varying",
    metrics: Any = None,
    rows: str | Sequence[str] = ("test",),
    predictions: bool = False,
    scaling: str = "none",
    seed: int = 0,
    workers: int | None = None,
    budget: str | float | None = None,
    progress: bool | Progress | None = None,
) -> xr.Dataset:
    """Return the learning curve of a classifier on one's own data, as a distribution at each size.

    Nothing is written to disk. The same arguments give the same numbers, whatever the workers; the
    same data and seed give every learner the same training and test rows, so that curves can be
    compared cell by cell.

    Parameters
    ----------
    learner
        A name such as ``"LDC"``, whose cells kernels compute; or a classifier with scikit-learn's
        interface, a pipeline included, or its import path (``"sklearn.svm.SVC"``). It is copied,
        and its random state, where none is set, drawn for each cell.
    X
        Features: an array or a DataFrame. A classifier is given rows of it as they are; for names,
        categories become codes and missing cells the median or mode.
    y
        Labels of any kind that can be sorted.
    sizes
        Sizes of training sets, or how many of them: log-spaced from 1 to 0.7 of the rows.
    repetitions
        How many training sets of each size.
    sampling
        ``"random"`` (each size draws its own), ``"additive"`` (each holds the smaller one before)
        or ``"bootstrap"`` (with replacement).
    split
        ``"varying"``: what was not drawn is tested on. ``"fixed"``: 0.3 of the rows, always the
        same. Or a splitter of scikit-learn, or a list of (training rows, test rows): repetition i
        is split i, and its training sets are the first n of its rows.
    metrics
        Names or functions ``f(y, label, probability, weight)``; None for accuracy, AUC, Brier score
        and cross-entropy.
    rows
        What is scored: ``"test"`` rows, ``"train"`` rows or both; scores of training rows are
        variables ``train_<metric>``.
    predictions
        Whether to keep what each model says of each test row, for `lcdb.analysis.bias_variance` and
        `lcdb.analysis.hardness`: 8 bytes for each size, repetition, row and class.
    scaling
        ``"none"``, ``"standard"`` or ``"minmax"``, the same for all cells, with the constants of
        the rows that ``fixed`` trains on. To scale by each training set, use a pipeline.
    seed
        Of everything random.
    workers
        How many cells at once; all cores unless given.
    budget
        Seconds, or a text such as ``"60s"`` or ``"5min"``: as many repetitions as there is time
        for, at most `repetitions`, all sizes alike. It bounds all that is done, the start of
        processes and what comes before the first cell included, and is kept to a second.
    progress
        True for a bar (or lines in a log), False for nothing; None for a bar where somebody looks.

    Returns
    -------
    xarray.Dataset
        A variable for each metric, with dims ``n`` and ``repetition``; what was not computed is
        NaN. For classifiers also ``fit_time`` and ``score_time`` in seconds. The attribute
        ``ended`` is complete, budget or interrupted: Ctrl-C returns what is there.

    Warns
    -----
    DatasetWarning
        Missing cells were filled, or columns without values left out: for names, and for scaling.
    PartialCurveWarning
        A classifier failed in some cells, or has no scores to rank by; or a budget or Ctrl-C left
        no cell of some sizes, or none at all.

    Examples
    --------
    >>> import lcdb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = lcdb.learning_curve("LDC", X, y, sizes=[5, 20, 100], repetitions=50)
    >>> curve.accuracy.mean("repetition").values.round(2)
    array([0.7 , 0.95, 0.98])
    >>> tree = lcdb.learning_curve(DecisionTreeClassifier(), X, y, sizes=[20], repetitions=5,
    ...                            metrics=["accuracy", "mcc"], rows=["test", "train"])
    >>> float(tree.train_mcc.min())
    1.0
    """
    deadline = deadline_of(budget)
    own = own_data(X, y)
    return curve_of(
        learner_of(learner, own.classes),
        own,
        sizes=sizes,
        repetitions=repetitions,
        sampling=sampling,
        split=split,
        metrics=metrics,
        rows=rows,
        predictions=predictions,
        scaling=scaling,
        seed=seed,
        workers=workers,
        deadline=deadline,
        progress=progress,
    )


def curve_of(
    learner: Learner,
    own: OwnData,
    *,
    sizes: int | Sequence[int] = 30,
    repetitions: int = 200,
    sampling: str = "random",
    split: Any = "varying",
    metrics: Any = None,
    rows: str | Sequence[str] = ("test",),
    predictions: bool = False,
    scaling: str = "none",
    seed: int = 0,
    workers: int | None = None,
    deadline: float | None = None,
    progress: bool | Progress | None = None,
) -> xr.Dataset:
    """Return the learning curve of a learner on a dataset; see `learning_curve`.

    Parameters
    ----------
    learner, own
        Who learns what.
    sizes, repetitions, sampling, split, metrics, rows, predictions, scaling
        As `learning_curve` takes them.
    seed, workers, progress
        As `learning_curve` takes them.
    deadline
        When its budget is over, see `deadline_of`; None for never.
    """
    _check_name("sampling", sampling, SAMPLINGS)
    _check_name("scaling", scaling, SCALINGS)
    count = whole("repetitions", repetitions, 1)
    splits = None if isinstance(split, str) else _splits(split, own, count)
    asked = _Asked(
        learner,
        own,
        measures_of(metrics, own.class_names),
        _rows(rows),
        sampling,
        whole("seed", seed, 0),
        splits,
        predictions,
    )
    if splits is None:
        _check_name("split", split, DRAWN)
        label = cast(str, split)
        top = largest_size(len(own.y))
    else:
        if scaling != "none":
            msg = f"scaling is {scaling!r}, which a given split cannot have: scale in a pipeline"
            raise ArgumentError(msg)
        count, label = len(splits), type(split).__name__
        top = min(len(train) for train, _ in splits)
    n = _sizes(sizes, top)
    threads = workers_of(workers)
    used = scaled(own, scaling, asked.seed)
    if not learner.foreign or (used.coded and used.given is used.coded.X):
        _warn_of_filled(own)
    work = asked.work(n, label, used)
    result = _Result(n, count, work.variables)
    shown = choose(_is_watched() if progress is None else progress, words=_WORDS, until=deadline)
    if isinstance(work, ByKernel):
        # In a script, where nobody is shown how far it is, this is told all the same.
        quiet = progress is None and isinstance(shown, Silent)
        compile_first(work.unit, (Lines(sys.stderr) if quiet else shown).tell, deadline)
    ended = spend(
        work,
        Pieces(len(n), count),
        result.keep,
        workers=threads,
        deadline=deadline,
        progress=shown,
        processes=isinstance(work, ByEstimator) or not work.numbers_suffice,
    )
    return result.dataset(asked, work.unit, scaling, ended, top)


@dataclass(frozen=True)
class _Asked:
    """Who learns what, and what is measured."""

    learner: Learner
    own: OwnData
    measures: tuple[Measure, ...]
    rows: tuple[str, ...]
    sampling: str
    seed: int
    splits: list[Split] | None = None
    predictions: bool = False

    @property
    def drawn_by(self) -> object:
        """What training and test rows are drawn by: the seed, or the splits that were given."""
        if self.splits is None:
            return self.seed
        digest = hashlib.sha256()
        for rows in itertools.chain.from_iterable(self.splits):
            digest.update(len(rows).to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(rows, "<i8").tobytes())
        return f"splits {digest.hexdigest()[:12]}"

    def work(self, n: tuple[int, ...], split: str, own: OwnData) -> ByKernel | ByEstimator:
        """Return what computes cells: kernels where they have what is asked for."""
        learner, splits = self.learner, self.splits
        snapshot = own.as_given() if learner.foreign else own.numbers
        unit = Unit(
            dataset=snapshot.id,
            dataset_sha256=own.key,
            seed=self.seed,
            learner=learner.name,
            estimator="",
            params="{}" if learner.foreign else canonical_json(learner.complete({})),
            implementation=learner.implementation,
            sampling=self.sampling if splits is None else "given",
            split=split,
            tuning="default",
            tuning_rule="",
            sizes=n,
        )
        if not learner.foreign and splits is None:
            return ByKernel(
                learner, snapshot, unit, self.measures, self.rows, own.classes, self.predictions
            )
        return ByEstimator(
            learner,
            snapshot,
            unit,
            self.measures,
            self.rows,
            own.classes,
            splits,
            timed=learner.foreign,
            kept=self.predictions,
        )


class _Result:
    """What has been computed so far."""

    def __init__(self, n: tuple[int, ...], repetitions: int, names: Iterable[str]) -> None:
        self.n = n
        self.done = np.zeros((len(n), repetitions), bool)
        self.values = {name: np.full(self.done.shape, np.nan) for name in names}
        self.lost: list[Lost] = []

    def keep(self, piece: Piece, computed: Computed) -> None:
        """Put the values of a piece in their place."""
        place = slice(piece.first_size, piece.stop_size), slice(piece.first, piece.stop)
        for name, values in computed.values.items():
            if name not in self.values:  # what is kept of rows
                shape, nothing = (*self.done.shape, *values.shape[2:]), _NOTHING[values.dtype.kind]
                self.values[name] = np.full(shape, nothing, values.dtype)
            self.values[name][place] = values
        self.done[place] = True
        self.lost += computed.lost

    def dataset(self, asked: _Asked, unit: Unit, scaling: str, ended: str, top: int) -> xr.Dataset:
        """Return everything with labels, as a curve of a database has them.

        Parameters
        ----------
        asked, unit
            What was computed.
        scaling
            Of the features.
        ended
            Why it ended, as `spend` says it.
        top
            The largest training set there is, of which sizes are shares.
        """
        # Without a cell there still is a repetition: arrays without any are nothing to plot.
        reached = int(np.flatnonzero(self.done.any(axis=0)).max(initial=0)) + 1
        attrs = {name: one.attrs for name, _, one in names_of(asked.measures, asked.rows)}
        attrs |= {
            name: {"long_name": text, "units": "s", "direction": "minimize"}
            for name, text in _TIMES.items()
        }
        attrs |= {name: {"long_name": text, "units": "1"} for name, (_, text) in _SAID.items()}
        dims = {name: _SAID[name][0] if name in _SAID else () for name in self.values}
        variables: dict[str, Any] = {
            name: (
                ("n", "repetition", *dims[name]),
                values[:, :reached],
                _described(name, attrs[name]),
            )
            for name, values in self.values.items()
        }
        whole = bool(self.done[:, :reached].all())
        n = np.array(self.n, np.int32)
        share = {"long_name": "training set size as a share of the largest", "units": "1"}
        coords: Mapping[Any, Any] = {
            "n": ("n", n, {"units": "1", "long_name": "size of the training set"}),
            "fraction": ("n", n / top, share),
            "repetition": (
                "repetition",
                np.arange(reached, dtype=np.int32),
                {"units": "1", "long_name": "repetition"},
            ),
            "learner": unit.learner,
            "sampling": unit.sampling,
            "split": unit.split,
            "tuning": unit.tuning,
            "status": "complete" if whole else "partial",
            "dataset": asked.own.name,
            "scaling": scaling,
            "draws": draws_key(unit.dataset_sha256, asked.drawn_by),
        }
        if asked.predictions:
            own = asked.own
            variables["y"] = ("row", own.y, {"long_name": "true class code", "units": "1"})
            coords = {**coords, "row": np.arange(len(own.y)), "class": list(own.class_names)}
        if self.lost:
            msg = f"{unit.learner}: {told_lost(self.lost)}"
            warnings.warn(msg, PartialCurveWarning, stacklevel=5)
        left_out = self._left_out()
        if left_out:
            msg = f"{unit.learner}: {_WHY[ended]} before {left_out}"
            warnings.warn(msg, PartialCurveWarning, stacklevel=5)
        more = {
            "dataset_name": asked.own.name,
            "scaling": scaling,
            "master_seed": asked.seed,
            "dataset_sha256": unit.dataset_sha256,
            "implementation": getattr(asked.learner, "described", unit.implementation),
            "ended": ended,
            "lost": told_lost(self.lost) if self.lost else "",
        }
        return xr.Dataset(variables, coords, more)

    def _left_out(self) -> str:
        """Return in words of which sizes not a single cell was computed; empty if of none."""
        never = [n for n, done in zip(self.n, self.done, strict=True) if not done.any()]
        if len(never) == len(self.n):
            return f"the first of {self.done.size} cells was computed: there is no value at all"
        sizes = ", ".join(map(str, never[:5])) + (", ..." if len(never) > 5 else "")
        return f"{len(never)} of {len(self.n)} sizes had a cell: n = {sizes}" if never else ""


def _described(name: str, attrs: Mapping[str, Any]) -> dict[str, Any]:
    if not name.startswith("train_"):
        return dict(attrs)
    return {**attrs, "long_name": f"{attrs['long_name']}, of training rows"}


def _warn_of_filled(own: OwnData) -> None:
    """Warn of cells that were filled, and of columns without values, where numbers are used."""
    origin = own.numbers.origin
    empty = origin.get("empty_columns", ())
    if empty and own.given is not own.numbers.X:  # of a file, its reader has warned
        msg = f"{own.name}: no row has a value in {', '.join(map(repr, empty))}; left out"
        warnings.warn(msg, DatasetWarning, stacklevel=5)
    filled = origin.get("imputed", {})
    if filled:
        each = [f"{name}: {fact['cells']} by its {fact['by']}" for name, fact in filled.items()]
        several = "; ".join(each[:_COLUMNS]) + ("; ..." if len(each) > _COLUMNS else "")
        msg = (
            f"{own.name}: {origin['imputed_cells']} missing cells were filled by values of all "
            f"rows, test rows included ({several}); to fill them by each training set, give a "
            "pipeline with SimpleImputer and the rows as they are"
        )
        warnings.warn(msg, DatasetWarning, stacklevel=5)


# -- what was asked for ----------------------------------------------------------------------------


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or sys.stderr.isatty()


def _check_name(what: str, name: object, known: Iterable[str]) -> None:
    if name not in tuple(known):
        msg = f"{what} {name!r} does not exist.{did_you_mean(name, known)}"
        raise LabelError(msg)


def _rows(rows: str | Sequence[str]) -> tuple[str, ...]:
    several = (rows,) if isinstance(rows, str) else tuple(rows)
    for one in several:
        _check_name("rows", one, ROWS)
    if not several:
        msg = "rows is empty; expected 'test', 'train' or both"
        raise ArgumentError(msg)
    return tuple(one for one in ROWS if one in several)


def _sizes(sizes: int | Sequence[int], top: int) -> tuple[int, ...]:
    """Return sizes in ascending order; a number of them is log-spaced from 1 to the largest."""
    if isinstance(sizes, Integral):
        count = whole("sizes", sizes, 1)
        if count == 1:
            return (top,)
        return tuple(sorted({round(top ** (i / (count - 1))) for i in range(count)}))
    listed = sorted({whole("a size", n, 1) for n in np.asarray(sizes).ravel().tolist()})
    if not listed or listed[-1] > top:
        asked = f"goes to {listed[-1]}" if listed else "is empty"
        msg = f"sizes {asked}; expected sizes from 1 to {top}, the largest training set there is"
        raise ArgumentError(msg)
    return tuple(listed)


def _splits(split: Any, own: OwnData, repetitions: int) -> list[Split]:
    """Return the training and test rows of a splitter, or of a list of them, as given."""
    make: Callable[..., Iterable[Any]] | None = getattr(split, "split", None)
    if make is None and not isinstance(split, Iterable):
        msg = (
            f"split is {split!r}; expected 'varying', 'fixed', a splitter of scikit-learn, or a "
            "list of (training rows, test rows)"
        )
        raise ArgumentError(msg)
    pairs = split if make is None else make(own.given, own.classes[own.y])
    kept: list[Split] = []
    for pair in pairs:
        train, test = (_row_numbers(part) for part in pair)
        if not len(train) or not len(test):
            msg = (
                f"split {len(kept)} has {len(train)} training and {len(test)} test rows; expected "
                "some of both"
            )
            raise ArgumentError(msg)
        kept.append((train, test))
        if len(kept) == repetitions:
            break
    if not kept:
        msg = "split gives no (training rows, test rows); expected at least one"
        raise ArgumentError(msg)
    return kept


def _row_numbers(rows: Any) -> np.ndarray:
    """Return the numbers of rows that are given by number, or by a mask of all rows."""
    given = np.asarray(rows)
    return np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)
