"""What the repetitions of each cell look like: summaries, tests of normality, quantile curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, need_dims, over_repetitions
from lcdb.analysis.pairs import check_along, check_test_rows
from lcdb.analysis.selections import takes_selections
from lcdb.errors import LabelError

__all__ = ["normality", "normality_by_repetitions", "paired_normality", "quantile_curve", "summary"]

_LONG_NAMES = {
    "count": "repetitions with a value",
    "mean": "mean over repetitions",
    "sd": "standard deviation over repetitions (ddof 1)",
    "minimum": "smallest value",
    "maximum": "largest value",
    "distinct": "distinct values",
    "constant": "all values equal up to rounding",
    "skewness": "skewness (biased)",
    "excess_kurtosis": "excess kurtosis (biased)",
    "shapiro_w": "Shapiro-Wilk W",
    "shapiro_p": "p-value of Shapiro-Wilk",
    "shapiro_log_p": "log p-value of Shapiro-Wilk",
    "dagostino_k2": "D'Agostino and Pearson K²",
    "dagostino_p": "p-value of D'Agostino and Pearson",
    "skewness_p": "p-value of the skewness test",
    "kurtosis_p": "p-value of the kurtosis test",
    "quantile": "quantile over repetitions",
    "non_gaussian": "Shapiro-Wilk rejects at 5 % (constant cells: no)",
    "lattice_non_gaussian": "a rounded normal is rejected at 5 % (constant cells: no)",
    "lattice_p": "p-value of a normal distribution rounded to multiples of 1/n_test",
    "lattice_bins": "bins of the lattice-aware test",
    "lattice_step": "lattice step over the latent standard deviation",
}
#: Fields of `summary` that a table of normality does not need.
_MOMENTS = ("mean", "sd", "minimum", "maximum")


def _described(dataset: xr.Dataset, source: xr.DataArray) -> xr.Dataset:
    """Return the dataset with a long name for every variable and a note of what it is about."""
    for name, variable in dataset.data_vars.items():
        if name in _LONG_NAMES:
            variable.attrs.setdefault("long_name", _LONG_NAMES[str(name)])
        if name in (*_MOMENTS, "quantile"):
            variable.attrs.setdefault("units", source.attrs.get("units", "1"))
    dataset.attrs.update(
        {
            name: source.attrs[name]
            for name in ("direction", "dataset_name", "openml_id")
            if name in source.attrs
        }
    )
    if source.name is not None:
        dataset.attrs["metric"] = str(source.name)
    return dataset


@takes_selections
def summary(scores: xr.DataArray, quantiles: Sequence[float] = stats.QUANTILES) -> xr.Dataset:
    """Return moments, tests of normality and quantiles of every cell, in one pass.

    Parameters
    ----------
    scores
        Any array with the dim ``repetition``: a curve, a selection, a whole variable of a cube;
        or a dict or dataset of such, as ``db.select`` returns them. Dask arrays stay lazy.
    quantiles
        Probabilities of the new dim ``q``.

    Returns
    -------
    xarray.Dataset
        Without ``repetition``; the variables are those of `lcdb.stats.FIELDS`, and ``quantile``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     found = lcdb.analysis.summary(db.curve("iris", "LDC"))
    >>> found["mean"].dims, found["quantile"].dims
    (('n',), ('n', 'q'))
    """
    probabilities = np.asarray(quantiles, float)

    def one_pass(x: np.ndarray) -> tuple[np.ndarray, ...]:
        fields, quantile = stats.summary(x, quantiles)
        return (*(fields[name] for name in stats.FIELDS), quantile)

    found = over_repetitions(
        one_pass,
        scores,
        names=[*stats.FIELDS, "quantile"],
        out=[*([] for _ in stats.FIELDS), ["q"]],
        sizes={"q": len(probabilities)},
        dtypes=[*(bool if name == "constant" else float for name in stats.FIELDS), float],
    )
    probability = ("q", probabilities, {"long_name": "probability", "units": "1"})
    return _described(found.assign_coords(q=probability), scores)


@takes_selections
def normality(
    scores: xr.DataArray, n_test: xr.DataArray | None = None, simulations: int = 0
) -> xr.Dataset:
    """Return tests of normality of every cell.

    Parameters
    ----------
    scores
        Any array with the dim ``repetition``.
    n_test
        For accuracy: the number of test rows, ``db[dataset].n_test`` with the same labels
        selected. Adds the lattice-aware test where it does not vary between repetitions
        (``lattice_p``, ``lattice_bins``, ``lattice_step``), and what it says
        (``lattice_non_gaussian``); elsewhere these are NaN.
    simulations
        Test cells whose `n_test` varies (bootstrap with varying test set) too, against so many
        simulated samples each: ``lattice_p`` is then a multiple of 1/(simulations + 1). 99 take
        some 3 ms for a cell of 1,000 repetitions.

    Returns
    -------
    xarray.Dataset
        ``shapiro_w``, ``shapiro_p``, ``shapiro_log_p``, ``dagostino_k2``, ``dagostino_p``,
        ``skewness``, ``skewness_p``, ``excess_kurtosis``, ``kurtosis_p``, ``count``, ``distinct``
        and ``constant``; and ``non_gaussian``: 1 where Shapiro-Wilk rejects at 5 %, 0 where not
        or where the cell is constant, NaN with fewer than 8 values.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="additive", split="fixed")
    ...     n_test = db["iris"].n_test.sel(labels)
    ...     found = lcdb.analysis.normality(db.curve("iris", "LDC", **labels), n_test)
    >>> found["lattice_p"].dims, "mean" in found
    (('n',), False)
    """
    found = summary(scores, ()).drop_vars([*_MOMENTS, "quantile", "q"])
    found["non_gaussian"] = _rule(stats.non_gaussian, found["shapiro_p"], found)
    if n_test is not None:
        check_test_rows(scores, n_test)
        found = found.merge(_lattice(scores, n_test, simulations), combine_attrs="override")
        found["lattice_non_gaussian"] = _rule(stats.lattice_non_gaussian, found["lattice_p"], found)
    return _described(found, scores)


def _rule(rule: Callable[..., np.ndarray], p: xr.DataArray, tests: xr.Dataset) -> xr.DataArray:
    """Return what a rule of `lcdb.stats` says of cells, by the p-values of one test."""
    return xr.apply_ufunc(
        rule, p, tests["count"], tests["constant"], dask="parallelized", output_dtypes=[float],
        keep_attrs=False,
    )  # fmt: skip


def _lattice(scores: xr.DataArray, n_test: xr.DataArray, simulations: int) -> xr.Dataset:
    def test(x: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        counts = x * rows
        # A share in single precision is 1e-7 off.
        off = np.abs(counts - np.rint(counts)) > 1e-3 + 2e-7 * rows
        if off.any():
            place = np.unravel_index(off.argmax(), off.shape)
            score, of = float(x[place]), int(np.broadcast_to(rows, x.shape)[place])
            msg = (
                f"a score of {score:g} is no share of {of} test rows; expected accuracies, and "
                "n_test of the same dataset, sampling and split"
            )
            raise LabelError(msg)
        return stats.lattice_test(x, rows, simulations)

    names = ["lattice_p", "lattice_bins", "lattice_step"]
    dropped = [name for name in n_test.coords if name not in n_test.dims]
    return over_repetitions(test, scores, n_test.drop_vars(dropped), names=names)


@takes_selections
def normality_by_repetitions(
    scores: xr.DataArray,
    counts: Sequence[int] = (25, 50, 100, 200, 500, 1000),
    n_test: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return the tests of normality that fewer repetitions would have given.

    A rate of rejections grows with the number of repetitions until every departure from normality
    is found, however small; W, skewness and kurtosis do not.

    Parameters
    ----------
    scores
        Any array with the dim ``repetition``.
    counts
        The first so many repetitions are used; more than there are is left out.
    n_test
        As for `normality`.

    Returns
    -------
    xarray.Dataset
        As `normality`, with the dim ``repetitions``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curve = db.curve("iris", "NMC", split="varying").dropna("n")
    ...     found = lcdb.analysis.normality_by_repetitions(curve, [25, 200])
    >>> rate = found["non_gaussian"].mean("n")
    >>> rate.dims, bool(rate[0] <= rate[1])
    (('repetitions',), True)
    """
    need_dims(scores, REPETITION)
    there = [count for count in counts if count <= scores.sizes["repetition"]]
    first = [slice(count) for count in there]
    parts = [
        normality(
            scores.isel(repetition=some),
            None if n_test is None else n_test.isel(repetition=some),
        )
        for some in first
    ]
    dim = xr.Variable("repetitions", there, {"long_name": "number of repetitions"})
    return xr.concat(parts, xr.DataArray(dim, name="repetitions"), combine_attrs="override")


@takes_selections
def paired_normality(
    scores: xr.DataArray, n_test: xr.DataArray | None = None, dim: str = "learner"
) -> xr.Dataset:
    """Return tests of normality of the differences of every pair along a dim.

    All learners see the same rows in a repetition, so differences are paired.

    Parameters
    ----------
    scores
        An array with dims ``repetition`` and `dim`.
    n_test
        For accuracy: differences are then taken as integer counts, free of rounding.
    dim
        What is paired.

    Returns
    -------
    xarray.Dataset
        As `normality`, with the dim ``pair`` and the coordinates ``first`` and ``second``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="additive", split="varying", tuning="default")
    ...     some = db.select("iris", learner=["NMC", "LDC", "QDC"], **labels)[61]
    ...     found = lcdb.analysis.paired_normality(some)
    >>> found.sizes["pair"], str(found["first"][0].values), str(found["second"][0].values)
    (3, 'NMC', 'LDC')
    """
    need_dims(scores, dim, REPETITION)
    check_along(scores, dim, otherwise="")
    if n_test is not None:
        check_test_rows(scores, n_test)
    values = scores if n_test is None else (scores * n_test).round()
    first, second = np.triu_indices(scores.sizes[dim], k=1)
    # What differs between the two learners of a pair has no place in their difference.
    apart = [name for name, coord in values.coords.items() if dim in coord.dims]
    ahead = values.isel({dim: xr.DataArray(first, dims="pair")}).drop_vars(apart)
    behind = values.isel({dim: xr.DataArray(second, dims="pair")}).drop_vars(apart)
    difference = ahead - behind
    difference.attrs = dict(scores.attrs)
    found = normality(difference)
    labels = scores[dim].values
    return found.assign_coords(first=("pair", labels[first]), second=("pair", labels[second]))


@takes_selections
def quantile_curve(
    scores: xr.DataArray, quantiles: Sequence[float] | float = 0.5, confidence: float = 0.95
) -> xr.Dataset:
    """Return quantiles along n, with distribution-free intervals from order statistics.

    Parameters
    ----------
    scores
        Any array with the dim ``repetition``.
    quantiles
        One probability or several.
    confidence
        Of each interval; ties only raise its coverage.

    Returns
    -------
    xarray.Dataset
        ``quantile``, ``low`` and ``high`` with the dim ``q``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     found = lcdb.analysis.quantile_curve(db.curve("iris", "LDC").dropna("n"), [0.05, 0.95])
    >>> bool((found["low"] <= found["high"]).all()), found["quantile"].dims
    (True, ('n', 'q'))
    """
    probabilities = np.atleast_1d(np.asarray(quantiles, float))

    def curve(x: np.ndarray) -> tuple[np.ndarray, ...]:
        ordered = np.sort(x.astype(float), axis=-1)
        value = np.moveaxis(np.quantile(ordered, probabilities, axis=-1), 0, -1)
        ends = [stats.quantile_interval(ordered, float(q), confidence) for q in probabilities]
        low, high = (np.stack([end[i] for end in ends], axis=-1) for i in (0, 1))
        gaps = np.isnan(ordered[..., -1:])  # an interval needs every repetition
        return value, np.where(gaps, np.nan, low), np.where(gaps, np.nan, high)

    found = over_repetitions(
        curve,
        scores,
        names=["quantile", "low", "high"],
        out=[["q"]] * 3,
        sizes={"q": len(probabilities)},
    ).assign_coords(q=("q", probabilities, {"long_name": "probability", "units": "1"}))
    found["low"].attrs["long_name"] = f"lower end of the {confidence:.0%} interval"
    found["high"].attrs["long_name"] = f"upper end of the {confidence:.0%} interval"
    return _described(found, scores)
