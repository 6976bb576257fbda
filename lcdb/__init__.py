"""Learning curves as distributions: open a database, ask it for curves, analyse them.

Everything but the errors is imported when it is first used, so that `import lcdb` is quick.

Examples
--------
>>> import lcdb
>>> with lcdb.tutorial() as db:
...     curve = db.curve("iris", "LDC")
...     0.9 < float(curve.sel(n=100).mean()) <= 1
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lcdb import errors
from lcdb._version import __version__
from lcdb.errors import LCDBError

if TYPE_CHECKING:
    from lcdb import analysis, distribution, plot, reporting, schema, shipped, stats, tables
    from lcdb.database import Database, open
    from lcdb.reporting import report
    from lcdb.shipped import reference, tutorial
    from lcdb.tools import learning_curve, replay

__all__ = [
    "Database",
    "LCDBError",
    "__version__",
    "analysis",
    "distribution",
    "errors",
    "learning_curve",
    "open",
    "plot",
    "reference",
    "replay",
    "report",
    "reporting",
    "schema",
    "shipped",
    "stats",
    "tables",
    "tutorial",
]

# Where a public name lives; a module stands for itself.
_LAZY = {
    "Database": "lcdb.database",
    "analysis": "",
    "distribution": "",
    "learning_curve": "lcdb.tools",
    "open": "lcdb.database",
    "plot": "",
    "reference": "lcdb.shipped",
    "replay": "lcdb.tools",
    "report": "lcdb.reporting",
    "reporting": "",
    "schema": "",
    "shipped": "",
    "stats": "",
    "tables": "",
    "tutorial": "lcdb.shipped",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        msg = f"module 'lcdb' has no attribute {name!r}"
        raise AttributeError(msg)
    module = importlib.import_module(_LAZY[name] or f"lcdb.{name}")
    value = getattr(module, name) if _LAZY[name] else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return what is for users: what this module imports for itself is not."""
    return sorted(__all__)
