"""What the database holds: its datasets beside Table A.8, its curves beside Table A.9."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from findings.evidence import Evidence
from lcdb.schema import STATUSES
from words import listed, markdown, number

_COMPLETE = STATUSES.index("complete")

# Facts of the builds, which no file of a summary has.
_HOW = """### How it was made

By `lcdb build reference --dataset ID`, a dataset at a time, on two cores of an AMD EPYC (Linux,
Python 3.11, NumPy 2.4, Numba 0.68), both scalings at once. obesity-levels (46597) and cmc (23) were
built at commit 9bea5dd, in some 1.8 and 0.8 core-hours, the other seven at commit 42d942e, in some
1.5 core-hours together: some 4.1 measured, of which `lcdb plan` had estimated 3.3; all beside other
work, so that the measured ones are upper bounds. Of each of the nine,
2,000 random cells of its full cubes were computed again (`lcdb verify DIR --recompute 2000`): all
18,000 are as stored."""

# What `lcdb plan` says of the plan, and of copies with less left out; a test asks it again.
_THINNED = """Tuned curves are thinned because they cost most: `lcdb plan` puts the plan at 3.3
core-hours, at 5.3 with tuned curves of all three samplings at 24 sizes, and at 13 with those of all
samplings and sizes."""


def definitions(found: Evidence) -> str:
    """Return in sentences which versions of LDC and QDC these are."""
    plans = [json.loads(found.db[key].attrs["plan"])["curves"] for key in found.db.headers]
    versions = {
        curve["implementation"]
        for curves in plans
        for curve in curves
        if curve["learner"] in ("LDC", "QDC")
    }
    there = listed(f"`{version}`" for version in sorted(versions))
    return (
        f"LDC and QDC are of version {there} here; [numbers](numbers.md#learners) says how "
        "`kernel-3` differs. Whatever would compute their cells again with another version refuses."
    )


def datasets(found: Evidence) -> str:
    """Return Table A.8 with all its columns, and what there is of each dataset here."""
    rows = []
    for id, facts in found.printed["table_A8"].items():
        header = found.headers.get(id)
        cells = [str(facts[name]) for name in ("samples", "features", "classes")]
        cells.append("yes" if facts["balanced"] else "no")
        if header is not None:
            curves = [
                int((h.status == _COMPLETE).sum()) for h in found.db.headers.values() if h.id == id
            ]
            cells += [str(header.rows), str(header.features), str(header.classes)]
            cells += [str(header.largest_size), str(sum(curves))]
        rows.append([f"{found.known.get(id, '')} ({id})".strip(), *cells, *[""] * (9 - len(cells))])
    columns = [*(f"{name}, printed" for name in ("samples", "features", "classes")), "balanced"]
    columns += ["samples", "features", "classes", "largest n", "curves"]
    return markdown("dataset", columns, rows)


def missing(found: Evidence) -> str:
    """Return Table A.9: curves that should be there and are not."""
    rows = [
        [f"{row.row}{f' ({row.metric})' if row.metric else ''}", number(row.published, 0),
         number(row.ours, 0)]
        for row in found.tables["table_A9"].rows
    ]  # fmt: skip
    return markdown("curves × metrics", ["published", "ours"], rows)


def missing_said(found: Evidence) -> str:
    """Return in a sentence how many curves are missing."""
    expected, lost = (found.tables["table_A9"].rows[i] for i in range(2))
    return (
        f"Of {number(expected.ours, 0)} unscaled curves and metrics {number(lost.ours, 0)} are "
        f"missing; the paper misses {number(lost.published, 0)} of "
        f"{number(expected.published, 0)}."
    )


def thinned(found: Evidence) -> str:
    """Return what was left out of the tuned curves, and why: what ships has a limit."""
    cells = {"default": 0, "tuned": 0}
    for key in found.db.headers:
        means = found.db[key]["mean"].sel(metric="accuracy")
        for tuning in means["tuning"].values:
            cells[str(tuning)] += int(means.sel(tuning=tuning).notnull().sum())
    files = (Path(str(found.db.path)) / "summaries").glob("*.nc")
    size, total = sum(file.stat().st_size for file in files) / 1e6, sum(cells.values())
    return (
        f"{_THINNED} Its summaries are to ship in at most 20 MB, and are {number(size)} MB. Of "
        f"{total:,} cells of accuracy in them {cells['tuned']:,} are tuned; with as many of the "
        f"two other samplings there would be {number(200 * cells['tuned'] / total, 0)} % more, and "
        f"some {number(size * (1 + 2 * cells['tuned'] / total), 0)} MB if bytes grow with cells."
    )


def section(found: Evidence) -> str:
    """Return the section."""
    sizes = {id: int((_sizes(found, id)).size) for id in found.headers}
    repetitions = sorted({header.repetitions for header in found.headers.values()})
    few, many = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    there = [f"{name} ({id})" for id, name in found.names.items()]
    paired = {found.db.headers[plain].id for plain, _ in found.pairs}
    alone = [name for id, name in found.names.items() if id not in paired]
    of_scalings = f" ({listed(alone)}: unscaled alone)" if alone else ""
    count = len(found.headers)
    which = f"{count} of the nine" if count < 9 else "All nine"
    absent = "; a dataset of the plan that is not named has not been built" if count < 9 else ""
    return f"""## What it holds

{which} datasets of the plan `reference`: {listed(there)}. The paper's
tenth, 44037, could not be had{absent}.
Learners: {listed(found.learners)}. Three samplings, fixed and varying test sets, unscaled and
standardised features{of_scalings}, {listed(f"{n:,}" for n in repetitions)} repetitions; every n up
to 32 and from there some 70 up to the largest; tuned curves of additive training sets, at 24
sizes. Cells
ship at {sizes[few]} ({found.names[few]}) to {sizes[many]} ({found.names[many]}) of these sizes; the
rates below are of all of them.

{definitions(found)}

{thinned(found)}

### Table A.8. Datasets

{datasets(found)}

Beside what the paper prints is what the data have: the printed samples of 11 and 1063 count
trailing lines of their files. *Balanced* is as the paper marks it. Curves are those of both
scalings.

### Table A.9. Missing curves

{missing_said(found)}

{missing(found)}

{_HOW}
"""


def _sizes(found: Evidence, id: str) -> np.ndarray:
    return found.db[next(k for k, h in found.db.headers.items() if h.id == id)]["n"].values
