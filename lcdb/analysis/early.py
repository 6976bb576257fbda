"""What it costs, and what it saves, to choose a learner by early sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.apply import REPETITION, direction_of, need_dims, over_repetitions
from lcdb.analysis.pairs import check_along, check_share, described
from lcdb.analysis.selections import takes_selections
from lcdb.errors import ArgumentError

__all__ = ["halving", "lccv"]

_LONG_NAMES = {
    "chosen": "share of repetitions that choose the learner",
    "regret": "mean at the last size of the best learner - that of the chosen, averaged",
    "regret_high": "95 % quantile of that over repetitions",
    "right": "share of repetitions that choose a learner with the best mean at the last size",
    "rows": "training rows of all trials, averaged over repetitions",
    "rows_share": "rows over those of training all learners at the last size",
}
_SCALARS = [name for name in _LONG_NAMES if name != "chosen"]


@takes_selections
def halving(
    scores: xr.DataArray,
    budgets: Sequence[int] | None = None,
    keep: float = 0.5,
    *,
    direction: str | None = None,
) -> xr.Dataset:
    """Return how successive halving over sizes would have chosen, in every repetition.

    At each size all learners that are left are trained, and the best of them stay; the best at the
    last size is chosen. Each repetition is one run; what a choice is worth is the mean of the
    chosen learner at the last size.

    Parameters
    ----------
    scores
        An array with the dims ``learner``, ``n`` and ``repetition``; a score that is NaN is worse
        than any.
    budgets
        Sizes, of which the last is the one that counts; half of the last, a quarter of it and so
        on unless given, until one learner is left.
    keep
        Share of the learners that stay after a size, rounded up.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        By learner ``chosen``; ``regret`` with ``regret_high``; ``right``; ``rows`` and
        ``rows_share``. The attribute ``budgets`` lists the sizes.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     found = lcdb.analysis.halving(db.select("iris", **labels)[61])
    >>> found.attrs["budgets"], bool(found["rows_share"] < 1)
    ([28, 50, 105], True)
    """
    check_share("keep", keep)
    return _replayed(
        scores, budgets, direction, "halving", lambda x, sizes: stats.halve(x, sizes, keep)
    ).assign_attrs(keep=keep)


@takes_selections
def lccv(
    scores: xr.DataArray,
    budgets: Sequence[int] | None = None,
    *,
    direction: str | None = None,
) -> xr.Dataset:
    """Return how learning-curve cross-validation would have chosen, in every repetition.

    Learners come in the order of the dim ``learner``. The first is trained at all sizes; each other
    is stopped as soon as a straight line through its last two scores does not lead above the best
    so far, since curves that flatten out stay below it. After Mohr and van Rijn, each size being
    tried once.

    Parameters
    ----------
    scores
        As `halving` takes them.
    budgets
        Sizes, of which the last is the one that counts; as for `halving` unless given.
    direction
        ``"maximize"`` or ``"minimize"``; what the metric says unless given.

    Returns
    -------
    xarray.Dataset
        As `halving` returns it.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     found = lcdb.analysis.lccv(db.select("iris", **labels)[61], [20, 40, 105])
    >>> found["chosen"].dims, bool(found["regret"] >= 0)
    (('learner',), True)
    """
    return _replayed(scores, budgets, direction, "lccv", stats.stop_early)


def _replayed(
    scores: xr.DataArray,
    budgets: Sequence[int] | None,
    direction: str | None,
    name: str,
    choose: Callable[[np.ndarray, np.ndarray], stats.Chosen],
) -> xr.Dataset:
    need_dims(scores, "learner", "n", REPETITION)
    check_along(scores, "learner", otherwise="")
    way = direction_of(scores, direction)
    sign = 1.0 if way == "maximize" else -1.0
    sizes = _budgets(scores, budgets)

    def replay(x: np.ndarray) -> tuple[np.ndarray, ...]:
        x = sign * np.asarray(x, float)
        found = np.full((len(_SCALARS), *x.shape[:-3]), np.nan)
        chosen = np.full((*x.shape[:-3], x.shape[-3]), np.nan)
        for cell in np.ndindex(x.shape[:-3]):
            result = _outcome(x[cell], sizes, choose(x[cell], sizes))
            found[(slice(None), *cell)], chosen[cell] = result
        return (*found, chosen)

    result = over_repetitions(
        replay,
        scores.sel(n=sizes),
        names=[*_SCALARS, "chosen"],
        core=[["learner", "n", REPETITION]],
        out=[[] for _ in _SCALARS] + [["learner"]],
    )
    result.attrs = {"analysis": name, "direction": way, "budgets": [int(n) for n in sizes]}
    return described(result, scores, _LONG_NAMES, {"regret", "regret_high"})


def _outcome(
    x: np.ndarray, sizes: np.ndarray, chosen: stats.Chosen
) -> tuple[tuple[float, ...], np.ndarray]:
    """Return the scalars of one curve set, and the shares of the learners."""
    there = np.isfinite(x[:, -1])
    last = np.where(there, x[:, -1], 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    last = np.where(there.any(axis=1), last, -np.inf)
    if not np.isfinite(last).any():
        return (np.nan,) * len(_SCALARS), np.full(len(x), np.nan)
    regret = last.max() - last[chosen.learner]
    shares = np.bincount(chosen.learner, minlength=len(x)) / len(chosen.learner)
    rows = float(chosen.rows.mean())
    scalars = (
        *(float(regret.mean()), float(np.quantile(regret, 0.95)), float((regret <= 1e-12).mean())),
        *(rows, rows / (len(x) * float(sizes[-1]))),
    )
    return scalars, shares


def _budgets(scores: xr.DataArray, budgets: Sequence[int] | None) -> np.ndarray:
    """Return the sizes that are tried, ascending; the last is the one that counts."""
    known = scores["n"].values
    if budgets is not None:
        sizes = np.unique(np.asarray(budgets, int))
        absent = sorted(set(sizes.tolist()) - set(known.tolist()))
        if absent or not len(sizes):
            msg = f"budgets is {budgets!r}; expected sizes of the curves, which lack {absent}"
            raise ArgumentError(msg)
        return sizes
    dims = [dim for dim in scores.dims if dim != "n"]
    there = known[scores.isel(repetition=slice(0, 20)).notnull().any(dims).values]
    if not len(there):
        msg = "there are no values: the curves were not built"
        raise ArgumentError(msg)
    rounds = int(np.ceil(np.log2(max(scores.sizes["learner"], 2))))
    aims = float(there[-1]) / 2.0 ** np.arange(rounds + 1)
    places = [int(np.abs(np.log(there / aim)).argmin()) for aim in aims]
    return there[np.unique(places)]
