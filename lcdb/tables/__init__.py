"""Published tables beside the same numbers from a database."""

from lcdb.tables.frame import VIEWS, curve_frame
from lcdb.tables.rows import FORMATS, Row, Table, render
from lcdb.tables.turan2026 import NAMES, published, tables

__all__ = [
    "FORMATS",
    "NAMES",
    "VIEWS",
    "Row",
    "Table",
    "curve_frame",
    "published",
    "render",
    "tables",
]
