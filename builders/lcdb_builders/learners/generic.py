"""Any scikit-learn classifier as a learner: named in a plan by its import path.

Importing a class runs code. Only public modules of scikit-learn are imported unless the caller
passes ``allow_import=True``, and `load_class` is the one place where a path becomes a class, so
every way to a learner (plan, journal, downloaded cube) passes the check.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.metadata import packages_distributions, version
from typing import Any, ClassVar

from lcdb.errors import ImportRefusedError, LabelError, PlanError, did_you_mean
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.streams import StreamKey, stream
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners.base import Learner, Parameter, Scores
from lcdb_builders.reference.block import reference_block

__all__ = ["GenericLearner", "load_class"]


_NOT_PUBLIC = {"conftest", "externals", "tests"}


def _is_public_sklearn(path: str) -> bool:
    first, *rest = path.split(".")
    private = any(part.startswith("_") or part in _NOT_PUBLIC for part in rest)
    return first == "sklearn" and len(rest) >= 2 and not private


def load_class(path: str, *, allow_import: bool) -> type:
    """Return the classifier class of an import path.

    Parameters
    ----------
    path
        ``package.module.Class``.
    allow_import
        Allow packages other than scikit-learn.

    Examples
    --------
    >>> load_class("sklearn.tree.DecisionTreeClassifier", allow_import=False).__name__
    'DecisionTreeClassifier'
    >>> load_class("os.path.join", allow_import=False)
    Traceback (most recent call last):
    ...
    lcdb.errors.ImportRefusedError: the estimator 'os.path.join' is not a public class of \
scikit-learn, and importing it would run code; if you trust it, say so with --allow-import \
(allow_import=True)
    """
    trusted = _is_public_sklearn(path)
    if not trusted and not allow_import:
        msg = (
            f"the estimator {path!r} is not a public class of scikit-learn, and importing it would "
            "run code; if you trust it, say so with --allow-import (allow_import=True)"
        )
        raise ImportRefusedError(msg)
    module_name, _, class_name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        msg = f"the estimator {path!r} cannot be imported: {error}; expected package.module.Class"
        raise PlanError(msg) from error
    found = getattr(module, class_name, None)
    if found is None:
        hint = did_you_mean(class_name, [name for name in dir(module) if name[:1].isupper()])
        msg = f"the estimator {path!r} does not exist: no {class_name!r} in {module_name}.{hint}"
        raise PlanError(msg)
    # A module of scikit-learn also holds what it imported from elsewhere.
    foreign = trusted and not str(getattr(found, "__module__", "")).startswith("sklearn.")
    if foreign or not isinstance(found, type) or not hasattr(found, "get_params"):
        msg = f"the estimator {path!r} is not a scikit-learn classifier class"
        raise PlanError(msg)
    return found


def _implementation(cls: type) -> str:
    """Return what the numbers of a foreign class depend on: its package and scikit-learn."""
    root = cls.__module__.split(".")[0]
    named = {"sklearn": version("scikit-learn")}
    if root not in named:
        distributions = packages_distributions().get(root, [])
        named[root] = version(distributions[0]) if distributions else "unknown"
    return "generic-2," + ",".join(f"{name}-{named[name]}" for name in sorted(named))


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold a value."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)


class GenericLearner(Learner):
    """A classifier with scikit-learn's interface, under a plan's own label.

    Parameters
    ----------
    name
        Label in plans and cubes.
    path
        Import path of the class.
    allow_import
        Allow classes from elsewhere than scikit-learn.

    Examples
    --------
    >>> knn = GenericLearner("KNN", "sklearn.neighbors.KNeighborsClassifier")
    >>> knn.complete({"n_neighbors": 3})["n_neighbors"]
    3
    """

    parameters: ClassVar[Mapping[str, Parameter]] = {}

    def __init__(self, name: str, path: str, *, allow_import: bool = False) -> None:
        self.name = name
        self.path = path
        self.cls = load_class(path, allow_import=allow_import)
        self.implementation = _implementation(self.cls)
        self._check_name()

    def _check_name(self) -> None:
        if not self.name or not all(c.isalnum() or c in "_+." for c in self.name):
            msg = f"the label {self.name!r} of {self.path} may hold letters, digits, '_', '+', '.'"
            raise LabelError(msg)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default parameters of the class."""
        try:
            return self.cls().get_params(deep=False)
        except TypeError as error:
            msg = f"learners.{self.name}: {self.path} cannot be made without arguments ({error})"
            raise PlanError(msg) from error

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given parameters and all defaults that JSON can hold, after checking them."""
        for key in params:
            if key not in self.defaults:
                hint = did_you_mean(key, self.defaults)
                msg = f"learners.{self.name}.{key} is not a parameter of {self.path}.{hint}"
                raise PlanError(msg)
        self._refuse(params)
        full = {key: value for key, value in self.defaults.items() if _is_plain(value)}
        full |= dict(params)
        from sklearn.base import is_classifier

        estimator = self.cls(**full)
        if not is_classifier(estimator):
            msg = f"learners.{self.name}.estimator is {self.path!r}; expected a classifier"
            raise PlanError(msg)
        self._check_values(estimator)
        return full

    def _refuse(self, params: Mapping[str, Any]) -> None:
        if params.get("n_jobs") not in (None, 1):
            msg = (
                f"learners.{self.name}.n_jobs is {params['n_jobs']!r}; expected 1: "
                "the builder runs one process per core (use --workers)"
            )
            raise PlanError(msg)
        if params.get("decision_function_shape") not in (None, "ovr"):
            msg = (
                f"learners.{self.name}.decision_function_shape is "
                f"{params['decision_function_shape']!r}; expected 'ovr': one score per class"
            )
            raise PlanError(msg)

    def _check_values(self, estimator: Any) -> None:
        # Classes from elsewhere inherit the check, but need not declare what it checks.
        if not hasattr(estimator, "_parameter_constraints"):
            return
        try:
            estimator._validate_params()
        except ValueError as error:
            msg = f"learners.{self.name}: {error}"
            raise PlanError(msg) from error

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return the unfitted estimator of one cell, its random state drawn from the cell's stream.

        Parameters
        ----------
        snapshot
            The dataset.
        params
            Parameters, as `complete` returns them.
        **cell
            ``key``, ``n`` and ``repetition`` of the learner's random stream.
        """
        chosen = dict(params)
        seedless = "random_state" in self.defaults and chosen.get("random_state") is None
        if seedless and cell:
            chosen["random_state"] = random_state(cell["key"], cell["n"], cell["repetition"])
        from lcdb_builders.reference.generic import Generic

        return Generic(self.cls(**chosen))

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Return the scores of a block by split: one fitted estimator per cell."""
        return reference_block(self, snapshot, block, splits)


def random_state(key: StreamKey, n: int, repetition: int) -> int:
    """Return 32 bits of a cell's stream, as scikit-learn takes seeds."""
    return int(stream(key, n, repetition).random_raw()) >> 32
