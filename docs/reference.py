"""Write docs/reference.md from the database that ships: `make findings`.

Every number of the page is computed here, and a test holds the page against what is computed again.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import lcdb
from lcdb.database import Key
from lcdb.schema import STATUSES
from lcdb.tables import curve_frame, published

PAGE = Path(__file__).with_name("reference.md")
#: Where scores are compared: training sets afresh for every n, all other rows as test set.
WHERE = {"sampling": "random", "split": "varying"}
#: A difference of means counts if it is beyond so many standard errors, and a point.
ERRORS, POINT = 4.0, 0.01


def last(cube: xr.Dataset, metric: str, tuning: str = "default") -> pd.DataFrame:
    """Return mean and standard error by learner at the largest size there is."""
    where = WHERE if tuning == "default" else {**WHERE, "sampling": "additive"}
    some = cube.sel(metric=metric, tuning=tuning, **where).dropna("n", how="all", subset=["mean"])
    cell = some.isel(n=-1)
    error = cell["sd"] / np.sqrt(cell["count"])
    return pd.DataFrame(
        {"mean": cell["mean"].values, "error": error.values, "n": int(cell["n"])},
        index=cell["learner"].values,
    ).dropna()


def markdown(frame: pd.DataFrame, first: str) -> str:
    """Return a table of text; the first column is the index."""
    head = [first, *map(str, frame.columns)]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * len(frame.columns) + "|"]
    for name, row in zip(frame.index, frame.values.tolist(), strict=True):
        lines.append("| " + " | ".join([str(name), *map(str, row)]) + " |")
    return "\n".join(lines)


def signed(difference: float) -> str:
    """Return a difference of scores with its sign, and none for what rounds to 0."""
    return f"{difference:+.3f}" if abs(difference) >= 0.0005 else "0.000"


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them."""
    some = list(names)
    if not some:
        return "none"
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"


def whole(db: lcdb.Database) -> list[tuple[Key, Key]]:
    """Return the keys of unscaled and standardised cubes of the same dataset."""
    keys = {(header.id, header.scaling): key for key, header in db.headers.items()}
    ids = [id for id, scaling in keys if scaling == "none" and (id, "standard") in keys]
    return [(keys[id, "none"], keys[id, "standard"]) for id in ids]


def holdings(db: lcdb.Database) -> str:
    """Return the table of what there is of each dataset."""
    rows = {}
    for key, _ in whole(db):
        header, cube = db.headers[key], db[key]
        built = cube["status"] == STATUSES.index("complete")
        there = built.any(("sampling", "split"))
        default, tuned = (there.sel(tuning=t) if t in cube["tuning"].values else None
                          for t in ("default", "tuned"))  # fmt: skip
        rows[f"{header.name} ({header.id})"] = {
            "rows": header.rows,
            "features": header.features,
            "classes": header.classes,
            "learners": int(default.sum()),
            "tuned": 0 if tuned is None else int(tuned.sum()),
            "curves, both scalings": int(built.sum())
            + int((db[f"{header.id}-standard"]["status"] == STATUSES.index("complete")).sum()),
        }
    return markdown(pd.DataFrame(rows).T, "dataset")


def scaling_of_scores(db: lcdb.Database) -> tuple[str, pd.DataFrame]:
    """Return the table of standardised less unscaled mean accuracies, and the differences."""
    columns, differences = {}, {}
    for plain, scaled in whole(db):
        a, b = last(db[plain], "accuracy"), last(db[scaled], "accuracy")
        both = a.index.intersection(b.index)
        difference = (b["mean"] - a["mean"])[both]
        error = np.hypot(a["error"], b["error"])[both]
        name = db.headers[plain].name
        differences[name] = difference.where(
            (difference.abs() > ERRORS * error) & (difference.abs() > POINT), 0.0
        )
        columns[name] = [f"{a['mean'][one]:.3f} {signed(difference[one])}" for one in both]
        columns[name] = pd.Series(columns[name], both)
    learners = [
        one for one in lcdb.schema.LEARNERS if any(one in c.index for c in columns.values())
    ]
    frame = pd.DataFrame(columns).reindex(learners).fillna("")
    return markdown(frame, "learner"), pd.DataFrame(differences).reindex(learners)


def rates(db: lcdb.Database) -> tuple[str, pd.DataFrame]:
    """Return the table of rejection rates under both scalings, default curves, and its numbers."""
    names = {db.headers[key].id for key, _ in whole(db)}
    frames = {}
    for scaling in ("none", "standard"):
        frame = curve_frame(db.scaled(scaling))
        ids = frame["dataset"].astype(str).str.replace(f"-{scaling}", "", regex=False)
        kept = ids.isin(names) & (frame["tuning"] == "default")
        rate = frame[kept].pivot_table("rate", "learner", "metric", sort=False)
        frames[scaling] = rate[["accuracy", "auc"]]
    learners = [one for one in lcdb.schema.LEARNERS if one in frames["none"].index]
    a, b = (frames[scaling].loc[learners] for scaling in ("none", "standard"))
    table = pd.DataFrame(
        {
            f"{metric}, {scaling}": frame[metric].map("{:.1f}".format)
            for metric in ("accuracy", "auc")
            for scaling, frame in (("unscaled", a), ("standardised", b))
        }
    )
    return markdown(table, "learner"), b - a


def tuning_of_scores(db: lcdb.Database) -> str:
    """Return the table of what tuning gains at the largest size: additive, varying, accuracy."""
    columns = {}
    for key, _ in whole(db):
        cube = db[key]
        if "tuned" not in cube["tuning"].values:
            continue
        tuned = last(cube, "accuracy", "tuned")
        some = cube.sel(metric="accuracy", tuning="default", sampling="additive", split="varying")
        default = some["mean"].dropna("n", how="all").isel(n=-1).to_series().dropna()
        both = tuned.index.intersection(default.index)
        gain = [
            f"{tuned['mean'][one]:.3f} {signed(tuned['mean'][one] - default[one])}" for one in both
        ]
        columns[db.headers[key].name] = pd.Series(gain, both)
    learners = [
        one for one in lcdb.schema.LEARNERS if any(one in c.index for c in columns.values())
    ]
    return markdown(pd.DataFrame(columns).reindex(learners).fillna(""), "learner")


def sentences(differences: pd.DataFrame, moved: pd.DataFrame) -> str:
    """Return what scaling does, in words that the numbers carry."""
    pairs = pd.concat({one: differences.loc[one].dropna() for one in differences.index})
    better, worse = pairs[pairs > 0], pairs[pairs < 0]
    touched = sorted({one for one, _ in [*better.index, *worse.index]}, key=_place)
    untouched = [one for one in differences.index if one not in touched]
    text = [
        f"Of {differences.notna().sum().sum()} pairs of a learner and a dataset, standardising all "
        f"features raises the mean accuracy at the largest size by more than a point (and by more "
        f"than {ERRORS:g} standard errors) in {len(better)}, and lowers it so in {len(worse)}."
    ]
    if untouched:
        text.append(f"It never does either to {listed(untouched)}.")
    if len(better):
        (learner, dataset), gain = better.idxmax(), better.max()
        text.append(f"The largest gain is that of {learner} on {dataset}, {100 * gain:.1f} points.")
    if len(worse):
        (learner, dataset), loss = worse.idxmin(), worse.min()
        text.append(
            f"The largest loss is that of {learner} on {dataset}, {-100 * loss:.1f} points."
        )
    far = moved.abs().max(axis=1)
    still = [one for one in far.index if far[one] < 1.0]
    text.append(
        "\n\nDoes it change whether scores are normally distributed? The mean rate at which "
        f"Shapiro-Wilk rejects moves by {moved['accuracy'].abs().mean():.1f} points (accuracy) and "
        f"{moved['auc'].abs().mean():.1f} (AUC) on average over learners, at most by "
        f"{far.max():.1f} ({far.idxmax()})."
    )
    if still:
        text.append(f"It moves by less than a point, in both metrics, for {listed(still)}.")
    return " ".join(text).replace(" \n", "\n")


def _place(learner: str) -> int:
    known = list(lcdb.schema.LEARNERS)
    return known.index(learner) if learner in known else len(known)


def heart(db: lcdb.Database) -> str:
    """Return what is known from elsewhere of GSVC on heart-statlog, if it is there."""
    scores = {}
    for scaling in ("none", "standard"):
        cube = db.scaled(scaling)["heart-statlog"] if "heart-statlog" in db else None
        found = last(cube, "accuracy") if cube is not None else pd.DataFrame()
        if "GSVC" not in found.index:
            return ""
        scores[scaling] = found["mean"]["GSVC"]
    return (
        "GSVC on heart-statlog is the textbook's case: its kernel is dominated by the features of "
        f"the largest range, so that its accuracy is {scores['none']:.2f} unscaled and "
        f"{scores['standard']:.2f} standardised."
    )


def tests(db: lcdb.Database) -> str:
    """Return the rates of four tests over all default curves and metrics, beside the printed."""
    frame = curve_frame(db)
    frame = frame[frame["tuning"] == "default"]
    printed = published()["text"]
    rows = {}
    for label, column, name in (
        ("Shapiro-Wilk", "rate", "shapiro_wilk_overall"),
        ("D'Agostino-Pearson", "dagostino", "dagostino_overall"),
        ("skewness", "skewness_test", "skewness_test"),
        ("kurtosis", "kurtosis_test", "kurtosis_test"),
    ):
        rows[label] = {"published": printed[name], "ours": f"{frame[column].mean():.1f}"}
    return markdown(pd.DataFrame(rows).T, "test")


def shapes(db: lcdb.Database) -> str:
    """Return by dataset and metric how far from normal cells are, without averaging tails away."""
    frame = curve_frame(db)
    frame = frame[(frame["tuning"] == "default") & frame["metric"].isin(["accuracy", "auc"])]
    columns = {
        "rejected (%)": ("rate", 1), "W": ("w", 3), "skewness": ("skewness", 2),
        "mean abs. tail (sd)": ("absolute_tail", 2), "abs. tail > 0.5 sd (%)": ("far", 1),
    }  # fmt: skip
    rows = {}
    for (dataset, metric), part in frame.groupby(["dataset", "metric"], sort=False):
        name = (
            f"{db.headers[db.resolve(str(dataset))].name}, {'AUC' if metric == 'auc' else metric}"
        )
        rows[name] = {
            title: f"{part[column].mean():.{digits}f}"
            for title, (column, digits) in columns.items()
        }
    return markdown(pd.DataFrame(rows).T, "dataset, metric")


def page(db: lcdb.Database) -> str:
    """Return the page."""
    scores, differences = scaling_of_scores(db)
    rate_table, moved = rates(db)
    names = [db.headers[key].name for key, _ in whole(db)]
    learners = list(differences.index)
    return f"""# What the reference database says

*This page is written by `make findings` from `lcdb.reference()`, the summary that ships; a test
holds every number in it against what is computed anew.*

```
lcdb build reference --out DIR     # in pieces: see plans.md
lcdb verify DIR --recompute 2000
lcdb summarize DIR --out SMALL --sizes log:48 --release VERSION
lcdb info reference
lcdb tables reference --table text --table 1 --table 2
```

## What it holds

{len(names)} of the nine datasets of the plan `reference`: {listed(names)}.
Learners: {listed(learners)}.
Three samplings, fixed and varying test sets, 1,000 repetitions, every n up to 32 and from there
some 70 up to the largest; tuned curves additive, at 24 sizes. Of the paper's ten datasets 44037
could not be had.

{holdings(db)}

A dataset of the plan that is not in the table has not been built yet: the plan is built in pieces,
and what is there does not depend on what is not.

## Are scores normally distributed?

Mean rates, in per cent of cells, at which four tests of normality reject at 5 %, over all default
curves of unscaled features and all four metrics, beside what Turan, Loog and Tax print for their
ten datasets:

{tests(db)}

A rate grows with the number of repetitions; what it costs to take a normal for granted does not.
The columns on the right say by how many standard deviations the 5 % quantile of a cell is off that
of the normal with the same mean and standard deviation, whatever the direction, and in which share
of cells that is more than half a standard deviation:

{shapes(db)}

## What scaling does

Mean accuracy at the largest size (random sampling, varying test set, default parameters), unscaled,
and what standardising adds:

{scores}

{sentences(differences, moved)}

{heart(db)}

Rates at which Shapiro-Wilk rejects, in per cent of the cells of default curves, over the same
datasets:

{rate_table}

## What tuning gains

Mean accuracy of tuned curves at the largest size (additive, varying, unscaled), and how much more
that is than the default's:

{tuning_of_scores(db)}
"""


def wrapped(text: str) -> str:
    """Return text with its paragraphs in lines of at most 100 characters; all else as it is."""
    return "\n".join(
        "\n".join(textwrap.wrap(line, 100)) if len(line) > 100 and line[0] != "|" else line
        for line in text.replace("\n\n\n", "\n\n").split("\n")
    )


def main() -> None:
    """Write the page, from the database that ships or from another."""
    with lcdb.open(sys.argv[1]) if sys.argv[1:] else lcdb.reference() as db:
        PAGE.write_text(wrapped(page(db)), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
