"""Whether learning curves are well-behaved: monotone, convex, without dips and peaks."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims, over_repetitions
from lcdb.analysis.pairs import described
from lcdb.analysis.selections import takes_selections
from lcdb.errors import ArgumentError, did_you_mean

__all__ = ["shape"]

_LONG_NAMES = {
    "monotone": "no rise of the mean loss between two sizes is significant",
    "rise_p": "smallest p-value of a rise, corrected for all pairs of sizes",
    "rise": "size of that rise",
    "rise_from": "size that it starts at",
    "rise_to": "size that it ends at",
    "dipping": "the last size is significantly worse than an earlier one",
    "dip_p": "smallest p-value of a rise to the last size, corrected for all of them",
    "dip": "size of that rise",
    "dip_from": "size that it starts at",
    "convex": "no mean lies significantly above a chord",
    "bump_p": "smallest p-value of a mean above a chord, corrected for all triples of sizes",
    "bump": "its height above the chord",
    "bump_left": "size where the chord starts",
    "bump_n": "size that lies above it",
    "bump_right": "size where the chord ends",
    "peaking": "the largest violation of a chord, its rise and its fall are significant",
    "peak_p": "largest of their three p-values, corrected",
    "peak": "height above the chord",
    "peak_left": "size where the chord starts",
    "peak_n": "size of the peak",
    "peak_right": "size where the chord ends",
    "range": "largest mean - smallest mean",
    "flat": "range at most 5 % of the reference range",
    "sizes": "sizes that were tested",
    "repetitions": "repetitions that have all of them",
}
_NAMES = [name for name in _LONG_NAMES if name != "flat"]
#: Ways to correct p-values for all tests of a curve.
_CORRECTIONS = ("holm", "max-t")
_IN_UNITS = {"rise", "dip", "bump", "peak", "range"}


@takes_selections
def shape(
    scores: xr.DataArray,
    *,
    reference_range: float | xr.DataArray | None = None,
    at_most: int = 400,
    alpha: float = 0.05,
    correction: str = "holm",
    resamples: int = 2000,
    seed: int = 0,
    direction: str | None = None,
) -> xr.Dataset:
    """Return whether curves are monotone, convex, dipping, peaking or flat, as LCDB 1.1 asks.

    Scores are taken as losses: an accuracy is turned over. Every pair of sizes i < j is tested for
    a rise of the mean, and every triple h < i < j for a mean above the chord from h to j (linear in
    n), by one-sided paired t-tests; the p-values are corrected for all pairs, or all triples, of
    the curve. A curve that is not found to misbehave may yet do so: by less than these repetitions
    can show.

    Parameters
    ----------
    scores
        An array with dims ``n`` and ``repetition``.
    reference_range
        A curve is flat if its range is at most 5 % of this: the range of all learners' means where
        there is the dim ``learner``, unless given.
    at_most
        Of more sizes, so many are tested, evenly spread on a logarithmic axis.
    alpha
        The level of the corrected tests.
    correction
        ``"holm"``, as in LCDB 1.1 (Bonferroni for peaks), whatever the tests have to do with each
        other; or ``"max-t"``, the largest t of a bootstrap of repetitions, which knows how they
        hang together and so finds more at the same level.
    resamples, seed
        Of that bootstrap.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        Without ``n`` and ``repetition``. 1, 0 or NaN: ``monotone``, ``dipping`` (the last size is
        worse than an earlier one), ``convex``, ``peaking``, ``flat``. Of the most significant
        violation of each kind its corrected p-value, size and place: ``rise_p``, ``rise``,
        ``rise_from``, ``rise_to`` and so on; places are NaN where nothing rises at all.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     found = lcdb.analysis.shape(db.curve("iris", "QDC"))
    >>> bool(found["monotone"]), int(found["sizes"])
    (False, 15)
    """
    need_dims(scores, "n", REPETITION)
    way = direction_of(scores, direction)
    if not 0 < alpha < 1:
        msg = f"alpha is {alpha!r}; expected a level between 0 and 1, as 0.05"
        raise ArgumentError(msg)
    if at_most < 3:
        msg = f"at_most is {at_most!r}; expected at least 3 sizes"
        raise ArgumentError(msg)
    if correction not in _CORRECTIONS:
        msg = f"no correction {correction!r}.{did_you_mean(correction, _CORRECTIONS)}"
        raise ArgumentError(msg)
    if resamples < 1:
        msg = f"resamples is {resamples!r}; expected at least 1, better 2000"
        raise ArgumentError(msg)
    drawn = (resamples, seed) if correction == "max-t" else (0, 0)
    sign = 1.0 if way == "minimize" else -1.0
    sizes = scores["n"].values

    def of_curves(x: np.ndarray) -> tuple[np.ndarray, ...]:
        rows = sign * np.asarray(x, float).reshape(-1, *x.shape[-2:])
        table = np.array([_row(row, sizes, at_most, alpha, drawn) for row in rows])
        return tuple(table.reshape(-1, len(_NAMES)).T.reshape(-1, *x.shape[:-2]))

    core = [["n", REPETITION]]
    result = over_repetitions(of_curves, scores, names=_NAMES, core=core)
    if reference_range is None:
        reference_range = _range_of_all(scores)
    flat = result["range"] <= 0.05 * reference_range
    result["flat"] = flat.where(result["range"].notnull() & np.isfinite(reference_range))
    result.attrs = {"analysis": "shape", "direction": way, "alpha": alpha, "correction": correction}
    return described(result, scores, _LONG_NAMES, _IN_UNITS)


def _row(
    losses: np.ndarray, sizes: np.ndarray, at_most: int, alpha: float, drawn: tuple[int, int]
) -> list[float]:
    """Return the values of `_NAMES` for one curve (n, repetition) of losses."""
    there = np.flatnonzero(~np.isnan(losses).all(axis=-1))
    kept = there[stats.thinned(sizes[there], at_most)] if there.size else there
    n = sizes[kept].astype(float)
    found = stats.shape_of(losses[kept], n, *drawn)
    if found is None:
        return [np.nan] * len(_NAMES)
    places = np.append(n, np.nan)  # place -1 is nowhere
    rise, dip, bump, peak = found[:4]
    three = max(peak.p, peak.rise_p, peak.fall_p)
    complete = ~np.isnan(losses[kept]).any(axis=0)
    means = losses[kept][:, complete].mean(axis=-1)
    return [
        *(rise.p > alpha, rise.p, rise.size, places[rise.early], places[rise.late]),
        *(dip.p <= alpha, dip.p, dip.size, places[dip.early]),
        *(bump.p > alpha, bump.p, bump.size),
        *(places[i] for i in (bump.left, bump.middle, bump.right)),
        *(three <= alpha, three, peak.size),
        *(places[i] for i in (peak.left, peak.middle, peak.right)),
        *(np.ptp(means), len(kept), found.repetitions),
    ]


def _range_of_all(scores: xr.DataArray) -> xr.DataArray | float:
    """Return the range of the means of all learners, NaN for a lone curve."""
    if "learner" not in scores.dims:
        return np.nan
    means = scores.mean(REPETITION)
    return means.max(["learner", "n"]) - means.min(["learner", "n"])
