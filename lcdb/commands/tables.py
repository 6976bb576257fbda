"""Print a paper's tables beside the same numbers from a database.

Whatever part of the database exists is used; the table says on how many cells each number rests.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lcdb.commands import SHIPPED
from lcdb.errors import LabelError
from lcdb.reporting.texts import counted
from lcdb.schema import LEARNER_ROWS, SCALINGS
from lcdb.tables import FORMATS, NAMES, VIEWS, Table, jordan2018, part, render, tables
from lcdb.tables.rows import legends
from lcdb.text import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from lcdb.database import Database

__all__ = ["configure", "run"]


_PAPERS = ("turan2026", "jordan2018")
COLUMNS = ("few", "all")


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
    parser.add_argument(
        "--format", choices=FORMATS, default="rich",
        help="how to print: rich for people; the others are whole",
    )  # fmt: skip
    parser.add_argument(
        "--columns", choices=COLUMNS, default="few",
        help="of --format rich: names, published, ours and difference, or all with their legends",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    from lcdb.database import open as open_database
    from lcdb.shipped import named

    is_short = arguments.format == "rich" and arguments.columns == "few"
    with open_database(named(arguments.database)) as db:
        if arguments.paper == "jordan2018":
            if arguments.view:
                msg = "--view is for turan2026: the experiments of jordan2018 have no views"
                raise LabelError(msg)
            found, rests_on = jordan2018.tables(db, arguments.table), jordan2018.part(db)
        else:
            db = db.scaled(arguments.scaling)
            found = tables(db, arguments.table, arguments.view)
            rests_on = [_extent(db)] if is_short else part(db)
    if arguments.format != "rich":
        print(render(found, arguments.format))
    else:
        _print(found, None if arguments.columns == "all" else arguments.view)
    # What the numbers rest on: beside the output, so that a program can read that as it is.
    where = visible(arguments.database)
    print("\n".join([f"From {where}:", *map(visible, rests_on)]), file=sys.stderr)
    if is_short:
        print("More columns and what they mean: --columns all", file=sys.stderr)


def _extent(db: Database) -> str:
    """Return in one line how much a database holds."""
    headers = list(db.headers.values())
    if not headers:
        return "no learning curves"
    learners = {name for header in headers for name in header.labels["learner"]}
    counts = sorted({header.repetitions for header in headers})
    repetitions = " to ".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
    extent = counted(len(headers), "dataset"), counted(len(learners), "learner")
    return f"{', '.join(extent)}, {repetitions} repetitions"


_WIDTH = 80


def _print(found: list[Table], more: Sequence[str] | None) -> None:
    """Print tables for people: the first columns and some more, or all if `more` is None."""
    from rich.console import Console

    from lcdb.text import as_rich

    console = Console()
    for table in found:
        console.print()
        console.print(as_rich(table.title), style="bold", highlight=False)
        has_rows = any(row.ours is not None for row in table.rows)
        if has_rows:
            shown = _all_of(table) if more is None else _first_of(table, more)
            # No cell is cut: lines that are longer than a terminal are folded there.
            wide = console.options.update(width=10_000)
            width = console.measure(shown, options=wide).maximum if more is None else _WIDTH
            Console(width=max(console.width, width)).print(shown)
        if absent := _absent(table):
            text = "; ".join(absent) if has_rows else "all of it"
            line = as_rich(f"Not in this database: {text}.")
            console.print(line, style="dim", highlight=False)
        text = table.note if more is None else table.about
        if text and has_rows:
            console.print(as_rich(text), style="dim", highlight=False)
    for text in legends(found) if more is None else []:
        console.print()
        console.print(as_rich(text), style="dim", highlight=False)


def _absent(table: Table) -> list[str]:
    """Return what has no number of ours: whole rows, or single metrics of a row."""
    there = {row.row for row in table.rows if row.ours is not None}
    names = []
    for row in table.rows:
        if row.ours is None:
            # Of many learners the labels are enough.
            name = row.row if row.row.partition(" ")[0] in LEARNER_ROWS else row.title
            names.append(f"{name} {row.metric}" if row.row in there else name)
    return list(dict.fromkeys(names))


def _grid(titles: Iterable[str], text_columns: int) -> RichTable:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    from lcdb.text import as_rich

    grid = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for j, title in enumerate(titles):
        is_text = j < text_columns
        grid.add_column(
            as_rich(title), justify="left" if is_text else "right", no_wrap=j > 0,
            overflow="fold", min_width=None if j else 12,
        )  # fmt: skip
    return grid


def _first_of(table: Table, more: Sequence[str]) -> RichTable:
    """Return what people read first: a line for each number, under the metric that it is of."""
    from lcdb.text import as_rich

    titles, by_metric = table.few(more)
    grid = _grid(["", *titles], 1)
    for metric, rows in by_metric.items():
        if metric:
            grid.add_row(as_rich(metric), style="italic")
        for cells in rows:
            grid.add_row(*map(as_rich, cells))
    return grid


def _all_of(table: Table) -> RichTable:
    """Return the rows that there are, in the columns that say something."""
    from lcdb.text import as_rich

    rows = [
        cells for cells, row in zip(table.cells(), table.rows, strict=True) if row.ours is not None
    ]
    columns = [
        (title.replace("_", " ").replace(" ", "\n"), cells)
        for title, *cells in zip(table.header(), *rows, strict=True)
        if any(cell not in ("", "0") for cell in cells)
    ]
    grid = _grid([title for title, _ in columns], 2)
    for cells in zip(*(cells for _, cells in columns), strict=True):
        grid.add_row(*map(as_rich, cells))
    return grid
