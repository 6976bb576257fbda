"""Text beside data: names at the ends of lines, legends outside of the axes, lines that fit.

Where text stands is found when a figure is drawn, so that it follows limits and sizes. This module
needs matplotlib; figures import it when they draw.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rcParams
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.text import Annotation
from matplotlib.textpath import TextPath
from matplotlib.ticker import Locator, MaxNLocator
from matplotlib.transforms import Bbox, IdentityTransform

from lcdb.plot.style import spread_out
from lcdb.schema import LEARNER_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "EndLabels",
    "RoundNumbers",
    "broken",
    "label_ends",
    "legend",
    "long_name",
    "make_room",
    "number",
    "room_above",
    "slot_width",
]

#: Points from one label to the next.
GAP = 10.0
#: Inches of a figure, or its part, from which on there is room for long names.
WIDE = 6.5
#: Inches below which legends have a smaller font.
NARROW = 4.0
#: What text beside the axes may take of that.
BESIDE = 1 / 3
_DECORATION = 46.0  # points to the left of axes with numbers and a label
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
        wide = slot_width(ax) >= 72.0 * WIDE
        self.labels = [
            _EndLabel(self, long_name(name) if wide else name, self._colour(name))
            for name in self.names
        ]
        for label in self.labels:
            label.set_transform(IdentityTransform())  # not that of the data
            label.set_clip_on(False)
            ax.add_artist(label)

    def remove(self) -> list[tuple[str, float, float]]:
        """Take the labels away, and return the ends of their lines."""
        for label in self.labels:
            label.remove()
        return [(name, x, y) for name, (x, y) in zip(self.names, self.ends.tolist(), strict=True)]

    def _colour(self, name: str) -> Any:
        return self.lines[name].get_color() if name in self.lines else "0.2"

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

    def __init__(self, labels: EndLabels, text: str, colour: Any) -> None:
        leader = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 1}
        super().__init__(
            text,
            (0.0, 0.0),
            xycoords="figure pixels",
            xytext=(0.0, 0.0),
            textcoords="offset points",
            color=colour,
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


def long_name(name: str) -> str:
    """Return the long name of a learner, and any other name as it is.

    Examples
    --------
    >>> long_name("LREG"), long_name("ours")
    ('logistic regression', 'ours')
    """
    return LEARNER_ROWS[name].long_name if name in LEARNER_ROWS else name


def label_ends(ax: Axes, lines: Iterable[tuple[str, Any, Any]]) -> None:
    """Write names at the right ends of lines.

    They stay there whatever becomes of the limits. Labels that would overlap make way, with a thin
    line to where they belong; where too many end in one place for that, or names are too long to
    stand beside the axes, there is a legend.

    Parameters
    ----------
    ax
        With its lines drawn and labelled.
    lines
        (label, x, y) of each line's end, in data coordinates.
    """
    # Those of an earlier call on the same axes make way, too.
    before = list(dict.fromkeys(one.labels for one in ax.texts if isinstance(one, _EndLabel)))
    ends = [end for labels in before for end in labels.remove()]
    ends += [(name, float(x), float(y)) for name, x, y in lines if np.isfinite(y)]
    if not ends:
        return
    box, dpi = ax.get_window_extent(), ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    gap = GAP * dpi / 72.0
    true = np.clip(ax.transData.transform([end[1:] for end in ends])[:, 1], box.y0, box.y1)
    moved = np.abs(spread_out(true, gap, box.y0, box.y1) - true).max()
    widest = max(_width(name) for name, _, _ in ends)
    is_crowded = len(ends) * gap > box.height or moved > 3.0 * gap
    if is_crowded or widest > BESIDE * slot_width(ax) or isinstance(ax.legend_, _Outside):
        legend(ax)
    else:
        EndLabels(ax, ends)
        make_room(ax)


def legend(ax: Axes, *, title: str = "") -> None:
    """Put a legend beside the axes, or below where that leaves more room.

    Parameters
    ----------
    ax
        With its artists labelled.
    title
        Of the legend.
    """
    handles, texts = ax.get_legend_handles_labels()
    room = slot_width(ax)
    if room >= 72.0 * WIDE:
        texts = [long_name(text) for text in texts]
    size = rcParams["font.size"] * (0.694 if room < 72.0 * NARROW else 0.833)
    # Points of each text, and of a line's picture with the space around it.
    widths = [max(_width(line, size) for line in text.split("\n")) + 3.5 * size for text in texts]
    is_beside = max([*widths, _width(title, size)], default=0.0) <= BESIDE * room
    columns = 1 if is_beside else _columns(widths, room - 6.0)
    drawn = _Outside(
        ax, handles, texts, ncols=columns, frameon=False, fontsize=size, title=title or None,
        loc="center left" if is_beside else "upper center", bbox_to_anchor=(1.0, 0.5),
        handlelength=1.6, handletextpad=0.5, columnspacing=1.0, labelspacing=0.35, borderpad=0.2,
        title_fontsize=size,
    )  # fmt: skip
    drawn.is_below = not is_beside
    ax.legend_ = drawn
    drawn._remove_method = ax._remove_legend  # type: ignore[attr-defined]
    make_room(ax)


def _columns(widths: Sequence[float], room: float) -> int:
    """Return in how many columns texts fit; legends fill one column after the other."""
    for columns in range(len(widths), 1, -1):
        rows, rest = divmod(len(widths), columns)
        lengths = [rows + (place < rest) for place in range(columns)]
        starts = np.cumsum([0, *lengths])
        wide = sum(max(widths[i:j]) for i, j in itertools.pairwise(starts))
        if wide <= room:
            return columns
    return 1


class _Outside(Legend):
    """A legend that stands right of its axes, or below whatever there is below them."""

    is_below = False

    def _anchor(self) -> None:
        if not self.is_below:
            return
        ax: Any = self.axes
        under, side = ax.xaxis.get_tightbbox(), ax.yaxis.get_tightbbox()
        bottom = ax.bbox.y0 if under is None else min(ax.bbox.y0, under.y0)
        left, right = (ax.bbox.x0 if side is None else side.x0), ax.get_figure(root=True).bbox.x1
        # In the middle of axes and the numbers on their left, within the figure.
        half = super().get_window_extent().width / 2
        middle = min(max((left + ax.bbox.x1) / 2, half), max(right - half, half))
        self.set_bbox_to_anchor(Bbox.from_bounds(middle, bottom, 0, 0), IdentityTransform())

    def get_tightbbox(self, renderer: Any = None) -> Any:
        """Return what it covers, where it belongs now."""
        self._anchor()
        return super().get_tightbbox(renderer)

    def draw(self, renderer: Any) -> None:
        """Draw it where it belongs now."""
        self._anchor()
        super().draw(renderer)


def slot_width(ax: Axes) -> float:
    """Return how many points wide the part of a figure is that axes have with their text."""
    whole = ax.figure.bbox.width * 72.0 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    spec = ax.get_subplotspec()
    if spec is None:
        return min(whole, whole * ax.get_position().width + 2 * _DECORATION)
    return whole * len(spec.colspan) / spec.get_gridspec().ncols


def make_room(ax: Axes) -> None:
    """Make axes smaller by what text beside them needs, in figures that have no layout engine.

    Colour bars do the same. Where there is an engine, it does that.
    """
    figure = ax.get_figure(root=True)
    if figure is None or figure.get_layout_engine() is not None:
        return
    texts: list[Any] = [artist for artist in ax.texts if isinstance(artist, _EndLabel)]
    texts += [ax.legend_] if isinstance(ax.legend_, _Outside) else []
    texts += [ax._left_title] if ax.get_title(loc="left") else []  # type: ignore[attr-defined]
    boxes = [box for box in (text.get_tightbbox() for text in texts) if box is not None]
    if not boxes:
        return
    need, place, whole = Bbox.union(boxes), ax.get_position(), figure.bbox
    right = _limit(ax, whole)
    x1 = place.x1 - max(0.0, need.x1 - right) / whole.width
    y0 = place.y0 + max(0.0, whole.y0 + 2 - need.y0) / whole.height
    y1 = place.y1 - max(0.0, need.y1 - whole.y1 + 2) / whole.height
    if x1 - place.x0 > 0.1 and y1 - y0 > 0.1 and (x1, y0, y1) != (place.x1, place.y0, place.y1):
        ax.set_position((place.x0, y0, x1 - place.x0, y1 - y0))


def _limit(ax: Axes, whole: Any) -> float:
    """Return how far text may reach on the right: to the next axes, or the edge of the figure."""
    box, limit = ax.bbox, whole.x1 - 2
    for other in ax.get_figure(root=True).axes:  # type: ignore[union-attr]
        if other is not ax and other.bbox.x0 >= box.x1 and other.bbox.y1 > box.y0 < other.bbox.y1:
            tight = other.yaxis.get_tightbbox()
            limit = min(limit, other.bbox.x0 if tight is None else tight.x0)
    return limit


def room_above(ax: Axes) -> float:
    """Return how many points wide a line above axes may be."""
    return slot_width(ax) - _DECORATION


def broken(room: float, line: str) -> str:
    """Return a line in lines that are at most so many points wide, broken between what it lists."""
    lines = [""]
    for part in re.findall(r".+?(?:; | · |, |(?= \()|$)", line):
        if lines[-1] and _width((lines[-1] + part).rstrip(" ·;,")) > room:
            lines.append("")
            part = part.lstrip()
        lines[-1] += part
    return "\n".join(text.rstrip(" ·") for text in lines)


def _width(text: str, size: float | None = None) -> float:
    """Return how many points wide text of a size is, of the small one unless given."""
    return _font_width(text, rcParams["font.size"] * 0.833 if size is None else size)


@lru_cache(maxsize=512)
def _font_width(text: str, size: float) -> float:
    outline = TextPath((0, 0), text, prop=FontProperties(size=size)) if text.strip() else None
    return 0.0 if outline is None else float(outline.get_extents().x1)


class RoundNumbers(Locator):
    """Ticks of a logarithmic axis at round numbers, as many as have room between its limits."""

    _most = 8

    def __call__(self) -> Any:
        """Return the ticks of the axis as it is."""
        return self.tick_values(*self.axis.get_view_interval())  # type: ignore[union-attr]

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two limits."""
        low, high = sorted((vmin, vmax))
        low = max(low, np.finfo(float).tiny)
        decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        for steps in (range(1, 10), (1, 2, 5), (1, 3), (1,)):  # the first that leaves room
            ticks = np.array([step * 10.0**power for power in decades for step in steps])
            ticks = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
            if len(ticks) <= self._most and self._fit(ticks, low, high):
                break
        if len(ticks) < 3 and low < high:  # within a decade: what a linear axis would have
            ticks = np.asarray(MaxNLocator(5).tick_values(low, high))
            ticks = ticks[(ticks >= low) & (ticks <= high)]
        return ticks

    def _fit(self, ticks: np.ndarray, low: float, high: float) -> bool:
        """Return whether the numbers stay apart."""
        ax: Any = self.axis.axes  # type: ignore[union-attr]
        points = ax.bbox.width * 72.0 / ax.get_figure(root=True).dpi
        scale = points / max(np.log10(high) - np.log10(low), 1e-9)
        half = np.array([3.2 * len(number(tick)) + 2.5 for tick in ticks])
        return bool((np.diff(scale * np.log10(ticks)) >= half[1:] + half[:-1]).all())


def number(tick: float) -> str:
    """Return a tick as a plain number.

    Examples
    --------
    >>> number(1000.0)
    '1,000'
    """
    return f"{tick:,.12g}"
