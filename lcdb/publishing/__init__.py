"""A database for others: what catalogues, archives and people want to read beside the cubes."""

from __future__ import annotations

from lcdb.publishing.publish import Published, publish

__all__ = ["Published", "publish"]
