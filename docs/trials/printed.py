"""How far results are off what the paper prints."""

from __future__ import annotations

import numpy as np

from lcdb.tables import Table
from words import listed

#: Trials of every part in the paper.
TRIALS = 2000


def deviations(table: Table, *, printed_error: bool = True) -> dict[tuple[str, str], float]:
    """Return by row how many standard errors ours is off what is printed.

    The printed number has an error too: that of as many trials as the paper had.
    """
    found = {}
    for row in table.rows:
        if row.ours is not None and row.published is not None:
            own = row.beside["standard error"]
            error = own * np.sqrt(1.0 + row.cells / TRIALS) if printed_error else own
            found[row.row, row.metric] = (row.ours - row.published) / error
    return found


def agreement(table: Table) -> str:
    """Return how many cells agree, and which do not."""
    off = deviations(table)
    far = {where: z for where, z in off.items() if abs(z) > 2.0}
    text = (
        f"Of {len(off)} cells {len(off) - len(far)} are within two standard errors of the "
        "difference to what is printed"
    )
    if far:
        named = [f"{name} on {task} ({z:+.1f})" for (name, task), z in far.items()]
        text += f"; beyond are {listed(named)}"
    return text + "."
