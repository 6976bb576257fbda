"""Show which curves are done, failed, timed out or missing, by learner, dataset and tuning.

And how many of their cells there are, packed or not, and which builders are at work.

A curve is a dataset, learner, sampling, split and tuning, as in Table A.9 of Turan, Loog, Tax 2026.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from lcdb_builders.run.progress import duration

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
    what = "a database directory; or what ships, such as tutorial"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument("--json", action="store_true", help="print JSON: counts, and every curve")


def run(arguments: argparse.Namespace) -> None:
    """Print the status of a database."""
    from lcdb.shipped import named
    from lcdb_builders.run.status import overview

    state = overview(named(arguments.database))
    if arguments.json:
        shown = {
            "totals": state.totals(),
            "cells": dict(zip(("computed", "wanted"), state.cells, strict=True)),
            "in_flight": state.in_flight,
            "builders": [{**asdict(sign), "rate": sign.rate} for sign in state.builders],
            "counts": state.counts(),
            "curves": [curve.as_json() for curve in state.curves],
            "parts": [part.as_json() for part in state.parts],
        }
        print(json.dumps(shown, indent=2))
    else:
        _print(state)


def _print(state: Overview) -> None:
    from rich.console import Console

    from lcdb.text import as_rich

    console = Console()
    if state.curves or not state.parts:
        console.print(_curves(state))
    if state.parts:
        console.print(_parts(state))
    for line in _at_work(state):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for label, status, reason in state.reasons():
        console.print(as_rich(f"{label} {COLUMNS[status]}: {reason}"), highlight=False)


def _at_work(state: Overview) -> list[str]:
    """Return a line for what is in flight, and for each builder."""
    lines = [f"blocks in flight: {state.in_flight}"] if state.in_flight else []
    for sign in state.builders:
        rate = f", {sign.rate:,.0f} cells/s" if sign.computed else ""
        lines.append(
            f"at work: {sign.user} on {sign.host} with {sign.place}, {sign.computed:,} of "
            f"{sign.wanted:,} cells{rate}, last sign of life {duration(sign.age)} ago"
        )
    return lines


def _curves(state: Overview) -> Table:
    """Return how many curves have which status."""
    from rich import box
    from rich.table import Table

    from lcdb.text import as_rich

    totals = state.totals()
    # Ten columns fit into the eighty of a terminal.
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_footer=True, padding=0)
    table.add_column("learner", footer="total")
    table.add_column("dataset")
    table.add_column("tuning")
    for status, name in COLUMNS.items():
        table.add_column(name, justify="right", footer=str(totals[status]))
    computed, wanted = state.cells
    table.add_column("cells", justify="right", footer=f"{computed:,}", no_wrap=True)
    table.add_column("of all", justify="right", footer=_percent(computed, wanted), no_wrap=True)
    for row in state.counts():
        numbers = (str(row[status] or "") for status in COLUMNS)
        names = (as_rich(row[name]) for name in ("learner", "dataset", "tuning"))
        cells = (f"{row['cells']:,}", _percent(row["cells"], row["wanted"]))
        table.add_row(*names, *numbers, *cells)
    return table


def _percent(part: int, whole: int) -> str:
    """Return a share in whole percent, which is 100 only of all of it.

    Examples
    --------
    >>> _percent(999, 1000), _percent(1000, 1000), _percent(0, 0)
    ('99 %', '100 %', '')
    """
    return f"{100 * part // whole} %" if whole else ""


def _parts(state: Overview) -> Table:
    """Return how many trials there are of each part of the experiments."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    for name in ("experiment", "part", "status"):
        table.add_column(name)
    for name in ("trials", "of"):
        table.add_column(name, justify="right")
    for one in state.parts:
        numbers = (str(one.trials), str(one.part.trials))
        labels = " ".join(one.part.labels)
        table.add_row(one.part.dataset, labels, COLUMNS[one.status], *numbers)
    return table
