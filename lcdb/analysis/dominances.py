"""Which learners are better at nearly every quantile, and what of that is settled."""

from __future__ import annotations

import itertools

import numpy as np
import xarray as xr
from scipy.stats import norm

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims
from lcdb.analysis.pairs import check_along, design
from lcdb.analysis.selections import takes_selections

__all__ = ["dominance"]


@takes_selections
def dominance(
    scores: xr.DataArray,
    seed: int = 0,
    bootstraps: int = 1000,
    direction: str | None = None,
    *,
    paired: bool = True,
) -> xr.Dataset:
    """Return which learners almost stochastically dominate which, in every cell.

    A dominates B if at nearly every probability the quantile of A is the better one: whatever one
    thinks of risk, A is the choice.

    Parameters
    ----------
    scores
        An array with dims ``learner`` and ``repetition``, and others such as ``n``: a cell takes
        some 40 ms for each pair of learners with 1,000 repetitions and bootstraps.
    seed, bootstraps
        Of the resampling of repetitions.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.
    paired
        Whether all learners see the same rows in a repetition, which is checked by their labels.
        If not, repetitions of each are resampled by themselves, and the t-test is Welch's.

    Returns
    -------
    xarray.Dataset
        With dims ``learner`` (A) and ``other`` (B) and those of the cells: ``violation`` of the
        order and its ``sd``; ``dominates``, that violation + 1.645 sd is below 0.2; ``p`` of the
        hypothesis that it is not below 0.2 (normal approximation) or the mean is no better
        (paired t-test), whichever is larger; and ``settled``, that p is at most 5 % after Holm's
        correction for all pairs and cells.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="fixed", tuning="default")
    ...     cells = db.select("iris", learner=["NMC", "LDC"], **labels)[61].sel(n=[20, 100])
    ...     found = lcdb.analysis.dominance(cells, bootstraps=100)
    >>> found["settled"].dims, found["settled"].sel(learner="LDC", other="NMC").values.tolist()
    (('learner', 'other', 'n'), [True, True])
    """
    need_dims(scores, "learner", REPETITION)
    check_along(scores, "learner", paired)
    way = direction_of(scores, direction)
    outer = [str(dim) for dim in scores.dims if dim not in ("learner", REPETITION)]
    x = scores.transpose(*outer, "learner", REPETITION).values
    rng = np.random.default_rng(seed)
    size = scores.sizes["learner"]
    found = np.full((3, size, size, *x.shape[:-2]), np.nan)
    for cell in np.ndindex(x.shape[:-2]):
        for i, j in itertools.permutations(range(size), 2):
            found[(slice(None), i, j, *cell)] = stats.almost_dominates(
                x[cell][i], x[cell][j], rng, way, bootstraps, paired=paired
            )
    violation, sd, dominates = found
    with np.errstate(divide="ignore", invalid="ignore"):
        p = norm.cdf((violation - stats.THRESHOLD) / sd)
    p = np.where(sd == 0, np.where(violation < stats.THRESHOLD, 0.0, 1.0), p)
    # Of samples that differ in few repetitions the bootstrap says nothing: their means decide.
    p = np.where(np.isnan(violation), np.nan, np.maximum(p, _no_better_mean(x, way, paired)))
    settled = np.nan_to_num(stats.holm(p.ravel()), nan=1.0).reshape(p.shape) <= _LEVEL
    learners = scores["learner"].values
    dims = ("learner", "other", *outer)
    kept = {dim: scores[dim].variable for dim in outer if dim in scores.coords}
    return xr.Dataset(
        {
            "violation": (dims, violation, {"long_name": "share of the order that is violated"}),
            "sd": (dims, sd, {"long_name": "its standard deviation"}),
            "dominates": (dims, dominates == 1, {"long_name": "learner dominates other"}),
            "p": (dims, p, {"long_name": "p-value of no dominance"}),
            "settled": (dims, settled, {"long_name": "dominance, Holm over all pairs and cells"}),
        },
        {"learner": learners, "other": learners, **kept},
        {"direction": way, "design": design(paired)},
    )


_LEVEL = 0.05


def _no_better_mean(x: np.ndarray, way: str, paired: bool) -> np.ndarray:
    """Return one-sided p-values (learner, other, cell...) of a mean that is no better."""
    a, b = x[..., :, None, :], x[..., None, :, :]
    mean: stats.PairedMean | stats.WelchMean
    if paired:
        mean = stats.paired_mean(*stats.differences(a, b))
    else:
        mean = stats.welch_mean(a, b)
    better = mean.mean > 0 if way == "maximize" else mean.mean < 0
    p = np.where(better, mean.p / 2, 1 - mean.p / 2)
    return np.moveaxis(p, (-2, -1), (0, 1))
