"""The workspace of boosting: histograms of integer row weights, and room for candidates."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel

__all__ = [
    "FEWEST_BINS",
    "LEFT_SIDE",
    "MOST_BINS",
    "MOST_FEATURES",
    "RIGHT_SIDE",
    "ROWS_PER_BIN",
    "Histograms",
    "bins_at_most",
    "histograms",
]

# Features with many values have this many bins.
FEWEST_BINS, MOST_BINS, ROWS_PER_BIN = 32, 128, 8
# Of more features not all have two bins: the number of a bin is kept in 16 bits.
MOST_FEATURES = 1 << 15
# Rows of `Histograms.side`.
LEFT_SIDE, RIGHT_SIDE = range(2)

#: Workspace.
#: Bins, those of all features side by side: `weight` (K, bins) of each class; which feature is it
#: `of`, its last `rank`, its run of the feature's order (`place` to `place_stop`), whether it
#: `begins` its feature and is `coarse` (has several values); `left` (K, bins + 1) class weights up
#: to the end of the bin before; `gain` of splitting after it; `promising`, whether a split inside
#: may be the best, and `eight_promising` at once.
#: Features: `first` bin and number of `bins`; `order` (d, rows); `lowest` rank that is as good as
#: the best, and `where` it is: a bin, or ``-1 - i`` for the i-th split inside of one.
#: Splits inside of coarse bins: `inner` (K, splits), `inner_gain`, `inner_of`, `inner_rank`.
#: Rows: `index` (rows, d) of each row's bins; `mass` of one copy; `missed` numbers and `change`.
#: Classes: `total` weight, its `share`; `side` (2, K), weights left and right of the split.
#: `visits` and `swaps` of features, see `node_streams.visit`; `sums`, workspace; `bin_of` each rank
#: of a feature, before that scratch to sort it.
Histograms = namedtuple(
    "Histograms",
    "weight of rank place place_stop begins coarse left gain promising eight_promising first bins"
    " order lowest where inner inner_gain inner_of inner_rank index mass missed"
    " change total share side visits swaps sums bin_of",
)


@kernel(inline=True, borrow=True)
def bins_at_most(features):
    """Return how many bins each of up to `MOST_FEATURES` features can have."""
    return 65536 // features


@kernel
def histograms(features, classes, rows):
    """Return the workspace for training sets of so many rows."""
    bins = features * min(MOST_BINS, bins_at_most(features), rows)
    inner = features * rows + 1
    promising = np.zeros((bins + 7) // 8 * 8, np.bool_)
    return Histograms(
        weight=np.zeros((classes, bins), np.int64),
        of=np.zeros(bins, np.int64),
        rank=np.zeros(bins, np.int64),
        place=np.zeros(bins, np.int64),
        place_stop=np.zeros(bins, np.int64),
        begins=np.zeros(bins, np.bool_),
        coarse=np.zeros(bins, np.bool_),
        left=np.zeros((classes, bins + 1), np.int64),
        gain=np.zeros(bins),
        promising=promising,
        eight_promising=promising.view(np.uint64),
        first=np.zeros(features, np.int64),
        bins=np.zeros(features, np.int64),
        order=np.zeros((features, rows), np.uint16),
        lowest=np.zeros(features, np.int64),
        where=np.zeros(features, np.int64),
        inner=np.zeros((classes, inner), np.int64),
        inner_gain=np.zeros(inner),
        inner_of=np.zeros(inner, np.int64),
        inner_rank=np.zeros(inner, np.int64),
        index=np.zeros((rows, features), np.uint16),
        mass=np.zeros(rows, np.int64),
        missed=np.zeros(rows + 1, np.uint16),
        change=np.zeros(rows + 1, np.int64),
        total=np.zeros(classes, np.int64),
        share=np.zeros(classes),
        side=np.zeros((2, classes), np.int64),
        visits=np.arange(features),
        swaps=np.zeros(features, np.int64),
        sums=np.zeros(max(inner, bins + 1), np.int64),
        bin_of=np.zeros(rows + 2, np.int64),
    )
