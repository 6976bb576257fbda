"""The tables of the cube contract: dims, labels, codes, variables and attributes, in one place.

Labels are written in one canonical order, whatever the order in which they were built, so that the
same content gives the same bytes. `schemas/cube.schema.json` says the same for other languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ATTRIBUTES",
    "CHOICE_DIMS",
    "CHOICE_FLAGS",
    "CREDITS",
    "CUBE_KIND",
    "DIMS",
    "DRAW_DIMS",
    "FORMAT_VERSION",
    "KEY_VERSION",
    "LEARNERS",
    "LEARNER_ROWS",
    "METRICS",
    "SAMPLINGS",
    "SAMPLING_ROWS",
    "SCALINGS",
    "SPLITS",
    "SPLIT_ROWS",
    "STATUSES",
    "SUMMARY_KIND",
    "TABLES",
    "TUNINGS",
    "UNIT_DIMS",
    "VARIABLES",
    "Attribute",
    "LearnerRow",
    "Metric",
    "Sampling",
    "Split",
    "Table",
    "Variable",
    "learner_order",
]

FORMAT_VERSION = 2
# Part of what names a unit on disk: it rises when numbers that are there mean something else. What
# version 2 brought, scaled features, left the numbers of version 1 as they were.
KEY_VERSION = 1
# Value of the file attribute `cube_kind`: what tells a curve cube from any other netCDF file.
CUBE_KIND = "curves"
# The same of a summary: statistics of the cells of a curve cube.
SUMMARY_KIND = "summary"

DIMS = ("learner", "sampling", "split", "tuning", "n", "repetition")
TUNINGS = ("default", "tuned")
# Of features: each is a cube of its own.
SCALINGS = ("none", "standard", "minmax")
# Codes of the variable `status` (CF flags): the index is the code.
STATUSES = ("not_built", "complete", "failed", "timed_out", "partial")
# Codes of `choice_flag_<metric>`.
CHOICE_FLAGS = ("chosen", "tie", "one_class_validation", "one_class_fit")


@dataclass(frozen=True)
class Sampling:
    """A way of drawing training sets, as readers know it.

    Parameters
    ----------
    name
        The label.
    condition
        What it says of training sets, in a sentence of a report.
    caption
        How rows are drawn, in two lines below a figure.
    is_default
        Whether a plan that names no samplings has it: the three of Turan, Loog and Tax.
    """

    name: str
    condition: str
    caption: str
    is_default: bool = True


SAMPLING_ROWS: dict[str, Sampling] = {
    row.name: row
    for row in (
        Sampling(
            "additive",
            "training sets that grow row by row",
            "one order of the rows;\nn rows are its first n",
        ),
        Sampling(
            "random",
            "training sets drawn afresh for every size",
            "n distinct rows,\nafresh for every n",
        ),
        Sampling(
            "bootstrap",
            "training sets drawn with replacement",
            "n rows drawn with replacement,\nafresh for every n",
        ),
        Sampling(
            "stratified",
            "training sets drawn afresh for every size with the classes in proportion",
            "n distinct rows, classes in\nproportion, afresh for every n",
            is_default=False,
        ),
    )
}
SAMPLINGS: tuple[str, ...] = tuple(SAMPLING_ROWS)


@dataclass(frozen=True)
class Split:
    """A way of choosing test sets, as readers know it; `condition` is for sentences of reports."""

    name: str
    condition: str


SPLIT_ROWS: dict[str, Split] = {
    row.name: row
    for row in (
        Split("fixed", "one fixed test set"),
        Split("varying", "all other rows as test set"),
        Split("pool", "the training pool itself as test set"),
    )
}
SPLITS: tuple[str, ...] = tuple(SPLIT_ROWS)


@dataclass(frozen=True)
class LearnerRow:
    """A built-in learner as readers know it; `family` is the builder's module that declares it.

    Legends, tables and files have `long_name`. Colours stay apart for colour-blind readers (Tol's
    muted scheme, and black).
    """

    name: str
    long_name: str
    family: str
    colour: str


LEARNER_ROWS: dict[str, LearnerRow] = {
    row.name: row
    for row in (
        LearnerRow("NMC", "nearest mean classifier", "gaussian", "#999933"),
        LearnerRow("LDC", "linear discriminant classifier", "gaussian", "#332288"),
        LearnerRow("QDC", "quadratic discriminant classifier", "gaussian", "#CC6677"),
        LearnerRow("NNC", "nearest neighbour classifier", "neighbours", "#117733"),
        LearnerRow("LREG", "logistic regression", "linear", "#88CCEE"),
        LearnerRow("LSVC", "linear support vector classifier", "linear", "#44AA99"),
        LearnerRow("GSVC", "Gaussian support vector classifier", "svm", "#882255"),
        LearnerRow("DT", "decision tree", "trees", "#DDCC77"),
        LearnerRow("RFOR", "random forest", "trees", "#AA4499"),
        LearnerRow("ADAB", "AdaBoost", "trees", "#000000"),
    )
}
LEARNERS: tuple[str, ...] = tuple(LEARNER_ROWS)


@dataclass(frozen=True)
class Metric:
    """One of the four scores of a cell; `label` is what axes say."""

    name: str
    long_name: str
    direction: Literal["maximize", "minimize"]
    low: float
    high: float
    label: str


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "share of correct labels", "maximize", 0.0, 1.0, "accuracy"),
        Metric("auc", "mean one-vs-rest area under the ROC curve", "maximize", 0.0, 1.0, "AUC"),
        Metric("brier", "Brier score", "minimize", 0.0, 2.0, "Brier score"),
        Metric(
            "cross_entropy",
            "mean negative log probability",
            "minimize",
            0.0,
            36.05,
            "cross-entropy (nats)",
        ),
    )
}

#: What cubes say of licence, authors and citation; those of a user's own rows only cite,
#: and earlier versions wrote none of it.
CREDITS: dict[str, str] = {
    "license": "CC-BY-4.0",
    "creator_name": "The lcdb developers",
    "references": (
        "The lcdb developers: lcdb++, a high-fidelity learning-curve database, "
        "https://github.com/lcdb-plusplus/lcdb-plusplus; the dataset by its own terms"
    ),
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


@dataclass(frozen=True)
class Table:
    """A small variable that is kept by unit, not by cell."""

    name: str
    dims: tuple[str, ...]
    dtype: str


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table("status", UNIT_DIMS, "int8"),
        Table("learner_params", ("learner", "tuning"), "string"),
        Table("digest", UNIT_DIMS, "string"),
        Table("draws_digest", ("sampling", "split"), "string"),
    )
}


@dataclass(frozen=True)
class Attribute:
    """A global attribute of a cube; text is a netCDF string, an integer is int64."""

    name: str
    kind: Literal["text", "integer"]
    doc: str
    required: bool = True


ATTRIBUTES: dict[str, Attribute] = {
    attribute.name: attribute
    for attribute in (
        Attribute("Conventions", "text", "the CF version followed"),
        Attribute("title", "text", "one line for humans"),
        Attribute("license", "text", "SPDX id, of the numbers", required=False),
        Attribute("creator_name", "text", "who is to be named", required=False),
        Attribute("references", "text", "what is to be cited", required=False),
        Attribute("cube_kind", "text", "always 'curves'"),
        Attribute("format_version", "integer", "version of this contract"),
        Attribute("package_version", "text", "version of the package that wrote the cube"),
        Attribute("dataset_id", "text", "an OpenML id, or a plan's own name for a file"),
        Attribute("dataset_name", "text", "such as 'iris'"),
        Attribute("dataset_sha256", "text", "digest of the unscaled snapshot's canonical bytes"),
        Attribute("scaling", "text", "of the features; version 1 has none", required=False),
        Attribute("openml_id", "integer", "where the dataset has one", required=False),
        Attribute("openml_version", "integer", "where the dataset has one", required=False),
        Attribute("openml_md5", "text", "of the bytes that OpenML served", required=False),
        Attribute("n_rows", "integer", "N"),
        Attribute("n_features", "integer", "d"),
        Attribute("n_classes", "integer", "K"),
        Attribute("duplicate_rows", "integer", "rows that repeat an earlier one"),
        Attribute("imputed_cells", "integer", "cells filled with a median or mode"),
        Attribute("dropped_rows", "integer", "rows without a target"),
        Attribute("master_seed", "integer", "the plan's seed"),
        Attribute("plan", "text", "the plan as JSON with sorted keys"),
        Attribute("plan_sha256", "text", "digest of `plan`"),
    )
}


def learner_order(names: set[str]) -> tuple[str, ...]:
    """Return learner names in canonical order: the ten built-in ones, then others by name.

    Examples
    --------
    >>> learner_order({"MLP", "QDC", "LDC"})
    ('LDC', 'QDC', 'MLP')
    """
    known = tuple(name for name in LEARNERS if name in names)
    return known + tuple(sorted(names - set(LEARNERS)))
