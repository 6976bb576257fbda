"""Figures of which learner is better, from which size on, and of the shape of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lcdb import analysis
from lcdb.errors import LabelError
from lcdb.plot.chosen import Choice, Figure
from lcdb.plot.comparing import aggregates, crossings, differences, powers, shapes
from lcdb.plot.early import early_choices
from lcdb.plot.figures import quantile_curves
from lcdb.plot.multiples import small_multiples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURES"]


def _curves(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return small_multiples(choice.cells(), log=choice.log is not False, **style)[0]


def _means(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return quantile_curves(choice.cells(), (), None, ax, log=choice.log is not False, **style)


def _differences(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return differences(analysis.compare(*choice.pair()), ax, log=choice.log, **style)


def _crossing(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return crossings(analysis.crossing(*choice.pair()), ax, log=choice.log, **style)


def _power(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    return powers(analysis.power(*choice.pair(), studies=1000), ax, log=choice.log, **style)


def _shape(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curve = choice.preferring("QDC").one()
    return shapes(curve, analysis.shape(curve), ax, log=choice.log, **style)


def _early(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curves = choice.one()
    ways = [analysis.halving(curves, keep=keep) for keep in (0.25, 0.5, 0.75)]
    alone = analysis.halving(curves, [int(curves["n"][-1])])
    return early_choices(*ways, analysis.lccv(curves), alone, ax=ax, **style)


def _aggregate(choice: Choice, ax: Axes | None, **style: Any) -> Axes:
    curves = {key: part.dropna("n", how="all") for key, part in choice.curves().items()}
    if len(curves) < 2:
        msg = f"{choice.db.path} has curves of {len(curves)} dataset; an aggregate is of several"
        raise LabelError(msg)
    last = {key: part.isel(n=-1) for key, part in curves.items() if part.sizes["n"]}
    return aggregates(analysis.aggregate(last), ax=ax, **style)


_LEARNERS = ("learner",)
FIGURES: dict[str, Figure] = {
    "curves": Figure("a panel for each learner: mean and quantiles along n", 61, _curves,
                     sizes=True, panels=True),
    "means": Figure("means of all learners along n", 61, _means, {}, _LEARNERS, sizes=True),
    "differences": Figure("two learners: differences of mean and quantiles along n", 61,
                          _differences, {}, _LEARNERS, sizes=True),
    "crossing": Figure("two learners: from which size on one is better", 61, _crossing, {},
                       _LEARNERS, sizes=True),
    "power": Figure("two learners: how often studies of few repetitions tell them apart", 61,
                    _power, {}, _LEARNERS, sizes=True),
    "shape": Figure("where a curve rises and bends the wrong way", 61, _shape,
                    {}, (), sizes=True),
    "early": Figure("choosing a learner by early sizes: what it costs and what it saves", 61,
                    _early, {}, _LEARNERS),
    "aggregate": Figure("learners at the last size of each dataset", None, _aggregate, {},
                        _LEARNERS),
}  # fmt: skip
