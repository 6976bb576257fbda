"""Names at the right ends of lines: placed when a figure is drawn, so that they follow its limits.

This module needs matplotlib; `lcdb.plot.style.label_ends` imports it when it draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.text import Annotation
from matplotlib.transforms import IdentityTransform

from lcdb.plot.style import colour_of, spread_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GAP", "EndLabels"]

#: Points from one label to the next.
GAP = 10.0
_AWAY = 5.0  # points from the axes to a label that had to move, with its leader line


class EndLabels:
    """The labels of one axes, which make way for each other.

    Parameters
    ----------
    ax
        Where.
    ends
        (name, x, y) of each line's end, in data coordinates.
    """

    def __init__(self, ax: Axes, ends: Sequence[tuple[str, float, float]]) -> None:
        self.ax = ax
        self.ends = np.array([(x, y) for _, x, y in ends], float)
        self.lines = {line.get_label(): line for line in ax.lines}
        self.names = [name for name, _, _ in ends]
        self.labels = [_EndLabel(self, name) for name in self.names]
        for label in self.labels:
            label.set_transform(IdentityTransform())  # not that of the data
            label.set_clip_on(False)
            ax.add_artist(label)

    def _shown_ends(self) -> np.ndarray:
        """Return where each line leaves the axes on the right, or ends, in data coordinates."""
        low, high = sorted(self.ax.get_xlim())
        shown = self.ends.copy()
        for i, name in enumerate(self.names):
            if low <= shown[i, 0] <= high or name not in self.lines:
                continue
            x, y = (np.asarray(v, float) for v in self.lines[name].get_data())
            there = np.isfinite(x) & np.isfinite(y)
            if there.any():
                edge = np.clip(shown[i, 0], low, high)
                shown[i] = edge, np.interp(edge, x[there], y[there])
        return shown

    def place(self) -> None:
        """Put every label beside its end, or as near as the others allow, inside the limits."""
        points = self.ax.get_figure(root=True).dpi / 72.0  # type: ignore[union-attr]
        box = self.ax.bbox
        true = self.ax.transData.transform(self._shown_ends())
        true[:, 1] = np.clip(true[:, 1], box.y0, box.y1)
        true[:, 0] = np.minimum(true[:, 0], box.x1)
        heights = spread_out(true[:, 1], GAP * points, box.y0, box.y1)
        right = true[:, 0].max()
        crowded = np.abs(heights - true[:, 1]) > 0.3 * GAP * points
        for label, end, height, moved in zip(self.labels, true, heights, crowded, strict=True):
            label.xy = tuple(end)
            away = _AWAY + 7.0 * crowded.any()
            label.set_position(((right - end[0]) / points + away, (height - end[1]) / points))
            if label.arrow_patch is not None:
                label.arrow_patch.set_visible(bool(moved))


class _EndLabel(Annotation):
    """One of them: it has all of them placed whenever its own place is asked for."""

    def __init__(self, labels: EndLabels, name: str) -> None:
        leader = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 1}
        super().__init__(
            name,
            (0.0, 0.0),
            xycoords="figure pixels",
            xytext=(0.0, 0.0),
            textcoords="offset points",
            color=colour_of(name),
            va="center",
            fontsize="small",
            annotation_clip=False,
            arrowprops=leader,
        )
        self.labels = labels

    def update_positions(self, renderer: Any) -> None:
        """Place all labels, then this one where that is."""
        self.labels.place()
        super().update_positions(renderer)
