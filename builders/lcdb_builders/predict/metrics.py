"""Metrics that no cube holds, of what an estimator said of rows: names, or functions of one's own.

Each is defined as scikit-learn's function of the same name, its undefined cases included. They are
computed from the confusion matrix, weighted by how often a row counts. Scorers of scikit-learn, and
their names, are asked with an estimator that answers what was said.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from lcdb.errors import ArgumentError, LabelError, did_you_mean
from lcdb.schema import METRICS
from lcdb_builders.reference.cell import Answers
from lcdb_builders.reference.metrics import cell_scores, labels, share_correct, softmax

__all__ = ["Measure", "Predictions", "evaluate", "measures_of", "named_metrics"]

#: Equal-width bins of the largest probability in the expected calibration error.
BINS = 15


@dataclass(frozen=True)
class Predictions:
    """What was said of rows: in class codes, and in columns by class code.

    Parameters
    ----------
    y, label
        True and predicted class codes.
    probability
        (rows, classes), or None for a classifier that gives labels alone.
    weight
        How often each row counts.
    confusion
        (classes, classes) weights, true classes in rows.
    """

    y: np.ndarray
    label: np.ndarray
    probability: np.ndarray | None
    weight: np.ndarray
    confusion: np.ndarray

    @classmethod
    def of(cls, answers: Answers, weight: np.ndarray, classes: int) -> Predictions:
        """Return what an estimator's answers say, in the words of the metrics."""
        label, p = answers.label, answers.p
        if p is None and answers.scores is not None:
            p = softmax(answers.scores)
        if label is None:
            by = answers.decisions if answers.decisions is not None else answers.scores
            by = p if by is None else by
            assert by is not None  # there are labels where there is nothing else
            label = labels(by)
        places = answers.y * classes + label
        counts = np.bincount(places, weight, classes * classes).reshape(classes, classes)
        return cls(answers.y, label, p, weight, counts)


Named = Callable[[Predictions], float]


def _balanced_accuracy(predictions: Predictions) -> float:
    true = predictions.confusion.sum(axis=1)
    present = true > 0
    return float(np.mean(np.diag(predictions.confusion)[present] / true[present]))


def _f1_macro(predictions: Predictions) -> float:
    right = np.diag(predictions.confusion)
    size = predictions.confusion.sum(axis=0) + predictions.confusion.sum(axis=1)
    present = size > 0  # true or predicted; a class that is neither has no F1
    return float(np.mean(2 * right[present] / size[present]))


def _mcc(predictions: Predictions) -> float:
    true, predicted = predictions.confusion.sum(axis=1), predictions.confusion.sum(axis=0)
    total = predictions.confusion.sum()
    together = np.trace(predictions.confusion) * total - true @ predicted
    spread = (total**2 - predicted @ predicted) * (total**2 - true @ true)
    return float(together / np.sqrt(spread)) if spread > 0 else 0.0


def _kappa(predictions: Predictions) -> float:
    true, predicted = predictions.confusion.sum(axis=1), predictions.confusion.sum(axis=0)
    total = predictions.confusion.sum()
    by_chance = total - true @ predicted / total
    if by_chance <= 0:
        return float("nan")
    return float(1 - (total - np.trace(predictions.confusion)) / by_chance)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else 0.0


def _precision(code: int) -> Named:
    return lambda predictions: _share(
        predictions.confusion[code, code], predictions.confusion[:, code].sum()
    )


def _recall(code: int) -> Named:
    return lambda predictions: _share(
        predictions.confusion[code, code], predictions.confusion[code].sum()
    )


def _ece(predictions: Predictions) -> float:
    if predictions.probability is None:
        return float("nan")
    largest = predictions.probability.max(axis=1)
    bins = np.clip(np.ceil(largest * BINS).astype(int) - 1, 0, BINS - 1)
    gap = predictions.weight * ((predictions.label == predictions.y) - largest)
    return float(np.abs(np.bincount(bins, gap, BINS)).sum() / predictions.weight.sum())


_NAMED: Mapping[str, tuple[Named, str, str, tuple[float, float]]] = {
    "balanced_accuracy": (_balanced_accuracy, "mean recall over classes", "maximize", (0, 1)),
    "f1_macro": (_f1_macro, "mean F1 over classes", "maximize", (0, 1)),
    "mcc": (_mcc, "Matthews correlation coefficient", "maximize", (-1, 1)),
    "kappa": (_kappa, "Cohen's kappa", "maximize", (-1, 1)),
    "ece": (_ece, "expected calibration error, 15 bins", "minimize", (0, 1)),
}
#: Scorers of scikit-learn for classes, besides those that `_NAMED` has.
_SCORERS = (
    "average_precision",
    "d2_brier_score",
    "d2_log_loss_score",
    "f1",
    "f1_micro",
    "f1_weighted",
    "jaccard",
    "jaccard_macro",
    "jaccard_micro",
    "jaccard_weighted",
    "matthews_corrcoef",
    "neg_brier_score",
    "neg_log_loss",
    "neg_negative_likelihood_ratio",
    "positive_likelihood_ratio",
    "precision",
    "precision_macro",
    "precision_micro",
    "precision_weighted",
    "recall",
    "recall_macro",
    "recall_micro",
    "recall_weighted",
    "roc_auc",
    "roc_auc_ovo",
    "roc_auc_ovo_weighted",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "top_k_accuracy",
)
_NEED_PROBABILITY = {"auc", "brier", "cross_entropy", "ece"}


def named_metrics(class_names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all metrics of a dataset with these classes.

    Examples
    --------
    >>> named_metrics(["ham", "spam"])[-4:]
    ('precision_ham', 'precision_spam', 'recall_ham', 'recall_spam')
    """
    by_class = [f"{what}_{name}" for what in ("precision", "recall") for name in class_names]
    return (*METRICS, *_NAMED, *by_class)


@dataclass(frozen=True)
class Measure:
    """A metric that was asked for.

    Parameters
    ----------
    name
        As it was asked for, or as the function is called.
    function
        Of `Predictions`; None for one of the four stored metrics.
    own
        ``f(y, label, probability, weight)`` of the user.
    attrs
        What is said of its values: `long_name`, `units`, `direction`, `valid_range`.
    scorer
        ``scorer(estimator, X, y)`` of scikit-learn.
    """

    name: str
    function: Named | None
    own: Callable[..., float] | None
    attrs: Mapping[str, Any]
    scorer: Callable[..., float] | None = None

    @property
    def is_stored(self) -> bool:
        """Whether it is one of the four that databases hold."""
        return self.function is None and self.own is None and self.scorer is None

    @property
    def needs_probability(self) -> bool:
        """Whether labels are not enough."""
        scored = self.own is not None or self.scorer is not None
        return scored or self.name in _NEED_PROBABILITY


def _attrs(long_name: str, direction: str, low: float, high: float) -> dict[str, Any]:
    given: dict[str, Any] = {"long_name": long_name, "units": "1", "direction": direction}
    return given | {"valid_range": np.array([low, high], np.float32)}


def _measure(metric: str | Callable[..., float], class_names: Sequence[str]) -> Measure:
    if callable(metric) and _is_scorer(metric):
        name = getattr(getattr(metric, "_score_func", metric), "__name__", "scorer")
        return _scored(name, metric)
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        name = "own" if name == "<lambda>" else name
        direction = getattr(metric, "direction", "maximize")
        return Measure(name, None, metric, {"long_name": name, "direction": direction})
    if metric in METRICS:
        stored = METRICS[metric]
        attrs = _attrs(stored.long_name, stored.direction, stored.low, stored.high)
        return Measure(metric, None, None, attrs)
    if metric in _NAMED:
        function, long_name, direction, reach = _NAMED[metric]
        return Measure(metric, function, None, _attrs(long_name, direction, *reach))
    for what, make in (("precision", _precision), ("recall", _recall)):
        for code, class_name in enumerate(class_names):
            if metric == f"{what}_{class_name}":
                attrs = _attrs(f"{what} of class {class_name}", "maximize", 0, 1)
                return Measure(metric, make(code), None, attrs)
    if metric in _SCORERS:
        from sklearn.metrics import get_scorer, get_scorer_names

        if metric in get_scorer_names():
            return _scored(metric, get_scorer(metric))
    msg = f"metric {metric!r} does not exist.{did_you_mean(metric, named_metrics(class_names))}"
    raise LabelError(msg)


def _is_scorer(metric: Callable[..., float]) -> bool:
    """Return whether a callable is called as scikit-learn calls its scorers.

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> _is_scorer(get_scorer("f1")), _is_scorer(lambda y, label, probability, weight: 0.0)
    (True, False)
    """
    try:
        return next(iter(signature(metric).parameters), "") == "estimator"
    except (TypeError, ValueError):  # written in C
        return False


def _scored(name: str, scorer: Callable[..., float]) -> Measure:
    attrs = {"long_name": f"{name} of scikit-learn", "units": "1", "direction": "maximize"}
    return Measure(name, None, None, attrs, scorer)


def measures_of(metrics: Any, class_names: Sequence[str]) -> tuple[Measure, ...]:
    """Return what is to be measured.

    Parameters
    ----------
    metrics
        None for the four metrics; a name, a function, a scorer of scikit-learn, or several of them.
    class_names
        Names of the classes by code.

    Examples
    --------
    >>> [one.name for one in measures_of(["mcc", "recall_b"], ["a", "b"])]
    ['mcc', 'recall_b']
    >>> measures_of("recal_b", ["a", "b"])
    Traceback (most recent call last):
    ...
    lcdb.errors.LabelError: metric 'recal_b' does not exist. Did you mean 'recall_b'?
    """
    if metrics is None:
        metrics = list(METRICS)
    several = [metrics] if isinstance(metrics, str) or callable(metrics) else metrics
    if not isinstance(several, Iterable):
        msg = f"metrics is {metrics!r}; expected names, functions, or a list of them"
        raise ArgumentError(msg)
    measures = tuple(_measure(one, class_names) for one in several)
    names = [one.name for one in measures]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice or not names:
        what = f"two metrics are called {twice[0]!r}" if twice else "no metric is asked for"
        msg = f"{what}; expected different names (a function is called by its __name__)"
        raise ArgumentError(msg)
    return measures


def _stored(answers: Answers, predictions: Predictions) -> Mapping[str, float]:
    """Return the four metrics, each row counted as often as it weighs."""
    if answers.scores is None and answers.p is None:
        times = predictions.weight.astype(np.int64)
        correct = share_correct(
            np.repeat(predictions.label, times), np.repeat(predictions.y, times)
        )
        return {"accuracy": correct}
    if (predictions.weight == 1).all():
        return vars(answers.metrics)
    times = predictions.weight.astype(np.int64)

    def often(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else np.repeat(values, times, axis=0)

    return vars(
        cell_scores(
            np.repeat(answers.y, times),
            scores=often(answers.scores),
            p=often(answers.p),
            ranking=answers.ranking,
            decisions=often(answers.decisions),
            label=often(answers.label),
            ranks=often(answers.ranks),
        )
    )


def _score(one: Measure, predictions: Predictions, weight: np.ndarray, labels: np.ndarray) -> float:
    """Return what a scorer says of an estimator that answers what was said.

    Parameters
    ----------
    one
        The metric of a scorer.
    predictions
        What was said, in class codes.
    weight
        How often each row counts.
    labels
        What stands for class codes, ascending.

    Returns
    -------
    float
        NaN where there are no probabilities, or not a row of some class, and the scorer needs them.
    """
    from sklearn.base import BaseEstimator, ClassifierMixin

    if one.name in _SCORERS and labels.dtype.kind not in "biuf":
        labels = np.arange(len(labels))  # to names of scorers the class 1 is the positive one

    class Answered(ClassifierMixin, BaseEstimator):
        classes_ = labels

        def predict(self, X: Any) -> np.ndarray:
            return labels[predictions.label]

        def predict_proba(self, X: Any) -> np.ndarray | None:
            return predictions.probability

    rows = np.arange(len(weight))[:, None]
    more = {} if (weight == 1).all() else {"sample_weight": weight}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(one.scorer(Answered(), rows, labels[predictions.y], **more))  # type: ignore[misc]
    except Exception as error:
        if predictions.probability is None or len(np.unique(predictions.y)) < len(labels):
            return float("nan")
        msg = f"the metric {one.name!r} failed: {type(error).__name__}: {error}"
        raise ArgumentError(msg) from error


def evaluate(
    measures: Sequence[Measure],
    answers: Answers,
    weight: np.ndarray,
    classes: int,
    names: np.ndarray | None = None,
) -> dict[str, float]:
    """Return the values of metrics by name.

    Parameters
    ----------
    measures
        What is measured.
    answers
        What an estimator says of rows.
    weight
        How often each row counts, whole numbers.
    classes
        K.
    names
        What a function of the user's own is given for class codes; the codes if None.
    """
    predictions = Predictions.of(answers, weight, classes)
    stored: Mapping[str, float] = {}
    if any(one.is_stored for one in measures):
        stored = _stored(answers, predictions)
    values = {}
    for one in measures:
        if one.own is not None:
            y, label = predictions.y, predictions.label
            if names is not None:
                y, label = names[y], names[label]
            try:
                values[one.name] = float(one.own(y, label, predictions.probability, weight))
            except Exception as error:
                msg = (
                    f"the metric {one.name!r} failed: {type(error).__name__}: {error}; expected a "
                    "function f(y, label, probability, weight) that returns a number"
                )
                raise ArgumentError(msg) from error
        elif one.scorer is not None:
            labels_of = np.arange(classes) if names is None else names
            values[one.name] = _score(one, predictions, weight, labels_of)
        elif one.function is not None:
            values[one.name] = one.function(predictions)
        else:
            values[one.name] = stored.get(one.name, float("nan"))
    return values
