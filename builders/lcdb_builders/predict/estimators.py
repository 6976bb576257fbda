"""Who learns: a name of the database, an import path, or a classifier that was handed over."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lcdb.errors import ArgumentError, ImportRefusedError, LabelError
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.learners.base import Learner, Scores
from lcdb_builders.learners.constructing import SEEDS, STEPS
from lcdb_builders.learners.generic import seeds_of
from lcdb_builders.learners.imported import load_class

__all__ = ["EstimatorLearner", "learner_of", "name_of"]

# Packages whose classifiers take classes 0 to k-1 and no other labels.
_CODES_ONLY = ("xgboost",)


def name_of(estimator: Any) -> str:
    """Return what a classifier is called: of a pipeline, its steps.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> name_of(SVC()), name_of(make_pipeline(StandardScaler(), SVC()))
    ('SVC', 'StandardScaler+SVC')
    """
    steps = getattr(estimator, "steps", None)
    if not steps:
        return type(estimator).__name__
    return "+".join(name_of(step) for _, step in steps if step not in (None, "passthrough"))


class EstimatorLearner(Learner):
    """A classifier that was handed over, as one of the learners.

    Parameters
    ----------
    estimator
        With scikit-learn's interface; it is copied before it is fitted.
    classes
        The labels that it is fitted to, by class code.
    """

    parameters: ClassVar[Mapping[str, Any]] = {}
    foreign: ClassVar[bool] = True
    implementation = "own"

    def __init__(self, estimator: Any, classes: np.ndarray) -> None:
        self.name = name_of(estimator)
        self.own = _copied(estimator)
        #: The classifier with its parameters, for people.
        self.described = " ".join(repr(estimator).split())
        last = getattr(estimator, "steps", [("", estimator)])[-1][1]
        codes_only = type(last).__module__.split(".")[0] in _CODES_ONLY
        self.labels = None if codes_only else classes
        self.unseeded = _unseeded(self.own)

    def estimator(self, snapshot: Snapshot, params: Mapping[str, Any], **cell: Any) -> Any:
        """Return the unfitted estimator of a cell; seeds that are not set are the cell's."""
        from lcdb_builders.reference.generic import Generic

        where = cell["key"], cell["n"], cell["repetition"]
        if self.unseeded:
            seeds = seeds_of(*where)
            self.own.set_params(**{name: next(seeds) for name in self.unseeded})
        return Generic(self.own, seed=next(seeds_of(*where, lane=1)), labels=self.labels)

    def block(self, snapshot: Snapshot, block: Block, splits: Sequence[str]) -> dict[str, Scores]:
        """Refuse: cells of a classifier that was handed over are in no database."""
        raise NotImplementedError


def _copied(estimator: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator) if hasattr(estimator, "get_params") else copy.deepcopy(estimator)


def _unseeded(estimator: Any) -> list[str]:
    """Return the parameters, also of estimators inside, that are seeds and are not set."""
    if not hasattr(estimator, "get_params"):
        return []
    every = estimator.get_params(deep=True)
    owners = {name.rpartition("__")[0] for name in every}
    unset = []
    for owner in sorted(owners):
        prefix = f"{owner}__" if owner else ""
        there = [f"{prefix}{name}" for name in SEEDS if f"{prefix}{name}" in every]
        if there and all(every[name] is None for name in there):
            unset.append(there[0])
    return unset


def learner_of(learner: Any, classes: np.ndarray) -> Learner:
    """Return the learner of a name, an import path of scikit-learn's, or a classifier.

    Examples
    --------
    >>> learner_of("LDC", np.arange(2)).foreign, learner_of("sklearn.svm.SVC", np.arange(2)).name
    (False, 'SVC')
    """
    if isinstance(learner, str):
        if "." not in learner:
            return _named(learner)
        made = [_trusted(path)() for path in learner.split(STEPS)]
        if len(made) == 1:
            return learner_of(made[0], classes)
        from sklearn.pipeline import make_pipeline

        return learner_of(make_pipeline(*made), classes)
    if isinstance(learner, type):
        name = learner.__name__
        msg = f"the learner is the class {name}; expected a classifier: {name}()"
        raise ArgumentError(msg)
    _check_classifier(learner)
    return EstimatorLearner(learner, classes)


# Words of the field: of those with one meaning the learner, of the others what they may mean.
_SAME = {
    "1nn": "NNC",
    "adaboost": "ADAB",
    "lda": "LDC",
    "nearestcentroid": "NMC",
    "qda": "QDC",
    "randomforest": "RFOR",
    "rf": "RFOR",
}
_SEVERAL = {
    "knn": "'NNC' has one neighbour; of k give KNeighborsClassifier(k)",
    "svc": "'GSVC' has a Gaussian kernel, 'LSVC' none",
    "svm": "'GSVC' has a Gaussian kernel, 'LSVC' none",
    "lr": "'LREG' is logistic regression, its ridge 1e-4",
}


def _named(name: str) -> Learner:
    """Return the learner of a name, also of one that the field has for it.

    Examples
    --------
    >>> _named("RF").name, _named("random forest").name
    ('RFOR', 'RFOR')
    >>> _named("SVM")
    Traceback (most recent call last):
    ...
    lcdb.errors.LabelError: no learner 'SVM': 'GSVC' has a Gaussian kernel, 'LSVC' none
    """
    if name not in registry.names():
        word = re.sub(r"[\s_-]", "", name).casefold()
        if word in _SEVERAL:
            msg = f"no learner {name!r}: {_SEVERAL[word]}"
            raise LabelError(msg)
        name = _SAME.get(word, name)
    return registry.get(name)


def _trusted(path: str) -> type:
    """Return a class of scikit-learn's; others are imported by the user alone."""
    try:
        return load_class(path, allow_import=False)
    except ImportRefusedError as error:
        made = f"{path.rpartition('.')[2]}()"
        msg = (
            f"{path!r} is not a public class of scikit-learn, and importing it would run code; "
            f"import it yourself and give the classifier: lcdb.learning_curve({made}, X, y)"
        )
        raise ImportRefusedError(msg) from error


def _check_classifier(estimator: Any) -> None:
    from sklearn.base import is_clusterer, is_regressor

    tagged = hasattr(estimator, "__sklearn_tags__")
    right = all(hasattr(estimator, name) for name in ("fit", "predict"))
    if not right or (tagged and (is_regressor(estimator) or is_clusterer(estimator))):
        msg = (
            f"the learner is a {type(estimator).__name__}; expected a name such as 'LDC', or a "
            "classifier with scikit-learn's fit and predict (classification only)"
        )
        raise ArgumentError(msg)
