"""Describe a database for catalogues, archives and people, before it goes to a host.

Writes croissant.json, datacite.json, ro-crate-metadata.json, CITATION.cff, LICENSE, README.md and
SHA256SUMS into a folder. Copy them and the database to the address. The cubes are read whole and
compared with their manifests.
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb publish``."""
    parser.add_argument("database", metavar="DIR", type=Path, help="a database directory")
    parser.add_argument(
        "--url", required=True, help="where the database will be: what lcdb.open takes"
    )
    parser.add_argument(
        "--out", metavar="FOLDER", type=Path, required=True, help="where the files are written"
    )
    parser.add_argument(
        "--metadata", metavar="FILE", type=Path, help="title, creators, licence and more, as TOML"
    )
    parser.add_argument(
        "--flat", action="store_true",
        help="put the database into FOLDER too, for a host without folders (Zenodo)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> None:
    """Write the files; list them, and what nobody gave."""
    from lcdb.publishing import publish
    from lcdb.text import visible

    options = {"metadata": arguments.metadata, "flat": arguments.flat}
    made = publish(arguments.database, arguments.url, arguments.out, **options)
    for path in made.files:
        print(visible(path))
    if not made.is_indexed:
        place = visible(arguments.database)
        print(f"{place} has no index of cubes: run 'lcdb index {place}' and publish again,")
        print(f"or lcdb.open cannot open {visible(arguments.url)}")
    fields = {name: text for name, text in made.defaults.items() if not name.startswith("rai.")}
    rai = [name.removeprefix("rai.") for name in made.defaults if name.startswith("rai.")]
    if fields or rai:
        print("not given, so a default stands there (--metadata FILE.toml gives them):")
    for name, text in fields.items():
        print(f"  {name} = {visible(text)}")
    if rai:
        print(f"  [rai] {', '.join(rai)}")
