"""Learners in classification: their table, their order, what tuning gains and what spreads."""

from __future__ import annotations

from itertools import pairwise

import xarray as xr

from lcdb.distribution import cvar, cvar_difference
from lcdb.tables import Table
from words import listed, markdown

#: What `python docs/spread.py` printed.
SPREAD = """
| kNN, moons | 0.013 | 19 ± 7 | 70 ± 10 | 11 ± 5 | 0 ± 0 |
| RF, moons | 0.013 | 4 ± 2 | 88 ± 7 | 1 ± 1 | 7 ± 4 |
| SVM, moons | 0.124 | 99 ± 0 | 0 ± 0 | 0 ± 0 | 0 ± 0 |
| LR, moons | 0.011 | 0 ± 0 | 97 ± 3 | 3 ± 2 | 0 ± 0 |
| NN, moons | 0.062 | 49 ± 7 | 0 ± 2 | 0 ± 2 | 51 ± 10 |
| kNN, linear | 0.034 | 8 ± 4 | 89 ± 5 | 3 ± 1 | 0 ± 0 |
| SVM, linear | 0.133 | 76 ± 7 | 16 ± 6 | 8 ± 2 | 0 ± 0 |
| LR, linear | 0.082 | 0 ± 0 | 100 ± 0 | 0 ± 0 | 0 ± 0 |
| actor_critic, pendulum | 1065 | 70 ± 7 | 0 ± 0 | 0 ± 0 | 30 ± 7 |
"""
SPREAD_HEAD = """| | sd | hyper-parameters | data | interaction | own randomness |
|---|--:|--:|--:|--:|--:|"""


def table_1(table: Table) -> str:
    """Return CVaRs with standard errors beside the printed ones, a column per task."""
    tasks = list(dict.fromkeys(row.metric for row in table.rows))
    cells: dict[str, dict[str, str]] = {}
    for row in table.rows:
        text = f"[{row.published:.3f}]"
        if row.ours is not None:
            text = f"{row.ours:.4f} ± {row.beside['standard error']:.4f} {text}, {row.cells:,}"
        cells.setdefault(row.row, {})[row.metric] = text
    return markdown("", tasks, [[name, *(line[t] for t in tasks)] for name, line in cells.items()])


def interval(found: xr.Dataset, digits: int) -> str:
    """Return a difference with its interval."""
    value, low, high = (float(found[name]) for name in ("difference", "low", "high"))
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def in_order(cube: xr.Dataset, task: str, mode: str) -> list[tuple[tuple[str, str], xr.Dataset]]:
    """Return each learner less the next, from the largest CVaR 0.5 on."""
    part = cube["accuracy"].sel(task=task, mode=mode).dropna("trial", how="all")
    values = cvar(part, 0.5)
    names = [str(name) for name in values.sortby(values, ascending=False)["learner"].values]
    return [
        ((a, b), cvar_difference(part.sel(learner=a), part.sel(learner=b), 0.5))
        for a, b in pairwise(names)
    ]


def learners_in_order(cube: xr.Dataset) -> str:
    """Return a row per task and mode: the learners in order, and how sure that order is."""
    rows, close = [], []
    for mode in cube["mode"].values:
        for task in cube["task"].values:
            pairs = in_order(cube, str(task), str(mode))
            texts = (f"{a} - {b}: {interval(d, 4)}" for (a, b), d in pairs)
            rows.append([f"{task}, {mode}", *texts])
            close += [f"{a} and {b} ({task}, {mode})" for (a, b), d in pairs if d["low"] <= 0.0]
    count = sum(len(row) - 1 for row in rows)
    head = ["first - second", "second - third", "third - fourth", "fourth - fifth"]
    return f"""{markdown("", head, rows)}

The order is that of these trials, so no difference is below 0. Where the interval holds 0 it is not
settled: {len(close)} of {count}, which are {listed(close)}. The intervals hold one by one: of
{count}, about {0.05 * count:.0f} may be expected to miss."""


def tuning(cube: xr.Dataset) -> str:
    """Return what tuning gains, in pairs of trials that saw the same data."""
    rows = []
    for learner in cube["learner"].values:
        for task in cube["task"].values:
            part = cube["accuracy"].sel(learner=learner, task=task)
            pair = [part.sel(mode=mode).dropna("trial") for mode in ("tuned", "random")]
            if min(one.size for one in pair) < 2:
                continue
            better, worse = (cvar_difference(*pair, 0.5, tail) for tail in ("upper", "lower"))
            gains = (interval(better, 3), interval(worse, 3))
            rows.append([f"{learner}, {task}", str(better.attrs["trials"]), *gains])
    return markdown("", ["trials", "better half", "worse half"], rows)
