"""Performance profiles: for each method, the share of problems within a distance of the best.

Distances come from Welch tests (after Recht 2018), from Mann-Whitney tests, from gaps in score, or
from Dolan and Moré's ratios. Arrays have methods on the first axis and problems on the second.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, log_ndtr
from scipy.stats import rankdata
from scipy.stats import t as student

__all__ = [
    "gap_distance",
    "mann_whitney_distance",
    "profile",
    "ratio_distance",
    "welch_distance",
    "welch_distance_of_samples",
]


def _log_student_tail(t: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return ln P(T <= -t) for t >= 0, also where the probability underflows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = student.logcdf(-t, df)
        # P(T <= -t) is half the regularised incomplete beta function of x = df / (df + t²).
        x = df / (df + t * t)
        a, b = 0.5 * df, 0.5
        head = a * np.log(x) + b * np.log1p(-x) - np.log(2.0 * a) - betaln(a, b)
        far = head + np.log(_beta_fraction(a, b, x))
    return np.where(np.isfinite(log_p) & (log_p > -600.0), log_p, far)


def _beta_fraction(a: np.ndarray, b: float, x: np.ndarray, terms: int = 200) -> np.ndarray:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""
    c = np.ones_like(x)
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d.copy()
    for m in range(1, terms + 1):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for step in (even, odd):
            d = 1.0 / (1.0 + step * d)
            c = 1.0 + step / c
            value = value * (c * d)
    return value


def welch_distance(
    mean: ArrayLike, sd: ArrayLike, trials: ArrayLike, direction: str = "maximize"
) -> np.ndarray:
    """Return -ln p of a one-sided Welch test that a method is as good as the best on a problem.

    All methods tied at the best mean have distance 0. p is computed in log space, so that a
    distance is finite where p underflows; it is infinite where nothing varies and means differ.

    Parameters
    ----------
    mean, sd
        Arrays (method, problem); `sd` has ddof 1.
    trials
        Number of trials, a scalar or an array that broadcasts against them.
    direction
        ``"maximize"`` or ``"minimize"``.

    Examples
    --------
    >>> welch_distance([[10.0], [9.0], [10.0]], [[1.0], [1.0], [2.0]], 20).round(2).tolist()
    [[0.0], [6.48], [0.0]]
    """
    mean = _signed(mean, direction)
    sd = np.broadcast_to(np.asarray(sd, float), mean.shape)
    trials = np.broadcast_to(np.asarray(trials, float), mean.shape)
    best = np.nanargmax(mean, axis=0)
    problems = np.arange(mean.shape[1])
    own = sd**2 / trials
    other = own[best, problems]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean[best, problems] - mean) / np.sqrt(own + other)
        spread = own**2 / (trials - 1) + other**2 / (trials[best, problems] - 1)
        df = (own + other) ** 2 / spread
    distance = np.where(own + other > 0, -_log_student_tail(t, df), np.inf)
    distance = np.where(np.isnan(mean), np.nan, distance)
    return np.where(mean == mean[best, problems], 0.0, distance)


def welch_distance_of_samples(x: ArrayLike, direction: str = "maximize") -> np.ndarray:
    """Return the Welch distances of raw samples (method, problem, trial).

    Examples
    --------
    >>> welch_distance_of_samples([[[3.0, 4.0, 5.0]], [[3.0, 4.0, 5.0]]]).tolist()
    [[0.0], [0.0]]
    """
    x = np.asarray(x, float)
    return welch_distance(x.mean(axis=-1), x.std(axis=-1, ddof=1), x.shape[-1], direction)


def mann_whitney_distance(x: ArrayLike, direction: str = "maximize") -> np.ndarray:
    """Return -ln p of a one-sided Mann-Whitney test against the method with the best mean.

    Midranks, tie-corrected normal approximation without continuity correction, in log space.

    Examples
    --------
    >>> worse, better = np.arange(30.0), np.arange(30.0) + 10
    >>> mann_whitney_distance([[worse], [better]]).round(1).tolist()
    [[9.1], [0.0]]
    """
    x = _signed(x, direction)
    mean = x.mean(axis=-1)
    best = np.nanargmax(mean, axis=0)
    problems = np.arange(x.shape[1])
    size = x.shape[-1]
    rival = np.broadcast_to(x[best, problems], x.shape)
    both = np.concatenate([x, rival], axis=-1)
    ranks = rankdata(both, axis=-1)
    u = ranks[..., :size].sum(axis=-1) - size * (size + 1) / 2
    # The variance of the midranks carries the correction for ties.
    variance = size * size / (2 * size - 1) * ranks.var(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = -log_ndtr((u - size * size / 2) / np.sqrt(variance))
    return np.where(mean == mean[best, problems], 0.0, distance)


def gap_distance(mean: ArrayLike, direction: str = "maximize") -> np.ndarray:
    """Return how far each mean is from the best one on its problem.

    Examples
    --------
    >>> gap_distance([[0.75, 0.5], [0.5, 0.625]]).tolist()
    [[0.0, 0.125], [0.25, 0.0]]
    """
    mean = _signed(mean, direction)
    return np.nanmax(mean, axis=0) - mean


def ratio_distance(cost: ArrayLike) -> np.ndarray:
    """Return Dolan and Moré's ratios minus 1: cost over the least cost on the problem.

    Costs are positive and smaller is better; a method that failed has NaN or infinite cost and is
    never within any ratio.

    Examples
    --------
    >>> ratio_distance([[1.0, 4.0], [2.0, np.nan]]).tolist()
    [[0.0, 0.0], [1.0, inf]]
    """
    cost = np.asarray(cost, float)
    cost = np.where(np.isnan(cost), np.inf, cost)
    if (cost <= 0).any():
        msg = "Dolan-Moré ratios need positive costs; use gap_distance for scores"
        raise ValueError(msg)
    with np.errstate(invalid="ignore"):
        ratio = cost / cost.min(axis=0)
    return np.where(np.isfinite(cost), ratio - 1.0, np.inf)


def profile(distance: ArrayLike, tau: ArrayLike) -> np.ndarray:
    """Return ρ_m(τ), the share of problems on which method m has a distance below τ.

    Parameters
    ----------
    distance
        Array (method, problem); NaN (no result) is never below anything.
    tau
        Positive thresholds.

    Returns
    -------
    Array (method, tau), to be drawn as steps.

    Examples
    --------
    >>> profile([[0.0, 2.0], [1.0, 0.0]], [0.5, 1.5, 2.5]).tolist()
    [[0.5, 0.5, 1.0], [0.5, 1.0, 1.0]]
    """
    distance = np.asarray(distance, float)
    tau = np.asarray(tau, float)
    if (tau <= 0).any():
        msg = "a profile is defined for thresholds above 0"
        raise ValueError(msg)
    ordered = np.sort(distance, axis=1)  # NaN last
    below = [np.searchsorted(row, tau, side="left") for row in ordered]
    return np.array(below, float) / distance.shape[1]


def _signed(x: ArrayLike, direction: str) -> np.ndarray:
    if direction not in ("maximize", "minimize"):
        msg = f"direction is {direction!r}; expected 'maximize' or 'minimize'"
        raise ValueError(msg)
    x = np.asarray(x, float)
    return x if direction == "maximize" else -x
