"""Differences of two learners, the best three, samplings, and what tuning does to rates."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from findings.evidence import Evidence
from findings.normality import comparable, table
from lcdb.schema import SAMPLINGS, TUNINGS
from lcdb.tables import Row
from lcdb.tables.paired import ALL_DATASETS, LEFT_OUT
from words import listed, markdown, metric_name, number

#: What rows of Table 7 say that have no printed number.
OF_DEFAULT = ", default"
_WAYS = ("tie aware", "set", "top 1", "normal", "normal on lattice", "mean over datasets")


def differences(found: Evidence) -> str:
    """Return in sentences what Table 6 says."""
    said = []
    for row in found.tables["table_6"].rows:
        if row.ours is None or row.published is None:
            continue
        tuning, split = row.row.split(", ")
        text = (
            f"Of the differences in {metric_name(row.metric)} of two {tuning} learners on {split} "
            f"test sets {number(comparable(row))} % are not normal (printed "
            f"{number(row.published)})"
        )
        apart = row.ours != comparable(row)
        text += f"; at the sizes of the plan {number(row.ours)} %" if apart else ""
        if row.beside["lattice-aware"] is not None:
            text += (
                ", and as differences of whole numbers of rows "
                f"{number(row.beside['lattice-aware'])} % are not rounded normals"
            )
        said.append(f"{text}.")
    return " ".join(said)


def top_three(found: Evidence) -> str:
    """Return in sentences what Table 7 says."""
    there = [name for id, name in found.names.items() if id not in LEFT_OUT]
    said = [f"The best three are compared on {listed(there)}."]
    for metric, null in (("accuracy", "normal on lattice"), ("auc", "normal")):
        rows = [
            row
            for row in found.tables["table_7"].rows
            if row.metric == metric and row.published is not None and row.ours is not None
        ]
        parts = [
            f"by {row.row.replace(' vs ', ' instead of ')} at {number(row.ours, 2)} of the sizes "
            f"(printed {number(row.published, 2)}), at {number(row.beside['tie aware'], 2)} "
            f"however ties are broken, and at {number(row.beside[null], 2)} if scores were normal"
            for row in rows
        ]
        if parts:
            rounded = ", rounded to the same test set" if metric == "accuracy" else ""
            said.append(
                f"Of tuned learners the ordered best three in {metric_name(metric)} change "
                f"{'; '.join(parts)}{rounded}."
            )
    default = listed(f"at {shares_of_default(found, metric)} of the sizes in {metric_name(metric)}"
                     for metric in ("accuracy", "auc"))  # fmt: skip
    said.append(
        "Of default learners on the same datasets, of which the paper prints nothing, the ordered "
        f"best three change by these, in this order, {default}."
    )
    return "\n\n".join([*said, _by_quantile_95(found)])


def shares_of_default(found: Evidence, metric: str) -> str:
    """Return the shares of Table 7 of default learners, on the paper's datasets, as a list."""
    return listed(
        number(row.ours, 2)
        for row in found.tables["table_7"].rows
        if row.metric == metric and row.row.endswith(OF_DEFAULT) and ALL_DATASETS not in row.row
    )


def _by_quantile_95(found: Evidence) -> str:
    """Return in sentences what the .95 quantile changes."""
    rows = {row.row: row for row in found.tables["text"].rows if row.ours is not None}
    name = "q.95 vs mean"
    if name not in rows or name + OF_DEFAULT not in rows:
        return ""
    text = (
        "Ranked by the .95 quantile instead of the mean, the ordered best three in accuracy "
        f"change at {number(rows[name].ours)} % of the sizes of tuned learners (printed "
        f"{number(rows[name].published)}) and at {number(rows[name + OF_DEFAULT].ours)} % of "
        "those of default ones"
    )
    if set(found.names) & set(LEFT_OUT):
        tuned, default = (
            number(rows[name + ALL_DATASETS + also].ours) for also in ("", OF_DEFAULT)
        )
        text += f"; of all datasets, at {tuned} and {default} %"
    return f"{text}."


def shares(rows: Iterable[Row]) -> str:
    """Return Table 7: shares of sizes, published and ours, and in which way others change."""
    lines = [
        [f"{row.row}, {metric_name(row.metric)}", number(row.published, 2), number(row.ours, 2),
         *(number(row.beside.get(way), 2) for way in _WAYS), str(row.cells)]
        for row in rows
        if row.published is not None or row.ours is not None
    ]  # fmt: skip
    return markdown("comparison, metric", ["published", "ours", *_WAYS, "sizes"], lines)


def samplings(found: Evidence) -> str:
    """Return in sentences what Table C.11 says, and what it owes to rounding."""
    some = _of_c11(found)
    rates = some.pivot_table("every_rate", "learner", "sampling")
    drawn = [name for name in SAMPLINGS if name in rates.columns]
    if len(drawn) < 2:
        return ""
    spread = rates.max(axis=1) - rates.min(axis=1)
    least = rates.idxmin(axis=1)
    most = spread.idxmax()
    other = some.pivot_table("every_dagostino", "learner", "sampling").loc[most]
    which = " and ".join(name for name in TUNINGS if name in set(some["tuning"]))
    said = (
        f"How training sets are drawn moves the rate of accuracy of {which} learners by "
        f"{number(spread.min())} to {number(spread[most])} points, the most for {most}: "
        f"{listed(number(rates.loc[most, s]) for s in drawn)} % ({listed(drawn)}; Table "
        f"C.11, at every n). {_least(least)} By D'Agostino's test, which steps of the scores "
        f"hardly move, the rates of {most} at every n are "
        f"{listed(number(other[s]) for s in drawn)} %"
    )
    if least[most] == "bootstrap" and other.idxmin() != "bootstrap":
        said += (
            ": what bootstrap lowers is rounding. Test sets vary in size there, and scores have no "
            "common step that Shapiro-Wilk could take for a departure"
        )
    return f"{said}."


def _of_c11(found: Evidence) -> pd.DataFrame:
    """Return the curves of Table C.11: of each tuning those that all samplings have."""
    some = found.frame.query(
        "metric == 'accuracy' and split == 'varying'"
        f" and learner in {sorted({r.row.split()[0] for r in found.tables['table_C11'].rows})}"
    )
    by = some.groupby(["dataset", "learner", "tuning"])["sampling"]
    return some[by.transform("nunique") == some["sampling"].nunique()]


def _least(least: pd.Series) -> str:
    count = (least == "bootstrap").sum()
    return f"Bootstrap has the lowest rate for {count} of {len(least)} learners."


def tuned(found: Evidence) -> str:
    """Return in sentences what Table 5 says."""
    rows = {row.row: row for row in found.tables["table_5"].rows if row.ours is not None}
    said = []
    for learner in dict.fromkeys(name.split()[0] for name in rows):
        pair = [rows.get(f"{learner} {tuning}") for tuning in ("default", "tuned")]
        if pair[0] is not None and pair[1] is not None:
            said.append(
                f"{learner} {number(comparable(pair[0]))} and {number(comparable(pair[1]))} % "
                f"(printed {number(pair[0].published)} and {number(pair[1].published)})"
            )
    which = "of datasets and samplings that have both"
    return f"From n = 10 on, default and tuned, {which}: {listed(said)}." if said else ""


def section(found: Evidence) -> str:
    """Return the section."""
    get = found.tables
    return f"""## Differences and winners

{differences(found)}

{top_three(found)}

### Table 6. Non-Gaussian paired differences (%)

{table(get["table_6"].rows, lambda row: row.row, "curves, metric")}

{get["table_6"].note}

### Table 7. Top 3 by moments against quantiles

{shares(get["table_7"].rows)}

{get["table_7"].note}

## Samplings and tuning

{samplings(found)}

{tuned(found)}

### Table C.11. Non-Gaussian cells (%) by sampling: varying test sets

{table(get["table_C11"].rows, lambda row: row.row)}

{get["table_C11"].note}

### Table 5. Default against tuned: fixed test sets, n from 10

{table(get["table_5"].rows, lambda row: row.row)}

{get["table_5"].note}
"""
