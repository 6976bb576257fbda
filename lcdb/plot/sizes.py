"""The axis of training set sizes, with ticks that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SIZE_LABEL", "plain_log_axis", "size_axis"]

SIZE_LABEL = "training set size n"


def size_axis(ax: Axes, sizes: np.ndarray, log: bool | None = None) -> None:
    """Label the axis of training set sizes; its limits follow what is drawn.

    Parameters
    ----------
    ax
        Where.
    sizes
        Those that are drawn.
    log
        Whether it is logarithmic; None where sizes span more than a decade.
    """
    ax.set_xlabel(SIZE_LABEL)
    low, high = (float(np.min(sizes)), float(np.max(sizes))) if len(sizes) else (1.0, 10.0)
    if log is None:
        log = len(sizes) > 2 and high > 10 * max(low, 1.0)
    ax.set_xmargin(0.02)  # room for markers at the ends
    if log:
        plain_log_axis(ax)


def plain_log_axis(ax: Axes) -> None:
    """Make an axis of sizes logarithmic, with plain numbers at round places.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> _, ax = plt.subplots()
    >>> _ = ax.plot([2, 105], [0, 1])
    >>> plain_log_axis(ax)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['2', '5', '10', '20', '50', '100']
    """
    from matplotlib.ticker import FuncFormatter, NullLocator

    from lcdb.plot.labels import RoundNumbers, number

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(RoundNumbers())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: number(tick)))
    ax.xaxis.set_minor_locator(NullLocator())
