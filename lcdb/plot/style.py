"""What all figures share: colours, labels, axes."""

from __future__ import annotations

import importlib.util
import itertools
import types
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr

from lcdb.errors import ArgumentError, LabelError, MissingExtraError, did_you_mean
from lcdb.schema import LEARNER_ROWS, LEARNERS, METRICS
from lcdb.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = [
    "Look",
    "Style",
    "caption",
    "colour_of",
    "colours",
    "context",
    "each",
    "metric_label",
    "metric_of",
    "need_matplotlib",
    "new_axes",
    "page",
    "plain",
    "span",
    "spread_out",
    "unscaled",
]

# The learners of the database have theirs everywhere; those of the experiments have the colours of
# what they have in common with the ten.
_COLOURS = {
    **{row.name: row.colour for row in LEARNER_ROWS.values()},
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
# For all other names: Okabe and Ito's colours without black, and four that are far from those, from
# the ten above and from white.
_OTHERS = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7"),
    *("#7A4A1E", "#B3003C", "#666666", "#8A9A00"),
)
Dash = str | tuple[float, tuple[float, ...]]
#: Dashes of lines that are of one learner each: they tell neighbours apart in grey as well.
_STYLES: tuple[Dash, ...] = ("-", "--", "-.", ":")
#: Dashes of further lines of one colour. Quantiles are dotted and edges of bands dashed.
_DASHES: tuple[Dash, ...] = (
    "-",
    "-.",
    (0, (8, 2)),
    (0, (8, 2, 2, 2)),
    (0, (6, 1.5, 1, 1.5, 1, 1.5)),
)
_PAGE: ContextVar[Mapping[str, str]] = ContextVar("page", default=types.MappingProxyType({}))
#: Which name and dash a line was drawn for.
_DRAWN: weakref.WeakKeyDictionary[Line2D, tuple[str, Dash]] = weakref.WeakKeyDictionary()


def colour_of(label: object) -> str:
    """Return the colour of a name among others that leave it free.

    It is fixed for the ten learners and for those of the experiments. Another name has one of
    ten further colours; where another name of a figure has the same one, it has the next that
    is free.
    `colours` gives names colours that are all different.

    Examples
    --------
    >>> colour_of("LDC")
    '#332288'
    """
    return colours([label])[str(label)]


def colours(names: Iterable[object]) -> dict[str, str]:
    """Return a colour for each name, all different: for the figures of one page.

    Every figure takes them as ``colors=``. With more names than there are colours some share one;
    figures draw those with different dashes.

    Parameters
    ----------
    names
        Of learners, or of anything else that has a line.

    Examples
    --------
    >>> colours(["LDC", "ours", "baseline"])
    {'LDC': '#332288', 'ours': '#009E73', 'baseline': '#E69F00'}
    """
    return _distinct(list(map(str, names)), {}, ())


def _distinct(
    names: Iterable[str], given: Mapping[str, str], used: Iterable[str]
) -> dict[str, str]:
    """Return colours of names: those given, then others than those and than those in use."""
    chosen, taken = dict(given), {*used, *given.values()}
    # Names with a colour of their own come first; then by a checksum, so that a name gives way to
    # the same names in all figures.
    for name in sorted(set(names) - set(chosen), key=lambda name: (*_rank(name), name)):
        wanted = _preferences(name)
        chosen[name] = next((colour for colour in wanted if colour not in taken), wanted[0])
        taken.add(chosen[name])
    return {name: chosen[name] for name in names}


def _rank(name: str) -> tuple[int, int]:
    fixed = list(_COLOURS)
    return (0, fixed.index(name)) if name in _COLOURS else (1, zlib.crc32(name.encode()))


def _preferences(name: str) -> list[str]:
    """Return all colours that a name may have, the one it has where it is free first."""
    start = zlib.crc32(name.encode()) % len(_OTHERS)
    others = [*_OTHERS[start:], *_OTHERS[:start]]
    first = [_PAGE.get()[name]] if name in _PAGE.get() else []
    return [*first, *([_COLOURS[name]] if name in _COLOURS else []), *others]


@contextmanager
def page(names: Iterable[object]) -> Iterator[None]:
    """Have names keep their colours in all figures that are drawn meanwhile."""
    token = _PAGE.set(colours(names))
    try:
        yield
    finally:
        _PAGE.reset(token)


@dataclass(frozen=True)
class Look:
    """How one line is drawn: under which name and label, in which colour and dash."""

    name: str
    label: str
    color: Any
    linestyle: Dash
    more: Mapping[str, Any]
    #: How many lines of this colour there were before it.
    level: int = 0

    def plot(
        self, ax: Axes, x: Any, y: Any, *, where: Literal["pre", "post"] | None = None, **usual: Any
    ) -> None:
        """Draw the line, as steps where `where` says so; what the caller gave outdoes `usual`."""
        keywords = {**usual, "color": self.color, "linestyle": self.linestyle,
                    "label": self.label, **self.more}  # fmt: skip
        lines = (
            ax.plot(x, y, **keywords) if where is None else ax.step(x, y, where=where, **keywords)
        )
        for line in lines:
            _DRAWN[line] = (self.name, self.linestyle)

    def companion(self, linestyle: str) -> Dash:
        """Return the dash of a line beside this one: another beside each line of a colour."""
        if not self.level:
            return linestyle
        on = 1.0 if linestyle == ":" else 3.7
        return (0, (on, 1.6 + 1.5 * self.level))


@dataclass(frozen=True)
class Style:
    """What callers say of lines: colours, labels, a title, keywords of matplotlib's lines."""

    color: Any = None
    colors: Mapping[str, Any] = field(default_factory=dict)
    label: Any = None
    title: str | None = None
    figsize: tuple[float, float] | None = None
    line: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], *only: str) -> Style:
        """Return what keywords say; `only` names those that a figure takes, all unless given."""
        need_matplotlib()
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.colors import is_color_like
        from matplotlib.lines import Line2D

        own = [one.name for one in fields(cls) if one.name != "line"]
        setters = [name[4:] for name in dir(Line2D) if name.startswith("set_")]
        try:
            options = normalize_kwargs(dict(given), Line2D)
        except TypeError as error:
            raise ArgumentError(str(error)) from error
        known = list(only) or [*own, *setters]
        for name in options:
            if name not in known or name in ("data", "xdata", "ydata"):
                msg = f"the figure takes no {name!r}.{did_you_mean(name, known)}"
                raise ArgumentError(msg)
        values = {name: options.pop(name) for name in own if name in options}
        colors = values.get("colors") or {}
        if not isinstance(colors, Mapping):
            msg = f"colors is {colors!r}; expected colours by name, such as {{'LDC': 'red'}}"
            raise ArgumentError(msg)
        named = {str(name): colour for name, colour in colors.items()}
        for colour in filter(None, (values.get("color"), *named.values())):
            if not is_color_like(colour):
                msg = f"{colour!r} is no colour; expected one as matplotlib knows them, such as "
                raise ArgumentError(msg + "'red', '#332288' or (0.2, 0.1, 0.5)")
        return cls(**{**values, "colors": named}, line=options)

    def looks(
        self, names: Sequence[str], ax: Axes | None = None, *, dashed: bool = False,
        reserved: Sequence[str] = (),
    ) -> dict[str, Look]:  # fmt: skip
        """Return how the line of each name is drawn: no two share colour and dash.

        Parameters
        ----------
        names
            Of the lines.
        ax
            Where they will be drawn: what is there keeps its colours and dashes.
        dashed
            Whether each name has a dash of its own, too.
        reserved
            Colours that mean something else in this figure.
        """
        if self.colors and not set(self.colors) & set(names):
            msg = f"colors names {', '.join(self.colors)}; the figure has {', '.join(names)}"
            raise LabelError(msg)
        labels, used, looks = self._labels(names), _used(ax), {}
        # A name that is there already keeps its colour, unless the caller gives one.
        fixed = {name: colour for name, colour, _ in used if name in names}
        fixed |= {name: _hex(colour) for name, colour in self.colors.items() if name in names}
        if self.color is not None:
            fixed = dict.fromkeys(names, _hex(self.color))
        chosen = _distinct(names, fixed, [*(colour for _, colour, _ in used), *reserved])
        for place, name in enumerate(names):
            colour = chosen[name]
            taken = [dash for _, other, dash in used if other == colour]
            usual = _own_dash(name, place) if dashed else "-"
            dash = self.line.get("linestyle") or next(d for d in _dashes(usual) if d not in taken)
            more = {key: value for key, value in self.line.items() if key != "linestyle"}
            looks[name] = Look(name, labels[name], colour, dash, more, len(taken))
            used.append((name, colour, dash))
        return looks

    def _labels(self, names: Sequence[str]) -> dict[str, str]:
        if self.label is None:
            return {name: name for name in names}
        if isinstance(self.label, Mapping):
            given = {str(name): str(text) for name, text in self.label.items()}
            return {name: given.get(name, name) for name in names}
        texts = [self.label] if isinstance(self.label, str) else list(map(str, self.label))
        if len(texts) != len(names):
            msg = (
                f"label is {self.label!r}; the figure has {len(names)} lines: {', '.join(names)}. "
            )
            raise ArgumentError(msg + "Expected a text for each, or {name: text}")
        return dict(zip(names, texts, strict=True))

    def caption(self, ax: Axes, *lines: str) -> None:
        """Write small lines above the axes, or the caller's title instead."""
        if self.title is None:
            caption(ax, *lines)
        else:
            ax.set_title(self.title)


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    text = to_hex(colour, keep_alpha=True).upper()
    return text.removesuffix("FF") if len(text) == 9 else text


def _own_dash(name: str, place: int) -> Dash:
    """Return the dash of a name: the same in every figure for the ten, else by its place."""
    return _STYLES[(LEARNERS.index(name) if name in LEARNERS else place) % len(_STYLES)]


def _dashes(first: Dash) -> Iterator[Dash]:
    """Yield dashes, all different, without end."""
    yield first
    yield from (dash for dash in (*_DASHES, *_STYLES) if dash != first)
    yield from ((0, (10.0 + 2.0 * i, 2.0)) for i in itertools.count())


def _used(ax: Axes | None) -> list[tuple[str, str, Any]]:
    """Return name, colour and dash of the lines that axes have already."""
    found = []
    for line in ax.lines if ax is not None else ():
        if line.get_linestyle() != "None":
            name, dash = _DRAWN.get(line, (str(line.get_label()), line.get_linestyle()))
            found.append((name, _hex(line.get_color()), dash))
    return found


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


def new_axes(ax: Axes | None = None, style: Style | None = None, **options: Any) -> Axes:
    """Return the axes to draw on: those given, or new ones with quiet frames."""
    need_matplotlib()
    import matplotlib.pyplot as plt

    if style is not None and style.figsize is not None:
        if ax is not None:
            msg = "figsize is the size of a new figure; with ax, set that of its own figure"
            raise ArgumentError(msg)
        options["figsize"] = style.figsize
    if ax is None:
        options.setdefault("figsize", (5.6, 3.6))
        _, ax = plt.subplots(layout="constrained", **options)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def span(ax: Axes, *, x: Sequence[float] = (), y: Sequence[float] = ()) -> None:
    """Have limits that are left to autoscale include values, whatever is drawn."""
    for values, options in ((x, {"updatey": False}), (y, {"updatex": False})):
        if len(values):
            ax.update_datalim([(value, value) for value in values], **options)
    ax.autoscale_view()


@contextmanager
def unscaled(ax: Axes) -> Iterator[None]:
    """Draw what limits need not show: they are those of all else."""
    before = ax.dataLim.frozen()
    yield
    ax.dataLim.set(before)
    ax.autoscale_view()


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
        labels = [label for array in arrays if dim in array.coords
                  for label in map(str, array.coords[dim].values.ravel())]  # fmt: skip
        text = " and ".join(dict.fromkeys(labels))
        parts.append("" if dim == "tuning" and text == "default" else text)
    scalings = dict.fromkeys(
        str(array.coords["scaling"].item()) for array in arrays if "scaling" in array.coords
    )
    text = " and ".join(scalings)
    parts.append("" if text in ("", "none") else f"scaling {text}")
    metrics = dict.fromkeys(map(metric_of, arrays))
    parts.append(" and ".join(metric_label(name) for name in metrics if name in METRICS))
    return " · ".join(filter(None, parts))


def metric_of(array: xr.DataArray | xr.Dataset) -> str:
    """Return the metric of an array or of one metric of a summary."""
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
    """Write small lines above the axes, from the left, broken where they would leave the figure."""
    from lcdb.plot.labels import broken, make_room, room_above

    text = "\n".join(broken(room_above(ax), line) for line in lines if line)
    ax.set_title(text, fontsize="small", loc="left")
    make_room(ax)


def each(scores: xr.DataArray, dim: str) -> list[tuple[str, xr.DataArray]]:
    """Return (label, part) along a dim, or the whole under the dataset's name without it."""
    if dim in scores.dims:
        return [(str(label), scores.sel({dim: label})) for label in scores[dim].values]
    name = scores.coords[dim].item() if dim in scores.coords else scores.attrs.get("dataset_name")
    return [(str(name or scores.name or "scores"), scores)]
