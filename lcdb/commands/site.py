"""Write a page that shows a database, as a folder for any host of files.

Curves, distributions, comparisons of two learners, ranks and tests of normality, in a browser and
without a server of its own. Cubes are put beside the page, as hard links where that is possible, so
that the folder is a database as well: lcdb.open takes its address.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lcdb.commands import SHIPPED

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb site``."""
    what = f"a database directory, a cube or a summary; {SHIPPED}"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument(
        "--out", metavar="FOLDER", type=Path, required=True, help="where the site is written"
    )
    parser.add_argument(
        "--cubes", default="copy", metavar="copy|none|URL",
        help="beside the page; left out, which leaves no distributions to open; or the address of "
        "a host that has this database with its indexes",
    )  # fmt: skip
    parser.add_argument(
        "--sizes", default="log:100", metavar="SIZES",
        help="training sizes to show: log:100 (even steps of log n), all, or 10,20,50",
    )  # fmt: skip


def _print_step(done: int, total: int, what: str) -> None:
    """Print a line for each step: a terminal and a log have the same."""
    from lcdb.text import visible

    print(visible(f"{done} of {total}: {what}"), file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> None:
    """Write the site; say where it is and how large."""
    from lcdb.shipped import named
    from lcdb.site.make import write_site
    from lcdb.text import visible

    options = {"cubes": arguments.cubes, "sizes": arguments.sizes}
    made = list(
        write_site(named(arguments.database), arguments.out, **options, progress=_print_step)
    )
    size = sum(path.stat().st_size for path in made)
    print(visible(f"{arguments.out / 'index.html'}: {len(made)} files, {size:,} bytes"))
    print("Put the folder on any host of files; it needs range requests for distributions alone")
    print(visible(f"To look at it here: lcdb explore {arguments.database}"))
