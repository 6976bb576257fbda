"""`lcdb.stats` on labelled arrays: labels in, labels out, lazy where the input is.

Every function takes what `Database.curve` and `Database.select` return, with any dims besides
``repetition``, which goes.
"""

from lcdb.analysis.choices import choice_shares, chosen_values
from lcdb.analysis.comparisons import (
    dominance,
    profile,
    rank_change,
    sample_size_for,
    top_k_change,
)
from lcdb.analysis.distributions import (
    normality,
    normality_by_repetitions,
    paired_normality,
    quantile_curve,
    summary,
)
from lcdb.analysis.fits import fit, fitted
from lcdb.analysis.published import Results, read_results, results_profile

__all__ = [
    "Results",
    "choice_shares",
    "chosen_values",
    "dominance",
    "fit",
    "fitted",
    "normality",
    "normality_by_repetitions",
    "paired_normality",
    "profile",
    "quantile_curve",
    "rank_change",
    "read_results",
    "results_profile",
    "sample_size_for",
    "summary",
    "top_k_change",
]
