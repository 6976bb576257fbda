"""The tables of a summary cube: its dims and variables, in one place.

A summary has a few numbers for each cell where a cube has all repetitions, under the names of
`lcdb.analysis.summary`, with a dim ``metric`` in front of the labels of a curve. Beside them is
what tables need of each curve, over all sizes of the cube: whatever sizes the cells are kept for,
tables come out the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from lcdb.schema import UNIT_DIMS

__all__ = [
    "BITS",
    "CELL_DIMS",
    "COMPARISONS",
    "KEPT",
    "NAMED",
    "PAIR_CODES",
    "PROBABILITIES",
    "VARIABLES",
    "Field",
]

CURVE_DIMS = ("metric", *UNIT_DIMS)
CELL_DIMS = (*CURVE_DIMS, "n")
#: Probabilities that analyses ask for: these quantiles are kept as float32 has them.
NAMED = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
#: Probabilities of the dim ``q``; those that are not named are rounded, see `BITS`.
PROBABILITIES = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    *(0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995),
)
#: Significant binary digits of what nothing is computed from; the others are exact for their type.
BITS = {"quantile": 11, "skewness": 16, "excess_kurtosis": 16}
BITS |= dict.fromkeys(("dagostino_p", "skewness_p", "kurtosis_p"), 10)


@dataclass(frozen=True)
class Field:
    """A data variable of a summary; floats are NaN where there is nothing."""

    name: str
    dims: tuple[str, ...]
    dtype: str
    long_name: str


#: What the differences of two learners are, by code.
PAIR_CODES = {"absent": -1, "gaussian": 0, "non_gaussian": 1, "too_few": 2, "constant": 3}
PAIR_DIMS = ("metric", "pair", "sampling", "split", "tuning")
#: Quantile and width of mean + width·sd, of which the best three are compared.
COMPARISONS = ((0.975, 2.0), (0.5, 0.0), (0.025, -2.0), (0.95, 0.0))
_DRAWS = ("sampling", "split", "n")
_ACCURACY = (*UNIT_DIMS, "n")
VARIABLES: dict[str, Field] = {
    field.name: field
    for field in (
        Field("count", CELL_DIMS, "int32", "repetitions with a value"),
        Field("mean", CELL_DIMS, "float64", "mean over repetitions"),
        Field("sd", CELL_DIMS, "float32", "standard deviation over repetitions (ddof 1)"),
        Field("minimum", CELL_DIMS, "float32", "smallest value"),
        Field("maximum", CELL_DIMS, "float32", "largest value"),
        Field("constant", CELL_DIMS, "int8", "all values equal up to rounding"),
        Field("skewness", CELL_DIMS, "float32", "skewness (biased)"),
        Field("excess_kurtosis", CELL_DIMS, "float32", "excess kurtosis (biased)"),
        Field("shapiro_w", CELL_DIMS, "float64", "Shapiro-Wilk W"),
        Field("shapiro_p", CELL_DIMS, "float64", "p-value of Shapiro-Wilk"),
        Field("dagostino_p", CELL_DIMS, "float32", "p-value of D'Agostino and Pearson"),
        Field("skewness_p", CELL_DIMS, "float32", "p-value of the skewness test"),
        Field("kurtosis_p", CELL_DIMS, "float32", "p-value of the kurtosis test"),
        Field("quantile", (*CURVE_DIMS, "q", "n"), "float32", "quantile over repetitions"),
        Field("lattice_p", _ACCURACY, "float64",
              "accuracy: p-value of a normal distribution rounded to multiples of 1/n_test"),
        Field("lattice_step", _ACCURACY, "float32",
              "accuracy: lattice step over the latent standard deviation"),
        Field("n_test_least", _DRAWS, "int32", "smallest number of test rows"),
        Field("n_test_most", _DRAWS, "int32", "largest number of test rows"),
        Field("pair_normality", (*PAIR_DIMS, "n"), "int8",
              "Shapiro-Wilk at 5 % of the paired differences of two learners"),
        Field("pair_statistic", (*PAIR_DIMS, "statistic"), "float64",
              "what tables need of paired differences, over all sizes of the cube"),
        Field("top_k_change", ("metric", "tuning", "comparison", "way", "number"), "int32",
              "sizes at which the best three change: additive, fixed"),
        Field("curve_statistic", (*CURVE_DIMS, "statistic"), "float64",
              "what tables need of a curve, over all sizes of the cube"),
    )
}  # fmt: skip
#: Variables of a cube that a summary has as they are.
KEPT = ("status", "learner_params")
