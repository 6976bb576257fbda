"""Write summaries of cubes: moments, quantiles and tests of each cell, without its repetitions.

A summary has some hundredth of a cube's bytes. lcdb.open, lcdb info and lcdb tables take it; the
tables of rates come out the same as from the cube.
"""

from __future__ import annotations

import argparse

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb summarize`."""
    parser.add_argument("database", metavar="DIR", help="a database directory, or one cube file")
    parser.add_argument(
        "--out", required=True, metavar="FILE|DIR",
        help="a file if it ends in .nc, else a directory: DIR/summaries/<id>.nc",
    )  # fmt: skip
    parser.add_argument(
        "--sizes", default="log:100", metavar="SIZES",
        help="training sizes to keep cells for: log:100 (even steps of log n), all, or 10,20,50",
    )  # fmt: skip
    parser.add_argument(
        "--dataset", action="append", metavar="ID",
        help="an id or name, or a cube's as 61-standard, may be repeated; all cubes unless given",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Write the summaries, and print a line for each."""
    from lcdb.database import open as open_database
    from lcdb.summaries.make import summarize
    from lcdb.text import visible

    with open_database(arguments.database) as db:
        options = {"sizes": arguments.sizes, "datasets": arguments.dataset}
        for path in summarize(db, arguments.out, **options):
            print(visible(f"{path}: {path.stat().st_size:,} bytes"))
