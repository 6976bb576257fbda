"""Learning curves of several learners in words and in a table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import xarray as xr

from lcdb.schema import METRICS

__all__ = ["sentences", "table", "together"]

_ROWS = 8


def together(curves: Mapping[str, xr.Dataset], metric: str) -> xr.DataArray:
    """Return one metric of several curves along the dim ``learner``."""
    arrays = [curve[metric].assign_coords(learner=name) for name, curve in curves.items()]
    options: dict = {"coords": "minimal", "compat": "override", "join": "outer"}
    joined = xr.concat(arrays, "learner", combine_attrs="override", **options)
    return joined.assign_attrs(dataset_name=next(iter(curves.values())).attrs["dataset_name"])


def _cell(values: np.ndarray) -> str:
    kept = values[np.isfinite(values)]
    if not kept.size:
        return "-"
    low, high = np.quantile(kept, [0.05, 0.95])
    return f"{kept.mean():.3f} ({low:.3f} to {high:.3f})"


def table(scores: xr.DataArray) -> str:
    """Return means by size, with 5 % and 95 % quantiles: a column for each learner.

    How many repetitions they are of stands in the title, or, where learners or sizes differ, under
    the name of each learner.

    Examples
    --------
    >>> scores = xr.DataArray([[[0.5, 0.7]]], dims=("learner", "n", "repetition"),
    ...                       coords={"learner": ["LDC"], "n": [10]}, name="auc")
    >>> print(table(scores))
    AUC by number of training rows n: mean (5 % to 95 % quantile of 2 repetitions)
     n  LDC
    10  0.600 (0.510 to 0.690)
    """
    n = scores["n"].values
    places = np.unique(np.linspace(0, len(n) - 1, min(_ROWS, len(n))).round().astype(int))
    shown = scores.isel(n=places).transpose("learner", "n", "repetition")
    lines = [["n", *(str(name) for name in shown["learner"].values)]]
    counts = np.isfinite(shown.values).sum(axis=2)
    title = f"{_words(str(scores.name))} by number of training rows n: mean (5 % to 95 % quantile"
    if (counts == counts.flat[0]).all():
        title = f"{title} of {_repetitions(counts.flat[:1])})"
    else:
        title += ")"
        lines.append(["", *map(_repetitions, counts)])
    lines += [
        [str(size), *map(_cell, shown.values[:, place])]
        for place, size in enumerate(shown["n"].values)
    ]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    rows = [title]
    for line in lines:
        first, *rest = line
        cells = [text.ljust(width) for text, width in zip(rest, widths[1:], strict=True)]
        rows.append("  ".join([first.rjust(widths[0]), *cells]).rstrip())
    return "\n".join(rows)


def _repetitions(counts: np.ndarray) -> str:
    """Return in words how many repetitions there are: the fewest and the most.

    Examples
    --------
    >>> _repetitions(np.array([4, 3, 4])), _repetitions(np.array([1]))
    ('3 to 4 repetitions', '1 repetition')
    """
    low, high = int(counts.min()), int(counts.max())
    several = f"{high}" if low == high else f"{low} to {high}"
    return f"{several} repetition{'' if high == 1 else 's'}"


def sentences(scores: xr.DataArray) -> str:
    """Return what the curves say at the largest size: each learner, and each pair on equal rows.

    Examples
    --------
    >>> scores = xr.DataArray([[[0.5, 0.7]], [[0.6, 0.7]]], dims=("learner", "n", "repetition"),
    ...                       coords={"learner": ["LDC", "QDC"], "n": [10]}, name="accuracy")
    >>> print(sentences(scores))
    With 10 training rows, LDC has a mean accuracy of 0.600 (middle 90 % of 2 repetitions: 0.510 \
to 0.690), QDC has a mean accuracy of 0.650 (middle 90 % of 2 repetitions: 0.605 to 0.695).
    Of 2 repetitions with the same rows, LDC is better than QDC in 0 %, and as good in 50 %.
    """
    metric = str(scores.name)
    there = scores.dropna("n", how="all")
    if not there.sizes["n"]:
        return f"No learner has any {_words(metric)}."
    n = int(there["n"].values[-1])
    last = there.sel(n=n)
    parts = []
    for name in last["learner"].values:
        kept = last.sel(learner=name).dropna("repetition").values
        if not kept.size:
            parts.append(f"{name} has no {metric}")
            continue
        low, high = np.quantile(kept, [0.05, 0.95])
        parts.append(
            f"{name} has a mean {_words(metric)} of {kept.mean():.3f} (middle 90 % of {kept.size} "
            f"repetitions: {low:.3f} to {high:.3f})"
        )
    rows = "row" if n == 1 else "rows"
    lines = [f"With {n} training {rows}, {', '.join(parts)}."]
    for one, other in combinations(last["learner"].values, 2):
        lines.append(_pair(last, str(one), str(other)))
    return "\n".join(filter(None, lines))


def _words(metric: str) -> str:
    return {"auc": "AUC", "brier": "Brier score"}.get(metric, metric.replace("_", " "))


def _pair(last: xr.DataArray, one: str, other: str) -> str:
    first, second = last.sel(learner=one).values, last.sel(learner=other).values
    both = np.isfinite(first) & np.isfinite(second)
    if not both.any():
        return ""
    gain = first[both] - second[both]
    if last.attrs.get("direction", _direction(str(last.name))) == "minimize":
        gain = -gain
    better, equal = 100 * np.mean(gain > 0), 100 * np.mean(gain == 0)
    return (
        f"Of {int(both.sum())} repetitions with the same rows, {one} is better than {other} in "
        f"{better:.0f} %, and as good in {equal:.0f} %."
    )


def _direction(metric: str) -> str:
    return METRICS[metric].direction if metric in METRICS else "maximize"
