"""What a figure is drawn of: a part of a database, its labels those of the figure or as asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.errors import ArgumentError, LabelError, NotBuiltError
from lcdb.schema import UNIT_DIMS
from lcdb.selection import USUAL, Labels, as_list, check_labels, check_scaling, usual_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from lcdb.cubefile import Header
    from lcdb.database import Database, Key

__all__ = ["Choice", "Figure", "near_100"]


@dataclass(frozen=True)
class Choice:
    """A part of a database: one dataset or all, one metric, some labels, and how n is drawn."""

    db: Database
    dataset: Key | None
    metric: str
    labels: Mapping[str, Labels]
    log: bool | None = None
    scaling: str = "none"
    asked: frozenset[str] = frozenset()

    def named(self, **labels: Labels) -> Choice:
        """Return the same with other labels."""
        return replace(self, labels={**self.labels, **labels})

    def of(self, metric: str) -> Choice:
        """Return the same of another metric."""
        return replace(self, metric=metric)

    def curves(self) -> dict[Key, xr.DataArray]:
        """Return the arrays of all datasets that there are, or of the one that is asked for."""
        return self.db.select(self.dataset, metric=self.metric, scaling=self.scaling, **self.labels)

    def one(self) -> xr.DataArray:
        """Return the array of the one dataset."""
        return next(iter(self.curves().values())).dropna("n", how="all")

    def cells(self) -> xr.DataArray | xr.Dataset:
        """Return the array of the one dataset, or of its summary what it knows of the cells."""
        header = self.header
        if not header.is_summary:
            return self.one()
        check_labels([header], self.labels, f"summary {header.id} ({header.name})")
        labels = {
            name: label if isinstance(label, str) else list(label)
            for name, label in {**self.labels, "metric": self.metric}.items()
            if label is not None
        }
        cells = self.db[header.key].sel(labels)
        return cells.dropna("n", how="all", subset=["mean"])

    def all_cells(self) -> dict[Key, Any]:
        """Return the cells of all datasets that there are, or of the one: scores or summaries."""
        db = self.db.scaled(self.scaling)
        keys = list(db) if self.dataset is None else [self.header.key]
        asked = {dim: as_list(labels) for dim, labels in self.labels.items()}
        found: dict[Key, Any] = {}
        for key in keys:
            header = db.headers[key]
            if all(set(labels) <= set(header.labels[dim]) for dim, labels in asked.items()):
                cells = replace(self, dataset=key).cells()
                fraction = cells["n"].values / header.largest_size
                found[key] = cells.assign_coords(fraction=("n", fraction), dataset=header.id)
        some = any(db.headers[key].is_summary for key in found)
        return found if some else self.curves()

    @property
    def header(self) -> Header:
        """What is known of the one dataset."""
        return self.db.headers[self.db.resolve(self.dataset, self.scaling)]

    @property
    def learner(self) -> str:
        """The one learner."""
        return str(self.labels["learner"])

    def preferring(self, *learners: str) -> Choice:
        """Return the choice of these learners, or of the first there are, unless some are asked."""
        if "learner" in self.asked:
            return self
        known = self.header.labels["learner"]
        kept = learners if set(learners) <= set(known) else known[: len(learners)]
        return self.named(learner=list(kept) if len(learners) > 1 else kept[0])

    def pair(self) -> tuple[xr.DataArray, xr.DataArray]:
        """Return the curves of two learners."""
        labels = self.preferring("QDC", "LDC").labels["learner"]
        if labels is None or isinstance(labels, str) or len(labels) != 2:
            msg = f"learner is {labels!r}; the figure compares two: --learner QDC,LDC"
            raise LabelError(msg)
        curves = self.named(learner=labels).one()
        return curves.sel(learner=labels[0]), curves.sel(learner=labels[1])

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a frame of curves that this is about."""
        kept = frame["metric"] == self.metric
        headers = self.db.headers if self.dataset is None else {self.header.key: self.header}
        ids = [head.id for head in headers.values() if head.scaling == self.scaling]
        kept &= frame["dataset"].isin(ids)
        for name, labels in self.labels.items():
            if labels is not None:
                kept &= frame[name].isin([labels] if isinstance(labels, str) else list(labels))
        return frame[kept]

    def some_rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the same, or raise where there are none."""
        rows = self.rows(frame)
        if rows.empty:
            named = [
                str(value) for value in (self.dataset, self.metric, *self.labels.values()) if value
            ]
            msg = f"{self.db.path} has no curves of {', '.join(named)}"
            raise NotBuiltError(msg)
        return rows

    def over(self) -> str:
        """Return what a mean over curves is over, in words."""
        means = [name for name in UNIT_DIMS[1:] if not isinstance(self.labels[name], str)]
        fixed = [str(self.labels[name]) for name in UNIT_DIMS[1:] if name not in means]
        plural = [f"{name}s" for name in means]
        text = " and ".join(filter(None, [", ".join(plural[:-1]), *plural[-1:]]))
        return " · ".join([*fixed, *([f"mean over {text}"] if text else [])])


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows, of which dataset and labels, and how it is drawn.

    Parameters
    ----------
    title
        What it shows.
    dataset
        The one it is of unless another is asked for; None for all there are.
    draw
        Draws a choice on axes, or on new ones, in the caller's style, and returns them.
    labels
        Those that it has unless others are asked for; None for all there are. Draws and tuning are
        `lcdb.selection.USUAL` where it names none.
    beside
        Dims of which it shows several labels at once; of others there is a panel for each label.
    sizes
        Whether it has an axis of sizes, which may be logarithmic.
    panels
        Whether it has several axes, so that it cannot be drawn on given ones.
    """

    title: str
    dataset: Key | None
    draw: Callable[..., Axes]
    labels: Mapping[str, Labels] = field(default_factory=dict)
    beside: tuple[str, ...] = UNIT_DIMS
    sizes: bool = False
    panels: bool = False

    def choice(
        self, name: str, db: Database, dataset: Key | None, metric: str, log: bool | None,
        asked: Mapping[str, Labels], scaling: str,
    ) -> Choice:  # fmt: skip
        """Return what it is drawn of."""
        if log is not None and not self.sizes:
            msg = f"figure {name} has no axis of sizes that could be logarithmic or not"
            raise ArgumentError(msg)
        given = {dim: _shortest(labels) for dim, labels in asked.items() if labels is not None}
        labels = _there(db, self.labels, given)
        if "learner" in self.beside and isinstance(labels["learner"], str):
            labels["learner"] = [labels["learner"]]
        key = self.dataset if dataset is None else dataset
        if key is not None:
            db.resolve(key, scaling)
        check_scaling(scaling)
        return Choice(db, key, metric, labels, log, scaling, frozenset(given))

    def drawn(self, choice: Choice, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw it, in a panel for each combination of labels that do not go beside each other."""
        several = {
            dim: list(labels)
            for dim, labels in choice.labels.items()
            if dim not in self.beside and labels is not None and not isinstance(labels, str)
        }
        if ax is not None and (several or self.panels):
            msg = "the figure has several panels; without ax it is drawn on a new figure"
            raise ArgumentError(msg)
        if not several:
            return self.draw(choice, ax, **style)
        return _in_panels(self, choice, several, style)


def _there(
    db: Database, labels: Mapping[str, Labels], given: Mapping[str, Labels]
) -> dict[str, Labels]:
    """Return labels: those given, else what the figure has, or the only ones that there are."""
    chosen = {"learner": None, **USUAL, **labels, **given}
    for dim in USUAL:
        known = [label for header in db.headers.values() for label in header.labels[dim]]
        label = chosen[dim]
        if known and dim not in given and isinstance(label, str):
            chosen[dim] = usual_label(dim, label, list(dict.fromkeys(known)), str(db.path))
    return chosen


def _shortest(labels: Labels) -> Labels:
    """Return a lone label as text: its dim goes."""
    if labels is None or isinstance(labels, str):
        return labels
    return labels[0] if len(labels) == 1 else list(labels)


def _in_panels(
    figure: Figure, choice: Choice, several: Mapping[str, list[str]], style: Mapping[str, Any]
) -> Axes:
    from lcdb.plot.style import need_matplotlib

    need_matplotlib()
    import matplotlib.pyplot as plt

    counts = [len(labels) for labels in several.values()]
    rows, columns = (1, counts[0]) if len(counts) == 1 else (counts[0], int(np.prod(counts[1:])))
    more = dict(style)
    size = more.pop("figsize", None) or (5.4 * columns, 3.6 * rows)
    _, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for ax, place in zip(grid.ravel(), np.ndindex(*counts), strict=True):
        labels = {dim: several[dim][i] for dim, i in zip(several, place, strict=True)}
        figure.draw(choice.named(**labels), ax, **more)
    return grid[0, 0]


def near_100(cells: xr.DataArray | xr.Dataset) -> Any:
    """Return the computed size nearest to n = 100, of scores or of a summary."""
    if isinstance(cells, xr.Dataset):
        return cells.dropna("n", how="all", subset=["mean"]).sel(n=100, method="nearest")
    return cells.dropna("n", how="all").sel(n=100, method="nearest")
