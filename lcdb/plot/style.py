"""What all figures share: colours, labels, axes."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from lcdb.errors import MissingExtraError
from lcdb.schema import LEARNERS, METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "colour_of",
    "label_ends",
    "line_style_of",
    "metric_label",
    "need_matplotlib",
    "new_axes",
]

# Ten colours that stay apart for colour-blind readers (Tol's muted scheme, and black), one for
# each learner in every figure; line styles tell neighbours apart in grey print as well.
_COLOURS = {
    "NMC": "#999933",
    "LDC": "#332288",
    "QDC": "#CC6677",
    "NNC": "#117733",
    "LREG": "#88CCEE",
    "LSVC": "#44AA99",
    "GSVC": "#882255",
    "DT": "#DDCC77",
    "RFOR": "#AA4499",
    "ADAB": "#000000",
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
    known = {"auc": "AUC", "brier": "Brier score", "cross_entropy": "cross-entropy (nats)"}
    text = str(name) if name is not None else "score"
    return known.get(text, text if text in METRICS else text.replace("_", " "))


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
    """Write names at the right ends of lines; in a legend where the ends are too close for that.

    Parameters
    ----------
    ax
        Drawn on already, with its limits as they will stay and its lines labelled.
    lines
        (name, x, y) of each line's end, in data coordinates.
    """
    ends = sorted(lines, key=lambda end: end[2])
    if not ends:
        return
    low, high = ax.get_ylim()
    points = ax.get_window_extent().height * 72.0 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    gap = 10.0 * (high - low) / points
    true = np.array([end[2] for end in ends], float)
    heights = true.copy()
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + gap)
    # Pushing upwards moves the middle: shift all back by as much as it moved on average.
    heights -= np.mean(heights - true)
    if np.abs(heights - true).max() > 2.0 * gap:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
        return
    for (name, x, _), height in zip(ends, heights, strict=True):
        ax.annotate(
            name,
            (x, height),
            xytext=(4, 0),
            textcoords="offset points",
            color=colour_of(name),
            va="center",
            fontsize="small",
            annotation_clip=False,
        )
