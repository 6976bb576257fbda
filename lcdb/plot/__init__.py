"""Figures for publication: one function per figure, each takes and returns matplotlib axes.

The ten learners have the same colour in all of them. Another name has one of ten further
colours, or the next that no other name in the figure has; ``colors={name: colour}`` gives it one.
All take ``title`` and ``figsize``, and those with lines what `learning_curves` takes.
"""

from lcdb.plot.beyond import bias_variance, by_repetitions, decomposition, rank_map
from lcdb.plot.choices import choices
from lcdb.plot.comparing import aggregates, crossings, differences, powers, shapes
from lcdb.plot.distributions import distributions
from lcdb.plot.drawing import FIGURES, draw
from lcdb.plot.draws import samplings
from lcdb.plot.early import early_choices
from lcdb.plot.figures import (
    inverse_cdf,
    learning_curves,
    profile,
    quantile_curves,
    rejection_map,
)
from lcdb.plot.forecasts import forecast
from lcdb.plot.jordan2018 import EXPERIMENT_FIGURES, draw_experiment
from lcdb.plot.lifetimes import lifetime_curves, lifetime_returns
from lcdb.plot.multiples import small_multiples
from lcdb.plot.shares import non_gaussian_panels, non_gaussian_share
from lcdb.plot.style import colour_of, colours

__all__ = [
    "EXPERIMENT_FIGURES",
    "FIGURES",
    "aggregates",
    "bias_variance",
    "by_repetitions",
    "choices",
    "colour_of",
    "colours",
    "crossings",
    "decomposition",
    "differences",
    "distributions",
    "draw",
    "draw_experiment",
    "early_choices",
    "forecast",
    "inverse_cdf",
    "learning_curves",
    "lifetime_curves",
    "lifetime_returns",
    "non_gaussian_panels",
    "non_gaussian_share",
    "powers",
    "profile",
    "quantile_curves",
    "rank_map",
    "rejection_map",
    "samplings",
    "shapes",
    "small_multiples",
]
