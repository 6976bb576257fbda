"""How the numbers of a report were made, and whom to cite for it."""

from __future__ import annotations

from lcdb._version import __version__
from lcdb.reporting.document import Section, Text
from lcdb.reporting.gather import Scope

__all__ = ["methods"]

_SOURCES = (
    "O. T. Turan, M. Loog and D. M. J. Tax, Generalization performance distributions along "
    "learning curves, Pattern Recognition Letters 201 (2026) 29–36.",
    "S. S. Shapiro and M. B. Wilk, An analysis of variance test for normality, Biometrika 52 "
    "(1965) 591–611.",
    "S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of "
    "Statistics 6 (1979) 65–70.",
)
_OF_REPETITIONS = (
    "P. H. Westfall and S. S. Young, Resampling-based multiple testing, Wiley (1993).",
    "C. Yan, F. Mohr and T. Viering, LCDB 1.1: a database illustrating learning curves are more "
    "ill-behaved than previously thought, NeurIPS (2025).",
)
_OF_SEVERAL = (
    "R. Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, "
    "NeurIPS (2021).",
    "J. Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine "
    "Learning Research 7 (2006) 1–30.",
)


def methods(scope: Scope, several: bool) -> Section:
    """Return the section on methods, with the sources of those that were used."""
    parts = [
        "Learners are compared by paired differences: in each repetition all of them see the same "
        "training and test rows. Means are compared by two-sided paired t-tests at 5 %, corrected "
        "by Holm's method for all comparisons behind a table. Normality is tested by Shapiro-Wilk "
        "at 5 %; a constant cell counts as normal. Accuracies are tested against a rounded normal "
        "distribution as well, by a grouped chi-squared test over the multiples of 1/(number of "
        "test rows).",
    ]
    if scope.with_repetitions:
        parts.append(
            "Crossings come from max-t bands over all sizes, by a joint bootstrap of 2,000 draws "
            "of whole repetitions. Shapes follow the definitions of LCDB 1.1: one-sided paired "
            "t-tests of all pairs of sizes (Holm) and of all triples (Holm; Bonferroni for peaks). "
            "Power is the share of studies, drawn with replacement from the repetitions, that "
            "find the difference with its sign; numbers of repetitions come from the noncentral "
            "t-distribution."
        )
    if scope.summaries:
        parts.append(
            "Of summaries the standard deviation of a paired difference is not known; it is at "
            "most the sum of the two standard deviations, which was taken in its place. What is "
            "settled so would be settled by the pairs as well, and numbers of repetitions, which "
            "come from the noncentral t-distribution, are the most that it takes."
        )
    if several:
        parts.append(
            "Aggregates over datasets are those of Agarwal et al. with bootstrap intervals of "
            "2,000 draws; ranks are compared by the tests of Friedman, and of Wilcoxon with Holm's "
            "correction."
        )
    parts.append(_limits(scope))
    parts.append(
        "All random draws have fixed seeds: the same database and version give the same page. "
        f"Made by lcdb {__version__} with lcdb.report."
    )
    sources = [
        *_SOURCES,
        *(_OF_REPETITIONS if scope.with_repetitions else ()),
        *(_OF_SEVERAL if several else ()),
    ]
    blocks = [Text(text) for text in (*parts, "Sources: " + " ".join(sources))]
    return Section("Methods", tuple(blocks))


def _limits(scope: Scope) -> str:
    text = (
        "Repetitions are resamples of one dataset. Intervals and p-values tell what further "
        "resamples of the same rows would show; they do not tell how another dataset of the same "
        "kind would come out. With many repetitions, differences too small to matter are settled: "
        "read their size first."
    )
    if scope.labels["split"] == "fixed":
        text += (
            " The test rows are the same in every repetition, so that all of this is, besides, "
            "about these test rows."
        )
    if scope.labels["split"] == "pool":
        text += " The test rows hold the training rows: scores are too good, and comparisons too."
    return text
