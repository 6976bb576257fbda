"""Published tables beside the same numbers from a database."""

from lcdb.tables import jordan2018
from lcdb.tables.frame import curve_frame
from lcdb.tables.rows import FORMATS, Row, Table, render
from lcdb.tables.turan2026 import NAMES, published, tables
from lcdb.tables.views import VIEWS, part

__all__ = [
    "FORMATS",
    "NAMES",
    "VIEWS",
    "Row",
    "Table",
    "curve_frame",
    "jordan2018",
    "part",
    "published",
    "render",
    "tables",
]
