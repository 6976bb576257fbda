"""`lcdb.stats` on labelled arrays: labels in, labels out, lazy where the input is.

Every function takes what `Database.curve` and `Database.select` return, with any dims besides
``repetition``, which goes: of one array there is one result, of a dict by dataset a dict of
results, and of a dataset of several metrics (or a whole cube) a result with the dim ``metric``.
`profile`, `aggregate`, `best` and the two ``forecast_`` functions that judge forecasts go over
datasets: they make one result of a dict, and `tidy` one table.
"""

from lcdb.analysis.aggregates import aggregate
from lcdb.analysis.choices import choice_shares, chosen_values
from lcdb.analysis.comparisons import (
    best,
    profile,
    rank_change,
    sample_size_for,
    top_k_change,
)
from lcdb.analysis.crossings import crossing
from lcdb.analysis.decompositions import bias_variance, hardness
from lcdb.analysis.distributions import (
    normality,
    normality_by_repetitions,
    paired_normality,
    quantile_curve,
    summary,
)
from lcdb.analysis.dominances import dominance
from lcdb.analysis.early import halving, lccv
from lcdb.analysis.fits import fit, fitted
from lcdb.analysis.forecasts import (
    forecast,
    forecast_benchmark,
    forecast_calibration,
    rows_needed,
)
from lcdb.analysis.pairs import compare
from lcdb.analysis.published import Results, read_results, results_profile
from lcdb.analysis.shapes import shape
from lcdb.analysis.studies import power, repetitions_for
from lcdb.analysis.tables import tidy
from lcdb.analysis.words import in_words

__all__ = [
    "Results",
    "aggregate",
    "best",
    "bias_variance",
    "choice_shares",
    "chosen_values",
    "compare",
    "crossing",
    "dominance",
    "fit",
    "fitted",
    "forecast",
    "forecast_benchmark",
    "forecast_calibration",
    "halving",
    "hardness",
    "in_words",
    "lccv",
    "normality",
    "normality_by_repetitions",
    "paired_normality",
    "power",
    "profile",
    "quantile_curve",
    "rank_change",
    "read_results",
    "repetitions_for",
    "results_profile",
    "rows_needed",
    "sample_size_for",
    "shape",
    "summary",
    "tidy",
    "top_k_change",
]
