"""Standard errors and intervals of any statistic, by resampling repetitions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["bootstrap"]


def bootstrap(
    x: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    resamples: int = 1000,
    confidence: float = 0.95,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the standard error of a statistic and the ends of its percentile interval.

    Repetitions (last axis) are resampled jointly for all distributions, so that what is paired
    stays paired.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(5.0, 2.0, 400)
    >>> error, low, high = bootstrap(x, lambda s: s.mean(axis=-1), rng)
    >>> bool(abs(error - 0.1) < 0.01), bool(low < 5.0 < high)
    (True, True)
    """
    x = np.asarray(x)
    size = x.shape[-1]
    drawn = np.array([statistic(x[..., rng.integers(0, size, size)]) for _ in range(resamples)])
    tail = 0.5 * (1.0 - confidence)
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return drawn.std(axis=0, ddof=1), low, high
