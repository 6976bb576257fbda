"""What cells of a learner cost: declared with the learner, used by plans and by `lcdb bench`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Cost", "Terms"]

# Microseconds of one core per cell, as a sum of terms times n (training rows), t (test rows),
# d (features), k (classes) and o (one-vs-rest problems: k, or 1 for two classes).
Terms = Mapping[str, float]
# A classifier that nothing is known of.
UNKNOWN: Terms = {"": 3000, "nd": 1.0, "tk": 0.3}


@dataclass(frozen=True)
class Cost:
    """What a cell costs. Estimates steer the order of work; no number depends on them.

    Parameters
    ----------
    reference
        With the reference estimator: least squares over eight datasets (N = 150 to 4970), eight
        sizes each, both kinds of draws, two splits.
    additive, fresh
        With kernels, along additive curves, whose sizes share work, and where every size is drawn
        afresh: what `python -m lcdb_builders.bench.terms` makes of `lcdb bench`.
    tuned
        With kernels, where that is no multiple: untuned additive curves carry moments, a nearest
        row or a model from size to size, and most tuned cells start anew. Within a factor of two
        over four datasets and three ways of drawing; of NNC, where ties cost more than rows, of
        three.
    tuned_ratio
        In untuned cells, where kernels share one ensemble, or a path of machines, among all values
        of a grid.
    proportional
        A parameter that cost is proportional to, and the value it was measured at.
    candidates
        Terms that may matter besides a constant.
    shares_sizes
        Tunings whose additive curves share work among sizes, so that only whole curves can be
        timed.
    """

    reference: Terms = field(default_factory=lambda: UNKNOWN)
    additive: Terms | None = None
    fresh: Terms | None = None
    tuned: Terms | None = None
    tuned_ratio: float | None = None
    proportional: tuple[str, float] | None = None
    candidates: Sequence[str] = ("n", "d", "nd", "t", "tk")
    shares_sizes: tuple[str, ...] = ()
