"""Print a paper's tables beside the same numbers from a database.

Whatever part of the database exists is used; the table says on how many cells each number rests.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from lcdb.commands import SHIPPED
from lcdb.errors import LabelError
from lcdb.schema import SCALINGS
from lcdb.tables import FORMATS, NAMES, VIEWS, Table, jordan2018, part, render, tables
from lcdb.tables.rows import legends

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["configure", "run"]


_PAPERS = ("turan2026", "jordan2018")


def _views(text: str) -> list[str]:
    return [view for view in text.split(",") if view]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb tables``."""
    what = f"a database directory or a cube file; {SHIPPED}"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument("--paper", choices=list(_PAPERS), default="turan2026", help="whose tables")
    parser.add_argument(
        "--table", action="append", metavar="NAME",
        help=f"one table, may be repeated; of {', '.join(NAMES)}; or implied, which "
        "is errors, coverage and dominance (jordan2018: 1, 2, C)",
    )  # fmt: skip
    parser.add_argument(
        "--view", type=_views, default=[], metavar="NAME,...",
        help=f"columns as the public generator would have them: {', '.join(VIEWS)}",
    )  # fmt: skip
    parser.add_argument("--scaling", choices=SCALINGS, default="none", help="of the features")
    parser.add_argument("--format", choices=FORMATS, default="rich", help="how to print")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    from lcdb.database import open as open_database
    from lcdb.shipped import named

    with open_database(named(arguments.database)) as db:
        if arguments.paper == "jordan2018":
            if arguments.view:
                msg = "--view is for turan2026: the experiments of jordan2018 have no views"
                raise LabelError(msg)
            found, rests_on = jordan2018.tables(db, arguments.table), jordan2018.part(db)
        else:
            db = db.scaled(arguments.scaling)
            found, rests_on = tables(db, arguments.table, arguments.view), part(db)
    if arguments.format != "rich":
        print(render(found, arguments.format))
    else:
        _print(found)
    # What the numbers rest on: beside the output, so that a program can read that as it is.
    print("\n".join([f"From {arguments.database}:", *rests_on]), file=sys.stderr)


# What a narrow terminal can do without, first things first; other formats have all columns.
_DISPENSABLE = (
    *("missing", "constant", "tested", "skewness", "excess kurtosis", "cells"),
    *("D'Agostino", "W", "tail"),
)
_PIPED_WIDTH = 160


def _print(found: list[Table]) -> None:
    from rich.console import Console

    from lcdb.text import as_rich

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    for table in found:
        console.print()
        console.print(as_rich(table.title), style="bold", highlight=False)
        kept = [i for i, row in enumerate(table.rows) if row.ours is not None]
        if kept:
            console.print(_shown(table, kept, console.width))
        if absent := _absent(table):
            text = "; ".join(absent) if kept else "all of it"
            told = as_rich(f"Not in this database: {text}.")
            console.print(told, style="dim", highlight=False)
        if table.note and kept:
            console.print(as_rich(table.note), style="dim", highlight=False)
    for text in legends(found):
        console.print()
        console.print(as_rich(text), style="dim", highlight=False)


def _absent(table: Table) -> list[str]:
    """Return what has no number of ours: whole rows, or single metrics of a row."""
    there = {row.row for row in table.rows if row.ours is not None}
    names = (
        f"{row.row} {row.metric}" if row.row in there else row.row
        for row in table.rows
        if row.ours is None
    )
    return list(dict.fromkeys(names))


def _shown(table: Table, kept: list[int], width: int) -> RichTable:
    """Return the rows that there are, in the columns that say something and fit."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    from lcdb.text import as_rich

    rows = [table.cells()[i] for i in kept]
    columns = {}
    for j, name in enumerate(table.header()):
        cells = [row[j] for row in rows]
        if any(cell not in ("", "0") for cell in cells):
            title = name.replace("_", "\n").replace("-", "\n").replace(" ", "\n")
            columns[name] = (title, cells)
    for name in _DISPENSABLE:
        if sum(_width(*column) + 2 for column in columns.values()) <= width:
            break
        columns.pop(name, None)
    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for j, (title, _) in enumerate(columns.values()):
        shown.add_column(title, justify="left" if j < 2 else "right", no_wrap=True)
    for row in zip(*(cells for _, cells in columns.values()), strict=True):
        shown.add_row(*map(as_rich, row))
    return shown


def _width(title: str, cells: list[str]) -> int:
    return max(map(len, [*title.split("\n"), *cells]))
