"""Builds databases of learning curves: datasets, samplings, learners, and the runs that fill cubes.

`build` is the whole of it; `lcdb` opens what it makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lcdb_builders.run.build import build
    from lcdb_builders.run.builder import Report

__all__ = ["Report", "build"]


def __getattr__(name: str) -> Any:
    # Workers import this package too, and need nothing of what runs them.
    if name in __all__:
        from lcdb_builders.run import build as module

        return getattr(module, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
