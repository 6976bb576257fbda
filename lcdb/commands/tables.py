"""Print a paper's tables beside the same numbers from a database.

Whatever part of the database exists is used; the table says on how many cells each number rests.
"""

from __future__ import annotations

import argparse
import sys

from lcdb.tables import FORMATS, NAMES, VIEWS, Table, render, tables

__all__ = ["configure", "run"]


def _views(text: str) -> list[str]:
    return [view for view in text.split(",") if view]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb tables``."""
    parser.add_argument("database", metavar="DIR", help="a database directory or a cube file")
    parser.add_argument("--paper", choices=["turan2026"], default="turan2026", help="whose tables")
    parser.add_argument(
        "--table", action="append", metavar="NAME",
        help=f"one table, may be repeated; of {', '.join(NAMES)}",
    )  # fmt: skip
    parser.add_argument(
        "--view", type=_views, default=[], metavar="NAME,...",
        help=f"columns as the public generator would have them: {', '.join(VIEWS)}",
    )  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, default="rich", help="how to print")


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    from lcdb.database import open as open_database

    with open_database(arguments.database) as db:
        found = tables(db, arguments.table, arguments.view)
        part = ", ".join(f"{head.name} ({head.id})" for head in db.headers.values())
    if arguments.format != "rich":
        print(render(found, arguments.format))
        return
    _print(found)
    print(f"From {arguments.database}: {part}.", file=sys.stderr)


def _print(found: list[Table]) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console()
    for table in found:
        shown = RichTable(title=table.title, title_justify="left", caption=table.note or None)
        shown.caption_justify = "left"
        for i, name in enumerate(table.header()):
            shown.add_column(name, justify="left" if i < 2 else "right")
        for row in table.cells():
            shown.add_row(*row)
        console.print(shown)
