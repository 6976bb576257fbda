"""Sources: OpenML, the package, the user's cache and any file become snapshots.

Examples
--------
>>> from lcdb_builders import sources
>>> snapshot = sources.obtain("balance-scale")
>>> snapshot.rows, snapshot.features, snapshot.classes
(625, 4, 3)
"""

from lcdb_builders.sources.catalog import Expected, expected, find
from lcdb_builders.sources.files import FileSource
from lcdb_builders.sources.local import take_copy
from lcdb_builders.sources.lookup import fetch, obtain, openml_id
from lcdb_builders.sources.openml_client import OpenML

__all__ = [
    "Expected",
    "FileSource",
    "OpenML",
    "expected",
    "fetch",
    "find",
    "obtain",
    "openml_id",
    "take_copy",
]
