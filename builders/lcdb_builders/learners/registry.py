"""Who computes what: learners by the label that plans and cubes use.

Built-in learners come first, each with a row in `lcdb.schema.LEARNER_ROWS` and a declaration in the
module of its family; others are found through the entry point group ``lcdb.learners``,
whose entries name a `Learner` subclass (or an instance); a plan can also name any scikit-learn
classifier under a label of its own.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from lcdb.errors import LabelError, PlanError, RedefinedError, did_you_mean
from lcdb.schema import LEARNER_ROWS, LEARNERS
from lcdb_builders.domain.unit import Unit
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.generic import GenericLearner
from lcdb_builders.learners.imported import FileFinder, stored_name
from lcdb_builders.storage import disk

__all__ = ["GROUP", "for_unit", "get", "is_redefined", "keep_files", "names"]

GROUP = "lcdb.learners"


def _installed() -> dict[str, EntryPoint]:
    """Return what other packages register; the built-in names stay what they are."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    return {name: point for name, point in sorted(points.items()) if name not in LEARNER_ROWS}


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
    module = importlib.import_module(f"lcdb_builders.learners.{LEARNER_ROWS[name].family}")
    return getattr(module, name)()


def _registered(name: str, point: EntryPoint) -> Learner:
    try:
        loaded = point.load()
    except Exception as error:
        msg = (
            f"the learner {name!r} is registered as {point.value!r}, which cannot be loaded: "
            f"{error}; reinstall or remove the package that registers it"
        )
        raise PlanError(msg) from error
    learner = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(learner, Learner) or learner.name != name:
        msg = (
            f"the learner {name!r} is registered as {point.value!r}; expected a subclass of "
            f"lcdb_builders.learners.base.Learner whose name is {name!r}"
        )
        raise PlanError(msg)
    return learner


def get(
    name: str, estimator: str = "", *, allow_import: bool = False, files: FileFinder = Path
) -> Learner:
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
    files
        Says where the file of a class is, for an estimator such as ``"mine.py:MyClassifier"``.

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
        return GenericLearner(name, estimator, allow_import=allow_import, files=files)
    if name in LEARNER_ROWS:
        return _builtin(name)
    installed = _installed()
    if name in installed:
        return _registered(name, installed[name])
    msg = f"no learner {name!r}.{did_you_mean(name, names())}"
    raise LabelError(msg)


def for_unit(unit: Unit, *, allow_import: bool = False, root: Path | str | None = None) -> Learner:
    """Return the learner that computes a unit.

    Parameters
    ----------
    unit
        The unit.
    allow_import
        As `get` takes it.
    root
        The database directory, which keeps the files of classes.

    Raises
    ------
    RedefinedError
        The unit was computed by an earlier definition of its learner.
    """
    folder = Path("." if root is None else root) / "estimators"

    def stored(file: str) -> Path:
        return folder / stored_name(file, unit.implementation)

    learner = get(unit.learner, unit.estimator, allow_import=allow_import, files=stored)
    if unit.implementation in learner.former:
        msg = (
            f"{unit.label} was computed by an earlier definition of {unit.learner} "
            f"({unit.implementation}; {learner.former[unit.implementation]}), and this version has "
            f"{learner.implementation}: its cells can be read, but not computed again. The version "
            "of lcdb-plusplus that built them can; 'lcdb build' into another directory builds "
            "them anew"
        )
        raise RedefinedError(msg)
    return learner


def is_redefined(unit: Unit) -> bool:
    """Return whether a unit was computed by an earlier definition of its learner."""
    is_known = not unit.estimator and unit.learner in names()
    return is_known and unit.implementation in get(unit.learner).former


def keep_files(learner: Learner, root: Path) -> None:
    """Put the files of a learner's classes into a database, for workers and for replays."""
    if not isinstance(learner, GenericLearner) or not learner.files:
        return
    folder = disk.under(root, "estimators")
    disk.make_folder(folder)
    for file, path in learner.files.items():
        disk.publish(folder / stored_name(file, learner.implementation), path.read_bytes())
