"""Statistics of distributions: plain arrays, samples along the last axis.

Nothing here knows of cubes, labels or xarray: `lcdb.analysis` puts labels on.
"""

from lcdb.stats.bootstrap import bootstrap
from lcdb.stats.counts import summary_of_counts
from lcdb.stats.dominance import (
    Dominance,
    almost_dominates,
    first_order,
    second_order,
    violation,
)
from lcdb.stats.intervals import band_width, quantile_interval, quantile_ranks
from lcdb.stats.lattice import LARGEST_STEP, grouped_normal_test, ragged_lattice_test
from lcdb.stats.multiplicity import benjamini_hochberg, lilliefors
from lcdb.stats.profiles import (
    gap_distance,
    mann_whitney_distance,
    profile,
    ratio_distance,
    welch_distance,
    welch_distance_of_samples,
)
from lcdb.stats.ranking import TopKChange, gaussian_null, top_k_change
from lcdb.stats.risk import (
    cdf,
    cvar_lower,
    cvar_upper,
    inverse_cdf,
    inverse_cdf_band,
    threshold_area,
)
from lcdb.stats.rules import (
    LEAST_COUNT,
    LEVEL,
    lattice_non_gaussian,
    lattice_test,
    non_gaussian,
)
from lcdb.stats.summary import FIELDS, QUANTILES, is_constant, summary

__all__ = [
    "FIELDS",
    "LARGEST_STEP",
    "LEAST_COUNT",
    "LEVEL",
    "QUANTILES",
    "Dominance",
    "TopKChange",
    "almost_dominates",
    "band_width",
    "benjamini_hochberg",
    "bootstrap",
    "cdf",
    "cvar_lower",
    "cvar_upper",
    "first_order",
    "gap_distance",
    "gaussian_null",
    "grouped_normal_test",
    "inverse_cdf",
    "inverse_cdf_band",
    "is_constant",
    "lattice_non_gaussian",
    "lattice_test",
    "lilliefors",
    "mann_whitney_distance",
    "non_gaussian",
    "profile",
    "quantile_interval",
    "quantile_ranks",
    "ragged_lattice_test",
    "ratio_distance",
    "second_order",
    "summary",
    "summary_of_counts",
    "threshold_area",
    "top_k_change",
    "violation",
    "welch_distance",
    "welch_distance_of_samples",
]
