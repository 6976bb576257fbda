"""The tables of Turan, Loog and Tax 2026: published, recomputed, and the difference.

Rates are percentages of cells that Shapiro-Wilk rejects at 5 %; a constant cell counts as Gaussian.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lcdb.errors import LabelError, did_you_mean
from lcdb.schema import LEARNER_ROWS, METRICS, UNIT_DIMS
from lcdb.tables.contents import dataset_table, missing_table
from lcdb.tables.frame import curve_frame
from lcdb.tables.implied import IMPLIED
from lcdb.tables.paired import (
    LEFT_OUT,
    datasets_compared,
    paired_frame,
    top_k_changes,
    whose_top_three,
)
from lcdb.tables.rates import LEGEND, number, rate_row, sums, with_repetitions
from lcdb.tables.rows import Row, Table
from lcdb.tables.views import VIEWS

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database

__all__ = ["BALANCED", "BINARY", "NAMES", "SAME_DATASETS", "published", "tables"]

BALANCED = ("53", "61", "44037", "46597")
BINARY = ("37", "53", "1063", "44037", "46733", "46847")
_SOME_LEARNERS = ("DT", "LDC", "LREG", "RFOR")
#: What stands beside a mean over datasets: the printed one over those that the database has.
SAME_DATASETS = "printed, same datasets"


def published() -> dict[str, Any]:
    """Return the printed tables as they are in the paper."""
    return json.loads((files("lcdb.data") / "published" / "turan2026.json").read_text())


class _Maker:
    """The frames of a database, honest and under each view, and rows made of them."""

    def __init__(self, db: Database, views: Sequence[str]) -> None:
        self.db = db
        self.printed = published()
        self.views = list(views)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Honest statistics of every curve."""
        return curve_frame(self.db)

    @cached_property
    def viewed(self) -> dict[str, pd.DataFrame]:
        """The same under each view."""
        return {view: curve_frame(self.db, view) for view in self.views}

    def mean_row(
        self,
        name: str,
        metric: str,
        printed: float | Sequence[float | None],
        pick: Callable[[pd.DataFrame], pd.Series],
        prefix: str = "",
        by_dataset: bool = False,
    ) -> Row:
        """Return the mean rate over picked curves, the same under each view, and what is beside.

        Where the paper prints mean and SD, `printed` is the pair, and the SD (ddof 1) is ours too.
        `by_dataset` takes the mean over datasets of means over curves.
        """

        def chosen(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[pick(frame) & (frame["metric"] == metric)]

        pair = list(printed) if isinstance(printed, Sequence) else [printed]
        ours = chosen(self.frame)
        viewed = {view: chosen(frame) for view, frame in self.viewed.items()}
        return rate_row(name, metric, pair, ours, viewed, prefix, by_dataset)

    def printed_mean(self, metric: str, datasets: set[str]) -> float | None:
        """Return the mean printed rate of those of some datasets that the database has."""
        rates = self.printed["table_1"].get(metric) or {
            id: pairs[metric] for id, pairs in self.printed["table_D13"]["dataset"].items()
        }
        there = set(self.frame["dataset"]) & datasets
        some = [rate for id, (rate, _) in rates.items() if id in there]
        return sum(some) / len(some) if some else None


_RIDGE = "LREG has a ridge of 1e-4 here, which makes its optimum unique; the paper has none."


def _having(**labels: Any) -> Callable[[pd.DataFrame], pd.Series]:
    """Return a picker of curves that have a label, or one of several."""

    def pick(frame: pd.DataFrame) -> pd.Series:
        kept = frame["metric"].notna()
        for name, value in labels.items():
            kept &= frame[name].isin([value] if isinstance(value, str) else list(value))
        return kept

    return pick


def _like_with_like(dim: str, label: str, **labels: Any) -> Callable[[pd.DataFrame], pd.Series]:
    """Return a picker of curves with a label of a dimension that are there for its others as well.

    A plan may have tuned curves of one sampling alone: beside the default curves of all samplings
    they would compare samplings, not tunings.
    """
    others = [name for name in ("dataset", "metric", *UNIT_DIMS) if name != dim]

    def pick(frame: pd.DataFrame) -> pd.Series:
        kept = _having(**labels)(frame)
        some = frame[kept]
        kept[kept] = some.groupby(others)[dim].transform("nunique") == some[dim].nunique()
        return kept & (frame[dim] == label)

    return pick


def _table_1(make: _Maker) -> Table:
    printed = make.printed["table_1"]
    rows = [
        make.mean_row(dataset, metric, pair, _having(dataset=dataset))
        for metric in ("accuracy", "auc")
        for dataset, pair in printed[metric].items()
    ]
    title = "Table 1. Non-Gaussian cells (%) by dataset"
    return Table("table_1", title, tuple(rows), legend=LEGEND)


def _table_2(make: _Maker) -> Table:
    printed = make.printed["table_2"]
    others = sorted(set(make.frame["learner"]) - set(printed["accuracy"]))
    rows = [
        make.mean_row(learner, metric, pair, _having(learner=learner))
        for metric in ("accuracy", "auc")
        for learner, pair in (printed[metric] | dict.fromkeys(others, (None, None))).items()
    ]
    title = "Table 2. Non-Gaussian cells (%) by learner"
    return Table("table_2", title, tuple(rows), note=_RIDGE, legend=LEGEND)


def _groups(
    make: _Maker, metric: str, printed: dict[str, float], kinds: Iterable[str]
) -> list[Row]:
    """Return rows of groups of datasets: means over datasets, or over LREG's curves."""
    rest = set(make.printed["table_1"]["accuracy"])
    members = {
        "balanced": set(BALANCED),
        "imbalanced": rest - set(BALANCED),
        "binary": set(BINARY),
        "multiclass": rest - set(BINARY),
    }
    rows = []
    for kind in kinds:
        of_lreg = kind in ("binary", "multiclass")
        labels: dict[str, Any] = {"dataset": members[kind]}
        if of_lreg:
            labels["learner"] = "LREG"
        pick = _having(**labels)
        row = make.mean_row(kind, metric, printed[kind], pick, by_dataset=not of_lreg)
        if not of_lreg:
            same = {SAME_DATASETS: make.printed_mean(metric, members[kind])}
            row = replace(row, beside=same | row.beside)
        rows.append(row)
    return rows


def _table_3(make: _Maker) -> Table:
    printed = make.printed["table_3"]
    rows = [
        row
        for metric in ("accuracy", "auc")
        for row in _groups(make, metric, printed[metric], ("imbalanced", "balanced"))
    ]
    return Table(
        "table_3", "Table 3. Non-Gaussian cells (%): Table 1 by group of datasets", tuple(rows)
    )


def _table_4(make: _Maker) -> Table:
    printed = make.printed["table_4"]
    rows = [
        row
        for metric in ("accuracy", "auc")
        for row in _groups(make, metric, printed[metric], ("binary", "multiclass"))
    ]
    title = "Table 4. Non-Gaussian cells (%) of LREG by number of classes"
    return Table("table_4", title, tuple(rows), note=_RIDGE, legend=LEGEND)


def _table_5(make: _Maker) -> Table:
    printed = make.printed["table_5"]
    rows = []
    for tuning in ("default", "tuned"):
        for learner in _SOME_LEARNERS:
            pick = _like_with_like("tuning", tuning, learner=learner, split="fixed")
            name, pair = f"{learner} {tuning}", printed[tuning][learner]
            rows.append(make.mean_row(name, "accuracy", pair, pick, prefix="from_10_"))
    title = "Table 5. Non-Gaussian cells (%), default against tuned: fixed, n from 10"
    note = "Of default curves those whose dataset and sampling have tuned ones too."
    return Table("table_5", title, tuple(rows), note=note, legend=LEGEND)


def _table_6(make: _Maker) -> Table:
    rows = []
    for row, tuning, split in (
        ("default_varying", "default", "varying"),
        ("tuned_fixed", "tuned", "fixed"),
    ):
        for metric in ("accuracy", "auc"):
            frames = {
                view: paired_frame(make.db, metric, tuning, split, view)
                for view in (None, *make.views)
            }
            for every in datasets_compared(make.db):
                kept = {
                    view: frame if every or frame.empty else frame[~frame["dataset"].isin(LEFT_OUT)]
                    for view, frame in frames.items()
                }
                name = f"{tuning}, {split}{every}"
                printed = None if every else make.printed["table_6"][row][metric]
                viewed = {str(view): frame for view, frame in kept.items() if view}
                # Which learner comes first decides the sign of a difference, and no more.
                rows.append(rate_row(name, metric, [printed], kept[None], viewed, signed=False))
    note = (
        "Differences between two learners in the same repetition: the mean over (dataset, "
        "sampling, pair of learners). Without datasets 1063, 44037 and 46597, as in the paper, "
        "unless all are named. Accuracies are compared as counts of correct rows."
    )
    title = "Table 6. Non-Gaussian paired differences (%)"
    return Table("table_6", title, tuple(rows), note=note, legend=LEGEND)


_COMPARED = (
    ("mean+2sd_vs_q0.975", "mean + 2 sd vs q.975", 0.975, 2.0),
    ("mean_vs_median", "mean vs median", 0.5, 0.0),
    ("mean-2sd_vs_q0.025", "mean - 2 sd vs q.025", 0.025, -2.0),
)


def _table_7(make: _Maker) -> Table:
    rows = []
    for metric in ("accuracy", "auc"):
        for row, name, quantile, width in _COMPARED:
            printed = make.printed["table_7"][metric][row]
            for also, tuning, subset in whose_top_three(make.db):
                value = None if also else printed
                found, *viewed = (
                    top_k_changes(make.db, metric, quantile, width, tuning, subset, view)
                    for view in (None, *make.views)
                )
                beside = {
                    view: of_view.shares.get("ordered")
                    for view, of_view in zip(make.views, viewed, strict=True)
                }
                ours = found.shares.get("ordered")
                beside |= {
                    k.replace("_", " "): v for k, v in found.shares.items() if k != "ordered"
                }
                rows.append(Row(name + also, metric, value, ours, found.cells, beside=beside))
    note = (
        "Share of (dataset, n) where the ordered top 3 changes: additive, fixed, tuned unless it "
        "says default; without datasets 1063, 44037 and 46597 unless it says all; ties go to the "
        "first learner. Beside it: changes that no breaking of ties undoes (tie aware), changes of "
        "the set, of the winner (top 1); the same if the scores were draws from normal "
        "distributions of the same mean and covariance, without and (accuracy) with the lattice of "
        "the test set; and the mean over datasets."
    )
    return Table("table_7", "Table 7. Top 3 by moments against quantiles", tuple(rows), note=note)


def _table_b10(make: _Maker) -> Table:
    rows = []
    for metric in ("accuracy", "auc", "cross_entropy", "brier"):
        for name, column in (("skewness", "last_skewness"), ("excess_kurtosis", "last_kurtosis")):
            printed = make.printed["table_B10"][metric][name]
            shape = make.frame[make.frame["metric"] == metric]
            ours = number(shape[column].median())
            beside = {
                view: number(viewed.loc[viewed["metric"] == metric, column].median())
                for view, viewed in make.viewed.items()
            }
            row = name.replace("_", " ")
            if name == "skewness" and METRICS[metric].direction == "minimize":
                # A loss is skewed the other way than a score is: both as the loss has it.
                row, printed = f"{row} (printed: {printed})", -printed
            count = int(shape[column].notna().sum())
            rows.append(Row(row, metric, printed, ours, count, beside=beside))
    note = (
        "The median over curves that have a shape at their last n; cells are those. A constant "
        "cell has none: on a fixed test set the last n leaves additive and random sampling one "
        "training set. The paper prints the skewness of the losses with the sign of a score; it "
        "has that of the loss here, as ours."
    )
    return Table("table_B10", "Table B.10. Median shape at the last n", tuple(rows), note=note)


def _table_c11(make: _Maker) -> Table:
    printed = make.printed["table_C11"]
    rows = []
    for learner in _SOME_LEARNERS:
        for sampling, pair in printed[learner].items():
            pick = _like_with_like("sampling", sampling, learner=learner, split="varying")
            rows.append(make.mean_row(f"{learner} {sampling}", "accuracy", pair, pick))
    title = "Table C.11. Non-Gaussian cells (%) by sampling: varying"
    note = (
        "Of each tuning the curves that all samplings have. Under bootstrap varying test sets are "
        "of varying size: scores have no common step, of which Shapiro-Wilk makes a departure."
    )
    return Table("table_C11", title, tuple(rows), note=note)


def _table_d12(make: _Maker) -> Table:
    kinds = ("imbalanced", "balanced", "binary", "multiclass")
    rows = [
        row
        for metric in ("brier", "cross_entropy")
        for row in _groups(make, metric, make.printed["table_D12"][metric], kinds)
    ]
    return Table(
        "table_D12",
        "Table D.12. Non-Gaussian cells (%): Tables 3 and 4 for the losses",
        tuple(rows),
    )


def _table_d13(make: _Maker) -> Table:
    rows = [
        make.mean_row(label, metric, pairs[metric], _having(**{dim: label}))
        for dim in ("dataset", "learner")
        for label, pairs in make.printed["table_D13"][dim].items()
        for metric in ("brier", "cross_entropy")
    ]
    return Table(
        "table_D13",
        "Table D.13. Non-Gaussian cells (%): Tables 1 and 2 for the losses",
        tuple(rows),
    )


def _text(make: _Maker) -> Table:
    printed = make.printed["text"]
    frame, rows = make.frame, []
    for name, title, column in (
        ("shapiro_wilk_overall", "Shapiro-Wilk", "rate"),
        ("dagostino_overall", "D'Agostino-Pearson", "dagostino"),
        ("skewness_test", "skewness test", "skewness_test"),
        ("kurtosis_test", "kurtosis test", "kurtosis_test"),
    ):
        beside = {view: number(viewed[column].mean()) for view, viewed in make.viewed.items()}
        beside["at every n"] = number(frame[f"every_{column}"].mean())
        ours = number(frame[column].mean())
        rows.append(Row(title, "all", printed[name], ours, **sums(frame), beside=beside))
    counts = sums(frame)
    share = number((100.0 * frame["constant"] / frame["cells"]).mean())
    beside = {"at every n": number(frame["every_constant"].mean())}
    rows.append(
        Row("constant cells", "all", printed["constant_cells"], share, **counts, beside=beside)
    )
    for also, tuning, subset in whose_top_three(make.db):
        value = None if also else printed["quantile_95_against_mean"]
        found = top_k_changes(make.db, "accuracy", 0.95, 0.0, tuning, subset)
        share = found.shares.get("ordered")
        ours = None if share is None else 100.0 * share
        rows.append(Row(f"q.95 vs mean{also}", "accuracy", value, ours, found.cells))
    note = (
        "Non-Gaussian cells by test: unweighted means over curves of all four metrics. q.95 vs "
        "mean: sizes at which the ordered top 3 by the .95 quantile is not that by the mean, as in "
        "Table 7; the paper does not say of what its number is the share."
    )
    return Table("text", "Figures in the text (%)", tuple(rows), note=note)


_MAKERS: dict[str, Callable[[_Maker], Table]] = {
    "1": _table_1,
    "2": _table_2,
    "3": _table_3,
    "4": _table_4,
    "5": _table_5,
    "6": _table_6,
    "7": _table_7,
    "A8": lambda make: dataset_table(make.db, make.printed["table_A8"]),
    "A9": lambda make: missing_table(make.db, make.printed["table_A9"]),
    "B10": _table_b10,
    "C11": _table_c11,
    "D12": _table_d12,
    "D13": _table_d13,
    "text": _text,
}
NAMES = tuple(_MAKERS)
_ALL_CURVES = "Means over curves of all draws and tunings"
#: What the numbers of a table are of, in a few words: the draws are those of the paper.
_ABOUT = {
    "1": _ALL_CURVES,
    "2": _ALL_CURVES,
    "3": "Means over datasets of Table 1",
    "4": "Means over curves of LREG, all draws and tunings",
    "5": "Means over curves, all samplings, fixed split",
    "6": "Means over datasets, samplings, learner pairs",
    "7": "Share of (dataset, n): additive, fixed, tuned unless named default",
    "A8": "Rows, features and classes",
    "A9": "Of all draws that the plan of the database asks for",
    "B10": "Medians over curves of all draws and tunings",
    "C11": "Means over curves, varying split",
    "D12": "Over datasets; by classes over curves of LREG",
    "D13": _ALL_CURVES,
    "text": "All draws and metrics; q.95: additive, fixed",
}


def _dataset_names(db: Database) -> dict[str, str]:
    """Return the names of datasets by id, those of the paper and those of a database."""
    listed = tomllib.loads((files("lcdb.data") / "datasets.toml").read_text("utf-8"))["dataset"]
    names = {str(row["id"]): row["name"] for row in listed}
    names |= {header.id: header.name for header in db.headers.values()}
    return {id: name if name == id else f"{name} ({id})" for id, name in names.items()}


def _with_names(table: Table, datasets: Mapping[str, str]) -> Table:
    """Return a table whose rows have names of datasets, and long names of learners."""

    def name(row: Row) -> str:
        learner, _, rest = row.row.partition(" ")
        if learner not in LEARNER_ROWS:
            return datasets.get(row.row, "")
        return f"{LEARNER_ROWS[learner].long_name} ({learner}){rest and f', {rest}'}"

    return replace(table, rows=tuple(replace(row, name=name(row)) for row in table.rows))


def tables(
    db: Database, names: Sequence[str] | None = None, views: Sequence[str] = ()
) -> list[Table]:
    """Return tables of the paper, recomputed from whatever part of the database exists.

    Parameters
    ----------
    db
        An open database, or one scaling of it: ``db.scaled("standard")``.
    names
        Some of `NAMES`, such as ``"1"`` or ``"A9"``; all unless given. Not among these is
        ``"implied"``: ``"errors"`` of tests of equal learners, ``"coverage"`` of mean ± 2 sd, and
        ``"dominance"`` between learners.
    views
        Some of `lcdb.tables.VIEWS`: columns that show what the behaviour of the public generator
        would make of the same repetitions.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     first = lcdb.tables.tables(db, ["1"])[0]
    >>> first.name, [row.published for row in first.rows if row.row == "61"]
    ('table_1', [99.38, 91.51])
    """
    asked = [str(name).replace(".", "") for name in (NAMES if names is None else names)]
    chosen = [one for name in asked for one in (IMPLIED if name == "implied" else [name])]
    for name in chosen:
        if name not in _MAKERS and name not in IMPLIED:
            known = [*NAMES, "implied", *IMPLIED]
            msg = f"there is no table {name!r} in turan2026.{did_you_mean(name, known)}"
            raise LabelError(msg)
    for view in views:
        if view not in VIEWS:
            msg = f"there is no view {view!r}.{did_you_mean(view, VIEWS)}"
            raise LabelError(msg)
    db = db.scaled()
    make, named = _Maker(db, views), _dataset_names(db)
    return [
        IMPLIED[name](db)
        if name in IMPLIED
        else _with_names(
            with_repetitions(db, replace(_MAKERS[name](make), about=_ABOUT[name])), named
        )
        for name in chosen
    ]
