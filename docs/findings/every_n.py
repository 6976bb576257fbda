"""The second page: the paper's tables where every n is there, and whether estimates held."""

from __future__ import annotations

from collections.abc import Iterable

import lcdb
from findings import apart, estimates, holdings, normality, rankings
from findings.evidence import Evidence
from lcdb.tables import Row
from lcdb.tables.turan2026 import BALANCED, BINARY
from words import listed, markdown, number, wrapped

# Facts of the builds, which no file of a summary has.
_HOW = """Each was built by `lcdb build turan2026 --out EVERY --dataset ID` on two cores of an AMD
EPYC (Linux, Python 3.11, NumPy 2.4, Numba 0.68): iris in some 0.3 core-hours, heart-statlog in 0.5
and thyroid-recurrence in 1.2 at commit 8c87183, and early-stage-diabetes in 1.6 at commit 1bc676e,
beside other work, so that these are upper bounds. Of each, 2,000 random cells of the full cube were
computed again (`lcdb verify EVERY --recompute 2000`): all are as stored."""


def overall(found: Evidence) -> tuple[str, str]:
    """Return the figures of the paper's text, as table and in sentences."""
    rows = [row for row in found.tables["text"].rows if row.metric == "all"]
    by = found.frame.groupby("tuning")
    lines = [
        [row.row, number(row.published), number(row.ours, 2),
         *(number(by.get_group(tuning)[column].mean(), 2) for tuning in ("default", "tuned"))]
        for row, column in zip(rows, (f"every_{test}" for test in estimates.TESTS), strict=True)
    ]  # fmt: skip
    rates = by["every_rate"].mean()
    said = (
        f"Over {len(found.frame):,} curves and metrics, half of them tuned, and "
        f"{int(found.frame['cells'].sum()):,} cells Shapiro-Wilk rejects {number(rows[0].ours)} % "
        f"(printed {number(rows[0].published)}, of ten datasets): {number(rates['default'])} % of "
        f"default curves and {number(rates['tuned'])} % of tuned ones, as means over curves."
    )
    return markdown("test, % of cells", ["published", "ours", "default", "tuned"], lines), said


def _rates(found: Evidence, names: list[str], first: str) -> str:
    """Return some tables of rates as one."""
    rows: list[Row] = [row for name in names for row in found.tables[name].rows]
    kept = [row for row in rows if row.ours is not None]
    return normality.table(kept, normality.by_name(found), first, without=["at every n"])


def groups(found: Evidence) -> str:
    """Return which of the datasets that are there are in which group."""

    def some(ids: Iterable[str], inside: bool = True) -> str:
        return listed(name for id, name in found.names.items() if (id in ids) == inside)

    return (
        f"Balanced are {some(BALANCED)}, imbalanced {some(BALANCED, False)}; two classes have "
        f"{some(BINARY)}, more {some(BINARY, False)}."
    )


def page(db: lcdb.Database, reference: lcdb.Database) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    db
        Of the plan ``turan2026``.
    reference
        What estimates rates at every n.
    """
    found = Evidence(db)
    few = Evidence(reference)
    test_table, all_said = overall(found)
    estimate_table, estimate_said = estimates.by_test(found, few)
    near = [
        normality.agreement(found, [table], metric, what)
        for table, what in (("table_1", "dataset"), ("table_2", "learner"))
        for metric in ("accuracy", "auc")
    ]
    there = listed(f"{name} ({id})" for id, name in found.names.items())
    text = f"""# The paper's tables at every n

*`make findings` writes this page from `lcdb.shipped.turan2026()`, summaries that ship:
{found.release}. Every number in it is computed then; tests compute them again.*

[The reference database](findings.md) has many datasets at some sizes, and tunes curves of additive
training sets alone. The plan `turan2026` has what the paper has: every n, and each curve default
and tuned. It is here for {there}. Words are those of the page on the reference database.

```
lcdb tables turan2026 --table text --table 1 --table 5    # and so on: 2 to 7, A9 to D13
lcdb build turan2026 --out EVERY --dataset 61             # each dataset is a piece
lcdb verify EVERY --recompute 2000
lcdb summarize EVERY --out SMALL --sizes log:12 --bits 14 --release VERSION
```

{_HOW}

{holdings.definitions(found)}

## What is missing

{holdings.missing_said(found)}

### Table A.9. Missing curves

{holdings.missing(found)}

## Are scores normally distributed?

{all_said}

{test_table}

{" ".join(filter(None, near))} Of learners the paper's means are over
ten datasets.

{apart.of_learner(found, "auc")}

{apart.UNNAMED}

### AUC beside accuracy

{normality.of_auc(found, "")}

### Table 1. Non-Gaussian cells (%) by dataset

{_rates(found, ["table_1"], "dataset, metric")}

### Table 2. Non-Gaussian cells (%) by learner

{_rates(found, ["table_2"], "learner, metric")}

{found.tables["table_2"].note}

### Table D.13. The same for the losses

{_rates(found, ["table_D13"], "dataset or learner, metric")}

### Tables 3, 4 and D.12. By balance and number of classes

{groups(found)} {normality.groups(found)}

{_rates(found, ["table_3", "table_4", "table_D12"], "group, metric")}

### Table B.10. Shape at the last size

{normality.shapes(found)}

## Do estimates at every n hold?

{estimate_said}

{estimate_table}

{estimates.unknown(found, few)}

{estimates.by_dataset(found, few)}

## Default against tuned

{rankings.tuned(found)}

### Table 5. Default against tuned: fixed test sets, n from 10

{_rates(found, ["table_5"], "curves")}

{found.tables["table_5"].note}

## Samplings

{rankings.samplings(found)}

### Table C.11. Non-Gaussian cells (%) by sampling: varying test sets

{_rates(found, ["table_C11"], "curves")}

{found.tables["table_C11"].note}

## Differences and winners

{rankings.differences(found)}

{rankings.top_three(found)}

### Table 6. Non-Gaussian paired differences (%)

{_rates(found, ["table_6"], "curves, metric")}

{found.tables["table_6"].note}

### Table 7. Top 3 by moments against quantiles

{rankings.shares(found.tables["table_7"].rows)}

{found.tables["table_7"].note}
"""
    return wrapped(text)
