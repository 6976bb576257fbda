"""Statistics of distributions: plain arrays, samples along the last axis.

Nothing here knows of cubes, labels or xarray: `lcdb.analysis` puts labels on.
"""

from lcdb.stats.aggregates import (
    AGGREGATES,
    Ranks,
    aggregates,
    improvement,
    interquartile_mean,
    mean_ranks,
    resampled_aggregates,
    resampled_improvement,
)
from lcdb.stats.bands import Band, OrderChange, difference_band, last_change
from lcdb.stats.between import between_sizes
from lcdb.stats.bootstrap import bootstrap
from lcdb.stats.counts import summary_of_counts
from lcdb.stats.dominance import (
    THRESHOLD,
    Dominance,
    almost_dominates,
    first_order,
    second_order,
    violation,
)
from lcdb.stats.early import Chosen, halve, stop_early
from lcdb.stats.intervals import band_width, quantile_interval, quantile_ranks
from lcdb.stats.lattice import LARGEST_STEP, grouped_normal_test, ragged_lattice_test
from lcdb.stats.max_t import largest_in_resamples
from lcdb.stats.multiplicity import benjamini_hochberg, holm, lilliefors
from lcdb.stats.paired import (
    PairedMean,
    Superiority,
    corrected_p,
    differences,
    paired_mean,
    sign_test,
    signed_ranks_of,
    superiority,
    wilcoxon,
)
from lcdb.stats.power import (
    PAIRED_TESTS,
    Needed,
    Power,
    power_of_studies,
    power_of_t,
    repetitions_for,
    repetitions_of_moments,
)
from lcdb.stats.profiles import (
    gap_distance,
    mann_whitney_distance,
    profile,
    ratio_distance,
    welch_distance,
    welch_distance_of_samples,
)
from lcdb.stats.quantiles import (
    QuantileDifferences,
    bootstrap_counts,
    harrell_davis,
    quantile_differences,
    resampled_quantiles,
)
from lcdb.stats.ranking import TopKChange, gaussian_null, top_k_change, top_k_of
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
from lcdb.stats.shape import Pair, Shape, Triple, shape_of, thinned
from lcdb.stats.summary import FIELDS, QUANTILES, is_constant, summary
from lcdb.stats.unpaired import (
    UNPAIRED_TESTS,
    WelchMean,
    mann_whitney,
    power_of_unpaired_studies,
    unpaired_quantile_differences,
    unpaired_superiority,
    welch_mean,
)

__all__ = [
    "AGGREGATES",
    "FIELDS",
    "LARGEST_STEP",
    "LEAST_COUNT",
    "LEVEL",
    "PAIRED_TESTS",
    "QUANTILES",
    "THRESHOLD",
    "UNPAIRED_TESTS",
    "Band",
    "Chosen",
    "Dominance",
    "Needed",
    "OrderChange",
    "Pair",
    "PairedMean",
    "Power",
    "QuantileDifferences",
    "Ranks",
    "Shape",
    "Superiority",
    "TopKChange",
    "Triple",
    "WelchMean",
    "aggregates",
    "almost_dominates",
    "band_width",
    "benjamini_hochberg",
    "between_sizes",
    "bootstrap",
    "bootstrap_counts",
    "cdf",
    "corrected_p",
    "cvar_lower",
    "cvar_upper",
    "difference_band",
    "differences",
    "first_order",
    "gap_distance",
    "gaussian_null",
    "grouped_normal_test",
    "halve",
    "harrell_davis",
    "holm",
    "improvement",
    "interquartile_mean",
    "inverse_cdf",
    "inverse_cdf_band",
    "is_constant",
    "largest_in_resamples",
    "last_change",
    "lattice_non_gaussian",
    "lattice_test",
    "lilliefors",
    "mann_whitney",
    "mann_whitney_distance",
    "mean_ranks",
    "non_gaussian",
    "paired_mean",
    "power_of_studies",
    "power_of_t",
    "power_of_unpaired_studies",
    "profile",
    "quantile_differences",
    "quantile_interval",
    "quantile_ranks",
    "ragged_lattice_test",
    "ratio_distance",
    "repetitions_for",
    "repetitions_of_moments",
    "resampled_aggregates",
    "resampled_improvement",
    "resampled_quantiles",
    "second_order",
    "shape_of",
    "sign_test",
    "signed_ranks_of",
    "stop_early",
    "summary",
    "summary_of_counts",
    "superiority",
    "thinned",
    "threshold_area",
    "top_k_change",
    "top_k_of",
    "unpaired_quantile_differences",
    "unpaired_superiority",
    "violation",
    "welch_distance",
    "welch_distance_of_samples",
    "welch_mean",
    "wilcoxon",
]
