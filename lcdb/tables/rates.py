"""A row of a table of rejection rates: the mean over curves, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lcdb.tables.rows import Row, Table

if TYPE_CHECKING:
    import pandas as pd

    from lcdb.database import Database

__all__ = ["LEGEND", "number", "rate_row", "sums", "with_repetitions"]

#: What stands beside a rate: the same curves by other tests, and how far from normal they are.
_BESIDE = {
    "at every n": "every_rate",
    "D'Agostino": "dagostino",
    "lattice-aware": "lattice",
    "tested": "tested",
    "W": "w",
    "skewness": "skewness",
    "excess kurtosis": "kurtosis",
    "tail": "tail",
    "mean |tail|": "absolute_tail",
    "|tail| > 0.5 (%)": "far",
}
_SIGNED = ("skewness", "tail")
#: What the columns beside a rate are, for a reader.
LEGEND = (
    "Beside a rate: what it would be under the views asked for; what it is with each size standing"
    " for those around it, as if there were cells at every n, as the paper has (at every n); what "
    "D'Agostino and Pearson's test rejects; for accuracy, what a test for a normal rounded to "
    "multiples of 1/n_test rejects (lattice-aware: a grouped chi-squared test, and where test sets"
    " vary in size Shapiro-Wilk against a simulated null, which finds more), and the percentage of"
    " cells on which that can tell anything (tested). Then what does not grow with the number of "
    "repetitions as rates do, as means over curves of a curve's median over cells: W, skewness, "
    "excess kurtosis, and by how many standard deviations the 5 % quantile lies above that of a "
    "normal with the same mean and standard deviation (tail; of a loss that is the good end). "
    "Tails of both signs cancel there, so beside it the mean of |tail| over cells, and the "
    "percentage of cells where it exceeds 0.5."
)


def rate_row(
    name: str,
    metric: str,
    printed: Sequence[float | None],
    ours: pd.DataFrame,
    viewed: Mapping[str, pd.DataFrame],
    prefix: str = "",
    by_dataset: bool = False,
    signed: bool = True,
) -> Row:
    """Return the row of a mean rate over curves, of which a frame has one row each.

    Parameters
    ----------
    name, metric
        Of the row.
    printed
        The published mean, or mean and SD: then the SD (ddof 1) is ours too.
    ours, viewed
        Columns of `lcdb.tables.curve_frame`, honest and under each view.
    prefix
        Of those columns: ``"from_10_"`` for n >= 10 alone.
    by_dataset
        Take the mean over datasets of means over curves.
    signed
        Whether skewness and tail mean something with their sign.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     frame = lcdb.tables.curve_frame(db)
    >>> chosen = frame[(frame["learner"] == "LDC") & (frame["metric"] == "auc")]
    >>> found = rate_row("LDC", "auc", [88.83, 14.34], chosen, {})
    >>> found.cells == int(chosen["cells"].sum()), "W" in found.beside
    (True, True)
    """

    def mean(frame: pd.DataFrame, column: str) -> float | None:
        # A summary that an older lcdb made may lack a column.
        if frame.empty or prefix + column not in frame:
            return None
        values = frame[prefix + column]
        if by_dataset:
            values = values.groupby(frame["dataset"]).mean()
        number = float(values.mean())
        return None if np.isnan(number) else number

    beside = {view: mean(frame, "rate") for view, frame in viewed.items()}
    beside |= {
        title: mean(ours, column)
        for title, column in _BESIDE.items()
        if signed or column not in _SIGNED
    }
    sd = float(ours[prefix + "rate"].std(ddof=1)) if len(printed) > 1 and len(ours) > 1 else None
    return Row(
        name,
        metric,
        printed[0],
        mean(ours, "rate"),
        **sums(ours, prefix),
        beside=beside,
        published_sd=printed[1] if len(printed) > 1 else None,
        ours_sd=sd,
    )


def number(value: float) -> float | None:
    """Return a number, or None where there is none."""
    return None if np.isnan(value) else float(value)


def sums(frame: pd.DataFrame, prefix: str = "") -> Any:
    """Return how many cells the curves of a frame rest on, are missing, and are constant."""
    if frame.empty:
        return {}
    return {name: int(frame[prefix + name].sum()) for name in ("cells", "missing", "constant")}


_REPETITIONS = 1000
_OF_RATES = ("Non-Gaussian", "Figures in the text")


def with_repetitions(db: Database, table: Table) -> Table:
    """Return a table of rates that says so where fewer repetitions were made than in the paper."""
    fewest = min((header.repetitions for header in db.headers.values()), default=_REPETITIONS)
    if fewest >= _REPETITIONS or not any(words in table.title for words in _OF_RATES):
        return table
    text = (
        f"From {fewest} repetitions, the paper's from {_REPETITIONS:,}: rates of rejection grow "
        "with the number of repetitions."
    )
    about = f"{table.about}; {fewest} repetitions (paper: {_REPETITIONS:,})"
    return replace(table, note=f"{table.note} {text}".strip(), about=about)
