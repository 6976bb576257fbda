"""Differences of two learners, the best three, samplings, and what tuning does to rates."""

from __future__ import annotations

from findings.evidence import Evidence
from findings.normality import comparable, table
from findings.words import listed, markdown, metric_name, number
from lcdb.tables import Row

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
        if row.beside["lattice-aware"] is not None:
            text += (
                "; as differences of whole numbers of rows, "
                f"{number(row.beside['lattice-aware'])} % are not rounded normals"
            )
        said.append(f"{text}.")
    return " ".join(said)


def top_three(found: Evidence) -> str:
    """Return in sentences what Table 7 says."""
    said = []
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
    q95 = [row for row in found.tables["text"].rows if row.row.startswith("q.95")]
    told = [
        f"{'tuned' if row.published is not None else 'default'} {number(row.ours)} %"
        + (f" (printed {number(row.published)})" if row.published is not None else "")
        for row in q95
        if row.ours is not None
    ]
    if told:
        said.append(f"By the .95 quantile against the mean it is {listed(told)} of the sizes.")
    return "\n\n".join(said)


def _shares(rows: tuple[Row, ...]) -> str:
    lines = [
        [f"{row.row}, {metric_name(row.metric)}", number(row.published, 2), number(row.ours, 2),
         *(number(row.beside.get(way), 2) for way in _WAYS), str(row.cells)]
        for row in rows
        if row.published is not None or row.ours is not None
    ]  # fmt: skip
    return markdown("comparison, metric", ["published", "ours", *_WAYS, "sizes"], lines)


def samplings(found: Evidence) -> str:
    """Return in sentences what Table C.11 says."""
    rows = {row.row: comparable(row) for row in found.tables["table_C11"].rows
            if row.ours is not None}  # fmt: skip
    learners = list(dict.fromkeys(name.split()[0] for name in rows))
    spread = {
        one: max(v for k, v in rows.items() if k.startswith(f"{one} "))
        - min(v for k, v in rows.items() if k.startswith(f"{one} "))
        for one in learners
    }
    if not spread:
        return ""
    most = max(spread, key=spread.__getitem__)
    return (
        "How training sets are drawn moves the rate of accuracy by "
        f"{number(min(spread.values()))} to {number(spread[most])} points, the most for {most}."
    )


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
    return f"From n = 10 on, default and tuned: {listed(said)}." if said else ""


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

{_shares(get["table_7"].rows)}

{get["table_7"].note}

## Samplings and tuning

{samplings(found)}

{tuned(found)}

### Table C.11. Non-Gaussian cells (%) by sampling: varying test sets

{table(get["table_C11"].rows, lambda row: row.row)}

### Table 5. Default against tuned: fixed test sets, n from 10

{table(get["table_5"].rows, lambda row: row.row)}
"""
