"""What is known at some sizes, at every n between them."""

from __future__ import annotations

import numpy as np

__all__ = ["between_sizes"]


def between_sizes(
    g: np.ndarray, sizes: np.ndarray, constant: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return every n from the first size that is known to the last, and g there, drawn as a line.

    A size counts for those around it. A plan with many small sizes and few large ones would say
    more of the small ones than one with every n does.

    Parameters
    ----------
    g
        Of each cell, NaN where there is nothing to say.
    sizes
        Their n, ascending.
    constant
        Cells without spread. Where only the last is such a cell, it stands for itself alone: at
        the largest n a fixed pool is the only training set there is, and one row fewer is enough
        for scores to vary.

    Examples
    --------
    >>> g, sizes = np.array([1.0, 1.0, 0.0]), np.array([1, 2, 4])
    >>> between_sizes(g, sizes)
    (array([1, 2, 3, 4]), array([1. , 1. , 0.5, 0. ]))
    >>> between_sizes(g, sizes, constant=np.array([False, False, True]))[1]
    array([1., 1., 1., 0.])
    """
    kept = np.isfinite(g)
    if not kept.any():
        return np.empty(0, int), np.empty(0)
    n, values = sizes[kept], g[kept].astype(float)
    every = np.arange(n[0], n[-1] + 1)
    alone = constant is not None and len(n) > 1 and np.array_equal(constant[kept][-2:], [0, 1])
    around = slice(None, -1) if alone else slice(None)
    drawn = np.interp(every, n[around], values[around])
    drawn[-1] = values[-1]
    return every, drawn
