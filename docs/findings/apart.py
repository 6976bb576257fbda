"""Where printed rates are far from ours, and what the numbers that ship say of why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from findings.evidence import Evidence
from findings.normality import comparable
from lcdb import stats
from lcdb.shipped import crossing
from lcdb.tables import Row, curve_frame
from lcdb.tables.views import duplicate_seeds
from words import markdown, metric_name, number, signed, with_sd

#: Sizes as shares of the largest one, m: up to each of these, from the one before.
SHARES = {"to m/10": 0.1, "to m/4": 0.25, "to m/2": 0.5, "to m": 1.0}
_LAST = "to m"
_SEED, _CELLS = 1, 1000

UNNAMED = """The paper prints no rates of curves, so that those which pull its means down cannot be
named."""

# What the last command said once, of a build that does not ship.
_RUN = """Built so, default curves of LDC, NNC and QDC on cmc are rejected at 80.5 % of the plan's
sizes in accuracy and 68.7 % in AUC as they are, and at 91.6 and 81.5 % with repeated seeds.
Notebook 04 (`notebooks/04_what_a_rejection_rate_hides.ipynb`) takes rates apart, on normal scores
and on real ones.

```
lcdb tables crossing --table 1 --table text --view duplicate_seeds
lcdb build reference --out CMC --dataset 23 --scaling none --tuning default \\
  --learner LDC --learner NNC --learner QDC
lcdb tables CMC --table 1 --view duplicate_seeds
```"""


def cells(found: Evidence, metric: str) -> pd.DataFrame:
    """Return the cells that ship below m: whether they are rejected, W, and their share of m."""
    frames = []
    for key, cube in found.cells(metric).items():
        header = found.db.headers[key]
        rejected = stats.non_gaussian(cube["shapiro_p"], cube["count"], cube["constant"])
        some = xr.Dataset({"rejected": (cube["shapiro_p"].dims, rejected), "w": cube["shapiro_w"]})
        frame = some.to_dataframe().reset_index()
        frame = frame[frame["n"] < header.largest_size].dropna(subset=["rejected"])
        edges = [0.0, *SHARES.values()]
        frame["share"] = pd.cut(frame["n"] / header.largest_size, edges, labels=list(SHARES))
        frames.append(frame.assign(dataset=header.id))
    return pd.concat(frames)


def along_n(found: Evidence) -> str:
    """Return the percentages of rejected cells by dataset and share of the largest size."""
    lines = []
    for metric in ("accuracy", "auc"):
        some = cells(found, metric)
        by = some.groupby(["dataset", "tuning", "share"], observed=False)
        rates, w = 100 * by["rejected"].mean(), by["w"].median()
        for row in found.tables["table_1"].rows:
            if row.metric == metric and row.ours is not None:
                default = rates[row.row, "default"]
                tuned = rates.get((row.row, "tuned", _LAST))
                lines.append([
                    f"{found.named(row.row)}, {metric_name(metric)}",
                    with_sd(row.published, row.published_sd, 2),
                    *(number(default[share]) for share in SHARES),
                    number(w[row.row, "default", _LAST], 3), number(tuned),
                ])  # fmt: skip
    columns = ["published", *SHARES, "W, m/2 to m", "tuned, m/2 to m"]
    return markdown("dataset, metric", columns, lines)


def farthest(found: Evidence, table: str, metric: str) -> Row:
    """Return the row of a table whose rate is farthest from the printed one."""
    rows = [row for row in found.tables[table].rows
            if row.metric == metric and row.difference is not None]  # fmt: skip
    return max(rows, key=lambda row: abs(comparable(row) - float(row.published or 0.0)))


def by_chance(normal: xr.DataArray) -> float:
    """Return the percentage of cells that Shapiro-Wilk rejects."""
    fields, _ = stats.summary(normal.values)
    return 100 * float(np.mean(fields["shapiro_p"] < stats.LEVEL))


def of_normal_scores() -> tuple[float, float]:
    """Return how many cells of normal scores are rejected in %, as they are and drawn again."""
    drawn = np.random.default_rng(_SEED).standard_normal((_CELLS, 1000))
    normal = xr.DataArray(drawn, dims=("cell", "repetition"))
    return by_chance(normal), by_chance(duplicate_seeds(normal))


def of_dataset(found: Evidence, metric: str) -> str:
    """Return in sentences at which sizes the rate of a dataset is farthest from the printed one."""
    row = farthest(found, "table_1", metric)
    every = cells(found, metric).query("dataset == @row.row")
    some, tuned = (every[every["tuning"] == name] for name in ("default", "tuned"))
    others = tuned.loc[tuned["share"] == _LAST, "rejected"]
    also = f" and {number(100 - 100 * others.mean())} % of tuned ones" if len(others) else ""
    by = some.groupby("share", observed=False)
    small, large = (100 * by["rejected"].mean()[share] for share in ("to m/10", _LAST))
    printed = float(row.published or 0.0)
    left = min(100.0, 2 * (100 - printed))
    return (
        f"By dataset, the rate of {metric_name(metric)} is farthest from the printed one on "
        f"{found.named(row.row)}: {number(comparable(row))} instead of {number(printed)} %. Of its "
        f"default cells that ship {number(small)} % are rejected up to m/10, and {number(large)} % "
        f"from m/2 to m, where the median W is {number(by['w'].median()[_LAST], 3)}. As half of "
        f"the paper's sizes are beyond m/2, the printed mean leaves at most {number(left)} % of "
        f"the cells there that are not rejected; here it is {number(100 - large)} % of default "
        f"ones{also}."
    )


def of_causes(found: Evidence, metric: str, seeds: float) -> str:
    """Return in sentences how much of that tuned curves and repeated seeds can explain."""
    row = farthest(found, "table_1", metric)
    curves = found.frame.query("dataset == @row.row and metric == @metric")
    by = curves.groupby("tuning")["every_rate"].mean()
    equal = float(by.mean())
    raised = equal + (100 - equal) * seeds / 100
    printed = float(row.published or 0.0)
    return (
        f"For {metric_name(metric)} of {found.named(row.row)}, equal shares of default curves "
        f"({number(by['default'])} % at every n) and tuned ones ({number(by.get('tuned'))} %) "
        f"would make the rate {number(equal)} %, and repeated seeds {number(raised)} %, if the "
        f"cells that are not rejected are exactly normal, which is {signed(raised - printed, 1)} "
        "points from the printed one. Constant cells, which count as normal, are only "
        f"{number(curves['every_constant'].mean(), 2)} %."
    )


def causes(found: Evidence) -> str:
    """Return what could raise a rate: tuned curves, and seeds that are drawn again."""
    alone, again = of_normal_scores()
    said = " ".join(of_causes(found, metric, again) for metric in ("accuracy", "auc"))
    return (
        "Two differences between the paper and this database move these rates. Half of the paper's "
        "curves are tuned, more than here. And its public code draws the seeds of its repetitions "
        f"with replacement, which the printed numbers may come from or not: of {_CELLS:,} cells of "
        f"exactly normal scores Shapiro-Wilk rejects {number(alone)} %, and {number(again)} % of "
        f"them if their repetitions are drawn again so. {said} What is left, the numbers that ship "
        "do not explain."
    )


def of_learner(found: Evidence, metric: str) -> str:
    """Return in sentences where the rate of a learner is farthest from the printed one."""
    row = farthest(found, "table_2", metric)
    curves = found.frame.query("learner == @row.row and metric == @metric")
    by = curves.groupby("dataset")["every_rate"].mean()
    tunings = curves.groupby("tuning")["every_rate"].mean()
    low = curves["every_rate"] < 50
    return (
        f"By learner, the rate of {metric_name(metric)} is farthest from the printed one for "
        f"{row.row}: {number(comparable(row))} instead of {number(row.published)} %, with an SD "
        f"over curves of {number(curves['every_rate'].std())} (printed "
        f"{number(row.published_sd)}). By "
        f"dataset it is between {number(by.min())} ({found.named(by.idxmin())}) and "
        f"{number(by.max())} % ({found.named(by.idxmax())}), of default curves "
        f"{number(tunings['default'])} % and of tuned ones {number(tunings.get('tuned'))} %. Below "
        f"50 % are the rates of {low.sum()} of {len(curves)} curves; constant cells are "
        f"{number(curves['every_constant'].mean(), 2)} %."
    )


def of_crossing() -> str:
    """Return in a sentence what repeated seeds do to the repetitions that ship."""
    with crossing() as db:
        as_they_are, again = (
            curve_frame(db, view, lattice=False)["rate"].mean()
            for view in (None, "duplicate_seeds")
        )
    return (
        "What repeated seeds do to real scores takes repetitions, and those of all datasets are "
        "too many to ship. `lcdb.shipped.crossing()` has those of two learners on three datasets, "
        f"where Shapiro-Wilk rejects {number(as_they_are)} % of the cells as they are, and "
        f"{number(again)} % with repeated seeds: little is left to reject. A piece of the "
        "reference database, where more is, is built in minutes."
    )


def section(found: Evidence) -> str:
    """Return the section."""
    return f"""## Where printed rates are not ours

Rejected cells (%) of default curves by dataset and n as a share of the largest size m, without m
itself, where a fixed pool is the only training set; then the median W of those from m/2 on, and
how many of tuned ones are rejected there. Of the cells that ship:

{along_n(found)}

{of_dataset(found, "accuracy")}

{of_dataset(found, "auc")}

{causes(found)}

{of_crossing()} {_RUN}

{of_learner(found, "accuracy")}

{of_learner(found, "auc")}

{UNNAMED}
"""
