"""Show which curves are done, failed, timed out or missing, by learner, dataset and tuning.

A curve is a dataset, learner, sampling, split and tuning, as in Table A.9 of Turan, Loog, Tax 2026.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from lcdb_builders.run.status import Overview

__all__ = ["configure", "run"]

COLUMNS = {
    "complete": "done",
    "failed": "failed",
    "timed_out": "timed out",
    "partial": "partial",
    "not_built": "missing",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb status`."""
    parser.add_argument("database", metavar="DIR", help="a database directory")
    parser.add_argument("--json", action="store_true", help="print JSON: counts, and every curve")


def run(arguments: argparse.Namespace) -> None:
    """Print the status of a database."""
    from lcdb_builders.run.status import overview

    found = overview(arguments.database)
    if arguments.json:
        shown = {
            "totals": found.totals(),
            "counts": found.counts(),
            "curves": [curve.as_json() for curve in found.curves],
            "parts": [part.as_json() for part in found.parts],
        }
        print(json.dumps(shown, indent=2))
    else:
        _print(found)


def _print(found: Overview) -> None:
    from rich.console import Console

    from lcdb.text import as_rich

    console = Console()
    if found.curves or not found.parts:
        console.print(_curves(found))
    if found.parts:
        console.print(_parts(found))
    for label, status, reason in found.reasons():
        console.print(as_rich(f"{label} {COLUMNS[status]}: {reason}"), highlight=False)


def _curves(found: Overview) -> Table:
    """Return how many curves have which status."""
    from rich import box
    from rich.table import Table

    from lcdb.text import as_rich

    totals = found.totals()
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_footer=True)
    table.add_column("learner", footer="total")
    table.add_column("dataset")
    table.add_column("tuning")
    for status, name in COLUMNS.items():
        table.add_column(name, justify="right", footer=str(totals[status]))
    for row in found.counts():
        numbers = (str(row[status] or "") for status in COLUMNS)
        names = (as_rich(row[name]) for name in ("learner", "dataset", "tuning"))
        table.add_row(*names, *numbers)
    return table


def _parts(found: Overview) -> Table:
    """Return how many trials there are of each part of the experiments."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for name in ("experiment", "part", "status"):
        table.add_column(name)
    for name in ("trials", "of"):
        table.add_column(name, justify="right")
    for one in found.parts:
        numbers = (str(one.trials), str(one.part.trials))
        labels = " ".join(one.part.labels)
        table.add_row(one.part.dataset, labels, COLUMNS[one.status], *numbers)
    return table
