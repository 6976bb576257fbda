"""Functions of scores, as far as a summary answers them: by the name of the function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from lcdb import stats
from lcdb.errors import LabelError, SummaryError
from lcdb.schema import METRICS, SUMMARY_KIND

__all__ = ["is_summary", "of_summary", "quantile_of_summary"]

_TESTS = (
    *("count", "constant", "skewness", "excess_kurtosis"),
    *("shapiro_w", "shapiro_p", "dagostino_p", "skewness_p", "kurtosis_p"),
)
_MOMENTS = ("mean", "sd", "minimum", "maximum")
_LATTICE = ("lattice_p", "lattice_step")


def is_summary(scores: object) -> bool:
    """Return whether something is a summary, or a part of one."""
    return isinstance(scores, xr.Dataset) and scores.attrs.get("cube_kind") == SUMMARY_KIND


def of_summary(name: str, summary: xr.Dataset, options: Mapping[str, Any]) -> Any:
    """Return what a function of scores says, from their summary.

    Raises
    ------
    SummaryError
        It takes the repetitions.
    """
    if name not in _FUNCTIONS:
        told = ", ".join(_FUNCTIONS)
        dataset = f"{summary.attrs['dataset_name']} ({summary.attrs['dataset_id']})"
        msg = (
            f"{name} takes the repetitions, and of {dataset} there is a summary: it takes its full "
            f"cube. Summaries answer {told}"
        )
        raise SummaryError(msg)
    return _FUNCTIONS[name](summary, **options)


def _fields(summary: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    found = summary[list(names)]
    found = found.map(lambda field: field.astype(float), keep_attrs=True)
    found["constant"] = summary["constant"].astype(bool)
    kept = {name: summary.attrs[name] for name in ("dataset_name",)}
    return found.drop_attrs(deep=False).assign_attrs(kept)


def quantile_of_summary(summary: xr.Dataset, quantiles: Sequence[float] | float) -> xr.DataArray:
    """Return quantiles with the dim ``q`` last, in the order asked for."""
    asked = np.atleast_1d(np.asarray(quantiles, float))
    known = summary["q"].values
    place = np.abs(known[:, None] - asked).argmin(axis=0)
    if len(lost := asked[np.abs(known[place] - asked) > 1e-9]):
        msg = f"a summary has no quantile {lost[0]:g}; it has {', '.join(f'{q:g}' for q in known)}"
        raise LabelError(msg)
    return summary["quantile"].isel(q=place).transpose(..., "q").astype(float)


def _summary(summary: xr.Dataset, quantiles: Sequence[float] = stats.QUANTILES) -> xr.Dataset:
    return _fields(summary, (*_MOMENTS, *_TESTS)).assign(
        quantile=quantile_of_summary(summary, quantiles)
    )


def _normality(summary: xr.Dataset, n_test: object = None, simulations: int = 0) -> xr.Dataset:
    """Return the tests; those of the lattice are there already, for accuracies."""
    found = _fields(summary, _TESTS)
    rules: dict[str, tuple[Callable[..., Any], str]] = {
        "non_gaussian": (stats.non_gaussian, "shapiro_p")
    }
    if "accuracy" in np.atleast_1d(summary["metric"].values):
        for name in _LATTICE:
            found[name] = summary[name].astype(float).where(summary["metric"] == "accuracy")
        rules["lattice_non_gaussian"] = (stats.lattice_non_gaussian, "lattice_p")
    for name, (rule, p) in rules.items():
        g = xr.apply_ufunc(
            rule, found[p], found["count"], found["constant"], dask="parallelized",
            output_dtypes=[float], keep_attrs=False,
        )  # fmt: skip
        found[name] = g.transpose(*summary["mean"].dims)
    return found


def _quantile_curve(
    summary: xr.Dataset, quantiles: Sequence[float] | float = 0.5, confidence: float = 0.95
) -> xr.Dataset:
    """Return quantiles alone: their intervals are order statistics of the repetitions."""
    return quantile_of_summary(summary, quantiles).to_dataset(name="quantile")


def _both(
    summary: xr.Dataset, quantile: float, width: float | None
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return mean + width·sd and a quantile, both with learners last."""
    if "learner" not in summary["mean"].dims:
        msg = "the summary has no dim learner; expected several learners to compare"
        raise LabelError(msg)
    center = summary["mean"]
    if width:
        center = center + width * summary["sd"].astype(float)
    by_quantile = quantile_of_summary(summary, quantile).isel(q=0, drop=True)
    return center.transpose(..., "learner"), by_quantile.transpose(..., "learner")


def _ways(summary: xr.Dataset, direction: str | None) -> xr.DataArray:
    """Return for each metric 1 where large scores are good, and -1 where small ones are."""
    metric = summary["metric"]
    known = [direction or METRICS[str(name)].direction for name in np.atleast_1d(metric.values)]
    signs = np.where(np.array(known) == "minimize", -1.0, 1.0).reshape(metric.shape)
    return metric.copy(data=signs)


def _rank_change(
    summary: xr.Dataset,
    quantile: float = 0.05,
    width: float | None = None,
    direction: str | None = None,
) -> xr.DataArray:
    ranks = []
    for value in _both(summary, quantile, width):
        best = -(_ways(summary, direction) * value.round(9)).transpose(..., "learner")
        ranks.append(best.copy(data=rankdata(best.values, axis=-1, nan_policy="omit")))
    found = (ranks[0] - ranks[1]).transpose("learner", ...)
    found.name = "rank_change"
    found.attrs = {"long_name": "places gained by the quantile", "units": "1", "quantile": quantile}
    return found


def _top_k_change(
    summary: xr.Dataset,
    quantile: float = 0.975,
    width: float = 2.0,
    k: int = 3,
    direction: str | None = None,
) -> xr.Dataset:
    ways = _ways(summary, direction)
    center, by_quantile = (
        (ways * value).transpose(..., "learner") for value in _both(summary, quantile, width)
    )
    change = stats.top_k_of(center.values, by_quantile.transpose(*center.dims).values, k)
    fields = zip(change._fields, change, strict=True)
    return xr.Dataset({name: center.isel(learner=0, drop=True).copy(data=x) for name, x in fields})


def _repetitions_for(summary: xr.Dataset, *arguments: Any, **options: Any) -> xr.Dataset:
    # That module takes selections, of which summaries are one kind.
    from lcdb.analysis.studies import repetitions_of_summary

    return repetitions_of_summary(summary, *arguments, **options)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "summary": _summary,
    "normality": _normality,
    "quantile_curve": _quantile_curve,
    "rank_change": _rank_change,
    "repetitions_for": _repetitions_for,
    "top_k_change": _top_k_change,
}
