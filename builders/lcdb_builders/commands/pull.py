"""Copy a database from a host, or some of its datasets and learners, into a directory.

Every cube is compared with its digest; of some learners, every chunk and every curve. What was
interrupted goes on where it was with the same command; what is there already is not copied again,
and nothing is written over.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb pull`."""
    parser.add_argument("url", metavar="URL", help="of a database, with an index")
    parser.add_argument("database", metavar="DIR", help="the directory to copy into")
    parser.add_argument(
        "--dataset", action="append", default=[], metavar="ID",
        help="this one alone, by id or name, or an experiment; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--learner", action="append", default=[], metavar="NAME",
        help="only its curves, in cubes where the others are not built; may be repeated",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Copy, and say what is there."""
    from lcdb.errors import ArgumentError
    from lcdb.remote.address import is_url
    from lcdb.remote.host import Host
    from lcdb.text import visible
    from lcdb_builders.storage.pull import pull

    if not is_url(arguments.url):
        msg = f"{arguments.url!r} is no URL; expected one as https://host/db or s3://bucket/db"
        raise ArgumentError(msg)
    every = pull(
        Host(arguments.url), Path(arguments.database), arguments.dataset, arguments.learner
    )
    for one in every:
        note = f"; {one.note}" if one.note else ""
        print(visible(f"{one.path}: {one.bytes:,} bytes, {one.copied:,} of them copied now{note}"))
