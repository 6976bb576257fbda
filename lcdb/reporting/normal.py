"""How far the distributions are from normal, and what a mean hides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.plot.style import metric_label
from lcdb.reporting.calls import Made, call
from lcdb.reporting.document import Block, Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Part, Scope
from lcdb.reporting.texts import counted, number, share

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["normal", "rejection_rates"]

#: The standard normal's 95 % quantile.
_NORMAL = 1.6448536269514722


def normal(scope: Scope) -> Section:
    """Return the section on normality, with the size of what the tests reject."""
    import pandas as pd

    frame = pd.concat([_cells(scope, part) for part in scope.parts], ignore_index=True)
    tested = frame[frame["rejected"].notna()]
    blocks: list[Block] = [
        Text(_said(scope, tested)),
        _table(scope, tested, "learner"),
        _table(scope, tested, "dataset"),
    ]
    if not tested.empty and tested.groupby(["learner", "dataset"]).ngroups > 1:
        caption = (
            "Share of cells (training set sizes) at which Shapiro-Wilk rejects normality at 5 %, "
            "by learner and dataset."
        )
        every = Made("curves", {part.key: part.curves.value for part in scope.parts})
        blocks.append(figure(caption, "rejection_map", call("reporting.rejection_rates", every)))
    return Section("Are the scores normally distributed?", tuple(blocks), _headline(tested))


def _headline(tested: pd.DataFrame) -> str:
    if tested.empty:
        return ""
    text = (
        f"Shapiro-Wilk rejects that scores are normally distributed in {share(tested['rejected'])} "
        f"of {counted(len(tested), 'cell')}"
    )
    rounded = tested["rounded"].dropna()
    if len(rounded):
        text += (
            "; that they are normal but for the rounding of accuracies is rejected in "
            f"{share(rounded)} of {counted(len(rounded), 'cell')}"
        )
    return f"{text}."


def rejection_rates(curves: Mapping[Any, Any]) -> xr.DataArray:
    """Return the share of cells at which Shapiro-Wilk rejects normality at 5 %, in percent.

    Parameters
    ----------
    curves
        What `curves` returns: arrays or parts of summaries by dataset.

    Returns
    -------
    xarray.DataArray
        Dims ``learner`` and ``dataset``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     rates = lcdb.reporting.rejection_rates(lcdb.reporting.curves(db))
    >>> rates.dims, bool((rates <= 100).all())
    (('learner', 'dataset'), True)
    """
    parts = {
        key: 100 * analysis.normality(part)["non_gaussian"].mean("n").compute()
        for key, part in curves.items()
    }
    kept = [part.reset_coords(drop=True).assign_coords(dataset=key) for key, part in parts.items()]
    rates = xr.concat(kept, "dataset", join="outer", coords="minimal", compat="override")
    names = list(dict.fromkeys(str(v) for part in parts.values() for v in part["learner"].values))
    return rates.sel(learner=names).transpose("learner", "dataset")


def _cells(scope: Scope, part: Part) -> pd.DataFrame:
    """Return a row for each cell: what is rejected, and how far it is from normal."""
    n_test = None
    if part.has_repetitions and part.metric == "accuracy":
        draws = {name: part.labels[name] for name in ("sampling", "split")}
        n_test = scope.db[part.key].n_test.sel(**draws, n=part.sizes).load()
    tests = analysis.normality(part.curves.value, n_test).transpose("learner", "n", ...)
    cells = part.cells
    sd = cells["sd"].astype(float)
    end = cells["quantile"].sel(q=0.05 if part.sign > 0 else 0.95, method="nearest")
    spread = xr.where(sd > 0, sd, np.nan)
    columns = {
        "rejected": tests["non_gaussian"],
        "rounded": tests.get("lattice_non_gaussian", tests["non_gaussian"] * np.nan),
        "w": tests["shapiro_w"].where(~tests["constant"].astype(bool)),
        "skewness": tests["skewness"].where(~tests["constant"].astype(bool)),
        "kurtosis": tests["excess_kurtosis"].where(~tests["constant"].astype(bool)),
        "tail": (end - cells["mean"]) / spread + part.sign * _NORMAL,
        "constant": tests["constant"].astype(float),
    }
    found = xr.Dataset({name: column.drop_vars("q", errors="ignore") for name, column in
                        columns.items()}).to_dataframe().reset_index()  # fmt: skip
    return found.assign(dataset=part.name)[["dataset", "learner", "n", *columns]]


def _said(scope: Scope, cells: pd.DataFrame) -> str:
    if cells.empty:
        return "No cell has the eight values that a test of normality needs."
    counts = sorted({part.repetitions for part in scope.parts})
    number_of = f"{counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "")
    rate = share(cells["rejected"])
    constant = share(cells["constant"])
    text = (
        f"Of {counted(len(cells), 'cell')} (dataset, learner, n), Shapiro-Wilk rejects normality "
        f"at 5 % in {rate}, with {number_of} repetitions each; {constant} are constant and count "
        "as normal. A rejection says that the distribution is not exactly normal, not by how much, "
        "and more repetitions reject more: read the columns on size beside it."
    )
    rounded = cells["rounded"].dropna()
    if len(rounded):
        text += (
            " Accuracies are multiples of 1/(number of test rows), which alone makes a large "
            "sample differ from a normal one. Against a normal distribution rounded to those "
            f"multiples, {share(rounded)} of the {counted(len(rounded), 'cell')} that can be "
            "tested so are rejected."
        )
    far = (cells["tail"].abs() > 0.25).mean()
    text += (
        f" In {100 * far:.0f} % of all cells the {_bad(scope)} quantile lies more than a quarter "
        "of a standard deviation from where a normal distribution of the same mean and standard "
        "deviation has it."
    )
    return text


def _bad(scope: Scope) -> str:
    return "5 %" if scope.parts[0].sign > 0 else "95 %"


def _table(scope: Scope, cells: pd.DataFrame, by: str) -> Table:
    rows = []
    for name, part in cells.groupby(by, sort=False):
        rounded = part["rounded"].dropna()
        rows.append(
            (
                str(name), f"{len(part):,}", number(100 * part["rejected"].mean(), 0),
                number(100 * rounded.mean(), 0) if len(rounded) else "",
                *(number(part[column].median(), 2) for column in ("w", "skewness", "kurtosis")),
                number(part["tail"].median(), 2), number(100 * part["constant"].mean(), 0),
            )
        )  # fmt: skip
    head = (
        by, "cells", "rejected %", "rejected % (rounded normal)", "W", "skewness",
        "excess kurtosis", f"{_bad(scope)} quantile off by (sd)", "constant %",
    )  # fmt: skip
    caption = (
        f"Normality of {metric_label(scope.metric)} by {by}: rates of rejection by Shapiro-Wilk, "
        "and how far from normal the distributions are: medians over cells that are not constant."
    )
    return Table(head, tuple(rows), caption, _text_of(scope))


def _text_of(scope: Scope) -> str:
    """Return the call of the tests; with the numbers of test rows where they are known."""
    if scope.metric != "accuracy" or scope.summaries:
        return "lcdb.analysis.normality(curves)"
    draws = f"sampling={scope.labels['sampling']!r}, split={scope.labels['split']!r}"
    rows = f"{{key: db[key].n_test.sel({draws}, n=array.n) for key, array in curves.items()}}"
    return f"lcdb.analysis.normality(curves, {rows})"
