"""Fetch datasets into the user's cache: from OpenML, or from a local copy that is checked.

On a cluster, run it on the login node; compute nodes then need no network. The cache is the folder
that LCDB_CACHE names, else lcdb in the user's cache folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lcdb_builders.domain.snapshot import Snapshot

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb fetch`."""
    parser.add_argument(
        "dataset", nargs="+", metavar="DATASET", help="OpenML id, name of one of the ten, or 'all'"
    )
    parser.add_argument(
        "--from", dest="copy", metavar="PATH", help="a local copy: a file, or a folder of them"
    )
    parser.add_argument("--target", default="", metavar="COLUMN", help="column of the classes")
    parser.add_argument(
        "--nominal",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of categories that look like numbers; may be repeated",
    )
    parser.add_argument(
        "--refresh", action="store_true", help="ask OpenML even for what is at hand already"
    )
    parser.add_argument("--cache", metavar="DIR", help="the cache, instead of LCDB_CACHE's")


def _wrong_use(arguments: argparse.Namespace, ids: list[str]) -> str:
    """Return what is wrong with a combination of arguments, if anything is."""
    from pathlib import Path

    if arguments.copy is None and (arguments.target or arguments.nominal):
        return "--target and --nominal are for local copies; use them with --from PATH"
    if arguments.copy is not None and arguments.refresh:
        return "--refresh asks OpenML, --from takes a local copy; expected one of the two"
    if arguments.copy is not None and len(ids) > 1 and not Path(arguments.copy).is_dir():
        return f"--from names one file for {len(ids)} datasets; expected a folder, or one dataset"
    return ""


def run(arguments: argparse.Namespace) -> None:
    """Fetch every dataset that is asked for; one that fails does not stop the others."""
    from lcdb.errors import FetchError
    from lcdb.text import one_line
    from lcdb_builders import sources

    every = list(sources.expected())
    asked = [name for given in arguments.dataset for name in (every if given == "all" else [given])]
    ids = list(dict.fromkeys(sources.openml_id(name) for name in asked))
    wrong = _wrong_use(arguments, ids)
    if wrong:
        raise FetchError(wrong)

    def take(id: str) -> Snapshot:
        if arguments.copy is not None:
            return sources.take_copy(
                id,
                arguments.copy,
                target=arguments.target,
                nominal=arguments.nominal,
                cache=arguments.cache,
            )
        return sources.fetch(id, cache=arguments.cache, refresh=arguments.refresh)

    failed = _each(ids, take)
    if len(ids) == 1 and failed:
        raise failed[ids[0]]
    for error in failed.values():
        print(f"lcdb: {one_line(error)}", file=sys.stderr)
    if failed:
        msg = f"{len(failed)} of {len(ids)} datasets could not be fetched: {', '.join(failed)}"
        raise FetchError(msg)


def _each(ids: list[str], take: Callable[[str], Snapshot]) -> dict[str, Exception]:
    """Take one dataset after the other, say what came, and return the errors by id."""
    from lcdb.errors import LCDBError
    from lcdb.text import visible

    failed: dict[str, Exception] = {}
    for id in ids:
        try:
            snapshot = take(id)
        except LCDBError as error:
            failed[id] = error
            continue
        shape = f"{snapshot.rows} rows, {snapshot.features} features, {snapshot.classes} classes"
        print(visible(f"{id} {snapshot.name}: {shape}; {_from(snapshot.origin)}"))
    return failed


def _from(origin: dict[str, Any]) -> str:
    """Say where a snapshot came from, and whether it could be checked against a known one."""
    words = {
        "bundled": "comes with the package",
        "openml": "from OpenML, md5 verified",
        "local copy": f"from the file {origin.get('file', {}).get('name')}",
    }
    text = words[origin["source"]]
    if origin["source"] == "bundled" or origin.get("equals_known_copy"):
        return text
    if "equals_known_copy" in origin:
        return f"{text}; its values differ from the copy known here, but N, d and K agree"
    if origin["source"] == "local copy":
        return f"{text}; only N, d and K could be checked, its values are not known here"
    return text
