"""Two learners, size by size: which is better, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims, over_repetitions
from lcdb.analysis.selections import takes_selections
from lcdb.errors import ArgumentError, LabelError

__all__ = ["check_share", "compare", "described", "named", "sides", "two_sides"]

_SIDE = "side"
_LONG_NAMES = {
    "mean_difference": "mean of first - second",
    "mean_low": "lower end of its t interval",
    "mean_high": "upper end of its t interval",
    "sd": "standard deviation of first - second (ddof 1)",
    "count": "repetitions that both have",
    "t_p": "p-value of the paired t-test, two-sided",
    "t_corrected_p": "p-value of Nadeau and Bengio's corrected t-test, two-sided",
    "wilcoxon_p": "p-value of Wilcoxon's signed ranks, two-sided",
    "sign_p": "p-value of the sign test, two-sided",
    "better": "share of repetitions in which first is better, ties counting half",
    "better_low": "lower end of its Wilson interval",
    "better_high": "upper end of its Wilson interval",
    "quantile_difference": "Harrell-Davis quantile of first - that of second",
    "quantile_low": "lower end of its bootstrap interval",
    "quantile_high": "upper end of its bootstrap interval",
}
_SCALARS = [name for name in _LONG_NAMES if name != "t_corrected_p"][:-3]
_BY_QUANTILE = ["quantile_difference", "quantile_low", "quantile_high"]
_IN_UNITS = {"mean_difference", "mean_low", "mean_high", "sd", *_BY_QUANTILE}


def check_share(name: str, value: float) -> None:
    """Raise ArgumentError unless a value lies strictly between 0 and 1."""
    if not 0 < value < 1:
        msg = f"{name} is {value!r}; expected a number between 0 and 1, as 0.95"
        raise ArgumentError(msg)


def sides(a: xr.DataArray, b: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, tuple[str, str]]:
    """Return two arrays of the same labels, and what they are called: the labels that differ.

    Examples
    --------
    >>> a = xr.DataArray([0.1, 0.2], {"learner": "LDC"}, ("repetition",))
    >>> sides(a, a.assign_coords(learner="NMC"))[2]
    ('LDC', 'NMC')
    """
    if not isinstance(b, xr.DataArray):
        msg = f"the second argument is a {type(b).__name__}; expected the same kind as the first"
        raise ArgumentError(msg)
    need_dims(a, REPETITION)
    need_dims(b, REPETITION)
    names = [_name(one, other) for one, other in ((a, b), (b, a))]
    shared = {c for c in a.coords if c in b.coords and a[c].variable.equals(b[c].variable)}
    a, b = (x.drop_vars([c for c in x.coords if c not in {*x.dims, *shared}]) for x in (a, b))
    one, other = xr.broadcast(*xr.align(a, b, join="inner"))
    for dim, size in one.sizes.items():
        if size == 0:
            msg = (
                f"the two have no {dim} in common; to compare across {dim}, select one label of "
                f"each, as scores.sel({dim}=...), or pass one array and dim={str(dim)!r}"
            )
            raise LabelError(msg)
    return one, other.transpose(*one.dims), (names[0], names[1])


def _name(one: xr.DataArray, other: xr.DataArray) -> str:
    """Return the scalar labels in which one array differs from another."""
    parts = []
    for dim in ("learner", "tuning", "sampling", "split", "scaling", "dataset"):
        labels = [x.coords[dim].item() for x in (one, other) if dim in x.coords and not x[dim].dims]
        if len(labels) == 2 and labels[0] != labels[1]:
            parts.append(str(labels[0]))
    return ", ".join(parts)


def two_sides(
    a: xr.DataArray, b: xr.DataArray | None, dim: str
) -> tuple[xr.DataArray, xr.DataArray, tuple[str, str] | None]:
    """Return what is compared with what: two arrays, or all pairs along a dim of one.

    Of pairs both have the dim ``pair`` with the coordinates ``first`` and ``second``, and there are
    no names.
    """
    if b is not None:
        return sides(a, b)
    need_dims(a, dim, REPETITION)
    places = np.triu_indices(a.sizes[dim], k=1)
    apart = [name for name, coord in a.coords.items() if dim in coord.dims]
    labels = a[dim].values
    pairs = {side: ("pair", labels[i]) for side, i in zip(("first", "second"), places, strict=True)}
    one, other = (
        a.isel({dim: xr.DataArray(i, dims="pair")}).drop_vars(apart).assign_coords(pairs)
        for i in places
    )
    return one, other, None


def named(result: xr.Dataset, names: tuple[str, str] | None) -> xr.Dataset:
    """Return a result that says who is first and second, unless its pairs do."""
    if names is not None:
        result.attrs.update(first=names[0] or "first", second=names[1] or "second")
    return result


@takes_selections
def compare(
    a: xr.DataArray,
    b: xr.DataArray | None = None,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    *,
    test_rows: xr.DataArray | None = None,
    dim: str = "learner",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    direction: str | None = None,
) -> xr.Dataset:
    """Compare two learners at every size, paired by repetition: a - b.

    Repetitions are resamples of one dataset. What is certain here is so for other draws from the
    same rows, and a thousand repetitions find differences too small to matter: read the differences
    and their intervals before the p-values, which are those of one size each.

    Parameters
    ----------
    a, b
        Arrays with the dim ``repetition``, which see the same rows in a repetition: two curves of
        one dataset. Without `b`, every pair along `dim` of `a`.
    quantiles
        Which quantiles are compared: an accuracy's bad end is .05, a loss's .95.
    test_rows
        The number of test rows, ``db[dataset].n_test``, for the corrected t-test.
    dim
        What is paired where there is no `b`.
    resamples, seed
        Of the bootstrap that the intervals of quantile differences come from.
    confidence
        Of all intervals.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        Without ``repetition``: ``mean_difference`` with ``mean_low`` and ``mean_high``, its ``sd``
        and ``count``; p-values ``t_p``, ``wilcoxon_p``, ``sign_p``, and with `test_rows`
        ``t_corrected_p`` where there are at least as many training rows; ``better``, the share of
        repetitions in which the first is better, ties counting half, with its ends; and with the
        dim ``q`` ``quantile_difference``, ``quantile_low`` and ``quantile_high``. Of pairs along a
        dim there is the dim ``pair`` with the coordinates ``first`` and ``second``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name).sel(n=[10, 100]) for name in ("QDC", "NMC")]
    ...     found = lcdb.analysis.compare(*curves, resamples=200)
    >>> found["mean_difference"].dims, bool((found["mean_low"] > 0)[1]), found.attrs["first"]
    (('n',), True, 'QDC')
    """
    for share in (*quantiles, confidence):
        check_share("a quantile or confidence", share)
    if b is None:
        stacked = a.drop_vars([c for c in a.coords if dim in a[c].dims and c != dim])
        need_dims(a, dim, REPETITION)
        names = None
    else:
        one, other, names = sides(a, b)
        stacked, dim = xr.concat([one, other], _SIDE, coords="minimal", compat="override"), _SIDE
    way = direction_of(a, direction)
    first, second = np.triu_indices(stacked.sizes[dim], k=1)

    def all_pairs(x: np.ndarray) -> tuple[np.ndarray, ...]:
        return _compared(x, first, second, tuple(quantiles), resamples, seed, confidence, way)

    result = over_repetitions(
        all_pairs,
        stacked,
        names=[*_SCALARS, *_BY_QUANTILE],
        core=[[dim, REPETITION]],
        out=[["pair"]] * len(_SCALARS) + [["pair", "q"]] * len(_BY_QUANTILE),
        sizes={"pair": len(first), "q": len(quantiles)},
    ).assign_coords(q=list(quantiles))
    if test_rows is not None:
        result["t_corrected_p"] = _corrected(result, test_rows)
    result.attrs = {"analysis": "compare", "direction": way, "confidence": confidence}
    if names is None:
        labels = stacked[dim].values
        result = result.assign_coords(
            first=("pair", labels[first]), second=("pair", labels[second])
        )
    else:
        result = named(result.isel(pair=0, drop=True), names)
    return described(result, a, _LONG_NAMES, _IN_UNITS)


def _compared(
    x: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    quantiles: tuple[float, ...],
    resamples: int,
    seed: int,
    confidence: float,
    way: str,
) -> tuple[np.ndarray, ...]:
    """Return the outputs of `compare` for samples (..., side, repetition)."""
    x = np.asarray(x, float)
    d, tolerance = stats.differences(x[..., first, :], x[..., second, :])
    mean = stats.paired_mean(d, tolerance, confidence)
    better = stats.superiority(d if way == "maximize" else -d, confidence)
    scalars = (
        *(mean.mean, mean.low, mean.high, mean.sd, mean.pairs.astype(float)),
        *(mean.p, stats.wilcoxon(d, tolerance), stats.sign_test(d), *better),
    )
    by_quantile = np.empty((3, *x.shape[:-2], len(first), len(quantiles)))
    for cell in np.ndindex(x.shape[:-2]):
        by_quantile[(slice(None), *cell)] = stats.quantile_differences(
            x[cell], first, second, quantiles, resamples, seed, confidence
        )
    return (*scalars, *by_quantile)


def _corrected(result: xr.Dataset, test_rows: xr.DataArray) -> xr.DataArray:
    """Return Nadeau and Bengio's p-values where no more rows test than train."""
    if "n" not in result.coords:
        msg = "the corrected t-test needs the number of training rows; keep the coordinate n"
        raise LabelError(msg)
    rows = test_rows.astype(float)
    rows = rows.where(rows > 0)
    if REPETITION in rows.dims:
        rows = rows.mean(REPETITION)
    ratio = rows / rows["n"] if "n" in rows.coords else rows / result["n"]
    ratio, _ = xr.align(ratio, result, join="right", copy=False)
    parts = (result["mean_difference"], result["sd"], result["count"], ratio.where(ratio <= 1))
    return xr.apply_ufunc(
        stats.corrected_p, *parts, dask="parallelized", output_dtypes=[float], keep_attrs=False
    )


def described(
    result: xr.Dataset, source: xr.DataArray, long_names: Mapping[str, str], in_units: set[str]
) -> xr.Dataset:
    """Return a result with long names and units, and a note of the scores that it is about."""
    for name, variable in result.data_vars.items():
        units = source.attrs.get("units", "1") if name in in_units else "1"
        variable.attrs = {"long_name": long_names[str(name)], "units": units}
    if source.name is not None:
        result.attrs["metric"] = str(source.name)
    for name in ("dataset_name", "openml_id"):
        if name in source.attrs:
            result.attrs[name] = source.attrs[name]
    return result
