"""What all figures share: colours, labels, axes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.errors import MissingExtraError
from lcdb.schema import LEARNER_ROWS, LEARNERS, METRICS
from lcdb.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "caption",
    "colour_of",
    "context",
    "each",
    "label_ends",
    "line_style_of",
    "metric_label",
    "need_matplotlib",
    "new_axes",
    "plain",
    "spread_out",
]

# Each learner has one colour in every figure; line styles tell neighbours apart in grey as well.
_COLOURS = {
    **{row.name: row.colour for row in LEARNER_ROWS.values()},
    # Those of the experiments, by what they have in common with the ten.
    "kNN": "#117733",
    "RF": "#AA4499",
    "SVM": "#882255",
    "LR": "#88CCEE",
    "NN": "#DDCC77",
    "actor_critic": "#332288",
    "ppo": "#CC6677",
    "ppo_p01": "#999933",
    "ppo_p50": "#44AA99",
    "ppo_p95": "#AA4499",
    "ppo_p99": "#000000",
}
_OTHERS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7")
_STYLES = ("-", "--", "-.", ":")


def colour_of(label: object) -> str:
    """Return the colour of a label: fixed for the ten learners, a stable one for any other.

    Examples
    --------
    >>> colour_of("LDC")
    '#332288'
    """
    name = str(label)
    return _COLOURS.get(name) or _OTHERS[sum(name.encode()) % len(_OTHERS)]


def line_style_of(label: object, place: int | None = None) -> str:
    """Return the line style of a label: the same in every figure.

    Labels that are not among the ten learners are told apart by their `place` among others, if it
    is given.
    """
    name = str(label)
    if name in LEARNERS:
        place = LEARNERS.index(name)
    elif place is None:
        place = sum(name.encode())
    return _STYLES[place % len(_STYLES)]


def metric_label(name: object) -> str:
    """Return an axis label for a metric.

    Examples
    --------
    >>> metric_label("cross_entropy"), metric_label("accuracy")
    ('cross-entropy (nats)', 'accuracy')
    """
    text = str(name) if name is not None else "score"
    return METRICS[text].label if text in METRICS else text.replace("_", " ")


def need_matplotlib() -> None:
    """Raise an error that says what to install, unless matplotlib is there."""
    if importlib.util.find_spec("matplotlib") is None:
        msg = "figures need matplotlib; install it with: pip install 'lcdb-plusplus[plot]'"
        raise MissingExtraError(msg)


def new_axes(ax: Axes | None = None, **options: Any) -> Axes:
    """Return the axes to draw on: those given, or new ones with quiet frames."""
    need_matplotlib()
    import matplotlib.pyplot as plt

    if ax is None:
        options.setdefault("figsize", (5.6, 3.6))
        _, ax = plt.subplots(layout="constrained", **options)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def label_ends(ax: Axes, lines: Iterable[tuple[str, Any, Any]]) -> None:
    """Write names at the right ends of lines, where they stay whatever becomes of the limits.

    Labels that would overlap make way, with a thin line to where they belong; where too many end
    in one place for that, there is a legend.

    Parameters
    ----------
    ax
        With its lines drawn and labelled.
    lines
        (name, x, y) of each line's end, in data coordinates.
    """
    from lcdb.plot.labels import GAP, EndLabels

    ends = [(name, float(x), float(y)) for name, x, y in lines if np.isfinite(y)]
    if not ends:
        return
    box, dpi = ax.get_window_extent(), ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    gap = GAP * dpi / 72.0
    true = np.clip(ax.transData.transform([end[1:] for end in ends])[:, 1], box.y0, box.y1)
    moved = np.abs(spread_out(true, gap, box.y0, box.y1) - true).max()
    if len(ends) * gap > box.height or moved > 3.0 * gap:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
        return
    EndLabels(ax, ends)


def spread_out(places: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Return places that are at least a gap apart, in the same order, and as near as can be.

    Examples
    --------
    >>> spread_out(np.array([5.0, 5.0, 20.0]), 2.0, 0.0, 20.0).tolist()
    [4.0, 6.0, 20.0]
    """
    order = np.argsort(places, kind="stable")
    # Apart by a gap is: places minus multiples of the gap ascend. The nearest ascending numbers
    # (in least squares) are means of neighbours that were in the wrong order.
    groups: list[tuple[float, int]] = []
    for i, place in enumerate(places[order]):
        mean, size = float(place) - i * gap, 1
        while groups and groups[-1][0] > mean:
            other, others = groups.pop()
            mean, size = (mean * size + other * others) / (size + others), size + others
        groups.append((mean, size))
    level = np.concatenate([np.full(size, mean) for mean, size in groups])
    level = np.clip(level, low, max(low, high - (len(places) - 1) * gap))
    found = np.empty(len(places))
    found[order] = level + gap * np.arange(len(places))
    return found


def context(scores: Any) -> str:
    """Return what a figure is of: dataset, sampling, split, tuning and metric, where there is one.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     context(db.curve("iris", "LDC", metric="brier"))
    'iris · random · varying · Brier score'
    """
    is_one = isinstance(scores, xr.DataArray | xr.Dataset)
    arrays = [scores] if is_one else list(scores.values())
    if not arrays:
        return ""
    names = list(dict.fromkeys(_dataset_of(array) for array in arrays))
    datasets = ", ".join(filter(None, names)) if len(names) <= 4 else f"{len(names)} datasets"
    parts = [datasets]
    for dim in ("sampling", "split", "tuning"):
        labels = arrays[0].coords[dim].values.ravel() if dim in arrays[0].coords else []
        text = " and ".join(map(str, labels))
        parts.append("" if dim == "tuning" and text == "default" else text)
    scaling = str(arrays[0].coords["scaling"].item()) if "scaling" in arrays[0].coords else "none"
    parts.append("" if scaling == "none" else f"scaling {scaling}")
    metric = _metric_of(arrays[0])
    parts.append(metric_label(metric) if metric in METRICS else "")
    return " · ".join(filter(None, parts))


def _metric_of(array: xr.DataArray | xr.Dataset) -> str:
    if isinstance(array, xr.DataArray):
        return str(array.name)
    chosen = array.coords.get("metric", None)
    return str(chosen.item()) if chosen is not None and not chosen.dims else ""


def _dataset_of(array: xr.DataArray | xr.Dataset) -> str:
    if "dataset_name" in array.attrs:
        return plain(array.attrs["dataset_name"])
    return plain(array.coords["dataset"].item()) if "dataset" in array.coords else ""


def plain(name: object) -> str:
    r"""Return a stranger's name as a figure shows it: as it is, and no formula.

    Examples
    --------
    >>> print(plain("a $x$ b"))
    a \$x\$ b
    """
    return visible(name).replace("$", r"\$")


def caption(ax: Axes, *lines: str) -> None:
    """Write small lines above the axes, from the left; empty ones are left out."""
    ax.set_title("\n".join(filter(None, lines)), fontsize="small", loc="left")


def each(scores: xr.DataArray, dim: str) -> list[tuple[str, xr.DataArray]]:
    """Return (label, part) along a dim, or the whole under the dataset's name without it."""
    if dim in scores.dims:
        return [(str(label), scores.sel({dim: label})) for label in scores[dim].values]
    name = scores.coords[dim].item() if dim in scores.coords else scores.attrs.get("dataset_name")
    return [(str(name or scores.name or "scores"), scores)]
