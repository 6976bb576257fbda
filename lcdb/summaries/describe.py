"""A curve cube becomes its summary: an `xarray.Dataset` in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from lcdb._version import __version__
from lcdb.analysis.cells import cell_statistics
from lcdb.schema import METRICS, STATUSES, SUMMARY_KIND, UNIT_DIMS
from lcdb.scores import exact_scores
from lcdb.stats.rules import LEVEL
from lcdb.summaries.layout import (
    BITS,
    COMPARISONS,
    KEPT,
    NAMED,
    PAIR_CODES,
    PROBABILITIES,
    VARIABLES,
)
from lcdb.summaries.pairs import WAYS, describe_pairs, describe_top_k, pair_names
from lcdb.summaries.stored import comparison
from lcdb.tables.frame import CURVE_STATISTICS, both_ranges

__all__ = ["describe"]

_P_VALUES = ("dagostino_p", "skewness_p", "kurtosis_p")
_NOT_BUILT = STATUSES.index("not_built")


def describe(
    cube: xr.Dataset, sizes: np.ndarray, sha256: str, bits: int | None = None
) -> xr.Dataset:
    """Return the summary of a cube.

    Parameters
    ----------
    cube
        As ``db[dataset]`` has it.
    sizes
        Some of its training sizes, ascending: cells are kept for these. What tables need of each
        curve is of all of its sizes.
    sha256
        Of the cube's file.
    bits
        Significant binary digits to keep of what is exact otherwise; None for all. What tables need
        of each curve stays exact.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     small = describe(db["iris"].isel(learner=[0]), np.array([10, 100]), "0" * 64)
    >>> dict(small["mean"].sizes)["n"], small.attrs["repetitions"]
    (2, 200)
    """
    arrays = _empty(cube, len(sizes))
    chosen = np.isin(cube["n"].values, sizes)
    _draws(cube, chosen, arrays)
    if "pair_statistic" in arrays:
        describe_pairs(cube, chosen, arrays)
    describe_top_k(cube, arrays)
    for place, metric, unit in _curves(cube):
        fields, curve = _curve(cube, metric, unit)
        if bits is not None:
            fields = shortened(fields, bits)
        where = (place, *unit)
        arrays["curve_statistic"][where] = [curve[name] for name in CURVE_STATISTICS]
        for name, values in fields.items():
            if name in ("lattice_p", "lattice_step"):
                if metric == "accuracy":
                    arrays[name][unit] = values[chosen]
            elif name in arrays:
                arrays[name][where] = values[chosen].T  # quantiles come first
    found = xr.Dataset(
        {name: (VARIABLES[name].dims, values) for name, values in arrays.items()},
        coords=_coordinates(cube, sizes),
        attrs=_attributes(cube, sha256) | ({} if bits is None else {"significant_bits": bits}),
    )
    for name in arrays:
        found[name].attrs = {"long_name": VARIABLES[name].long_name, "units": "1"}
    if "pair_normality" in arrays:
        found["pair_normality"].attrs |= {
            "flag_values": np.array(list(PAIR_CODES.values()), np.int8),
            "flag_meanings": " ".join(PAIR_CODES),
        }
    for name in KEPT:
        found[name] = cube[name].variable.load().drop_encoding()
    return found


def _empty(cube: xr.Dataset, sizes: int) -> dict[str, np.ndarray]:
    """Return the variables of a summary without what they are to hold."""
    shape = {dim: len(names) for dim, (names, _) in _labels(cube).items()}
    shape |= {"n": sizes, "q": len(PROBABILITIES)}
    empty = {"pair_normality": PAIR_CODES["absent"]}
    return {
        name: np.full(
            [shape[dim] for dim in field.dims],
            np.nan if np.dtype(field.dtype).kind == "f" else empty.get(name, 0),
            field.dtype,
        )
        for name, field in VARIABLES.items()
        if set(field.dims) <= set(shape)
    }


def _labels(cube: xr.Dataset) -> dict[str, tuple[list[str], str]]:
    """Return the labels of each dim that has any, and what they are."""
    found = {"metric": (list(METRICS), "what scores are")}
    for dim in UNIT_DIMS:
        found[dim] = [str(label) for label in cube[dim].values], cube[dim].attrs["long_name"]
    if pairs := pair_names(cube):
        found["pair"] = pairs, "the second learner's scores taken from the first's"
    names = [comparison(quantile, width) for quantile, width in COMPARISONS]
    return found | {
        "statistic": (list(CURVE_STATISTICS), "statistic of a curve"),
        "comparison": (names, "quantile, and what it is compared with"),
        "way": (list(WAYS), "way of counting changes"),
        "number": (["changed", "sizes"], "sizes with a change, and all that were compared"),
    }


def _coordinates(cube: xr.Dataset, sizes: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {
        dim: (dim, np.array(names, object), {"long_name": text})
        for dim, (names, text) in _labels(cube).items()
    }
    attrs = {"units": "1", "long_name": cube["n"].attrs["long_name"]}
    found["n"] = ("n", np.asarray(sizes, np.int32), attrs)
    probability = {"units": "1", "long_name": "probability"}
    return found | {"q": ("q", np.array(PROBABILITIES), probability)}


def _attributes(cube: xr.Dataset, sha256: str) -> dict[str, Any]:
    own = {
        "title": f"Summary of: {cube.attrs['title']}",
        "cube_kind": SUMMARY_KIND,
        "package_version": __version__,
        "repetitions": cube.sizes["repetition"],
        "cube_sha256": sha256,
    }
    return {**cube.attrs, **own}


def _draws(cube: xr.Dataset, chosen: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the least and the largest number of test rows of every size."""
    n_test = cube["n_test"].transpose("sampling", "split", "n", "repetition").isel(n=chosen).values
    arrays["n_test_least"][...] = n_test.min(axis=-1)
    arrays["n_test_most"][...] = n_test.max(axis=-1)


def _curves(cube: xr.Dataset) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    """Yield the curves that may have values: place and name of the metric, places of labels."""
    status = cube["status"].transpose(*UNIT_DIMS).values
    units = list(itertools.product(*map(range, status.shape)))
    for place, metric in enumerate(METRICS):
        for unit in units:
            if status[unit] != _NOT_BUILT:
                yield place, metric, unit


def _curve(
    cube: xr.Dataset, metric: str, unit: tuple[int, ...]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the statistics of the cells of one curve as they are stored, and of the curve."""
    where = dict(zip(UNIT_DIMS, unit, strict=True))
    x = exact_scores(cube, metric).isel(where).transpose("n", "repetition").values
    n_test = None
    if metric == "accuracy":
        draws = cube["n_test"].isel(sampling=where["sampling"], split=where["split"])
        n_test = draws.transpose("n", "repetition").values
    fields, quantile = cell_statistics(x, n_test, PROBABILITIES)
    curve = both_ranges(fields, cube["n"].values)
    named = np.isin(PROBABILITIES, NAMED)
    shortened = rounded(quantile, BITS["quantile"])
    fields["quantile"] = np.where(named, quantile.astype(np.float32), shortened)
    for name in ("skewness", "excess_kurtosis"):
        fields[name] = rounded(fields[name], BITS[name])
    for name in _P_VALUES:
        fields[name] = on_its_side(rounded(fields[name], BITS[name]), fields[name])
    return fields, curve


def rounded(x: np.ndarray, bits: int) -> np.ndarray:
    """Return numbers as float32 with so many significant binary digits, which compress well.

    Examples
    --------
    >>> rounded(np.array([0.9, np.nan]), 4).tolist()
    [0.875, nan]
    """
    exact = np.asarray(x, np.float32)
    mantissa, exponent = np.frexp(exact)
    return np.ldexp(np.rint(mantissa * np.float32(2**bits)), exponent - bits).astype(np.float32)


# What is kept in full unless it is asked to be short.
_EXACT = ("mean", "sd", "minimum", "maximum", "quantile", "shapiro_w", "lattice_step")
_EXACT_P = ("shapiro_p", "lattice_p")


def shortened(fields: Mapping[str, np.ndarray], bits: int) -> dict[str, np.ndarray]:
    """Return the statistics of cells, all of them with so few digits; p stays on its side of 5 %.

    Examples
    --------
    >>> short = shortened({"mean": np.array([0.9]), "count": np.array([7])}, 8)
    >>> short["mean"].tolist(), short["count"].tolist()
    ([0.8984375], [7])
    """
    short = dict(fields)
    for name in (*_EXACT, *_EXACT_P):
        if name in short:
            values = rounded(short[name], bits)
            short[name] = on_its_side(values, short[name]) if name in _EXACT_P else values
    return short


def on_its_side(short: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return shortened p-values of which each is below 5 % if and only if it was.

    Examples
    --------
    >>> p = np.array([0.05 - 1e-12, 0.05])
    >>> (on_its_side(p.astype(np.float32), p) < 0.05).tolist()
    [True, False]
    """
    above = np.float32(LEVEL)
    if float(above) < LEVEL:
        above = np.nextafter(above, np.float32(1))
    below = np.nextafter(above, np.float32(0))
    with np.errstate(invalid="ignore"):
        kept = np.where(p < LEVEL, np.minimum(short, below), np.maximum(short, above))
    return np.where(np.isnan(p), np.nan, kept).astype(np.float32)
