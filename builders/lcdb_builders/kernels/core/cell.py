"""The numbers of a cell, in the order in which kernels write them.

The four metrics as `lcdb.schema.METRICS` has them, then the number of rows clipped in the
cross-entropy. `lcdb_builders.learners.batch` compares the two tables. All kernels write them with
`write_cell`, from sums over test rows.
"""

from __future__ import annotations

from collections import namedtuple

from lcdb_builders.kernels.core.jit import kernel

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
    "Sums",
    "add_sums",
    "write_cell",
]

CELL = ("accuracy", "auc", "brier", "cross_entropy", "n_clipped")
ACCURACY, AUC, BRIER, CROSS_ENTROPY, CLIPPED = range(len(CELL))
#: Whether more is better, of each metric.
MAXIMISED = (True, True, False, False)
#: How many metrics, and how many numbers, a cell has.
METRICS, WIDTH = len(MAXIMISED), len(CELL)

#: Of test rows: labels that are right, sums of squared errors and of losses, rows clipped from
#: below.
Sums = namedtuple("Sums", "right error loss clipped")


@kernel(glue=True)
def add_sums(a, b):
    """Return the sums of all rows from those of two parts."""
    right, clipped = a.right + b.right, a.clipped + b.clipped
    error, loss = a.error + b.error, a.loss + b.loss
    return Sums(right=right, error=error, loss=loss, clipped=clipped)


@kernel(glue=True)
def write_cell(sums, area, rows, out):
    """Write the numbers of a cell to ``out[:WIDTH]``, with the AUC `area`."""
    out[ACCURACY] = sums.right / rows
    out[AUC] = area
    out[BRIER] = sums.error / rows
    out[CROSS_ENTROPY] = sums.loss / rows
    out[CLIPPED] = sums.clipped
