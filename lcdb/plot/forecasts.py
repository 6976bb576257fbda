"""A curve and what is predicted beyond it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.analysis.apply import REPETITION, need_dims
from lcdb.curves.calibration import HONEST
from lcdb.errors import LabelError
from lcdb.plot.sizes import plain_log_axis
from lcdb.plot.style import Style, context, metric_label, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["forecast"]

_LEVELS = (0.9, 0.8, 0.5)


def forecast(
    curve: xr.DataArray,
    largest: float | None = None,
    last: int | None = None,
    target: float | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw a curve, the fan of its forecast, and where the forecast stops being honest.

    Parameters
    ----------
    curve
        One curve: the dim ``n``, and ``repetition`` for the interval of a single training set.
    largest
        How far to predict; five times the last size unless given.
    last
        The last size that the forecast sees; what came later is drawn as open circles.
    target
        A score to mark with a line.
    ax
        Where; new axes unless given.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curve = db.curve("iris", "QDC", sampling="random", split="varying")
    ...     ax = lcdb.plot.forecast(curve, last=40, largest=200)
    >>> ax.get_xscale()
    'log'
    """
    need_dims(curve, "n")
    if set(curve.dims) - {"n", REPETITION}:
        msg = f"the array has dims {curve.dims}; expected one curve: select the other labels first"
        raise LabelError(msg)
    from lcdb.plot.labels import legend

    given = Style.of(style)
    ax = new_axes(ax, given)
    middle = curve.mean(REPETITION, keep_attrs=True) if REPETITION in curve.dims else curve
    middle = middle.dropna("n")
    sizes = middle["n"].values
    seen = sizes if last is None else sizes[sizes <= last]
    end = float(seen[-1])
    reach = largest or 5 * end
    ahead = np.unique(np.round(np.geomspace(end + 1, max(reach, end + 2), 80)))
    learner = str(curve.coords["learner"].item()) if "learner" in curve.coords else "curve"
    if given.label is None:
        given = replace(given, label="forecast of the mean")
    look = given.looks([learner], ax)[learner]
    colour = look.color
    for level, shade in zip(_LEVELS, (0.15, 0.18, 0.25), strict=True):
        said = analysis.forecast(curve, ahead, level=level, last=last)
        ax.fill_between(ahead, said.mean_low, said.mean_high, color=colour, alpha=shade, lw=0)
        if level == _LEVELS[0]:
            look.plot(ax, ahead, said["mean"], linewidth=1.6)
            single = (said.single_low, said.single_high)
            for k, side in enumerate(single):
                if np.isfinite(side).all():
                    name = "90 % of single training sets" if k == 0 else None
                    ax.plot(ahead, side, color=colour, linewidth=0.9, linestyle=look.companion(":"),
                            label=name)  # fmt: skip
    ax.plot(seen, middle.sel(n=seen), "o", color=colour, markersize=3.5, label="seen")
    later = sizes[sizes > end]
    if later.size:
        truth = middle.sel(n=later)
        ax.plot(later, truth, "o", mfc="none", color="black", markersize=3.5, label="came later")
    if target is not None:
        ax.axhline(target, color="0.4", linewidth=0.8, linestyle="--")
    if reach > HONEST * end:
        label = f"beyond {HONEST:g} times the last\nsize: not calibrated"
        ax.axvspan(HONEST * end, reach, color="0.5", alpha=0.15, lw=0, label=label)
    plain_log_axis(ax)
    ax.set(xlabel="training set size n", ylabel=metric_label(curve.name))
    given.caption(ax, " · ".join(filter(None, (learner if "learner" in curve.coords else "",
                                               context(curve)))))  # fmt: skip
    legend(ax)
    return ax
