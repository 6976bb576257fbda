"""Write a page about a database: its best learners, shapes, crossings, and how sure that is.

One HTML file that needs no other, or Markdown with its figures in a folder beside it. It has a
section for each question, and under each figure the Python call that makes it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lcdb.commands import SHIPPED
from lcdb.schema import METRICS, SCALINGS
from lcdb.selection import USUAL

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb report``."""
    what = f"a database directory, a cube file, or a URL of one; {SHIPPED}"
    parser.add_argument("database", metavar="DIR|URL", help=what)
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), metavar="FILE",
        help="report.html unless given; .md writes Markdown",
    )  # fmt: skip
    parser.add_argument(
        "--dataset", action="append", metavar="ID", help="one dataset, may be repeated"
    )
    parser.add_argument("--metric", default="accuracy", metavar="NAME", help=", ".join(METRICS))
    parser.add_argument(
        "--scaling", choices=SCALINGS, default="none", help="of the features: none unless given"
    )
    for name in ("sampling", "split", "tuning"):
        parser.add_argument(
            f"--{name}",
            metavar="NAME",
            help=f"{USUAL[name]} unless given, or the only one that there is",
        )


def run(arguments: argparse.Namespace) -> None:
    """Write the page, and print where it is."""
    from lcdb.plot.style import need_matplotlib

    need_matplotlib()
    import matplotlib

    matplotlib.use("agg")
    from lcdb.database import open as open_database
    from lcdb.reporting import report
    from lcdb.reporting.document import check_suffix
    from lcdb.shipped import named

    check_suffix(arguments.out)
    names = ("metric", "sampling", "split", "tuning", "scaling")
    labels = {name: getattr(arguments, name) for name in names}
    with open_database(named(arguments.database)) as db:
        page = report(db, datasets=arguments.dataset, **labels)
    print(page.save(arguments.out))
