"""Who computes what: learners by the label that plans and cubes use.

Built-in learners come first; others are found through the entry point group ``lcdb.learners``,
whose entries name a `Learner` subclass (or an instance); a plan can also name any scikit-learn
classifier under a label of its own.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from lcdb.errors import LabelError, PlanError, did_you_mean
from lcdb.schema import LEARNERS
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.generic import GenericLearner

__all__ = ["GROUP", "for_unit", "get", "names"]

GROUP = "lcdb.learners"

_FAMILIES = {
    "NMC": "gaussian",
    "LDC": "gaussian",
    "QDC": "gaussian",
    "NNC": "neighbours",
    "LREG": "linear",
    "LSVC": "linear",
    "GSVC": "svm",
    "DT": "trees",
    "RFOR": "trees",
    "ADAB": "trees",
}


def _installed() -> dict[str, EntryPoint]:
    """Return what other packages register; the built-in names stay what SPEC says they are."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: point for name, point in sorted(found.items()) if name not in _FAMILIES}


def names() -> tuple[str, ...]:
    """Return the labels of all registered learners, the ten built-in ones first.

    Examples
    --------
    >>> names()[:4]
    ('NMC', 'LDC', 'QDC', 'NNC')
    """
    return LEARNERS + tuple(_installed())


@cache
def _builtin(name: str) -> Learner:
    module = importlib.import_module(f"lcdb_builders.learners.{_FAMILIES[name]}")
    return getattr(module, name)()


def _registered(name: str, point: EntryPoint) -> Learner:
    try:
        found = point.load()
    except Exception as error:
        msg = (
            f"the learner {name!r} is registered as {point.value!r}, which cannot be loaded: "
            f"{error}; reinstall or remove the package that registers it"
        )
        raise PlanError(msg) from error
    learner = found() if isinstance(found, type) else found
    if not isinstance(learner, Learner) or learner.name != name:
        msg = (
            f"the learner {name!r} is registered as {point.value!r}; expected a subclass of "
            f"lcdb_builders.learners.base.Learner whose name is {name!r}"
        )
        raise PlanError(msg)
    return learner


def get(name: str, estimator: str = "", *, allow_import: bool = False) -> Learner:
    """Return the learner of a label.

    Parameters
    ----------
    name
        A registered label, or the plan's own label for `estimator`.
    estimator
        Import path of a classifier, such as ``"sklearn.neural_network.MLPClassifier"``; empty for
        registered learners.
    allow_import
        Allow classes from elsewhere than scikit-learn. Importing one runs its code, so this must
        come from the user's own hand: never from a plan, a cube or anything else on disk.

    Examples
    --------
    >>> get("LDC").complete({})
    {'ridge': 1e-06}
    >>> get("MLP", "sklearn.neural_network.MLPClassifier").name
    'MLP'
    >>> get("LCD")
    Traceback (most recent call last):
    ...
    lcdb.errors.LabelError: no learner 'LCD'. Did you mean 'LDC'?
    """
    if estimator:
        if name in names():
            msg = (
                f"learners.{name}.estimator is {estimator!r}, but {name} is a registered learner; "
                "give the class a label of its own"
            )
            raise PlanError(msg)
        return GenericLearner(name, estimator, allow_import=allow_import)
    if name in _FAMILIES:
        return _builtin(name)
    installed = _installed()
    if name in installed:
        return _registered(name, installed[name])
    msg = f"no learner {name!r}.{did_you_mean(name, names())}"
    raise LabelError(msg)


def for_unit(unit: Unit, *, allow_import: bool = False) -> Learner:
    """Return the learner that computes a unit."""
    return get(unit.learner, unit.estimator, allow_import=allow_import)
