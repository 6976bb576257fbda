"""How often a study of few repetitions finds the difference of two learners that many show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import nct, norm
from scipy.stats import t as student

from lcdb.stats.paired import paired_mean, sign_test, signed_ranks_of, wilcoxon

__all__ = [
    "PAIRED_TESTS",
    "Needed",
    "Power",
    "power_of_studies",
    "power_of_t",
    "repetitions_for",
    "repetitions_of_moments",
    "studies_of",
]

#: By name: the p-values of rows of differences, and a number with the sign of each result.
PAIRED_TESTS = {
    "t": (lambda d: paired_mean(d).p, lambda d: d.mean(axis=-1)),
    "wilcoxon": (wilcoxon, signed_ranks_of),
    "sign": (sign_test, lambda d: np.sign(d).sum(axis=-1)),
}
#: Beyond so many repetitions Student's distribution is the normal one.
_MANY = 5000


class Power(NamedTuple):
    """Shares of studies, by the number of their repetitions; NaN where there is no difference."""

    #: That find the difference with its sign.
    found: np.ndarray
    #: That find one with the other sign.
    wrong_sign: np.ndarray


class Needed(NamedTuple):
    """Repetitions that a paired t-test needs: for the difference, for the ends of its interval."""

    repetitions: np.ndarray
    #: Were the difference the largest in its interval, and the smallest: infinite if that is 0.
    low: np.ndarray
    high: np.ndarray
    #: The difference over its standard deviation, signed.
    effect: np.ndarray


def power_of_studies(
    d: np.ndarray,
    repetitions: np.ndarray,
    test: str = "t",
    studies: int = 4000,
    seed: int = 0,
    alpha: float = 0.05,
) -> Power:
    """Return how often studies, drawn from many paired differences, find what all of them show.

    Parameters
    ----------
    d
        Differences (repetition); NaN are left out.
    repetitions
        How many each study has: drawn with replacement.
    test
        ``"t"``, ``"wilcoxon"`` or ``"sign"``, two-sided.
    studies, seed
        How many are drawn for each number of repetitions, and from which stream.
    alpha
        A study finds a difference if p <= alpha.

    Examples
    --------
    >>> d = np.random.default_rng(0).normal(0.5, 1.0, 1000)
    >>> power = power_of_studies(d, np.array([5, 100]))
    >>> bool(power.found[0] < 0.3), bool(power.found[1] > 0.99)
    (True, True)
    """
    return studies_of((d,), PAIRED_TESTS[test], repetitions, studies, seed, alpha)


def studies_of(
    samples: Sequence[np.ndarray],
    test: tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]],
    repetitions: np.ndarray,
    studies: int,
    seed: int,
    alpha: float,
) -> Power:
    """Return how often studies of one sample of differences, or of two samples, are significant.

    Parameters
    ----------
    samples
        What studies draw from, each with replacement; NaN are left out.
    test
        The p-values of rows of samples, and numbers with the signs of their results.
    repetitions, studies, seed, alpha
        As of `power_of_studies`.
    """
    p_of, sign_of = test
    whole = [np.asarray(z, float)[~np.isnan(z)] for z in samples]
    found, wrong = np.full((2, len(repetitions)), np.nan)
    enough = min(map(len, whole)) >= 2
    right = np.sign(sign_of(*(z[None] for z in whole))[0]) if enough else 0.0
    if right == 0:
        return Power(found, wrong)
    for i, count in enumerate(repetitions):
        rng = np.random.default_rng([seed, int(count)])
        drawn = [z[rng.integers(0, len(z), (studies, int(count)))] for z in whole]
        significant = p_of(*drawn) <= alpha
        sign = np.sign(sign_of(*drawn))
        found[i] = np.mean(significant & (sign == right))
        wrong[i] = np.mean(significant & (sign == -right))
    return Power(found, wrong)


def power_of_t(
    effect: np.ndarray,
    repetitions: np.ndarray,
    alpha: float = 0.05,
    freedom: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Return the power of the paired t-test for normal differences of mean effect and sd 1.

    Only findings of the right sign count. Degrees of freedom are `freedom` times repetitions - 1:
    1 of pairs, up to 2 of two samples.

    Examples
    --------
    >>> round(float(power_of_t(0.5, 34)), 2)
    0.81
    """
    count = np.asarray(repetitions, float)
    dof = np.asarray(freedom, float) * (count - 1)
    critical = student.isf(alpha / 2.0, dof)
    return nct.sf(critical, dof, np.abs(effect) * np.sqrt(count))


def repetitions_for(
    effect: np.ndarray,
    power: float = 0.8,
    alpha: float = 0.05,
    freedom: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Return the least number of repetitions that a t-test has this power with; inf for none.

    `freedom` is as for `power_of_t`.

    Examples
    --------
    >>> repetitions_for(np.array([0.5, 2.0, 0.0, np.inf])).tolist()
    [34.0, 5.0, inf, 2.0]
    """
    effect = np.abs(np.asarray(effect, float))
    safe = np.where(effect > 0, effect, 1.0)
    quantiles = norm.isf(alpha / 2.0), norm.isf(1.0 - power)
    normal = ((quantiles[0] + quantiles[1]) / safe) ** 2 + quantiles[0] ** 2 / 2.0
    few, enough = np.full(effect.shape, 1.0), np.full(effect.shape, 2.0 * _MANY)
    searched = np.where(np.isfinite(effect) & (normal <= _MANY), safe, 1.0)
    while (enough - few > 1).any():
        middle = np.maximum(np.floor((few + enough) / 2), 2)
        # Beyond 40 standard errors the noncentral t has nothing left to be computed.
        capped = np.minimum(searched, 40.0 / np.sqrt(middle))
        reached = power_of_t(capped, middle, alpha, freedom) >= power
        enough, few = np.where(reached, middle, enough), np.where(reached, few, middle)
    result = np.where(normal <= _MANY, enough, np.ceil(normal))
    result = np.where(np.isposinf(effect), 2.0, result)
    return np.where(np.isnan(effect), np.nan, np.where(effect == 0, np.inf, result))


def repetitions_of_moments(
    mean: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    sd: np.ndarray,
    power: float = 0.8,
    alpha: float = 0.05,
    freedom: np.ndarray | float = 1.0,
) -> Needed:
    """Return what a t-test needs to find a mean difference, from its interval and spread.

    Parameters
    ----------
    mean, low, high
        The mean difference and the ends of its interval.
    sd
        The standard deviation of the differences; where it is 0, two repetitions will do.
    power
        How often the difference is to be found.
    alpha
        The level of the test.
    freedom
        As for `power_of_t`.

    Examples
    --------
    >>> needed = repetitions_of_moments(*np.array([0.1, 0.05, 0.15, 0.2]))
    >>> [float(number) for number in needed]
    [34.0, 16.0, 128.0, 0.5]
    """
    mean, low, high, sd = (np.asarray(value, float) for value in (mean, low, high, sd))
    spread = np.where(sd == 0, 1.0, sd)

    def effect(size: np.ndarray) -> np.ndarray:
        size = np.abs(size)
        return np.where((sd == 0) & (size > 0), np.inf, size / spread)

    least = np.where(low * high <= 0, 0.0, np.minimum(np.abs(low), np.abs(high)))
    largest = np.maximum(np.abs(low), np.abs(high))
    return Needed(
        repetitions_for(effect(mean), power, alpha, freedom),
        repetitions_for(effect(largest), power, alpha, freedom),
        repetitions_for(effect(least), power, alpha, freedom),
        np.sign(mean) * effect(mean),
    )
