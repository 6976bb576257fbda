"""Show what a database holds: datasets, sizes, repetitions, and how many curves are complete."""

from __future__ import annotations

import argparse
import json

from lcdb.commands import SHIPPED

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb info`."""
    what = f"a database directory, or one cube file; {SHIPPED}"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument(
        "--json", action="store_true", help="print JSON: an object per dataset or experiment"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the overview of a database."""
    from lcdb import display
    from lcdb.database import open as open_database
    from lcdb.naming import cube_key
    from lcdb.release import read_release
    from lcdb.shipped import named
    from lcdb.text import visible

    place = named(arguments.database)
    with open_database(place) as database:
        if arguments.json:
            more = [header.as_json() for header in database.experiments.values()]
            print(json.dumps([*display.as_rows(database), *more], indent=2))
            return
        release = read_release(place)
        if release is not None:
            print(visible(release.citation))
        if database:
            _print_table(str(database.path), *display.table(database))
        for row in display.as_rows(database):
            key = cube_key(row["dataset"], row["scaling"])
            print(visible(f"{row['name']} ({key}): {', '.join(row['learner'])}"))
        for line in display.experiments(database):
            print(line)


def _print_table(title: str, columns: list[tuple[str, bool]], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from lcdb.text import as_rich

    # As Text: a name such as "x[/nope]" is no markup.
    table = Table(
        title=as_rich(title),
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name, number in columns:
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(as_rich, row))
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a pipe has no width to fit
    console.print(table)
