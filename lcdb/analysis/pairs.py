"""Two learners, size by size: which is better, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims, over_repetitions
from lcdb.analysis.selections import takes_selections
from lcdb.errors import ArgumentError, LabelError

__all__ = [
    "check_along",
    "check_draws",
    "check_metric",
    "check_share",
    "check_test_rows",
    "compare",
    "core_dims",
    "described",
    "design",
    "named",
    "sides",
    "two_sides",
]

_SIDE = "side"
OTHERWISE = ", or compare them without pairs: paired=False"
#: The dim of the second side's repetitions where they are not those of the first.
OTHER = "other_repetition"
_LONG_NAMES = {
    "mean_difference": "mean of first - second",
    "mean_low": "lower end of its t interval",
    "mean_high": "upper end of its t interval",
    "sd": "standard deviation of first - second (ddof 1)",
    "count": "repetitions that both have",
    "first_count": "repetitions of first",
    "second_count": "repetitions of second",
    "t_p": "p-value of the paired t-test, two-sided",
    "t_corrected_p": "p-value of Nadeau and Bengio's corrected t-test, two-sided",
    "wilcoxon_p": "p-value of Wilcoxon's signed ranks, two-sided",
    "sign_p": "p-value of the sign test, two-sided",
    "better": "share of repetitions in which first is better, ties counting half",
    "better_low": "lower end of its Wilson interval",
    "better_high": "upper end of its Wilson interval",
    "mann_whitney_p": "p-value of Mann and Whitney's test, two-sided",
    "quantile_difference": "Harrell-Davis quantile of first - that of second",
    "quantile_low": "lower end of its bootstrap interval",
    "quantile_high": "upper end of its bootstrap interval",
}
_BY_QUANTILE = ["quantile_difference", "quantile_low", "quantile_high"]
_SCALARS = [
    *("mean_difference", "mean_low", "mean_high", "sd", "count"),
    *("t_p", "wilcoxon_p", "sign_p", "better", "better_low", "better_high"),
]
#: What takes no pairs.
_UNPAIRED = [
    *("mean_difference", "mean_low", "mean_high", "first_count", "second_count"),
    *("t_p", "mann_whitney_p", "better", "better_low", "better_high"),
]
_UNPAIRED_NAMES = {
    "mean_difference": "mean of first - mean of second",
    "mean_low": "lower end of Welch's interval",
    "mean_high": "upper end of Welch's interval",
    "t_p": "p-value of Welch's t-test, two-sided",
    "better": "chance that a repetition of first is better than one of second, ties counting half",
    "better_low": "lower end of its interval",
    "better_high": "upper end of its interval",
}
_IN_UNITS = {"mean_difference", "mean_low", "mean_high", "sd", *_BY_QUANTILE}


def check_share(name: str, value: float) -> None:
    """Raise ArgumentError unless a value lies strictly between 0 and 1."""
    if not 0 < value < 1:
        msg = f"{name} is {value!r}; expected a number between 0 and 1, as 0.95"
        raise ArgumentError(msg)


def _value(label: str, array: xr.DataArray) -> str:
    """Return a scalar label in words, "several" where it is none."""
    if array[label].size != 1:
        return "several"
    value = str(array[label].values.ravel()[0])
    return str(array.attrs.get("dataset_name", value)) if label == "dataset" else value


def check_metric(*arrays: xr.DataArray) -> None:
    """Raise LabelError unless arrays are of one metric, as far as they say.

    Examples
    --------
    >>> check_metric(xr.DataArray(0.5, name="auc"), xr.DataArray(0.5))
    """
    names = list(dict.fromkeys(str(a.name) for a in arrays if a.name is not None))
    inside = [str(a["metric"].values) for a in arrays if "metric" in a.coords and not a.metric.dims]
    inside = list(dict.fromkeys(inside))
    for several in (names, inside):
        if len(several) > 1:
            msg = (
                f"metric differs: {several[0]} and {several[1]}; expected arrays of one metric, "
                f"as db.curve(..., metric={several[0]!r}) for both"
            )
            raise LabelError(msg)


def _is_other(one: xr.Variable, other: xr.Variable) -> bool:
    """Return whether two labels differ anywhere, once they are laid over each other."""
    one, other = (x.to_base_variable() for x in (one, other))
    if one.dtype.kind not in "fiub" or other.dtype.kind not in "fiub":
        one, other = one.astype(str), other.astype(str)
    return bool((one != other).any())


def _labels_apart(a: xr.DataArray, b: xr.DataArray) -> Iterator[tuple[str, str, str]]:
    """Yield labels of the draws in which two aligned arrays differ, and both values in words."""
    keyed = "draws" in a.coords and "draws" in b.coords
    if keyed and _is_other(a["draws"].variable, b["draws"].variable):
        data, seeds = zip(*(_value("draws", x).partition("/")[::2] for x in (a, b)), strict=True)
        if data[0] == data[1] and data[0] != "several":
            yield "seed", seeds[0], seeds[1]
        else:
            names = [_value("dataset", x) if "dataset" in x.coords else "" for x in (a, b)]
            one, other = names if len(set(names)) == 2 else data
            yield "dataset", one, other
    for label in ("sampling", "split", "n") if keyed else ("dataset", "sampling", "split", "n"):
        if label not in a.coords or label not in b.coords:
            continue
        if label in a.dims and label in b.dims:  # aligned by their labels
            continue
        if _is_other(a[label].variable, b[label].variable):
            yield label, _value(label, a), _value(label, b)
    scored = [str(x["rows"].values) if "rows" in x.coords else "test" for x in (a, b)]
    if scored[0] != scored[1]:
        yield "rows", scored[0], scored[1]


def check_draws(a: xr.DataArray, b: xr.DataArray, otherwise: str = OTHERWISE) -> None:
    """Raise LabelError unless repetition r of two arrays has the same rows, as far as they say.

    What says so are the coordinates ``draws`` (digest of the data, and the seed), ``sampling``,
    ``split`` and ``n``; without ``draws``, ``dataset``; and ``rows``, those that are scored, where
    they are not the test rows. `otherwise` is the end of the message: what else can be done.
    """
    for label, one, other in _labels_apart(a, b):
        msg = (
            f"{label} differs: {one} and {other}, so that repetition r of the one has other rows "
            f"than repetition r of the other; select one {label} for both{otherwise}"
        )
        raise LabelError(msg)


def check_along(
    array: xr.DataArray, dim: str, paired: bool = True, otherwise: str = OTHERWISE
) -> None:
    """Raise LabelError unless the labels along a dim are of one metric and of the same draws.

    Examples
    --------
    >>> scores = xr.DataArray(np.zeros((2, 3)), {"split": ["fixed", "varying"]},
    ...                       ("split", "repetition"))
    >>> check_along(scores, "split")
    Traceback (most recent call last):
        ...
    lcdb.errors.LabelError: split differs: fixed and varying, so that repetition r of the one has \
other rows than repetition r of the other; select one split for both, or compare them without \
pairs: paired=False
    """
    for place in range(1, array.sizes[dim]):
        one, other = (array.isel({dim: k}) for k in (0, place))
        check_metric(one, other)
        if paired:
            check_draws(one, other, otherwise)


def _check_second(b: object) -> None:
    if not isinstance(b, xr.DataArray):
        msg = f"the second argument is a {type(b).__name__}; expected the same kind as the first"
        raise ArgumentError(msg)


def sides(
    a: xr.DataArray, b: xr.DataArray, paired: bool = True
) -> tuple[xr.DataArray, xr.DataArray, tuple[str, str]]:
    """Return two arrays of the same labels, and what they are called: the labels that differ.

    Repetitions of the second are the dim `OTHER` where they are not paired.

    Examples
    --------
    >>> a = xr.DataArray([0.1, 0.2], {"learner": "LDC"}, ("repetition",))
    >>> sides(a, a.assign_coords(learner="NMC"))[2]
    ('LDC', 'NMC')
    """
    _check_second(b)
    need_dims(a, REPETITION)
    need_dims(b, REPETITION)
    check_metric(a, b)
    names = [_name(one, other) for one, other in ((a, b), (b, a))]
    if paired:
        _check_sizes(a, b)
        check_draws(*xr.align(a, b, join="inner"))
    else:
        b = _apart(b)
    shared = {c for c in a.coords if c in b.coords and a[c].variable.equals(b[c].variable)}
    a, b = (x.drop_vars([c for c in x.coords if c not in {*x.dims, *shared}]) for x in (a, b))
    one, other = xr.broadcast(*xr.align(a, b, join="inner"), exclude={REPETITION, OTHER})
    if paired:
        one, other = xr.broadcast(one, other)
    for dim, size in one.sizes.items():
        if size == 0:
            msg = (
                f"the two have no {dim} in common; to compare across {dim}, select one label of "
                f"each, as scores.sel({dim}=...), or pass one array and dim={str(dim)!r}"
            )
            raise LabelError(msg)
    order = [OTHER if dim == REPETITION and not paired else dim for dim in one.dims]
    return one, other.transpose(*order), (names[0], names[1])


def _apart(array: xr.DataArray) -> xr.DataArray:
    """Return an array whose repetitions are the dim `OTHER`, without what labels them."""
    every = xr.DataArray(np.arange(array.sizes[REPETITION]), dims=OTHER)
    named = [name for name, coord in array.coords.items() if REPETITION in coord.dims]
    return array.drop_vars(named).isel({REPETITION: every})


def _check_sizes(a: xr.DataArray, b: xr.DataArray) -> None:
    """Raise LabelError where repetitions without labels cannot be paired by their places."""
    labelled = REPETITION in a.coords and REPETITION in b.coords
    if labelled or a.sizes[REPETITION] == b.sizes[REPETITION]:
        return
    msg = (
        f"the two have {a.sizes[REPETITION]} and {b.sizes[REPETITION]} repetitions, without labels "
        "to pair them by; give both a coordinate 'repetition', or say paired=False"
    )
    raise LabelError(msg)


def _name(one: xr.DataArray, other: xr.DataArray) -> str:
    """Return the scalar labels in which one array differs from another."""
    parts = []
    for dim in ("learner", "tuning", "sampling", "split", "scaling", "dataset", "n"):
        labels = [_value(dim, x) for x in (one, other) if dim in x.coords and not x[dim].dims]
        if len(labels) == 2 and labels[0] != labels[1]:
            parts.append(f"n = {labels[0]}" if dim == "n" else labels[0])
    return ", ".join(parts)


def two_sides(
    a: xr.DataArray, b: xr.DataArray | None, dim: str, paired: bool = True
) -> tuple[xr.DataArray, xr.DataArray, tuple[str, str] | None]:
    """Return what is compared with what: two arrays, or all pairs along a dim of one.

    Of pairs both have the dim ``pair`` with the coordinates ``first`` and ``second``, and there are
    no names. Repetitions of the second are the dim `OTHER` where they are not paired.
    """
    if b is not None:
        return sides(a, b, paired)
    need_dims(a, dim, REPETITION)
    check_along(a, dim, paired)
    places = np.triu_indices(a.sizes[dim], k=1)
    apart = [name for name, coord in a.coords.items() if dim in coord.dims]
    labels = a[dim].values
    pairs = {side: ("pair", labels[i]) for side, i in zip(("first", "second"), places, strict=True)}
    one, other = (
        a.isel({dim: xr.DataArray(i, dims="pair")}).drop_vars(apart).assign_coords(pairs)
        for i in places
    )
    return one, other if paired else _apart(other), None


def core_dims(paired: bool, *before: str) -> list[list[str]]:
    """Return the core dims of two sides, as `over_repetitions` takes them."""
    return [[*before, REPETITION], [*before, REPETITION if paired else OTHER]]


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
    paired: bool = True,
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
        one metric, dataset, sampling, split and seed, whatever the learner, tuning or scaling.
        Without `b`, every pair along `dim` of `a`.
    quantiles
        Which quantiles are compared: an accuracy's bad end is .05, a loss's .95.
    paired
        Whether both see the same rows in a repetition, which is checked by their labels. If not,
        as curves of two samplings or two datasets do not, they get statistics without pairs.
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
        dim there is the dim ``pair`` with the coordinates ``first`` and ``second``. Without pairs
        ``t_p`` and the interval of the mean are Welch's, ``mann_whitney_p`` stands for the tests of
        pairs, ``better`` is over all pairs of a repetition of the one with one of the other, and
        ``first_count`` and ``second_count`` stand for ``sd`` and ``count``.

    Raises
    ------
    LabelError
        The two are of different metrics, or their repetitions have other rows.

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
    if not paired:
        given = (tuple(quantiles), resamples, seed, confidence)
        return _compared_unpaired(a, b, dim, given, direction, test_rows)
    if b is None:
        need_dims(a, dim, REPETITION)
        check_along(a, dim)
        stacked = a.drop_vars([c for c in a.coords if dim in a[c].dims and c != dim])
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
        check_test_rows(stacked, test_rows)
        result["t_corrected_p"] = _corrected(result, test_rows)
    result.attrs = {"analysis": "compare", "direction": way, "confidence": confidence}
    result.attrs["design"] = design(paired)
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


def _compared_unpaired(
    a: xr.DataArray,
    b: xr.DataArray | None,
    dim: str,
    given: tuple[tuple[float, ...], int, int, float],
    direction: str | None,
    test_rows: xr.DataArray | None,
) -> xr.Dataset:
    """Return `compare` without pairs; `given` are quantiles, resamples, seed and confidence."""
    if test_rows is not None:
        msg = "test_rows is of the corrected t-test, which takes pairs; leave it out: paired=False"
        raise ArgumentError(msg)
    quantiles, resamples, seed, confidence = given
    one, other, names = two_sides(a, b, dim, paired=False)
    way = direction_of(a, direction)

    def compared(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        mean = stats.welch_mean(x, y, confidence)
        sign = 1.0 if way == "maximize" else -1.0
        better = stats.unpaired_superiority(sign * x, sign * y, confidence)
        apart = stats.unpaired_quantile_differences(x, y, quantiles, resamples, seed, confidence)
        counts = (mean.first.astype(float), mean.second.astype(float))
        scalars = (*mean[:3], *counts, mean.p, stats.mann_whitney(x, y), *better)
        shape = mean.mean.shape
        return (*(np.broadcast_to(each, shape) for each in scalars), *apart)

    result = over_repetitions(
        compared,
        one,
        other,
        names=[*_UNPAIRED, *_BY_QUANTILE],
        core=core_dims(paired=False),
        out=[[]] * len(_UNPAIRED) + [["q"]] * len(_BY_QUANTILE),
        sizes={"q": len(quantiles)},
    ).assign_coords(q=list(quantiles))
    result.attrs = {"analysis": "compare", "direction": way, "confidence": confidence}
    result.attrs["design"] = design(paired=False)
    long_names = {**_LONG_NAMES, **_UNPAIRED_NAMES}
    return described(named(result, names), a, long_names, _IN_UNITS, b)


def design(paired: bool) -> str:
    """Return the attribute of a result that says whether repetitions were paired."""
    return "paired" if paired else "unpaired"


def check_test_rows(scores: xr.DataArray, test_rows: xr.DataArray) -> None:
    """Raise LabelError where numbers of test rows are of another dataset, sampling or split."""
    for label in ("draws", "sampling", "split"):
        both = label in test_rows.coords and label in scores.coords
        if both and _is_other(test_rows[label].variable, scores[label].variable):
            if label in test_rows.dims and label in scores.dims:
                continue
            one, other = (_value(label, x) for x in (scores, test_rows))
            what = "dataset or seed" if label == "draws" else label
            msg = (
                f"{what} differs: the scores are of {one}, the numbers of test rows of {other}; "
                "expected n_test of the cube of the scores, with the same labels selected"
            )
            raise LabelError(msg)


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
    result: xr.Dataset,
    source: xr.DataArray,
    long_names: Mapping[str, str],
    in_units: set[str],
    other: xr.DataArray | None = None,
) -> xr.Dataset:
    """Return a result with long names and units, and a note of the scores that it is about.

    What `other` is about as well, the second of two that are compared, is said of the result.
    """
    for name, variable in result.data_vars.items():
        units = source.attrs.get("units", "1") if name in in_units else "1"
        variable.attrs = {"long_name": long_names[str(name)], "units": units}
    if source.name is not None:
        result.attrs["metric"] = str(source.name)
    for name in ("dataset_name", "openml_id"):
        differs = other is not None and other.attrs.get(name, "") != source.attrs.get(name)
        if name in source.attrs and not differs:
            result.attrs[name] = source.attrs[name]
    return result
