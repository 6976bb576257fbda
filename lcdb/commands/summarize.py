"""Write summaries of cubes: moments, quantiles and tests of each cell, without its repetitions.

A summary has a thirtieth to a hundredth of a cube's bytes. lcdb.open, lcdb info and lcdb tables
take it; the tables of rates come out the same as from the cube.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb summarize`."""
    what = "a database directory, or one cube file; or what ships, such as tutorial"
    parser.add_argument("database", metavar="DIR", help=what)
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
        help="an id or name, a cube's as 61-standard, or pendulum; may be repeated; all unless "
        "given",
    )  # fmt: skip
    parser.add_argument(
        "--bits", type=int, metavar="N",
        help="keep N significant binary digits of each number (14: errors below 7e-5); all unless "
        "given",
    )  # fmt: skip
    parser.add_argument(
        "--release", metavar="VERSION",
        help="write DIR/release.json as well: this version of the summaries, for citations",
    )  # fmt: skip
    parser.add_argument(
        "--title", default="Learning curves as distributions", help="of the release"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the summaries, and print a line for each."""
    from lcdb.database import open as open_database
    from lcdb.release import write_release
    from lcdb.shipped import named
    from lcdb.summaries.make import summarize
    from lcdb.text import visible

    with open_database(named(arguments.database)) as db:
        options = {"sizes": arguments.sizes, "datasets": arguments.dataset, "bits": arguments.bits}
        written = []
        for path in summarize(db, arguments.out, **options):
            written.append(path)
            print(visible(f"{path}: {path.stat().st_size:,} bytes"), flush=True)
    if arguments.release is not None:
        folder = Path(arguments.out)
        every = written if folder.suffix == ".nc" else (folder / "summaries").glob("*.nc")
        place = folder.parent if folder.suffix == ".nc" else folder
        release = write_release(place, arguments.release, arguments.title, every)
        print(visible(release.citation))
