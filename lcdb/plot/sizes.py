"""The axis of training set sizes, with ticks that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SIZE_LABEL", "plain_log_axis", "size_axis"]

SIZE_LABEL = "training set size n"
#: So many ticks with a number fit below a panel.
FITTING = 8


def size_axis(ax: Axes, sizes: np.ndarray, log: bool | None = None, most: int = FITTING) -> None:
    """Label the axis of training set sizes and set its limits.

    Parameters
    ----------
    ax
        Where.
    sizes
        Those that are drawn.
    log
        Whether it is logarithmic; None where sizes span more than a decade.
    most
        How many numbers fit below it.
    """
    ax.set_xlabel(SIZE_LABEL)
    low, high = (float(np.min(sizes)), float(np.max(sizes))) if len(sizes) else (1.0, 10.0)
    if log is None:
        log = len(sizes) > 2 and high > 10 * max(low, 1.0)
    if log:
        plain_log_axis(ax, low, high, most)
    if low < high:  # with room for markers at the ends
        room = (high / low) ** 0.02 if log else 0.02 * (high - low)
        ax.set_xlim((low / room, high * room) if log else (low - room, high + room))


def plain_log_axis(ax: Axes, low: float, high: float, most: int = FITTING) -> None:
    """Make an axis from `low` to `high` logarithmic, with plain numbers at round places.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> _, ax = plt.subplots()
    >>> plain_log_axis(ax, 2, 105)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['2', '5', '10', '20', '50', '100']
    """
    from matplotlib.ticker import MaxNLocator

    ax.set_xscale("log")
    low = max(low, np.finfo(float).tiny)
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in (range(1, 10), (1, 2, 5), (1, 3), (1,)):  # the first that leaves room
        ticks = np.array([step * 10.0**power for power in decades for step in steps])
        ticks = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
        if len(ticks) <= most:
            break
    if len(ticks) < 3 and low < high:  # within a decade: what a linear axis would have
        ticks = np.asarray(MaxNLocator(5).tick_values(low, high))
        ticks = ticks[(ticks >= low) & (ticks <= high)]
    ax.set_xticks(ticks, [f"{tick:,.12g}" for tick in ticks])
    ax.minorticks_off()
