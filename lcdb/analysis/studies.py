"""How many repetitions a benchmark needs to tell two learners apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.stats import t as student

from lcdb import stats
from lcdb.analysis.apply import REPETITION, over_repetitions
from lcdb.analysis.of_summaries import is_summary
from lcdb.analysis.pairs import check_share, core_dims, described, design, named, two_sides
from lcdb.analysis.selections import takes_selections
from lcdb.errors import ArgumentError, did_you_mean

__all__ = ["power", "repetitions_for", "repetitions_of_summary"]

_POWER = {
    "power": "share of studies that find the difference",
    "wrong_sign": "share of studies that find one of the other sign",
}
_REPETITIONS = {
    "repetitions": "repetitions that a paired t-test needs",
    "repetitions_low": "repetitions, if the difference is the largest in its interval",
    "repetitions_high": "repetitions, if the difference is the smallest in its interval",
    "effect": "mean difference over its standard deviation",
}


@takes_selections
def power(
    a: xr.DataArray,
    b: xr.DataArray | None = None,
    repetitions: Sequence[int] = (5, 10, 25, 100),
    test: str = "t",
    *,
    paired: bool = True,
    dim: str = "learner",
    studies: int = 4000,
    seed: int = 0,
    alpha: float = 0.05,
) -> xr.Dataset:
    """Return how often a study of few repetitions finds the difference that all of them show.

    Studies are drawn, with replacement, from the repetitions that there are: whatever these say of
    the two learners is taken to be true.

    Parameters
    ----------
    a, b
        Arrays with the dim ``repetition``, paired. Without `b`, every pair along `dim` of `a`.
    repetitions
        How many a study has.
    test
        ``"t"``, ``"wilcoxon"`` or ``"sign"``, paired and two-sided.
    paired
        As `compare` takes it; if not, studies draw each side by itself, and ``"t"`` is Welch's
        test, ``"wilcoxon"`` Mann and Whitney's.
    dim
        What is paired where there is no `b`.
    studies, seed
        How many are drawn of each kind, and from which stream.
    alpha
        The level of the test.

    Returns
    -------
    xarray.Dataset
        Shares of studies with the dim ``repetitions``: ``power``, that find the difference with
        its sign, and ``wrong_sign``. NaN where there is no difference at all.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name).sel(n=10) for name in ("LDC", "NMC")]
    ...     found = lcdb.analysis.power(*curves, repetitions=[5, 100])
    >>> bool(found["power"][0] < found["power"][1])
    True
    """
    if test not in stats.PAIRED_TESTS:
        msg = f"no test {test!r}.{did_you_mean(test, stats.PAIRED_TESTS)}"
        raise ArgumentError(msg)
    numbers = np.asarray(repetitions, int)
    if numbers.ndim != 1 or (numbers < 2).any():
        msg = f"repetitions is {repetitions!r}; expected several numbers, each at least 2"
        raise ArgumentError(msg)
    if not paired and test not in stats.UNPAIRED_TESTS:
        msg = f"test is {test!r}, which takes pairs; expected {' or '.join(stats.UNPAIRED_TESTS)}"
        raise ArgumentError(msg)
    check_share("alpha", alpha)
    one, other, names = two_sides(a, b, dim, paired)

    def drawn(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        if not paired:
            return _drawn_apart(x, y, numbers, test, studies, seed, alpha)
        d, _ = stats.differences(x, y)
        result = np.full((2, *d.shape[:-1], len(numbers)), np.nan)
        for cell in np.ndindex(d.shape[:-1]):
            result[(slice(None), *cell)] = stats.power_of_studies(
                d[cell], numbers, test, studies, seed, alpha
            )
        return tuple(result)

    result = over_repetitions(
        drawn,
        one,
        other,
        names=list(_POWER),
        core=core_dims(paired),
        out=[["repetitions"]] * 2,
        sizes={"repetitions": len(numbers)},
    ).assign_coords(repetitions=numbers)
    result.attrs = {"analysis": "power", "test": test, "alpha": alpha, "design": design(paired)}
    return described(named(result, names), a, _POWER, set(), b)


def _drawn_apart(
    x: np.ndarray, y: np.ndarray, numbers: np.ndarray, test: str, studies: int, seed: int,
    alpha: float,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Return the outputs of `power` for samples (..., repetition) that have no pairs."""
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (np.broadcast_to(z, (*shape, z.shape[-1])) for z in (x, y))
    result = np.full((2, *shape, len(numbers)), np.nan)
    for cell in np.ndindex(shape):
        result[(slice(None), *cell)] = stats.power_of_unpaired_studies(
            x[cell], y[cell], numbers, test, studies, seed, alpha
        )
    return tuple(result)


@takes_selections
def repetitions_for(
    a: xr.DataArray,
    b: xr.DataArray | None = None,
    power: float = 0.8,
    *,
    paired: bool = True,
    dim: str = "learner",
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Return how many repetitions a paired t-test needs to find a difference this often.

    From the mean and sd of the differences, by the noncentral t-distribution. Summaries lack the
    pairing, and so the sd of the differences: it is at most the sum of the two, which is taken, so
    that what they say is the most that it takes.

    Parameters
    ----------
    a, b
        Arrays with the dim ``repetition``, paired, or parts of a summary. Without `b`, every pair
        along `dim` of `a`.
    power
        How often it is to be found.
    paired
        As `compare` takes it; if not, so many repetitions of each side, for Welch's test.
    dim
        What is paired where there is no `b`.
    alpha
        The level of the test.
    confidence
        Of the interval of the mean difference, whose ends give ``repetitions_low`` and
        ``repetitions_high``.

    Returns
    -------
    xarray.Dataset
        ``repetitions`` with ``repetitions_low`` and ``repetitions_high``, infinite where the
        difference may be 0, and the standardised ``effect``. Of summaries the attribute ``spread``
        is ``"largest"``: fewer repetitions may do, and the effect may be larger.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name).sel(n=10) for name in ("LDC", "NMC")]
    ...     found = lcdb.analysis.repetitions_for(*curves)
    >>> bool(found["repetitions_low"] <= found["repetitions"] <= found["repetitions_high"])
    True
    """
    for name, share in {"power": power, "alpha": alpha, "confidence": confidence}.items():
        check_share(name, share)
    one, other, names = two_sides(a, b, dim, paired)

    def needed(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        if not paired:
            apart = stats.welch_mean(x, y, confidence)
            return stats.repetitions_of_moments(*apart[:3], apart.sd, power, alpha, apart.freedom)
        mean = stats.paired_mean(*stats.differences(x, y), confidence=confidence)
        return stats.repetitions_of_moments(mean.mean, mean.low, mean.high, mean.sd, power, alpha)

    core = core_dims(paired)
    result = over_repetitions(needed, one, other, names=list(_REPETITIONS), core=core)
    result.attrs = {"analysis": "repetitions_for", "power": power, "alpha": alpha}
    result.attrs["design"] = design(paired)
    return described(named(result, names), a, _REPETITIONS, set(), b)


def repetitions_of_summary(
    summary: xr.Dataset,
    b: xr.Dataset | None = None,
    power: float = 0.8,
    *,
    paired: bool = True,
    dim: str = "learner",
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> xr.Dataset:
    """Return `repetitions_for` from a summary: for the largest spread that differences may have."""
    for name, share in {"power": power, "alpha": alpha, "confidence": confidence}.items():
        check_share(name, share)
    if b is not None and not is_summary(b):
        msg = f"the second argument is a {type(b).__name__}; expected a part of a summary as well"
        raise ArgumentError(msg)
    second = None if b is None else _moments(b)
    one, other, names = two_sides(_moments(summary), second, dim, paired)

    def needed(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        mean = x[..., 0] - y[..., 0]
        sd = x[..., 1] + y[..., 1] if paired else np.hypot(x[..., 1], y[..., 1])
        count = np.minimum(x[..., 2], y[..., 2])
        count = np.where(count >= 2, count, np.nan)
        reach = student.isf(0.5 - 0.5 * confidence, count - 1) * sd / np.sqrt(count)
        return stats.repetitions_of_moments(mean, mean - reach, mean + reach, sd, power, alpha)

    core = core_dims(paired)
    result = over_repetitions(needed, one, other, names=list(_REPETITIONS), core=core)
    result.attrs = {"analysis": "repetitions_for", "power": power, "alpha": alpha}
    result.attrs["design"] = design(paired)
    if paired:
        result.attrs["spread"] = "largest"
    return described(named(result, names), one, _REPETITIONS, set(), second)


def _moments(summary: xr.Dataset) -> xr.DataArray:
    """Return mean, sd and count of each cell in the place of its repetitions."""
    parts = [summary[name].astype(float) for name in ("mean", "sd", "count")]
    found = xr.concat(parts, REPETITION, coords="minimal", compat="override")
    found.attrs = {"dataset_name": summary.attrs["dataset_name"]}
    found.name = None if summary["metric"].dims else str(summary["metric"].values)
    return found
