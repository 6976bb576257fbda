"""The numbers of a cell, in the order in which kernels write them.

The four metrics as `lcdb.schema.METRICS` has them, then the number of rows clipped in the
cross-entropy. `lcdb_builders.learners.batch` compares the two tables.
"""

from __future__ import annotations

__all__ = [
    "ACCURACY",
    "AUC",
    "BRIER",
    "CELL",
    "CLIPPED",
    "CROSS_ENTROPY",
    "MAXIMISED",
    "METRICS",
    "WIDTH",
]

CELL = ("accuracy", "auc", "brier", "cross_entropy", "n_clipped")
ACCURACY, AUC, BRIER, CROSS_ENTROPY, CLIPPED = range(len(CELL))
#: Whether more is better, of each metric.
MAXIMISED = (True, True, False, False)
#: How many metrics, and how many numbers, a cell has.
METRICS, WIDTH = len(MAXIMISED), len(CELL)
