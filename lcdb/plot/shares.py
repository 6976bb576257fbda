"""Shares of non-Gaussian cells along n: in one axes, or in a panel for each learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from lcdb import analysis
from lcdb.errors import LabelError
from lcdb.plot.multiples import grid_of_panels, heading
from lcdb.plot.style import Look, Style, context, each, metric_label, new_axes, span
from lcdb.stats import between_sizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["non_gaussian_panels", "non_gaussian_share"]

#: What ``db.select`` returns, or one of its arrays.
Selection = Mapping[Any, xr.DataArray] | xr.DataArray


class _Shares(NamedTuple):
    """Percentages by bin of n/m of one learner; bins without sizes are left out."""

    centre: np.ndarray
    non_gaussian: np.ndarray
    constant: np.ndarray


def _shares(scores: Selection, bins: int) -> dict[str, _Shares]:
    """Return the shares of non-Gaussian and of constant cells by learner: means over curves."""
    arrays = list(scores.values()) if isinstance(scores, Mapping) else [scores]
    curves: dict[str, list[np.ndarray]] = {}
    for array in arrays:
        tests = analysis.normality(array)[["non_gaussian", "constant"]].compute()
        for name, rejected in each(tests["non_gaussian"], "learner"):
            part = tests.sel(learner=name) if "learner" in tests.dims else tests
            constant = part["constant"].transpose(..., "n").values
            rejected = rejected.transpose(..., "n")
            count = rejected.sizes["n"]
            for g, flat in zip(
                rejected.values.reshape(-1, count), constant.reshape(-1, count), strict=True
            ):
                of_bins = _bins_of(g, flat.astype(bool), rejected, bins)
                curves.setdefault(name, []).append(of_bins)
    centre = (np.arange(bins) + 0.5) / bins
    by_learner = {}
    for name, parts in curves.items():
        there = np.isfinite(parts).any(axis=(0, 1))
        shares = 100.0 * np.nanmean(np.stack(parts)[..., there], axis=0)
        by_learner[name] = _Shares(centre[there], *shares)
    return by_learner


def _bins_of(g: np.ndarray, constant: np.ndarray, at: xr.DataArray, bins: int) -> np.ndarray:
    """Return which part of a curve is rejected, and constant, in each bin of n/m; NaN for none.

    A size stands for those around it that were not computed. Of cells alone, few sizes near m would
    make what holds at m alone, where a fixed pool is the only training set, a tenth of a curve.

    Parameters
    ----------
    g, constant
        Of each cell: whether it is rejected, NaN where it was not tested, and whether it is
        constant.
    at
        Has the coordinates ``n`` and ``fraction`` of the cells.
    bins
        How many.
    """
    sizes, known = at["n"].values, np.isfinite(g)
    n, drawn = between_sizes(g, sizes, constant)
    _, level = between_sizes(np.where(known, constant, np.nan), sizes, constant)
    fraction = np.interp(n, sizes, at["fraction"].values)
    which = np.clip(np.ceil(fraction * bins - 1e-9).astype(int) - 1, 0, bins - 1)
    total = np.bincount(which, minlength=bins).astype(float)
    total[total == 0] = np.nan
    return np.stack([np.bincount(which, hits, minlength=bins) / total for hits in (drawn, level)])


def non_gaussian_share(
    scores: Mapping[Any, xr.DataArray] | xr.DataArray,
    bins: int = 20,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the share of non-Gaussian cells against the share of the largest size.

    Where sizes were left out, those that there are count for those around them.

    Parameters
    ----------
    scores
        What ``db.select`` returns, or one of its arrays; with the dim ``learner`` a line for each.
    bins
        Of n/m in (0, 1].
    ax
        Where; new axes unless given.
    **style
        ``color``, ``colors``, ``label``, ``title``, ``figsize`` and keywords of matplotlib's lines,
        as `learning_curves` takes them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     ax = lcdb.plot.non_gaussian_share(db.select(learner=["NMC", "LDC"], **labels))
    >>> ax.get_ylabel()
    'non-Gaussian cells (%)'
    """
    from lcdb.plot.labels import label_ends

    given = Style.of(style)
    ax = new_axes(ax, given)
    ends, by_learner = [], _shares(scores, bins)
    for look in given.looks(list(by_learner), ax, dashed=True).values():
        shares = by_learner[look.name]
        look.plot(ax, shares.centre, shares.non_gaussian, linewidth=1.4)
        if shares.centre.size:
            ends.append((look.label, shares.centre[-1], shares.non_gaussian[-1]))
    ax.set(xlabel="n / largest n", ylabel="non-Gaussian cells (%)")
    span(ax, x=(0.0, 1.0), y=(0.0, 100.0))
    ax.margins(x=0, y=0.03)
    _mark_level(ax)
    label_ends(ax, ends)
    given.caption(ax, context(scores))
    return ax


def _mark_level(ax: Axes) -> None:
    """Draw the 5 % that are rejected of normal distributions."""
    ax.axhline(5, color="0.6", linewidth=0.8)
    ax.annotate("5 %", (1, 5), xytext=(-2, 2), textcoords="offset points", fontsize="x-small",
                ha="right", color="0.4")  # fmt: skip


def non_gaussian_panels(
    scores: Selection | Mapping[str, Selection], bins: int = 20, columns: int = 5, **style: Any
) -> np.ndarray:
    """Draw the share of non-Gaussian cells along n in a panel for each learner.

    The panels are sorted by their share, the lowest first. Constant cells, which count as Gaussian,
    hang from the top: no line can reach into them. Where sizes were left out, those that there are
    count for those around them.

    Parameters
    ----------
    scores
        What ``db.select`` returns, with the dim ``learner``; or a mapping from a name, such as that
        of a metric, to such: then there is a line for each in every panel.
    bins
        Of n/m in (0, 1].
    columns
        Panels beside each other.
    **style
        ``colors``, ``title``, ``figsize`` and keywords of matplotlib's lines but for their dash, as
        `learning_curves` takes them.

    Returns
    -------
    numpy.ndarray
        The axes of the panels, in their order.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     labels = dict(sampling="random", split="varying", tuning="default")
    ...     axes = lcdb.plot.non_gaussian_panels(db.select(**labels))
    >>> sorted(ax.get_title(loc="left") for ax in axes)
    ['LDC', 'NMC', 'NNC', 'QDC']
    """
    given = Style.of(style)
    named = _named(scores)
    if len(named) > len(_STYLES):
        msg = f"{len(named)} lines in a panel: {', '.join(named)}; expected at most {len(_STYLES)}"
        raise LabelError(msg)
    shares = {name: _shares(one, bins) for name, one in named.items()}
    learners = list(dict.fromkeys(learner for one in shares.values() for learner in one))
    level = {
        learner: np.mean([float(one[learner].non_gaussian.mean()) for one in shares.values()
                          if learner in one and one[learner].centre.size] or [float("inf")])
        for learner in learners
    }  # fmt: skip
    learners.sort(key=lambda learner: float(level[learner]))
    columns = min(columns, len(learners))
    rows = -(-len(learners) // columns)
    size = given.figsize or (0.6 + 1.75 * columns, 0.9 + 1.55 * rows)
    panels = grid_of_panels(len(learners), columns, size=size)
    looks = given.looks(learners)
    for ax, learner in zip(panels, learners, strict=True):
        _panel(ax, looks[learner], {name: one.get(learner) for name, one in shares.items()})
    figure = panels[0].get_figure(root=True)
    for ax in panels:
        ax.margins(x=0, y=0)
        span(ax, x=(0.0, 1.0), y=(0.0, 104.0))
    figure.supxlabel("n / largest n", fontsize="medium")
    figure.supylabel("non-Gaussian cells (%)", fontsize="medium")
    lines = ", ".join(
        f"{metric_label(name)} {_WORDS[style]}" for name, style in zip(named, _STYLES, strict=False)
    )
    what = " · ".join([*_common(named), *([lines] if len(named) > 1 else [])])
    of_first = f" of {metric_label(next(iter(named)))}" if len(named) > 1 else ""
    note = f"hatched: constant cells{of_first}, counted as Gaussian; thin line: 5 %"
    heading(figure, f"{what}\n{note}" if given.title is None else given.title)
    return panels


_STYLES = ("-", "--", "-.", ":")
_WORDS = {"-": "solid", "--": "dashed", "-.": "dash-dotted", ":": "dotted"}


def _named(scores: Selection | Mapping[str, Selection]) -> dict[str, Selection]:
    if isinstance(scores, Mapping) and all(isinstance(v, Mapping) for v in scores.values()):
        return dict(scores)
    return {"": scores}  # type: ignore[dict-item]


def _common(named: Mapping[str, Selection]) -> list[str]:
    """Return what all lines are of."""
    first, *others = (context(one).split(" · ") for one in named.values())
    return [part for part in first if all(part in other for other in others)]


def _panel(ax: Axes, look: Look, shares: Mapping[str, _Shares | None]) -> None:
    for style, found in zip(_STYLES, shares.values(), strict=False):
        if found is None:
            continue
        usual = {"linewidth": 1.4, **look.more, "color": look.color, "linestyle": style}
        ax.plot(found.centre, found.non_gaussian, **usual)
        if style == "-" and (found.constant > 0).any():
            ax.fill_between(found.centre, 100 - found.constant, 100, step="mid", facecolor="none",
                            edgecolor="0.6", hatch="////", linewidth=0)  # fmt: skip
    ax.axhline(5, color="0.6", linewidth=0.6)
    ax.set_title(look.label, fontsize="small", loc="left", color=look.color)
