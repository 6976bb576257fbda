"""The workspace of boosting: histograms of integer row weights, and room for candidates."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel

__all__ = ["FEWEST_BINS", "MOST_BINS", "ROWS_PER_BIN", "Forge", "bins_at_most", "forge"]

# Features with many values have this many bins.
FEWEST_BINS, MOST_BINS, ROWS_PER_BIN = 32, 128, 8

#: Workspace.
#: Bins, those of all features side by side: `weight` (K, bins) of each class; which feature is it
#: `of`, its last `rank`, its run of the feature's order (`place` to `place_stop`), whether it
#: `begins` its feature and is `coarse` (has several values); `left` (K, bins + 1) class weights up
#: to the end of the bin before; `gain` of splitting after it, and its `bits`; `promising`, whether
#: a split inside may be the best, and `eight_promising` at once.
#: Features: `first` bin and number of `bins`; `order` (d, rows); `lowest` rank that is as good as
#: the best, and `where` it was found.
#: Splits inside of coarse bins: `inner` (K, splits), `inner_gain`, its `inner_bits`, `inner_of`,
#: `inner_rank`. `best` gain and `best_bits`, to read an integer as a float.
#: Rows: `index` (rows, d) of each row's bins; `mass` of one copy; `missed` numbers and `change`.
Forge = namedtuple(
    "Forge",
    [
        "weight",
        "of",
        "rank",
        "place",
        "place_stop",
        "begins",
        "coarse",
        "left",
        "gain",
        "bits",
        "promising",
        "eight_promising",
        "first",
        "bins",
        "order",
        "lowest",
        "where",
        "inner",
        "inner_gain",
        "inner_bits",
        "inner_of",
        "inner_rank",
        "best",
        "best_bits",
        "index",
        "mass",
        "missed",
        "change",
        "total",
        "share",
        "side",
        "visits",
        "swaps",
        "sums",
        "room",
    ],
)


@kernel(inline=True, borrow=True)
def bins_at_most(features):
    """Return how many bins a feature can have, as the number of a bin is kept in 16 bits."""
    return 65536 // features


@kernel
def forge(features, classes, rows):
    """Return the workspace for training sets of so many rows."""
    bins = features * min(MOST_BINS, bins_at_most(features), rows)
    inner = features * rows + 1
    gain = np.zeros(bins)
    inner_gain = np.zeros(inner)
    promising = np.zeros((bins + 7) // 8 * 8, np.bool_)
    best = np.zeros(1)
    return Forge(
        np.zeros((classes, bins), np.int64),
        np.zeros(bins, np.int64),
        np.zeros(bins, np.int64),
        np.zeros(bins, np.int64),
        np.zeros(bins, np.int64),
        np.zeros(bins, np.bool_),
        np.zeros(bins, np.bool_),
        np.zeros((classes, bins + 1), np.int64),
        gain,
        gain.view(np.int64),
        promising,
        promising.view(np.uint64),
        np.zeros(features, np.int64),
        np.zeros(features, np.int64),
        np.zeros((features, rows), np.uint16),
        np.zeros(features, np.int64),
        np.zeros(features, np.int64),
        np.zeros((classes, inner), np.int64),
        inner_gain,
        inner_gain.view(np.int64),
        np.zeros(inner, np.int64),
        np.zeros(inner, np.int64),
        best,
        best.view(np.int64),
        np.zeros((rows, features), np.uint16),
        np.zeros(rows, np.int64),
        np.zeros(rows + 1, np.uint16),
        np.zeros(rows + 1, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes),
        np.zeros((2, classes), np.int64),
        np.arange(features),
        np.zeros(features, np.int64),
        np.zeros(max(inner, bins + 1), np.int64),
        np.zeros(rows + 2, np.int64),
    )
