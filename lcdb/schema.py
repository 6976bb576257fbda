"""The cube contract: dims, labels, codes and variables, in one place.

Labels are written in one canonical order, whatever the order in which they were built, so that the
same content gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "DIMS",
    "FORMAT_VERSION",
    "LEARNERS",
    "METRICS",
    "SAMPLINGS",
    "SPLITS",
    "STATUSES",
    "TUNINGS",
    "VARIABLES",
    "Metric",
    "Variable",
    "learner_order",
]

FORMAT_VERSION = 1

DIMS = ("learner", "sampling", "split", "tuning", "n", "repetition")
LEARNERS = ("NMC", "LDC", "QDC", "NNC", "LREG", "LSVC", "GSVC", "DT", "RFOR", "ADAB")
SAMPLINGS = ("additive", "random", "bootstrap")
SPLITS = ("fixed", "varying", "pool")
TUNINGS = ("default", "tuned")
# Codes of the variable `status` (CF flags): the index is the code.
STATUSES = ("not_built", "complete", "failed", "timed_out", "partial")
# Codes of `choice_flag_<metric>`.
CHOICE_FLAGS = ("chosen", "tie", "one_class_validation", "one_class_fit")


@dataclass(frozen=True)
class Metric:
    """One of the four scores of a cell."""

    name: str
    long_name: str
    direction: Literal["maximize", "minimize"]
    low: float
    high: float


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "share of correct labels", "maximize", 0.0, 1.0),
        Metric("auc", "mean one-vs-rest area under the ROC curve", "maximize", 0.0, 1.0),
        Metric("brier", "Brier score", "minimize", 0.0, 2.0),
        Metric("cross_entropy", "mean negative log probability", "minimize", 0.0, 36.05),
    )
}

UNIT_DIMS = ("learner", "sampling", "split", "tuning")
CHOICE_DIMS = ("learner", "sampling", "split", "n", "repetition")
DRAW_DIMS = ("sampling", "split", "n", "repetition")


@dataclass(frozen=True)
class Variable:
    """A data variable of the curve cube; `empty` is what cells hold that were not built."""

    name: str
    dims: tuple[str, ...]
    dtype: str
    empty: float


def _variables() -> dict[str, Variable]:
    found = [Variable(name, DIMS, "float32", float("nan")) for name in METRICS]
    found.append(Variable("n_clipped", DIMS, "int32", -1))
    found += [Variable(f"choice_{name}", CHOICE_DIMS, "int8", -1) for name in METRICS]
    found += [Variable(f"choice_flag_{name}", CHOICE_DIMS, "int8", -1) for name in METRICS]
    found.append(Variable("n_test", DRAW_DIMS, "int32", -1))
    found.append(Variable("n_classes_train", DRAW_DIMS, "int8", -1))
    return {variable.name: variable for variable in found}


VARIABLES: dict[str, Variable] = _variables()


def learner_order(names: set[str]) -> tuple[str, ...]:
    """Return learner names in canonical order: the ten built-in ones, then others by name.

    Examples
    --------
    >>> learner_order({"MLP", "QDC", "LDC"})
    ('LDC', 'QDC', 'MLP')
    """
    known = tuple(name for name in LEARNERS if name in names)
    return known + tuple(sorted(names - set(LEARNERS)))
