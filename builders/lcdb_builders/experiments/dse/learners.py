"""The five learners: how hyper-parameters are drawn, what they make, and how they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lcdb.schema import EXPERIMENTS

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

__all__ = ["LEARNERS", "Configuration", "Learner"]

#: Hyper-parameters by their name in scikit-learn.
Configuration = Mapping[str, Any]


@dataclass(frozen=True)
class Learner:
    """One learner of the experiment.

    Parameters
    ----------
    draw
        Returns hyper-parameters drawn from a stream.
    make
        Returns an estimator with them; ``random_state`` may be passed where it is random.
    store
        Returns them as numbers, by variable of the cube; text as it is.
    seconds
        About how long a fit and a score take on 1,200 and 800 rows of few features.
    random
        Whether fits draw random numbers: the same ones again need not be fitted if they do not.
    """

    draw: Callable[[np.random.Generator], dict[str, Any]]
    make: Callable[[Configuration, np.random.RandomState], ClassifierMixin]
    store: Callable[[Configuration], dict[str, Any]]
    seconds: float
    random: bool = True

    def encoded(self, configuration: Configuration) -> dict[str, float]:
        """Return hyper-parameters as the cube has them: text by its code.

        Examples
        --------
        >>> LEARNERS["SVM"].encoded({"C": 2.0, "kernel": "poly", "degree": 3})
        {'svm_C': 2.0, 'svm_kernel': 1, 'svm_degree': 3}
        """
        variables = EXPERIMENTS["dse"].variables
        return {
            name: variables[name].flags.index(value) if isinstance(value, str) else value
            for name, value in self.store(configuration).items()
        }


def _choice(rng: np.random.Generator, values: tuple) -> Any:
    return values[int(rng.integers(len(values)))]


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# -- kNN -------------------------------------------------------------------------------------------


def _draw_knn(rng: np.random.Generator) -> dict[str, Any]:
    return {"n_neighbors": _choice(rng, (3, 4, 5, 10, 25, 50))}


def _knn(chosen: Configuration, state: np.random.RandomState) -> ClassifierMixin:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(**chosen)


# -- random forest ---------------------------------------------------------------------------------


def _draw_rf(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "n_estimators": int(_log_uniform(rng, 10, 100)),
        "criterion": _choice(rng, ("gini", "entropy")),
        "min_samples_split": _choice(rng, (2, 4, 8, 16)),
        "min_samples_leaf": _choice(rng, (1, 3, 5)),
    }


def _rf(chosen: Configuration, state: np.random.RandomState) -> ClassifierMixin:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**chosen, random_state=state)


# -- support vector machine ------------------------------------------------------------------------


def _draw_svm(rng: np.random.Generator) -> dict[str, Any]:
    configuration = {
        "C": _log_uniform(rng, 0.01, 100),
        "kernel": _choice(rng, ("linear", "poly", "rbf", "sigmoid")),
    }
    if configuration["kernel"] == "poly":
        configuration["degree"] = _choice(rng, (2, 3, 4, 5))
    return configuration


def _svm(chosen: Configuration, state: np.random.RandomState) -> ClassifierMixin:
    from sklearn.svm import SVC

    return SVC(**chosen)


# -- logistic regression ---------------------------------------------------------------------------


def _draw_lr(rng: np.random.Generator) -> dict[str, Any]:
    return {"C": _log_uniform(rng, 1e-4, 1e4)}


def _lr(chosen: Configuration, state: np.random.RandomState) -> ClassifierMixin:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="saga", max_iter=1000, **chosen, random_state=state)


# -- neural network --------------------------------------------------------------------------------


def _draw_nn(rng: np.random.Generator) -> dict[str, Any]:
    layers = int(rng.integers(1, 3))
    return {
        "activation": _choice(rng, ("logistic", "tanh", "relu")),
        "hidden_layer_sizes": tuple(_choice(rng, (50, 100, 150)) for _ in range(layers)),
        "learning_rate_init": _log_uniform(rng, 1e-4, 0.1),
    }


def _nn(chosen: Configuration, state: np.random.RandomState) -> ClassifierMixin:
    from lcdb_builders.experiments.dse.network import Network

    options = {"solver": "adam", "early_stopping": True, "max_iter": 200}
    return Network(**options, **chosen, random_state=state)


def _store_nn(chosen: Configuration) -> dict[str, Any]:
    widths = (*chosen["hidden_layer_sizes"], 0)
    return {
        "nn_activation": chosen["activation"],
        "nn_width_1": widths[0],
        "nn_width_2": widths[1],
        "nn_learning_rate": chosen["learning_rate_init"],
    }


#: The learners in the order of the paper's Table 1.
LEARNERS: dict[str, Learner] = {
    "kNN": Learner(
        _draw_knn, _knn, lambda c: {"knn_neighbors": c["n_neighbors"]}, 0.006, random=False
    ),
    "RF": Learner(
        _draw_rf,
        _rf,
        lambda c: {
            "rf_trees": c["n_estimators"],
            "rf_criterion": c["criterion"],
            "rf_min_samples_split": c["min_samples_split"],
            "rf_min_samples_leaf": c["min_samples_leaf"],
        },
        0.05,
    ),
    "SVM": Learner(
        _draw_svm,
        _svm,
        lambda c: {
            "svm_C": c["C"],
            "svm_kernel": c["kernel"],
            "svm_degree": c.get("degree", 0),
        },
        0.02,
        random=False,
    ),
    "LR": Learner(_draw_lr, _lr, lambda c: {"lr_C": c["C"]}, 0.004),
    "NN": Learner(_draw_nn, _nn, _store_nn, 0.08),
}
