"""Write what lets others open a database from a host: an index beside each cube, one of all.

'lcdb build' writes them as well. Upload DIR/index.json and DIR/cubes to any host of files that
knows ranges, and lcdb.open("https://…/DIR") opens it. Each cube is compared with its manifest
first, so that no index vouches for a damaged one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb index`."""
    parser.add_argument("database", metavar="DIR", help="a database directory, or one cube file")
    parser.add_argument(
        "--kerchunk", metavar="URL",
        help="write references as well, for xarray's engine 'kerchunk'; URL is where DIR (or the "
        "folder of the file) will be",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Write the indexes, and print where they are."""
    from lcdb.remote.format import INDEX_NAME as INDEX
    from lcdb.text import visible
    from lcdb_builders.storage.indexes import index_database, refer

    paths = index_database(Path(arguments.database))
    if arguments.kerchunk:
        cubes = [p.with_name(p.name.removesuffix(".index.json")) for p in paths if p.name != INDEX]
        paths += [refer(cube, arguments.kerchunk) for cube in cubes]
    for path in paths:
        print(visible(f"{path}: {path.stat().st_size:,} bytes"))
