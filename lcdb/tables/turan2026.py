"""The tables of Turan, Loog and Tax 2026: published, recomputed, and the difference.

Rates are percentages of cells that Shapiro-Wilk rejects at 5 %; a constant cell counts as Gaussian.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from lcdb.errors import LabelError, did_you_mean
from lcdb.tables.frame import VIEWS, curve_frame
from lcdb.tables.paired import paired_rates, top_k_changes
from lcdb.tables.rows import Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database

__all__ = ["BALANCED", "BINARY", "NAMES", "published", "tables"]

BALANCED = ("53", "61", "44037", "46597")
BINARY = ("37", "53", "1063", "44037", "46733", "46847")
_SOME_LEARNERS = ("DT", "LDC", "LREG", "RFOR")


def published() -> dict[str, Any]:
    """Return the printed tables as they are in the paper."""
    return json.loads((files("lcdb.data") / "published" / "turan2026.json").read_text())


class _Maker:
    """The frames of a database, honest and under each view, and rows made of them."""

    def __init__(self, db: Database, views: Sequence[str]) -> None:
        self.db = db
        self.printed = published()
        self.views = list(views)
        self.frame = curve_frame(db)
        self.viewed = {view: curve_frame(db, view) for view in self.views}

    def mean_row(
        self,
        name: str,
        metric: str,
        printed: float | Sequence[float],
        pick: Callable[[pd.DataFrame], pd.Series],
        column: str = "rate",
        reduce: Callable[[pd.DataFrame], float] | None = None,
    ) -> Row:
        """Return the mean of a column over picked curves, and the same under each view.

        Where the paper prints mean and SD, `printed` is the pair, and the SD (ddof 1) is ours too.
        """

        def value(frame: pd.DataFrame, what: str) -> float | None:
            chosen = frame[pick(frame) & (frame["metric"] == metric)]
            number = reduce(chosen) if reduce and len(chosen) else chosen[what].mean()
            return None if np.isnan(number) else float(number)

        chosen = self.frame[pick(self.frame) & (self.frame["metric"] == metric)]
        beside = {view: value(frame, column) for view, frame in self.viewed.items()}
        if reduce is None:
            beside["D'Agostino"] = value(self.frame, "dagostino")
            beside["lattice-aware"] = value(self.frame, "lattice")
            beside["median W"] = value(self.frame, "median_w")
        pair = list(printed) if isinstance(printed, Sequence) else [printed]
        sd = float(chosen[column].std(ddof=1)) if len(pair) > 1 and len(chosen) > 1 else None
        return Row(
            name,
            metric,
            pair[0],
            value(self.frame, column),
            **_sums(chosen),
            beside=beside,
            published_sd=pair[1] if len(pair) > 1 else None,
            ours_sd=sd,
        )


def _having(**labels: Any) -> Callable[[pd.DataFrame], pd.Series]:
    """Return a picker of curves that have a label, or one of several."""

    def pick(frame: pd.DataFrame) -> pd.Series:
        kept = frame["metric"].notna()
        for name, value in labels.items():
            kept &= frame[name].isin([value] if isinstance(value, str) else list(value))
        return kept

    return pick


def _mean_of_datasets(chosen: pd.DataFrame) -> float:
    return float(chosen.groupby("dataset")["rate"].mean().mean())


def _table_1(make: _Maker) -> Table:
    printed = make.printed["table_1"]
    rows = [
        make.mean_row(dataset, metric, pair, _having(dataset=dataset))
        for metric in ("accuracy", "auc")
        for dataset, pair in printed[metric].items()
    ]
    return Table("table_1", "Table 1. Non-Gaussian cells (%) by dataset", tuple(rows))


def _table_2(make: _Maker) -> Table:
    printed = make.printed["table_2"]
    rows = [
        make.mean_row(learner, metric, pair, _having(learner=learner))
        for metric in ("accuracy", "auc")
        for learner, pair in printed[metric].items()
    ]
    note = "LREG has a small ridge here; the paper has none."
    return Table("table_2", "Table 2. Non-Gaussian cells (%) by learner", tuple(rows), note=note)


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
        reduce = None if of_lreg else _mean_of_datasets
        rows.append(make.mean_row(kind, metric, printed[kind], _having(**labels), reduce=reduce))
    return rows


def _table_3(make: _Maker) -> Table:
    printed = make.printed["table_3"]
    rows = [
        row
        for metric in ("accuracy", "auc")
        for row in _groups(make, metric, printed[metric], ("imbalanced", "balanced"))
    ]
    return Table("table_3", "Table 3. Mean of Table 1 over groups of datasets", tuple(rows))


def _table_4(make: _Maker) -> Table:
    printed = make.printed["table_4"]
    rows = [
        row
        for metric in ("accuracy", "auc")
        for row in _groups(make, metric, printed[metric], ("binary", "multiclass"))
    ]
    return Table("table_4", "Table 4. LREG by number of classes", tuple(rows))


def _table_5(make: _Maker) -> Table:
    printed = make.printed["table_5"]
    rows = []
    for tuning in ("default", "tuned"):
        for learner in _SOME_LEARNERS:
            pick = _having(learner=learner, tuning=tuning, split="fixed")
            name, pair = f"{learner} {tuning}", printed[tuning][learner]
            rows.append(make.mean_row(name, "accuracy", pair, pick, column="from_10"))
    title = "Table 5. Default against tuned, fixed test set, n from 10"
    return Table("table_5", title, tuple(rows))


def _table_6(make: _Maker) -> Table:
    rows = []
    for row, tuning, split in (
        ("default_varying", "default", "varying"),
        ("tuned_fixed", "tuned", "fixed"),
    ):
        for metric in ("accuracy", "auc"):
            printed = make.printed["table_6"][row][metric]
            for name, subset in ((row, True), (f"{row}, all datasets", False)):
                ours = {
                    view: paired_rates(make.db, metric, tuning, split, subset, view)
                    for view in (None, *make.views)
                }
                honest = ours.pop(None)
                beside = {str(view): found.rate for view, found in ours.items()}
                counts = (honest.cells, honest.missing, honest.constant)
                value = printed if subset else None
                rows.append(Row(name, metric, value, honest.rate, *counts, beside=beside))
    note = "Without datasets 1063, 44037 and 46597, as in the paper, unless all are named."
    title = "Table 6. Non-Gaussian paired differences (%)"
    return Table("table_6", title, tuple(rows), note=note)


def _table_7(make: _Maker) -> Table:
    rows = []
    for metric in ("accuracy", "auc"):
        for row, quantile, width in (
            ("mean+2sd_vs_q0.975", 0.975, 2.0),
            ("mean_vs_median", 0.5, 0.0),
            ("mean-2sd_vs_q0.025", 0.025, -2.0),
        ):
            printed = make.printed["table_7"][metric][row]
            for name, subset in ((row, True), (f"{row}, all datasets", False)):
                found = top_k_changes(make.db, metric, quantile, width, subset)
                value = printed if subset else None
                beside = {k: found.shares.get(k) for k in found.names if k != "ordered"}
                ours = found.shares.get("ordered")
                rows.append(Row(name, metric, value, ours, found.cells, beside=beside))
    note = (
        "Share of (dataset, n) where the top 3 changes: additive, fixed, tuned. Beside it: changes "
        "that no breaking of ties undoes, changes of the set, of the winner, and the mean of the "
        "share over datasets; then the share under normal distributions of the same mean and "
        "covariance, without and (accuracy) with the lattice of the test set."
    )
    return Table("table_7", "Table 7. Top 3 by moments against quantiles", tuple(rows), note=note)


def _table_a8(make: _Maker) -> Table:
    rows = []
    for dataset, facts in make.printed["table_A8"].items():
        header = next((h for h in make.db.headers.values() if h.id == dataset), None)
        for name, here in (("samples", "rows"), ("features", "features"), ("classes", "classes")):
            ours = None if header is None else float(getattr(header, here))
            rows.append(Row(f"{dataset} {name}", "", facts.get(name), ours))
    note = "Printed sizes of 11 and 1063 count trailing lines of their files."
    return Table("table_A8", "Table A.8. Datasets", tuple(rows), digits=0, note=note)


def _table_a9(make: _Maker) -> Table:
    printed = make.printed["table_A9"]
    status = make.db.status()
    status = status[status["split"] != "pool"]
    lost = status[status["status"] != "complete"]
    by: dict[str, dict[str, int]] = {
        "learner": {str(k): int(v) for k, v in lost["learner"].value_counts().items()},
        "dataset": {str(k): int(v) for k, v in lost["dataset"].value_counts().items()},
        "tuning": {str(k): int(v) for k, v in lost["tuning"].value_counts().items()},
    }
    rows = [Row("expected", "", printed["expected_curves"], 4.0 * len(status))]
    rows.append(Row("missing", "", printed["missing"], 4.0 * len(lost)))
    for kind, ours in by.items():
        names = dict.fromkeys([*printed[kind], *(k for k in ours if ours[k])])
        rows += [Row(k, kind, printed[kind].get(k, 0), 4.0 * ours.get(k, 0)) for k in names]
    title = "Table A.9. Missing curves (four metrics each)"
    return Table("table_A9", title, tuple(rows), digits=0)


def _table_b10(make: _Maker) -> Table:
    rows = []
    for metric in ("accuracy", "auc", "cross_entropy", "brier"):
        for name, column in (("skewness", "last_skewness"), ("excess_kurtosis", "last_kurtosis")):
            printed = make.printed["table_B10"][metric][name]
            shape = make.frame[make.frame["metric"] == metric]
            ours = None if shape.empty else float(shape[column].median())
            rows.append(Row(name, metric, printed, ours, **_sums(shape)))
    return Table("table_B10", "Table B.10. Median shape at the last n", tuple(rows))


def _table_c11(make: _Maker) -> Table:
    printed = make.printed["table_C11"]
    rows = []
    for learner in _SOME_LEARNERS:
        for sampling, pair in printed[learner].items():
            pick = _having(learner=learner, sampling=sampling, split="varying")
            rows.append(make.mean_row(f"{learner} {sampling}", "accuracy", pair, pick))
    return Table("table_C11", "Table C.11. By sampling, varying test set", tuple(rows))


def _table_d12(make: _Maker) -> Table:
    kinds = ("imbalanced", "balanced", "binary", "multiclass")
    rows = [
        row
        for metric in ("brier", "cross_entropy")
        for row in _groups(make, metric, make.printed["table_D12"][metric], kinds)
    ]
    return Table("table_D12", "Table D.12. As Tables 3 and 4, for the losses", tuple(rows))


def _table_d13(make: _Maker) -> Table:
    rows = [
        make.mean_row(label, metric, pairs[metric], _having(**{dim: label}))
        for dim in ("dataset", "learner")
        for label, pairs in make.printed["table_D13"][dim].items()
        for metric in ("brier", "cross_entropy")
    ]
    return Table("table_D13", "Table D.13. As Tables 1 and 2, for the losses", tuple(rows))


def _text(make: _Maker) -> Table:
    printed = make.printed["text"]
    rows = []
    for name, column in (
        ("shapiro_wilk_overall", "rate"),
        ("dagostino_overall", "dagostino"),
        ("skewness_test", "skewness_test"),
        ("kurtosis_test", "kurtosis_test"),
    ):
        frame = make.frame
        ours = None if frame.empty else float(frame[column].mean())
        beside = {
            view: None if viewed.empty else float(viewed[column].mean())
            for view, viewed in make.viewed.items()
        }
        rows.append(Row(name, "all", printed[name], ours, **_sums(frame), beside=beside))
    sums = _sums(make.frame)
    share = 100.0 * sums["constant"] / sums["cells"] if sums and sums["cells"] else None
    rows.append(Row("constant_cells", "all", printed["constant_cells"], share, **sums))
    return Table("text", "Figures in the text (%)", tuple(rows))


def _sums(frame: pd.DataFrame) -> Any:
    if frame.empty:
        return {}
    return {name: int(frame[name].sum()) for name in ("cells", "missing", "constant")}


_MAKERS: dict[str, Callable[[_Maker], Table]] = {
    "1": _table_1,
    "2": _table_2,
    "3": _table_3,
    "4": _table_4,
    "5": _table_5,
    "6": _table_6,
    "7": _table_7,
    "A8": _table_a8,
    "A9": _table_a9,
    "B10": _table_b10,
    "C11": _table_c11,
    "D12": _table_d12,
    "D13": _table_d13,
    "text": _text,
}
NAMES = tuple(_MAKERS)


def tables(
    db: Database, names: Sequence[str] | None = None, views: Sequence[str] = ()
) -> list[Table]:
    """Return tables of the paper, recomputed from whatever part of the database exists.

    Parameters
    ----------
    db
        An open database.
    names
        Some of `NAMES`, such as ``"1"`` or ``"A9"``; all unless given.
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
    chosen = [str(name).replace(".", "") for name in (NAMES if names is None else names)]
    for name in chosen:
        if name not in _MAKERS:
            msg = f"there is no table {name!r} in turan2026.{did_you_mean(name, NAMES)}"
            raise LabelError(msg)
    for view in views:
        if view not in VIEWS:
            msg = f"there is no view {view!r}.{did_you_mean(view, VIEWS)}"
            raise LabelError(msg)
    make = _Maker(db, views)
    return [_MAKERS[name](make) for name in chosen]
