"""Performance profiles of published results: means, standard deviations and numbers of trials.

Nothing needs to be run again: a table that says how many trials each mean rests on is enough for a
Welch test (after Recht 2018), as it is for gaps and ratios.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.comparisons import profile_of_distances
from lcdb.errors import ArgumentError, LabelError, NotFoundError, SchemaError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "read_results", "results_profile"]


class Results(NamedTuple):
    """What is published of one algorithm: a value for each problem, in the same order for all."""

    mean: np.ndarray
    #: With ddof 1, over trials.
    sd: np.ndarray
    trials: int


def read_results(
    path: str | os.PathLike[str], trials: int, checkpoint: int | None = None
) -> Results:
    """Read the results of one method from a CSV file: a row for each problem.

    Parameters
    ----------
    path
        Columns are mean, sd, mean, sd, ... of one or several checkpoints, after a column of names
        if there is one. A first line that holds no number is a header.
    trials
        How many trials each mean rests on.
    checkpoint
        Which pair of columns, counted from 1; the last unless given.

    Raises
    ------
    NotFoundError, SchemaError
        There is no such file; it is not such a table.
    """
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = [line for line in csv.reader(file) if any(cell.strip() for cell in line)]
    except OSError as error:
        msg = f"{path} could not be read: {error.strerror}; expected a CSV file of means and sds"
        raise NotFoundError(msg) from error
    if lines and not any(_is_number(cell) for cell in lines[0][1:]):
        lines = lines[1:]
    if not lines:
        msg = f"{path} holds no results; expected a row for each problem: mean, sd, mean, sd, ..."
        raise SchemaError(msg)
    named = not _is_number(lines[0][0])
    rows = [line[1:] if named else line for line in lines]
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width or width % 2 or not all(_is_number(cell) for cell in row):
            msg = f"{path}, row {number}: expected pairs of mean and sd, got {','.join(row)[:60]!r}"
            raise SchemaError(msg)
    pairs = np.array(rows, float).reshape(len(rows), -1, 2)
    place = pairs.shape[1] if checkpoint is None else checkpoint
    if not 1 <= place <= pairs.shape[1]:
        msg = f"{path} has checkpoints 1 to {pairs.shape[1]}; {place} is not among them"
        raise LabelError(msg)
    return Results(pairs[:, place - 1, 0], pairs[:, place - 1, 1], trials)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def results_profile(
    results: Mapping[str, Results] | pd.DataFrame,
    tau: Sequence[float] | np.ndarray | None = None,
    kind: str = "welch",
    direction: str = "maximize",
) -> xr.DataArray:
    """Return performance profiles of published results.

    Parameters
    ----------
    results
        By method; their problems are the same, in the same order. Or a DataFrame of means with a
        row for each method and a column for each problem, which has gaps and ratios; for Welch
        tests its columns are two levels of labels: ``"mean"``, ``"sd"`` and ``"trials"`` above
        the problems.
    tau
        Thresholds above 0; 200 that cover the distances unless given.
    kind
        ``"welch"`` (-ln p that a method is as good as the best), ``"gap"`` (difference of means) or
        ``"ratio"`` (Dolan and Moré's ratio minus 1, of positive costs that are minimised).
    direction
        ``"maximize"`` or ``"minimize"``.

    Returns
    -------
    xarray.DataArray
        Share of problems, with dims ``algorithm`` and ``tau``, for `lcdb.plot.profile`.

    Examples
    --------
    >>> a = Results(np.array([10.0, 5.0]), np.array([1.0, 1.0]), 5)
    >>> b = Results(np.array([9.0, 9.0]), np.array([1.0, 1.0]), 24)
    >>> results_profile({"A": a, "B": b}, [1.0, 4.0]).values.tolist()
    [[0.5, 0.5], [0.5, 1.0]]
    >>> import pandas as pd
    >>> table = pd.DataFrame({"iris": [0.9, 0.95], "kc2": [0.8, 0.7]}, index=["A", "B"])
    >>> results_profile(table, [0.01, 0.06], kind="gap").values.tolist()
    [[0.5, 1.0], [0.5, 0.5]]
    """
    if not isinstance(results, Mapping):
        return profile_of_distances(*_of_frame(results, kind, direction), tau, kind)
    counts = {name: len(found.mean) for name, found in results.items()}
    if len(set(counts.values())) != 1:
        msg = f"methods have different numbers of problems: {counts}; expected the same rows in all"
        raise SchemaError(msg)
    mean = np.array([found.mean for found in results.values()])
    sd = np.array([found.sd for found in results.values()])
    trials = np.array([[found.trials] for found in results.values()])
    distance = _distance(mean, sd, trials, kind, direction)
    return profile_of_distances(distance, {"algorithm": list(results)}, tau, kind)


def _distance(
    mean: np.ndarray, sd: np.ndarray, trials: np.ndarray, kind: str, direction: str
) -> np.ndarray:
    """Return the distances (method, problem) of published results."""
    if kind == "welch":
        distance = stats.welch_distance(mean, sd, trials, direction)
    elif kind == "gap":
        distance = stats.gap_distance(mean, direction)
    elif kind == "ratio" and direction == "minimize":
        distance = stats.ratio_distance(mean)
    else:
        msg = f"kind is {kind!r} to {direction}; expected welch, gap, or ratio with 'minimize'"
        raise LabelError(msg)
    return distance


def _of_frame(
    table: pd.DataFrame, kind: str, direction: str
) -> tuple[np.ndarray, dict[str, list[str]]]:
    """Return distances (method, problem) of a DataFrame methods x problems, and its methods."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        msg = (
            f"results are a {type(table).__name__}; expected a dict of Results by method, or a "
            "DataFrame with a row for each method and a column for each problem"
        )
        raise ArgumentError(msg)
    fields = _fields_of(table, kind)
    if not table.index.is_unique:
        msg = "the DataFrame has several rows of one method; expected each method once"
        raise LabelError(msg)
    try:
        values = [field.to_numpy(float) for field in fields]
    except (TypeError, ValueError) as error:
        msg = f"the DataFrame holds what is no number ({error}); keep methods in its index"
        raise SchemaError(msg) from error
    if not all(np.isfinite(part).all() for part in values):
        msg = "some results are missing; expected a number for every method and problem"
        raise SchemaError(msg)
    mean, sd, trials = values if len(values) == 3 else (values[0], values[0], values[0])
    methods = [str(name) for name in table.index]
    return _distance(mean, sd, trials, kind, direction), {"algorithm": methods}


def _fields_of(table: pd.DataFrame, kind: str) -> list[pd.DataFrame]:
    """Return means, and for Welch tests sds and trials, with their problems in one order."""
    if table.columns.nlevels == 1:
        if kind == "welch":
            msg = (
                "a Welch test takes means, sds and trials, and the DataFrame has one number for "
                "each method and problem; give it the levels 'mean', 'sd' and 'trials' above its "
                "columns, or say kind='gap'"
            )
            raise ArgumentError(msg)
        return [table]
    names = ("mean", "sd", "trials") if kind == "welch" else ("mean",)
    known = list(dict.fromkeys(table.columns.get_level_values(0)))
    absent = [name for name in names if name not in known]
    if absent:
        msg = f"the columns have {', '.join(map(str, known))} on top; expected {absent[0]} too"
        raise LabelError(msg)
    parts = [cast("pd.DataFrame", table[name]) for name in names]
    return [part.reindex(columns=parts[0].columns) for part in parts]
