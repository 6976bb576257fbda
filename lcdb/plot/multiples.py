"""Small multiples: a panel for each curve, in front of all the others in grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from lcdb.analysis.of_summaries import is_summary
from lcdb.errors import LabelError
from lcdb.plot.curves import Curves, Fan, draw_curve
from lcdb.plot.sizes import SIZE_LABEL, size_axis
from lcdb.plot.style import Style, context, metric_label, need_matplotlib, plain

__all__ = ["combinations", "grid_of_panels", "heading", "small_multiples"]

_INNER = ("learner", "n", "repetition", "q", "statistic", "way", "number", "comparison", "pair")
_FAN = (0.05, 0.25, 0.75, 0.95)


def small_multiples(
    scores: xr.DataArray | xr.Dataset | Mapping[Any, xr.DataArray] | Mapping[Any, xr.Dataset],
    quantiles: Sequence[float] = _FAN,
    width: float | None = None,
    columns: int = 5,
    log: bool = False,
    **style: Any,
) -> np.ndarray:
    """Draw each learner's curve in a panel of its own, the means of the others in grey behind it.

    Parameters
    ----------
    scores
        As `quantile_curves` takes them, or a dict of such by dataset; with further dims, such as
        ``split``, there is a row of panels for each of their labels.
    quantiles
        Probabilities, any number of them: of four the outer and the inner two are shades.
    width
        Of a band of mean ± width·sd; None for no band.
    columns
        Panels beside each other, at most.
    log
        Whether the axis of sizes is logarithmic.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Returns
    -------
    numpy.ndarray
        The axes of the panels, in their order.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     panels = lcdb.plot.small_multiples(db.select("iris", **labels), log=True)
    >>> [ax.get_title(loc="left") for ax in panels]
    ['NMC', 'LDC', 'QDC', 'NNC']
    """
    given = Style.of(style)
    groups = combinations(scores)
    curves = {group: Curves.of(part, quantiles) for group, part in groups.items()}
    names = [(group, name) for group, of_group in curves.items() for name in of_group.names]
    widest = max(len(of_group.names) for of_group in curves.values())
    columns = min(columns, widest)
    if len(groups) > 1 and widest % columns:
        columns = widest  # a group is a row
    axes = grid_of_panels(len(names), columns, by_column=len(groups) > 1, size=given.figsize)
    looks = given.looks(list(dict.fromkeys(name for _, name in names)))
    fan, cut = Fan.of(quantiles), False
    for ax, (group, name) in zip(axes, names, strict=True):
        of_group = curves[group]
        for other in of_group.names:
            part = of_group.by_name[other]
            ax.plot(part["n"], part["mean"], color="0.82", linewidth=0.8, zorder=1)
        *_, cut_here = draw_curve(ax, of_group, looks[name], fan, width)
        cut |= cut_here
        size_axis(ax, of_group.sizes, log)
        ax.set_xlabel("")
        label = looks[name].label
        title = label if name in group else " · ".join(filter(None, (label, group)))
        ax.set_title(title, fontsize="small", loc="left")
    key = "; ".join(filter(None, [*fan.key(width, cut), "grey: means of the others"]))
    title = f"{context(scores)}\n{key}" if given.title is None else given.title
    _frame(axes, curves, title)
    return axes


def _frame(axes: np.ndarray, curves: Mapping[str, Curves], title: str) -> None:
    """Write what all panels share: axes and caption."""
    figure = axes[0].get_figure(root=True)
    metrics = list(dict.fromkeys(metric_label(one.metric) for one in curves.values()))
    figure.supxlabel(SIZE_LABEL, fontsize="medium")
    figure.supylabel(" and ".join(metrics), fontsize="medium")
    heading(figure, title)


def heading(figure: Any, title: str) -> None:
    """Write small lines above all panels, broken where they would leave the figure."""
    from lcdb.plot.labels import broken

    room = 72.0 * figure.get_figwidth() - 12.0
    text = "\n".join(broken(room, line) for line in title.split("\n"))
    figure.suptitle(text, fontsize="small", x=0.01, ha="left")


def grid_of_panels(
    count: int, columns: int, *, by_column: bool = False, size: tuple[float, float] | None = None
) -> np.ndarray:
    """Return axes of so many panels, with quiet frames and one scale of scores.

    Parameters
    ----------
    count, columns
        Of panels, and of panels beside each other.
    by_column
        Whether the axes of sizes are shared within a column alone.
    size
        Of the figure, in inches; by the number of panels unless given.
    """
    need_matplotlib()
    import matplotlib.pyplot as plt

    columns = max(1, min(columns, count))
    rows = -(-count // columns)
    size = size or (0.8 + 1.8 * max(columns, 2), 1.0 + 1.6 * rows)
    _, grid = plt.subplots(
        rows, columns, figsize=size, layout="constrained", sharey=True, squeeze=False,
        sharex=not by_column,
    )  # fmt: skip
    panels = grid.ravel()
    for ax in panels[count:]:
        ax.set_axis_off()
    for place, ax in enumerate(panels[:count]):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelbottom=by_column or place + columns >= count)
    return panels[:count]


def combinations(scores: Any) -> dict[str, Any]:
    """Return what has one label of every dim but learner and n, by the labels that differ."""
    if isinstance(scores, Mapping) and not isinstance(scores, xr.Dataset):
        if not scores:
            msg = "there is nothing to draw; expected at least one dataset"
            raise LabelError(msg)
        names = [_name_of(part) for part in scores.values()]
        if len(set(names)) < len(names):
            names = [str(key) for key in scores]
        return {
            " · ".join(filter(None, (name if len(names) > 1 else "", group))): found
            for name, part in zip(names, scores.values(), strict=True)
            for group, found in combinations(part).items()
        }
    array = scores["mean"] if is_summary(scores) else scores
    outer = [dim for dim in array.dims if dim not in _INNER]
    sizes = [array.sizes[dim] for dim in outer]
    groups = {}
    for place in np.ndindex(*sizes):
        part = scores.isel(dict(zip(outer, place, strict=True)))
        labels = [str(part.coords[dim].item()) for dim in outer if array.sizes[dim] > 1]
        groups[" · ".join(labels)] = part
    return groups


def _name_of(part: xr.DataArray | xr.Dataset) -> str:
    known = part.coords["dataset"].item() if "dataset" in part.coords else ""
    return plain(part.attrs.get("dataset_name") or known)
