"""A figure of what it costs to choose a learner by early sizes, and what it saves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xarray as xr

from lcdb.errors import ArgumentError, LabelError
from lcdb.plot.style import Style, metric_label, new_axes, plain, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["early_choices"]

_METHODS = {"halving": ("successive halving", "#0072B2"), "lccv": ("LCCV", "#D55E00")}
_MARKERS = "osD^vP*X"


def early_choices(*results: xr.Dataset, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw what each way of choosing loses by the mean score, against the rows that it trains on.

    A point for each result: its regret, averaged over repetitions, with a line up to what 95 % of
    repetitions stay within. Further down is better, further left is cheaper.

    Parameters
    ----------
    *results
        Of `lcdb.analysis.halving` or `lcdb.analysis.lccv`, of one set of curves.
    ax
        Where; new axes unless given.
    **style
        ``title`` and ``figsize``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = db.select("iris", sampling="random", split="varying", tuning="default")[61]
    ...     results = lcdb.analysis.halving(curves), lcdb.analysis.lccv(curves)
    >>> early_choices(*results).get_xlabel()
    'training rows of all trials (% of every learner at the last size)'
    """
    for result in results:
        about = result.attrs.get("analysis")
        if about not in _METHODS:
            msg = f"the result is of {about!r}; expected one of {', '.join(_METHODS)}"
            raise ArgumentError(msg)
        if extra := set(map(str, result.dims)) - {"learner"}:
            msg = f"the result has the dim {', '.join(sorted(extra))}; select one label of it first"
            raise LabelError(msg)
    if not results:
        msg = "there is no result; expected those of lcdb.analysis.halving or lcdb.analysis.lccv"
        raise ArgumentError(msg)
    from lcdb.plot.labels import broken, legend, room_above

    given = Style.of(style, "title", "figsize")
    ax = new_axes(ax, given, figsize=(6.4, 3.6))
    for place, result in enumerate(results):
        name, colour = _METHODS[result.attrs["analysis"]]
        share, regret, high = (
            float(result[variable]) for variable in ("rows_share", "regret", "regret_high")
        )
        ax.plot([100 * share] * 2, [regret, max(high, regret)], color=colour, lw=1.2, alpha=0.5)
        ax.plot(100 * share, regret, _MARKERS[place % len(_MARKERS)], color=colour, ms=7,
                label=_label(name, result))  # fmt: skip
    ax.axhline(0.0, color="0.4", linewidth=0.8)
    span(ax, x=(0.0,))
    metric = metric_label(results[0].attrs.get("metric"))
    xlabel = "training rows of all trials (% of every learner at the last size)"
    ax.set(xlabel=broken(room_above(ax), xlabel),
           ylabel=f"regret ({metric})")  # fmt: skip
    labels = [results[0].attrs.get("dataset_name", "")]
    labels += [
        results[0].coords[dim].item()
        for dim in ("sampling", "split", "tuning")
        if dim in results[0].coords
    ]
    title = " · ".join(plain(str(label)) for label in labels if label)
    given.caption(ax, title, "mean and 95 % of repetitions")
    legend(ax)
    return ax


def _label(name: str, result: xr.Dataset) -> str:
    """Return what tells a result from others, and how often it is right."""
    budgets = ", ".join(f"{n:g}" for n in result.attrs["budgets"])
    right = f"n = {budgets}: right in {100 * float(result['right']):.0f} %"
    if len(result.attrs["budgets"]) == 1:
        return f"every learner at the last size\n{right}"
    kept = f", keeping {100 * result.attrs['keep']:g} %" if "keep" in result.attrs else ""
    return f"{name}{kept}\n{right}"
