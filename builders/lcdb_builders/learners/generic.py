"""Any classifier with scikit-learn's interface as a learner: named in a plan, not written here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from lcdb.errors import LabelError, PlanError, did_you_mean
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.streams import StreamKey, stream
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners.base import Learner, Parameter, Scores
from lcdb_builders.learners.constructing import (
    COLUMNS,
    SEEDS,
    STEPS,
    THREADS,
    accepted,
    columns_of,
    defaults_of,
    is_plain,
    quiet_names,
    seed_nested,
    step_names,
)
from lcdb_builders.learners.imported import FileFinder, file_of, load_class, source_of
from lcdb_builders.reference.block import reference_block

__all__ = ["GenericLearner", "seeds_of"]


class GenericLearner(Learner):
    """A classifier with scikit-learn's interface, or a pipeline, under a plan's own label.

    Parameters
    ----------
    name
        Label in plans and cubes.
    path
        Import path of the class, ``file.py:Class``, or those of a pipeline's steps with `STEPS`
        between them.
    allow_import
        Allow classes from elsewhere than scikit-learn.
    files
        Says where the file of a class is.

    Examples
    --------
    >>> knn = GenericLearner("KNN", "sklearn.neighbors.KNeighborsClassifier")
    >>> knn.complete({"n_neighbors": 3})["n_neighbors"]
    3
    >>> path = "sklearn.preprocessing.StandardScaler | sklearn.neighbors.KNeighborsClassifier"
    >>> GenericLearner("SKNN", path).complete({})["kneighborsclassifier__n_neighbors"]
    5
    """

    parameters: ClassVar[Mapping[str, Parameter]] = {}
    foreign: ClassVar[bool] = True

    def __init__(
        self, name: str, path: str, *, allow_import: bool = False, files: FileFinder = Path
    ) -> None:
        self.name = name
        self.path = path
        paths = path.split(STEPS)
        self.classes = [load_class(one, allow_import=allow_import, files=files) for one in paths]
        self.files = {file_of(one): files(file_of(one)) for one in paths if file_of(one)}
        self.prefixes = [f"{step}__" for step in step_names(paths)] if len(paths) > 1 else [""]
        sources = {source_of(one, cls, files) for one, cls in zip(paths, self.classes, strict=True)}
        named = sorted({*sources, f"scikit-learn-{version('scikit-learn')}"} - {""})
        self.implementation = ",".join(["generic-3", *named])
        self._check_name()

    def _check_name(self) -> None:
        if not self.name or not all(c.isalnum() or c in "_+." for c in self.name):
            msg = f"the label {self.name!r} of {self.path} may hold letters, digits, '_', '+', '.'"
            raise LabelError(msg)

    @property
    def _steps(self) -> list[tuple[str, type]]:
        """Prefix of parameters and class of every step; of a single class the prefix is empty."""
        return list(zip(self.prefixes, self.classes, strict=True))

    # -- parameters ----------------------------------------------------------------------------

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default parameters of the classes."""
        defaults: dict[str, Any] = {}
        for prefix, cls in self._steps:
            try:
                listed = defaults_of(cls())
            except Exception as error:
                msg = (
                    f"learners.{self.name}: {cls.__name__} cannot be made without arguments "
                    f"({type(error).__name__}: {error})"
                )
                raise PlanError(msg) from error
            defaults |= {f"{prefix}{key}": value for key, value in listed.items()}
        return defaults

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given parameters and all defaults that JSON can hold, after checking them.

        Seeds and threads have no defaults: they are set where they are not given.
        """
        self._check_names(params)
        self._check_steps(params)
        self._refuse(params)
        full = {
            key: value
            for key, value in self.defaults.items()
            if is_plain(value) and _own(key) not in (*SEEDS, *THREADS)
        }
        full |= dict(params)
        self._check_classifier(self._make(full))
        return full

    def _check_names(self, params: Mapping[str, Any]) -> None:
        """Raise unless all parameters are those of a step, as far as it lists them."""
        known: set[str] = set()
        for prefix, cls in self._steps:
            listed = [key.removeprefix(prefix) for key in self.defaults if key.startswith(prefix)]
            names, others = accepted(cls, listed)
            known |= {f"{prefix}{name}" for name in names}
            if prefix:
                known.add(f"{prefix}{COLUMNS}")
            if others:  # whether it knows them, its constructor must say
                known |= {key for key in params if key.startswith(prefix)}
        for key in params:
            if key not in known:
                hint = did_you_mean(key, known)
                msg = f"learners.{self.name}.{key} is not a parameter of {self.path}.{hint}"
                raise PlanError(msg)

    def _check_steps(self, params: Mapping[str, Any]) -> None:
        """Raise unless the steps for some columns come first, and another step follows them."""
        has = [f"{prefix}{COLUMNS}" in params for prefix in self.prefixes]
        if len(has) == 1:
            return
        if has[-1] or sorted(has, reverse=True) != has:
            msg = (
                f"learners.{self.name}.steps: steps with 'columns' are for columns of the dataset; "
                "expected them first, and a classifier after them"
            )
            raise PlanError(msg)

    def check_columns(self, params: Mapping[str, Any], snapshot: Snapshot) -> None:
        """Raise unless a dataset has the columns that parameters name."""
        try:
            for key in (f"{prefix}{COLUMNS}" for prefix in self.prefixes if prefix):
                if key in params:
                    columns_of(params[key], snapshot)
        except PlanError as error:
            msg = f"learners.{self.name}.{key}: {error}"
            raise PlanError(msg) from error

    def _refuse(self, params: Mapping[str, Any]) -> None:
        """Raise if parameters ask for threads, or for decision values of pairs of classes."""
        for key, value in params.items():
            if _own(key) in THREADS and value not in (None, 1):
                msg = (
                    f"learners.{self.name}.{key} is {value!r}; expected 1: "
                    "the builder runs one process per core (use --workers)"
                )
                raise PlanError(msg)
            if _own(key) == "decision_function_shape" and value not in (None, "ovr"):
                msg = (
                    f"learners.{self.name}.{key} is {value!r}; expected 'ovr': one score per class"
                )
                raise PlanError(msg)

    def _check_classifier(self, estimator: Any) -> None:
        """Raise unless the last step is a classifier, as far as it says what it is."""
        from sklearn.base import is_classifier, is_regressor

        last = self.classes[-1]
        tagged = hasattr(estimator, "__sklearn_tags__")
        if last.__module__.startswith("sklearn."):
            right = is_classifier(estimator)
        else:  # a class of one's own need not say what it is
            right = hasattr(last, "predict") and not (tagged and is_regressor(estimator))
        if not right:
            msg = f"learners.{self.name}.estimator is {self.path!r}; expected a classifier"
            raise PlanError(msg)

    # -- making one ----------------------------------------------------------------------------

    def _make(
        self, params: Mapping[str, Any], seeds: Any = None, snapshot: Snapshot | None = None
    ) -> Any:
        """Return the estimator, with its parameters checked by whatever checks them.

        Parameters
        ----------
        params
            Parameters of all steps.
        seeds
            What steps are seeded with; None for an estimator that is looked at and not fitted.
        snapshot
            The dataset, of which steps may be for some columns.
        """
        parts: list[tuple[str, Any, Any]] = []
        steps: list[tuple[str, Any]] = []
        for prefix, cls in self._steps:
            own = {
                key.removeprefix(prefix): value
                for key, value in params.items()
                if key.startswith(prefix)
            }
            columns = own.pop(COLUMNS, None) if prefix else None
            step = prefix.removesuffix("__"), self._make_step(cls, own, seeds)
            if columns is None:
                steps.append(step)
            else:
                parts.append((*step, columns_of(columns, snapshot) if snapshot else columns))
        if len(self.classes) == 1:
            estimator = steps[0][1]
        else:
            from sklearn.compose import ColumnTransformer
            from sklearn.pipeline import Pipeline

            if parts:
                together = ColumnTransformer(parts, remainder="passthrough", sparse_threshold=0)
                steps.insert(0, (COLUMNS, together))
            estimator = Pipeline(steps)
        if seeds is not None:
            seed_nested(estimator, seeds)
        return estimator

    def _make_step(self, cls: type, own: Mapping[str, Any], seeds: Any) -> Any:
        """Return a step with its parameters, of one thread and without messages."""
        names, _ = accepted(cls, self._listed(cls))
        extra: dict[str, Any] = {}
        if seeds is not None and all(own.get(name) is None for name in SEEDS):
            extra |= {name: next(seeds) for name in [one for one in SEEDS if one in names][:1]}
        if not cls.__module__.startswith("sklearn."):
            threads = [name for name in THREADS if name in names]
            if threads and all(own.get(name) is None for name in THREADS):
                extra[threads[0]] = 1
            extra |= quiet_names(names, own)
        try:
            estimator = cls(**{**own, **extra})
            # Classes from elsewhere inherit the check, but need not declare what it checks.
            if seeds is None and hasattr(estimator, "_parameter_constraints"):
                estimator._validate_params()
        except (TypeError, ValueError) as error:
            msg = f"learners.{self.name}: {error}"
            raise PlanError(msg) from error
        except Exception as error:
            if seeds is not None:
                raise
            msg = f"learners.{self.name}: {cls.__name__} says {type(error).__name__}: {error}"
            raise PlanError(msg) from error
        return estimator

    def _listed(self, cls: type) -> list[str]:
        place = self.classes.index(cls)
        prefix = self.prefixes[place]
        return [key.removeprefix(prefix) for key in self.defaults if key.startswith(prefix)]

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return the unfitted estimator of one cell, its seeds drawn from the cell's stream.

        Parameters
        ----------
        snapshot
            The dataset.
        params
            Parameters, as `complete` returns them.
        **cell
            ``key``, ``n`` and ``repetition`` of the learner's random stream.
        """
        from lcdb_builders.reference.generic import Generic

        if not cell:
            return Generic(self._make(params, snapshot=snapshot))
        where = cell["key"], cell["n"], cell["repetition"]
        made = self._make(params, seeds_of(*where), snapshot)
        return Generic(made, seed=next(seeds_of(*where, lane=1)))

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split: one fitted estimator per cell."""
        return reference_block(self, snapshot, block, splits)


def _own(key: str) -> str:
    """Return the name of a parameter without that of its step."""
    return key.rpartition("__")[2]


def seeds_of(key: StreamKey, n: int, repetition: int, lane: int = 0) -> Iterator[int]:
    """Yield seeds of a cell's stream: of 31 bits, which every package takes."""
    bits = stream(key, n, repetition, lane)
    while True:
        yield int(bits.random_raw()) >> 33
