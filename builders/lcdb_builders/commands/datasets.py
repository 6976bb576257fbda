"""List the ten datasets: what is expected of them, and which are at hand without a network."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

__all__ = ["configure", "run"]

# Headings of the table, and whether a column holds numbers.
_COLUMNS = (
    ("id", False),
    ("name", False),
    ("N", True),
    ("d", True),
    ("K", True),
    ("numeric", True),
    ("nominal", True),
    ("printed N", True),
    ("at hand", False),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb datasets`."""
    parser.add_argument("--json", action="store_true", help="print JSON: one object per dataset")
    parser.add_argument("--cache", metavar="DIR", help="the cache, instead of LCDB_CACHE's")


def run(arguments: argparse.Namespace) -> None:
    """Print the overview."""
    from lcdb.text import visible
    from lcdb_builders.sources.cache import snapshot_cache

    cache = snapshot_cache(arguments.cache)
    rows = [*_listed(cache), *_others(cache)]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    _print_table(f"Datasets (cache: {cache})", rows)
    for row in rows:
        if row.get("problem"):
            print(visible(f"{row['id']}: {row['problem']}"))
    absent = [row["id"] for row in rows if row["at_hand"] is None]
    if absent:
        print(f"Not at hand: lcdb fetch {' '.join(absent)}")


def _at_hand(cache: Any, id: str) -> dict[str, Any]:
    """Return where a snapshot is, after checking its digests."""
    from lcdb.errors import LCDBError, NotFoundError
    from lcdb_builders.domain import snapshot as store
    from lcdb_builders.sources.catalog import expected

    packaged = id in expected() and expected()[id].bundled
    state: dict[str, Any] = {"at_hand": "package" if packaged else None}
    try:
        snapshot = store.load(cache, id)
    except NotFoundError:
        return state
    except LCDBError as error:
        return {**state, "problem": str(error)}
    facts = {"name": snapshot.name, "at_hand": "cache", "path": str(cache / f"{id}.json")}
    shape = {"rows": snapshot.rows, "features": snapshot.features, "classes": snapshot.classes}
    return {**facts, **shape, "snapshot_sha256": snapshot.sha256, "origin": snapshot.origin}


def _listed(cache: Any) -> list[dict[str, Any]]:
    from lcdb_builders.sources.catalog import expected

    return [{**asdict(entry), **_at_hand(cache, id)} for id, entry in expected().items()]


def _others(cache: Any) -> list[dict[str, Any]]:
    """Return what is in the cache besides the ten."""
    from lcdb_builders.domain.snapshot import stored
    from lcdb_builders.sources.catalog import expected

    ids = [id for id in stored(cache) if id not in expected()]
    return [{"id": id, **_at_hand(cache, id)} for id in ids]


def _cells(row: dict[str, Any]) -> list[str]:
    keys = ("id", "name", "rows", "features", "classes", "numeric", "nominal", "printed_rows")
    where = "damaged" if row.get("problem") else row["at_hand"] or "no"
    if row["at_hand"] == "cache":
        where = f"cache ({row['origin'].get('source', '')})"
    return [*("" if row.get(key) is None else str(row[key]) for key in keys), where]


def _print_table(title: str, rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from lcdb.text import as_rich

    table = Table(
        title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for name, number in _COLUMNS:
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(as_rich, _cells(row)))
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a pipe has no width to fit
    console.print(table)
