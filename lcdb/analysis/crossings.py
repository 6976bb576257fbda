"""From which size on one learner is better than another, and where that is open."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims, over_repetitions
from lcdb.analysis.pairs import check_share, core_dims, described, design, named, two_sides
from lcdb.analysis.selections import takes_selections

__all__ = ["crossing"]

_LONG_NAMES = {
    "difference": "first - second",
    "low": "lower end of a band that holds at all sizes",
    "high": "upper end of a band that holds at all sizes",
    "order": "1: first is better, -1: second is, 0: open",
    "changes": "how often the settled order changes",
    "open_low": "last size before the last change of order",
    "open_high": "first size after the last change of order",
    "winner": "the order at the last size where it is settled",
    "winner_from": "size from which on no other order is settled",
    "critical": "standard errors from the difference to the ends of the band",
}
_CURVES = ("difference", "low", "high", "order")


@takes_selections
def crossing(
    a: xr.DataArray,
    b: xr.DataArray | None = None,
    at: str | float = "mean",
    *,
    paired: bool = True,
    dim: str = "learner",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    direction: str | None = None,
) -> xr.Dataset:
    """Return where along n the order of two learners is settled, and where it turns.

    A band around the differences holds at all sizes at once (max-t over a joint bootstrap of
    repetitions). Where it leaves 0 out the order is settled; the curves cross between a size
    settled one way and the next settled the other way.

    Parameters
    ----------
    a, b
        Arrays with the dims ``n`` and ``repetition``, paired by repetition. Without `b`, every pair
        along `dim` of `a`.
    at
        ``"mean"``, or the quantile that is compared.
    paired
        As `compare` takes it; if not, repetitions of each side are resampled by themselves.
    dim
        What is paired where there is no `b`.
    resamples, seed
        Of the bootstrap.
    confidence
        Of the whole band.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        Along n ``difference`` with ``low`` and ``high``, and ``order``: 1 where the first is
        better, -1 where the second is, 0 where that is open. Of the whole curve ``changes`` of
        order; ``open_low`` and ``open_high``, the sizes between which the last of them lies (NaN:
        there is none); the ``winner``, and ``winner_from``, the size from which on it is settled
        and never the other way again.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     found = lcdb.analysis.crossing(db.curve("iris", "QDC"), db.curve("iris", "LDC"))
    >>> int(found["changes"]), float(found["winner"])
    (0, -1.0)
    """
    quantile = None if at == "mean" else float(at)
    for share in [confidence] if quantile is None else [confidence, quantile]:
        check_share("a quantile or confidence", share)
    one, other, names = two_sides(a, b, dim, paired)
    need_dims(one, "n", REPETITION)
    way = direction_of(a, direction)
    sign = 1.0 if way == "maximize" else -1.0
    sizes = one["n"].values.astype(float)

    def bands(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
        curves = np.full((len(_CURVES), *x.shape[:-1]), np.nan)
        whole = np.full((len(_LONG_NAMES) - len(_CURVES), *x.shape[:-2]), np.nan)
        for cell in np.ndindex(x.shape[:-2]):
            band = stats.difference_band(
                x[cell], y[cell], quantile, resamples, seed, confidence, paired=paired
            )
            order = sign * ((band.low > 0) * 1.0 - (band.high < 0) * 1.0)
            order = np.where(np.isnan(band.low), np.nan, order)
            curves[(slice(None), *cell)] = (*band[:3], order)
            whole[(slice(None), *cell)] = (*_turns(band, order, sizes), band.critical)
        return (*curves, *whole)

    result = over_repetitions(
        bands,
        one,
        other,
        names=list(_LONG_NAMES),
        core=core_dims(paired, "n"),
        out=[["n"]] * len(_CURVES) + [[]] * (len(_LONG_NAMES) - len(_CURVES)),
    )
    result.attrs = {"analysis": "crossing", "direction": way, "confidence": confidence, "at": at}
    result.attrs["design"] = design(paired)
    return described(named(result, names), a, _LONG_NAMES, {"difference", "low", "high"}, b)


def _turns(band: stats.Band, order: np.ndarray, sizes: np.ndarray) -> tuple[float, ...]:
    """Return changes, open_low, open_high, winner and winner_from of one curve."""
    if np.isnan(order).all():
        return (np.nan,) * 5
    change = stats.last_change(band.low, band.high)
    places = np.append(sizes, np.nan)  # place -1 is nowhere
    settled = np.flatnonzero(np.nan_to_num(order))
    if not settled.size:
        return (0.0, np.nan, np.nan, 0.0, np.nan)
    start = places[change.after] if change.changes else sizes[settled[0]]
    ends = (places[change.before], places[change.after])
    return (change.changes, *ends, order[settled[-1]], start)
